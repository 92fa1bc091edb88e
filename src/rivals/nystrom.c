/*
 * nystrom.c - the Nystrom method (Williams and Seeger 2001): k(x, y) is replaced by
 * k(x, S) K_SS^-1 k(S, y) for R landmarks S, that is by z(x)'z(y) with z(x) = L^-1 k(S, x).
 *
 * Landmarks that add nothing (equal samples, or a kernel so smooth that K_SS is singular to
 * rounding) show as pivots of L near 0 and are dropped.
 */
#include "rivals/rival_parts.h"
#include "core/team.h"

#include <math.h>
#include <string.h>

/* Pivots start from k(x, x) = 1.  A pivot below this is mostly rounding error; above it, z is
 * multiplied by at most 1e6 and is accurate to 1e-10. */
static const double DROP = 1e-12;

/* Samples that a thread takes at a time when a landmark is chosen. */
enum { PIECE = 1024 };

/* Rows of the kernel from `first` on, divided over the team. */
typedef struct filling {
    const kb_rival *r;
    const kb_points *a, *b;
    size_t first_b, columns;
    double *out;
    size_t ld;
    double *scratch; /* for each thread */
    kb_interrupt interrupt;
} filling;

static void fill_rows(void *arg, int me, int threads) {
    filling *f = arg;
    double *scratch = f->scratch + (size_t)me * kb_kernel_scratch();
    size_t tiles = (f->a->rows + KB_TILE - 1) / KB_TILE;
    for (size_t k = (size_t)me; k < tiles && !kb_interrupt_asked(&f->interrupt, me);
         k += (size_t)threads) {
        size_t first = k * KB_TILE, left = f->a->rows - first;
        kb_kernel_block(f->r->kernel, f->r->tiles, f->a, first, left < KB_TILE ? left : KB_TILE,
                        f->b, f->first_b, f->columns, scratch, f->out + first * f->ld, f->ld);
    }
}

static kb_status allocate_scratch(kb_context *ctx, double **out) {
    return kb_alloc(ctx, (size_t)ctx->threads * kb_kernel_scratch(), sizeof(double), out);
}

/* ---- landmarks --------------------------------------------------------- */

static double uniform(const kb_rival_spec *spec, size_t k) {
    return kb_random_uniform(spec->seed, KB_STREAM_LANDMARK, k, 0).u;
}

/* The first `count` of a shuffle of all rows. */
static kb_status choose_uniform(kb_context *ctx, const kb_rival_spec *spec, size_t rows,
                                size_t count, uint32_t *chosen) {
    uint32_t *row;
    kb_status status = kb_alloc(ctx, rows, sizeof *row, &row);
    if (status != KB_OK)
        return status;
    for (size_t i = 0; i < rows; i++)
        row[i] = (uint32_t)i;
    for (size_t k = 0; k < count; k++) {
        size_t other = k + (size_t)(uniform(spec, k) * (double)(rows - k));
        uint32_t swap = row[other < rows ? other : rows - 1];
        row[other < rows ? other : rows - 1] = row[k];
        chosen[k] = row[k] = swap;
    }
    kb_release(ctx, row);
    return KB_OK;
}

/* The row where the running sum of the weights passes a share of their total. */
static size_t pick(const double *weight, size_t rows, double share) {
    double total = 0, sum = 0;
    size_t last = rows;
    for (size_t i = 0; i < rows; i++)
        total += weight[i];
    for (size_t i = 0; i < rows; i++) {
        sum += weight[i];
        if (weight[i] > 0) {
            last = i;
            if (sum >= share * total)
                break;
        }
    }
    return last;
}

/* Updates the smallest squared distance to a landmark, 2 - 2 k, for a new landmark. */
typedef struct nearing {
    const kb_rival *r;
    const kb_points *all;
    size_t landmark;
    double *k, *distance;
    double *scratch; /* for each thread */
} nearing;

