/*
 * compare.c - kerbin compare: maps at equal rank, each with the sigma that suits it.
 *
 * For every map and rank, sigma is tuned on validation rows of TRAIN.  Then the map is fitted to
 * all of TRAIN with that sigma, once per seed, and scored on TEST, which is never used for tuning.
 * All other options are the same.  If one map fails, such as an exact kernel matrix that does not
 * fit into memory, its line says why and the others go on.
 */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "points.h"
#include "record.h"
#include "report.h"
#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MAPS = 32 };

/* The validation rows of TRAIN for sigma; always the same. */
static const double valid_share = 0.2;
static const uint64_t valid_seed = 1;

/* A line of the table. */
typedef struct contest {
    const char *map;
    double rank;         /* 0: it has none */
    double sigma, valid; /* as tuned, and its score on the validation rows; NAN if it was given */
    char reason[512];    /* why it failed, or "" */
} contest;

/* The measurements of one line and one seed. */
typedef struct compare_point {
    const contest *of;
    point p;
} compare_point;

typedef struct compare {
    session *s;
    const cli_args *args;
    kb_data *train, *test;
    char *maps; /* the list, cut into words */
    const char *map[MOST_MAPS];
    size_t map_count;
    value_list rank, sigma;
    long seeds, first_seed;
    contest *contest; /* in the order of the table */
    size_t contests;
    compare_point *point; /* contests x seeds, filled in order */
    size_t count, known;
    int classes;
    char *command; /* the settings, without maps, ranks and seeds */
    json_t *runs;  /* that made the points */
    runner runner;
} compare;

static kb_status set(compare *w, const char *name, const char *value) {
    return kb_options_set(w->s->ctx, w->s->options, name, value);
}

static kb_status set_number(compare *w, const char *name, double value) {
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    return set(w, name, text);
}

/* ---- what to do ------------------------------------------------------------ */

/* The exact kernel has no rank. */
static int has_rank(const char *map) {
    return strcmp(map, "exact") != 0;
}

/* Each once, checked by the library. */
static kb_status parse_maps(compare *w, const char *list) {
    kb_status status = KB_OK;
    w->maps = strdup(list);
    if (!w->maps)
        return KB_ERR_MEMORY;
    for (char *at = w->maps, *next; at; at = next) {
        size_t k = 0;
        next = strchr(at, ',');
        if (next)
            *next++ = '\0';
        TRY(set(w, "map", at));
        while (k < w->map_count && strcmp(w->map[k], at) != 0)
            k++;
        if (k == MOST_MAPS)
            TRY(session_fail(w->s, KB_ERR_ARGUMENT, "--maps: more than %d", MOST_MAPS));
        if (k == w->map_count)
            w->map[w->map_count++] = at;
    }
done:
    return status;
}

static int any_has_rank(const compare *w) {
    for (size_t m = 0; m < w->map_count; m++)
        if (has_rank(w->map[m]))
            return 1;
    return 0;
}

static kb_status parse_ranks(compare *w) {
    kb_status status = KB_OK;
    const char *text = w->args->own[OWN_RANKS];
    if (!text && any_has_rank(w))
        return session_fail(w->s, KB_ERR_ARGUMENT, "--ranks: required; give a list, or A:B:K");
    if (!text)
        return KB_OK;
    w->rank = (value_list){.option = "--ranks", .noun = "rank", .whole = 1};
    TRY(values_parse(w->s, text, &w->rank));
    for (size_t k = 0; k < w->rank.count; k++)
        TRY(set_number(w, "grids", w->rank.value[k]));
done:
    return status;
}

static void add_contest(compare *w, const char *map, double rank) {
    for (size_t c = 0; c < w->contests; c++)
        if (w->contest[c].rank == rank && strcmp(w->contest[c].map, map) == 0)
            return;
    w->contest[w->contests++] = (contest){.map = map, .rank = rank, .sigma = NAN, .valid = NAN};
}

/* Rank by rank, so that lines to be compared are next to each other. */
static kb_status list_contests(compare *w) {
    w->contest = calloc(w->map_count * (w->rank.count + 1), sizeof *w->contest);
    if (!w->contest)
        return KB_ERR_MEMORY;
    for (size_t r = 0; r < w->rank.count; r++)
        for (size_t m = 0; m < w->map_count; m++)
            if (has_rank(w->map[m]))
                add_contest(w, w->map[m], w->rank.value[r]);
    for (size_t m = 0; m < w->map_count; m++)
        if (!has_rank(w->map[m]))
            add_contest(w, w->map[m], 0);
    w->point = calloc(w->contests * (size_t)w->seeds, sizeof *w->point);
    return w->point ? KB_OK : KB_ERR_MEMORY;
}

