/*
 * curve.c - see curve.h.
 *
 * With knots x_0 < .. < x_m the curve is g(f) = sum_k s_k phi_k(f), where phi_k is how much of
 * piece k lies between 0 and f, and s_k > 0 its slope.  The logit of two classes is g(f); several
 * have probabilities proportional to exp g(f_c).  Both likelihoods are concave in s.  Newton's
 * method with bounds finds the maximum: slopes at their bound that would go below stay, the others
 * take the step of their own part of the Hessian, halved while it does not help.
 *
 * Two observations more, spread over the classes, keep slopes finite where the classes are
 * separable.
 */
#include "validation/curve.h"
#include "core/fixed_math.h"
#include "core/order.h"
#include "core/weights.h"
#include "solve/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = KB_CURVE_KNOTS - 1, LEAST_ROWS = 30, ROWS_OF_A_PIECE = 50 };
enum { MOST_STEPS = 50, MOST_HALVINGS = 30 };
/* The least slope, as a share of the line's. */
static const double LEAST = 1e-3;
/* The penalty of a slope twice that of the line is half of this. */
static const double PULL = 1;

/* ---- use --------------------------------------------------------------- */

/* The piece that the number lies on. */
static size_t piece_of(size_t knots, const double *x, double at) {
    size_t k = 0;
    while (k + 2 < knots && at > x[k + 1])
        k++;
    return k;
}

static double between(size_t knots, const double *x, const double *y, double at) {
    size_t k = piece_of(knots, x, at);
    return y[k] + (at - x[k]) * ((y[k + 1] - y[k]) / (x[k + 1] - x[k]));
}

double kb_curve_at(const kb_curve *c, double x) {
    return between(c->knots, c->x, c->y, x);
}

double kb_curve_inverse(const kb_curve *c, double y) {
    return between(c->knots, c->y, c->x, y);
}

int kb_curve_is_sound(const kb_curve *c) {
    if (c->knots == 1 || c->knots > KB_CURVE_KNOTS)
        return 0;
    for (size_t k = 0; k < c->knots; k++)
        if (!isfinite(c->x[k]) || !isfinite(c->y[k]) ||
            (k > 0 && !(c->x[k] > c->x[k - 1] && c->y[k] > c->y[k - 1])))
            return 0;
    return 1;
}

/* ---- knots ------------------------------------------------------------- */

/* Adds the ends of `pieces` pieces with as many of the sorted numbers each, from end number `first`
 * to `last`. */
static void add_knots(size_t count, const double *sorted, size_t pieces, size_t first, size_t last,
                      kb_curve *c) {
    for (size_t k = first; k <= last; k++) {
        double x = sorted[(count - 1) * k / pieces];
        if (c->knots == 0 || x > c->x[c->knots - 1])
            c->x[c->knots++] = x;
    }
}

static size_t pieces_for(size_t rows, size_t most) {
    size_t pieces = rows / ROWS_OF_A_PIECE;
    return pieces < 1 ? 1 : pieces < most ? pieces : most;
}

/* Two classes: as many pieces on both sides of 0, which is a knot.  Several: quantiles of the two
 * largest decisions of each row, which are the ones that matter. */
static kb_status place_knots(kb_context *ctx, size_t N, size_t C, const double *f, kb_curve *c) {
    kb_status status;
    double *sorted = NULL;
    size_t count = C == 1 ? N : 2 * N, below = 0;
    TRY(kb_alloc(ctx, count, sizeof *sorted, &sorted));
    for (size_t i = 0; i < N && C == 1; i++)
        sorted[i] = f[i];
    for (size_t i = 0; i < N && C > 1; i++) {
        double first = -INFINITY, second = -INFINITY;
        for (size_t k = 0; k < C; k++) {
            double x = f[i * C + k];
            second = x > first ? first : fmax(second, x);
            first = fmax(first, x);
        }
        sorted[2 * i] = first;
        sorted[2 * i + 1] = second;
    }
    qsort(sorted, count, sizeof *sorted, kb_compare_doubles);
    if (C > 1) {
        size_t pieces = pieces_for(N, PIECES);
        add_knots(count, sorted, pieces, 0, pieces, c);
        goto done;
    }
    while (below < count && sorted[below] < 0)
        below++;
    size_t left = pieces_for(below, PIECES / 2), right = pieces_for(count - below, PIECES / 2);
    if (below > 0)
        add_knots(below, sorted, left, 0, left - 1, c);
    c->x[c->knots++] = 0;
    if (below < count)
        add_knots(count - below, sorted + below, right, 1, right, c);
done:
    kb_release(ctx, sorted);
    return status;
}

