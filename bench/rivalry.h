/*
 * rivalry.h - a data set's features for kerbin and for LIBLINEAR.
 */
#ifndef KB_BENCH_RIVALRY_H
#define KB_BENCH_RIVALRY_H

#include "bench.h"
#include "features/binned.h"
#include "model/map.h"

#include <linear.h>

typedef struct rivalry {
    kb_context *ctx;
    kb_data *data;
    kb_map *map;
    kb_binmat *z;
    kb_operator *op; /* of z */
    double *y;       /* N: -1 and 1 */
    struct problem problem;
    struct feature_node *nodes;
} rivalry;

/* Bins r->data.  odd: the target is whether the label is odd; else whether it is positive. */
void rivalry_build(rivalry *r, const char *sigma, const char *scale, const char *grids, int odd);
void rivalry_release(rivalry *r);

/* Ends the program with the context's message if the status is not KB_OK. */
void rivalry_must(kb_context *ctx, kb_status status);
/* For set_print_string_function. */
void rivalry_quiet(const char *text);

/* LIBLINEAR calls a BLAS that may have threads of its own: restarts the program with one thread. */
void rivalry_one_thread(char **argv);

#endif
