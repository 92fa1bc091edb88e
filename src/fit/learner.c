/*
 * learner.c - see learner.h.
 *
 * Square loss with weights s: with D = diag(sqrt s), alpha = D beta and (D K D + lambda I) beta = D
 * y.  With a free intercept b, beta solves the problem with the weighted means subtracted, and b is
 * the weighted mean of y - K alpha.
 */
#include "fit/learner.h"
#include "core/sums.h"
#include "ranks/row_sums.h"
#include "options/say.h"
#include "solve/direct.h"
#include "solve/loss.h"

#include <math.h>
#include <string.h>

int kb_learner_is_softmax(const kb_config *config, size_t outputs) {
    return outputs > 1 && config->multiclass == KB_MULTICLASS_SOFTMAX;
}

size_t kb_learner_batch(const kb_config *config, size_t outputs) {
    size_t most = kb_solver_of(config)->batch;
    return outputs < most || kb_learner_is_softmax(config, outputs) ? outputs : most;
}

/* The columns of Z (of a rival map all of it, and a second copy meanwhile), and the L1 solver. */
static kb_bytes l1_bytes(const kb_config *config, size_t N, int threads) {
    size_t R = config->grids;
    double rank = (double)(config->map == KB_MAP_NYSTROM && R > N ? N : R);
    kb_bytes bytes = {.bin = kb_zcolumns_bytes(N, 0, 1) - kb_zcolumns_bytes(N, 0, 0) +
                             kb_l1_bytes(N, R, 1) - kb_l1_bytes(N, R, 0)};
    if (kb_config_is_rival(config))
        bytes.fixed = 16 * (double)N * rank + 8 * rank * rank + kb_l1_bytes(N, R, 0);
    else /* first the one, then the other */
        bytes.fixed = kb_zcolumns_bytes(N, R, 0) +
                      fmax(kb_zcolumns_scratch_bytes(N, R, threads), kb_l1_bytes(N, R, 0));
    return bytes;
}

kb_bytes kb_learner_bytes(const kb_config *config, size_t outputs, size_t N, int threads) {
    if (kb_config_is_l1(config))
        return l1_bytes(config, N, threads);
    double batch = (double)kb_learner_batch(config, outputs);
    kb_bytes bytes = {.row = 8 * kb_solver_of(config)->vectors * batch};
    if (kb_solver_of(config)->sweeps)
        return kb_sweep_fit_bytes((size_t)batch, config->grids);
    if (kb_solver_of(config)->margin)
        return kb_margin_fit_bytes((size_t)batch);
    /* One output with the squared hinge: a second copy of the bins of up to half of the rows, and
     * some vectors of that length (solve/active.h). */
    if (outputs == 1 && config->loss == KB_LOSS_SQUARED_HINGE)
        bytes.row += 4 + (7 * 8 + 2 * (double)config->grids) / 2;
    return bytes;
}

size_t kb_learner_length(const kb_learner *l) {
    return kb_solver_of(l->config)->weights ? l->op->columns : l->op->rows;
}

static kb_status needs(kb_context *ctx, kb_said what, kb_said other) {
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: needs %s", what.text, other.text);
}

