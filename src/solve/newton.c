/*
 * newton.c - Newton steps in the kernel inner product; see newton.h.
 *
 * At alpha, f = K alpha, with slopes L' and curvatures h of the losses at f, a round minimises the
 * quadratic model of the objective
 *
 *     Q(d) = <g, d> + <d, (lambda I + h K) d> / 2,     g = lambda alpha + L'(f),   <a, b> = a' K b
 *
 * over the d in the span of the gradient g and of the last steps.  Were the objective quadratic,
 * gradient and last step alone would give the steps of conjugate gradients: this is Newton-CG that
 * keeps its directions from round to round instead of starting CG from zero.  Since the products K
 * d of past steps are known, a round takes one product, K g, and the model costs N operations for
 * each pair of directions.  (Narkiss and Zibulevsky, Sequential subspace optimization, 2005.)
 *
 * Then t = 1, 1/2, ..  until the objective at alpha + t d has fallen enough (Armijo); K d is built
 * along with d, so a try costs N operations and no product.
 *
 * Where most rows have no curvature, as in late rounds of the squared hinge, the system of the
 * round is solved by CG with products over the other rows (active.h).
 *
 * Outputs are solved side by side: they share the products, and each has its own steps; one that
 * has converged does not move.  The multinomial loss couples all outputs: then there is one step
 * for all, and h becomes diag(p) - p p' in each row.
 */
#include "solve/newton.h"
#include "core/fixed_math.h"
#include "core/team.h"
#include "core/weights.h"
#include "simd/simd.h"
#include "solve/active.h"
#include "solve/ridge.h"
#include "ranks/checkpoint.h"
#include "ranks/row_sums.h"

#include <math.h>
#include <string.h>

enum { MOST_HALVINGS = 30 };
static const double ARMIJO = 0.01;

/* Near the optimum the objective changes by less than its rounding: a full step that does
 * not raise it by more than this share of it is taken. */
static const double ROUNDING = 1e-14;

/* The directions of a round: the gradient and past steps. */
enum { MOST = KB_FORMS, PAST = MOST - 1 };

/* Numbers that a round takes of all rows, a column: <k_a, h k_b> for a <= b, then rho' k_a. */
enum { PAIRS = MOST * (MOST + 1) / 2, FORMS = PAIRS + MOST };

/* Numbers that a try takes: the losses, alpha' K d, rho' K d. */
enum { LOSSES, ALONG, DESCENT, TRIED };

typedef struct newton {
    kb_smooth *p;
    size_t N, C;
    double *h;                         /* N x C: curvatures times weights; softmax: probabilities */
    double *rho, *k_rho;               /* N x C: -g */
    double *step[PAST], *k_step[PAST]; /* N x C each: past steps, the last one first */
    size_t past;                       /* how many there are */
    int combine;                       /* the step is still to be put together from x */
    kb_active *active;                 /* NULL: not offered by the map */
    /* One a column. */
    double *norm, *start;       /* <g, g>, and that of w = 0 */
    double *objective, *square; /* of the column; |w|^2 */
    double *t, *change;         /* the line search: where it is, and by how much it goes on */
    double *trial, *across;     /* the objective there; <d, d> */
    double *forms;              /* C x FORMS */
    double *gram;               /* C x PAST x PAST: <step_a, step_b> */
    double *x;                  /* C x MOST: d = x_0 rho + the sum of x_a step_(a-1) */
    double *tried;              /* C x TRIED */
    unsigned char *done;        /* converged, or given up */
} newton;

