/* figures.c - the paper's figures, from the results of a sweep or a comparison; see results.h. */
#include "results.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char results_mark[] = "kerbin: drawn from the JSON beside";

enum { MOST_MARKS = 12 };

/* Lines of one map, or all of a sweep, one after the other. */
static size_t group_end(const results *r, size_t begin) {
    size_t end = begin + 1;
    while (end < r->count && !r->vary && strcmp(r->line[end].map, r->line[begin].map) == 0)
        end++;
    return r->vary ? r->count : end;
}

static double megabytes(const result *line) {
    return (double)line->over.mean.memory / (1024 * 1024);
}

/* The axis is logarithmic if it spans a factor of about ten. */
static int wide(double least, double most) {
    return least > 0 && most >= 8 * least;
}

/* Ticks at the values themselves, where there is room for them. */
static void mark_values(figure *f, const results *r) {
    double value[MOST_MARKS];
    size_t count = 0;
    for (size_t k = 0; k < r->count; k++) {
        int known = isnan(r->line[k].value);
        for (size_t i = 0; i < count && !known; i++)
            known = value[i] == r->line[k].value;
        if (known)
            continue;
        if (count == MOST_MARKS)
            return;
        value[count++] = r->line[k].value;
    }
    if (count > 0)
        figure_marks(f, value, count);
}

static void title_of(const results *r, const char *what, char *room, size_t size) {
    int used = snprintf(room, size, "%s", what);
    if (*r->train && used < (int)size)
        used += snprintf(room + used, size - (size_t)used, ": %s", file_part(r->train));
    if (r->seeds > 1 && used < (int)size)
        snprintf(room + used, size - (size_t)used, " (mean and standard deviation over %.0f seeds)",
                 r->seeds);
}

/* ---- sweeps ---------------------------------------------------------------- */

static const char *axis_name(const char *vary) {
    return strcmp(vary, "grids") == 0 ? "grids R" : strcmp(vary, "threads") == 0 ? "threads" : vary;
}

static void add_scores(figure *f, const results *r) {
    char best[96];
    const result *top = results_best(r);
    if (results_same_in_training(r)) {
        figure_series(f, "train", PLOT_CURVE, 1);
        for (size_t k = 0; k < r->count; k++)
            figure_point(f, r->line[k].value, r->line[k].over.mean.train_score, 0);
    }
    figure_series(f, "test", PLOT_CURVE, 0);
    for (size_t k = 0; k < r->count; k++)
        figure_point(f, r->line[k].value, result_score(r, &r->line[k]),
                     result_spread(r, &r->line[k]));
    if (!top)
        return;
    snprintf(best, sizeof best, "%s on test rows: %.4f at %s",
             results_larger(r) ? "highest" : "lowest", result_score(r, top),
             number_in_words(top->value, 3).text);
    figure_series(f, best, PLOT_BEST, 6);
    figure_point(f, top->value, result_score(r, top), 0);
}

static void add_times(figure *f, const results *r) {
    static const char *const name[] = {"train, in all", "bin", "solve"};
    for (int part = 0; part < 3; part++) {
        figure_series(f, name[part], PLOT_CURVE, part ? part + 2 : 0);
        for (size_t k = 0; k < r->count; k++) {
            const point *mean = &r->line[k].over.mean;
            figure_point(f, r->line[k].value,
                         part == 0   ? result_seconds(&r->line[k])
                         : part == 1 ? mean->bin_seconds
                                     : mean->solve_seconds,
                         0);
        }
    }
}

static void add_speedups(figure *f, const results *r) {
    figure_series(f, "measured", PLOT_CURVE, 0);
    for (size_t k = 0; k < r->count; k++)
        figure_point(f, r->line[k].value, r->line[k].speedup, 0);
    figure_series(f, "predicted for coordinate descent", PLOT_LINE, 1);
    for (size_t k = 0; k < r->count; k++)
        figure_point(f, r->line[k].value, r->line[k].predicted, 0);
    figure_series(f, "ideal", PLOT_LINE, 6);
    for (size_t k = 0; k < r->count; k++)
        figure_point(f, r->line[k].value, r->line[k].value, 0);
}