/* Checks of what only one of the penalties has. */
static kb_status check_penalty(kb_context *ctx, const kb_config *c) {
    int l1 = kb_config_is_l1(c);
    kb_said binning = kb_say_value(ctx, KB_OPT_MAP, "binning");
    kb_said penalty_l1 = kb_say_value(ctx, KB_OPT_PENALTY, "l1");
    kb_status status = kb_solver_check_penalty(ctx, c);
    if (status != KB_OK)
        return status;
    if (l1 && (c->map == KB_MAP_BLOCKS || c->map == KB_MAP_EXACT))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: %s has no features to leave out", penalty_l1.text,
                       kb_say_value(ctx, KB_OPT_MAP, kb_choice_word(KB_OPT_MAP, (int)c->map)).text);
    if (c->group_grids && kb_config_is_rival(c))
        return needs(ctx, kb_say(ctx, KB_OPT_GROUP_GRIDS), binning);
    if (c->lambda_path > 0 && kb_config_is_rival(c))
        return needs(ctx, kb_say(ctx, KB_OPT_LAMBDA_PATH), binning);
    if (c->group_grids && !l1)
        return needs(ctx, kb_say(ctx, KB_OPT_GROUP_GRIDS), penalty_l1);
    if (c->group_grids && kb_solver_of(c)->kind != KB_SOLVER_GRID_CD)
        return needs(ctx, kb_say(ctx, KB_OPT_GROUP_GRIDS),
                     kb_say_value(ctx, KB_OPT_SOLVER, "grid-cd"));
    if (c->lambda_path > 0 && !l1)
        return needs(ctx, kb_say(ctx, KB_OPT_LAMBDA_PATH), penalty_l1);
    if (l1 && c->multiclass == KB_MULTICLASS_SOFTMAX)
        return needs(ctx, kb_say_value(ctx, KB_OPT_MULTICLASS, "softmax"),
                     kb_say_value(ctx, KB_OPT_PENALTY, "l2"));
    return KB_OK;
}

/* What the option poisson needs of the labels. */
static kb_status check_counts(kb_context *ctx, const kb_learner *l) {
    kb_status status = KB_OK;
    int some = 0;
    size_t before, rows;
    if (l->config->loss != KB_LOSS_POISSON)
        return KB_OK;
    TRY(kb_ranks_place(ctx, l->targets->rows, &before, &rows));
    for (size_t i = 0; i < l->targets->rows; i++) {
        if (l->targets->label[i] < 0)
            return kb_fail(ctx, KB_ERR_DATA, "%s: needs labels of 0 or more, and row %zu has %g",
                           kb_say_value(ctx, KB_OPT_LOSS, "poisson").text, before + i + 1,
                           l->targets->label[i]);
        some |= kb_weight_of(l->weight, i) * l->targets->label[i] > 0;
    }
    TRY(kb_ranks_any(ctx, &some));
    if (!some)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: all labels are 0",
                    kb_say_value(ctx, KB_OPT_LOSS, "poisson").text));
done:
    return status;
}

kb_status kb_learner_check(kb_context *ctx, const kb_learner *l) {
    const kb_config *c = l->config;
    const kb_loss *loss = kb_loss_of(c->loss);
    kb_status status;
    TRY(check_penalty(ctx, c));
    if (loss->in_units && l->targets->classes > 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: is for regression, and this is classification",
                       kb_say_value(ctx, KB_OPT_LOSS, kb_loss_name(loss)).text);
    TRY(check_counts(ctx, l));
    if (loss->for_classes && l->targets->classes == 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: is for classification, and this is regression",
                       kb_say_value(ctx, KB_OPT_LOSS, kb_loss_name(loss)).text);
    TRY(kb_solver_check_loss(ctx, c));
    if (l->intercept == KB_CONSTANT_MEAN &&
        (c->loss != KB_LOSS_SQUARE || kb_config_is_l1(c) || kb_config_is_rival(c)))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: needs %s, %s and %s",
                       kb_say_value(ctx, KB_OPT_INTERCEPT, "mean").text,
                       kb_say_value(ctx, KB_OPT_MAP, "binning").text,
                       kb_say_value(ctx, KB_OPT_LOSS, "square").text,
                       kb_say_value(ctx, KB_OPT_PENALTY, "l2").text);
    if (c->multiclass == KB_MULTICLASS_SOFTMAX && c->loss != KB_LOSS_LOGISTIC)
        return needs(ctx, kb_say_value(ctx, KB_OPT_MULTICLASS, "softmax"),
                     kb_say_value(ctx, KB_OPT_LOSS, "logistic"));
    if (c->multiclass == KB_MULTICLASS_SOFTMAX && kb_solver_of(c)->margin)
        return needs(ctx, kb_say_value(ctx, KB_OPT_MULTICLASS, "softmax"),
                     kb_say_value(ctx, KB_OPT_SOLVER, "newton"));