/* Library options that the lists replace. */
static kb_status refuse_single_values(compare *w) {
    static const char *const single[] = {"map", "grids", "sigma"};
    static const char *const list[] = {"maps", "ranks", "sigmas"};
    for (int i = 0; i < w->args->settings; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(w->args->setting[i].option->name, single[k]) == 0)
                return session_fail(w->s, KB_ERR_ARGUMENT, "--%s: compare takes a list, --%s",
                                    single[k], list[k]);
    return KB_OK;
}

/* What two runs must have in common to share points; it includes the sigmas to tune over. */
static char *describe(const compare *w) {
    const char *sigmas = w->args->own[OWN_SIGMAS];
    static const char before[] = "kerbin compare --sigmas ";
    char *head = malloc(sizeof before + strlen(sigmas)), *command = NULL;
    if (head) {
        strcpy(head, before);
        strcat(head, sigmas);
        command = points_command(w->args, head, 0);
    }
    free(head);
    return command;
}

static kb_status prepare(compare *w) {
    kb_status status;
    TRY(points_check_files(w->s));
    TRY(refuse_single_values(w));
    if (!w->args->own[OWN_MAPS])
        TRY(session_fail(w->s, KB_ERR_ARGUMENT,
                         "--maps: required; give names separated by commas"));
    TRY(parse_maps(w, w->args->own[OWN_MAPS]));
    TRY(parse_ranks(w));
    w->sigma = (value_list){.option = "--sigmas", .noun = "sigma"};
    TRY(values_parse(w->s, w->args->own[OWN_SIGMAS], &w->sigma));
    w->seeds = strtol(w->args->own[OWN_SEEDS], NULL, 10);
    w->first_seed = strtol(kb_options_get(w->s->options, "seed"), NULL, 10);
    TRY(list_contests(w));
    w->command = describe(w);
    if (!w->command)
        TRY(KB_ERR_MEMORY);
    w->runner = (runner){.s = w->s, .name = "compare", .threads = args_threads(w->args), .all = 1};
done:
    return status;
}

/* ---- files ----------------------------------------------------------------- */

static json_t *rank_json(const contest *c) {
    return c->rank > 0 ? json_integer((json_int_t)c->rank) : json_null();
}

static json_t *point_json(const compare_point *at) {
    json_t *object =
        json_pack("{s:s, s:o, s:f, s:o}", "map", at->of->map, "rank", rank_json(at->of), "sigma",
                  at->of->sigma, "validation_score", report_number(at->of->valid));
    point_add_json(&object, &at->p);
    return object;
}

static json_t *compare_json(const compare *w) {
    json_t *points = json_array(), *failed = json_array();
    for (size_t k = 0; k < w->count; k++)
        json_array_append_new(points, point_json(&w->point[k]));
    for (size_t k = 0; k < w->contests; k++) {
        const contest *c = &w->contest[k];
        if (c->reason[0])
            json_array_append_new(failed,
                                  json_pack("{s:s, s:o, s:o}", "map", c->map, "rank", rank_json(c),
                                            "reason", report_text(c->reason)));
    }
    json_t *object = json_pack("{s:o, s:b, s:o, s:o}", "command", report_text(w->command),
                               "classification", w->classes, "points", points, "failed", failed);
    points_add_origin(&object, w->s, w->runs);
    return object;
}

static int write_csv(const void *user, FILE *to) {
    const compare *w = user;
    const kb_metric_info *metric = points_metric(w->s);
    fprintf(to, "map,rank,sigma,validation_score," POINT_COLUMNS "%s\n",
            metric ? ",test_metric" : "");
    for (size_t k = 0; k < w->count; k++) {
        const contest *c = w->point[k].of;
        fprintf(to, "%s,", c->map);
        if (c->rank > 0)
            fprintf(to, "%.0f", c->rank);
        fprintf(to, ",%.10g,", c->sigma);
        if (isfinite(c->valid))
            fprintf(to, "%.10g", c->valid);
        fputc(',', to);
        point_write_csv(&w->point[k].p, metric, to);
        fputc('\n', to);
    }
    return 1;
}

static kb_status save(const compare *w) {
    return points_save(w->s, write_csv, w, compare_json(w));
}

/* A point of that line in the file of an earlier run; -1 matches any seed. */
static const json_t *known_point(const json_t *old, const contest *c, long seed) {
    const json_t *points = json_object_get(old, "points");
    for (size_t k = 0; k < json_array_size(points); k++) {
        const json_t *o = json_array_get(points, k);
        const char *map = json_string_value(json_object_get(o, "map"));
        double rank = number_in(o, "rank");
        if (map && strcmp(map, c->map) == 0 && (isnan(rank) ? 0 : rank) == c->rank &&
            number_in(o, "sigma") > 0 && (seed < 0 || number_in(o, "seed") == (double)seed))
            return o;
    }
    return NULL;
}

/* ---- one line -------------------------------------------------------------- */

