/*
 * newton.c - Newton-CG in the kernel inner product; see newton.h.
 *
 * A round at alpha, f = K alpha, with slopes and curvatures h of the losses at f:
 *
 *     g = lambda alpha + L'(f)
 *     solve (lambda I + h K) d = -g  by CG in <a, b> = a' K b, in which that matrix is
 *     symmetric and positive; stop when one more step would gain little of the quadratic
 *     model Q (Nash and Sofer 1990): steps * (gain of the last) <= xi * (gain of all)
 *     t = 1, 1/2, ..  until the objective at alpha + t d has fallen enough (Armijo)
 *
 * K d is built along with d, so the line search costs N operations a try and no product.
 * A round has one product more than CG steps.
 *
 * Outputs are solved side by side: they share the products, and each has its own steps; one that
 * has arrived stands still.  The multinomial loss ties all outputs together: then there is one
 * step length for all, and h becomes diag(p) - p p' in each row.
 */
#include "solve/newton.h"
#include "core/random.h"
#include "core/sums.h"
#include "core/team.h"
#include "solve/ridge.h"

#include <math.h>
#include <string.h>

enum { MOST_INNER = 200, MOST_HALVINGS = 30 };
static const double ARMIJO = 0.01;

/* Far from the optimum a rough direction will do; near it a better one saves rounds. */
static const double XI_FAR = 0.6, XI_NEAR = 0.1, NEAR = 1e-5;

/* Near the optimum the objective changes by less than its rounding: a full step that does
 * not raise it by more than this share of it is taken. */
static const double ROUNDING = 1e-14;

typedef struct newton {
    kb_smooth *p;
    size_t N, C;
    double *slope, *h;     /* N x C: of the losses at f, times the weights; softmax: h = p */
    double *rho, *k_rho;   /* N x C: the residual of the round's system */
    double *dir, *k_dir;   /* N x C: CG's direction */
    double *move, *k_move; /* N x C: d and K d */
    double *a_dir;         /* N x C: (lambda I + h K) dir */
    double *value;         /* N x C: losses */
    /* One a column. */
    double *norm, *start;       /* <rho, rho>, and that of the first gradient */
    double *below;              /* <dir, A dir> */
    double *a, *b;              /* CG's step lengths */
    double *xi;                 /* how much of the gain may be left to the next round */
    double *gain, *last;        /* of the quadratic model: in all, and by the last step */
    double *objective, *square; /* of the column; |w|^2 */
    double *t, *trial;          /* the line search */
    double *along, *across;     /* alpha' K d, d' K d */
    double *descent;            /* g' K d */
    unsigned char *done;        /* arrived for good */
    unsigned char *rest;        /* finished with this round's CG */
} newton;

static kb_status create(kb_context *ctx, kb_smooth *p, newton *s) {
    kb_status status;
    s->p = p;
    s->N = p->op->rows;
    s->C = p->C;
    double **array[] = {&s->slope, &s->h,    &s->rho,    &s->k_rho, &s->dir,
                        &s->k_dir, &s->move, &s->k_move, &s->a_dir, &s->value};
    double **scalar[] = {&s->norm, &s->start, &s->below, &s->a,         &s->b,
                         &s->gain, &s->last,  &s->xi,    &s->objective, &s->square,
                         &s->t,    &s->trial, &s->along, &s->across,    &s->descent};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++)
        TRY(kb_alloc(ctx, s->N * s->C, sizeof(double), array[i]));
    for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
        TRY(kb_zalloc(ctx, s->C, sizeof(double), scalar[i]));
    TRY(kb_zalloc(ctx, s->C, 1, &s->done));
    TRY(kb_zalloc(ctx, s->C, 1, &s->rest));
done:
    return status;
}

