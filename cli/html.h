/*
 * html.h - what a page is made of: its style, texts, and figures inside it.
 */
#ifndef CLI_HTML_H
#define CLI_HTML_H

#include <stddef.h>
#include <stdio.h>

/* Up to the beginning of the body, and from its end.  Light or dark as the reader's system is. */
void html_begin(FILE *to, const char *title);
void html_end(FILE *to);

/* The text, with nothing in it that a browser would take for more than text. */
void html_text(FILE *to, const char *text);
/* An SVG of gnuplot as part of the page, in its colours.  `number` keeps its names apart from
 * those of other figures; `label` is for those who do not see it. */
void html_gnuplot(FILE *to, const char *svg, int number, const char *label);
/* Any SVG as a picture: what is in it cannot act. */
void html_picture(FILE *to, const char *svg, size_t size, const char *label);

#endif
