/* lanczos.c - see lanczos.h. */
#include "solve/lanczos.h"
#include "core/sums.h"
#include "core/team.h"
#include "core/weights.h"

#include <math.h>
#include <string.h>

/* A column whose next vector is this short, relative to the first entry of T, has found the
 * exact solution. */
static const double EXHAUSTED = 1e-13;

static double root_of(const kb_lanczos *l, size_t i) {
    return kb_weight_of(l->root, i);
}

static kb_status list_held(kb_context *ctx, kb_lanczos *l) {
    kb_status status;
    size_t N = l->op->rows;
    for (size_t i = 0; i < N; i++)
        l->held += l->folds->fold[i] < l->folds->folds;
    TRY(kb_alloc(ctx, l->held, sizeof *l->row, &l->row));
    for (size_t i = 0, h = 0; i < N; i++)
        if (l->folds->fold[i] < l->folds->folds)
            l->row[h++] = (uint32_t)i;
done:
    return status;
}

/* Weighted mean of the targets over the rows that fold k is learned from. */
static void find_means(kb_lanczos *l) {
    for (size_t k = 0; k < l->folds->folds; k++) {
        double total = 0, *mean = l->mean + k * l->C;
        for (size_t i = 0; i < l->op->rows; i++) {
            double s = kb_folds_fits(l->folds, i, k) ? root_of(l, i) * root_of(l, i) : 0;
            total += s;
            for (size_t c = 0; s > 0 && c < l->C; c++)
                mean[c] += s * l->y[i * l->C + c];
        }
        for (size_t c = 0; total > 0 && c < l->C; c++)
            mean[c] /= total;
    }
}

/* p = K D r, and |Z' D r|^2; `old` is free until the next step ends. */
static kb_status product(kb_context *ctx, kb_lanczos *l) {
    size_t N = l->op->rows;
    if (!l->root)
        return l->op->apply_k(l->op, ctx, l->M, l->r, l->p, l->square);
    kb_status status;
    double *u;
    TRY(kb_alloc(ctx, N * l->M, sizeof *u, &u));
    for (size_t i = 0; i < N; i++)
        for (size_t e = i * l->M; e < (i + 1) * l->M; e++)
            u[e] = l->root[i] * l->r[e];
    status = l->op->apply_k(l->op, ctx, l->M, u, l->p, l->square);
    kb_release(ctx, u);
done:
    return status;
}

kb_status kb_lanczos_begin(kb_context *ctx, kb_lanczos *l) {
    kb_status status;
    size_t N = l->op->rows, K = l->folds->folds;
    l->M = K * l->C;
    TRY(list_held(ctx, l));
    TRY(kb_zalloc(ctx, l->M, sizeof(double), &l->mean));
    TRY(kb_zalloc(ctx, l->M, sizeof(double), &l->square));
    TRY(kb_zalloc(ctx, N * l->M, sizeof(double), &l->r));
    TRY(kb_zalloc(ctx, N * l->M, sizeof(double), &l->old));
    TRY(kb_alloc(ctx, N * l->M, sizeof(double), &l->p));
    if (!l->uncentred)
        find_means(l);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < K; k++)
            for (size_t c = 0; c < l->C && kb_folds_fits(l->folds, i, k); c++)
                l->r[i * l->M + k * l->C + c] =
                    root_of(l, i) * (l->y[i * l->C + c] - l->mean[k * l->C + c]);
    TRY(product(ctx, l));
done:
    return status;
}

static kb_status make_room(kb_context *ctx, kb_lanczos *l, size_t steps) {
    kb_status status = KB_OK;
    if (steps <= l->room)
        return KB_OK;
    TRY(kb_realloc(ctx, steps * l->M, sizeof(double), &l->diagonal));
    TRY(kb_realloc(ctx, steps * l->M, sizeof(double), &l->beside));
    TRY(kb_realloc(ctx, steps * l->M, sizeof(double), &l->c));
    TRY(kb_realloc(ctx, steps * l->M, sizeof(double), &l->pivot));
    TRY(kb_realloc(ctx, steps, sizeof *l->image, &l->image));
    if (l->keeps_basis)
        TRY(kb_realloc(ctx, steps, sizeof *l->basis, &l->basis));
    l->room = steps;
done:
    return status;
}

/* One step's pass over the rows: r and p become the basis vector q and K D q; the image is kept;
 * then p becomes D K D q on the fitted rows and 0 elsewhere, of which the squares are summed. */
typedef struct pass {
    kb_lanczos *l;
    double *scale;             /* M: 1 / |r| */
    double *beside, *diagonal; /* M, of this step */
} pass;

static void measure(void *arg, size_t begin, size_t end, double *sum) {
    pass *a = arg;
    kb_lanczos *l = a->l;
    size_t C = l->C, K = l->folds->folds;
    memset(sum, 0, l->M * sizeof *sum);
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < K; k++) {
            double root = kb_folds_fits(l->folds, i, k) ? root_of(l, i) : 0;
            for (size_t m = k * C, e = i * l->M + m; m < (k + 1) * C; m++, e++) {
                l->r[e] *= a->scale[m];
                l->p[e] *= a->scale[m] * root;
                sum[m] += l->p[e] * l->p[e];
            }
        }
}

static void keep_image(const kb_lanczos *l, const double *scale, double *image) {
    for (size_t h = 0; h < l->held; h++) {
        size_t i = l->row[h], m = l->folds->fold[i] * l->C;
        for (size_t c = 0; c < l->C; c++)
            image[h * l->C + c] = l->p[i * l->M + m + c] * scale[m + c];
    }
}