static kb_status create(kb_context *ctx, kb_smooth *p, newton *s) {
    kb_status status;
    s->p = p;
    s->N = p->op->rows;
    s->C = p->C;
    double **array[] = {&s->h, &s->rho, &s->k_rho};
    double **scalar[] = {&s->norm, &s->start,  &s->objective, &s->square,
                         &s->t,    &s->change, &s->trial,     &s->across};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++)
        TRY(kb_zalloc(ctx, s->N * s->C, sizeof(double), array[i]));
    for (size_t k = 0; k < PAST; k++) {
        TRY(kb_zalloc(ctx, s->N * s->C, sizeof(double), &s->step[k]));
        TRY(kb_zalloc(ctx, s->N * s->C, sizeof(double), &s->k_step[k]));
    }
    for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
        TRY(kb_zalloc(ctx, s->C, sizeof(double), scalar[i]));
    TRY(kb_zalloc(ctx, s->C * FORMS, sizeof(double), &s->forms));
    TRY(kb_zalloc(ctx, s->C * PAST * PAST, sizeof(double), &s->gram));
    TRY(kb_zalloc(ctx, s->C * MOST, sizeof(double), &s->x));
    TRY(kb_zalloc(ctx, s->C * TRIED, sizeof(double), &s->tried));
    TRY(kb_zalloc(ctx, s->C, 1, &s->done));
    if (s->C == 1 && p->op->subset)
        TRY(kb_active_create(ctx, s->N, &s->active));
done:
    return status;
}

static void release(kb_context *ctx, newton *s) {
    void *all[] = {s->h,      s->rho, s->k_rho,  s->norm,  s->start,  s->objective,
                   s->square, s->t,   s->change, s->trial, s->across, s->forms,
                   s->gram,   s->x,   s->tried,  s->done};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    for (size_t k = 0; k < PAST; k++) {
        kb_release(ctx, s->step[k]);
        kb_release(ctx, s->k_step[k]);
    }
    kb_active_free(ctx, s->active);
}

/* ---- the model --------------------------------------------------------- */

/* p_c = exp(z_c) / sum; returns the loss -log p_y. */
static double softmax_row(size_t C, const double *z, const double *y, double *p) {
    double most = z[0], sum = 0, right = 0;
    for (size_t c = 1; c < C; c++)
        most = fmax(most, z[c]);
    for (size_t c = 0; c < C; c++) {
        p[c] = kb_exp_minus_fixed(most - z[c]);
        sum += p[c];
        if (y[c] > 0)
            right = z[c] - most;
    }
    for (size_t c = 0; c < C; c++)
        p[c] /= sum;
    return kb_log_fixed(sum) - right;
}

/* The forms of one row of the multinomial loss; those of all outputs go to the first. */
static void add_softmax_row(const newton *s, const double *const *k, size_t count, size_t i,
                            double *sum) {
    size_t C = s->C, pair = 0;
    double weight = kb_weight_of(s->p->s, i), mean[MOST] = {0};
    const double *p = s->h + i * C;
    for (size_t a = 0; a < count; a++)
        for (size_t c = 0; c < C; c++)
            mean[a] += p[c] * k[a][i * C + c];
    for (size_t b = 0; b < count; b++)
        for (size_t a = 0; a <= b; a++, pair++) {
            double product = 0;
            for (size_t c = 0; c < C; c++)
                product += p[c] * k[a][i * C + c] * k[b][i * C + c];
            sum[pair] += weight * (product - mean[a] * mean[b]);
        }
    for (size_t a = 0; a < count; a++)
        for (size_t c = 0; c < C; c++)
            sum[PAIRS + a] += s->rho[i * C + c] * k[a][i * C + c];
}

static void add_forms(void *arg, size_t begin, size_t end, double *sum) {
    const newton *s = arg;
    const double *k[MOST] = {s->k_rho};
    size_t C = s->C, count = 1 + s->past;
    memset(sum, 0, C * FORMS * sizeof *sum);
    for (size_t a = 1; a < count; a++)
        k[a] = s->k_step[a - 1];
    if (C == 1) {
        for (size_t a = 0; a < count; a++)
            k[a] += begin;
        kb_simd_best()->losses->forms(end - begin, count, s->h + begin, s->rho + begin, k, sum,
                                      sum + PAIRS);
        return;
    }
    for (size_t i = begin; i < end; i++) {
        if (s->p->softmax) {
            add_softmax_row(s, k, count, i, sum);
            continue;
        }
        for (size_t c = 0, e = i * C; c < C; c++, e++) {
            double *at = sum + c * FORMS;
            for (size_t b = 0, pair = 0; b < count; b++) {
                double product = s->h[e] * k[b][e];
                for (size_t a = 0; a <= b; a++, pair++)
                    at[pair] += product * k[a][e];
                at[PAIRS + b] += s->rho[e] * k[b][e];
            }
        }
    }
}

