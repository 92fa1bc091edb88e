/*
 * sweeps.c - see sweeps.h.
 *
 * Weights are kept as their share of a decision, u = w / sqrt(R), so that f is a plain sum of them
 * and with Lambda = lambda R the best change of a bin with n samples and residual sum S is
 *
 *     g = (S - Lambda u) / (n + Lambda).
 *
 * With h = the rows' sums of g, the line search is  t = sum g (S - Lambda u) / (h'h + Lambda g'g).
 * All of these are in units of the targets' own, chosen so that the largest is TOP.  The steps g
 * are rounded to multiples of STEP units, which leaves room for the sums of a slice, and the change
 * of a residual to a whole unit.
 *
 * The first slices would take all that they can explain, as boosting without shrinkage does, and
 * later sweeps would give it back slowly.  So a slice takes only SHRINK of its step; the move of
 * the whole sweep is then made as long as it should be:  the objective is minimised over the span
 * of this move and the last one.
 */
#include "solve/sweeps.h"
#include "core/sums.h"
#include "core/team.h"
#include "core/weights.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Grids of a slice, and the share of a slice's step that is taken: experiments/NOTES.md, sweeps. */
enum { SLICE = KB_BUNDLE };
static const double SHRINK = 0.2;

/* The largest target in units; residuals may grow to the size MOST before they are in danger. */
#define TOP  0x1p27
#define MOST (1u << 29)
enum { STEP = 16 };
/* Weights of samples in units: the largest is 2^SHARE_BITS. */
enum { SHARE_BITS = 30 };

/* Bins that are summed in order by one thread. */
enum { BLOCK = 256 };

/* Sums that the span needs: this move with itself, with the last and with the start; the last one
 * with itself and with the start; the start with itself. */
enum { MOVE_MOVE, MOVE_LAST, MOVE_START, LAST_LAST, LAST_START, START_START, SPAN_SUMS };

typedef struct sweeps {
    kb_sweeps *p;
    kb_context *ctx;
    const kb_whole_sums *simd;
    kb_slices *slices;
    size_t N, D;
    size_t P; /* columns of the arrays: C, or the next power of two */
    double Lambda;
    double unit[KB_PANEL]; /* of the targets */
    double whole;          /* a unit of the sums of squares: 1, or that of the weights */
    int equal;             /* all samples have the same weight, or 0 */
    double total;          /* of the weights of the samples, in shares of the largest */
    int32_t *r, *before;   /* N x P: residuals now, and when the sweep began */
    int32_t *h;            /* N x P: the slice's change of the decisions */
    int32_t *last;         /* N x P: the last move's */
    int32_t *share, *v; /* N, N x P: weights of the samples, and the weighted residuals; or NULL */
    double *u;          /* D x P: weights when the sweep began */
    float *d, *u_last;  /* D x P: this sweep's change, and the last one's */
    float *n;           /* D: the weight of the samples of a bin */
    int32_t *g;         /* bins of a slice x P, in units of STEP */
    double *products;   /* blocks x 2 x P: g (S - Lambda u) and g g */
    double *gradient;   /* blocks x P: (S - Lambda u)^2 */
    __int128 *squares;  /* threads x KB_PANEL: h'h */
    uint32_t *bits;     /* threads: the sizes of all residuals, after slices */
    atomic_uint ended;  /* the same, after spans */
    double residual[KB_PANEL]; /* |Z'S r - lambda w|^2 R as the sweep saw it, in units */
    double start[KB_PANEL];
    int backward;
    size_t kept; /* the best sweep so far, by the watch, and its state; 0: none */
    int32_t *kept_r;
    float *kept_u;
    double kept_b[KB_PANEL];
} sweeps;

static size_t pad(size_t C) {
    return C <= 1 ? 1 : C <= 2 ? 2 : C <= 4 ? 4 : KB_PANEL;
}

/* ---- rows -------------------------------------------------------------- */

/* What is summed over the bins: the residuals, times the weights of the samples. */
static const int32_t *summed(const sweeps *s) {
    return s->share ? s->v : s->r;
}

