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
 * steps g are rounded to multiples of STEP units, which leaves room for the sums of a slice, and
 * the change of a residual to a whole unit.
 *
 * The first slices would take all that they can explain, as boosting without shrinkage does, and
 * later sweeps would give it back slowly.  So a slice takes only SHRINK of its step; the move of
 * the whole sweep is then made as long as it should be:  the objective is minimised over the span
 * of this move and the last one.
 */
#include "sweeps/sweeps.h"
#include "core/team.h"
#include "ranks/ranks.h"
#include "sweeps/checkpoint.h"
#include "sweeps/sweep_state.h"

#include <string.h>

/* The share of a slice's step that is taken: experiments/NOTES.md, sweeps. */
static const double SHRINK = 0.2;

/* Steps are multiples of so many units. */
enum { STEP = 16 };

/* h'h of this thread's rows. */
static void add_squares(const kb_sweep_state *s, size_t begin, size_t end, int me) {
    __int128 *sum = s->squares + (size_t)me * KB_PANEL;
    kb_wide_sum plain[KB_PANEL] = {{0, 0}};
    memset(sum, 0, KB_PANEL * sizeof *sum);
    if (!s->share || s->equal) {
        s->simd->squares((end - begin) * s->P, s->P, s->h + begin * s->P, plain);
        for (size_t c = 0; c < s->P; c++)
            sum[c] = ((__int128)plain[c].high << 32) + (__int128)plain[c].low;
        for (size_t i = begin; s->share && i < end; i++)
            for (size_t c = 0; !s->share[i] && c < s->P; c++)
                sum[c] -= (int64_t)s->h[i * s->P + c] * s->h[i * s->P + c];
        return;
    }
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < s->P; c++) {
            int64_t h = s->h[i * s->P + c];
            sum[c] += (__int128)(h * h) * s->share[i];
        }
}

/* h'h of all rows, of all ranks, into the place of the first thread: three numbers a column, so
 * that nothing is lost where they are added. */
static kb_status join_squares(kb_sweep_state *s, int threads) {
    int64_t piece[KB_PANEL][3];
    const uint64_t low = 0xffffffff;
    for (size_t c = 0; c < s->P; c++) {
        __int128 sum = 0;
        for (int m = 0; m < threads; m++)
            sum += s->squares[(size_t)m * KB_PANEL + c];
        piece[c][0] = (int64_t)((uint64_t)sum & low);
        piece[c][1] = (int64_t)((uint64_t)(sum >> 32) & low);
        piece[c][2] = (int64_t)(sum >> 64);
    }
    kb_status status = kb_ranks_sum_at_once(s->ctx, piece[0], 3 * s->P);
    memset(s->squares, 0, (size_t)threads * KB_PANEL * sizeof *s->squares);
    for (size_t c = 0; c < s->P; c++)
        s->squares[c] = (__int128)piece[c][2] * ((__int128)1 << 64) +
                        (__int128)piece[c][1] * ((__int128)1 << 32) + piece[c][0];
    return status;
}

/* ---- one slice --------------------------------------------------------- */

/* The best change of every bin, and the sums over each block of bins. */
static void find_steps(const kb_sweep_state *s, size_t k, const int64_t *S, int me, int threads) {
    size_t first = kb_slice_first(s->slices, k), bins = kb_slice_bins(s->slices, k), P = s->P;
    size_t blocks = (bins + KB_SWEEP_BLOCK - 1) / KB_SWEEP_BLOCK;
    for (size_t B = kb_share(blocks, me, threads); B < kb_share(blocks, me + 1, threads); B++) {
        double up[KB_PANEL] = {0}, own[KB_PANEL] = {0}, slope[KB_PANEL] = {0};
        size_t end = (B + 1) * KB_SWEEP_BLOCK < bins ? (B + 1) * KB_SWEEP_BLOCK : bins;
        for (size_t b = B * KB_SWEEP_BLOCK; b < end; b++) {
            double below = ((double)s->n[first + b] + s->Lambda) * STEP;
            double inverse = below > 0 ? 1 / below : 0;
            const double *u = s->u + (first + b) * P;
            const float *d = s->d + (first + b) * P;
            for (size_t c = 0; c < P; c++) {
                double x = (double)S[b * P + c] - s->Lambda * (u[c] + (double)d[c]);
                double g = rint(x * inverse);
                s->g[b * P + c] = (int32_t)g;
                up[c] += g * x;
                own[c] += g * g;
                slope[c] += x * x;
            }
        }
        memcpy(s->products + 2 * B * P, up, P * sizeof(double));
        memcpy(s->products + (2 * B + 1) * P, own, P * sizeof(double));
        memcpy(s->gradient + B * P, slope, P * sizeof(double));
    }
}

