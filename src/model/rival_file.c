/* rival_file.c - see rival_file.h. */
#include "model/rival_file.h"

#include <math.h>
#include <string.h>

/* What every rival has beside its own arrays. */
enum { RIVAL_INTERCEPT, RIVAL_PRIOR, RIVAL_WEIGHT, RIVAL_COMMON };

static void describe_common(const kb_fit_info *i, kb_tensor *t) {
    t[RIVAL_INTERCEPT] = (kb_tensor){"intercept", KB_F64, 1, {i->outputs, 0}, NULL};
    t[RIVAL_PRIOR] = (kb_tensor){"prior", KB_F64, 1, {i->outputs, 0}, NULL};
    t[RIVAL_WEIGHT] = (kb_tensor){"weight", KB_F64, 2, {i->bins, i->outputs}, NULL};
}

static const kb_dtype TENSOR_OF[] = {
    [KB_ARRAY_F64] = KB_F64, [KB_ARRAY_I64] = KB_I64, [KB_ARRAY_I32] = KB_I32};

kb_status kb_model_write_rival(kb_context *ctx, const kb_model *model, const kb_map_tensors *map,
                               const json_t *metadata, const kb_sink *sink) {
    kb_array own[KB_RIVAL_ARRAYS];
    kb_tensor t[RIVAL_COMMON + KB_MAP_TENSORS + KB_RIVAL_ARRAYS];
    size_t count = kb_rival_arrays(model->map->rival, own);
    describe_common(&model->info, t);
    t[RIVAL_INTERCEPT].bytes = model->intercept;
    t[RIVAL_PRIOR].bytes = model->prior;
    t[RIVAL_WEIGHT].bytes = model->rival_weight;
    memcpy(t + RIVAL_COMMON, map->tensor, map->count * sizeof *t);
    size_t at = RIVAL_COMMON + map->count;
    for (int wide = 1; wide >= 0; wide--) /* numbers of 8 bytes first */
        for (size_t k = 0; k < count; k++)
            if ((own[k].type != KB_ARRAY_I32) == wide)
                t[at++] = (kb_tensor){own[k].name,
                                      TENSOR_OF[own[k].type],
                                      own[k].rank,
                                      {own[k].shape[0], own[k].shape[1]},
                                      own[k].bytes};
    return kb_tensors_write(ctx, sink, metadata, t, at);
}

/* All arrays of the file that a rival may have, by the names that it has itself. */
static size_t collect_arrays(const kb_tensor_file *file, kb_array *out) {
    size_t count = 0;
    const char *name;
    json_t *entry;
    json_object_foreach(file->header, name, entry) {
        kb_tensor t;
        if (strcmp(name, "__metadata__") == 0 || count == KB_RIVAL_ARRAYS ||
            !kb_tensors_get(file, name, &t) || t.type == KB_F32 || !strchr(name, '.') ||
            kb_map_has_tensor(name))
            continue;
        out[count++] = (kb_array){name,
                                  t.type == KB_F64   ? KB_ARRAY_F64
                                  : t.type == KB_I64 ? KB_ARRAY_I64
                                                     : KB_ARRAY_I32,
                                  t.rank,
                                  {t.shape[0], t.rank == 2 ? t.shape[1] : 0},
                                  t.bytes};
    }
    return count;
}

static int all_finite(const kb_tensor *t) {
    size_t count = t->shape[0] * (t->rank == 2 ? t->shape[1] : 1);
    for (size_t k = 0; k < count; k++)
        if (!isfinite(((const double *)t->bytes)[k]))
            return 0;
    return 1;
}

kb_status kb_model_read_rival(kb_context *ctx, const kb_tensor_file *file, kb_map_kind kind,
                              kb_model *model) {
    kb_status status;
    const kb_fit_info *i = &model->info;
    kb_tensor t[RIVAL_COMMON];
    kb_array own[KB_RIVAL_ARRAYS];
    size_t C = i->outputs;
    describe_common(i, t);
    for (int k = 0; k < RIVAL_COMMON; k++) {
        TRY(kb_tensors_find(ctx, file, &t[k]));
        if (!all_finite(&t[k]))
            TRY(kb_fail(ctx, KB_ERR_MODEL, "a number of the array %s is not finite", t[k].name));
    }
    TRY(kb_rival_restore(ctx, kb_rival_kind_of(kind), i->kernel, model->map->columns,
                         collect_arrays(file, own), own, &model->map->rival));
    if (model->map->rival->columns != i->bins)
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the arrays contradict each other"));
    TRY(kb_alloc(ctx, C, sizeof(double), &model->intercept));
    memcpy(model->intercept, t[RIVAL_INTERCEPT].bytes, C * sizeof(double));
    TRY(kb_alloc(ctx, C, sizeof(double), &model->prior));
    memcpy(model->prior, t[RIVAL_PRIOR].bytes, C * sizeof(double));
    TRY(kb_alloc(ctx, i->bins * C, sizeof(double), &model->rival_weight));
    memcpy(model->rival_weight, t[RIVAL_WEIGHT].bytes, i->bins * C * sizeof(double));
done:
    return status;
}
