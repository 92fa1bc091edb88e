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
#include "solve/margin_sweeps.h"
#include "core/sums.h"
#include "core/team.h"
#include "core/weights.h"
#include "simd/simd.h"
#include "solve/newton.h"
#include "solve/ridge.h"

#include <math.h>
#include <string.h>

/* The directions of a step: that of the slice and the past steps. */
enum { MOST = KB_FORMS, PAST = MOST - 1 };
/* Numbers that a step takes of all rows, a column: k_a' h k_b for a <= b, then slope' k_a. */
enum { PAIRS = MOST * (MOST + 1) / 2, FORMS = PAIRS + MOST };

enum { BIN_SUMS = KB_CHANGE_SUMS };

/* Bins that are summed in order by one thread. */
enum { BLOCK = 256 };

/* Sweeps in which the curvatures are refreshed: experiments/NOTES.md, sweeps for classes. */
static int refreshes(size_t sweep) {
    return sweep == 2 || sweep == 6 || (sweep > 6 && sweep % 16 == 0);
}

static const double SLOPE_UNIT = 0x1p-22; /* in shares of the largest weight */
static const double CURVATURE_UNIT = 0x1p-22;
enum { MOST_HALVINGS = 20 };
/* A step may raise the objective by this share of it, which is less than its rounding. */
static const double ROUNDING = 1e-14;

typedef struct sweeps {
    kb_margin *p;
    kb_context *ctx;
    const kb_loss_loops *simd;
    kb_slices *slices;
    size_t N, D, P; /* P: columns of the arrays, a power of two */
    double Lambda;
    double most;               /* weight of a sample */
    double unit;               /* of g */
    double limit;              /* of |g| in units, so that the sums of a slice fit */
    double *f, *y;             /* N x P; columns beyond C have y = 0, and no slopes */
    double *slope, *curvature; /* N x P: -s L' and s L'' */
    double *k_g;               /* N x P: the rows' sums of g */
    double *k_step[PAST];      /* N x P: those of past steps, the last one first */
    int32_t *v, *h;            /* N x P: slopes and k_g in units */
    double *u;                 /* D x P */
    float *inverse;            /* D x P: 1 / (H + Lambda), for g in units */
    float *step[PAST];         /* D x P */
    int32_t *g;                /* bins of a slice x P */
    double *blocks;            /* blocks x P x BIN_SUMS */
    size_t past, visits, sweep;
    size_t slice; /* the one that is visited, and whether H is refreshed there */
    int refresh;
    /* One a column. */
    double bins[KB_PANEL][BIN_SUMS];
    double b[KB_PANEL], b_step[KB_PANEL][PAST], b_g[KB_PANEL], H_b[KB_PANEL];
    double norm[KB_PANEL], start[KB_PANEL];       /* squared gradients, times R */
    double objective[KB_PANEL], square[KB_PANEL]; /* |u|^2 */
    double gram[KB_PANEL][PAST][PAST];            /* step' step */
    double along[KB_PANEL][PAST];                 /* u' step */
    double x[KB_PANEL][MOST];              /* the step is x_0 g + the sum of x_a step_(a-1) */
    double to[KB_PANEL], across[KB_PANEL]; /* u'd and d'd of the step d */
    double t[KB_PANEL], change[KB_PANEL];  /* the line search: where it is, how far it goes on */
    int combine, stuck[KB_PANEL];
} sweeps;

static size_t pad(size_t C) {
    return C <= 1 ? 1 : C <= 2 ? 2 : C <= 4 ? 4 : KB_PANEL;
}

/* ---- beginning --------------------------------------------------------- */

/* Half of the grids, in whole bundles. */
static size_t slice_of(const kb_binmat *z) {
    return ((z->grids + 1) / 2 + KB_BUNDLE - 1) / KB_BUNDLE * KB_BUNDLE;
}

