/*
 * plot.c - see plot.h: the script.  drawing.c has it drawn.
 *
 * Texts are in single quotes, where gnuplot treats only the quote itself as special, and terminals
 * are `noenhanced`: no text is markup.
 */
#define _POSIX_C_SOURCE 200809L
#include "plot.h"
#include "drawing.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PANEL_WIDTH = 430,
    SQUARE_WIDTH = 320,
    PANEL_HEIGHT = 340,
    TITLE_HEIGHT = 40,
    LINE_HEIGHT = 22,
    LETTER_WIDTH = 6,
    MARK_ROOM = 34
};

struct figure {
    char *title;
    int columns, panels;
    FILE *script, *clauses; /* clauses: of the panel's plot command */
    char *script_text, *clauses_text;
    size_t script_size, clauses_size;
    int open, data; /* whether a panel is open; data blocks so far */
    int has_clauses, has_points, spread;
    int bars, letters, surfaces; /* the most bars, their longest name, whether there are surfaces */
    panel at;
    struct range {
        double least, most;
    } x, y;     /* of the points of the panel */
    int marked; /* the x axis has its marks */
    /* The current series. */
    char *name;
    plot_kind kind;
    int colour, filling;
    int failed; /* memory ran out */
};

static const char *const palette[PLOT_COLOURS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                  "#E69F00", "#56B4E9", "#666666"};
static const int shape[PLOT_COLOURS] = {7, 5, 9, 13, 11, 15, 4};

/* ---- building ------------------------------------------------------------ */

/* Bytes that are not UTF-8 or not text would break the SVG. */
static void put_text(FILE *to, const char *text) {
    fputc('\'', to);
    for (int length; *text; text += length ? length : 1) {
        length = utf8_length(text);
        if (length == 0)
            fputc('?', to);
        else if (length == 1 && ((unsigned char)*text < ' ' || *text == 127))
            fputc(' ', to);
        else
            fprintf(to, "%s%.*s", *text == '\'' ? "'" : "", length, text);
    }
    fputc('\'', to);
}

static void set_text(FILE *to, const char *what, const char *text) {
    fprintf(to, "set %s ", what);
    put_text(to, text ? text : "");
    fputc('\n', to);
}

figure *figure_create(const char *title, int columns) {
    figure *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->title = strdup(title ? title : "");
    f->columns = columns;
    f->script = open_memstream(&f->script_text, &f->script_size);
    f->clauses = open_memstream(&f->clauses_text, &f->clauses_size);
    f->failed = !f->title || !f->script || !f->clauses;
    return f;
}

void figure_free(figure *f) {
    if (!f)
        return;
    if (f->script)
        fclose(f->script);
    if (f->clauses)
        fclose(f->clauses);
    free(f->script_text);
    free(f->clauses_text);
    free(f->title);
    free(f->name);
    free(f);
}

static FILE *clause(figure *f) {
    fputs(f->has_clauses ? ", \\\n  " : "plot ", f->clauses);
    f->has_clauses = 1;
    return f->clauses;
}

static void end_series(figure *f) {
    if (!f->filling)
        return;
    f->filling = 0;
    fputs("EOD\n", f->script);
    FILE *to = clause(f);
    int bars = f->spread && (f->kind == PLOT_CURVE || f->kind == PLOT_POINTS);
    fprintf(to, "$d%d using 1:2%s with ", f->data, bars ? ":3" : "");
    const char *colour = palette[f->colour];
    if (f->kind == PLOT_CURVE)
        fprintf(to, "%s lw 2 lc rgb '%s' pt %d ps 0.9", f->spread ? "yerrorlines" : "linespoints",
                colour, shape[f->colour]);
    else if (f->kind == PLOT_POINTS)
        fprintf(to, "%s lw 1.5 lc rgb '%s' pt %d ps 0.9", bars ? "yerrorbars" : "points", colour,
                shape[f->colour]);
    else if (f->kind == PLOT_DOTS)
        fprintf(to, "points lc rgb '%s' pt 7 ps 0.3", colour);
    else if (f->kind == PLOT_PATH)
        fprintf(to, "lines lw 2 lc rgb '%s'", colour);
    else if (f->kind == PLOT_LINE)
        fprintf(to, "lines lw 2 dt 2 lc rgb '%s'", colour);
    else
        fprintf(to, "points pt 4 ps 2 lw 1.5 lc rgb '%s'", colour);
    fputs(" title ", to);
    put_text(to, f->name ? f->name : "");
}

