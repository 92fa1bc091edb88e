/*
 * html.h - parts of a page: its style, texts, and embedded figures.
 */
#ifndef CLI_HTML_H
#define CLI_HTML_H

#include <stddef.h>
#include <stdio.h>

/* Up to the start of the body, and from its end.  Light or dark like the reader's system. */
void html_begin(FILE *to, const char *title);
void html_end(FILE *to);

/* The text, escaped for HTML. */
void html_text(FILE *to, const char *text);
/* An SVG of gnuplot as part of the page, in its colours.  `number` makes its ids unique; `label` is
 * for screen readers. */
void html_gnuplot(FILE *to, const char *svg, int number, const char *label);
/* Any SVG as an image: its scripts do not run. */
void html_picture(FILE *to, const char *svg, size_t size, const char *label);

#endif