static kb_status create(kb_context *ctx, kb_margin *p, sweeps *s) {
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
    s->most = p->s ? kb_largest_size(s->N, p->s) : 1;
    size_t rows = s->N * s->P, bins = s->D * s->P;
    double **of_rows[] = {&s->f,   &s->y,         &s->slope,     &s->curvature,
                          &s->k_g, &s->k_step[0], &s->k_step[1], &s->k_step[2]};
    _Static_assert(PAST == 3, "written out for three");
    TRY(kb_slices_create(ctx, p->z, grids, s->P, &s->slices));
    size_t most = kb_slices_most_bins(s->slices);
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; i++)
        TRY(kb_zalloc(ctx, rows, sizeof(double), of_rows[i]));
    TRY(kb_alloc(ctx, rows, sizeof *s->v, &s->v));
    TRY(kb_alloc(ctx, rows, sizeof *s->h, &s->h));
    TRY(kb_zalloc(ctx, bins, sizeof *s->u, &s->u));
    TRY(kb_alloc(ctx, bins, sizeof *s->inverse, &s->inverse));
    for (size_t a = 0; a < PAST; a++)
        TRY(kb_zalloc(ctx, bins, sizeof(float), &s->step[a]));
    TRY(kb_alloc(ctx, most * s->P, sizeof *s->g, &s->g));
    TRY(kb_alloc(ctx, (most / BLOCK + 1) * s->P * BIN_SUMS, sizeof(double), &s->blocks));
    for (size_t i = 0; i < s->N; i++)
        memcpy(s->y + i * s->P, p->y + i * p->C, p->C * sizeof(double));
done:
    return status;
}

static void release(kb_context *ctx, sweeps *s) {
    void *all[] = {s->f, s->y, s->slope,   s->curvature, s->k_g,   s->v,
                   s->h, s->u, s->inverse, s->g,         s->blocks};
    kb_slices_free(s->slices);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    for (size_t a = 0; a < PAST; a++) {
        kb_release(ctx, s->k_step[a]);
        kb_release(ctx, s->step[a]);
    }
}

/* ---- the losses of the rows -------------------------------------------- */

/* Slopes and curvatures at f, and the losses, which are added to sum. */
static void look_at(sweeps *s, size_t begin, size_t end, double *sum) {
    enum { CHUNK = KB_LOSS_SUM };
    const kb_loss *loss = s->p->loss;
    const double *weight = s->p->s;
    double value[CHUNK];
    size_t P = s->P;
    for (size_t first = begin * P, n; first < end * P; first += n) {
        n = end * P - first < CHUNK ? end * P - first : CHUNK;
        kb_loss_rows out = {value, s->slope + first, s->curvature + first};
        if (P == 1 && !weight)
            *sum += loss->sum(n, s->f + first, s->y + first, out);
        else
            loss->rows(n, s->f + first, s->y + first, out);
        for (size_t k = 0; weight && k < n; k++) {
            double each = weight[(first + k) / P];
            value[k] *= each;
            out.slope[k] *= each;
            out.curvature[k] *= each;
        }
        for (size_t k = 0; (P > 1 || weight) && k < n; k++)
            sum[k % P] += value[k];
        s->simd->whole(n, -1 / (SLOPE_UNIT * s->most), out.slope, s->v + first);
    }
}

/* The step in the rows, at the first try; then f goes on by `change` of it. */
static void walk(void *arg, size_t begin, size_t end, double *sum) {
    sweeps *s = arg;
    size_t P = s->P;
    const double *k[MOST] = {s->k_g, s->k_step[1], s->k_step[2], s->k_step[0]};
    memset(sum, 0, P * sizeof *sum);
    for (size_t a = 0; a < MOST; a++)
        k[a] += begin * P;
    if (s->combine)
        s->simd->combine((end - begin) * P, P, &s->x[0][0], k, s->k_step[0] + begin * P);
    s->simd->advance((end - begin) * P, P, s->change, s->k_step[0] + begin * P, s->f + begin * P);
    look_at(s, begin, end, sum);
}

static void add_forms(void *arg, size_t begin, size_t end, double *sum) {
    sweeps *s = arg;
    const double *k[MOST] = {s->k_g, s->k_step[0], s->k_step[1], s->k_step[2]};
    size_t P = s->P, count = 1 + s->past;
    memset(sum, 0, P * FORMS * sizeof *sum);
    s->simd->real((end - begin) * P, P, s->unit, s->b_g, s->h + begin * P, s->k_g + begin * P);
    if (P == 1) {
        for (size_t a = 0; a < count; a++)
            k[a] += begin;
        s->simd->forms(end - begin, count, s->curvature + begin, s->slope + begin, k, sum,
                       sum + PAIRS);
        return;
    }
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * P; c < P; c++, e++) {
            double *at = sum + c * FORMS;
            for (size_t b = 0, pair = 0; b < count; b++) {
                double product = s->curvature[e] * k[b][e];
                for (size_t a = 0; a <= b; a++, pair++)
                    at[pair] += product * k[a][e];
                at[PAIRS + b] += s->slope[e] * k[b][e];
            }
        }
}

