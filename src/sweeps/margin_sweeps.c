/*
 * margin_sweeps.c - see margin_sweeps.h.
 *
 * Weights are kept as their share of a decision, u = w / sqrt(R), so that f is a plain sum of them
 * and the penalty is Lambda/2 |u|^2 with Lambda = lambda R.  With S = the sum of -s L'(f) over the
 * samples of a bin and H that of s L''(f), its own best change is
 *
 *     g = (S - Lambda u) / (H + Lambda).
 *
 * H is only a scale of the bins against each other.  It costs as many additions as S, so it is
 * found at w = 0, where it follows from the number of samples, and refreshed in few sweeps.
 *
 * The intercept is one more u in every slice, with the penalty lambda.
 */
#include "sweeps/margin_sweeps.h"
#include "core/team.h"
#include "core/weights.h"
#include "solve/ridge.h"
#include "sweeps/margin_state.h"
#include "ranks/checkpoint.h"
#include "ranks/row_sums.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Bins that are summed in order by one thread. */
enum { BLOCK = 256 };

/* Sweeps in which the curvatures are refreshed: experiments/NOTES.md, sweeps for classes. */
static int refreshes(size_t sweep) {
    return sweep == 2 || sweep == 6 || (sweep > 6 && sweep % 16 == 0);
}

static const double CURVATURE_UNIT = 0x1p-22;
static size_t pad(size_t C) {
    return C <= 1 ? 1 : C <= 2 ? 2 : C <= 4 ? 4 : KB_PANEL;
}

/* ---- beginning --------------------------------------------------------- */

/* Half of the grids, in whole bundles. */
static size_t slice_of(const kb_binmat *z) {
    return ((z->grids + 1) / 2 + KB_BUNDLE - 1) / KB_BUNDLE * KB_BUNDLE;
}

static kb_status create(kb_context *ctx, kb_margin *p, kb_margin_state *s) {
    kb_status status;
    size_t grids = slice_of(p->z);
    s->p = p;
    s->ctx = ctx;
    s->simd = p->z->simd->losses;
    s->N = p->z->rows;
    s->D = p->z->bins;
    s->P = pad(p->C);
    s->Lambda = p->lambda * (double)p->z->R;
    s->unit = (double)(grids + 1) * 0x1p-28;
    s->limit = floor(0x1p31 / (double)(grids + 1)) - 1;
    size_t rows = s->N * s->P, bins = s->D * s->P;
    double **of_rows[] = {&s->f,   &s->y,         &s->slope,     &s->curvature,
                          &s->k_g, &s->k_step[0], &s->k_step[1], &s->k_step[2]};
    _Static_assert(KB_MARGIN_PAST == 3, "written out for three");
    TRY(kb_slices_create(ctx, p->z, grids, s->P, &s->slices));
    size_t most = kb_slices_most_bins(s->slices);
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; i++)
        TRY(kb_zalloc(ctx, rows, sizeof(double), of_rows[i]));
    TRY(kb_alloc(ctx, rows, sizeof *s->v, &s->v));
    TRY(kb_alloc(ctx, rows, sizeof *s->h, &s->h));
    TRY(kb_zalloc(ctx, bins, sizeof *s->u, &s->u));
    TRY(kb_alloc(ctx, bins, sizeof *s->inverse, &s->inverse));
    for (size_t a = 0; a < KB_MARGIN_PAST; a++)
        TRY(kb_zalloc(ctx, bins, sizeof(float), &s->step[a]));
    TRY(kb_alloc(ctx, most * s->P, sizeof *s->g, &s->g));
    TRY(kb_alloc(ctx, (most / BLOCK + 1) * s->P * KB_CHANGE_SUMS, sizeof(double), &s->blocks));
    for (size_t i = 0; i < s->N; i++)
        memcpy(s->y + i * s->P, p->y + i * p->C, p->C * sizeof(double));
done:
    return status;
}

