/*
 * drawing.h - from a figure to the script that draws it.
 */
#ifndef CLI_DRAWING_H
#define CLI_DRAWING_H

#include "plot.h"

/* Bare: for a page, without a background. */
typedef enum picture { PICTURE_SVG, PICTURE_SVG_BARE, PICTURE_PNG } picture;

/* The whole script of gnuplot; to be freed.  NULL: out of memory. */
char *figure_script(figure *f, picture kind);

#endif