static void weigh(const sweeps *s, size_t begin, size_t end) {
    const int64_t half = (int64_t)1 << (SHARE_BITS - 1);
    for (size_t i = begin; s->equal && i < end; i++)
        for (size_t e = i * s->P; e < (i + 1) * s->P; e++)
            s->v[e] = s->share[i] ? s->r[e] : 0;
    if (s->equal)
        return;
    for (size_t i = begin; s->share && i < end; i++)
        for (size_t e = i * s->P; e < (i + 1) * s->P; e++)
            s->v[e] = (int32_t)(((int64_t)s->r[e] * s->share[i] + half) >> SHARE_BITS);
}

/* h'h of this thread's rows. */
static void add_squares(const sweeps *s, size_t begin, size_t end, int me) {
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

/* ---- one slice --------------------------------------------------------- */

/* The best change of every bin, and the sums over each block of bins. */
static void find_steps(const sweeps *s, size_t k, const int64_t *S, int me, int threads) {
    size_t first = kb_slice_first(s->slices, k), bins = kb_slice_bins(s->slices, k), P = s->P;
    size_t blocks = (bins + BLOCK - 1) / BLOCK;
    for (size_t B = kb_share(blocks, me, threads); B < kb_share(blocks, me + 1, threads); B++) {
        double up[KB_PANEL] = {0}, own[KB_PANEL] = {0}, slope[KB_PANEL] = {0};
        size_t end = (B + 1) * BLOCK < bins ? (B + 1) * BLOCK : bins;
        for (size_t b = B * BLOCK; b < end; b++) {
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
static void search_line(const sweeps *s, size_t blocks, int threads, double *t) {
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
static void take_step(sweeps *s, size_t k, const double *t, size_t begin, size_t end, int me,
                      int threads) {
    size_t first = kb_slice_first(s->slices, k), bins = kb_slice_bins(s->slices, k), P = s->P;
    for (size_t b = kb_share(bins, me, threads); b < kb_share(bins, me + 1, threads); b++)
        for (size_t c = 0; c < P; c++)
            s->d[(first + b) * P + c] += (float)(t[c] * s->g[b * P + c]);
    s->bits[me] |= s->simd->advance((end - begin) * P, P, t, s->h + begin * P, s->r + begin * P);
    weigh(s, begin, end);
}

/* The squared slopes of a slice, added up by the caller's thread. */
static void note_gradient(sweeps *s, size_t blocks) {
    for (size_t B = 0; B < blocks; B++)
        for (size_t c = 0; c < s->P; c++)
            s->residual[c] += s->gradient[B * s->P + c];
}

static void sweep(void *arg, int me, int threads) {
    sweeps *s = arg;
    size_t count = kb_slices_count(s->slices);
    size_t begin = kb_share(s->N, me, threads), end = kb_share(s->N, me + 1, threads);
    for (size_t j = 0; j < count; j++) {
        double t[KB_PANEL];
        size_t k = s->backward ? count - 1 - j : j;
        size_t blocks = (kb_slice_bins(s->slices, k) + BLOCK - 1) / BLOCK;
        const int64_t *S = kb_slice_sum(s->slices, k, summed(s), me, threads);
        find_steps(s, k, S, me, threads);
        kb_team_meet(s->ctx, me, threads);
        kb_slice_spread(s->slices, k, s->g, s->h, me, threads);
        add_squares(s, begin, end, me);
        kb_team_meet(s->ctx, me, threads);
        search_line(s, blocks, threads, t);
        if (me == 0)
            note_gradient(s, blocks);
        take_step(s, k, t, begin, end, me, threads);
        kb_team_meet(s->ctx, me, threads);
    }
}

/* ---- the span of two moves --------------------------------------------- */

static void sum_rows(void *arg, size_t begin, size_t end, double *sum) {
    const sweeps *s = arg;
    size_t P = s->P;
    const double whole = 1 / (double)(1 << SHARE_BITS);
    memset(sum, 0, P * SPAN_SUMS * sizeof *sum);
    for (size_t i = begin; i < end; i++) {
        double weight = s->share ? s->share[i] * whole : 1;
        for (size_t c = 0, e = i * P; c < P; c++, e++) {
            double start = s->before[e], move = start - s->r[e], last = s->last[e];
            double *out = sum + c * SPAN_SUMS;
            out[MOVE_MOVE] += weight * move * move;
            out[MOVE_LAST] += weight * move * last;
            out[MOVE_START] += weight * move * start;
            out[LAST_LAST] += weight * last * last;
            out[LAST_START] += weight * last * start;
            out[START_START] += weight * start * start;
        }
    }
}

static void sum_bins(void *arg, size_t begin, size_t end, double *sum) {
    const sweeps *s = arg;
    size_t P = s->P;
    memset(sum, 0, P * SPAN_SUMS * sizeof *sum);
    for (size_t b = begin; b < end; b++)
        for (size_t c = 0, e = b * P; c < P; c++, e++) {
            double start = s->u[e], move = (double)s->d[e], last = (double)s->u_last[e];
            double *out = sum + c * SPAN_SUMS;
            out[MOVE_MOVE] += s->Lambda * move * move;
            out[MOVE_LAST] += s->Lambda * move * last;
            out[MOVE_START] -= s->Lambda * move * start;
            out[LAST_LAST] += s->Lambda * last * last;
            out[LAST_START] -= s->Lambda * last * start;
        }
}

typedef struct combination {
    sweeps *s;
    double of_move[KB_PANEL], of_last[KB_PANEL];
} combination;

static int32_t nearest(double x) {
    return (int32_t)rint(fmin(fmax(x, -2.0 * MOST), 2.0 * MOST));
}

static void combine_rows(void *arg, size_t begin, size_t end) {
    combination *a = arg;
    sweeps *s = a->s;
    uint32_t bits = 0;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->P; c < s->P; c++, e++) {
            s->last[e] =
                nearest(a->of_move[c] * (s->before[e] - s->r[e]) + a->of_last[c] * s->last[e]);
            s->r[e] = s->before[e] - s->last[e];
            s->before[e] = s->r[e];
            bits |= (uint32_t)(s->r[e] < 0 ? -s->r[e] : s->r[e]);
        }
    atomic_fetch_or(&s->ended, bits);
    weigh(s, begin, end);
}

static void combine_bins(void *arg, size_t begin, size_t end) {
    combination *a = arg;
    sweeps *s = a->s;
    for (size_t b = begin; b < end; b++)
        for (size_t c = 0, e = b * s->P; c < s->P; c++, e++) {
            s->u_last[e] =
                (float)(a->of_move[c] * (double)s->d[e] + a->of_last[c] * (double)s->u_last[e]);
            s->u[e] += (double)s->u_last[e];
            s->d[e] = 0;
        }
}

/* The minimum over the two moves; over the first alone where they point the same way.  Each slice
 * rounds a row of its move by up to half a unit, and rows of one bin alike.  Slopes below what that
 * may add up to are not known: such a move stays as it is, and along the last one the slope is then
 * zero, since it was minimised over. */
static void solve_span(const sweeps *s, const double *row, const double *bin, double *of_move,
                       double *of_last) {
    double a[SPAN_SUMS], off = 0.5 * (double)kb_slices_count(s->slices) * sqrt(s->total);
    for (int k = 0; k < SPAN_SUMS; k++)
        a[k] = row[k] + bin[k];
    double det = a[MOVE_MOVE] * a[LAST_LAST] - a[MOVE_LAST] * a[MOVE_LAST];
    double slope = off * sqrt(row[START_START]);
    *of_move = 1;
    *of_last = 0;
    if (a[MOVE_START] <= slope)
        return;
    if (fabs(a[LAST_START]) <= slope)
        a[LAST_START] = 0;
    if (det > 1e-9 * a[MOVE_MOVE] * a[LAST_LAST] &&
        det > off * off * fmax(a[MOVE_MOVE], a[LAST_LAST])) {
        *of_move = (a[MOVE_START] * a[LAST_LAST] - a[LAST_START] * a[MOVE_LAST]) / det;
        *of_last = (a[LAST_START] * a[MOVE_MOVE] - a[MOVE_START] * a[MOVE_LAST]) / det;
    } else if (a[MOVE_MOVE] > 0) {
        *of_move = a[MOVE_START] / a[MOVE_MOVE];
    }
}

static void span(kb_context *ctx, sweeps *s, const double *row, const double *bin) {
    combination a = {.s = s};
    for (size_t c = 0; c < s->P; c++)
        solve_span(s, row + c * SPAN_SUMS, bin + c * SPAN_SUMS, &a.of_move[c], &a.of_last[c]);
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / s->P, combine_rows, &a);
    kb_team_for(ctx, s->D, KB_WORTH_A_THREAD / s->P, combine_bins, &a);
}

/* ---- the intercept ----------------------------------------------------- */

static void sum_residuals(void *arg, size_t begin, size_t end, double *sum) {
    const sweeps *s = arg;
    const int32_t *v = summed(s);
    memset(sum, 0, s->P * sizeof *sum);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < s->P; c++)
            sum[c] += v[i * s->P + c];
}

typedef struct shift {
    sweeps *s;
    int32_t by[KB_PANEL];
} shift;

static void shift_rows(void *arg, size_t begin, size_t end) {
    shift *a = arg;
    sweeps *s = a->s;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->P; c < s->P; c++, e++) {
            s->r[e] -= a->by[c];
            s->before[e] = s->r[e];
        }
    weigh(s, begin, end);
}

/* b takes the weighted mean of the residuals. */
static kb_status centre(kb_context *ctx, sweeps *s) {
    kb_status status;
    double sum[KB_PANEL] = {0};
    shift a = {.s = s};
    TRY(kb_sums_by(ctx, s->N, s->P, sum_residuals, s, sum));
    for (size_t c = 0; c < s->p->C; c++) {
        a.by[c] = s->total > 0 ? nearest(sum[c] / s->total) : 0;
        s->p->b[c] += a.by[c] * s->unit[c];
    }
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / s->P, shift_rows, &a);
done:
    return status;
}