void kb_solve_small(size_t n, const double *A, const double *y, double *x) {
    double L[MOST][MOST] = {{0}}, D[MOST] = {0}, z[MOST] = {0};
    for (size_t b = 0; b < n; A += ++b) {
        double below[MOST]; /* L D */
        D[b] = A[b];
        z[b] = y[b];
        for (size_t a = 0; a < b; a++) {
            below[a] = A[a];
            for (size_t k = 0; k < a; k++)
                below[a] -= below[k] * L[a][k];
            L[b][a] = D[a] > 0 ? below[a] / D[a] : 0;
            D[b] -= below[a] * L[b][a];
            z[b] -= L[b][a] * z[a];
        }
        D[b] = D[b] > 1e-12 * A[b] ? D[b] : 0;
        z[b] = D[b] > 0 ? z[b] : 0;
    }
    for (size_t b = n; b-- > 0;) {
        x[b] = D[b] > 0 ? z[b] / D[b] : 0;
        for (size_t k = b + 1; k < n && D[b] > 0; k++)
            x[b] -= L[k][b] * x[k];
    }
}

/* The step of column c, and its inner products with the past ones, which it joins. */
static void choose(newton *s, size_t c) {
    const double *forms = s->forms + c * FORMS, *dots = forms + PAIRS;
    double A[PAIRS] = {0}, y[MOST] = {0}, G[MOST][MOST] = {{0}}, *x = s->x + c * MOST;
    double *gram = s->gram + c * PAST * PAST, with[MOST] = {0};
    size_t n = 1 + (s->past < PAST ? s->past : PAST);
    y[0] = G[0][0] = s->norm[c];
    for (size_t a = 1; a < n; a++) {
        y[a] = G[0][a] = G[a][0] = dots[a];
        for (size_t b = 1; b < n; b++)
            G[a][b] = gram[(a - 1) * PAST + b - 1];
    }
    for (size_t b = 0, pair = 0; b < n; b++)
        for (size_t a = 0; a <= b; a++, pair++)
            A[pair] = s->p->lambda * G[a][b] + forms[pair];
    memset(x, 0, MOST * sizeof *x);
    if (!s->done[c])
        kb_solve_small(n, A, y, x);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            with[a] += G[a][b] * x[b];
    s->across[c] = 0;
    for (size_t a = 0; a < n; a++)
        s->across[c] += x[a] * with[a];
    for (size_t a = PAST - 1; a > 0; a--)
        for (size_t b = PAST - 1; b > 0; b--)
            gram[a * PAST + b] = gram[(a - 1) * PAST + b - 1];
    gram[0] = s->across[c];
    for (size_t a = 1; a < PAST; a++)
        gram[a] = gram[a * PAST] = a < n ? with[a] : 0;
}

/* ---- steps ------------------------------------------------------------- */

/* Makes room for a step as the first of the past ones; the oldest is still there to be read, as
 * the first. */
static void shift(newton *s) {
    double *step = s->step[PAST - 1], *k_step = s->k_step[PAST - 1];
    for (size_t k = PAST - 1; k > 0; k--) {
        s->step[k] = s->step[k - 1];
        s->k_step[k] = s->k_step[k - 1];
    }
    s->step[0] = step;
    s->k_step[0] = k_step;
    s->past = s->past < PAST ? s->past + 1 : PAST;
}

