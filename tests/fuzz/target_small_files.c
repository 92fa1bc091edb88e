/*
 * target_small_files.c - the small files beside the data: kernel tables, weights of samples and of
 * classes, widths.  The first byte chooses one of the four: k, w, c or s.
 */
#include "fuzz.h"

#include "core/memory.h"
#include "data/data.h"
#include "features/law.h"
#include "fit/sample_weights.h"
#include "fit/sigma.h"
#include "fit/targets.h"
#include "io/weight_file.h"

#include <math.h>
#include <stdio.h>

enum { FEATURES = 3, ROWS = 6 };

static void read_kernel(kb_context *ctx, const char *path) {
    char name[128];
    kb_law *law;
    snprintf(name, sizeof name, "table:%s", path);
    if (fuzz_status(ctx, kb_law_parse(ctx, name, &law)) == KB_OK) {
        fuzz_check(law->knots > 0 && law->share[law->knots - 1] > 0.999);
        for (int k = 0; k <= 8; k++) {
            double width = kb_law_width(law, (kb_uniform2){k / 8.0, 0.5});
            double value = kb_law_kernel(law, k);
            fuzz_check(isfinite(width) && width > 0);
            fuzz_check(value >= -1e-9 && value <= 1 + 1e-9);
        }
    }
    kb_law_free(law);
}

static void read_weights(kb_context *ctx, const char *path) {
    double *weight;
    size_t count;
    if (fuzz_status(ctx, kb_weights_read(ctx, path, &weight, &count)) == KB_OK)
        for (size_t i = 0; i < count; i++)
            fuzz_check(isfinite(weight[i]) && weight[i] >= 0);
    kb_release(ctx, weight);
}

static void read_class_weights(kb_context *ctx, const char *path) {
    static const char *const words[] = {"ape", "bee", "cow d"};
    const double x[ROWS] = {1, 2, 3, 4, 5, 6}, y[ROWS] = {0, 1, 2, 0, 1, 2};
    kb_arrays a = KB_ARRAYS_INIT;
    kb_data *data;
    kb_targets targets;
    double *weight;
    kb_config config = {.class_weight = KB_CLASS_WEIGHT_FILE, .class_weight_file = path};
    a.rows = ROWS;
    a.features = 1;
    a.values = x;
    a.labels = y;
    a.class_names = words;
    a.classes = 3;
    fuzz_check(kb_data_from_arrays(ctx, &a, &data) == KB_OK);
    fuzz_check(kb_targets_build(ctx, KB_TASK_AUTO, data, &targets) == KB_OK);
    if (fuzz_status(ctx, kb_sample_weights_build(ctx, &config, data, &targets, &weight)) == KB_OK)
        for (size_t i = 0; weight && i < ROWS; i++)
            fuzz_check(isfinite(weight[i]) && weight[i] >= 0);
    kb_release(ctx, weight);
    kb_targets_release(ctx, &targets);
    kb_data_free(data);
}

static void read_sigma(kb_context *ctx, const char *path) {
    kb_sigma sigma = {.kind = KB_SIGMA_FILE, .text = path};
    double *out = NULL;
    char *words = NULL;
    if (fuzz_status(ctx, kb_sigma_vector(ctx, &sigma, 0, FEATURES, 1, &out, &words)) == KB_OK)
        for (size_t j = 0; j < FEATURES; j++)
            fuzz_check(isfinite(out[j]) && out[j] > 0);
    kb_release(ctx, out);
    kb_release(ctx, words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kb_context *ctx = fuzz_context();
    const char *path = fuzz_file(0, size ? data + 1 : data, size ? size - 1 : 0);
    switch (size ? data[0] : 'k') {
    case 'w':
        read_weights(ctx, path);
        break;
    case 'c':
        read_class_weights(ctx, path);
        break;
    case 's':
        read_sigma(ctx, path);
        break;
    default:
        read_kernel(ctx, path);
    }
    fuzz_context_end(ctx);
    return 0;
}