/* t times STEP for each column: the change of a weight for a unit of g. */
static void search_line(const kb_sweep_state *s, size_t blocks, int threads, double *t) {
    size_t P = s->P;
    for (size_t c = 0; c < P; c++) {
        double up = 0, own = 0;
        __int128 h = 0;
        for (size_t B = 0; B < blocks; B++) {
            up += s->products[2 * B * P + c];
            own += s->products[(2 * B + 1) * P + c];
        }
        for (int m = 0; m < threads; m++)
            h += s->squares[(size_t)m * KB_PANEL + c];
        double below = (double)h * s->whole + s->Lambda * own;
        t[c] = below > 0 ? SHRINK * up / below : 0;
    }
}

/* u and r take the step. */
static void take_step(kb_sweep_state *s, size_t k, const double *t, size_t begin, size_t end,
                      int me, int threads) {
    size_t first = kb_slice_first(s->slices, k), bins = kb_slice_bins(s->slices, k), P = s->P;
    for (size_t b = kb_share(bins, me, threads); b < kb_share(bins, me + 1, threads); b++)
        for (size_t c = 0; c < P; c++)
            s->d[(first + b) * P + c] += (float)(t[c] * s->g[b * P + c]);
    s->bits[me] |= s->simd->advance((end - begin) * P, P, t, s->h + begin * P, s->r + begin * P);
    kb_sweep_weigh(s, begin, end);
}

/* The squared slopes of a slice, added up by the caller's thread. */
static void note_gradient(kb_sweep_state *s, size_t blocks) {
    for (size_t B = 0; B < blocks; B++)
        for (size_t c = 0; c < s->P; c++)
            s->residual[c] += s->gradient[B * s->P + c];
}

static void sweep(void *arg, int me, int threads) {
    kb_sweep_state *s = arg;
    size_t count = kb_slices_count(s->slices);
    size_t begin = kb_share(s->N, me, threads), end = kb_share(s->N, me + 1, threads);
    for (size_t j = 0; j < count; j++) {
        double t[KB_PANEL];
        size_t k = s->backward ? count - 1 - j : j;
        size_t blocks = (kb_slice_bins(s->slices, k) + KB_SWEEP_BLOCK - 1) / KB_SWEEP_BLOCK;
        const int64_t *S = kb_slice_sum(s->slices, k, kb_sweep_summed(s), me, threads);
        find_steps(s, k, S, me, threads);
        kb_team_meet(s->ctx, me, threads);
        kb_slice_spread(s->slices, k, s->g, s->h, me, threads);
        add_squares(s, begin, end, me);
        kb_team_meet(s->ctx, me, threads);
        if (kb_rank_count(s->ctx) > 1) {
            if (me == 0 && s->status == KB_OK)
                s->status = join_squares(s, threads);
            kb_team_meet(s->ctx, me, threads);
        }
        search_line(s, blocks, threads, t);
        if (me == 0)
            note_gradient(s, blocks);
        take_step(s, k, t, begin, end, me, threads);
        kb_team_meet(s->ctx, me, threads);
    }
}

/* ---- slopes ------------------------------------------------------------ */

/* |Z'S r - lambda w|^2 in units, into s->residual. */
static void measure_slopes(void *arg, int me, int threads) {
    kb_sweep_state *s = arg;
    for (size_t k = 0; k < kb_slices_count(s->slices); k++) {
        const int64_t *S = kb_slice_sum(s->slices, k, kb_sweep_summed(s), me, threads);
        find_steps(s, k, S, me, threads);
        kb_team_meet(s->ctx, me, threads);
        if (me == 0)
            note_gradient(s, (kb_slice_bins(s->slices, k) + KB_SWEEP_BLOCK - 1) / KB_SWEEP_BLOCK);
    }
    kb_team_meet(s->ctx, me, threads);
}

static kb_status find_slopes(kb_context *ctx, kb_sweep_state *s) {
    memset(s->residual, 0, sizeof s->residual);
    kb_team_run(ctx, 0, measure_slopes, s);
    return kb_slices_status(s->slices);
}

/* ---- ending ------------------------------------------------------------ */

static double worst(const kb_sweep_state *s) {
    double most = 0;
    for (size_t c = 0; c < s->p->C; c++)
        if (s->start[c] > 0)
            most = fmax(most, sqrt(s->residual[c] / s->start[c]));
    return most;
}

/* On any rank. */
static kb_status look_at_size(kb_context *ctx, const kb_sweep_state *s) {
    uint32_t bits = atomic_load(&s->ended);
    for (int m = 0; m < ctx->threads; m++)
        bits |= s->bits[m];
    int64_t wide = bits >= KB_SWEEP_MOST;
    kb_status status = kb_ranks_sum(ctx, &wide, 1);
    s->p->too_wide = wide > 0;
    return status;
}