/* ---- beginning --------------------------------------------------------- */

static kb_status create(kb_context *ctx, kb_sweeps *p, sweeps *s) {
    kb_status status;
    s->p = p;
    s->ctx = ctx;
    s->simd = p->z->simd->whole_sums;
    s->N = p->z->rows;
    s->D = p->z->bins;
    s->P = pad(p->C);
    s->Lambda = p->lambda * (double)p->z->R;
    size_t rows = s->N * s->P, bins = s->D * s->P, threads = (size_t)ctx->threads;
    TRY(kb_slices_create(ctx, p->z, SLICE, s->P, &s->slices));
    size_t most = kb_slices_most_bins(s->slices), blocks = most / BLOCK + 1;
    TRY(kb_zalloc(ctx, rows, sizeof *s->r, &s->r));
    TRY(kb_alloc(ctx, rows, sizeof *s->before, &s->before));
    TRY(kb_zalloc(ctx, rows, sizeof *s->h, &s->h));
    TRY(kb_zalloc(ctx, rows, sizeof *s->last, &s->last));
    TRY(kb_zalloc(ctx, bins, sizeof *s->u, &s->u));
    TRY(kb_zalloc(ctx, bins, sizeof *s->d, &s->d));
    TRY(kb_zalloc(ctx, bins, sizeof *s->u_last, &s->u_last));
    TRY(kb_alloc(ctx, s->D, sizeof *s->n, &s->n));
    if (p->watch) {
        TRY(kb_alloc(ctx, rows, sizeof *s->kept_r, &s->kept_r));
        TRY(kb_alloc(ctx, bins, sizeof *s->kept_u, &s->kept_u));
    }
    TRY(kb_alloc(ctx, most * s->P, sizeof *s->g, &s->g));
    TRY(kb_alloc(ctx, blocks * 2 * s->P, sizeof(double), &s->products));
    TRY(kb_alloc(ctx, blocks * s->P, sizeof(double), &s->gradient));
    TRY(kb_alloc(ctx, threads * KB_PANEL, sizeof *s->squares, &s->squares));
    TRY(kb_zalloc(ctx, threads, sizeof *s->bits, &s->bits));
done:
    return status;
}