/* old = the next r, and they change places. */
static void advance(void *arg, size_t begin, size_t end) {
    pass *a = arg;
    kb_lanczos *l = a->l;
    for (size_t i = begin; i < end; i++)
        for (size_t m = 0, e = i * l->M; m < l->M; m++, e++)
            l->old[e] = l->p[e] - a->diagonal[m] * l->r[e] - a->beside[m] * l->old[e];
}

static kb_status step(kb_context *ctx, kb_lanczos *l) {
    kb_status status;
    size_t j = l->steps, M = l->M, N = l->op->rows;
    pass a = {.l = l, .beside = l->beside + j * M, .diagonal = l->diagonal + j * M};
    l->image[j] = NULL;
    if (l->basis)
        l->basis[j] = NULL;
    TRY(kb_alloc(ctx, M, sizeof(double), &a.scale));
    TRY(kb_alloc(ctx, l->held * l->C, sizeof(double), &l->image[j]));
    for (size_t m = 0; m < M; m++) {
        double length = sqrt(l->square[m]);
        int over = length <= EXHAUSTED * (j > 0 ? l->diagonal[m] : 0) || length == 0;
        a.beside[m] = over ? 0 : length;
        a.scale[m] = over ? 0 : 1 / length;
    }
    keep_image(l, a.scale, l->image[j]);
    TRY(kb_sums_by(ctx, N, M, measure, &a, a.diagonal));
    if (l->keeps_basis) {
        TRY(kb_alloc(ctx, N * M, sizeof(double), &l->basis[j]));
        memcpy(l->basis[j], l->r, N * M * sizeof(double));
    }
    kb_team_for(ctx, N, KB_WORTH_A_THREAD / M + 1, advance, &a);
    double *next = l->old;
    l->old = l->r;
    l->r = next;
    l->steps++;
done:
    if (status != KB_OK && l->image[j]) {
        kb_release(ctx, l->image[j]);
        l->image[j] = NULL;
    }
    kb_release(ctx, a.scale);
    return status;
}

kb_status kb_lanczos_extend(kb_context *ctx, kb_lanczos *l, size_t steps) {
    kb_status status;
    TRY(make_room(ctx, l, steps));
    while (l->steps < steps) {
        TRY(kb_progress(ctx, "solve", (double)l->steps / (double)steps));
        if (l->steps > 0)
            TRY(product(ctx, l));
        TRY(step(ctx, l));
    }
done:
    return status;
}

/* c = (T + lambda I)^-1 |y| e_1 for the first m steps, all columns at once: elimination from the
 * top, which T's positive diagonal allows. */
static void solve(kb_lanczos *l, size_t m, double lambda) {
    size_t M = l->M;
    for (size_t k = 0; k < M; k++) {
        l->pivot[k] = l->diagonal[k] + lambda;
        l->c[k] = l->beside[k];
    }
    for (size_t e = M; e < m * M; e++) {
        double factor = l->beside[e] / l->pivot[e - M];
        l->pivot[e] = l->diagonal[e] + lambda - factor * l->beside[e];
        l->c[e] = -factor * l->c[e - M];
    }
    for (size_t e = m * M; e-- > 0;) {
        double above = e + M < m * M ? l->beside[e + M] * l->c[e + M] : 0;
        l->c[e] = (l->c[e] - above) / l->pivot[e];
    }
}

typedef struct combining {
    const kb_lanczos *l;
    size_t m;
    double *out;
} combining;

static void decide(void *arg, size_t begin, size_t end) {
    combining *a = arg;
    const kb_lanczos *l = a->l;
    size_t C = l->C;
    for (size_t h = begin; h < end; h++)
        memcpy(a->out + h * C, l->mean + l->folds->fold[l->row[h]] * C, C * sizeof(double));
    for (size_t j = 0; j < a->m; j++)
        for (size_t h = begin; h < end; h++) {
            const double *c = l->c + j * l->M + l->folds->fold[l->row[h]] * C;
            for (size_t k = 0; k < C; k++)
                a->out[h * C + k] += c[k] * l->image[j][h * C + k];
        }
}

kb_status kb_lanczos_decide(kb_context *ctx, kb_lanczos *l, size_t m, double lambda, double *out) {
    combining a = {l, m, out};
    solve(l, m, lambda);
    kb_team_for(ctx, l->held, KB_WORTH_A_THREAD / (m * l->C) + 1, decide, &a);
    return KB_OK;
}

static void combine(void *arg, size_t begin, size_t end) {
    combining *a = arg;
    const kb_lanczos *l = a->l;
    size_t M = l->M;
    memset(a->out + begin * M, 0, (end - begin) * M * sizeof(double));
    for (size_t j = 0; j < a->m; j++)
        for (size_t i = begin; i < end; i++)
            for (size_t k = 0; k < M; k++)
                a->out[i * M + k] += root_of(l, i) * l->c[j * M + k] * l->basis[j][i * M + k];
}

kb_status kb_lanczos_alpha(kb_context *ctx, kb_lanczos *l, size_t m, double lambda, double *alpha) {
    combining a = {l, m, alpha};
    solve(l, m, lambda);
    kb_team_for(ctx, l->op->rows, KB_WORTH_A_THREAD / (m * l->M) + 1, combine, &a);
    return KB_OK;
}

void kb_lanczos_release(kb_context *ctx, kb_lanczos *l) {
    void *all[] = {l->row,    l->mean,     l->r,      l->p, l->old,
                   l->square, l->diagonal, l->beside, l->c, l->pivot};
    for (size_t j = 0; j < l->steps; j++) {
        kb_release(ctx, l->image[j]);
        if (l->basis)
            kb_release(ctx, l->basis[j]);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    kb_release(ctx, l->image);
    kb_release(ctx, l->basis);
}