/* ---- the bins of a slice ----------------------------------------------- */

/* The best change of every bin, and the sums over each block of bins. */
static void find_changes(sweeps *s, const int64_t *S, int me, int threads) {
    size_t first = kb_slice_first(s->slices, s->slice) * s->P;
    size_t bins = kb_slice_bins(s->slices, s->slice), P = s->P;
    size_t blocks = (bins + BLOCK - 1) / BLOCK;
    for (size_t B = kb_share(blocks, me, threads); B < kb_share(blocks, me + 1, threads); B++) {
        size_t from = first + B * BLOCK * P, end = (B + 1) * BLOCK < bins ? (B + 1) * BLOCK : bins;
        kb_changes how = {SLOPE_UNIT * s->most,
                          s->Lambda,
                          s->unit,
                          s->limit,
                          S + B * BLOCK * P,
                          s->u + from,
                          s->inverse + from,
                          {s->step[0] + from, s->step[1] + from, s->step[2] + from},
                          s->g + B * BLOCK * P};
        s->simd->changes((end - B * BLOCK) * P, P, &how, s->blocks + B * P * BIN_SUMS);
    }
}

static void add_blocks(sweeps *s) {
    size_t blocks = (kb_slice_bins(s->slices, s->slice) + BLOCK - 1) / BLOCK;
    memset(s->bins, 0, sizeof s->bins);
    for (size_t B = 0; B < blocks; B++)
        for (size_t c = 0; c < s->P; c++)
            for (size_t k = 0; k < BIN_SUMS; k++)
                s->bins[c][k] += s->blocks[(B * s->P + c) * BIN_SUMS + k];
}

static float inverse_of(const sweeps *s, double H) {
    double below = H + s->Lambda;
    return below > 0 ? (float)(1 / (below * s->unit)) : 0;
}

static void refresh(sweeps *s, int me, int threads) {
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
    sweeps *s = arg;
    if (s->refresh)
        refresh(s, me, threads);
    const int64_t *S = kb_slice_sum(s->slices, s->slice, s->v, me, threads);
    find_changes(s, S, me, threads);
    kb_team_meet(s->ctx, me, threads);
    kb_slice_spread(s->slices, s->slice, s->g, s->h, me, threads);
}

/* The intercept joins the slice as another u of the penalty lambda: Lambda times 1/R. */
static kb_status visit_intercept(kb_context *ctx, sweeps *s) {
    kb_status status = KB_OK;
    double S[KB_PANEL], H[KB_PANEL], lambda = s->p->lambda, R = (double)s->p->z->R;
    if (!s->p->intercept)
        goto done;
    TRY(kb_sums(ctx, s->N, s->P, s->slope, NULL, S));
    TRY(kb_sums(ctx, s->N, s->P, s->curvature, NULL, H));
    for (size_t c = 0; c < s->p->C; c++) {
        double *sum = s->bins[c], x = -S[c] - lambda * s->b[c];
        double g = s->b_g[c] = H[c] + lambda > 0 ? x / (H[c] + lambda) : 0;
        sum[KB_CHANGE_DESCENT] += g * x;
        sum[KB_CHANGE_OWN] += g * g / R;
        sum[KB_CHANGE_ALONG] += g * s->b[c] / R;
        sum[KB_CHANGE_SLOPES] += x * x * R;
        for (size_t a = 0; a < PAST; a++)
            sum[KB_CHANGE_WITH + a] += g * s->b_step[c][a] / R;
    }
done:
    return status;
}

/* ---- a step ------------------------------------------------------------ */