/* ---- fit --------------------------------------------------------------- */

typedef struct problem {
    size_t N, C, m; /* m: pieces */
    const double *f;
    const uint32_t *class_of;
    const double *weight;
    const double *x; /* m + 1 knots */
    double slope;
    double target[2]; /* two classes: of each, moved towards each other */
    double smooth;    /* several: share of a row that is spread over the classes */
    double *phi;      /* C x m, scratch */
    double *p;        /* C, scratch */
} problem;

typedef struct local {
    double value, g[PIECES], h[PIECES][PIECES];
} local;

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

static void fill_phi(const problem *a, double f, double *phi) {
    for (size_t k = 0; k < a->m; k++) {
        double low = k == 0 ? -INFINITY : a->x[k];
        double high = k + 1 == a->m ? INFINITY : a->x[k + 1];
        phi[k] = clamp(f, low, high) - clamp(0, low, high);
    }
}

static double dot(size_t m, const double *a, const double *b) {
    double sum = 0;
    for (size_t k = 0; k < m; k++)
        sum += a[k] * b[k];
    return sum;
}

static void add_two(const problem *a, const double *s, local *at) {
    for (size_t i = 0; i < a->N; i++) {
        double w = kb_weight_of(a->weight, i), t = a->target[a->class_of[i]];
        fill_phi(a, a->f[i], a->phi);
        double m = dot(a->m, s, a->phi), p = kb_logistic(m), v = w * p * (1 - p);
        at->value += w * (fmax(m, 0) - kb_log_fixed(fmax(p, 1 - p)) - t * m);
        for (size_t k = 0; k < a->m; k++) {
            at->g[k] += w * (p - t) * a->phi[k];
            for (size_t j = 0; j <= k; j++)
                at->h[k][j] += v * a->phi[k] * a->phi[j];
        }
    }
}

static void add_several(const problem *a, const double *s, local *at) {
    size_t C = a->C, m = a->m;
    for (size_t i = 0; i < a->N; i++) {
        double w = kb_weight_of(a->weight, i), most = -INFINITY, sum = 0, mean[PIECES] = {0};
        for (size_t c = 0; c < C; c++) {
            fill_phi(a, a->f[i * C + c], a->phi + c * m);
            a->p[c] = dot(m, s, a->phi + c * m);
            most = fmax(most, a->p[c]);
        }
        for (size_t c = 0; c < C; c++) {
            double t = (c == a->class_of[i] ? 1 - a->smooth : 0) + a->smooth / (double)C;
            at->value -= w * t * (a->p[c] - most);
            for (size_t k = 0; k < m; k++)
                at->g[k] -= w * t * a->phi[c * m + k];
            sum += a->p[c] = kb_exp_minus_fixed(most - a->p[c]);
        }
        at->value += w * kb_log_fixed(sum);
        for (size_t c = 0; c < C; c++) {
            double p = a->p[c] / sum;
            const double *phi = a->phi + c * m;
            for (size_t k = 0; k < m; k++) {
                mean[k] += p * phi[k];
                for (size_t j = 0; j <= k; j++)
                    at->h[k][j] += w * p * phi[k] * phi[j];
            }
        }
        for (size_t k = 0; k < m; k++) {
            at->g[k] += w * mean[k];
            for (size_t j = 0; j <= k; j++)
                at->h[k][j] -= w * mean[k] * mean[j];
        }
    }
}

static local look(const problem *a, const double *s) {
    local at = {0};
    if (a->C == 1)
        add_two(a, s, &at);
    else
        add_several(a, s, &at);
    for (size_t k = 0; k < a->m; k++) {
        double off = s[k] / a->slope - 1, pull = PULL / a->slope;
        at.value += PULL / 2 * off * off;
        at.g[k] += pull * off;
        at.h[k][k] += pull / a->slope;
        for (size_t j = 0; j < k; j++)
            at.h[j][k] = at.h[k][j];
    }
    return at;
}