/* d and K d from x, after shift(): step a of x is a + 1 by now, but for the oldest, in whose place
 * d is put.  Steps that are not there yet are zero. */
static void combine(newton *s, size_t begin, size_t end) {
    const double *rho = s->rho, *k_rho = s->k_rho;
    double *restrict d = s->step[0], *restrict k_d = s->k_step[0];
    const double *a = s->step[1], *b = s->step[2], *k_a = s->k_step[1], *k_b = s->k_step[2];
    size_t C = s->C;
    _Static_assert(PAST == 3, "written out for three");
    if (C == 1) { /* a loop that is vectorised */
        double x0 = s->x[0], x1 = s->x[1], x2 = s->x[2], x3 = s->x[3];
        for (size_t e = begin; e < end; e++)
            d[e] = (x0 * rho[e] + x1 * a[e]) + (x2 * b[e] + x3 * d[e]);
        for (size_t e = begin; e < end; e++)
            k_d[e] = (x0 * k_rho[e] + x1 * k_a[e]) + (x2 * k_b[e] + x3 * k_d[e]);
        return;
    }
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * C; c < C; c++, e++) {
            const double *x = s->x + c * MOST;
            d[e] = (x[0] * rho[e] + x[1] * a[e]) + (x[2] * b[e] + x[3] * d[e]);
            k_d[e] = (x[0] * k_rho[e] + x[1] * k_a[e]) + (x[2] * k_b[e] + x[3] * k_d[e]);
        }
}

/* Losses, curvatures and rho = -g at alpha and f. */
static void look_at_softmax(newton *s, size_t begin, size_t end, double *sum) {
    const kb_smooth *p = s->p;
    size_t C = s->C;
    for (size_t i = begin, e = begin * C; i < end; i++, e += C) {
        double weight = kb_weight_of(p->s, i);
        sum[LOSSES] += weight * softmax_row(C, p->f + e, p->y + e, s->h + e);
        for (size_t c = 0; c < C; c++)
            s->rho[e + c] =
                -(p->lambda * p->alpha[e + c] + weight * (s->h[e + c] - (p->y[e + c] > 0)));
    }
}

static void look_at(newton *s, size_t begin, size_t end, double *sum) {
    enum { CHUNK = KB_LOSS_SUM };
    const kb_smooth *p = s->p;
    double value[CHUNK], slope[CHUNK];
    size_t C = s->C;
    if (p->softmax) {
        look_at_softmax(s, begin, end, sum);
        return;
    }
    for (size_t first = begin * C, count; first < end * C; first += count) {
        count = end * C - first < CHUNK ? end * C - first : CHUNK;
        double *h = s->h + first, *rho = s->rho + first, *alpha = p->alpha + first;
        kb_loss_rows out = {value, slope, h};
        if (C == 1 && !p->s)
            *sum += p->loss->sum(p->loss, count, p->f + first, p->y + first, out);
        else
            p->loss->rows(p->loss, count, p->f + first, p->y + first, out);
        for (size_t k = 0; p->s && k < count; k++) {
            double weight = p->s[(first + k) / C];
            value[k] *= weight;
            slope[k] *= weight;
            h[k] *= weight;
        }
        for (size_t k = 0; k < count; k++)
            rho[k] = -(p->lambda * alpha[k] + slope[k]);
        for (size_t k = 0, c = first % C; (C > 1 || p->s) && k < count;
             k++, c = c + 1 < C ? c + 1 : 0)
            sum[c * TRIED + LOSSES] += value[k];
    }
}

/* Goes on along d by `change`, and looks at the losses there. */
static void walk(void *arg, size_t begin, size_t end, double *sum) {
    newton *s = arg;
    const kb_smooth *p = s->p;
    size_t C = s->C;
    memset(sum, 0, C * TRIED * sizeof *sum);
    if (s->combine)
        combine(s, begin, end);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * C; c < C; c++, e++) {
            double k_d = s->k_step[0][e];
            sum[c * TRIED + ALONG] += p->alpha[e] * k_d;
            sum[c * TRIED + DESCENT] += s->rho[e] * k_d;
            p->alpha[e] += s->change[c] * s->step[0][e];
            p->f[e] += s->change[c] * k_d;
        }
    look_at(s, begin, end, sum);
}

