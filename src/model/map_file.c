/* map_file.c - see map_file.h.  Files of the first kerbin have none of these arrays. */
#include "model/map_file.h"

#include <assert.h>
#include <float.h>
#include <string.h>

static const char CONTRADICTION[] = "the arrays contradict each other";

int kb_map_has_tensor(const char *name) {
    return strncmp(name, "transform.", 10) == 0 || strncmp(name, "mixture.", 8) == 0 ||
           strncmp(name, "width.", 6) == 0 || strncmp(name, "feature.", 8) == 0;
}

/* ---- writing ----------------------------------------------------------- */

static void add(kb_map_tensors *t, const char *name, kb_dtype type, size_t rows, size_t columns,
                const void *bytes) {
    assert(t->count < KB_MAP_TENSORS);
    t->tensor[t->count++] = (kb_tensor){name, type, columns ? 2 : 1, {rows, columns}, bytes};
}

static void add_transform(const kb_transform *t, kb_map_tensors *out) {
    size_t d = t->plain, knots = t->knot_start[d];
    const kb_mixtures *m = &t->mixtures;
    add(out, "transform.low", KB_F64, t->inputs, 0, t->low);
    add(out, "transform.high", KB_F64, t->inputs, 0, t->high);
    add(out, "transform.source", KB_I64, d, 0, t->source);
    add(out, "transform.shift", KB_F64, d, 0, t->shift);
    add(out, "transform.factor", KB_F64, d, 0, t->factor);
    add(out, "transform.knot_start", KB_I64, d + 1, 0, t->knot_start);
    add(out, "transform.knot", KB_F64, knots, 0, t->knot);
    add(out, "transform.rank", KB_F64, knots, 0, t->rank);
    if (m->count == 0)
        return;
    add(out, "mixture.weight", KB_F64, m->count, d, m->weight);
    add(out, "mixture.offset", KB_F64, m->count, 0, m->offset);
    add(out, "mixture.low", KB_F64, m->count, 0, m->low);
    add(out, "mixture.high", KB_F64, m->count, 0, m->high);
}

kb_status kb_map_tensors_build(kb_context *ctx, const kb_map *map, kb_map_tensors *out) {
    kb_status status = KB_OK;
    const kb_widths *w = &map->widths;
    *out = (kb_map_tensors){0};
    if (map->transform)
        add_transform(map->transform, out);
    if (!w->width)
        return KB_OK;
    size_t count = w->vectors * w->features;
    TRY(kb_alloc(ctx, count, sizeof(double), &out->sigma));
    TRY(kb_alloc(ctx, count, sizeof(double), &out->q));
    for (size_t k = 0; k < count; k++) {
        out->sigma[k] = w->width[k].sigma;
        out->q[k] = w->width[k].q;
    }
    add(out, "width.sigma", KB_F64, w->vectors, w->features, out->sigma);
    add(out, "width.q", KB_F64, w->vectors, w->features, out->q);
    add(out, "feature.spread", KB_F64, map->columns, 0, map->spread);
done:
    return status;
}

void kb_map_tensors_clear(kb_context *ctx, kb_map_tensors *t) {
    kb_release(ctx, t->sigma);
    kb_release(ctx, t->q);
}

/* ---- reading ----------------------------------------------------------- */

/* Copies an array, which must have this type and shape, to where there is room for it. */
static kb_status copy(kb_context *ctx, const kb_tensor_file *file, const char *name, kb_dtype type,
                      size_t count, void *to) {
    kb_tensor t = {name, type, 1, {count, 0}, NULL};
    kb_status status = kb_tensors_find(ctx, file, &t);
    if (status == KB_OK && count)
        memcpy(to, t.bytes, count * sizeof(double)); /* or a size_t */
    return status;
}

static kb_status copy_mixtures(kb_context *ctx, const kb_tensor_file *file, kb_mixtures *m) {
    kb_status status;
    kb_tensor weight = {"mixture.weight", KB_F64, 2, {m->count, m->columns}, NULL};
    TRY(kb_tensors_find(ctx, file, &weight));
    memcpy(m->weight, weight.bytes, m->count * m->columns * sizeof(double));
    TRY(copy(ctx, file, "mixture.offset", KB_F64, m->count, m->offset));
    TRY(copy(ctx, file, "mixture.low", KB_F64, m->count, m->low));
    TRY(copy(ctx, file, "mixture.high", KB_F64, m->count, m->high));
done:
    return status;
}

