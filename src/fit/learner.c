/*
 * learner.c - see learner.h.
 *
 * Square loss with weights s: with D = diag(sqrt s), alpha = D beta and
 * (D K D + lambda I) beta = D y.  A free intercept b leaves beta to the problem with the weighted
 * means taken off, and then is the weighted mean of y - K alpha.
 */
#include "fit/learner.h"
#include "core/sums.h"
#include "solve/newton.h"
#include "solve/ridge.h"

#include <math.h>
#include <string.h>

/* Outputs solved at once.  More share a pass over the ids, but their vectors take more
 * memory; GMRES keeps 62 of them for each output. */
enum { BATCH = 32, GMRES_BATCH = 4 };

enum {
    SOLVER_AUTO,
    SOLVER_CG,
    SOLVER_GMRES,
    SOLVER_NEWTON,
    SOLVER_GRID_CD,
    SOLVER_CD,
    SOLVER_PARALLEL_CD,
    SOLVER_CHOLESKY
};
enum { ONE_VS_REST, SOFTMAX };
enum { MAP_BINNING, MAP_FOURIER, MAP_NYSTROM, MAP_BLOCKS, MAP_EXACT };

static int is_square(const kb_options *options) {
    return strcmp(kb_options_text(options, KB_OPT_LOSS), "square") == 0;
}

int kb_learner_is_softmax(const kb_options *options, size_t outputs) {
    return outputs > 1 && kb_options_choice(options, KB_OPT_MULTICLASS) == SOFTMAX;
}

int kb_learner_is_l1(const kb_options *options) {
    return strcmp(kb_options_text(options, KB_OPT_PENALTY), "l1") == 0;
}

int kb_learner_may_be_direct(const kb_options *options) {
    int solver = kb_options_choice(options, KB_OPT_SOLVER);
    return is_square(options) && !kb_learner_is_l1(options) &&
           (solver == SOLVER_AUTO || solver == SOLVER_CHOLESKY);
}

const char *kb_learner_solver(const kb_options *options) {
    if (kb_learner_is_l1(options))
        return kb_options_choice(options, KB_OPT_SOLVER) == SOLVER_AUTO
                   ? "grid-cd"
                   : kb_options_text(options, KB_OPT_SOLVER);
    if (!is_square(options))
        return "newton";
    return kb_options_choice(options, KB_OPT_SOLVER) == SOLVER_GMRES      ? "gmres"
           : kb_options_choice(options, KB_OPT_SOLVER) == SOLVER_CHOLESKY ? "cholesky"
                                                                          : "cg";
}

size_t kb_learner_batch(const kb_options *options, size_t outputs) {
    if (kb_learner_is_l1(options))
        return 1;
    size_t most = strcmp(kb_learner_solver(options), "gmres") ? BATCH : GMRES_BATCH;
    return outputs < most || kb_learner_is_softmax(options, outputs) ? outputs : most;
}

double kb_learner_vectors(const kb_options *options) {
    if (kb_learner_is_l1(options))
        return 0;
    const char *solver = kb_learner_solver(options);
    return strcmp(solver, "gmres") == 0    ? 2 * (KB_GMRES_RESTART + 1)
           : strcmp(solver, "newton") == 0 ? 9
                                           : 4;
}

/* One output with the squared hinge: the bins of up to half of the rows once more, and some vectors
 * of them (solve/active.h). */
double kb_learner_row_bytes(const kb_options *options, size_t outputs) {
    if (kb_learner_is_l1(options) || outputs > 1 ||
        strcmp(kb_options_text(options, KB_OPT_LOSS), "squared-hinge") != 0)
        return 0;
    return 4 + (7 * 8 + 2 * (double)kb_options_integer(options, KB_OPT_GRIDS)) / 2;
}

double kb_learner_column_bytes(const kb_options *options, size_t N, size_t R, int threads) {
    if (!kb_learner_is_l1(options))
        return 0;
    int nystrom = kb_options_choice(options, KB_OPT_MAP) == MAP_NYSTROM;
    double rank = (double)(nystrom && R > N ? N : R);
    if (kb_options_choice(options, KB_OPT_MAP) != MAP_BINNING) /* dense, and once more on the way */
        return 16 * (double)N * rank + 8 * rank * rank + kb_l1_bytes(N, R, 0);
    /* First the one, then the other. */
    return kb_zcolumns_bytes(N, R, 0) +
           fmax(kb_zcolumns_scratch_bytes(N, R, threads), kb_l1_bytes(N, R, 0));
}

