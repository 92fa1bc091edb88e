/* join.c - see join.h. */
#include "api/join.h"
#include "core/fixed_math.h"
#include "fit/fit.h"

#include <math.h>
#include <string.h>

/* Where the columns of the models lie among those of the joined one. */
typedef struct columns {
    size_t plain;  /* those of model[0] that are no mixtures; the others' are the first of these */
    size_t count;  /* of the joined one */
    size_t **at;   /* models x their columns */
    size_t models; /* of `at` */
    kb_mixtures mixtures;
} columns;

static const kb_mixtures *mixtures_of(const kb_model *model) {
    static const kb_mixtures none;
    return model->map->transform ? &model->map->transform->mixtures : &none;
}

static size_t plain_of(const kb_model *model) {
    return model->map->columns - mixtures_of(model)->count;
}

static void release_columns(kb_context *ctx, columns *c) {
    for (size_t m = 0; c->at && m < c->models; m++)
        kb_release(ctx, c->at[m]);
    kb_release(ctx, c->at);
    kb_mixtures_release(kb_allocator_of(ctx), &c->mixtures);
}

/* Mixture k of `from` as the last one of c. */
static void take_mixture(columns *c, const kb_mixtures *from, size_t k) {
    kb_mixtures *to = &c->mixtures;
    size_t n = to->count++;
    memcpy(to->weight + n * to->columns, from->weight + k * from->columns,
           from->columns * sizeof *to->weight);
    to->offset[n] = from->offset[k];
    to->low[n] = from->low[k];
    to->high[n] = from->high[k];
    c->count++;
}

/* The linear fits of all models come first, then the directions of all. */
static kb_status lay_out(kb_context *ctx, size_t count, kb_model *const *model, columns *c) {
    kb_status status;
    size_t extra = 0;
    c->plain = c->count = plain_of(model[0]);
    TRY(kb_zalloc(ctx, count, sizeof *c->at, &c->at));
    c->models = count;
    for (size_t m = 0; m < count; m++) {
        if (plain_of(model[m]) > c->plain)
            TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "models of different columns cannot be joined"));
        extra += mixtures_of(model[m])->count;
        TRY(kb_alloc(ctx, model[m]->map->columns, sizeof **c->at, &c->at[m]));
        for (size_t j = 0; j < plain_of(model[m]); j++)
            c->at[m][j] = j;
    }
    TRY(kb_mixtures_create(ctx, extra, c->plain, &c->mixtures));
    c->mixtures.count = 0;
    for (int linear = 1; linear >= 0; linear--)
        for (size_t m = 0; m < count; m++) {
            const kb_mixtures *from = mixtures_of(model[m]);
            for (size_t k = linear ? 0 : from->linear; k < (linear ? from->linear : from->count);
                 k++) {
                c->at[m][plain_of(model[m]) + k] = c->count;
                take_mixture(c, from, k);
            }
            c->mixtures.linear += linear ? from->linear : 0;
        }
done:
    return status;
}

/* ---- the map ------------------------------------------------------------- */

static kb_status join_scaling(kb_context *ctx, size_t count, kb_model *const *model,
                              const columns *c, kb_map *map) {
    kb_status status = KB_OK;
    if (model[0]->map->transform)
        TRY(kb_transform_mix(ctx, model[0]->map->transform, &c->mixtures, &map->transform));
    TRY(kb_zalloc(ctx, c->count, sizeof *map->spread, &map->spread));
    for (size_t m = 0; m < count; m++)
        for (size_t j = 0; j < model[m]->map->columns; j++) {
            map->shift[c->at[m][j]] = model[m]->map->shift[j];
            map->scale[c->at[m][j]] = model[m]->map->scale[j];
            map->spread[c->at[m][j]] = model[m]->map->spread[j];
        }
done:
    return status;
}