static kb_status set_contest(compare *w, const contest *c) {
    kb_status status;
    TRY(set(w, "map", c->map));
    if (c->rank > 0)
        TRY(set_number(w, "grids", c->rank));
done:
    return status;
}

/* One fit.  A failure of this line alone is stored with it and ends the line. */
static kb_status fit_one(compare *w, contest *c, double sigma, long seed, const kb_data *train,
                         kb_data **test, point *out) {
    kb_status status;
    c->reason[0] = '\0';
    TRY(set_number(w, "sigma", sigma));
    TRY(set_number(w, "seed", (double)seed));
    status = point_run(&w->runner, train, test, w->args->operand[1], out);
    if (status != KB_OK && status != KB_ERR_CANCELLED && w->runner.reason[0]) {
        snprintf(c->reason, sizeof c->reason, "%s", w->runner.reason);
        status = KB_OK;
    }
done:
    return status;
}

/* Less is better: the metric that was asked for, else the share of wrong rows or the relative
 * error.
 */
static double badness(const compare *w, const point *p) {
    const kb_metric_info *metric = points_metric(w->s);
    return !metric ? p->test_error : metric->larger ? -p->metric : p->metric;
}

/* The sigma that is best on the validation rows, the first of equal ones.  Sigmas whose fit
 * fails are skipped; if all fail, the last reason is kept. */
static kb_status choose_sigma(compare *w, contest *c) {
    kb_status status;
    kb_data *fit = NULL, *valid = NULL;
    char reason[sizeof c->reason] = "";
    double least = INFINITY;
    point p;
    c->sigma = w->sigma.value[0];
    if (w->sigma.count == 1)
        return KB_OK;
    TRY(kb_data_split(w->s->ctx, w->train, valid_share, valid_seed, &fit, &valid));
    c->sigma = NAN;
    for (size_t k = 0; k < w->sigma.count; k++) {
        TRY(fit_one(w, c, w->sigma.value[k], w->first_seed, fit, &valid, &p));
        if (c->reason[0]) {
            memcpy(reason, c->reason, sizeof reason);
        } else if (isnan(c->sigma) || badness(w, &p) < least) {
            c->sigma = w->sigma.value[k];
            c->valid = points_metric(w->s) ? p.metric : p.test_score;
            least = badness(w, &p);
        }
    }
    snprintf(c->reason, sizeof c->reason, "%s", isnan(c->sigma) ? reason : "");
done:
    kb_data_free(fit);
    kb_data_free(valid);
    return status;
}

/* How many seeds of the line are in the file. */
static long count_known(const compare *w, const contest *c, const json_t *old) {
    long known = 0;
    for (long seed = w->first_seed; seed < w->first_seed + w->seeds; seed++)
        known += known_point(old, c, seed) != NULL;
    return known;
}

/* Fits that the line needs: the seeds that are not known, and the tuning of sigma. */
static double fits_needed(const compare *w, const contest *c, const json_t *old) {
    int choice = !known_point(old, c, -1) && w->sigma.count > 1;
    return (double)(w->seeds - count_known(w, c, old)) + (choice ? (double)w->sigma.count : 0);
}

static kb_status run_contest(compare *w, contest *c, const json_t *old) {
    kb_status status;
    const json_t *before = known_point(old, c, -1);
    if (fits_needed(w, c, old) > 0)
        TRY(points_read(w->s, w->args->operand[0], &w->train));
    TRY(set_contest(w, c));
    if (before) {
        c->sigma = number_in(before, "sigma");
        c->valid = number_in(before, "validation_score");
    } else
        TRY(choose_sigma(w, c));
    for (long seed = w->first_seed; seed < w->first_seed + w->seeds && !c->reason[0]; seed++) {
        compare_point *at = &w->point[w->count];
        const json_t *known = known_point(old, c, seed);
        at->of = c;
        if (known)
            at->p = point_from_json(known);
        else
            TRY(fit_one(w, c, c->sigma, seed, w->train, &w->test, &at->p));
        if (c->reason[0])
            break;
        if (!known)
            w->classes = w->runner.classes;
        w->known += known != NULL;
        w->count++;
        if (!known)
            TRY(save(w));
    }
    if (c->reason[0])
        TRY(save(w));
done:
    return status;
}

static kb_status run(compare *w) {
    kb_status status;
    json_t *old = NULL;
    TRY(points_load(w->s, w->command, &old));
    w->classes = json_is_true(json_object_get(old, "classification"));
    w->runner.all = 0;
    for (size_t k = 0; k < w->contests; k++)
        w->runner.all += fits_needed(w, &w->contest[k], old);
    w->runs = record_runs(w->args, old);
    if (!w->runs)
        TRY(KB_ERR_MEMORY);
    for (size_t k = 0; k < w->contests; k++) {
        double before = w->runner.done, needed = fits_needed(w, &w->contest[k], old);
        double left = w->runner.all - needed;
        TRY(run_contest(w, &w->contest[k], old));
        w->runner.all = left + (w->runner.done - before);
    }
    if (w->known)
        session_note(w->s, "%zu of %zu points were there already", w->known, w->count);
done:
    json_decref(old);
    return status;
}

