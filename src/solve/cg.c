/*
 * cg.c - conjugate gradients for ridge, in the kernel inner product; see ridge.h.
 *
 * With A = K + lambda I, rho = y - A alpha, direction p (Hestenes and Stiefel 1952, every
 * product <a, b> being a' K b):
 *
 *     a = <rho, rho> / <p, A p>,   <p, A p> = |K p|^2 + lambda p' K p
 *     alpha += a p,  f += a K p,  rho -= a (K p + lambda p)
 *     b = <rho, rho> new / old,  p = rho + b p,  K p = K rho + b K p
 *
 * K rho is the one product of a step.  <rho, rho> = |Z' rho|^2 comes with it, and as rho is
 * orthogonal to the last p,  p' K p = <rho, rho> + b^2 p' K p.
 *
 * The rho of the recursion drifts from the true residual by rounding.  When it reaches a tight
 * tolerance, the true residual is computed, and the iteration starts again from there if that one
 * is too large.
 */
#include "solve/ridge.h"
#include "core/team.h"
#include "ranks/checkpoint.h"
#include "ranks/row_sums.h"

#include <math.h>
#include <string.h>

/* Down to this tolerance the residual of the recursion is trusted: its drift is of the order of
 * the rounding errors of all steps together. */
static const double TRUSTED = 1e-7;

/* After so many restarts the tolerance counts as out of reach. */
enum { MOST_ROUNDS = 10 };

typedef struct cg {
    kb_ridge *p;
    size_t N, round;
    double *rho, *k_rho, *dir, *k_dir; /* N x C */
    double *norm;                      /* C each: <rho, rho>, */
    double *start;                     /*   that of y, */
    double *energy;                    /*   p' K p, */
    double *k_square;                  /*   |K p|^2, */
    double *a, *b;                     /*   and the step lengths, 0 for a finished column */
} cg;

static kb_status create(kb_context *ctx, kb_ridge *p, cg *s) {
    kb_status status;
    size_t n = p->op->rows * p->C;
    double **array[] = {&s->rho, &s->k_rho, &s->dir, &s->k_dir};
    double **scalar[] = {&s->norm, &s->start, &s->energy, &s->k_square, &s->a, &s->b};
    s->p = p;
    s->N = p->op->rows;
    for (size_t i = 0; i < sizeof array / sizeof *array; i++)
        TRY(kb_alloc(ctx, n, sizeof(double), array[i]));
    for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
        TRY(kb_alloc(ctx, p->C, sizeof(double), scalar[i]));
done:
    return status;
}

static void release(kb_context *ctx, cg *s) {
    double *all[] = {s->rho,   s->k_rho,  s->dir,      s->k_dir, s->norm,
                     s->start, s->energy, s->k_square, s->a,     s->b};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

/* alpha += a p, f += a K p, rho -= a (K p + lambda p). */
static void advance(void *arg, size_t begin, size_t end) {
    cg *s = arg;
    size_t C = s->p->C;
    double lambda = s->p->lambda;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * C; c < C; c++, e++) {
            s->p->alpha[e] += s->a[c] * s->dir[e];
            s->p->f[e] += s->a[c] * s->k_dir[e];
            s->rho[e] -= s->a[c] * (s->k_dir[e] + lambda * s->dir[e]);
        }
}

/* p = rho + b p, K p = K rho + b K p. */
static void turn(void *arg, size_t begin, size_t end) {
    cg *s = arg;
    size_t C = s->p->C;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * C; c < C; c++, e++) {
            s->dir[e] = s->rho[e] + s->b[c] * s->dir[e];
            s->k_dir[e] = s->k_rho[e] + s->b[c] * s->k_dir[e];
        }
}

/* The largest relative residual. */
static double worst(const cg *s) {
    return kb_worst_residual(s->p->C, s->norm, s->start);
}

/* A column that has converged does not move: its a is 0. */
static void choose_steps(cg *s) {
    double tol2 = s->p->tol * s->p->tol;
    for (size_t c = 0; c < s->p->C; c++) {
        double below = s->k_square[c] + s->p->lambda * s->energy[c];
        s->a[c] = s->norm[c] > tol2 * s->start[c] && below > 0 ? s->norm[c] / below : 0;
    }
}

/* Starts from the true residual in s->rho. */
static kb_status begin(kb_context *ctx, cg *s) {
    size_t bytes = s->N * s->p->C * sizeof(double);
    kb_status status = s->p->op->apply_k(s->p->op, ctx, s->p->C, s->rho, s->k_rho, s->norm);
    if (status != KB_OK)
        return status;
    memcpy(s->dir, s->rho, bytes);
    memcpy(s->k_dir, s->k_rho, bytes);
    memcpy(s->energy, s->norm, s->p->C * sizeof(double));
    return KB_OK;
}