static void widen(struct range *r, double from, double to) {
    r->least = fmin(r->least, from);
    r->most = fmax(r->most, to);
}

/* About five ticks: 1, 2 or 5 times a power of ten apart. */
static double mark_step(double width) {
    double power = pow(10, floor(log10(width / 5))), digit = width / 5 / power;
    return power * (digit > 5 ? 10 : digit > 2 ? 5 : digit > 1 ? 2 : 1);
}

/* Ticks at digits times powers of ten, few or many by the space: gnuplot marks only the powers, and
 * there may be none. */
static void put_log_marks(FILE *to, char axis, double least, double most) {
    static const double few[] = {1, 2, 5}, many[] = {1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9};
    int narrow = most / least < 7;
    const double *digit = narrow ? many : few;
    int digits = narrow ? 10 : 3, count = 0;
    if (most / least > 300)
        return;
    fprintf(to, "set %ctics (", axis);
    for (double power = pow(10, floor(log10(least))); power <= most; power *= 10)
        for (int k = 0; k < digits; k++)
            if (digit[k] * power >= least && digit[k] * power <= most)
                fprintf(to, "%s%.3g", count++ ? ", " : "", digit[k] * power);
    if (count == 0)
        fprintf(to, "%.3g", sqrt(least * most));
    fputs(")\n", to);
}

/* A little more than the range of the points. */
static void put_range(FILE *to, char axis, struct range r, int log, int marked) {
    double pad = log ? log10(r.most / r.least) : r.most - r.least;
    if (!(pad > 0))
        pad = log ? 0.5 : fabs(r.most) > 0 ? 0.1 * fabs(r.most) : 1;
    pad *= 0.06;
    double least = log ? r.least * pow(10, -pad) : r.least - pad;
    double most = log ? r.most * pow(10, pad) : r.most + pad;
    fprintf(to, "set %crange [%.10g:%.10g]\n", axis, least, most);
    if (log && !marked)
        put_log_marks(to, axis, least, most);
}

static void put_ranges(figure *f) {
    if (!(f->x.least <= f->x.most))
        return;
    put_range(f->script, 'x', f->x, f->at.log_x, f->marked);
    if (!f->at.log_x && !f->marked && f->x.least < f->x.most)
        fprintf(f->script, "set xtics %.10g nomirror\n", mark_step(f->x.most - f->x.least));
    put_range(f->script, 'y', f->y, f->at.log_y, 0);
}

static void end_panel(figure *f) {
    end_series(f);
    if (!f->open)
        return;
    f->open = 0;
    fflush(f->clauses);
    put_ranges(f);
    if (f->has_points && f->clauses_text)
        fwrite(f->clauses_text, 1, f->clauses_size, f->script);
    else
        fputs("unset logscale\nset xrange [0:1]\nset yrange [0:1]\n"
              "set label 1 'nothing to draw' at graph 0.5, 0.5 center\nplot NaN notitle",
              f->script);
    fputc('\n', f->script);
    rewind(f->clauses);
    f->has_clauses = f->has_points = 0;
}

void figure_panel(figure *f, panel p) {
    if (!f || f->failed)
        return;
    end_panel(f);
    f->open = 1;
    f->panels++;
    f->at = p;
    f->x = f->y = (struct range){INFINITY, -INFINITY};
    f->marked = 0;
    FILE *to = f->script;
    fputs("unset logscale\nunset label 1\nset autoscale\nset xtics norotate autofreq nomirror\nset "
          "ytics "
          "autofreq nomirror\nset format '%g'\nset size noratio\nset colorbox\nset border 3\nset "
          "grid\nset key on\n",
          to);
    if (!*f->title && !p.title) /* no room for titles */
        fputs("set tmargin 0.5\n", to);
    else
        fputs("set tmargin\n", to);
    set_text(to, "title", p.title);
    set_text(to, "xlabel", p.x);
    set_text(to, "ylabel", p.y);
    if (p.log_x)
        fputs("set logscale x\n", to);
    if (p.log_y)
        fputs("set logscale y\n", to);
}

