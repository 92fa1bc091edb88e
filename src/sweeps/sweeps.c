/*
 * sweeps.c - see sweeps.h.
 *
 * Weights are kept as their share of a decision, u = w / sqrt(R), so that f is a plain sum of them
 * and with Lambda = lambda R the best change of a bin with n samples and residual sum S is
 *
 *     g = (S - Lambda u) / (n + Lambda).
 *
 * With h = the rows' sums of g, the line search is  t = sum g (S - Lambda u) / (h'h + Lambda g'g).
 * All of these are in units of the targets' own, chosen so that the largest is KB_SWEEP_TOP.  The
 * steps g are rounded to multiples of KB_SWEEP_STEP units, which leaves room for the sums of a
 * slice, and the change of a residual to a whole unit.
 *
 * The first slices would take all that they can explain, as boosting without shrinkage does, and
 * later sweeps would give it back slowly.  So a slice takes only KB_SWEEP_SHRINK of its step; the
 * move of the whole sweep is then made as long as it should be:  the objective is minimised over
 * the span of this move and the last one.
 *
 * The steps themselves are those of a table (sweep_state.h): on the CPU, or on another device.
 */
#include "sweeps/sweeps.h"
#include "ranks/ranks.h"
#include "sweeps/sweep_saver.h"
#include "sweeps/sweep_cpu.h"

#include <string.h>

/* ---- ending ------------------------------------------------------------ */

static double worst(const kb_sweep_state *s) {
    double most = 0;
    for (size_t c = 0; c < s->p->C; c++)
        if (s->start[c] > 0)
            most = fmax(most, sqrt(s->residual[c] / s->start[c]));
    return most;
}

/* Whether residuals are too wide on any rank. */
static kb_status look_at_size(kb_context *ctx, const kb_sweep_state *s) {
    int64_t wide = s->bits >= KB_SWEEP_MOST;
    kb_status status = kb_ranks_sum(ctx, &wide, 1);
    s->p->too_wide = wide > 0;
    return status;
}

/* *goes_on: whether the caller wants another sweep. */
static kb_status look(kb_context *ctx, kb_sweep_state *s, int *goes_on) {
    kb_status status = KB_OK;
    const kb_watch *w = s->p->watch;
    const kb_sweeps *p = s->p;
    size_t C = p->C;
    kb_watch_answer answer;
    if (!w)
        return KB_OK;
    TRY(s->steps->watched(ctx, s, s->seen));
    for (size_t h = 0; h < w->rows; h++)
        for (size_t c = 0; c < C; c++)
            w->f[h * C + c] = p->y[w->row[h] * C + c] - s->seen[h * s->P + c] * s->unit[c];
    TRY(w->look(ctx, w->arg, p->sweeps, &answer));
    if (answer == KB_WATCH_KEEP) {
        TRY(s->steps->keep(ctx, s));
        memcpy(s->kept_b, p->b, C * sizeof(double));
        s->kept = p->sweeps;
    }
    *goes_on = answer != KB_WATCH_STOP;
done:
    return status;
}

static kb_status return_to_kept(kb_context *ctx, kb_sweep_state *s) {
    memcpy(s->p->b, s->kept_b, s->p->C * sizeof(double));
    s->p->sweeps = s->kept;
    return s->steps->go_back(ctx, s);
}

/* What the caller's watch had found when the state was saved. */
static void restore_watch(kb_sweep_state *s) {
    const kb_watch *w = s->p->watch;
    size_t C = s->p->C;
    if (!w || s->kept == 0)
        return;
    const int32_t *kept = kb_sweep_cpu_of(s)->kept_r;
    for (size_t h = 0; h < w->rows; h++)
        for (size_t c = 0; c < C; c++)
            w->f[h * C + c] = s->p->y[w->row[h] * C + c] -
                              kept[kb_binmat_place(s->p->z, w->row[h]) * s->P + c] * s->unit[c];
    w->restore(w->arg);
}