static void release(kb_context *ctx, newton *s) {
    void *all[] = {s->slope,  s->h,     s->rho,    s->k_rho,   s->dir,       s->k_dir,  s->move,
                   s->k_move, s->a_dir, s->value,  s->norm,    s->start,     s->below,  s->a,
                   s->b,      s->gain,  s->last,   s->xi,      s->objective, s->square, s->t,
                   s->trial,  s->along, s->across, s->descent, s->done,      s->rest};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

/* ---- what is done to rows ---------------------------------------------- */

static void on_rows(kb_context *ctx, newton *s, void (*body)(void *arg, size_t begin, size_t end)) {
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / 8 / s->C + 1, body, s);
}

/* p_c = exp(z_c) / sum, and the loss -log p_y. */
static void softmax_row(size_t C, const double *z, const double *y, double *p, double *value) {
    double most = z[0], sum = 0, right = 0;
    for (size_t c = 1; c < C; c++)
        most = fmax(most, z[c]);
    for (size_t c = 0; c < C; c++) {
        p[c] = kb_exp_minus_exact_order(fmin(most - z[c], 700));
        sum += p[c];
        if (y[c] > 0)
            right = z[c] - most;
    }
    for (size_t c = 0; c < C; c++) {
        p[c] /= sum;
        value[c] = 0;
    }
    value[0] = kb_log_exact_order(sum) - right;
}

/* Slopes and curvatures at f. */
static void evaluate(void *arg, size_t begin, size_t end) {
    newton *s = arg;
    const kb_smooth *p = s->p;
    for (size_t i = begin; i < end; i++) {
        double weight = p->s ? p->s[i] : 1;
        size_t e = i * s->C;
        if (p->softmax)
            softmax_row(s->C, p->f + e, p->y + e, s->h + e, s->value + e);
        for (size_t c = 0; c < s->C; c++, e++) {
            if (p->softmax) {
                s->slope[e] = weight * (s->h[e] - (p->y[e] > 0));
            } else {
                kb_loss_point at = p->loss->slopes(p->f[e], p->y[e]);
                s->slope[e] = weight * at.slope;
                s->h[e] = weight * at.curvature;
            }
        }
    }
}

/* Losses at f + t K d; k_rho is free by then and holds the probabilities of softmax. */
static void evaluate_trial(void *arg, size_t begin, size_t end) {
    newton *s = arg;
    const kb_smooth *p = s->p;
    for (size_t i = begin; i < end; i++) {
        double weight = p->s ? p->s[i] : 1;
        size_t e = i * s->C;
        for (size_t c = 0; c < s->C; c++)
            s->a_dir[e + c] = p->f[e + c] + s->t[c] * s->k_move[e + c];
        if (p->softmax)
            softmax_row(s->C, s->a_dir + e, p->y + e, s->k_rho + e, s->value + e);
        for (size_t c = 0; c < s->C; c++, e++)
            s->value[e] =
                weight * (p->softmax ? s->value[e] : p->loss->at(s->a_dir[e], p->y[e]).value);
    }
}

/* rho = -g; the direction begins there, and d at 0. */
static void start_round(void *arg, size_t begin, size_t end) {
    newton *s = arg;
    for (size_t e = begin * s->C; e < end * s->C; e++) {
        s->rho[e] = -(s->p->lambda * s->p->alpha[e] + s->slope[e]);
        s->dir[e] = s->rho[e];
        s->move[e] = s->k_move[e] = 0;
    }
}

/* a_dir = lambda dir + h K dir. */
static void multiply(void *arg, size_t begin, size_t end) {
    newton *s = arg;
    double lambda = s->p->lambda;
    for (size_t i = begin; i < end; i++) {
        double mean = 0, weight = s->p->s && s->p->softmax ? s->p->s[i] : 1;
        size_t e = i * s->C;
        if (s->p->softmax)
            for (size_t c = 0; c < s->C; c++)
                mean += s->h[e + c] * s->k_dir[e + c];
        for (size_t c = 0; c < s->C; c++, e++)
            s->a_dir[e] = lambda * s->dir[e] + weight * s->h[e] * (s->k_dir[e] - mean);
    }
}