/* The step of column c, and its inner products with the past ones, which it joins. */
static void choose(sweeps *s, size_t c, const double *forms) {
    double A[PAIRS] = {0}, y[MOST] = {0}, G[MOST][MOST] = {{0}}, with[MOST] = {0};
    double *x = s->x[c];
    size_t n = 1 + s->past;
    y[0] = s->bins[c][KB_CHANGE_DESCENT];
    G[0][0] = s->bins[c][KB_CHANGE_OWN];
    for (size_t a = 1; a < n; a++) {
        y[a] = -forms[PAIRS + a] - s->Lambda * s->along[c][a - 1];
        G[0][a] = G[a][0] = s->bins[c][KB_CHANGE_WITH + a - 1];
        for (size_t b = 1; b < n; b++)
            G[a][b] = s->gram[c][a - 1][b - 1];
    }
    for (size_t b = 0, pair = 0; b < n; b++)
        for (size_t a = 0; a <= b; a++, pair++)
            A[pair] = s->Lambda * G[a][b] + forms[pair];
    memset(x, 0, MOST * sizeof *x);
    kb_solve_small(n, A, y, x);
    s->to[c] = x[0] * s->bins[c][KB_CHANGE_ALONG];
    s->across[c] = 0;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++)
            with[a] += G[a][b] * x[b];
        s->to[c] += a > 0 ? x[a] * s->along[c][a - 1] : 0;
        s->across[c] += x[a] * with[a];
    }
    for (size_t a = PAST - 1; a > 0; a--) {
        s->along[c][a] = s->along[c][a - 1];
        for (size_t b = PAST - 1; b > 0; b--)
            s->gram[c][a][b] = s->gram[c][a - 1][b - 1];
    }
    s->along[c][0] = s->to[c];
    s->gram[c][0][0] = s->across[c];
    for (size_t a = 1; a < PAST; a++)
        s->gram[c][0][a] = s->gram[c][a][0] = a < n ? with[a] : 0;
}

/* Makes room for a step as the first of the past ones; the oldest is there still, to be read. */
static void shift(sweeps *s) {
    double *k_step = s->k_step[PAST - 1];
    float *step = s->step[PAST - 1];
    for (size_t a = PAST - 1; a > 0; a--) {
        s->k_step[a] = s->k_step[a - 1];
        s->step[a] = s->step[a - 1];
    }
    s->k_step[0] = k_step;
    s->step[0] = step;
    s->past = s->past < PAST ? s->past + 1 : PAST;
}

/* The step in the bins begin up to end, and u after t of it; g: their changes, or NULL. */
static void step_part(sweeps *s, size_t begin, size_t end, const int32_t *g) {
    size_t P = s->P, e = begin * P;
    kb_step at = {s->unit, g, {s->step[1] + e, s->step[2] + e}, s->step[0] + e, s->u + e};
    if (begin < end)
        s->simd->step((end - begin) * P, P, &s->x[0][0], s->t, &at);
}

static size_t within(size_t x, size_t least, size_t most) {
    return x < least ? least : x > most ? most : x;
}

static void step_bins(void *arg, size_t begin, size_t end) {
    sweeps *s = arg;
    size_t first = kb_slice_first(s->slices, s->slice);
    size_t last = first + kb_slice_bins(s->slices, s->slice);
    size_t from = within(first, begin, end), to = within(last, begin, end);
    step_part(s, begin, from, NULL);
    step_part(s, from, to, s->g + (from - first) * s->P);
    step_part(s, to, end, NULL);
}

static void step_intercept(sweeps *s) {
    for (size_t c = 0; c < s->P; c++) {
        double *step = s->b_step[c], *x = s->x[c];
        double d = x[0] * s->b_g[c] + x[1] * step[0] + x[2] * step[1] + x[3] * step[2];
        memmove(step + 1, step, (PAST - 1) * sizeof *step);
        step[0] = d;
        s->b[c] += s->t[c] * d;
    }
}

/* The objective of each column falls, or the step is halved; a column without a step is stuck. */
static kb_status search(kb_context *ctx, sweeps *s) {
    kb_status status;
    double sum[KB_PANEL];
    int good = 0;
    for (size_t c = 0; c < s->P; c++)
        s->t[c] = s->change[c] = 1;
    s->combine = 1;
    for (int halving = 0; !good; halving++) {
        good = 1;
        TRY(kb_sums_by(ctx, s->N, s->P, walk, s, sum));
        s->combine = 0;
        for (size_t c = 0; c < s->P; c++) {
            double t = s->t[c], most = s->objective[c] + ROUNDING * fabs(s->objective[c]);
            double square = s->square[c] + t * (2 * s->to[c] + t * s->across[c]);
            double trial = sum[c] + s->Lambda / 2 * square;
            s->change[c] = 0;
            if (t == 0)
                continue;
            if (trial <= most) {
                s->stuck[c] = 0;
                continue;
            }
            s->t[c] = halving < MOST_HALVINGS ? t / 2 : 0;
            s->change[c] = s->t[c] - t;
            s->stuck[c] = s->t[c] == 0;
            good = 0;
        }
    }
    for (size_t c = 0; c < s->P; c++) {
        double t = s->t[c];
        s->square[c] += t * (2 * s->to[c] + t * s->across[c]);
        s->objective[c] = sum[c] + s->Lambda / 2 * s->square[c];
        for (size_t a = 0; a < PAST; a++)
            s->along[c][a] += t * s->gram[c][0][a];
    }
done:
    return status;
}