/* The loops of one output are vectorised. */
static void walk_one(void *arg, size_t begin, size_t end, double *sum) {
    newton *s = arg;
    double *restrict alpha = s->p->alpha, *restrict f = s->p->f;
    const double *rho = s->rho, *d = s->step[0], *k_d = s->k_step[0];
    double along[8] = {0}, descent[8] = {0}, change = *s->change;
    memset(sum, 0, TRIED * sizeof *sum);
    if (s->combine)
        combine(s, begin, end);
    for (size_t i = begin; i < end; i++) {
        along[(i - begin) % 8] += alpha[i] * k_d[i];
        descent[(i - begin) % 8] += rho[i] * k_d[i];
    }
    for (size_t k = 0; k < 8; k++) {
        sum[ALONG] += along[k];
        sum[DESCENT] += descent[k];
    }
    for (size_t i = begin; i < end; i++) {
        alpha[i] += change * d[i];
        f[i] += change * k_d[i];
    }
    look_at(s, begin, end, sum);
}

/* ---- rounds ------------------------------------------------------------ */

/* One number a column, `stride` apart; coupled outputs all get the sum. */
static void tie(const newton *s, size_t stride, double *x) {
    double sum = 0;
    if (!s->p->softmax)
        return;
    for (size_t c = 0; c < s->C; c++)
        sum += x[c * stride];
    for (size_t c = 0; c < s->C; c++)
        x[c * stride] = sum;
}

static double worst(const newton *s) {
    return kb_worst_residual(s->C, s->norm, s->start);
}

static int all_done(const newton *s) {
    for (size_t c = 0; c < s->C; c++)
        if (!s->done[c])
            return 0;
    return 1;
}

/* The objective of each column, `change` further on. */
static kb_status try_steps(kb_context *ctx, newton *s) {
    kb_status status;
    size_t C = s->C;
    double *sum = s->tried;
    TRY(kb_row_sums_by(ctx, s->N, C * TRIED, C == 1 ? walk_one : walk, s, sum));
    for (size_t k = 0; k < TRIED; k++)
        tie(s, TRIED, sum + k);
    for (size_t c = 0; c < C; c++)
        s->trial[c] = sum[c * TRIED + LOSSES];
done:
    return status;
}

/* A column whose step is good enough keeps it; the others halve theirs.  A column that finds no
 * good step goes back and is done. */
static kb_status search(kb_context *ctx, newton *s) {
    kb_status status = KB_OK;
    size_t C = s->C;
    double *along = s->x, *descent = s->x + C; /* x has been used */
    _Static_assert(MOST >= 2, "room for both");
    for (size_t c = 0; c < C; c++)
        s->t[c] = s->change[c] = s->done[c] ? 0 : 1;
    for (int halving = 0, good = 0; !good; halving++) {
        good = 1;
        TRY(try_steps(ctx, s));
        for (size_t c = 0; c < C && halving == 0; c++) {
            along[c] = s->tried[c * TRIED + ALONG];
            descent[c] = -s->tried[c * TRIED + DESCENT];
        }
        s->combine = 0;
        for (size_t c = 0; c < C; c++) {
            double t = s->t[c];
            s->trial[c] +=
                s->p->lambda / 2 * (s->square[c] + t * (2 * along[c] + t * s->across[c]));
            double most =
                s->objective[c] + ARMIJO * t * descent[c] + ROUNDING * fabs(s->objective[c]);
            s->change[c] = 0;
            if (t == 0 || s->trial[c] <= most)
                continue;
            s->t[c] = halving < MOST_HALVINGS ? t / 2 : 0;
            s->change[c] = s->t[c] - t;
            good = 0;
        }
    }
    for (size_t c = 0; c < C; c++) {
        double t = s->t[c];
        s->done[c] |= t == 0;
        if (t > 0)
            s->objective[c] = s->trial[c];
        s->square[c] += t * (2 * along[c] + t * s->across[c]);
    }
done:
    return status;
}

