/* map_file.c - see map_file.h.  Files of the first kerbin have none of these arrays. */
#include "model/map_file.h"

#include <assert.h>
#include <string.h>

static const char CONTRADICTION[] = "the arrays contradict each other";

int kb_map_has_tensor(const char *name) {
    return strncmp(name, "transform.", 10) == 0 || strncmp(name, "mixture.", 8) == 0 ||
           strncmp(name, "encode.", 7) == 0 || strncmp(name, "width.", 6) == 0 ||
           strncmp(name, "feature.", 8) == 0;
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

/* The members of each step as arrays; where its codes begin follows from the counts. */
static kb_status add_encoding(kb_context *ctx, const kb_encoding *e, kb_map_tensors *out) {
    kb_status status;
    TRY(kb_alloc(ctx, e->features, sizeof(int64_t), &out->kind));
    TRY(kb_alloc(ctx, e->features, sizeof(int64_t), &out->source));
    TRY(kb_alloc(ctx, e->features, sizeof(int64_t), &out->part));
    TRY(kb_alloc(ctx, e->features, sizeof(int64_t), &out->codes));
    TRY(kb_alloc(ctx, e->features, sizeof(double), &out->fill));
    for (size_t k = 0; k < e->features; k++) {
        out->kind[k] = (int64_t)e->step[k].kind;
        out->source[k] = (int64_t)e->step[k].source;
        out->part[k] = (int64_t)e->step[k].part;
        out->codes[k] = (int64_t)e->step[k].count;
        out->fill[k] = e->step[k].fill;
    }
    add(out, "encode.kind", KB_I64, e->features, 0, out->kind);
    add(out, "encode.source", KB_I64, e->features, 0, out->source);
    add(out, "encode.part", KB_I64, e->features, 0, out->part);
    add(out, "encode.count", KB_I64, e->features, 0, out->codes);
    add(out, "encode.fill", KB_F64, e->features, 0, out->fill);
    add(out, "encode.code", KB_F64, e->codes, 0, e->code);
done:
    return status;
}

kb_status kb_map_tensors_build(kb_context *ctx, const kb_map *map, kb_map_tensors *out) {
    kb_status status = KB_OK;
    const kb_widths *w = &map->widths;
    *out = (kb_map_tensors){0};
    if (map->encoding)
        TRY(add_encoding(ctx, map->encoding, out));
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
    kb_release(ctx, t->kind);
    kb_release(ctx, t->source);
    kb_release(ctx, t->part);
    kb_release(ctx, t->codes);
    kb_release(ctx, t->fill);
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

/* The last columns are levels where the encoding makes them from levels. */
static size_t count_levels(const kb_encoding *e, const kb_transform *t) {
    size_t levels = 0;
    for (size_t j = t->plain; e && j-- > 0; levels++)
        if (t->source[j] >= e->features || e->step[t->source[j]].kind != KB_ENCODE_LEVEL ||
            t->factor[j] != 1)
            break;
    return levels;
}

static kb_status copy_transform(kb_context *ctx, const kb_tensor_file *file, const kb_encoding *e,
                                size_t knots, kb_transform *t) {
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
    t->levels = count_levels(e, t);
    if (t->knot_start[d] != knots || !kb_transform_is_sound(t))
        TRY(kb_fail(ctx, KB_ERR_MODEL, CONTRADICTION));
    TRY(kb_transform_finish(ctx, t));
done:
    return status;
}

/* The arrays of an encoding, in the order of their names below. */
enum { STEP_KIND, STEP_SOURCE, STEP_PART, STEP_COUNT, STEP_FILL, STEP_CODE, STEP_ARRAYS };

static void describe_steps(const kb_tensor_file *file, kb_tensor *t) {
    static const char *const name[STEP_ARRAYS] = {"encode.kind",  "encode.source", "encode.part",
                                                  "encode.count", "encode.fill",   "encode.code"};
    size_t steps = kb_tensors_length(file, name[STEP_KIND]);
    for (int k = 0; k < STEP_ARRAYS; k++)
        t[k] = (kb_tensor){name[k], k < STEP_FILL ? KB_I64 : KB_F64, 1, {steps, 0}, NULL};
    t[STEP_CODE].shape[0] = kb_tensors_length(file, name[STEP_CODE]);
}

static int has_encoding(const kb_tensor_file *file) {
    kb_tensor t[STEP_ARRAYS], found;
    describe_steps(file, t);
    for (int k = 0; k < STEP_ARRAYS; k++)
        if (kb_tensors_get(file, t[k].name, &found))
            return 1;
    return 0;
}

/* Step k; 0 if a number of it cannot be one of a step. */
static int step_at(const kb_tensor *t, size_t k, kb_encode_step *out) {
    uint64_t kind = ((const uint64_t *)t[STEP_KIND].bytes)[k];
    uint64_t part = ((const uint64_t *)t[STEP_PART].bytes)[k];
    *out = (kb_encode_step){.kind = (kb_encode_kind)kind,
                            .source = ((const uint64_t *)t[STEP_SOURCE].bytes)[k],
                            .part = (kb_date_part)part,
                            .count = ((const uint64_t *)t[STEP_COUNT].bytes)[k],
                            .fill = ((const double *)t[STEP_FILL].bytes)[k]};
    return kind < KB_ENCODE_KINDS && part < KB_DATE_PARTS;
}

/* All six arrays, if there is one of them. */
static kb_status read_encoding(kb_context *ctx, const kb_tensor_file *file, size_t inputs,
                               kb_encoding **out) {
    kb_status status;
    kb_tensor t[STEP_ARRAYS];
    kb_encode_step step;
    describe_steps(file, t);
    for (int k = 0; k < STEP_ARRAYS; k++)
        TRY(kb_tensors_find(ctx, file, &t[k]));
    TRY(kb_encoding_create(ctx, inputs, out));
    for (size_t k = 0; k < t[STEP_KIND].shape[0]; k++) {
        size_t left = t[STEP_CODE].shape[0] - (*out)->codes;
        if (!step_at(t, k, &step) || (step.kind == KB_ENCODE_CODE && step.count > left))
            TRY(kb_fail(ctx, KB_ERR_MODEL, CONTRADICTION));
        TRY(kb_encoding_add(ctx, *out, step));
    }
    if ((*out)->codes != t[STEP_CODE].shape[0])
        TRY(kb_fail(ctx, KB_ERR_MODEL, CONTRADICTION));
    if ((*out)->codes)
        memcpy((*out)->code, t[STEP_CODE].bytes, (*out)->codes * sizeof(double));
    if (!kb_encoding_is_sound(*out))
        TRY(kb_fail(ctx, KB_ERR_MODEL, CONTRADICTION));
    kb_encoding_finish(*out);
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
        double at[] = {((const double *)sigma.bytes)[k], ((const double *)q.bytes)[k]};
        map->widths.width[k] = (kb_width){NULL, at[0], at[1]};
    }
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
    kb_encoding *encoding = NULL;
    size_t columns, inputs = info->features, knots = kb_tensors_length(file, "transform.knot");
    size_t mixtures = kb_tensors_rows(file, "mixture.weight");
    int transforms = strcmp(info->scale, "ranks") == 0;
    kb_tensor source;
    *out = NULL;
    if (has_encoding(file)) {
        TRY(read_encoding(ctx, file, info->features, &encoding));
        inputs = encoding->features;
    }
    columns = inputs;
    kb_tensor low = {"transform.low", KB_F64, 1, {inputs, 0}, NULL};
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
        TRY(kb_transform_create(ctx, inputs, plain, knots, mixtures, &transform));
        TRY(copy_transform(ctx, file, encoding, knots, transform));
        columns = transform->features;
    }
    kb_tensor each = {shift, KB_F64, 1, {columns, 0}, NULL};
    TRY(kb_tensors_find(ctx, file, &each));
    TRY(kb_map_create(ctx, info->features, columns, out));
    (*out)->encoding = encoding;
    encoding = NULL;
    (*out)->transform = transform;
    transform = NULL;
    (*out)->drawn = info->grids;
    TRY(read_widths(ctx, file, *out));
done:
    kb_encoding_free(encoding);
    kb_transform_free(transform);
    if (status != KB_OK) {
        kb_map_free(*out);
        *out = NULL;
    }
    return status;
}