void figure_marks(figure *f, const double *values, size_t count) {
    if (!f || f->failed || !f->open)
        return;
    int letters = 0;
    for (size_t k = 0; k < count; k++)
        letters += (int)strlen(number_in_words(values[k], 3).text) + 1;
    if (count == 0 || letters > MARK_ROOM)
        return;
    f->marked = 1;
    fputs("set xtics (", f->script);
    for (size_t k = 0; k < count; k++)
        fprintf(f->script, "%s'%s' %.10g", k ? ", " : "", number_in_words(values[k], 3).text,
                values[k]);
    fputs(")\n", f->script);
}

void figure_names(figure *f, const char *const *names, size_t count) {
    size_t letters = 0;
    if (!f || f->failed || !f->open || count == 0)
        return;
    for (size_t k = 0; k < count; k++)
        letters += strlen(names[k]) + 1;
    f->marked = 1;
    fprintf(f->script, "set xtics %s(", letters > MARK_ROOM ? "rotate by -40 " : "");
    for (size_t k = 0; k < count; k++) {
        fputs(k ? ", " : "", f->script);
        put_text(f->script, names[k]);
        fprintf(f->script, " %zu", k);
    }
    fputs(")\n", f->script);
}

static void begin_data(figure *f) {
    fprintf(f->script, "$d%d << EOD\n", ++f->data);
}

void figure_series(figure *f, const char *name, plot_kind kind, int colour) {
    if (!f || f->failed || !f->open)
        return;
    end_series(f);
    free(f->name);
    f->name = strdup(name ? name : "");
    f->failed = !f->name;
    f->kind = kind;
    f->colour = colour % PLOT_COLOURS;
    f->spread = 0;
    f->filling = 1;
    begin_data(f);
    /* A series without a point is not an error. */
    fputs("NaN NaN 0\n", f->script);
}

void figure_point(figure *f, double x, double y, double spread) {
    if (!f || f->failed || !f->filling || !isfinite(x) || !isfinite(y) || (f->at.log_x && x <= 0) ||
        (f->at.log_y && y <= 0))
        return;
    if (!isfinite(spread) || (f->at.log_y && spread >= y))
        spread = 0;
    fprintf(f->script, "%.10g %.10g %.10g\n", x, y, spread);
    f->has_points = 1;
    f->spread |= spread > 0;
    widen(&f->x, x, x);
    widen(&f->y, y - spread, y + spread);
}

static void put_bar_names(figure *f, const char *const *names, size_t count) {
    fputs("set ytics (", f->script);
    for (size_t k = 0; k < count; k++) {
        fputs(k ? ", " : "", f->script);
        put_text(f->script, names[k]);
        fprintf(f->script, " %zu", k);
        int letters = (int)strlen(names[k]);
        f->letters = letters > f->letters ? letters : f->letters;
    }
    fprintf(f->script, ") scale 0\nset yrange [%g:-0.7]\n", (double)count - 0.3);
}

void figure_bars(figure *f, const char *const *names, const double *values, const double *spreads,
                 size_t count) {
    if (!f || f->failed || !f->open || count == 0)
        return;
    end_series(f);
    put_bar_names(f, names, count);
    FILE *to = f->script;
    struct range x = {0, 0};
    begin_data(f);
    for (size_t k = 0; k < count; k++) {
        double value = isfinite(values[k]) ? values[k] : 0;
        double spread = spreads && isfinite(spreads[k]) ? spreads[k] : 0;
        widen(&x, value - spread, value + spread);
        fprintf(to, "%.10g %zu %.10g\n", value, k, spread);
    }
    fputs("EOD\nset grid noytics\n", to);
    if (x.least < x.most)
        fprintf(to, "set xrange [%.10g:%.10g]\nset xtics %.10g nomirror\n", 1.04 * x.least,
                1.04 * x.most, mark_step(x.most - x.least));
    fprintf(clause(f),
            "$d%d using ($1/2):2:($1 > 0 ? 0 : $1):($1 > 0 ? $1 : 0):($2-0.35):($2+0.35) with "
            "boxxyerror fs solid 0.85 noborder lc rgb '%s' notitle",
            f->data, palette[0]);
    if (spreads)
        fprintf(clause(f), "$d%d using 1:2:3 with xerrorbars pt -1 lw 1.5 lc rgb 'black' notitle",
                f->data);
    f->has_points = 1;
    f->bars = (int)count > f->bars ? (int)count : f->bars;
}