double kb_learner_bin_bytes(const kb_options *options, size_t N) {
    size_t R = (size_t)kb_options_integer(options, KB_OPT_GRIDS);
    if (!kb_learner_is_l1(options))
        return 0;
    return kb_zcolumns_bytes(N, 0, 1) - kb_zcolumns_bytes(N, 0, 0) + kb_l1_bytes(N, R, 1) -
           kb_l1_bytes(N, R, 0);
}

size_t kb_learner_length(const kb_learner *l) {
    return kb_learner_is_l1(l->options) ? l->op->columns : l->op->rows;
}

/* What only one of the penalties has. */
static kb_status check_penalty(kb_context *ctx, const kb_options *options) {
    int solver = kb_options_choice(options, KB_OPT_SOLVER);
    int sparse = kb_learner_is_l1(options), group = kb_options_flag(options, KB_OPT_GROUP_GRIDS);
    if (solver != SOLVER_AUTO &&
        sparse != (solver >= SOLVER_GRID_CD && solver <= SOLVER_PARALLEL_CD))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--solver %s: does not solve --penalty %s",
                       kb_options_text(options, KB_OPT_SOLVER),
                       kb_options_text(options, KB_OPT_PENALTY));
    if (sparse && kb_options_choice(options, KB_OPT_MAP) >= MAP_BLOCKS)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--penalty l1: --map %s has no features to leave out",
                       kb_options_text(options, KB_OPT_MAP));
    if (group && kb_options_choice(options, KB_OPT_MAP) != MAP_BINNING)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--group-grids: needs --map binning");
    if (kb_options_integer(options, KB_OPT_LAMBDA_PATH) > 0 &&
        kb_options_choice(options, KB_OPT_MAP) != MAP_BINNING)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--lambda-path: needs --map binning");
    if (group && !sparse)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--group-grids: needs --penalty l1");
    if (group && strcmp(kb_learner_solver(options), "grid-cd") != 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--group-grids: needs --solver grid-cd");
    if (kb_options_integer(options, KB_OPT_LAMBDA_PATH) > 0 && !sparse)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--lambda-path: needs --penalty l1");
    if (sparse && kb_options_choice(options, KB_OPT_MULTICLASS) == SOFTMAX)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--multiclass softmax: needs --penalty l2");
    return KB_OK;
}

kb_status kb_learner_check(kb_context *ctx, const kb_learner *l) {
    kb_status status = check_penalty(ctx, l->options);
    if (status != KB_OK)
        return status;
    int solver = kb_options_choice(l->options, KB_OPT_SOLVER);
    const kb_loss *loss = kb_loss_find(kb_options_text(l->options, KB_OPT_LOSS));
    if (loss->for_classes && l->targets->classes == 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "--loss %s: is for classification, and this is regression", loss->name);
    if (is_square(l->options) ? solver == SOLVER_NEWTON
                              : solver == SOLVER_CG || solver == SOLVER_GMRES)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--solver %s: does not solve --loss %s",
                       kb_options_text(l->options, KB_OPT_SOLVER), loss->name);
    if (solver == SOLVER_CHOLESKY &&
        (!is_square(l->options) || kb_options_choice(l->options, KB_OPT_MAP) < MAP_BLOCKS))
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "--solver cholesky: needs --loss square and --map blocks or exact");
    if (l->intercept == KB_CONSTANT_MEAN &&
        (!is_square(l->options) || kb_learner_is_l1(l->options) ||
         kb_options_choice(l->options, KB_OPT_MAP) != MAP_BINNING))
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "--intercept mean: needs --map binning, --loss square and --penalty l2");
    if (kb_options_choice(l->options, KB_OPT_MULTICLASS) == SOFTMAX &&
        strcmp(loss->name, "logistic") != 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--multiclass softmax: needs --loss logistic");
    return KB_OK;
}