/* -h^-1 g over the slopes that are free, by Cholesky's method; 0 for the others. */
static void direction(size_t m, const local *at, const int *is_free, double *d) {
    double l[PIECES][PIECES] = {{0}};
    size_t place[PIECES], n = 0;
    memset(d, 0, m * sizeof *d);
    for (size_t k = 0; k < m; k++)
        if (is_free[k])
            place[n++] = k;
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j <= k; j++) {
            double sum = at->h[place[k]][place[j]] - dot(j, l[k], l[j]);
            l[k][j] = k == j ? sqrt(fmax(sum, 1e-12 * at->h[place[k]][place[k]])) : sum / l[j][j];
        }
    for (size_t k = 0; k < n; k++) {
        double sum = -at->g[place[k]];
        for (size_t j = 0; j < k; j++)
            sum -= l[k][j] * d[place[j]];
        d[place[k]] = sum / l[k][k];
    }
    for (size_t k = n; k-- > 0;) {
        double sum = d[place[k]];
        for (size_t j = k + 1; j < n; j++)
            sum -= l[j][k] * d[place[j]];
        d[place[k]] = sum / l[k][k];
    }
}

/* One Newton step from s; 0 where none helps enough. */
static int step(const problem *a, local *at, double *s) {
    double d[PIECES], next[PIECES], least = LEAST * a->slope, t = 1, promised = 0;
    int is_free[PIECES];
    for (size_t k = 0; k < a->m; k++)
        is_free[k] = s[k] > least || at->g[k] < 0;
    direction(a->m, at, is_free, d);
    promised = -dot(a->m, d, at->g);
    if (!(promised > 1e-10 * (fabs(at->value) + 1)))
        return 0;
    for (int halving = 0; halving < MOST_HALVINGS; halving++, t /= 2) {
        for (size_t k = 0; k < a->m; k++)
            next[k] = fmax(s[k] + t * d[k], least);
        local there = look(a, next);
        if (there.value < at->value) {
            memcpy(s, next, a->m * sizeof *s);
            *at = there;
            return 1;
        }
    }
    return 0;
}

/* The heights of the knots, 0 at 0. */
static void set_heights(const problem *a, const double *s, kb_curve *out) {
    for (size_t k = 0; k < out->knots; k++) {
        fill_phi(a, out->x[k], a->phi);
        out->y[k] = dot(a->m, s, a->phi);
    }
}

kb_status kb_curve_fit(kb_context *ctx, size_t N, size_t C, const double *f,
                       const uint32_t *class_of, const double *weight, double slope,
                       kb_curve *out) {
    kb_status status = KB_OK;
    double s[PIECES], count[2] = {0, 0}, total = 0;
    problem a = {.N = N, .C = C, .f = f, .class_of = class_of, .weight = weight, .slope = slope};
    *out = (kb_curve){0};
    if (N < LEAST_ROWS || !(slope > 0))
        return KB_OK;
    TRY(place_knots(ctx, N, C, f, out));
    if (out->knots < 2) { /* all decisions are the same */
        out->knots = 0;
        goto done;
    }
    a.m = out->knots - 1;
    a.x = out->x;
    TRY(kb_alloc(ctx, C * a.m, sizeof *a.phi, &a.phi));
    TRY(kb_alloc(ctx, C, sizeof *a.p, &a.p));
    for (size_t i = 0; i < N; i++) {
        total += kb_weight_of(weight, i);
        if (C == 1)
            count[class_of[i]] += kb_weight_of(weight, i);
    }
    a.target[0] = 1 / (count[0] + 2);
    a.target[1] = (count[1] + 1) / (count[1] + 2);
    a.smooth = 2 / (total + 2);
    for (size_t k = 0; k < a.m; k++)
        s[k] = slope;
    local at = look(&a, s);
    for (int k = 0; k < MOST_STEPS && step(&a, &at, s); k++) {
    }
    set_heights(&a, s, out);
    if (!kb_curve_is_sound(out))
        out->knots = 0;
done:
    kb_release(ctx, a.phi);
    kb_release(ctx, a.p);
    return status;
}