/* ---- the table ------------------------------------------------------------- */

static point_mean mean_of(const compare *w, const contest *c) {
    point_mean m = {0};
    for (size_t k = 0; k < w->count; k++)
        if (w->point[k].of == c)
            mean_add(&m, &w->point[k].p);
    if (m.count > 0)
        mean_finish(&m);
    return m;
}

/* The best mean among the lines of its rank. */
static int is_best(const compare *w, const contest *c, const point *mean) {
    for (size_t k = 0; k < w->contests; k++) {
        const contest *other = &w->contest[k];
        point_mean m = mean_of(w, other);
        if (other->rank == c->rank && !other->reason[0] && badness(w, &m.mean) < badness(w, mean))
            return 0;
    }
    return 1;
}

static void print_line(const compare *w, const contest *c, int map_width, FILE *to) {
    char rank[32] = "-", score[48];
    if (c->rank > 0)
        snprintf(rank, sizeof rank, "%.0f", c->rank);
    fprintf(to, "%-*s %7s ", map_width, c->map, rank);
    if (c->reason[0]) {
        fprintf(to, " %s\n", c->reason);
        return;
    }
    point_mean m = mean_of(w, c);
    const kb_metric_info *metric = points_metric(w->s);
    double value = metric ? m.mean.metric : w->classes ? m.mean.test_score : m.mean.test_error;
    double spread = metric ? m.metric_spread : w->classes ? m.score_spread : m.error_spread;
    int units = metric && metric->in_units;
    int used = snprintf(score, sizeof score, units ? "%.6g" : "%.4f", value);
    if (w->seeds > 1)
        snprintf(score + used, sizeof score - (size_t)used, units ? " +- %.3g" : " +- %.4f",
                 spread);
    fprintf(to, "%9.4g %9zu  %16s %c  %8.3f %8.3f  %9s\n", c->sigma, m.mean.bins, score,
            is_best(w, c, &m.mean) ? '*' : ' ', m.mean.bin_seconds + m.mean.solve_seconds,
            m.mean.test_seconds, size_in_words(m.mean.memory).text);
}

static void print_table(const compare *w, FILE *to) {
    int width = 3;
    for (size_t k = 0; k < w->map_count; k++)
        width = (int)strlen(w->map[k]) > width ? (int)strlen(w->map[k]) : width;
    const kb_metric_info *metric = points_metric(w->s);
    char score[48];
    snprintf(score, sizeof score, "test %s", metric ? metric->words : "accuracy");
    fprintf(to, "%-*s %7s %9s %9s  %16s    %8s %8s  %9s\n", width, "map", "rank", "sigma", "D",
            metric || w->classes ? score : "relative error", "train s", "test s", "memory");
    for (size_t k = 0; k < w->contests; k++)
        print_line(w, &w->contest[k], width, to);
}

/* If sigma is at an end of the list, the best one may be outside of it. */
static void warn_of_ends(compare *w) {
    size_t at_end = 0;
    double low = INFINITY, high = 0;
    for (size_t k = 0; k < w->sigma.count; k++) {
        low = fmin(low, w->sigma.value[k]);
        high = fmax(high, w->sigma.value[k]);
    }
    for (size_t k = 0; k < w->contests; k++)
        at_end += w->contest[k].sigma == low || w->contest[k].sigma == high;
    if (at_end > 0 && low < high)
        session_note(w->s, "%zu of the tuned sigmas %s at an end of --sigmas; others may do better",
                     at_end, at_end == 1 ? "is" : "are");
}

/* ---- the command ----------------------------------------------------------- */

int compare_run(const cli_args *args) {
    session s;
    kb_status status;
    compare w = {.s = &s, .args = args};

    TRY(session_open(&s, args));
    TRY(session_hold_nothing_out(&s));
    TRY(prepare(&w));
    TRY(run(&w));
    progress_clear(&s.bar);
    warn_of_ends(&w);
    if (args_flag(args, OWN_JSON))
        TRY(report_json(compare_json(&w)));
    else
        print_table(&w, stdout);
    TRY(results_plot(&s, compare_json(&w)));
done:
    if (status != KB_OK && w.count > w.known && args->own[OWN_FILE])
        session_note(&s, "%zu points are kept; the same command continues from there", w.count);
    kb_data_free(w.train);
    kb_data_free(w.test);
    free(w.maps);
    free(w.contest);
    free(w.point);
    free(w.command);
    json_decref(w.runs);
    return session_close(&s, status);
}