static void advance(void *arg, size_t begin, size_t end) {
    newton *s = arg;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->C; c < s->C; c++, e++) {
            s->move[e] += s->a[c] * s->dir[e];
            s->k_move[e] += s->a[c] * s->k_dir[e];
            s->rho[e] -= s->a[c] * s->a_dir[e];
        }
}

static void turn(void *arg, size_t begin, size_t end) {
    newton *s = arg;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->C; c < s->C; c++, e++) {
            s->dir[e] = s->rho[e] + s->b[c] * s->dir[e];
            s->k_dir[e] = s->k_rho[e] + s->b[c] * s->k_dir[e];
        }
}

/* alpha += t d, f += t K d. */
static void take(void *arg, size_t begin, size_t end) {
    newton *s = arg;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->C; c < s->C; c++, e++) {
            s->p->alpha[e] += s->t[c] * s->move[e];
            s->p->f[e] += s->t[c] * s->k_move[e];
        }
}

/* ---- scalars ----------------------------------------------------------- */

/* One number a column; tied outputs all get the sum. */
static void tie(const newton *s, double *x) {
    double sum = 0;
    if (!s->p->softmax)
        return;
    for (size_t c = 0; c < s->C; c++)
        sum += x[c];
    for (size_t c = 0; c < s->C; c++)
        x[c] = sum;
}

static kb_status dot(kb_context *ctx, const newton *s, const double *x, const double *y,
                     double *out) {
    kb_status status = kb_sums(ctx, s->N, s->C, x, y, out);
    tie(s, out);
    return status;
}

static kb_status apply(kb_context *ctx, newton *s, const double *v, double *out, double *square) {
    kb_status status = s->p->op->apply_k(s->p->op, ctx, s->C, v, out, square);
    s->p->steps++;
    tie(s, square);
    return status;
}

static int all(const unsigned char *flags, size_t count) {
    for (size_t c = 0; c < count; c++)
        if (!flags[c])
            return 0;
    return 1;
}

static double worst(const newton *s) {
    double most = 0;
    for (size_t c = 0; c < s->C; c++)
        if (s->start[c] > 0)
            most = fmax(most, sqrt(s->norm[c] / s->start[c]));
    return most;
}

/* The objective of each column at its own t. */
static kb_status try_steps(kb_context *ctx, newton *s) {
    on_rows(ctx, s, evaluate_trial);
    kb_status status = dot(ctx, s, s->value, NULL, s->trial);
    for (size_t c = 0; c < s->C; c++)
        s->trial[c] += s->p->lambda / 2 *
                       (s->square[c] + s->t[c] * (2 * s->along[c] + s->t[c] * s->across[c]));
    return status;
}

/* The gradient at f, and who has arrived.  The objective there is known from the line search,
 * but for the first time. */
static kb_status look(kb_context *ctx, newton *s, int first) {
    kb_status status;
    double tol2 = s->p->tol * s->p->tol;
    on_rows(ctx, s, evaluate);
    on_rows(ctx, s, start_round);
    if (first) {
        TRY(try_steps(ctx, s)); /* all t are 0 */
        memcpy(s->objective, s->trial, s->C * sizeof(double));
    }
    TRY(apply(ctx, s, s->rho, s->k_rho, s->norm));
    memcpy(s->k_dir, s->k_rho, s->N * s->C * sizeof(double));
    if (first)
        memcpy(s->start, s->norm, s->C * sizeof(double));
    for (size_t c = 0; c < s->C; c++)
        s->done[c] |= s->norm[c] <= tol2 * s->start[c];
done:
    return status;
}