/* The gradient where the line search has ended, and which columns have converged. */
static kb_status look(kb_context *ctx, newton *s) {
    kb_status status;
    double tol2 = s->p->tol * s->p->tol;
    TRY(s->p->op->apply_k(s->p->op, ctx, s->C, s->rho, s->k_rho, s->norm));
    s->p->steps++;
    tie(s, 1, s->norm);
    for (size_t c = 0; c < s->C; c++)
        s->done[c] |= s->norm[c] <= tol2 * s->start[c];
done:
    return status;
}

/* The objective and the gradient of where it begins. */
static kb_status start_here(kb_context *ctx, newton *s) {
    kb_status status;
    TRY(try_steps(ctx, s)); /* nothing moves yet */
    for (size_t c = 0; c < s->C; c++)
        s->objective[c] = s->trial[c] + s->p->lambda / 2 * s->square[c];
    TRY(look(ctx, s));
done:
    return status;
}

/* The length of the gradient at w = 0, for the stopping rule.  If the solver begins elsewhere,
 * arrays that are still zero serve as alpha and f. */
static kb_status begin(kb_context *ctx, newton *s) {
    kb_status status;
    double *alpha = s->p->alpha, *f = s->p->f;
    if (s->p->warm) {
        s->p->alpha = s->step[PAST - 1];
        s->p->f = s->k_step[PAST - 1];
    }
    status = start_here(ctx, s);
    s->p->alpha = alpha;
    s->p->f = f;
    memcpy(s->start, s->norm, s->C * sizeof(double));
    return status;
}

static void add_squares(void *arg, size_t begin, size_t end, double *sum) {
    const newton *s = arg;
    memset(sum, 0, s->C * sizeof *sum);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->C; c < s->C; c++, e++)
            sum[c] += s->p->alpha[e] * s->p->f[e];
}

static kb_status begin_warm(kb_context *ctx, newton *s) {
    kb_status status;
    TRY(kb_row_sums_by(ctx, s->N, s->C, add_squares, s, s->square));
    tie(s, 1, s->square);
    TRY(start_here(ctx, s));
done:
    return status;
}

/* d and K d, in the first place of the past steps. */
static kb_status move(kb_context *ctx, newton *s) {
    kb_status status = KB_OK;
    int room = s->p->steps + KB_ACTIVE_LEAST + 1 <= s->p->max_steps; /* and one for look() */
    if (s->active && room && kb_active_worth(s->active, s->h)) {
        kb_newton_system system = {.p = s->p, .h = s->h, .rho = s->rho, .k_rho = s->k_rho};
        system.norm = *s->norm;
        system.residual = worst(s);
        shift(s);
        TRY(kb_active_solve(ctx, s->active, &system, s->step[0], s->k_step[0], s->across));
        s->past = 1;
        *s->gram = *s->across;
        goto done;
    }
    TRY(kb_row_sums_by(ctx, s->N, s->C * FORMS, add_forms, s, s->forms));
    for (size_t k = 0; k < FORMS; k++)
        tie(s, FORMS, s->forms + k);
    for (size_t c = 0; c < s->C; c++)
        choose(s, c);
    shift(s);
    s->combine = 1;
done:
    return status;
}

/* ---- its state in a file ----------------------------------------------- */