static kb_status visit(kb_context *ctx, sweeps *s, size_t k) {
    kb_status status;
    double forms[KB_PANEL * FORMS];
    s->slice = k;
    s->refresh = refreshes(s->sweep);
    kb_team_run(ctx, 0, visit_bins, s);
    add_blocks(s);
    TRY(visit_intercept(ctx, s));
    for (size_t c = 0; c < s->P; c++)
        s->norm[c] += s->bins[c][KB_CHANGE_SLOPES];
    TRY(kb_sums_by(ctx, s->N, s->P * FORMS, add_forms, s, forms));
    for (size_t c = 0; c < s->P; c++)
        choose(s, c, forms + c * FORMS);
    shift(s);
    TRY(search(ctx, s));
    kb_team_for(ctx, s->D, KB_WORTH_A_THREAD / s->P, step_bins, s);
    step_intercept(s);
done:
    return status;
}

/* ---- the whole --------------------------------------------------------- */

static void measure_bins(void *arg, int me, int threads) {
    sweeps *s = arg;
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
static kb_status add_intercept(kb_context *ctx, sweeps *s) {
    kb_status status;
    memset(s->bins, 0, sizeof s->bins);
    TRY(visit_intercept(ctx, s));
    for (size_t c = 0; c < s->P; c++)
        s->norm[c] += s->bins[c][KB_CHANGE_SLOPES];
done:
    return status;
}

/* The gradient where it is; with curvatures: H too. */
static kb_status measure(kb_context *ctx, sweeps *s, int curvatures) {
    kb_status status;
    memset(s->norm, 0, sizeof s->norm);
    s->refresh = curvatures;
    kb_team_run(ctx, 0, measure_bins, s);
    TRY(add_intercept(ctx, s));
done:
    return status;
}

/* Losses and slopes where it is. */
static kb_status look(kb_context *ctx, sweeps *s) {
    kb_status status;
    double sum[KB_PANEL];
    memset(s->change, 0, sizeof s->change);
    TRY(kb_sums_by(ctx, s->N, s->P, walk, s, sum));
    for (size_t c = 0; c < s->P; c++)
        s->objective[c] = sum[c] + s->Lambda / 2 * s->square[c];
done:
    return status;
}

/* At w = 0 all slopes are the same but for the sign of y, and so are the curvatures: one sum of
 * COUNT + y tells how many samples a bin has, and what their y add up to. */
#define COUNT (1 << 24)

static void count_bins(void *arg, int me, int threads) {
    sweeps *s = arg;
    size_t P = s->P;
    kb_loss_point at = s->p->loss->at(0, 1);
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
static kb_status measure_start(kb_context *ctx, sweeps *s) {
    kb_status status;
    if (s->p->s || s->N >= COUNT / 2) {
        TRY(measure(ctx, s, 1));
        goto done;
    }
    for (size_t e = 0; e < s->N * s->P; e++)
        s->h[e] = COUNT + (int32_t)s->y[e];
    kb_team_run(ctx, 0, count_bins, s);
    TRY(kb_sums(ctx, s->D, s->P, s->u, s->u, s->norm));
    memset(s->u, 0, s->D * s->P * sizeof *s->u);
    TRY(add_intercept(ctx, s));
done:
    return status;
}

static kb_status begin(kb_context *ctx, sweeps *s) {
    kb_status status;
    const kb_margin *p = s->p;
    double root = sqrt((double)p->z->R);
    TRY(look(ctx, s));
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
    TRY(look(ctx, s));
done:
    return status;
}

static double worst(const sweeps *s) {
    return kb_worst_residual(s->p->C, s->norm, s->start);
}

static int all_stuck(const sweeps *s) {
    for (size_t c = 0; c < s->p->C; c++)
        if (!s->stuck[c])
            return 0;
    return 1;
}

static kb_status sweep(kb_context *ctx, sweeps *s) {
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
    TRY(kb_progress(ctx, "solve", kb_solve_progress(p->tol, p->max_steps, worst(s), s->sweep)));
done:
    return status;
}

static void give_results(sweeps *s) {
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
    sweeps s = {0};
    p->converged = 0;
    TRY(create(ctx, p, &s));
    TRY(begin(ctx, &s));
    while (!p->converged && !all_stuck(&s) && s.sweep < p->max_steps)
        TRY(sweep(ctx, &s));
    give_results(&s);
done:
    release(ctx, &s);
    return status;
}