done:
    return status;
}

kb_status kb_learner_prepare(kb_context *ctx, kb_learner *l) {
    kb_status status = KB_OK;
    size_t N = l->op->rows;
    l->converged = 1;
    if (kb_config_is_l1(l->config) || l->rival)
        goto done;
    if (l->config->loss != KB_LOSS_SQUARE) {
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

typedef struct settling {
    const kb_learner *l;
    size_t C;
    const double *y, *b;
    double *f;
    double before; /* the penalty: of one process, the losses are added to it */
} settling;

static void settle_rows(void *arg, size_t begin, size_t end, double *sum) {
    const settling *a = arg;
    const double *y = a->y;
    double objective = a->before, *f = a->f;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * a->C; c < a->C; c++, e++) {
            f[e] += a->b[c];
            objective += kb_weight_of(a->l->weight, i) * (f[e] - y[e]) * (f[e] - y[e]) / 2;
        }
    *sum = objective;
}

/* The objective of the square loss, given |w|^2 of each output, is noted; f = Z w on entry, + b on
 * return. */
static kb_status settle(kb_context *ctx, kb_learner *l, size_t C, const double *y,
                        const double *square, const double *b, double *f, double *objective) {
    double penalty = 0;
    settling a = {.l = l, .C = C, .y = y, .b = b, .f = f};
    for (size_t c = 0; c < C; c++)
        penalty += l->lambda / 2 * square[c];
    a.before = kb_has_ranks(ctx) ? 0 : penalty;
    kb_status status = kb_row_totals(ctx, l->op->rows, 1, settle_rows, &a, objective);
    *objective += penalty - a.before;
    return status;
}

/* Arrays of a ridge problem. */
typedef struct ridge_arrays {
    double *target; /* N x C: y times the roots of the weights, and centred */
    double *mean;   /* C: of y, or 0 */
    double *square; /* C */
} ridge_arrays;

static kb_status begin_ridge(kb_context *ctx, const kb_learner *l, size_t C, const double *y,
                             ridge_arrays *a) {
    kb_status status;
    size_t N = l->op->rows;
    status = kb_alloc(ctx, N * C, sizeof(double), &a->target);
    if (status == KB_OK)
        status = kb_zalloc(ctx, C, sizeof(double), &a->mean);
    if (status == KB_OK)
        status = kb_alloc(ctx, C, sizeof(double), &a->square);
    TRY(kb_ranks_agree(ctx, status));
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < C; c++)
            a->target[i * C + c] = kb_weight_of(l->root, i) * y[i * C + c];
    if (l->intercept)
        TRY(kb_centre(ctx, N, C, l->root, a->target, a->mean));
done:
    return status;
}

static void release_ridge(kb_context *ctx, ridge_arrays *a) {
    kb_release(ctx, a->target);
    kb_release(ctx, a->mean);
    kb_release(ctx, a->square);
}

/* b, given f = Z w: the mean of y, or the weighted mean of y - f. */
static kb_status find_intercept(kb_context *ctx, const kb_learner *l, size_t C, const double *y,
                                const double *f, ridge_arrays *a, double *b) {
    size_t N = l->op->rows;
    memcpy(b, a->mean, C * sizeof(double));
    if (l->intercept != KB_CONSTANT_FREE)
        return KB_OK;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < C; c++)
            a->target[i * C + c] = kb_weight_of(l->root, i) * (y[i * C + c] - f[i * C + c]);
    return kb_centre(ctx, N, C, l->root, a->target, b);
}

static kb_operator *operator_of(const kb_learner *l) {
    return l->used ? l->used : l->weighed ? l->weighed : l->op;
}

