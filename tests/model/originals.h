/*
 * originals.h - small models in files, for the tests that damage them.
 */
#ifndef KB_TESTS_ORIGINALS_H
#define KB_TESTS_ORIGINALS_H

#include "model/forged.h"

static inline kb_model *small_model(kb_context *ctx, labels kind) {
    kb_options *options = OPTIONS(ctx, "grids", "5", "sigma", "0.9");
    kb_data *data = data_of(ctx, 40, 2, kind);
    kb_model *model = model_of(ctx, options, data);
    kb_data_free(data);
    kb_options_free(options);
    return model;
}

/* One that has dropped bins and grids. */
static inline kb_model *pruned_model(kb_context *ctx, labels kind) {
    kb_options *options =
        OPTIONS(ctx, "penalty", "l1", "grids", "15", "sigma", "0.5", "lambda", "1");
    kb_data *data = data_of(ctx, 40, 2, kind);
    kb_model *model = model_of(ctx, options, data);
    const kb_fit_info *info = kb_model_info(model);
    assert_true(info->kept_grids > 1 && info->kept_grids < info->grids);
    assert_true(info->kept_bins > 1 && info->kept_bins < info->bins);
    kb_data_free(data);
    kb_options_free(options);
    return model;
}

/* As it would be from sparse data: without medians, and in an older format. */
static inline void forget_encoding(kb_model *model) {
    kb_encoding_free(model->map->encoding);
    model->map->encoding = NULL;
}

static inline test_path original(kb_context *ctx, labels kind) {
    kb_model *model = small_model(ctx, kind);
    test_path path = written(ctx, model);
    kb_model_free(model);
    return path;
}

static inline test_path original_pruned(kb_context *ctx, labels kind) {
    kb_model *model = pruned_model(ctx, kind);
    test_path path = written(ctx, model);
    kb_model_free(model);
    return path;
}

/* The arrays of a model of random binning, in their order. */
static const char *const ARRAYS[] = {
    "grid.inverse_width", "grid.offset",  "feature.shift",  "feature.scale",
    "intercept",          "prior",        "hash.factor",    "bin.start",
    "bucket.start",       "bin.key",      "encode.kind",    "encode.source",
    "encode.part",        "encode.count", "encode.fill",    "encode.code",
    "width.sigma",        "width.q",      "feature.spread", "bucket.first",
    "bin.weight"};
enum { ARRAY_COUNT = sizeof ARRAYS / sizeof *ARRAYS };

#endif