void figure_surface(figure *f, surface over) {
    if (!f || f->failed || !f->open || over.columns == 0 || over.lines == 0)
        return;
    end_series(f);
    FILE *to = f->script;
    double dx = (over.x_to - over.x_from) / (double)over.columns;
    double dy = (over.y_to - over.y_from) / (double)over.lines;
    fprintf(to,
            "set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n"
            "set size ratio -1\nset border 15\nset grid noxtics noytics\nunset colorbox\n"
            "set cbrange [-1:1]\nset palette defined (0 '%s', 1 '#F7F7F7', 2 '%s')\n",
            over.x_from, over.x_to, over.y_from, over.y_to, palette[0], palette[1]);
    begin_data(f);
    for (size_t i = 0; i < over.lines; i++)
        for (size_t k = 0; k < over.columns; k++) {
            double value = over.values[i * over.columns + k];
            fprintf(to, "%.6g %.6g %.4g\n", over.x_from + dx * ((double)k + 0.5),
                    over.y_from + dy * ((double)i + 0.5), fmax(-1, fmin(1, value)));
        }
    fputs("EOD\n", to);
    f->surfaces = 1;
    fprintf(clause(f), "$d%d using 1:2:3 with image notitle", f->data);
    f->has_points = 1;
}

/* ---- drawing ------------------------------------------------------------- */

/* Twice the pixels for PNG, so that it is sharp on paper and on high-resolution displays. */
static void put_terminal(FILE *to, picture kind, int width, int height) {
    if (kind == PICTURE_PNG)
        fprintf(to,
                "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) { set terminal pngcairo size %d,%d "
                "noenhanced font 'sans,12' fontscale 1.6 linewidth 2 pointscale 2 background "
                "'#ffffff' } else { set terminal png size %d,%d noenhanced medium background "
                "'#ffffff' }\n",
                2 * width, 2 * height, 2 * width, 2 * height);
    else
        fprintf(to, "set terminal svg size %d,%d dynamic noenhanced font 'sans-serif,13'%s\n",
                width, height, kind == PICTURE_SVG ? " background '#ffffff'" : "");
}

char *figure_script(figure *f, picture kind) {
    char *text = NULL;
    size_t size;
    if (!f || f->failed)
        return NULL;
    end_panel(f);
    fflush(f->script);
    FILE *to = open_memstream(&text, &size);
    if (!to || !f->script_text)
        return NULL;
    int columns = f->columns < f->panels ? f->columns : f->panels;
    int lines = columns > 0 ? (f->panels + columns - 1) / columns : 0;
    int height = f->bars * LINE_HEIGHT + 90;
    height = height > PANEL_HEIGHT ? height : PANEL_HEIGHT;
    fputs("set encoding utf8\n", to);
    int width = (f->surfaces ? SQUARE_WIDTH : PANEL_WIDTH) + f->letters * LETTER_WIDTH;
    put_terminal(to, kind, columns * width + (columns == 1 && kind != PICTURE_SVG_BARE ? 120 : 0),
                 lines * height + (*f->title ? TITLE_HEIGHT : 0));
    fputs("set style line 100 lc rgb '#cccccc' lw 0.6\nset grid back ls 100\n"
          "set tics out scale 0.6\nset xlabel offset 0, 0.3\n"
          "set key below center horizontal samplen 2 height 0.8 maxrows 2\n",
          to);
    fprintf(to, "set multiplot layout %d,%d title ", lines, columns);
    put_text(to, f->title);
    fputs(" font ',15'\n", to);
    fwrite(f->script_text, 1, f->script_size, to);
    fputs("unset multiplot\n", to);
    int good = !ferror(to);
    if (fclose(to) == 0 && good)
        return text;
    free(text);
    return NULL;
}