static kb_status step(kb_context *ctx, cg *s) {
    kb_status status;
    kb_ridge *p = s->p;
    TRY(kb_row_sums(ctx, s->N, p->C, s->k_dir, s->k_dir, s->k_square));
    choose_steps(s);
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / p->C, advance, s);
    memcpy(s->b, s->norm, p->C * sizeof(double));
    TRY(p->op->apply_k(p->op, ctx, p->C, s->rho, s->k_rho, s->norm));
    for (size_t c = 0; c < p->C; c++) {
        s->b[c] = s->a[c] != 0 && s->b[c] > 0 ? s->norm[c] / s->b[c] : 0;
        s->energy[c] = s->norm[c] + s->b[c] * s->b[c] * s->energy[c];
    }
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / p->C, turn, s);
done:
    return status;
}

/* docs/scaling.md: a product with K adds up two numbers for each bin and column, of which there are
 * 1, 2 or 4 at a time; |K p|^2 is a sum of each part of the rows. */
static void note_sent(kb_context *ctx, const cg *s, size_t steps, double sent) {
    const kb_ridge *p = s->p;
    size_t C = p->C, columns = C % 4 == 3 ? C + 1 : C;
    if (kb_rank_count(ctx) == 1 || steps == 0)
        return;
    ctx->pass_sent = sent / (double)steps;
    ctx->pass_foreseen = 8 * (2 * (double)columns * (double)p->op->columns +
                              (double)C * ceil((double)s->N / KB_SUM_ROWS));
}

/* ---- its state in a file ----------------------------------------------- */

/* y and K y tell rows, targets and bins. */
static kb_status resume(kb_context *ctx, cg *s, kb_checkpoint *state) {
    kb_status status;
    kb_ridge *p = s->p;
    uint64_t mark;
    size_t row = p->C * sizeof(double);
    double *rows[] = {p->alpha, p->f, s->rho, s->k_rho, s->dir, s->k_dir};
    double *whole[] = {s->norm, s->energy}, numbers[] = {p->lambda, p->tol, (double)p->max_steps};
    kb_checkpoint_part start[] = {{s->rho, row}, {s->k_rho, row}};
    int found;
    *state = (kb_checkpoint){.N = s->N};
    if (!kb_wants_checkpoint(ctx))
        return KB_OK;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        kb_checkpoint_row(state, rows[k], row);
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
        kb_checkpoint_whole(state, whole[k], row);
    kb_checkpoint_whole(state, &p->steps, sizeof p->steps);
    kb_checkpoint_whole(state, &s->round, sizeof s->round);
    TRY(kb_checkpoint_hash_rows(ctx, s->N, 2, start, &mark));
    mark = kb_checkpoint_hash(mark, numbers, sizeof numbers);
    TRY(kb_checkpoint_resume(ctx, state, mark, &found));
    if (found)
        kb_log(ctx, KB_LOG_INFO, "%s: goes on after step %zu", ctx->checkpoint, p->steps);
done:
    return status;
}

kb_status kb_ridge_cg(kb_context *ctx, kb_ridge *p) {
    kb_status status;
    cg s = {0};
    double sent = 0;
    kb_checkpoint state;
    size_t n = p->op->rows * p->C, first;
    p->steps = 0;
    memset(p->alpha, 0, n * sizeof(double));
    memset(p->f, 0, n * sizeof(double));
    TRY(kb_ranks_agree(ctx, create(ctx, p, &s)));
    TRY(kb_ridge_residual(ctx, p, 0, s.rho));
    TRY(begin(ctx, &s));
    memcpy(s.start, s.norm, p->C * sizeof(double));
    TRY(resume(ctx, &s, &state));
    first = p->steps;
    for (; s.round < MOST_ROUNDS; s.round++) {
        while (worst(&s) > p->tol && p->steps < p->max_steps &&
               !(p->steps > 0 && kb_is_late(ctx))) {
            double before = ctx->sent;
            TRY(step(ctx, &s));
            p->steps++;
            sent += ctx->sent - before;
            TRY(kb_checkpoint_save(ctx, &state));
            TRY(kb_ranks_progress(ctx, "solve",
                                  kb_solve_progress(p->tol, p->max_steps, worst(&s), p->steps)));
        }
        if (p->tol >= TRUSTED || worst(&s) > p->tol || kb_is_late(ctx))
            break;
        TRY(kb_ridge_residual(ctx, p, 1, s.rho));
        TRY(begin(ctx, &s));
        if (worst(&s) <= p->tol)
            break;
    }
    p->converged = worst(&s) <= p->tol;
    note_sent(ctx, &s, p->steps - first, sent);
done:
    release(ctx, &s);
    return status;
}