/* Between rounds; past steps change places. */
static void list_parts(newton *s, kb_checkpoint *c) {
    kb_smooth *p = s->p;
    size_t row = s->C * sizeof(double);
    double *rows[] = {p->alpha, p->f, s->h, s->rho, s->k_rho};
    double *whole[] = {s->norm, s->start, s->objective, s->square};
    c->rows = c->wholes = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        kb_checkpoint_row(c, rows[k], row);
    for (size_t k = 0; k < PAST; k++) {
        kb_checkpoint_row(c, s->step[k], row);
        kb_checkpoint_row(c, s->k_step[k], row);
    }
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
        kb_checkpoint_whole(c, whole[k], row);
    kb_checkpoint_whole(c, s->gram, PAST * PAST * row);
    kb_checkpoint_whole(c, s->done, s->C);
    kb_checkpoint_whole(c, &s->past, sizeof s->past);
    kb_checkpoint_whole(c, &p->steps, sizeof p->steps);
    kb_checkpoint_whole(c, &p->rounds, sizeof p->rounds);
}

/* The gradient where it begins, and K times it, tell rows, targets and bins. */
static kb_status resume(kb_context *ctx, newton *s, kb_checkpoint *state) {
    kb_status status;
    kb_smooth *p = s->p;
    uint64_t mark;
    size_t row = s->C * sizeof(double);
    const kb_loss *loss = p->softmax ? NULL : p->loss;
    double numbers[] = {
        p->lambda,  p->tol,  (double)p->max_steps,     loss ? (double)loss->kind : -1,
        p->softmax, p->warm, loss ? loss->quantile : 0};
    kb_checkpoint_part start[] = {
        {s->rho, row}, {s->k_rho, row}, {s->h, row}, {p->alpha, row}, {(void *)p->y, row}};
    int found;
    *state = (kb_checkpoint){.N = s->N};
    if (!kb_wants_checkpoint(ctx))
        return KB_OK;
    list_parts(s, state);
    TRY(kb_checkpoint_hash_rows(ctx, s->N, sizeof start / sizeof *start, start, &mark));
    mark = kb_checkpoint_hash(mark, numbers, sizeof numbers);
    TRY(kb_checkpoint_resume(ctx, state, mark, &found));
    if (s->past > PAST)
        TRY(kb_checkpoint_refuse(ctx));
    if (found)
        kb_log(ctx, KB_LOG_INFO, "%s: goes on after step %zu", ctx->checkpoint, p->steps);
done:
    return status;
}

static kb_status save(kb_context *ctx, newton *s, kb_checkpoint *state) {
    if (state->problem == 0)
        return KB_OK;
    list_parts(s, state);
    return kb_checkpoint_save(ctx, state);
}

static kb_status round_of(kb_context *ctx, newton *s) {
    kb_status status;
    TRY(move(ctx, s));
    TRY(search(ctx, s));
    TRY(look(ctx, s));
    TRY(kb_ranks_progress(ctx, "solve",
                          kb_solve_progress(s->p->tol, s->p->max_steps, worst(s), s->p->steps)));
done:
    return status;
}

kb_status kb_newton(kb_context *ctx, kb_smooth *p) {
    kb_status status;
    newton s = {0};
    kb_checkpoint state;
    size_t bytes = p->op->rows * p->C * sizeof(double);
    p->steps = p->rounds = 0;
    if (!p->warm) {
        memset(p->alpha, 0, bytes);
        memset(p->f, 0, bytes);
    }
    TRY(kb_ranks_agree(ctx, create(ctx, p, &s)));
    TRY(begin(ctx, &s));
    if (p->warm)
        TRY(begin_warm(ctx, &s));
    TRY(resume(ctx, &s, &state));
    while (!all_done(&s) && p->steps < p->max_steps && !(p->rounds > 0 && kb_is_late(ctx))) {
        TRY(round_of(ctx, &s));
        p->rounds++;
        TRY(save(ctx, &s, &state));
    }
    p->converged = worst(&s) <= p->tol;
    p->objective = 0;
    for (size_t c = 0; c < (p->softmax ? 1 : s.C); c++)
        p->objective += s.objective[c];
done:
    release(ctx, &s);
    return status;
}