static double decision(const kb_sweep_state *s, size_t i, size_t c) {
    return s->p->y[i * s->p->C + c] - s->r[i * s->P + c] * s->unit[c];
}

/* Copies the state to the one that is kept, or back. */
static void copy_rows(void *arg, size_t begin, size_t end) {
    kb_sweep_state *s = arg;
    size_t bytes = (end - begin) * s->P * sizeof *s->r;
    memcpy(s->kept_r + begin * s->P, s->r + begin * s->P, bytes);
}

static void copy_bins(void *arg, size_t begin, size_t end) {
    kb_sweep_state *s = arg;
    for (size_t e = begin * s->P; e < end * s->P; e++)
        s->kept_u[e] = (float)s->u[e];
}

static void return_to_kept(kb_sweep_state *s) {
    memcpy(s->r, s->kept_r, s->N * s->P * sizeof *s->r);
    for (size_t e = 0; e < s->D * s->P; e++)
        s->u[e] = (double)s->kept_u[e];
    memcpy(s->p->b, s->kept_b, s->p->C * sizeof(double));
    s->p->sweeps = s->kept;
}

/* Whether the caller wants another sweep. */
static kb_status look(kb_context *ctx, kb_sweep_state *s, int *goes_on) {
    const kb_watch *w = s->p->watch;
    size_t C = s->p->C;
    kb_watch_answer answer;
    if (!w)
        return KB_OK;
    for (size_t h = 0; h < w->rows; h++)
        for (size_t c = 0; c < C; c++)
            w->f[h * C + c] = decision(s, w->row[h], c);
    kb_status status = w->look(ctx, w->arg, s->p->sweeps, &answer);
    if (status != KB_OK)
        return status;
    if (answer == KB_WATCH_KEEP) {
        kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / s->P, copy_rows, s);
        kb_team_for(ctx, s->D, KB_WORTH_A_THREAD / s->P, copy_bins, s);
        memcpy(s->kept_b, s->p->b, C * sizeof(double));
        s->kept = s->p->sweeps;
    }
    *goes_on &= answer != KB_WATCH_STOP;
    return KB_OK;
}

/* What the caller's watch had found when the state was saved. */
static void restore_watch(kb_sweep_state *s) {
    const kb_watch *w = s->p->watch;
    size_t C = s->p->C;
    if (!w || s->kept == 0)
        return;
    for (size_t h = 0; h < w->rows; h++)
        for (size_t c = 0; c < C; c++)
            w->f[h * C + c] =
                s->p->y[w->row[h] * C + c] - s->kept_r[w->row[h] * s->P + c] * s->unit[c];
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
            p->f[i * p->C + c] = decision(s, i, c);
}

kb_bytes kb_sweeps_bytes(size_t C, size_t R) {
    double P = (double)kb_sweep_pad(C), slice = fmin(1, KB_SWEEP_SLICE / (double)R);
    return (kb_bytes){.row = 4 + 24 * P, .bin = 4 + 20 * P + 20 * P * slice};
}

/* One sweep and what follows it; *goes_on: whether there should be another. */
static kb_status step(kb_context *ctx, kb_sweep_state *s, int *goes_on) {
    kb_status status;
    kb_sweeps *p = s->p;
    memset(s->residual, 0, sizeof s->residual);
    if (p->intercept)
        TRY(kb_sweep_centre(ctx, s));
    kb_team_run(ctx, 0, sweep, s);
    TRY(kb_slices_status(s->slices));
    TRY(s->status);
    TRY(kb_sweep_span(ctx, s));
    s->backward = !s->backward;
    p->sweeps++;
    TRY(look_at_size(ctx, s));
    *goes_on = !p->too_wide;
    if (*goes_on)
        TRY(look(ctx, s, goes_on));
    *goes_on = *goes_on && p->sweeps < p->max_sweeps && !kb_is_late(ctx);
    if (p->tol > 0 && worst(s) <= 2 * p->tol) {
        TRY(find_slopes(ctx, s));
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
    double sums = (double)s->D + 3 * (double)kb_slices_count(s->slices);
    double parts = ceil((double)s->N / KB_SUM_ROWS);
    if (kb_rank_count(s->ctx) == 1 || sweeps == 0)
        return;
    s->ctx->sweep_sent = sent / (double)sweeps;
    s->ctx->sweep_foreseen = 8 * (double)s->P * (sums + 7 * parts);
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
    kb_sweep_targets(&s, 0);
    if (p->tol > 0) {
        TRY(find_slopes(ctx, &s));
        memcpy(s.start, s.residual, sizeof s.start);
    }
    if (p->warm)
        kb_sweep_targets(&s, 1);
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
        return_to_kept(&s);
    give_results(&s);
done:
    kb_sweep_end(ctx, &s);
    return status;
}