static kb_status learn_square(kb_context *ctx, kb_learner *l, size_t C, const double *y,
                              double *alpha, double *f, double *b) {
    kb_status status;
    size_t N = l->op->rows;
    double objective;
    ridge_arrays a = {0};
    TRY(begin_ridge(ctx, l, C, y, &a));
    kb_ridge problem = {
        .op = operator_of(l),
        .lambda = l->lambda,
        .tol = l->config->tol,
        .max_steps = l->config->max_iter,
        .C = C,
        .y = a.target,
        .alpha = alpha,
        .f = f,
    };
    TRY(kb_solver_of(l->config)->ridge(ctx, &problem));
    for (size_t i = 0; l->root && i < N; i++)
        for (size_t c = 0; c < C; c++)
            alpha[i * C + c] *= l->root[i];
    TRY(l->op->apply_k(l->op, ctx, C, alpha, f, NULL));
    TRY(find_intercept(ctx, l, C, y, f, &a, b));
    TRY(kb_row_sums(ctx, N, C, alpha, f, a.square));
    TRY(settle(ctx, l, C, y, a.square, b, f, &objective));
    note(l, problem.steps, problem.converged, objective);
done:
    release_ridge(ctx, &a);
    return status;
}

/* The decisions of the stop rows to their place among all outputs. */
static void keep_stop_rows(kb_learner *l, size_t first, size_t C, int stopped) {
    size_t outputs = l->targets->outputs;
    l->stopped = stopped && (first == 0 || l->stopped);
    for (size_t h = 0; l->stop_f && stopped && h < l->stop_rows; h++)
        memcpy(l->stop_f + h * outputs + first, l->stop_batch + h * C, C * sizeof(double));
}

static kb_status learn_by_sweeps(kb_context *ctx, kb_learner *l, size_t first, size_t C,
                                 const double *y, double *w, double *f, double *b) {
    kb_status status;
    double objective;
    ridge_arrays a = {0};
    TRY(begin_ridge(ctx, l, C, y, &a));
    memcpy(b, a.mean, C * sizeof(double));
    kb_sweep_fit problem = {
        .z = l->z,
        .op = operator_of(l),
        .target = a.target,
        .lambda = l->lambda,
        .tol = l->config->tol,
        .max_steps = l->config->max_iter,
        .C = C,
        .y = y,
        .s = l->weight,
        .intercept = l->intercept == KB_CONSTANT_FREE,
        .stop_rows = l->stop_rows,
        .stop_row = l->stop_row,
        .stop_f = l->stop_batch,
        .w = w,
        .b = b,
        .f = f,
    };
    TRY(kb_solver_of(l->config)->sweeps(ctx, &problem));
    keep_stop_rows(l, first, C, problem.stopped);
    TRY(l->op->apply(l->op, ctx, C, w, f));
    TRY(find_intercept(ctx, l, C, y, f, &a, b));
    TRY(kb_sums(ctx, l->op->columns, C, w, w, a.square));
    TRY(settle(ctx, l, C, y, a.square, b, f, &objective));
    note(l, problem.steps, problem.converged, objective);
done:
    release_ridge(ctx, &a);
    return status;
}

/* blocks and exact. */
static kb_status learn_directly(kb_context *ctx, kb_learner *l, size_t C, const double *y,
                                double *alpha, double *f, double *b) {
    kb_status status;
    double *square = NULL, objective;
    memset(b, 0, C * sizeof(double));
    TRY(kb_alloc(ctx, C, sizeof(double), &square));
    TRY(kb_rival_solve(ctx, l->rival, l->lambda, l->weight, C, y, alpha, l->intercept ? b : NULL));
    TRY(l->op->apply_k(l->op, ctx, C, alpha, f, NULL));
    TRY(kb_sums(ctx, l->op->rows, C, alpha, f, square));
    TRY(settle(ctx, l, C, y, square, b, f, &objective));
    note(l, 1, 1, objective);
done:
    kb_release(ctx, square);
    return status;
}

