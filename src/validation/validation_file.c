/* validation_file.c - see validation_file.h. */
#include "validation/validation_file.h"

#include <math.h>

/* The numbers that may be there, each a member of the object. */
typedef struct member {
    const char *name;
    double *at;
} member;

enum { MEMBERS = 8 };

static void members_of(kb_expected *e, member *m) {
    const member all[MEMBERS] = {{"error", &e->error},
                                 {"error_low", &e->error_low},
                                 {"error_high", &e->error_high},
                                 {"log_loss", &e->log_loss},
                                 {"rmse", &e->rmse},
                                 {"rmse_low", &e->rmse_low},
                                 {"rmse_high", &e->rmse_high},
                                 {"r2", &e->r2}};
    for (int i = 0; i < MEMBERS; i++)
        m[i] = all[i];
}

json_t *kb_expected_describe(const kb_expected *e) {
    kb_expected copy = *e;
    member m[MEMBERS];
    json_t *json = json_pack("{s:I, s:I, s:I}", "rows", (json_int_t)e->rows, "learned",
                             (json_int_t)e->learned, "folds", (json_int_t)e->folds);
    members_of(&copy, m);
    for (int i = 0; json && i < MEMBERS; i++)
        if (isfinite(*m[i].at) && json_object_set_new(json, m[i].name, json_real(*m[i].at))) {
            json_decref(json);
            json = NULL;
        }
    return json;
}

static size_t size_at(const json_t *json, const char *key) {
    json_int_t n = json_integer_value(json_object_get(json, key));
    return n < 0 ? 0 : (size_t)n;
}

int kb_expected_read(const json_t *json, int classes, kb_expected *out) {
    member m[MEMBERS];
    *out = KB_EXPECTED_NONE;
    if (!json)
        return 1;
    members_of(out, m);
    out->rows = size_at(json, "rows");
    out->learned = size_at(json, "learned");
    out->folds = size_at(json, "folds");
    for (int i = 0; i < MEMBERS; i++)
        if (json_object_get(json, m[i].name))
            *m[i].at = json_number_value(json_object_get(json, m[i].name));
    return out->rows > 0 && (classes ? out->error >= 0 && out->error <= 1 : out->rmse >= 0);
}

/* ---- lists of numbers -------------------------------------------------- */

static json_t *list_of(size_t count, const double *x) {
    json_t *list = json_array();
    for (size_t k = 0; list && k < count; k++)
        if (json_array_append_new(list, json_real(x[k]))) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

/* How many numbers the list has; SIZE_MAX if there are more than `most` or other things. */
static size_t read_list(const json_t *list, size_t most, double *out) {
    size_t count = json_array_size(list);
    if (count > most || (list && !json_is_array(list)))
        return SIZE_MAX;
    for (size_t k = 0; k < count; k++) {
        if (!json_is_number(json_array_get(list, k)))
            return SIZE_MAX;
        out[k] = json_number_value(json_array_get(list, k));
    }
    return count;
}

static json_t *pairs_of(size_t count, const double *x, const double *y) {
    return json_pack("{s:o, s:o}", "x", list_of(count, x), "y", list_of(count, y));
}

static size_t read_pairs(const json_t *json, size_t most, double *x, double *y) {
    size_t count = read_list(json_object_get(json, "x"), most, x);
    return read_list(json_object_get(json, "y"), most, y) == count ? count : SIZE_MAX;
}

json_t *kb_curve_describe(const kb_curve *c) {
    return pairs_of(c->knots, c->x, c->y);
}

int kb_curve_read(const json_t *json, kb_curve *out) {
    *out = (kb_curve){0};
    out->knots = read_pairs(json, KB_CURVE_KNOTS, out->x, out->y);
    return kb_curve_is_sound(out);
}

json_t *kb_conformal_describe(const kb_conformal *c) {
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "rows", (json_int_t)c->rows, "residual",
                     list_of(c->residual.count, c->residual.at), "by_decision",
                     pairs_of(c->by_decision.knots, c->by_decision.x, c->by_decision.y), "by_known",
                     pairs_of(c->by_known.knots, c->by_known.x, c->by_known.y), "truth",
                     list_of(c->truth.count, c->truth.at), "known",
                     list_of(c->known.count, c->known.at));
}

static void read_quantiles(const json_t *json, const char *key, kb_quantiles *q) {
    q->count = read_list(json_object_get(json, key), KB_QUANTILES, q->at);
}

static void read_spread(const json_t *json, const char *key, kb_spread *s) {
    s->knots = read_pairs(json_object_get(json, key), KB_SPREAD_KNOTS, s->x, s->y);
}

int kb_conformal_read(const json_t *json, int classes, kb_conformal *out) {
    *out = (kb_conformal){0};
    if (!json)
        return 1;
    out->rows = size_at(json, "rows");
    read_quantiles(json, "residual", &out->residual);
    read_quantiles(json, "truth", &out->truth);
    read_quantiles(json, "known", &out->known);
    read_spread(json, "by_decision", &out->by_decision);
    read_spread(json, "by_known", &out->by_known);
    return out->rows > 0 && kb_conformal_is_sound(out, classes);
}