static void release(kb_context *ctx, sweeps *s) {
    void *all[] = {s->kept_r, s->kept_u,   s->r,        s->before,  s->h,      s->last,
                   s->share,  s->v,        s->u,        s->d,       s->u_last, s->n,
                   s->g,      s->products, s->gradient, s->squares, s->bits};
    kb_slices_free(s->slices);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

/* Weights in shares of the largest, which lambda is then relative to. */
static kb_status take_weights(kb_context *ctx, sweeps *s) {
    kb_status status = KB_OK;
    const double *weight = s->p->s;
    double most = 0;
    s->total = (double)s->N;
    s->whole = 1;
    if (!weight)
        goto done;
    TRY(kb_alloc(ctx, s->N, sizeof *s->share, &s->share));
    TRY(kb_alloc(ctx, s->N * s->P, sizeof *s->v, &s->v));
    for (size_t i = 0; i < s->N; i++)
        most = fmax(most, weight[i]);
    s->total = 0;
    for (size_t i = 0; i < s->N; i++) {
        double share = most > 0 ? weight[i] / most : 0;
        s->share[i] = (int32_t)rint(share * (double)(1 << SHARE_BITS));
        s->total += share;
    }
    s->Lambda /= most > 0 ? most : 1;
    s->equal = 1;
    for (size_t i = 0; i < s->N; i++)
        s->equal &= s->share[i] == 0 || s->share[i] == 1 << SHARE_BITS;
    s->whole = s->equal ? 1 : 1 / (double)(1 << SHARE_BITS);
done:
    return status;
}

/* The weight of the samples of each bin. */
static void count_bins(void *arg, int me, int threads) {
    sweeps *s = arg;
    double one = s->share ? 1 / (double)(1 << SHARE_BITS) : 1;
    for (size_t k = 0; k < kb_slices_count(s->slices); k++) {
        const int64_t *S = kb_slice_sum(s->slices, k, s->h, me, threads);
        size_t first = kb_slice_first(s->slices, k), bins = kb_slice_bins(s->slices, k);
        for (size_t b = kb_share(bins, me, threads); b < kb_share(bins, me + 1, threads); b++)
            s->n[first + b] = (float)((double)S[b * s->P] * one);
        kb_team_meet(s->ctx, me, threads);
    }
}

/* |Z'S r - lambda w|^2 in units, into s->residual. */
static void measure_slopes(void *arg, int me, int threads) {
    sweeps *s = arg;
    for (size_t k = 0; k < kb_slices_count(s->slices); k++) {
        const int64_t *S = kb_slice_sum(s->slices, k, summed(s), me, threads);
        find_steps(s, k, S, me, threads);
        kb_team_meet(s->ctx, me, threads);
        if (me == 0)
            note_gradient(s, (kb_slice_bins(s->slices, k) + BLOCK - 1) / BLOCK);
    }
    kb_team_meet(s->ctx, me, threads);
}

static void find_slopes(kb_context *ctx, sweeps *s) {
    memset(s->residual, 0, sizeof s->residual);
    kb_team_run(ctx, 0, measure_slopes, s);
}

/* What the weights have to explain, less what they do explain at a warm start. */
static double target_of(const kb_sweeps *p, size_t i, size_t c, int warm) {
    size_t e = i * p->C + c;
    return p->y[e] - p->b[c] - (warm ? p->f[e] : 0);
}

static void choose_units(sweeps *s) {
    const kb_sweeps *p = s->p;
    for (size_t c = 0; c < p->C; c++) {
        double most = 0;
        for (size_t i = 0; i < s->N; i++)
            for (int warm = 0; warm <= (p->warm != 0); warm++)
                most = fmax(most, fabs(target_of(p, i, c, warm)));
        s->unit[c] = most > 0 ? most / TOP : 1;
    }
}

/* Targets in units; with `warm`, less the given weights, which are taken over. */
static void take_targets(sweeps *s, int warm) {
    const kb_sweeps *p = s->p;
    size_t C = p->C, P = s->P;
    double root = sqrt((double)p->z->R);
    for (size_t c = 0; c < C; c++) {
        for (size_t i = 0; i < s->N; i++)
            s->r[i * P + c] = nearest(target_of(p, i, c, warm) / s->unit[c]);
        for (size_t b = 0; warm && b < s->D; b++)
            s->u[b * P + c] = p->w[b * C + c] / s->unit[c] / root;
    }
    memcpy(s->before, s->r, s->N * P * sizeof *s->r);
    weigh(s, 0, s->N);
}

/* ---- ending ------------------------------------------------------------ */

static double worst(const sweeps *s) {
    double most = 0;
    for (size_t c = 0; c < s->p->C; c++)
        if (s->start[c] > 0)
            most = fmax(most, sqrt(s->residual[c] / s->start[c]));
    return most;
}

static int too_wide(const sweeps *s) {
    uint32_t bits = atomic_load(&s->ended);
    for (int m = 0; m < s->ctx->threads; m++)
        bits |= s->bits[m];
    return bits >= MOST;
}

static double decision(const sweeps *s, size_t i, size_t c) {
    return s->p->y[i * s->p->C + c] - s->r[i * s->P + c] * s->unit[c];
}

/* Copies the state to the one that is kept, or back. */
static void copy_rows(void *arg, size_t begin, size_t end) {
    sweeps *s = arg;
    size_t bytes = (end - begin) * s->P * sizeof *s->r;
    memcpy(s->kept_r + begin * s->P, s->r + begin * s->P, bytes);
}

static void copy_bins(void *arg, size_t begin, size_t end) {
    sweeps *s = arg;
    for (size_t e = begin * s->P; e < end * s->P; e++)
        s->kept_u[e] = (float)s->u[e];
}

static void return_to_kept(sweeps *s) {
    memcpy(s->r, s->kept_r, s->N * s->P * sizeof *s->r);
    for (size_t e = 0; e < s->D * s->P; e++)
        s->u[e] = (double)s->kept_u[e];
    memcpy(s->p->b, s->kept_b, s->p->C * sizeof(double));
    s->p->sweeps = s->kept;
}

/* Whether the caller wants another sweep. */
static int look(kb_context *ctx, sweeps *s) {
    const kb_watch *w = s->p->watch;
    size_t C = s->p->C;
    if (!w)
        return 1;
    for (size_t h = 0; h < w->rows; h++)
        for (size_t c = 0; c < C; c++)
            w->f[h * C + c] = decision(s, w->row[h], c);
    kb_watch_answer answer = w->look(w->arg, s->p->sweeps);
    if (answer == KB_WATCH_KEEP) {
        kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / s->P, copy_rows, s);
        kb_team_for(ctx, s->D, KB_WORTH_A_THREAD / s->P, copy_bins, s);
        memcpy(s->kept_b, s->p->b, C * sizeof(double));
        s->kept = s->p->sweeps;
    }
    return answer != KB_WATCH_STOP;
}