/* One step of CG on the round's system. */
static kb_status inner_step(kb_context *ctx, newton *s, size_t step) {
    kb_status status;
    on_rows(ctx, s, multiply);
    TRY(dot(ctx, s, s->k_dir, s->a_dir, s->below));
    for (size_t c = 0; c < s->C; c++) {
        s->rest[c] |= !(s->below[c] > 0) || !(s->norm[c] > 0);
        s->a[c] = s->rest[c] ? 0 : s->norm[c] / s->below[c];
        s->last[c] = s->a[c] * s->norm[c] / 2;
        s->gain[c] += s->last[c];
        s->rest[c] |= (double)step * s->last[c] <= s->xi[c] * s->gain[c];
        s->b[c] = s->norm[c];
    }
    on_rows(ctx, s, advance);
    if (s->p->steps + 1 >= s->p->max_steps) /* the last product is for look() */
        memset(s->rest, 1, s->C);
    if (all(s->rest, s->C))
        goto done;
    TRY(apply(ctx, s, s->rho, s->k_rho, s->norm));
    for (size_t c = 0; c < s->C; c++)
        s->b[c] = s->rest[c] || s->b[c] == 0 ? 0 : s->norm[c] / s->b[c];
    on_rows(ctx, s, turn);
done:
    return status;
}

/* A column whose step is good enough keeps it; the others halve theirs.  One that finds
 * none stays where it is, for good. */
static kb_status search(kb_context *ctx, newton *s) {
    kb_status status = KB_OK;
    TRY(dot(ctx, s, s->p->alpha, s->k_move, s->along));
    TRY(dot(ctx, s, s->move, s->k_move, s->across));
    TRY(dot(ctx, s, s->slope, s->k_move, s->descent));
    for (size_t c = 0; c < s->C; c++) {
        s->descent[c] += s->p->lambda * s->along[c];
        s->t[c] = s->done[c] ? 0 : 1;
    }
    for (int halving = 0; halving <= MOST_HALVINGS; halving++) {
        int good = 1;
        TRY(try_steps(ctx, s));
        for (size_t c = 0; c < s->C; c++) {
            double most = s->objective[c] + ARMIJO * s->t[c] * s->descent[c] +
                          ROUNDING * fabs(s->objective[c]);
            if (s->t[c] == 0 || s->trial[c] <= most)
                continue;
            s->t[c] = halving == MOST_HALVINGS ? 0 : s->t[c] / 2;
            good = 0;
        }
        if (good)
            break;
    }
    for (size_t c = 0; c < s->C; c++) {
        s->done[c] |= s->t[c] == 0;
        if (s->t[c] > 0)
            s->objective[c] = s->trial[c];
        s->square[c] += s->t[c] * (2 * s->along[c] + s->t[c] * s->across[c]);
    }
    on_rows(ctx, s, take);
done:
    return status;
}

static kb_status round_of(kb_context *ctx, newton *s) {
    kb_status status = KB_OK;
    double residual = worst(s); /* of the last look */
    for (size_t c = 0; c < s->C; c++) {
        s->gain[c] = 0;
        s->xi[c] = s->norm[c] > NEAR * NEAR * s->start[c] ? XI_FAR : XI_NEAR;
        s->rest[c] = s->done[c];
    }
    for (size_t step = 1; step <= MOST_INNER && !all(s->rest, s->C); step++) {
        TRY(inner_step(ctx, s, step));
        TRY(kb_progress(ctx, "solve",
                        kb_solve_progress(s->p->tol, s->p->max_steps, residual, s->p->steps)));
    }
    TRY(search(ctx, s));
    TRY(look(ctx, s, 0));
done:
    return status;
}

kb_status kb_newton(kb_context *ctx, kb_smooth *p) {
    kb_status status;
    newton s = {0};
    size_t bytes = p->op->rows * p->C * sizeof(double);
    p->steps = p->rounds = 0;
    memset(p->alpha, 0, bytes);
    memset(p->f, 0, bytes);
    TRY(create(ctx, p, &s));
    TRY(look(ctx, &s, 1));
    while (!all(s.done, s.C) && p->steps < p->max_steps) {
        TRY(round_of(ctx, &s));
        p->rounds++;
    }
    p->converged = worst(&s) <= p->tol;
    p->objective = 0;
    for (size_t c = 0; c < (p->softmax ? 1 : s.C); c++)
        p->objective += s.objective[c];
done:
    release(ctx, &s);
    return status;
}