static size_t least_common_multiple(size_t a, size_t b) {
    size_t x = a, y = b;
    while (y > 0) {
        size_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

static kb_status join_widths(kb_context *ctx, size_t count, kb_model *const *model,
                             const columns *c, kb_map *map) {
    kb_status status = KB_OK;
    kb_widths *w = &map->widths;
    size_t V = 1, R = model[0]->map->drawn;
    for (size_t m = 0; m < count; m++)
        V = least_common_multiple(V, model[m]->map->widths.vectors);
    w->vectors = count * (V < R ? V : R);
    w->features = c->count;
    TRY(kb_alloc(ctx, w->vectors * w->features, sizeof *w->width, &w->width));
    for (size_t v = 0; v < w->vectors; v++) {
        const kb_widths *from = &model[v % count]->map->widths;
        size_t grid = v % count * R + v / count; /* of all that were drawn */
        const kb_width *vector = from->width + grid % from->vectors * from->features;
        for (size_t j = 0; j < c->count; j++)
            w->width[v * c->count + j] = (kb_width){NULL, 1, 0};
        for (size_t j = 0; j < from->features; j++)
            w->width[v * c->count + c->at[v % count][j]] = vector[j];
    }
done:
    return status;
}

static kb_status join_grids(kb_context *ctx, size_t count, kb_model *const *model, const columns *c,
                            kb_map *map) {
    kb_status status;
    size_t R = model[0]->map->drawn;
    TRY(kb_grids_create(ctx, count * R, c->count, &map->grids));
    for (size_t m = 0; m < count; m++)
        for (size_t j = 0; j < model[m]->map->columns; j++) {
            const kb_grids *from = model[m]->map->grids;
            map->grids->factor[c->at[m][j]] = from->factor[j];
            for (size_t r = 0; r < R; r++) {
                double *to = kb_grids_at(map->grids, r * count + m, c->at[m][j]);
                to[0] = kb_grids_at(from, r, j)[0];
                to[KB_LANES] = kb_grids_at(from, r, j)[KB_LANES];
            }
        }
    kb_grids_finish(map->grids);
    map->drawn = count * R;
done:
    return status;
}

/* The bins of grid g of the joined map. */
static const uint64_t *bins_of(size_t count, kb_model *const *model, size_t g, size_t *bins,
                               size_t *first) {
    const kb_dictionary *d = &model[g % count]->map->dictionary;
    *first = d->start[g / count];
    *bins = d->start[g / count + 1] - *first;
    return d->key + *first;
}

/* Keys and weights. */
static kb_status join_bins(kb_context *ctx, size_t count, kb_model *const *model, kb_map *map,
                           float **weight) {
    kb_status status;
    size_t G = map->drawn, C = model[0]->info.outputs, D = 0, bins, first;
    uint64_t *start = NULL, *key = NULL;
    double share = 1 / sqrt((double)count);
    for (size_t m = 0; m < count; m++)
        D += model[m]->map->dictionary.bins;
    TRY(kb_alloc(ctx, G + 1, sizeof *start, &start));
    TRY(kb_alloc(ctx, D, sizeof *key, &key));
    TRY(kb_alloc(ctx, D * C, sizeof **weight, weight));
    start[0] = 0;
    for (size_t g = 0; g < G; g++) {
        const uint64_t *from = bins_of(count, model, g, &bins, &first);
        memcpy(key + start[g], from, bins * sizeof *key);
        for (size_t e = 0; e < bins * C; e++)
            (*weight)[start[g] * C + e] =
                (float)(share * (double)model[g % count]->weight[first * C + e]);
        start[g + 1] = start[g] + bins;
    }
    TRY(kb_dictionary_of_keys(ctx, G, start, key, &map->dictionary));
    start = key = NULL;
done:
    kb_release(ctx, start);
    kb_release(ctx, key);
    return status;
}

static kb_status join_maps(kb_context *ctx, size_t count, kb_model *const *model, const columns *c,
                           kb_map **out, float **weight) {
    kb_status status;
    kb_map *first = model[0]->map;
    TRY(kb_map_create(ctx, first->features, c->count, out));
    TRY(join_scaling(ctx, count, model, c, *out));
    TRY(join_widths(ctx, count, model, c, *out));
    TRY(join_grids(ctx, count, model, c, *out));
    TRY(join_bins(ctx, count, model, *out, weight));
    TRY(kb_map_attach(ctx, *out, first->encoding));
    (*out)->features = first->features;
    (*out)->scaling = first->scaling;
    (*out)->kernel = first->kernel;
    (*out)->sigma = first->sigma;
    first->kernel = first->sigma = NULL;
done:
    return status;
}

/* ---- rows held out ------------------------------------------------------- */

/* A decision as it was before unknown bins were filled in, and before exp. */
static double plain_decision(const kb_model *model, size_t h, size_t c) {
    const kb_validation *v = &model->validation;
    double f = v->decision[h * v->outputs + c], b = model->intercept[c];
    if (model->log_link)
        f = kb_log_fixed(f);
    return model->fill && v->known && v->known[h] > 0 ? b + (f - b) * sqrt(v->known[h]) : f;
}

/* Of each model the place of its next row; whether all of them held out row `h` of the first. */
static int all_held(size_t count, kb_model *const *model, size_t h, size_t *at) {
    uint32_t row = model[0]->validation.row[h];
    int all = 1;
    at[0] = h;
    for (size_t m = 1; m < count; m++) {
        const kb_validation *v = &model[m]->validation;
        while (at[m] < v->rows && v->row[at[m]] < row)
            at[m]++;
        all &= at[m] < v->rows && v->row[at[m]] == row;
    }
    return all;
}

/* The mean over the models for one row, at its place in the record of the first. */
static void join_row(size_t count, kb_model *const *model, const size_t *at, size_t to,
                     const double *intercept) {
    kb_validation *v = &model[0]->validation;
    double known = 0;
    for (size_t m = 0; v->known && m < count; m++)
        known += model[m]->validation.known[at[m]] / (double)count;
    for (size_t c = 0; c < v->outputs; c++) {
        double f = 0, b = intercept[c];
        for (size_t m = 0; m < count; m++)
            f += plain_decision(model[m], at[m], c) / (double)count;
        if (model[0]->fill && known > 0)
            f = b + (f - b) / sqrt(known);
        v->decision[to * v->outputs + c] = model[0]->log_link ? kb_exp_bounded(f) : f;
    }
    size_t h = at[0];
    v->row[to] = v->row[h];
    v->label[to] = v->label[h];
    if (v->class_of)
        v->class_of[to] = v->class_of[h];
    if (v->weight)
        v->weight[to] = v->weight[h];
    if (v->known)
        v->known[to] = known;
}

/* Rows that only some models held out are dropped. */
static kb_status join_held(kb_context *ctx, size_t count, kb_model *const *model,
                           const double *intercept) {
    kb_status status;
    kb_validation *v = &model[0]->validation;
    size_t rows = v->rows, *at = NULL;
    TRY(kb_zalloc(ctx, count, sizeof *at, &at));
    v->rows = 0;
    for (size_t h = 0; h < rows; h++)
        if (all_held(count, model, h, at))
            join_row(count, model, at, v->rows++, intercept);
done:
    kb_release(ctx, at);
    return status;
}

/* ---- the model ----------------------------------------------------------- */

static double mean_of(size_t count, kb_model *const *model, double (*value)(const kb_model *m)) {
    double sum = 0;
    for (size_t m = 0; m < count; m++)
        sum += value(model[m]);
    return sum / (double)count;
}

static double kappa_of(const kb_model *m) {
    return m->info.kappa;
}

static double objective_of(const kb_model *m) {
    return m->info.objective;
}

static void join_info(size_t count, kb_model *const *model) {
    kb_fit_info *i = &model[0]->info;
    const kb_map *map = model[0]->map;
    i->kappa = mean_of(count, model, kappa_of);
    i->objective = mean_of(count, model, objective_of);
    for (size_t m = 1; m < count; m++) {
        const kb_fit_info *other = &model[m]->info;
        i->steps = other->steps > i->steps ? other->steps : i->steps;
        i->converged &= other->converged;
        i->nonzeros += other->nonzeros;
        kb_fit_cost *cost = &model[0]->cost;
        const kb_fit_cost *more = &model[m]->cost;
        cost->bin_seconds += more->bin_seconds;
        cost->solve_seconds += more->solve_seconds;
        cost->id_bytes = more->id_bytes > cost->id_bytes ? more->id_bytes : cost->id_bytes;
        cost->forecast_bytes = more->forecast_bytes > cost->forecast_bytes ? more->forecast_bytes
                                                                           : cost->forecast_bytes;
    }
    i->grids = i->kept_grids = map->drawn;
    i->bins = i->kept_bins = map->dictionary.bins;
    i->widths_differ = kb_widths_differ(&map->widths);
    i->linear_columns = kb_map_linear(map);
    i->directions = kb_map_mixtures(map) - kb_map_linear(map);
    i->models = count;
}

/* out[c] = the mean over the models. */
static void mean_constants(size_t count, kb_model *const *model, size_t C, double *intercept,
                           double *prior) {
    for (size_t c = 0; c < C; c++)
        for (size_t m = 0; m < count; m++) {
            intercept[c] += model[m]->intercept[c] / (double)count;
            prior[c] += model[m]->prior[c] / (double)count;
        }
}

kb_status kb_models_join(kb_context *ctx, const kb_config *config, size_t count,
                         kb_model *const *model) {
    kb_status status;
    columns c = {0};
    kb_map *map = NULL;
    float *weight = NULL;
    double *intercept = NULL, *prior = NULL;
    size_t C = model[0]->info.outputs;
    TRY(lay_out(ctx, count, model, &c));
    TRY(kb_zalloc(ctx, C, sizeof *intercept, &intercept));
    TRY(kb_zalloc(ctx, C, sizeof *prior, &prior));
    mean_constants(count, model, C, intercept, prior);
    TRY(join_maps(ctx, count, model, &c, &map, &weight));
    TRY(join_held(ctx, count, model, intercept));
    memcpy(model[0]->intercept, intercept, C * sizeof *intercept);
    memcpy(model[0]->prior, prior, C * sizeof *prior);
    kb_map_free(model[0]->map);
    model[0]->map = map;
    map = NULL;
    kb_release(ctx, (void *)model[0]->weight);
    model[0]->weight = weight;
    weight = NULL;
    join_info(count, model);
    TRY(kb_fit_conclude(ctx, config, model[0]));
done:
    kb_map_free(map);
    kb_release(ctx, weight);
    kb_release(ctx, intercept);
    kb_release(ctx, prior);
    release_columns(ctx, &c);
    return status;
}
