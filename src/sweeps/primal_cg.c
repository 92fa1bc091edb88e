/*
 * primal_cg.c - see primal_cg.h.
 *
 *     r = y - Z w,  s = Z'r - lambda w,  p = s
 *     q = Z p,  a = |s|^2 / (|q|^2 + lambda |p|^2),  w += a p,  r -= a q
 *     s = Z'r - lambda w,  b = |s|^2 new / old,  p = s + b p
 *
 * s is computed from r and w in every step, so it does not drift (Bjorck, Elfving and Strakos
 * 1998).
 */
#include "sweeps/primal_cg.h"
#include "core/team.h"
#include "solve/ridge.h"
#include "ranks/checkpoint.h"
#include "ranks/row_sums.h"

#include <string.h>

typedef struct cg {
    kb_primal *p;
    double *r, *q;                 /* N x C */
    double *s, *dir;               /* D x C */
    double *norm, *start;          /* C each: |s|^2, and |Z'y|^2 */
    double *q_square, *dir_square; /* C each */
    double *a, *b;                 /* C each; 0 for a finished column */
} cg;

static kb_status create(kb_context *ctx, kb_primal *p, cg *s) {
    kb_status status;
    size_t rows = p->op->rows * p->C, bins = p->op->columns * p->C;
    double **scalar[] = {&s->norm, &s->start, &s->q_square, &s->dir_square, &s->a, &s->b};
    s->p = p;
    TRY(kb_alloc(ctx, rows, sizeof(double), &s->r));
    TRY(kb_alloc(ctx, rows, sizeof(double), &s->q));
    TRY(kb_alloc(ctx, bins, sizeof(double), &s->s));
    TRY(kb_alloc(ctx, bins, sizeof(double), &s->dir));
    for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
        TRY(kb_alloc(ctx, p->C, sizeof(double), scalar[i]));
done:
    return status;
}

static void release(kb_context *ctx, cg *s) {
    double *all[] = {s->r,     s->q,        s->s,          s->dir, s->norm,
                     s->start, s->q_square, s->dir_square, s->a,   s->b};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

static void advance_bins(void *arg, size_t begin, size_t end) {
    cg *s = arg;
    size_t C = s->p->C;
    for (size_t b = begin; b < end; b++)
        for (size_t c = 0, e = b * C; c < C; c++, e++)
            s->p->w[e] += s->a[c] * s->dir[e];
}

static void advance_rows(void *arg, size_t begin, size_t end) {
    cg *s = arg;
    size_t C = s->p->C;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * C; c < C; c++, e++)
            s->r[e] -= s->a[c] * s->q[e];
}

static void subtract_penalty(void *arg, size_t begin, size_t end) {
    cg *s = arg;
    for (size_t e = begin * s->p->C; e < end * s->p->C; e++)
        s->s[e] -= s->p->lambda * s->p->w[e];
}

static void turn(void *arg, size_t begin, size_t end) {
    cg *s = arg;
    size_t C = s->p->C;
    for (size_t b = begin; b < end; b++)
        for (size_t c = 0, e = b * C; c < C; c++, e++)
            s->dir[e] = s->s[e] + s->b[c] * s->dir[e];
}

static void on_bins(kb_context *ctx, cg *s, void (*body)(void *arg, size_t begin, size_t end)) {
    kb_team_for(ctx, s->p->op->columns, KB_WORTH_A_THREAD / s->p->C, body, s);
}

/* s = Z'r - lambda w, and its squared length. */
static kb_status find_slope(kb_context *ctx, cg *s) {
    kb_status status;
    kb_primal *p = s->p;
    TRY(p->op->apply_t(p->op, ctx, p->C, s->r, s->s));
    on_bins(ctx, s, subtract_penalty);
    TRY(kb_sums(ctx, p->op->columns, p->C, s->s, s->s, s->norm));
done:
    return status;
}

