/*
 * target_fit.c - fits with any options on few rows.  The first line has the options, and data=K for
 * one of the kinds below; the other lines are CSV, or there are none.
 *
 * A model that was fitted can be written and read, and then decides the same to the bit.
 */
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 24, FEATURES = 3, MOST_ROWS = 64, MOST_FEATURES = 16, MOST_OUTPUTS = 32 };

typedef struct buffer {
    uint8_t *bytes;
    size_t count;
} buffer;

static kb_status collect(void *user, const void *bytes, size_t count) {
    buffer *b = user;
    if (count == 0)
        return KB_OK;
    b->bytes = realloc(b->bytes, b->count + count);
    fuzz_check(b->bytes);
    memcpy(b->bytes + b->count, bytes, count);
    b->count += count;
    return KB_OK;
}

/* Rows in the caller's memory: 0 a number as the label, 1 two classes, 2 three; 4 more: sparse;
 * 8 more: huge values; 16 more: tiny ones. */
static kb_status make_rows(kb_context *ctx, unsigned long kind, kb_data **out) {
    double x[ROWS * FEATURES], y[ROWS], unit = kind & 8 ? 1e200 : kind & 16 ? 1e-200 : 1;
    kb_arrays a = KB_ARRAYS_INIT;
    for (size_t k = 0; k < ROWS * FEATURES; k++)
        x[k] = (kind & 4) && k % 5 ? 0 : unit * (double)(k * 37 % 41) / 7;
    for (size_t i = 0; i < ROWS; i++)
        y[i] =
            kind % 4 == 0 ? x[i * FEATURES] / unit + (double)i : (double)(i * 5 % (kind % 4 + 1));
    a.rows = ROWS;
    a.features = FEATURES;
    a.values = x;
    a.labels = y;
    return kb_data_from_arrays(ctx, &a, out);
}

/* No more of it than this. */
static void limit(kb_context *ctx, kb_options *options, const char *name, double most,
                  const char *text) {
    const char *value = kb_options_get(options, name);
    double is = value ? strtod(value, NULL) : 0;
    if (value && !(is > 0 && is <= most)) /* auto is 0 */
        fuzz_check(kb_options_set(ctx, options, name, text) == KB_OK);
}

static void use(kb_context *ctx, const kb_model *model, const kb_data *data) {
    buffer b = {0};
    kb_model *again = NULL;
    size_t count = kb_data_rows(data) * kb_model_info(model)->outputs;
    double *f = malloc(count * sizeof *f), *g = malloc(count * sizeof *g);
    fuzz_check(f && g);
    if (fuzz_status(ctx, kb_model_write_bytes(ctx, model, collect, &b)) == KB_OK) {
        kb_status status = kb_model_read_bytes(ctx, b.bytes, b.count, &again);
        if (status != KB_OK)
            fprintf(stderr, "%s\n", kb_context_message(ctx));
        fuzz_check(status == KB_OK || status == KB_ERR_MEMORY);
    }
    if (again && fuzz_status(ctx, kb_model_decide(ctx, model, data, f)) == KB_OK) {
        kb_status status = kb_model_decide(ctx, again, data, g);
        fuzz_check(status == KB_OK || status == KB_ERR_MEMORY);
        fuzz_check(status != KB_OK || memcmp(f, g, count * sizeof *f) == 0);
        for (size_t k = 0; k < count; k++)
            fuzz_check(isfinite(f[k]));
    }
    kb_model_free(again);
    free(b.bytes), free(f), free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_input in = fuzz_split(bytes, size);
    kb_context *ctx = fuzz_context();
    kb_options *options;
    kb_data *data = NULL;
    kb_model *model = NULL;
    fuzz_check(kb_options_create(ctx, &options) == KB_OK);
    fuzz_check(kb_options_set(ctx, options, "tune", "off") == KB_OK);
    fuzz_set_options(ctx, options, in.line, NULL);
    fuzz_check(kb_options_set(ctx, options, "tune", "off") == KB_OK);
    fuzz_check(kb_options_set(ctx, options, "importance", "off") == KB_OK);
    limit(ctx, options, "grids", 8, "8");
    limit(ctx, options, "max-iter", 30, "30");
    limit(ctx, options, "folds", 3, "3");
    if (in.count > 0) {
        fuzz_check(kb_options_set(ctx, options, "format", "csv") == KB_OK);
        fuzz_status(ctx, kb_data_read(ctx, options, fuzz_file(0, in.rest, in.count), NULL, &data));
    } else {
        fuzz_status(ctx, make_rows(ctx, fuzz_number(in.line, "data", 0), &data));
    }
    if (data && kb_data_rows(data) <= MOST_ROWS && kb_data_features(data) <= MOST_FEATURES &&
        fuzz_status(ctx, kb_model_fit(ctx, options, data, &model)) == KB_OK &&
        kb_model_info(model)->outputs <= MOST_OUTPUTS)
        use(ctx, model, data);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    fuzz_context_end(ctx);
    return 0;
}