/* The largest weight of a sample, and how many samples there are, on all ranks. */
static kb_status find_most(kb_context *ctx, kb_margin_state *s) {
    kb_status status;
    int64_t rows = (int64_t)s->N;
    s->most = s->p->s ? kb_largest_size(s->N, s->p->s) : 1;
    TRY(kb_ranks_most(ctx, &s->most, 1));
    TRY(kb_ranks_sum(ctx, &rows, 1));
    s->rows = (size_t)rows;
done:
    return status;
}

static void release(kb_context *ctx, kb_margin_state *s) {
    void *all[] = {s->f, s->y, s->slope,   s->curvature, s->k_g,   s->v,
                   s->h, s->u, s->inverse, s->g,         s->blocks};
    kb_slices_free(s->slices);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    for (size_t a = 0; a < KB_MARGIN_PAST; a++) {
        kb_release(ctx, s->k_step[a]);
        kb_release(ctx, s->step[a]);
    }
}

/* ---- the bins of a slice ----------------------------------------------- */

/* The best change of every bin, and the sums over each block of bins. */
static void find_changes(kb_margin_state *s, const int64_t *S, int me, int threads) {
    size_t first = kb_slice_first(s->slices, s->slice) * s->P;
    size_t bins = kb_slice_bins(s->slices, s->slice), P = s->P;
    size_t blocks = (bins + BLOCK - 1) / BLOCK;
    for (size_t B = kb_share(blocks, me, threads); B < kb_share(blocks, me + 1, threads); B++) {
        size_t from = first + B * BLOCK * P, end = (B + 1) * BLOCK < bins ? (B + 1) * BLOCK : bins;
        kb_changes how = {KB_SLOPE_UNIT * s->most,
                          s->Lambda,
                          s->unit,
                          s->limit,
                          S + B * BLOCK * P,
                          s->u + from,
                          s->inverse + from,
                          {s->step[0] + from, s->step[1] + from, s->step[2] + from},
                          s->g + B * BLOCK * P};
        s->simd->changes((end - B * BLOCK) * P, P, &how, s->blocks + B * P * KB_CHANGE_SUMS);
    }
}

static void add_blocks(kb_margin_state *s) {
    size_t blocks = (kb_slice_bins(s->slices, s->slice) + BLOCK - 1) / BLOCK;
    memset(s->bins, 0, sizeof s->bins);
    for (size_t B = 0; B < blocks; B++)
        for (size_t c = 0; c < s->P; c++)
            for (size_t k = 0; k < KB_CHANGE_SUMS; k++)
                s->bins[c][k] += s->blocks[(B * s->P + c) * KB_CHANGE_SUMS + k];
}

static float inverse_of(const kb_margin_state *s, double H) {
    double below = H + s->Lambda;
    return below > 0 ? (float)(1 / (below * s->unit)) : 0;
}

static void refresh(kb_margin_state *s, int me, int threads) {
    size_t first = kb_slice_first(s->slices, s->slice) * s->P;
    size_t n = kb_slice_bins(s->slices, s->slice) * s->P;
    size_t begin = kb_share(s->N, me, threads), end = kb_share(s->N, me + 1, threads);
    double unit = CURVATURE_UNIT * s->most;
    s->simd->whole((end - begin) * s->P, 1 / unit, s->curvature + begin * s->P,
                   s->h + begin * s->P);
    kb_team_meet(s->ctx, me, threads);
    const int64_t *S = kb_slice_sum(s->slices, s->slice, s->h, me, threads);
    for (size_t e = kb_share(n, me, threads); e < kb_share(n, me + 1, threads); e++)
        s->inverse[first + e] = inverse_of(s, (double)S[e] * unit);
    kb_team_meet(s->ctx, me, threads);
}

static void visit_bins(void *arg, int me, int threads) {
    kb_margin_state *s = arg;
    if (s->refresh)
        refresh(s, me, threads);
    const int64_t *S = kb_slice_sum(s->slices, s->slice, s->v, me, threads);
    find_changes(s, S, me, threads);
    kb_team_meet(s->ctx, me, threads);
    kb_slice_spread(s->slices, s->slice, s->g, s->h, me, threads);
}

