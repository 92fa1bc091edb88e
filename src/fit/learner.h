/*
 * learner.h - solves for the weights of some outputs: picks the problem and the solver.
 *
 * Square loss: ridge by CG, GMRES or sweeps, with an intercept that is free.  The other losses:
 * Newton steps, where an intercept is one more feature of value 1, with a penalty like the rest.
 * The L1 penalty: coordinate descent on the columns of Z, with an intercept that is free.
 */
#ifndef KB_FIT_LEARNER_H
#define KB_FIT_LEARNER_H

#include "core/bytes.h"
#include "features/operator.h"
#include "fit/solvers.h"
#include "fit/targets.h"
#include "rivals/rival.h"

/* A constant in the decisions: none, one that is learned, or the mean of the targets, for the
 * square loss only. */
typedef enum kb_constant { KB_CONSTANT_NONE, KB_CONSTANT_FREE, KB_CONSTANT_MEAN } kb_constant;

typedef struct kb_learner {
    const kb_config *config;
    const kb_targets *targets;
    kb_operator *op;       /* Z */
    const kb_binmat *z;    /* the same as bin numbers, for sweeps */
    kb_zcolumns *columns;  /* the same by columns, for the L1 penalty */
    const kb_rival *rival; /* the map, if the square loss is solved directly */
    const double *weight;  /* of the samples, N; NULL: ones.  0 leaves a sample out. */
    double lambda;
    kb_constant intercept;
    size_t stop_rows; /* rows that tell sweeps when to stop; 0: they go on to the option tol */
    const uint32_t *stop_row;
    double *stop_f;     /* stop_rows x outputs: their decisions; NULL: not wanted */
    double *stop_batch; /* scratch for one call: stop_rows x batch */

    double from, to; /* its part of the phase "solve", for progress */

    /* Over all calls so far. */
    size_t steps; /* of the slowest */
    int converged;
    int stopped; /* by the stop rows in every call: stop_f is there */
    double objective;
    double
        gap; /* with the L1 penalty, an upper bound on the objective's distance from its minimum */

    /* Its own. */
    double *root;                /* of the weights */
    kb_operator *weighed, *used; /* what the solver gets */
} kb_learner;

/* How many outputs one call may take. */
size_t kb_learner_batch(const kb_config *config, size_t outputs);
/* Bytes for N rows and R grids: in total, for each row, for each bin.  `outputs` counts all outputs
 * of the problem. */
kb_bytes kb_learner_bytes(const kb_config *config, size_t outputs, size_t N, int threads);

int kb_learner_is_softmax(const kb_config *config, size_t outputs);

/* KB_ERR_ARGUMENT for a config that contradicts itself or the task. */
kb_status kb_learner_check(kb_context *ctx, const kb_learner *learner);

/* The caller has filled in the first block of `learner`. */
kb_status kb_learner_prepare(kb_context *ctx, kb_learner *learner);
void kb_learner_release(kb_context *ctx, kb_learner *learner);

/* The smallest lambda at which all weights of all outputs are zero; L1 only.  y, f: N, w: D,
 * scratch. */
kb_status kb_learner_lambda_max(kb_context *ctx, kb_learner *learner, double *y, double *w,
                                double *f, double *out);

/* The outputs first .. first + C.  y: their targets, N x C, as kb_targets_fill gives them.  The
 * decisions of the training samples are f = K alpha + b.  alpha, f: N x C, b: C.
 *
 * A solver that gives weights (kb_solver.weights) has w, D x C, instead of alpha.  With the L1
 * penalty C is 1, and w and b on entry are the solver's start values. */
kb_status kb_learn(kb_context *ctx, kb_learner *learner, size_t first, size_t C, const double *y,
                   double *alpha, double *f, double *b);

/* Length of the array alpha, or w, for one output. */
size_t kb_learner_length(const kb_learner *learner);

#endif
