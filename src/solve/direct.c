/*
 * direct.c - kernel ridge within blocks by Cholesky; see direct.h.
 *
 *     (K + lambda diag(s)^-1) alpha = y - b,   the sum of alpha = 0
 *
 * For a free b, the system is also solved for a right-hand side of ones.
 */
#include "solve/direct.h"
#include "rivals/rival_parts.h"
#include "core/sums.h"
#include "core/team.h"
#include "options/say.h"

typedef struct solving {
    const kb_rival *r;
    double lambda;
    const double *weight;
    size_t C;
    const double *y;
    double *alpha, *scratch;
    kb_triangle t;
    double *unit; /* N: the solution for a right-hand side of ones, if there is an intercept */
    double *rhs;  /* (C + 1) x n */
} solving;

/* The ridge on the diagonal.  A sample of no weight is cut off from all others. */
static void add_ridge(solving *s, size_t begin) {
    size_t n = s->t.n;
    for (size_t k = 0; k < n; k++) {
        double weight = kb_weight_of(s->weight, kb_sample_of(s->r, begin + k));
        if (weight > 0) {
            s->t.L[k * n + k] += s->lambda / weight;
            continue;
        }
        for (size_t j = 0; j < n; j++)
            s->t.L[j < k ? k * n + j : j * n + k] = j == k;
    }
}

static void set_right_sides(solving *s, size_t begin) {
    size_t n = s->t.n, C = s->C;
    for (size_t k = 0; k < n; k++) {
        size_t i = kb_sample_of(s->r, begin + k);
        int counts = !s->weight || s->weight[i] > 0;
        for (size_t c = 0; c < C; c++)
            s->rhs[c * n + k] = counts ? s->y[i * C + c] : 0;
        if (s->unit)
            s->rhs[C * n + k] = counts;
    }
}

static void keep_solutions(solving *s, size_t begin) {
    size_t n = s->t.n, C = s->C;
    for (size_t k = 0; k < n; k++) {
        size_t i = kb_sample_of(s->r, begin + k);
        for (size_t c = 0; c < C; c++)
            s->alpha[i * C + c] = s->rhs[c * n + k];
        if (s->unit)
            s->unit[i] = s->rhs[C * n + k];
    }
}

static kb_status solve_block(kb_context *ctx, solving *s, size_t block) {
    kb_status status;
    const kb_rival *r = s->r;
    size_t n = kb_block_size(r, block), begin = r->start[block], rank, count;
    size_t bounds[2] = {begin, begin + n}, columns = s->C + (s->unit != NULL);
    kb_block_tile *tiles = NULL;
    TRY(kb_block_tiles(ctx, 1, bounds, &tiles, &count));
    for (size_t k = 0; k < count; k++)
        tiles[k].block = block;
    s->t.n = n;
    kb_filling f = {r, tiles, count, NULL, s->t.L, s->scratch, {.ctx = ctx}};
    TRY(kb_fill_tiles(ctx, &f));
    add_ridge(s, begin);
    TRY(kb_cholesky(ctx, r->tiles, &s->t, 0, &rank));
    if (rank < n)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                    "the kernel matrix is singular to rounding: use a larger %s than %g",
                    kb_say(ctx, KB_OPT_LAMBDA).text, s->lambda));
    set_right_sides(s, begin);
    TRY(kb_triangle_forward(ctx, r->tiles, &s->t, columns, s->rhs));
    TRY(kb_triangle_backward(ctx, r->tiles, &s->t, columns, s->rhs));
    keep_solutions(s, begin);
done:
    kb_release(ctx, tiles);
    return status;
}

/* b such that alpha - b unit adds up to 0. */
static kb_status free_intercept(kb_context *ctx, solving *s, double *b) {
    kb_status status;
    size_t N = s->r->columns, C = s->C;
    double total;
    TRY(kb_sums(ctx, N, 1, s->unit, NULL, &total));
    TRY(kb_sums(ctx, N, C, s->alpha, NULL, b));
    for (size_t c = 0; c < C; c++)
        b[c] = total > 0 ? b[c] / total : 0;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < C; c++)
            s->alpha[i * C + c] -= b[c] * s->unit[i];
done:
    return status;
}

kb_status kb_rival_solve(kb_context *ctx, const kb_rival *r, double lambda, const double *weight,
                         size_t C, const double *y, double *alpha, double *b) {
    kb_status status;
    solving s = {.r = r, .lambda = lambda, .weight = weight, .C = C, .y = y, .alpha = alpha};
    size_t most = 0;
    if (!kb_rival_is_direct(r->kind))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "only blocks and exact can be solved directly"));
    for (size_t k = 0; k < r->blocks; k++)
        most = kb_block_size(r, k) > most ? kb_block_size(r, k) : most;
    if (most && most > SIZE_MAX / most)
        TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: a kernel matrix of %zu rows", most));
    TRY(kb_alloc(ctx, most * most, sizeof(double), &s.t.L));
    TRY(kb_alloc(ctx, most, sizeof(double), &s.t.inverse));
    TRY(kb_alloc(ctx, most * (C + 1), sizeof(double), &s.rhs));
    TRY(kb_blocks_scratch_for(ctx, &s.scratch));
    if (b)
        TRY(kb_alloc(ctx, r->columns, sizeof(double), &s.unit));
    for (size_t k = 0; k < r->blocks; k++) {
        TRY(solve_block(ctx, &s, k));
        TRY(kb_progress(ctx, "solve", (double)r->start[k + 1] / (double)r->columns));
    }
    if (b)
        TRY(free_intercept(ctx, &s, b));
done:
    kb_release(ctx, s.t.L);
    kb_release(ctx, s.t.inverse);
    kb_release(ctx, s.rhs);
    kb_release(ctx, s.scratch);
    kb_release(ctx, s.unit);
    return status;
}