static figure *sweep_figure(const results *r) {
    char title[512], what[64];
    int threads = strcmp(r->vary, "threads") == 0;
    const char *axis = axis_name(r->vary);
    int ratios = r->count > 1 && (!threads || wide(r->line[0].value, r->line[r->count - 1].value));
    snprintf(what, sizeof what, "%s over %s", threads ? "Speed-up and time" : "Score and time",
             axis);
    title_of(r, what, title, sizeof title);
    figure *f = figure_create(title, 2);
    figure_panel(f, (panel){.x = axis,
                            .y = threads ? "speed-up of the solve" : results_score_name(r),
                            .log_x = ratios,
                            .log_y = threads && ratios});
    mark_values(f, r);
    if (threads)
        add_speedups(f, r);
    else
        add_scores(f, r);
    figure_panel(f, (panel){.x = axis, .y = "time (s)", .log_x = ratios, .log_y = 1});
    mark_values(f, r);
    add_times(f, r);
    return f;
}

/* ---- comparisons ----------------------------------------------------------- */

typedef double (*quantity)(const results *r, const result *line);

static double rank_of(const results *r, const result *line) {
    (void)r;
    return line->value;
}
static double seconds_of(const results *r, const result *line) {
    (void)r;
    return result_seconds(line);
}
static double memory_of(const results *r, const result *line) {
    (void)r;
    return megabytes(line);
}

/* The lowest and highest rank, to draw a map without a rank as a horizontal line. */
static void rank_range(const results *r, double *least, double *most) {
    *least = INFINITY;
    *most = 0;
    for (size_t k = 0; k < r->count; k++)
        if (!isnan(r->line[k].value)) {
            *least = fmin(*least, r->line[k].value);
            *most = fmax(*most, r->line[k].value);
        }
}

static void add_maps(figure *f, const results *r, quantity x, quantity y) {
    double least, most;
    rank_range(r, &least, &most);
    for (size_t begin = 0, end; begin < r->count; begin = end) {
        const result *first = &r->line[begin];
        end = group_end(r, begin);
        int level = x == rank_of && isnan(first->value);
        figure_series(f, first->map, level ? PLOT_LINE : PLOT_CURVE, map_place(first->map));
        if (level) {
            figure_point(f, most > 0 ? least : 1, y(r, first), 0);
            figure_point(f, most > 0 ? most : 2, y(r, first), 0);
            continue;
        }
        for (size_t k = begin; k < end; k++)
            figure_point(f, x(r, &r->line[k]), y(r, &r->line[k]),
                         y == result_score ? result_spread(r, &r->line[k]) : 0);
    }
}

static figure *compare_figure(const results *r) {
    char title[512], score[64];
    double least, most;
    rank_range(r, &least, &most);
    int ratios = least < most;
    snprintf(score, sizeof score, "test %s", results_score_name(r));
    title_of(r, "Maps side by side", title, sizeof title);
    figure *f = figure_create(title, 2);
    figure_panel(f, (panel){.x = "rank R", .y = score, .log_x = ratios});
    mark_values(f, r);
    add_maps(f, r, rank_of, result_score);
    figure_panel(f, (panel){.x = "rank R", .y = "training time (s)", .log_x = ratios, .log_y = 1});
    mark_values(f, r);
    add_maps(f, r, rank_of, seconds_of);
    figure_panel(f, (panel){.x = "training time (s)", .y = score, .log_x = 1});
    add_maps(f, r, seconds_of, result_score);
    figure_panel(f, (panel){.x = score, .y = "memory at the peak (MiB)", .log_y = 1});
    add_maps(f, r, result_score, memory_of);
    return f;
}

/* ---- both ------------------------------------------------------------------ */

figure *results_figure(const results *r) {
    return r->vary ? sweep_figure(r) : compare_figure(r);
}

kb_status results_plot(session *s, json_t *json) {
    const char *path = s->args->own[OWN_PLOT];
    kb_status status = KB_OK;
    results r = {0};
    figure *f = NULL;
    if (!path)
        goto done;
    if (!json)
        TRY(KB_ERR_MEMORY);
    TRY(results_read(json, &r));
    f = results_figure(&r);
    TRY(figure_save(s, f, path, results_mark));
    session_note(s, "the figure is in %s", path);
done:
    figure_free(f);
    results_free(&r);
    json_decref(json);
    return status;
}