static void give_results(sweeps *s) {
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
    double P = (double)pad(C), slice = fmin(1, SLICE / (double)R);
    return (kb_bytes){.row = 4 + 24 * P, .bin = 4 + 20 * P + 20 * P * slice};
}

/* One sweep and what follows it; *goes_on: whether there should be another. */
static kb_status step(kb_context *ctx, sweeps *s, int *goes_on) {
    kb_status status;
    kb_sweeps *p = s->p;
    double row[KB_PANEL * SPAN_SUMS], bin[KB_PANEL * SPAN_SUMS];
    memset(s->residual, 0, sizeof s->residual);
    if (p->intercept)
        TRY(centre(ctx, s));
    kb_team_run(ctx, 0, sweep, s);
    TRY(kb_sums_by(ctx, s->N, s->P * SPAN_SUMS, sum_rows, s, row));
    TRY(kb_sums_by(ctx, s->D, s->P * SPAN_SUMS, sum_bins, s, bin));
    span(ctx, s, row, bin);
    s->backward = !s->backward;
    p->sweeps++;
    p->too_wide = too_wide(s);
    *goes_on = !p->too_wide && look(ctx, s) && p->sweeps < p->max_sweeps;
    if (p->tol > 0 && worst(s) <= 2 * p->tol) {
        find_slopes(ctx, s);
        p->converged = worst(s) <= p->tol;
        *goes_on &= !p->converged;
    }
    TRY(kb_progress(ctx, "solve", (double)p->sweeps / (double)p->max_sweeps));
done:
    return status;
}

kb_status kb_sweeps_run(kb_context *ctx, kb_sweeps *p) {
    kb_status status;
    sweeps s = {0};
    int goes_on = p->max_sweeps > 0;
    p->sweeps = 0;
    p->converged = p->too_wide = 0;
    TRY(create(ctx, p, &s));
    TRY(take_weights(ctx, &s));
    for (size_t i = 0; i < s.N; i++)
        s.h[i * s.P] = s.share ? s.share[i] : 1;
    kb_team_run(ctx, 0, count_bins, &s);
    choose_units(&s);
    take_targets(&s, 0);
    if (p->tol > 0) {
        find_slopes(ctx, &s);
        memcpy(s.start, s.residual, sizeof s.start);
    }
    if (p->warm)
        take_targets(&s, 1);
    while (goes_on)
        TRY(step(ctx, &s, &goes_on));
    if (s.kept > 0 && s.kept < p->sweeps)
        return_to_kept(&s);
    give_results(&s);
done:
    release(ctx, &s);
    return status;
}
