/*
 * rivals.h - what the tests of the rival maps share in the model room.
 */
#ifndef KB_TESTS_RIVALS_H
#define KB_TESTS_RIVALS_H

#include "core/strings.h"
#include "model/ways.h"

static const char *const MAPS[] = {"fourier", "nystrom", "blocks", "exact"};
enum { FOURIER, NYSTROM, BLOCKS, EXACT, MAP_COUNT };

#define RIVAL(ctx, map, ...)                                                                       \
    OPTIONS(ctx, "map", MAPS[map], "grids", "40", "sigma", "0.8", "lambda", "0.3", __VA_ARGS__)

/* The options of a way to a model of a rival map, half of them with each kind of kernel. */
static inline kb_options *rival_options(kb_context *ctx, int map, const way *w,
                                        const char *intercept) {
    return WAY(ctx, w, "map", MAPS[map], "kernel", map % 2 ? "gauss" : "laplace", "intercept",
               intercept);
}

/* The five more fits of a slow loss: long, and much like those of the square loss. */
static inline int is_long(const way *w) {
    return strcmp(w->probability, "on") == 0 && strcmp(w->loss, "square") != 0;
}

/* Whether this way to a model with this map has an L1 penalty, and is not done elsewhere. */
static inline int takes_l1(int map, const way *w) {
    return map < BLOCKS && strcmp(w->multiclass, "softmax") != 0 &&
           strcmp(w->probability, "on") != 0;
}

/* The same samples, kept sparse. */
static inline kb_data *sparse_of(kb_context *ctx, const kb_data *data) {
    kb_data *sparse = test_sparse(ctx, data->rows, data->features, data->dense, data->label);
    if (data->class_count)
        assert_ok(ctx,
                  kb_strings_copy(ctx, data->class_count, data->class_name, &sparse->class_name));
    sparse->class_count = data->class_count;
    return sparse;
}

static const char *const KERNELS[] = {"laplace",     "triangle", "power:1.5",
                                      "exponential", "gauss",    "table"};
enum { KERNEL_COUNT = sizeof KERNELS / sizeof *KERNELS };

/* The option's text; a table is a file of three pieces, which is to be unlinked. */
static inline const char *kernel_text(const char *name, test_path *table) {
    static char text[600];
    *table = path_of("kernel.txt");
    if (strcmp(name, "table") != 0)
        return name;
    *table = file_with("kernel.txt", "0 1\n0.5 0.5\n1.5 0.1\n3 0\n");
    snprintf(text, sizeof text, "table:%s", table->text);
    return text;
}

#endif
