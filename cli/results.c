/* results.c - see results.h. */
#include "results.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------- */

static const char *text_in(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Whether the varied option is absent or known to this program. */
static int vary_is_known(const json_t *vary) {
    static const char *const known[] = {"sigma", "grids", "lambda", "threads"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (json_is_string(vary) && strcmp(json_string_value(vary), known[k]) == 0)
            return 1;
    return vary == NULL;
}

int results_are_in(const json_t *json) {
    const char *command = text_in(json, "command");
    return json_is_array(json_object_get(json, "points")) &&
           vary_is_known(json_object_get(json, "vary")) &&
           (strncmp(command, "kerbin sweep ", 13) == 0 ||
            strncmp(command, "kerbin compare ", 15) == 0);
}

static int same_map(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int same_value(double a, double b) {
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fabs(a);
}

static result *line_of(results *r, const char *map, double value) {
    for (size_t k = 0; k < r->count; k++)
        if (same_map(r->line[k].map, map) && same_value(r->line[k].value, value))
            return &r->line[k];
    r->line[r->count] = (result){.map = map, .value = value};
    return &r->line[r->count++];
}

/* Lines of one map are kept together, at the place of its first one. */
static void sort_lines(results *r) {
    for (size_t k = 1; k < r->count; k++) {
        result moved = r->line[k];
        size_t to = k;
        int met = 0;
        for (size_t i = 0; i < k; i++)
            met |= same_map(r->line[i].map, moved.map);
        for (; to > 0 && met; to--) {
            const result *before = &r->line[to - 1];
            if (same_map(before->map, moved.map) && !(before->value > moved.value))
                break;
            r->line[to] = *before;
        }
        r->line[to] = moved;
    }
}

kb_status results_read(const json_t *json, results *out) {
    const json_t *points = json_object_get(json, "points");
    size_t all = json_array_size(points);
    memset(out, 0, sizeof *out);
    out->json = json;
    out->vary = json_string_value(json_object_get(json, "vary"));
    out->train = text_in(json, "train");
    out->test = text_in(json, "test");
    out->metric = report_metric(json_string_value(json_object_get(json, "metric")));
    out->classes = json_is_true(json_object_get(json, "classification"));
    out->line = calloc(all + 1, sizeof *out->line);
    if (!out->line)
        return KB_ERR_MEMORY;
    for (size_t k = 0; k < all; k++) {
        const json_t *o = json_array_get(points, k);
        point p = point_from_json(o);
        if (!isfinite(p.test_score))
            continue;
        const char *map = out->vary ? NULL : text_in(o, "map");
        result *line = line_of(out, map, number_in(o, out->vary ? "value" : "rank"));
        mean_add(&line->over, &p);
        line->sigma = number_in(o, "sigma");
        line->speedup = number_in(o, "speedup");
        line->predicted = number_in(o, "predicted_speedup");
    }
    sort_lines(out);
    for (size_t k = 0; k < out->count; k++) {
        mean_finish(&out->line[k].over);
        out->seeds = fmax(out->seeds, out->line[k].over.count);
    }
    return KB_OK;
}

void results_free(results *r) {
    free(r->line);
    r->line = NULL;
}

/* ---- what they say --------------------------------------------------------- */

double result_seconds(const result *line) {
    return line->over.mean.bin_seconds + line->over.mean.solve_seconds;
}

static int is_error(const results *r) {
    return !r->vary && !r->classes;
}

const char *results_score_name(const results *r) {
    return r->metric     ? r->metric->words
           : is_error(r) ? "relative error"
           : r->classes  ? "accuracy"
                         : "r2";
}

double result_score(const results *r, const result *line) {
    const point *mean = &line->over.mean;
    return r->metric ? mean->metric : is_error(r) ? mean->test_error : mean->test_score;
}

double result_spread(const results *r, const result *line) {
    const point_mean *over = &line->over;
    return r->metric ? over->metric_spread : is_error(r) ? over->error_spread : over->score_spread;
}

int results_larger(const results *r) {
    return r->metric ? r->metric->larger : !is_error(r);
}

int results_same_in_training(const results *r) {
    const char *same = r->classes ? "accuracy" : "r2";
    return strcmp(results_score_name(r), same) == 0;
}

const result *results_best(const results *r) {
    const result *best = NULL;
    if (r->vary && strcmp(r->vary, "threads") == 0)
        return NULL;
    for (size_t k = 0; k < r->count; k++) {
        const result *line = &r->line[k];
        double score = result_score(r, line);
        if (!best ||
            (results_larger(r) ? score > result_score(r, best) : score < result_score(r, best)))
            best = line;
    }
    return best;
}

int map_place(const char *map) {
    size_t count, length = strlen(map);
    const kb_option_info *table = kb_option_table(&count);
    for (size_t k = 0; k < count; k++) {
        if (strcmp(table[k].name, "map") != 0)
            continue;
        int place = 0;
        for (const char *at = table[k].choices; *at; place++) {
            size_t word = strcspn(at, "|");
            if (word == length && memcmp(at, map, word) == 0)
                return place;
            at += word + (at[word] == '|');
        }
    }
    return 0;
}