/* The intercept joins the slice as another u of the penalty lambda: Lambda times 1/R. */
static kb_status visit_intercept(kb_context *ctx, kb_margin_state *s) {
    kb_status status = KB_OK;
    double S[KB_PANEL], H[KB_PANEL], lambda = s->p->lambda, R = (double)s->p->z->R;
    if (!s->p->intercept)
        goto done;
    TRY(kb_row_sums(ctx, s->N, s->P, s->slope, NULL, S));
    TRY(kb_row_sums(ctx, s->N, s->P, s->curvature, NULL, H));
    for (size_t c = 0; c < s->p->C; c++) {
        double *sum = s->bins[c], x = -S[c] - lambda * s->b[c];
        double g = s->b_g[c] = H[c] + lambda > 0 ? x / (H[c] + lambda) : 0;
        sum[KB_CHANGE_DESCENT] += g * x;
        sum[KB_CHANGE_OWN] += g * g / R;
        sum[KB_CHANGE_ALONG] += g * s->b[c] / R;
        sum[KB_CHANGE_SLOPES] += x * x * R;
        for (size_t a = 0; a < KB_MARGIN_PAST; a++)
            sum[KB_CHANGE_WITH + a] += g * s->b_step[c][a] / R;
    }
done:
    return status;
}

static kb_status visit(kb_context *ctx, kb_margin_state *s, size_t k) {
    kb_status status;
    s->slice = k;
    s->refresh = refreshes(s->sweep);
    kb_team_run(ctx, 0, visit_bins, s);
    TRY(kb_slices_status(s->slices));
    add_blocks(s);
    TRY(visit_intercept(ctx, s));
    for (size_t c = 0; c < s->P; c++)
        s->norm[c] += s->bins[c][KB_CHANGE_SLOPES];
    TRY(kb_margin_step(ctx, s));
done:
    return status;
}

/* ---- the whole --------------------------------------------------------- */

static void measure_bins(void *arg, int me, int threads) {
    kb_margin_state *s = arg;
    for (size_t k = 0; k < kb_slices_count(s->slices); k++) {
        if (me == 0)
            s->slice = k;
        kb_team_meet(s->ctx, me, threads);
        if (s->refresh)
            refresh(s, me, threads);
        const int64_t *S = kb_slice_sum(s->slices, k, s->v, me, threads);
        find_changes(s, S, me, threads);
        kb_team_meet(s->ctx, me, threads);
        if (me == 0) {
            add_blocks(s);
            for (size_t c = 0; c < s->P; c++)
                s->norm[c] += s->bins[c][KB_CHANGE_SLOPES];
        }
        kb_team_meet(s->ctx, me, threads);
    }
}

/* The intercept's part of the gradient. */
static kb_status add_intercept(kb_context *ctx, kb_margin_state *s) {
    kb_status status;
    memset(s->bins, 0, sizeof s->bins);
    TRY(visit_intercept(ctx, s));
    for (size_t c = 0; c < s->P; c++)
        s->norm[c] += s->bins[c][KB_CHANGE_SLOPES];
done:
    return status;
}

/* The gradient where it is; with curvatures: H too. */
static kb_status measure(kb_context *ctx, kb_margin_state *s, int curvatures) {
    kb_status status;
    memset(s->norm, 0, sizeof s->norm);
    s->refresh = curvatures;
    kb_team_run(ctx, 0, measure_bins, s);
    TRY(kb_slices_status(s->slices));
    TRY(add_intercept(ctx, s));
done:
    return status;
}

/* At w = 0 all slopes are the same but for the sign of y, and so are the curvatures: one sum of
 * COUNT + y tells how many samples a bin has, and what their y add up to. */
#define COUNT (1 << 24)

