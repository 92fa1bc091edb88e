/*
 * gridinside.h - access to the parts of grid-cd, for their tests: a state during a round, with
 * chosen columns in the set, and sums over columns by plain loops.
 */
#ifndef TESTS_SOLVE_GRIDINSIDE_H
#define TESTS_SOLVE_GRIDINSIDE_H

#include "l1/l1problem.h"

/* A second copy under other names, for the functions inside it. */
kb_l1_solver grid_cd_inside;
#define kb_l1_grid_cd   grid_cd_inside
#define kb_grid_on_rows grid_on_rows_inside
#define kb_grid_keep_f  grid_keep_f_inside
#define kb_grid_penalty grid_penalty_inside
#include "l1/grid_cd.c"
#undef kb_l1_grid_cd

/* A round has begun with all columns but every `skip`-th; 0: with all. */
static inline void grid_begin(kb_context *ctx, problem *q, size_t skip, kb_grid_cd *g) {
    const kb_zcolumns *c = q->p.columns;
    *g = (kb_grid_cd){0};
    assert_ok(ctx, create(ctx, &q->p, g));
    assert_ok(ctx, kb_l1_look(&g->r));
    for (size_t block = 0; block < c->blocks; block++) {
        for (size_t j = c->block_start[block]; j < c->block_start[block + 1]; j++)
            if (skip == 0 || j % skip != skip - 1)
                kb_set_add(&g->set, c, j);
        kb_set_end_block(&g->set, block);
    }
    kb_grid_fetch(g);
    g->objective = q->p.objective;
}

/* Weights of both signs, every third one zero. */
static inline void put_somewhere(problem *q, double size) {
    for (size_t j = 0; j < q->D; j++)
        q->weights[j] = j % 3 == 1 ? 0 : size * (2 * test_uniform(8, j) - 1);
}

/* The sum of z v, or of z^2 v if `twice`, over column j; v NULL: ones. */
static inline double plain_sum(const kb_zcolumns *c, size_t j, const double *v, int twice) {
    double sum = 0;
    for (kb_nonzero z = kb_nonzeros(c, j); kb_nonzero_next(c, &z);)
        sum += (twice ? z.value * z.value : z.value) * (v ? v[z.row] : 1);
    return sum;
}

/* v -= d h z; h NULL: ones. */
static inline void plain_subtract(const kb_zcolumns *c, size_t j, double d, const double *h,
                                  double *v) {
    for (kb_nonzero z = kb_nonzeros(c, j); kb_nonzero_next(c, &z);)
        v[z.row] -= d * z.value * (h ? h[z.row] : 1);
}

#endif