static kb_status learn_smooth(kb_context *ctx, kb_learner *l, size_t C, const double *y,
                              double *alpha, double *f, double *b) {
    kb_status status;
    double *offset = NULL;
    kb_loss loss = kb_loss_with_quantile(kb_loss_of(l->config->loss), l->config->quantile);
    TRY(kb_zalloc(ctx, C, sizeof *offset, &offset));
    kb_smooth problem = {
        .op = l->used ? l->used : l->op,
        .loss = &loss,
        .offset = l->intercept ? offset : NULL,
        .softmax = kb_learner_is_softmax(l->config, C),
        .lambda = l->lambda,
        .tol = l->config->tol,
        .max_steps = l->config->max_iter,
        .C = C,
        .y = y,
        .s = l->weight,
        .alpha = alpha,
        .f = f,
    };
    TRY(kb_solver_of(l->config)->smooth(ctx, &problem));
    memset(b, 0, C * sizeof(double));
    if (l->intercept)
        TRY(kb_row_sums(ctx, l->op->rows, C, alpha, NULL, b));
    for (size_t c = 0; c < C; c++)
        b[c] += offset[c];
    for (size_t e = 0; e < l->op->rows * C; e++)
        f[e] += offset[e % C];
    note(l, problem.steps, problem.converged, problem.objective);
done:
    kb_release(ctx, offset);
    return status;
}

static kb_status learn_margin(kb_context *ctx, kb_learner *l, size_t C, const double *y, double *w,
                              double *f, double *b) {
    kb_status status;
    kb_margin problem = {
        .z = l->z,
        .op = l->op,
        .op_one = l->used ? l->used : l->op,
        .loss = kb_loss_of(l->config->loss),
        .lambda = l->lambda,
        .tol = l->config->tol,
        .max_steps = l->config->max_iter,
        .C = C,
        .y = y,
        .s = l->weight,
        .intercept = l->intercept != 0,
        .w = w,
        .b = b,
        .f = f,
    };
    TRY(kb_solver_of(l->config)->margin(ctx, &problem));
    note(l, problem.steps, problem.converged, problem.objective);
done:
    return status;
}

static kb_l1 l1_problem(const kb_learner *l, const double *y, double *w, double *f) {
    return (kb_l1){
        .columns = l->columns,
        .loss = kb_loss_of(l->config->loss),
        .lambda = l->lambda,
        .tol = l->config->tol,
        .max_epochs = l->config->max_iter,
        .seed = l->config->seed,
        .intercept = l->intercept,
        .group = l->config->group_grids,
        .y = y,
        .s = l->weight,
        .w = w,
        .f = f,
    };
}

static kb_status learn_l1(kb_context *ctx, kb_learner *l, const double *y, double *w, double *f,
                          double *b) {
    kb_l1 problem = l1_problem(l, y, w, f);
    problem.b = *b;
    kb_status status = kb_solver_of(l->config)->l1(ctx, &problem);
    *b = problem.b;
    note(l, problem.epochs, problem.converged, problem.objective);
    l->gap += problem.gap;
    return status;
}

kb_status kb_learner_lambda_max(kb_context *ctx, kb_learner *l, double *y, double *w, double *f,
                                double *out) {
    kb_status status = KB_OK;
    kb_l1 problem = l1_problem(l, y, w, f);
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
    const kb_solver *solver = kb_solver_of(l->config);
    kb_status status = solver->l1       ? learn_l1(ctx, l, y, alpha, f, b)
                       : l->rival       ? learn_directly(ctx, l, C, y, alpha, f, b)
                       : solver->sweeps ? learn_by_sweeps(ctx, l, first, C, y, alpha, f, b)
                       : solver->margin ? learn_margin(ctx, l, C, y, alpha, f, b)
                       : solver->ridge  ? learn_square(ctx, l, C, y, alpha, f, b)
                                        : learn_smooth(ctx, l, C, y, alpha, f, b);
    kb_progress_part(ctx, 0, 1);
    return status;
}
