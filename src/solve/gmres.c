/*
 * gmres.c - restarted GMRES for ridge, in the kernel inner product; see ridge.h.
 *
 * Arnoldi's basis v_0, v_1, .. of the Krylov space of A = K + lambda I, orthonormal in
 * <a, b> = a' K b, is kept together with its image K v_j: then A v_j = K v_j + lambda v_j
 * costs nothing, and orthogonalising w against v_i needs (K v_i)' w.  K w is the one product
 * of a step.  alpha moves to the point of the basis whose residual is least in the same
 * norm, by Givens rotations of the small Hessenberg matrix (Saad and Schultz 1986).  Each
 * output has its own basis; they share the products.
 */
#include "solve/ridge.h"
#include "core/team.h"
#include "ranks/row_sums.h"

#include <math.h>
#include <string.h>

enum { M = KB_GMRES_RESTART };

/* The small least-squares problem of one output. */
typedef struct small {
    double h[M + 1][M]; /* Hessenberg, turned into triangular */
    double g[M + 1];    /* right-hand side */
    double cosine[M], sine[M];
    size_t used; /* columns of h that count */
    int done;    /* converged, or nothing left to add */
} small;

typedef struct gmres {
    kb_ridge *p;
    size_t N;
    double *v[M + 1], *kv[M + 1]; /* N x C */
    double *square, *dot, *start; /* C */
    small *small;                 /* C */
} gmres;

static kb_status create(kb_context *ctx, kb_ridge *p, gmres *s) {
    kb_status status;
    size_t n = p->op->rows * p->C;
    double **scalar[] = {&s->square, &s->dot, &s->start};
    s->p = p;
    s->N = p->op->rows;
    for (size_t j = 0; j <= M; j++) {
        TRY(kb_alloc(ctx, n, sizeof(double), &s->v[j]));
        TRY(kb_alloc(ctx, n, sizeof(double), &s->kv[j]));
    }
    for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
        TRY(kb_alloc(ctx, p->C, sizeof(double), scalar[i]));
    TRY(kb_alloc(ctx, p->C, sizeof *s->small, &s->small));
done:
    return status;
}

static void release(kb_context *ctx, gmres *s) {
    for (size_t j = 0; j <= M; j++) {
        kb_release(ctx, s->v[j]);
        kb_release(ctx, s->kv[j]);
    }
    kb_release(ctx, s->square);
    kb_release(ctx, s->dot);
    kb_release(ctx, s->start);
    kb_release(ctx, s->small);
}

/* Something done to the rows of the arrays, for vector j and perhaps another. */
typedef struct rows {
    gmres *s;
    size_t i, j;
    const double *factor; /* C */
} rows;

static void on_rows(kb_context *ctx, rows r, void (*body)(void *arg, size_t begin, size_t end)) {
    kb_team_for(ctx, r.s->N, KB_WORTH_A_THREAD / r.s->p->C, body, &r);
}

/* v_j and K v_j times factor[c]. */
static void rescale(void *arg, size_t begin, size_t end) {
    rows *r = arg;
    double *v = r->s->v[r->j], *kv = r->s->kv[r->j];
    size_t C = r->s->p->C;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * C; c < C; c++, e++) {
            v[e] *= r->factor[c];
            kv[e] *= r->factor[c];
        }
}

/* v_{j+1} = A v_j. */
static void multiply(void *arg, size_t begin, size_t end) {
    rows *r = arg;
    const double *v = r->s->v[r->j], *kv = r->s->kv[r->j];
    double lambda = r->s->p->lambda, *w = r->s->v[r->j + 1];
    size_t C = r->s->p->C;
    for (size_t e = begin * C; e < end * C; e++)
        w[e] = kv[e] + lambda * v[e];
}

/* v_{j+1} -= factor[c] v_i. */
static void project(void *arg, size_t begin, size_t end) {
    rows *r = arg;
    const double *v = r->s->v[r->i];
    double *w = r->s->v[r->j + 1];
    size_t C = r->s->p->C;
    for (size_t row = begin; row < end; row++)
        for (size_t c = 0, e = row * C; c < C; c++, e++)
            w[e] -= r->factor[c] * v[e];
}

/* alpha += the combination of v_0 .. v_{j-1} that the small problems hold in g. */
static void combine(void *arg, size_t begin, size_t end) {
    rows *r = arg;
    gmres *s = r->s;
    size_t C = s->p->C;
    for (size_t i = begin; i < end; i++)
        for (size_t j = 0; j < r->j; j++)
            for (size_t c = 0, e = i * C; c < C; c++, e++)
                s->p->alpha[e] += s->small[c].g[j] * s->v[j][e];
}

/* K w for the candidate in v_j, then makes its length 1.  length[c] = what it was. */
static kb_status normalise(kb_context *ctx, gmres *s, size_t j, double *length) {
    kb_ridge *p = s->p;
    kb_status status = p->op->apply_k(p->op, ctx, p->C, s->v[j], s->kv[j], s->square);
    if (status != KB_OK)
        return status;
    for (size_t c = 0; c < p->C; c++) {
        length[c] = sqrt(s->square[c]);
        s->square[c] = length[c] > 0 ? 1 / length[c] : 0;
    }
    on_rows(ctx, (rows){.s = s, .j = j, .factor = s->square}, rescale);
    return KB_OK;
}

