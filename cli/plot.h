/*
 * plot.h - figures as SVG or PNG, drawn by gnuplot.
 *
 * A figure is built panel by panel and series by series, then drawn.  gnuplot runs as a child
 * without a shell, reads its script from an unnamed file and writes the picture to another, so no
 * path or text of the user is ever run as a command.
 *
 *     figure *f = figure_create("cadata", 2);
 *     figure_panel(f, (panel){.x = "sigma", .y = "test accuracy", .log_x = 1});
 *     figure_series(f, "test", PLOT_CURVE, 0);
 *     figure_point(f, 0.5, 0.93, 0.01);
 *     TRY(figure_save(s, f, "sigma.svg", NULL));
 *     figure_free(f);
 *
 * If memory runs out while a figure is built, drawing it reports that.
 */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "session.h"

#include <stddef.h>

/* The palette has no two colours that colour-blind people confuse (Okabe and Ito, Color Universal
 * Design, 2008); each colour has its own point shape. */
enum { PLOT_COLOURS = 7 };

typedef enum plot_kind {
    PLOT_CURVE,  /* points with a line through them, and error bars where there is a spread */
    PLOT_POINTS, /* the same without the line */
    PLOT_DOTS,   /* many small points */
    PLOT_PATH,   /* a line without points */
    PLOT_LINE,   /* dashed, without points: a theoretical curve */
    PLOT_BEST,   /* a square around a point */
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
/* Ticks of the x axis at these values instead of round ones, if there is room for them. */
void figure_marks(figure *f, const double *values, size_t count);
/* Ticks of the x axis at 0, 1, .. with names. */
void figure_names(figure *f, const char *const *names, size_t count);
/* `name` is the legend; NULL: none. */
void figure_series(figure *f, const char *name, plot_kind kind, int colour);
/* Points that cannot be shown, such as 0 on a logarithmic axis, are left out. */
void figure_point(figure *f, double x, double y, double spread);
/* Bars from left to right, the first on top, in a panel of their own; with error bars where there
 * are spreads (NULL: none). */
void figure_bars(figure *f, const char *const *names, const double *values, const double *spreads,
                 size_t count);
/* Values between -1 and 1 over a rectangle, row by row from the bottom, in a panel of its own. */
typedef struct surface {
    double x_from, x_to, y_from, y_to;
    size_t columns, lines;
    const double *values;
} surface;
void figure_surface(figure *f, surface over);

/* Checks before the work that --plot FILE can be drawn: its suffix, its path (which must not be one
 * of the command's operands), and gnuplot.  KB_OK where path is NULL. */
kb_status plot_check(session *s, const char *path);
/* Whether gnuplot is installed. */
int plot_possible(void);
extern const char plot_advice[]; /* what to install */

/* Draws to PATH, in the format of its suffix; whole or not at all.  `mark`, unless NULL, is added
 * to an SVG as a comment. */
kb_status figure_save(session *s, figure *f, const char *path, const char *mark);
/* The text of the SVG, without a background; to be freed. */
kb_status figure_svg(session *s, figure *f, char **text);

#endif