static void come_nearer(void *arg, int me, int threads) {
    const nearing *n = arg;
    size_t N = n->all->rows;
    for (size_t i = (size_t)me * PIECE; i < N; i += (size_t)threads * PIECE) {
        size_t count = N - i < PIECE ? N - i : PIECE;
        kb_kernel_block(n->r->kernel, n->r->tiles, n->all, n->landmark, 1, n->all, i, count,
                        n->scratch + (size_t)me * kb_kernel_scratch(), n->k + i, N);
        for (size_t e = i; e < i + count; e++)
            n->distance[e] = fmin(n->distance[e], 2 - 2 * n->k[e]);
    }
}

/* k-means++ in the space of the kernel (Arthur and Vassilvitskii 2007): each landmark with the
 * probability of its squared distance from those before.  Fewer where no sample is left. */
static kb_status choose_far(kb_context *ctx, const kb_rival_spec *spec, const kb_data *data,
                            const kb_rival *r, size_t *count, uint32_t *chosen) {
    kb_status status;
    size_t N = data->rows, k;
    kb_metric metric = kb_rival_metric(r);
    kb_points *all = NULL;
    double *column = NULL, *distance = NULL, *scratch = NULL;
    TRY(kb_points_build(ctx, &metric, data, 0, N, NULL, &all));
    TRY(kb_alloc(ctx, N, sizeof(double), &column));
    TRY(kb_alloc(ctx, N, sizeof(double), &distance));
    TRY(allocate_scratch(ctx, &scratch));
    for (size_t i = 0; i < N; i++)
        distance[i] = 2;
    for (k = 0; k < *count; k++) {
        size_t row = pick(distance, N, uniform(spec, k));
        if (row == N)
            break;
        chosen[k] = (uint32_t)row;
        nearing n = {r, all, row, column, distance, scratch};
        kb_team_run(ctx, N < 2 * PIECE, come_nearer, &n);
        distance[row] = 0;
        TRY(kb_progress(ctx, "bin", (double)k / (double)*count));
    }
    *count = k;
done:
    kb_points_free(all);
    kb_release(ctx, column);
    kb_release(ctx, distance);
    kb_release(ctx, scratch);
    return status;
}

/* ---- the map ----------------------------------------------------------- */

static kb_status factor(kb_context *ctx, kb_rival *r) {
    kb_status status;
    size_t R = r->columns, rank;
    double *scratch = NULL;
    r->triangle.n = R;
    TRY(kb_alloc(ctx, R * R, sizeof(double), &r->triangle.L));
    TRY(kb_alloc(ctx, R, sizeof(double), &r->triangle.inverse));
    TRY(allocate_scratch(ctx, &scratch));
    filling f = {r, r->points, r->points, 0, R, r->triangle.L, R, scratch, {.ctx = ctx}};
    kb_team_run(ctx, R < 2 * KB_TILE, fill_rows, &f);
    TRY(kb_interrupt_status(&f.interrupt));
    TRY(kb_cholesky(ctx, r->tiles, &r->triangle, DROP, &rank));
    for (size_t i = 0; i < R; i++) /* nobody reads it, but a file keeps it */
        memset(r->triangle.L + i * R + i + 1, 0, (R - i - 1) * sizeof(double));
done:
    kb_release(ctx, scratch);
    return status;
}

kb_status kb_nystrom_build(kb_context *ctx, const kb_rival_spec *spec, const kb_data *data,
                           kb_rival *r) {
    kb_status status;
    uint32_t *chosen = NULL;
    kb_metric metric = kb_rival_metric(r);
    size_t count = spec->rank < data->rows ? spec->rank : data->rows;
    TRY(kb_alloc(ctx, count, sizeof *chosen, &chosen));
    if (spec->landmarks == KB_LANDMARKS_KMEANS)
        TRY(choose_far(ctx, spec, data, r, &count, chosen));
    else
        TRY(choose_uniform(ctx, spec, data->rows, count, chosen));
    r->columns = count;
    TRY(kb_points_build(ctx, &metric, data, 0, count, chosen, &r->points));
    TRY(factor(ctx, r));
done:
    kb_release(ctx, chosen);
    return status;
}