/* v_{j+1} = A v_j, made orthogonal to v_0 .. v_j (modified Gram-Schmidt). */
static kb_status expand(kb_context *ctx, gmres *s, size_t j) {
    size_t C = s->p->C;
    on_rows(ctx, (rows){.s = s, .j = j}, multiply);
    for (size_t i = 0; i <= j; i++) {
        kb_status status = kb_row_sums(ctx, s->N, C, s->kv[i], s->v[j + 1], s->dot);
        if (status != KB_OK)
            return status;
        for (size_t c = 0; c < C; c++)
            s->small[c].h[i][j] = s->dot[c];
        on_rows(ctx, (rows){.s = s, .i = i, .j = j, .factor = s->dot}, project);
    }
    return normalise(ctx, s, j + 1, s->dot);
}

/* Adds column j, whose subdiagonal entry is `below`, to the triangle. */
static void rotate(small *q, size_t j, double below) {
    for (size_t i = 0; i < j; i++) {
        double up = q->h[i][j], down = q->h[i + 1][j];
        q->h[i][j] = q->cosine[i] * up + q->sine[i] * down;
        q->h[i + 1][j] = q->cosine[i] * down - q->sine[i] * up;
    }
    /* Not hypot, whose last bit differs between C libraries; that of sqrt is right on all. */
    double length = sqrt(q->h[j][j] * q->h[j][j] + below * below);
    if (length == 0) {
        q->done = 1;
        return;
    }
    q->cosine[j] = q->h[j][j] / length;
    q->sine[j] = below / length;
    q->h[j][j] = length;
    q->g[j + 1] = -q->sine[j] * q->g[j];
    q->g[j] *= q->cosine[j];
    q->used = j + 1;
}

/* alpha += the combination of the basis with the least residual. */
static void move(kb_context *ctx, gmres *s, size_t steps) {
    size_t C = s->p->C;
    for (size_t c = 0; c < C; c++) {
        small *q = &s->small[c];
        for (size_t j = steps; j-- > 0;) {
            if (j >= q->used) {
                q->g[j] = 0;
                continue;
            }
            for (size_t i = j + 1; i < q->used; i++)
                q->g[j] -= q->h[j][i] * q->g[i];
            q->g[j] /= q->h[j][j];
        }
    }
    on_rows(ctx, (rows){.s = s, .j = steps}, combine);
}

/* The largest relative residual, by the rotations. */
static double worst(const gmres *s) {
    double most = 0;
    for (size_t c = 0; c < s->p->C; c++)
        if (s->start[c] > 0)
            most = fmax(most, fabs(s->small[c].g[s->small[c].used]) / s->start[c]);
    return most;
}

static int all_done(const gmres *s) {
    for (size_t c = 0; c < s->p->C; c++)
        if (!s->small[c].done)
            return 0;
    return 1;
}

/* One round from the true residual in v_0, whose length the rotations begin with. */
static kb_status cycle(kb_context *ctx, gmres *s) {
    kb_status status = KB_OK;
    kb_ridge *p = s->p;
    size_t j = 0;
    for (; j < M && p->steps < p->max_steps && !all_done(s) && !(j > 0 && kb_is_late(ctx)); j++) {
        TRY(expand(ctx, s, j));
        p->steps++;
        for (size_t c = 0; c < p->C; c++) {
            small *q = &s->small[c];
            if (q->done)
                continue;
            rotate(q, j, s->dot[c]);
            if (fabs(q->g[q->used]) <= p->tol * s->start[c])
                q->done = 1;
        }
        TRY(kb_ranks_progress(ctx, "solve",
                              kb_solve_progress(p->tol, p->max_steps, worst(s), p->steps)));
    }
    move(ctx, s, j);
done:
    return status;
}

static kb_status begin(kb_context *ctx, gmres *s, int refresh) {
    kb_status status;
    TRY(kb_ridge_residual(ctx, s->p, refresh, s->v[0]));
    TRY(normalise(ctx, s, 0, s->dot));
    memset(s->small, 0, s->p->C * sizeof *s->small);
    for (size_t c = 0; c < s->p->C; c++) {
        if (!refresh)
            s->start[c] = s->dot[c];
        s->small[c].g[0] = s->dot[c];
        s->small[c].done = s->dot[c] <= s->p->tol * s->start[c];
    }
done:
    return status;
}

kb_status kb_ridge_gmres(kb_context *ctx, kb_ridge *p) {
    kb_status status;
    gmres s = {0};
    size_t n = p->op->rows * p->C;
    double before = INFINITY;
    p->steps = 0;
    memset(p->alpha, 0, n * sizeof(double));
    memset(p->f, 0, n * sizeof(double));
    TRY(kb_ranks_agree(ctx, create(ctx, p, &s)));
    TRY(begin(ctx, &s, 0));
    while (!all_done(&s) && p->steps < p->max_steps && worst(&s) < before &&
           !(p->steps > 0 && kb_is_late(ctx))) {
        before = worst(&s);
        TRY(cycle(ctx, &s));
        TRY(begin(ctx, &s, 1));
    }
    p->converged = all_done(&s);
done:
    release(ctx, &s);
    return status;
}
