/*
 * learner.h - the weights of the samples for some outputs: which solver, on which problem.
 *
 * Square loss: ridge by CG or GMRES, with an intercept that is free.  The other losses:
 * Newton steps, where an intercept is one more feature of value 1, with a penalty like the rest.
 * The L1 penalty: coordinate descent on the columns of Z, with an intercept that is free.
 */
#ifndef KB_FIT_LEARNER_H
#define KB_FIT_LEARNER_H

#include "features/operator.h"
#include "rivals/rival.h"
#include "fit/targets.h"
#include "l1/l1.h"

/* A constant in the decisions: none, one that is learnt, or the mean of the targets, which only the
 * square loss knows. */
typedef enum kb_constant { KB_CONSTANT_NONE, KB_CONSTANT_FREE, KB_CONSTANT_MEAN } kb_constant;

typedef struct kb_learner {
    const kb_options *options;
    const kb_targets *targets;
    kb_operator *op;       /* Z */
    kb_zcolumns *columns;  /* the same by columns, for the L1 penalty */
    const kb_rival *rival; /* if the square loss is solved directly, the map */
    const double *weight;  /* of the samples, N; NULL: ones.  0 leaves a sample out. */
    double lambda;
    kb_constant intercept;

    double from, to; /* its part of the phase "solve", for progress */

    /* Over all calls so far. */
    size_t steps; /* of the slowest */
    int converged;
    double objective;
    double gap; /* of the L1 penalty: how far the objective can be from the least */

    /* Its own. */
    double *root;                /* of the weights */
    kb_operator *weighed, *used; /* what the solver gets */
} kb_learner;

/* How many outputs one call may take, and how many N-vectors it takes for each. */
size_t kb_learner_batch(const kb_options *options, size_t outputs);
double kb_learner_vectors(const kb_options *options);
/* Bytes a row beside those. */
double kb_learner_row_bytes(const kb_options *options, size_t outputs);
/* Bytes that a fit with the L1 penalty takes beside: for N rows and R grids, and for each bin. */
double kb_learner_column_bytes(const kb_options *options, size_t N, size_t R, int threads);
double kb_learner_bin_bytes(const kb_options *options, size_t N);

/* Whether the penalty is L1: then kb_learn gives w. */
int kb_learner_is_l1(const kb_options *options);
/* Whether a direct solution answers the options. */
int kb_learner_may_be_direct(const kb_options *options);
/* "cg", "gmres", "newton", "grid-cd", .. */
const char *kb_learner_solver(const kb_options *options);
int kb_learner_is_softmax(const kb_options *options, size_t outputs);

/* KB_ERR_ARGUMENT if the options contradict each other or the task. */
kb_status kb_learner_check(kb_context *ctx, const kb_learner *learner);

/* `learner` has its first block filled in. */
kb_status kb_learner_prepare(kb_context *ctx, kb_learner *learner);
void kb_learner_release(kb_context *ctx, kb_learner *learner);

/* The least lambda at which all weights of all outputs are zero; L1 only.  y, f: N, w: D, as
 * scratch. */
kb_status kb_learner_lambda_max(kb_context *ctx, kb_learner *learner, double *y, double *w,
                                double *f, double *out);

/* The outputs first .. first + C.  y: their targets, N x C, as kb_targets_fill gives them.  The
 * decisions of the training samples are f = K alpha + b.  alpha, f: N x C, b: C.
 *
 * With the L1 penalty C is 1, and instead of alpha there is w, D: it and b are where the solver
 * begins. */
kb_status kb_learn(kb_context *ctx, kb_learner *learner, size_t first, size_t C, const double *y,
                   double *alpha, double *f, double *b);

/* How long the array alpha, or w, must be for one output. */
size_t kb_learner_length(const kb_learner *learner);

#endif