kb_status kb_learner_prepare(kb_context *ctx, kb_learner *l) {
    kb_status status = KB_OK;
    size_t N = l->op->rows;
    l->converged = 1;
    if (kb_learner_is_l1(l->options) || l->rival)
        goto done;
    if (!is_square(l->options)) {
        if (l->intercept)
            TRY(kb_operator_constant(ctx, l->op, &l->used));
        goto done;
    }
    if (l->weight) {
        TRY(kb_alloc(ctx, N, sizeof(double), &l->root));
        for (size_t i = 0; i < N; i++)
            l->root[i] = sqrt(l->weight[i]);
        TRY(kb_operator_weighted(ctx, l->op, l->root, &l->weighed));
    }
    if (l->intercept == KB_CONSTANT_FREE)
        TRY(kb_operator_centred(ctx, l->weighed ? l->weighed : l->op, l->root, &l->used));
done:
    return status;
}

void kb_learner_release(kb_context *ctx, kb_learner *l) {
    kb_operator_free(l->used);
    kb_operator_free(l->weighed);
    kb_release(ctx, l->root);
    l->used = l->weighed = NULL;
    l->root = NULL;
}

static void note(kb_learner *l, size_t steps, int converged, double objective) {
    l->steps = steps > l->steps ? steps : l->steps;
    l->converged &= converged;
    l->objective += objective;
}

/* lambda/2 alpha' K alpha + sum of s (f - y)^2 / 2; f = K alpha on entry, + b on return. */
static kb_status settle(kb_context *ctx, const kb_learner *l, size_t C, const double *y,
                        const double *alpha, const double *b, double *f, double *objective) {
    kb_status status;
    double *square = NULL;
    TRY(kb_alloc(ctx, C, sizeof(double), &square));
    TRY(kb_sums(ctx, l->op->rows, C, alpha, f, square));
    *objective = 0;
    for (size_t c = 0; c < C; c++)
        *objective += l->lambda / 2 * square[c];
    for (size_t i = 0; i < l->op->rows; i++)
        for (size_t c = 0, e = i * C; c < C; c++, e++) {
            f[e] += b[c];
            *objective += (l->weight ? l->weight[i] : 1) * (f[e] - y[e]) * (f[e] - y[e]) / 2;
        }
done:
    kb_release(ctx, square);
    return status;
}

static kb_status learn_square(kb_context *ctx, kb_learner *l, size_t C, const double *y,
                              double *alpha, double *f, double *b) {
    kb_status status;
    size_t N = l->op->rows;
    double *target = NULL, *mean = NULL, objective;
    TRY(kb_alloc(ctx, N * C, sizeof(double), &target));
    TRY(kb_alloc(ctx, C, sizeof(double), &mean));
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < C; c++)
            target[i * C + c] = (l->root ? l->root[i] : 1) * y[i * C + c];
    if (l->intercept)
        TRY(kb_centre(ctx, N, C, l->root, target, mean));
    kb_ridge problem = {
        .op = l->used      ? l->used
              : l->weighed ? l->weighed
                           : l->op,
        .lambda = l->lambda,
        .tol = kb_options_real(l->options, KB_OPT_TOL),
        .max_steps = (size_t)kb_options_integer(l->options, KB_OPT_MAX_ITER),
        .C = C,
        .y = target,
        .alpha = alpha,
        .f = f,
    };
    TRY(strcmp(kb_learner_solver(l->options), "gmres") ? kb_ridge_cg(ctx, &problem)
                                                       : kb_ridge_gmres(ctx, &problem));
    for (size_t i = 0; l->root && i < N; i++)
        for (size_t c = 0; c < C; c++)
            alpha[i * C + c] *= l->root[i];
    TRY(l->op->apply_k(l->op, ctx, C, alpha, f, NULL));
    memset(b, 0, C * sizeof(double));
    if (l->intercept == KB_CONSTANT_MEAN)
        memcpy(b, mean, C * sizeof(double));
    if (l->intercept == KB_CONSTANT_FREE) { /* the weighted mean of y - f */
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < C; c++)
                target[i * C + c] = (l->root ? l->root[i] : 1) * (y[i * C + c] - f[i * C + c]);
        TRY(kb_centre(ctx, N, C, l->root, target, b));
    }
    TRY(settle(ctx, l, C, y, alpha, b, f, &objective));
    note(l, problem.steps, problem.converged, objective);
done:
    kb_release(ctx, target);
    kb_release(ctx, mean);
    return status;
}