static void give_results(kb_sweep_state *s) {
    kb_sweeps *p = s->p;
    double root = sqrt((double)p->z->R);
    for (size_t b = 0; b < s->D; b++)
        for (size_t c = 0; c < p->C; c++)
            p->w[b * p->C + c] = s->u[b * s->P + c] * s->unit[c] * root;
    for (size_t i = 0; i < s->N; i++)
        for (size_t c = 0; c < p->C; c++)
            p->f[i * p->C + c] =
                p->y[i * p->C + c] - s->r[kb_binmat_place(p->z, i) * s->P + c] * s->unit[c];
}

kb_bytes kb_sweeps_bytes(size_t C, size_t R) {
    double P = (double)kb_sweep_pad(C), slice = fmin(1, KB_SWEEP_SLICE / (double)R);
    return (kb_bytes){.row = 4 + 24 * P, .bin = 4 + 20 * P + 20 * P * slice};
}

/* One sweep and what follows it; *goes_on: whether there should be another. */
static kb_status step(kb_context *ctx, kb_sweep_state *s, int *goes_on) {
    kb_status status;
    kb_sweeps *p = s->p;
    if (p->intercept)
        TRY(kb_sweep_centre(ctx, s));
    TRY(s->steps->sweep(ctx, s));
    TRY(kb_sweep_span(ctx, s));
    s->backward = !s->backward;
    p->sweeps++;
    TRY(look_at_size(ctx, s));
    *goes_on = !p->too_wide;
    if (*goes_on)
        TRY(look(ctx, s, goes_on));
    *goes_on = *goes_on && p->sweeps < p->max_sweeps && !kb_is_late(ctx);
    if (p->tol > 0 && worst(s) <= 2 * p->tol) {
        TRY(s->steps->slopes(ctx, s));
        p->converged = worst(s) <= p->tol;
        *goes_on &= !p->converged;
    }
    TRY(kb_ranks_progress(ctx, "solve", (double)p->sweeps / (double)p->max_sweeps));
done:
    return status;
}

/* docs/scaling.md: the sums of all bins and three numbers a slice for its line search, and seven
 * sums of each part of the rows at the end of the sweep. */
static void note_sent(const kb_sweep_state *s, size_t sweeps, double sent) {
    if (kb_rank_count(s->ctx) == 1 || sweeps == 0)
        return;
    double sums = (double)s->D + 3 * (double)kb_slices_count(kb_sweep_cpu_of(s)->slices);
    double parts = ceil((double)s->N / KB_SUM_ROWS);
    s->ctx->pass_sent = sent / (double)sweeps;
    s->ctx->pass_foreseen = 8 * (double)s->P * (sums + 7 * parts);
}

kb_status kb_sweeps_run(kb_context *ctx, kb_sweeps *p) {
    kb_status status;
    kb_sweep_state s = {0};
    kb_sweep_saver saver;
    int goes_on = p->max_sweeps > 0, found, finished;
    size_t first;
    double sent = 0;
    p->sweeps = 0;
    p->converged = p->too_wide = 0;
    TRY(kb_sweep_begin(ctx, p, &s));
    TRY(kb_sweep_targets(ctx, &s, 0));
    if (p->tol > 0) {
        TRY(s.steps->slopes(ctx, &s));
        memcpy(s.start, s.residual, sizeof s.start);
    }
    if (p->warm)
        TRY(kb_sweep_targets(ctx, &s, 1));
    TRY(kb_sweep_resume(ctx, &s, &saver, &found, &finished));
    if (found)
        restore_watch(&s);
    goes_on = goes_on && !finished;
    first = p->sweeps;
    while (goes_on) {
        double before = ctx->sent;
        TRY(step(ctx, &s, &goes_on));
        sent += ctx->sent - before;
        TRY(kb_sweep_save(ctx, &s, &saver, !goes_on));
    }
    note_sent(&s, p->sweeps - first, sent);
    if (s.kept > 0 && s.kept < p->sweeps)
        TRY(return_to_kept(ctx, &s));
    TRY(s.steps->fetch(ctx, &s));
    give_results(&s);
done:
    kb_sweep_end(ctx, &s);
    return status;
}