static void count_bins(void *arg, int me, int threads) {
    kb_margin_state *s = arg;
    size_t P = s->P;
    kb_loss_point at = s->p->loss->at(s->p->loss, 0, 1);
    for (size_t k = 0; k < kb_slices_count(s->slices); k++) {
        const int64_t *S = kb_slice_sum(s->slices, k, s->h, me, threads);
        size_t first = kb_slice_first(s->slices, k) * P, n = kb_slice_bins(s->slices, k) * P;
        for (size_t e = kb_share(n, me, threads); e < kb_share(n, me + 1, threads); e++) {
            int64_t samples = (S[e] + COUNT / 2) / COUNT, y = S[e] - samples * COUNT;
            s->inverse[first + e] = inverse_of(s, (double)samples * at.curvature);
            s->u[first + e] = (double)y * at.slope;
        }
        kb_team_meet(s->ctx, me, threads);
    }
}

/* The same as measure() with curvatures, by half of the sums. */
static kb_status measure_start(kb_context *ctx, kb_margin_state *s) {
    kb_status status;
    if (s->p->s || s->rows >= COUNT / 2) {
        TRY(measure(ctx, s, 1));
        goto done;
    }
    for (size_t e = 0; e < s->N * s->P; e++)
        s->h[e] = COUNT + (int32_t)s->y[e];
    kb_team_run(ctx, 0, count_bins, s);
    TRY(kb_slices_status(s->slices));
    TRY(kb_sums(ctx, s->D, s->P, s->u, s->u, s->norm));
    memset(s->u, 0, s->D * s->P * sizeof *s->u);
    TRY(add_intercept(ctx, s));
done:
    return status;
}

static kb_status begin(kb_context *ctx, kb_margin_state *s) {
    kb_status status;
    const kb_margin *p = s->p;
    double root = sqrt((double)p->z->R);
    TRY(kb_margin_look(ctx, s));
    TRY(measure_start(ctx, s));
    memcpy(s->start, s->norm, sizeof s->start);
    if (!p->warm)
        goto done;
    for (size_t i = 0; i < s->N; i++)
        memcpy(s->f + i * s->P, p->f + i * p->C, p->C * sizeof(double));
    for (size_t b = 0; b < s->D; b++)
        for (size_t c = 0; c < p->C; c++)
            s->u[b * s->P + c] = p->w[b * p->C + c] / root;
    memcpy(s->b, p->b, p->C * sizeof(double));
    TRY(kb_sums(ctx, s->D, s->P, s->u, s->u, s->square));
    for (size_t c = 0; c < p->C && p->intercept; c++)
        s->square[c] += s->b[c] * s->b[c] / (double)p->z->R;
    TRY(kb_margin_look(ctx, s));
done:
    return status;
}

static double worst(const kb_margin_state *s) {
    return kb_worst_residual(s->p->C, s->norm, s->start);
}

static int all_stuck(const kb_margin_state *s) {
    for (size_t c = 0; c < s->p->C; c++)
        if (!s->stuck[c])
            return 0;
    return 1;
}

static kb_status sweep(kb_context *ctx, kb_margin_state *s) {
    kb_status status = KB_OK;
    kb_margin *p = s->p;
    memset(s->norm, 0, sizeof s->norm);
    for (size_t k = 0; k < kb_slices_count(s->slices); k++)
        TRY(visit(ctx, s, k));
    s->sweep++;
    if (worst(s) <= p->tol) {
        TRY(measure(ctx, s, 0));
        p->converged = worst(s) <= p->tol;
    }
    TRY(kb_ranks_progress(ctx, "solve",
                          kb_solve_progress(p->tol, p->max_steps, worst(s), s->sweep)));
done:
    return status;
}

/* ---- their state in a file --------------------------------------------- */