static kb_status begin(kb_context *ctx, cg *s) {
    kb_status status;
    kb_primal *p = s->p;
    size_t rows = p->op->rows * p->C;
    TRY(p->op->apply_t(p->op, ctx, p->C, p->y, s->s));
    TRY(kb_sums(ctx, p->op->columns, p->C, s->s, s->s, s->start));
    TRY(p->op->apply(p->op, ctx, p->C, p->w, s->r));
    for (size_t e = 0; e < rows; e++)
        s->r[e] = p->y[e] - s->r[e];
    TRY(find_slope(ctx, s));
    memcpy(s->dir, s->s, p->op->columns * p->C * sizeof(double));
done:
    return status;
}

static kb_status step(kb_context *ctx, cg *s) {
    kb_status status;
    kb_primal *p = s->p;
    double tol2 = p->tol * p->tol;
    TRY(p->op->apply(p->op, ctx, p->C, s->dir, s->q));
    TRY(kb_row_sums(ctx, p->op->rows, p->C, s->q, s->q, s->q_square));
    TRY(kb_sums(ctx, p->op->columns, p->C, s->dir, s->dir, s->dir_square));
    for (size_t c = 0; c < p->C; c++) {
        double below = s->q_square[c] + p->lambda * s->dir_square[c];
        s->a[c] = s->norm[c] > tol2 * s->start[c] && below > 0 ? s->norm[c] / below : 0;
        s->b[c] = s->norm[c];
    }
    on_bins(ctx, s, advance_bins);
    kb_team_for(ctx, p->op->rows, KB_WORTH_A_THREAD / p->C, advance_rows, s);
    TRY(find_slope(ctx, s));
    for (size_t c = 0; c < p->C; c++)
        s->b[c] = s->a[c] != 0 && s->b[c] > 0 ? s->norm[c] / s->b[c] : 0;
    on_bins(ctx, s, turn);
done:
    return status;
}

static kb_status resume(kb_context *ctx, cg *s, kb_checkpoint *state) {
    kb_status status;
    kb_primal *p = s->p;
    uint64_t mark;
    size_t row = p->C * sizeof(double), bins = p->op->columns * row;
    double numbers[] = {p->lambda, p->tol, (double)p->max_steps};
    kb_checkpoint_part start[] = {{(void *)p->y, row}, {s->r, row}};
    int found;
    *state = (kb_checkpoint){.N = p->op->rows};
    if (!kb_wants_checkpoint(ctx))
        return KB_OK;
    kb_checkpoint_row(state, s->r, row);
    kb_checkpoint_whole(state, p->w, bins);
    kb_checkpoint_whole(state, s->s, bins);
    kb_checkpoint_whole(state, s->dir, bins);
    kb_checkpoint_whole(state, s->norm, row);
    kb_checkpoint_whole(state, &p->steps, sizeof p->steps);
    TRY(kb_checkpoint_hash_rows(ctx, p->op->rows, 2, start, &mark));
    mark = kb_checkpoint_hash(mark, numbers, sizeof numbers);
    mark = kb_checkpoint_hash(mark, s->s, bins);
    TRY(kb_checkpoint_resume(ctx, state, mark, &found));
    if (found)
        kb_log(ctx, KB_LOG_INFO, "%s: goes on after step %zu", ctx->checkpoint, p->steps);
done:
    return status;
}

kb_bytes kb_primal_cg_bytes(size_t C) {
    return (kb_bytes){.row = 16 * (double)C, .bin = 16 * (double)C};
}

kb_status kb_primal_cg(kb_context *ctx, kb_primal *p) {
    kb_status status;
    cg s = {0};
    kb_checkpoint state;
    p->steps = 0;
    TRY(kb_ranks_agree(ctx, create(ctx, p, &s)));
    TRY(begin(ctx, &s));
    TRY(resume(ctx, &s, &state));
    double worst = kb_worst_residual(p->C, s.norm, s.start);
    while (worst > p->tol && p->steps < p->max_steps && !kb_is_late(ctx)) {
        TRY(step(ctx, &s));
        p->steps++;
        TRY(kb_checkpoint_save(ctx, &state));
        worst = kb_worst_residual(p->C, s.norm, s.start);
        TRY(kb_ranks_progress(ctx, "solve",
                              kb_solve_progress(p->tol, p->max_steps, worst, p->steps)));
    }
    p->converged = worst <= p->tol;
done:
    release(ctx, &s);
    return status;
}
