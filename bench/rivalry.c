/* rivalry.c - see rivalry.h. */
#define _POSIX_C_SOURCE 200809L
#include "rivalry.h"
#include "fit/map_build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void rivalry_quiet(const char *text) {
    (void)text;
}

void rivalry_must(kb_context *ctx, kb_status status) {
    if (status == KB_OK)
        return;
    fprintf(stderr, "kerbin-bench: %s\n", kb_context_message(ctx));
    exit(1);
}

/* The first row is positive, so that LIBLINEAR's first class is too. */
static void build_problem(rivalry *r) {
    size_t N = r->z->rows, R = r->z->grids, first = 0;
    while (r->y[first] < 0)
        first++;
    r->nodes = malloc(N * (R + 1) * sizeof *r->nodes);
    r->problem = (struct problem){.l = (int)N, .n = (int)r->z->bins, .bias = -1};
    r->problem.y = malloc(N * sizeof(double));
    r->problem.x = malloc(N * sizeof *r->problem.x);
    for (size_t k = 0; k < N; k++) {
        size_t i = k == 0 ? first : k == first ? 0 : k;
        struct feature_node *row = r->nodes + k * (R + 1);
        for (size_t g = 0; g < R; g++)
            row[g] = (struct feature_node){(int)(r->z->start[g] + kb_binmat_id(r->z, i, g)) + 1,
                                           kb_bin_value(r->z->R)};
        row[R].index = -1;
        r->problem.x[k] = row;
        r->problem.y[k] = r->y[i];
    }
}

void rivalry_build(rivalry *r, const char *sigma, const char *scale, const char *grids, int odd) {
    kb_options *options;
    kb_memory_plan memory = {SIZE_MAX, 0, 0};
    kb_binned binned;
    double forecast;
    size_t N = r->data->rows;
    rivalry_must(r->ctx, kb_options_create(r->ctx, &options));
    rivalry_must(r->ctx, kb_options_set(r->ctx, options, "grids", grids));
    rivalry_must(r->ctx, kb_options_set(r->ctx, options, "sigma", sigma));
    rivalry_must(r->ctx, kb_options_set(r->ctx, options, "scale", scale));
    kb_plan plan = {.config = kb_config_of(options)};
    rivalry_must(r->ctx,
                 kb_map_build(r->ctx, &plan, r->data, &memory, &r->map, &binned, &forecast));
    r->z = binned.z;
    r->op = binned.op;
    rivalry_must(r->ctx, kb_alloc(r->ctx, N, sizeof(double), &r->y));
    for (size_t i = 0; i < N; i++)
        r->y[i] = odd ? fmod(r->data->label[i], 2) != 0 ? 1 : -1 : r->data->label[i] > 0 ? 1 : -1;
    kb_options_free(options);
    build_problem(r);
}

void rivalry_release(rivalry *r) {
    free(r->nodes);
    free(r->problem.y);
    free(r->problem.x);
    kb_release(r->ctx, r->y);
    kb_operator_free(r->op);
    kb_binmat_free(r->z);
    kb_map_free(r->map);
    kb_data_free(r->data);
}

void rivalry_one_thread(char **argv) {
    if (getenv("OPENBLAS_NUM_THREADS"))
        return;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
}