static kb_status copy_transform(kb_context *ctx, const kb_tensor_file *file, size_t knots,
                                kb_transform *t) {
    kb_status status;
    size_t d = t->plain;
    TRY(copy(ctx, file, "transform.low", KB_F64, t->inputs, t->low));
    TRY(copy(ctx, file, "transform.high", KB_F64, t->inputs, t->high));
    TRY(copy(ctx, file, "transform.source", KB_I64, d, t->source));
    TRY(copy(ctx, file, "transform.shift", KB_F64, d, t->shift));
    TRY(copy(ctx, file, "transform.factor", KB_F64, d, t->factor));
    TRY(copy(ctx, file, "transform.knot_start", KB_I64, d + 1, t->knot_start));
    TRY(copy(ctx, file, "transform.knot", KB_F64, knots, t->knot));
    TRY(copy(ctx, file, "transform.rank", KB_F64, knots, t->rank));
    if (t->mixtures.count)
        TRY(copy_mixtures(ctx, file, &t->mixtures));
    if (t->knot_start[d] != knots || !kb_transform_is_sound(t))
        TRY(kb_fail(ctx, KB_ERR_MODEL, CONTRADICTION));
    TRY(kb_transform_finish(ctx, t));
done:
    return status;
}

/* All three arrays or none. */
static kb_status read_widths(kb_context *ctx, const kb_tensor_file *file, kb_map *map) {
    kb_status status;
    size_t d = map->columns;
    kb_tensor sigma, q;
    if (!kb_tensors_get(file, "width.sigma", &sigma) && !kb_tensors_get(file, "width.q", &q) &&
        !kb_tensors_length(file, "feature.spread"))
        return KB_OK;
    sigma = (kb_tensor){"width.sigma", KB_F64, 2, {kb_tensors_rows(file, "width.sigma"), d}, NULL};
    q = (kb_tensor){"width.q", KB_F64, 2, {sigma.shape[0], d}, NULL};
    TRY(kb_tensors_find(ctx, file, &sigma));
    TRY(kb_tensors_find(ctx, file, &q));
    TRY(kb_alloc(ctx, d, sizeof(double), &map->spread));
    TRY(copy(ctx, file, "feature.spread", KB_F64, d, map->spread));
    map->widths.vectors = sigma.shape[0];
    map->widths.features = d;
    TRY(kb_alloc(ctx, sigma.shape[0] * d, sizeof(kb_width), &map->widths.width));
    for (size_t k = 0; k < sigma.shape[0] * d; k++) {
        kb_width w = {NULL, ((const double *)sigma.bytes)[k], ((const double *)q.bytes)[k]};
        if (!(w.sigma > 0 && w.sigma <= DBL_MAX && w.q >= 0 && w.q <= 1))
            TRY(kb_fail(ctx, KB_ERR_MODEL, "a width is not one"));
        map->widths.width[k] = w;
    }
    for (size_t j = 0; j < d; j++)
        if (!(map->spread[j] >= 0 && map->spread[j] <= DBL_MAX))
            TRY(kb_fail(ctx, KB_ERR_MODEL, "the spread of a feature is not a number"));
    if (sigma.shape[0] == 0)
        TRY(kb_fail(ctx, KB_ERR_MODEL, CONTRADICTION));
done:
    return status;
}

/* Memory is allocated by the lengths of the arrays in the file, not by what the description
 * claims. */
kb_status kb_map_read(kb_context *ctx, const kb_tensor_file *file, const kb_fit_info *info,
                      const char *shift, kb_map **out) {
    kb_status status;
    kb_transform *transform = NULL;
    size_t columns = info->features, knots = kb_tensors_length(file, "transform.knot");
    size_t mixtures = kb_tensors_rows(file, "mixture.weight");
    int transforms = strcmp(info->scale, "ranks") == 0;
    kb_tensor low = {"transform.low", KB_F64, 1, {info->features, 0}, NULL}, source;
    *out = NULL;
    if (transforms != kb_tensors_get(file, "transform.source", &source))
        TRY(kb_fail(ctx, KB_ERR_MODEL, CONTRADICTION));
    if (transforms) {
        size_t plain = kb_tensors_length(file, "transform.source");
        kb_tensor mixed = {"mixture.weight", KB_F64, 2, {mixtures, plain}, NULL};
        TRY(kb_tensors_find(ctx, file, &low));
        if (mixtures)
            TRY(kb_tensors_find(ctx, file, &mixed));
        if (plain == 0) /* weights of no columns could claim any number of mixtures */
            TRY(kb_fail(ctx, KB_ERR_MODEL, CONTRADICTION));
        TRY(kb_transform_create(ctx, info->features, plain, knots, mixtures, &transform));
        TRY(copy_transform(ctx, file, knots, transform));
        columns = transform->features;
    }
    kb_tensor each = {shift, KB_F64, 1, {columns, 0}, NULL};
    TRY(kb_tensors_find(ctx, file, &each));
    TRY(kb_map_create(ctx, info->features, columns, out));
    (*out)->transform = transform;
    transform = NULL;
    (*out)->drawn = info->grids;
    TRY(read_widths(ctx, file, *out));
done:
    kb_transform_free(transform);
    if (status != KB_OK) {
        kb_map_free(*out);
        *out = NULL;
    }
    return status;
}
