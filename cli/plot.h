/*
 * plot.h - figures as SVG or PNG, drawn by gnuplot.
 *
 * A figure is built panel by panel and series by series, then drawn.  gnuplot runs as a child
 * without a shell, reads its script from a file without a name and writes the picture into
 * another, so no path and no text of the user is ever a command.
 *
 *     figure *f = figure_create("cadata", 2);
 *     figure_panel(f, (panel){.x = "sigma", .y = "test accuracy", .log_x = 1});
 *     figure_series(f, "test", PLOT_CURVE, 0);
 *     figure_point(f, 0.5, 0.93, 0.01);
 *     TRY(figure_save(s, f, "sigma.svg", NULL));
 *     figure_free(f);
 *
 * Lack of memory while a figure is built is kept in it, and told when it is drawn.
 */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "session.h"

#include <stddef.h>

/* Of the palette, which has no pair that colour-blind people take for each other (Okabe and Ito,
 * Color Universal Design, 2008); each goes with a shape of its own. */
enum { PLOT_COLOURS = 7 };

typedef enum plot_kind {
    PLOT_CURVE, /* points with a line through them, and error bars where there is a spread */
    PLOT_LINE,  /* dashed, without points: what theory says */
    PLOT_BEST,  /* a square around a point */
} plot_kind;

typedef struct figure figure;

typedef struct panel {
    const char *title, *x, *y; /* NULL: none */
    int log_x, log_y;
} panel;

/* `columns` panels beside each other.  figure_free takes NULL too. */
figure *figure_create(const char *title, int columns);
void figure_free(figure *f);

void figure_panel(figure *f, panel p);
/* Marks of the x axis at these values instead of round ones, if there is room for them. */
void figure_marks(figure *f, const double *values, size_t count);
/* `name` is for the key; NULL: not in it. */
void figure_series(figure *f, const char *name, plot_kind kind, int colour);
/* What cannot be shown, such as 0 on an axis of logarithms, is left out. */
void figure_point(figure *f, double x, double y, double spread);
/* Bars from left to right, the first on top, in a panel of their own. */
void figure_bars(figure *f, const char *const *names, const double *values, size_t count);
/* Values between -1 and 1 over a rectangle, line after line from the bottom, in a panel of its
 * own. */
typedef struct surface {
    double x_from, x_to, y_from, y_to;
    size_t columns, lines;
    const double *values;
} surface;
void figure_surface(figure *f, surface over);

/* Whether --plot FILE can be drawn: its suffix, the place (which may not be one of the command's
 * operands), and gnuplot; told before the work.  KB_OK where path is NULL. */
kb_status plot_check(session *s, const char *path);
/* Whether there is a gnuplot. */
int plot_possible(void);
extern const char plot_advice[]; /* what to install */

/* Draws into PATH, by its suffix; whole or not at all.  `mark`, unless NULL, is kept in an SVG as
 * a comment. */
kb_status figure_save(session *s, figure *f, const char *path, const char *mark);
/* The text of the SVG, without a background; to be freed. */
kb_status figure_svg(session *s, figure *f, char **text);

#endif