/* Between sweeps; past steps change places.  The last members of the state are numbers alone. */
static void list_parts(kb_margin_state *s, kb_checkpoint *c) {
    size_t row = s->P * sizeof(double), bins = s->D * s->P;
    double *rows[] = {s->f, s->slope, s->curvature, s->k_g};
    size_t numbers = offsetof(kb_margin_state, past);
    c->rows = c->wholes = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        kb_checkpoint_row(c, rows[k], row);
    kb_checkpoint_row(c, s->v, s->P * sizeof *s->v);
    kb_checkpoint_row(c, s->h, s->P * sizeof *s->h);
    kb_checkpoint_whole(c, s->u, bins * sizeof *s->u);
    kb_checkpoint_whole(c, s->inverse, bins * sizeof *s->inverse);
    for (size_t k = 0; k < KB_MARGIN_PAST; k++) {
        kb_checkpoint_row(c, s->k_step[k], row);
        kb_checkpoint_whole(c, s->step[k], bins * sizeof **s->step);
    }
    kb_checkpoint_whole(c, (char *)s + numbers, sizeof *s - numbers);
}

static kb_status resume(kb_context *ctx, kb_margin_state *s, kb_checkpoint *state) {
    kb_status status;
    kb_margin *p = s->p;
    uint64_t mark;
    double numbers[] = {p->lambda, p->tol,       (double)p->max_steps, (double)p->loss->kind,
                        p->warm,   p->intercept, (double)s->D};
    kb_checkpoint_part start[] = {{s->y, s->P * sizeof *s->y},
                                  {s->f, s->P * sizeof *s->f},
                                  {(void *)p->s, p->s ? sizeof *p->s : 0}};
    int found;
    *state = (kb_checkpoint){.N = s->N};
    if (!kb_wants_checkpoint(ctx))
        return KB_OK;
    list_parts(s, state);
    TRY(kb_checkpoint_hash_rows(ctx, s->N, p->s ? 3 : 2, start, &mark));
    mark = kb_checkpoint_hash(mark, numbers, sizeof numbers);
    mark = kb_checkpoint_hash(mark, s->inverse, s->D * s->P * sizeof *s->inverse);
    mark = kb_checkpoint_hash(mark, s->start, sizeof s->start);
    TRY(kb_checkpoint_resume(ctx, state, mark, &found));
    if (s->past > KB_MARGIN_PAST)
        TRY(kb_checkpoint_refuse(ctx));
    p->converged = found && worst(s) <= p->tol;
    if (found)
        kb_log(ctx, KB_LOG_INFO, "%s: goes on after sweep %zu", ctx->checkpoint, s->sweep);
done:
    return status;
}

static kb_status save(kb_context *ctx, kb_margin_state *s, kb_checkpoint *state) {
    if (state->problem == 0)
        return KB_OK;
    list_parts(s, state);
    return kb_checkpoint_save(ctx, state);
}

static void give_results(kb_margin_state *s) {
    kb_margin *p = s->p;
    double root = sqrt((double)p->z->R);
    for (size_t b = 0; b < s->D; b++)
        for (size_t c = 0; c < p->C; c++)
            p->w[b * p->C + c] = s->u[b * s->P + c] * root;
    for (size_t i = 0; i < s->N; i++)
        memcpy(p->f + i * p->C, s->f + i * s->P, p->C * sizeof(double));
    memcpy(p->b, s->b, p->C * sizeof(double));
    p->steps = s->sweep;
    p->objective = 0;
    for (size_t c = 0; c < p->C; c++)
        p->objective += s->objective[c];
}

kb_status kb_margin_sweeps(kb_context *ctx, kb_margin *p) {
    kb_status status;
    kb_margin_state s = {0};
    kb_checkpoint state;
    p->converged = 0;
    TRY(kb_ranks_agree(ctx, create(ctx, p, &s)));
    TRY(find_most(ctx, &s));
    TRY(begin(ctx, &s));
    TRY(resume(ctx, &s, &state));
    while (!p->converged && !all_stuck(&s) && s.sweep < p->max_steps &&
           !(s.sweep > 0 && kb_is_late(ctx))) {
        TRY(sweep(ctx, &s));
        TRY(save(ctx, &s, &state));
    }
    give_results(&s);
done:
    release(ctx, &s);
    return status;
}