/* blocks and exact. */
static kb_status learn_directly(kb_context *ctx, kb_learner *l, size_t C, const double *y,
                                double *alpha, double *f, double *b) {
    kb_status status;
    double objective;
    memset(b, 0, C * sizeof(double));
    TRY(kb_rival_solve(ctx, l->rival, l->lambda, l->weight, C, y, alpha, l->intercept ? b : NULL));
    TRY(l->op->apply_k(l->op, ctx, C, alpha, f, NULL));
    TRY(settle(ctx, l, C, y, alpha, b, f, &objective));
    note(l, 1, 1, objective);
done:
    return status;
}

static kb_status learn_smooth(kb_context *ctx, kb_learner *l, size_t C, const double *y,
                              double *alpha, double *f, double *b) {
    kb_status status;
    kb_smooth problem = {
        .op = l->used ? l->used : l->op,
        .loss = kb_loss_find(kb_options_text(l->options, KB_OPT_LOSS)),
        .softmax = kb_learner_is_softmax(l->options, C),
        .lambda = l->lambda,
        .tol = kb_options_real(l->options, KB_OPT_TOL),
        .max_steps = (size_t)kb_options_integer(l->options, KB_OPT_MAX_ITER),
        .C = C,
        .y = y,
        .s = l->weight,
        .alpha = alpha,
        .f = f,
    };
    TRY(kb_newton(ctx, &problem));
    memset(b, 0, C * sizeof(double));
    if (l->intercept)
        TRY(kb_sums(ctx, l->op->rows, C, alpha, NULL, b));
    note(l, problem.steps, problem.converged, problem.objective);
done:
    return status;
}

static kb_l1 sparse_problem(const kb_learner *l, const double *y, double *w, double *f) {
    return (kb_l1){
        .columns = l->columns,
        .loss = kb_loss_find(kb_options_text(l->options, KB_OPT_LOSS)),
        .lambda = l->lambda,
        .tol = kb_options_real(l->options, KB_OPT_TOL),
        .max_epochs = (size_t)kb_options_integer(l->options, KB_OPT_MAX_ITER),
        .seed = (uint64_t)kb_options_integer(l->options, KB_OPT_SEED),
        .intercept = l->intercept,
        .group = kb_options_flag(l->options, KB_OPT_GROUP_GRIDS),
        .y = y,
        .s = l->weight,
        .w = w,
        .f = f,
    };
}

static kb_status learn_sparse(kb_context *ctx, kb_learner *l, const double *y, double *w, double *f,
                              double *b) {
    const char *solver = kb_learner_solver(l->options);
    kb_l1 problem = sparse_problem(l, y, w, f);
    problem.b = *b;
    kb_status status = strcmp(solver, "cd") == 0            ? kb_l1_cd(ctx, &problem)
                       : strcmp(solver, "parallel-cd") == 0 ? kb_l1_parallel_cd(ctx, &problem)
                                                            : kb_l1_grid_cd(ctx, &problem);
    *b = problem.b;
    note(l, problem.epochs, problem.converged, problem.objective);
    l->gap += problem.gap;
    return status;
}

kb_status kb_learner_lambda_max(kb_context *ctx, kb_learner *l, double *y, double *w, double *f,
                                double *out) {
    kb_status status = KB_OK;
    kb_l1 problem = sparse_problem(l, y, w, f);
    *out = 0;
    for (size_t c = 0; c < l->targets->outputs; c++) {
        double most;
        kb_targets_fill(l->targets, l->op->rows, c, 1, y);
        TRY(kb_l1_lambda_max(ctx, &problem, &most));
        *out = fmax(*out, most);
    }
done:
    return status;
}

kb_status kb_learn(kb_context *ctx, kb_learner *l, size_t first, size_t C, const double *y,
                   double *alpha, double *f, double *b) {
    double each = (l->to - l->from) / (double)l->targets->outputs;
    kb_progress_part(ctx, l->from + each * (double)first, l->from + each * (double)(first + C));
    kb_status status = kb_learner_is_l1(l->options) ? learn_sparse(ctx, l, y, alpha, f, b)
                       : l->rival                   ? learn_directly(ctx, l, C, y, alpha, f, b)
                       : is_square(l->options)      ? learn_square(ctx, l, C, y, alpha, f, b)
                                                    : learn_smooth(ctx, l, C, y, alpha, f, b);
    kb_progress_part(ctx, 0, 1);
    return status;
}
