/* rival_row.c - decisions of single rows by a rival map; see rival.h. */
#include "rivals/rival.h"
#include "rivals/rival_parts.h"

#include <string.h>

struct kb_rival_row {
    kb_allocator allocator;
    const kb_rival *r;
    size_t C;
    kb_points *point; /* the row */
    double *w;        /* C x D: by columns, and for nystrom behind L'^-1 */
    double *scratch;
    double *z; /* D: the row of a dense map, as floats or doubles */
};

kb_status kb_rival_row_create(kb_context *ctx, const kb_rival *r, size_t C, const double *w,
                              kb_rival_row **out) {
    kb_status status;
    kb_rival_row *row;
    size_t D = r->columns;
    int dense = kb_is_dense_map(r->kind);
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *row, &row));
    row->allocator = kb_allocator_of(ctx);
    row->r = r;
    row->C = C;
    TRY(kb_points_create(ctx, 1, r->features, 0, 0, &row->point));
    TRY(kb_alloc(ctx, D * C, sizeof(double), &row->w));
    TRY(kb_alloc(ctx, dense ? kb_dense_map_fill_scratch(r) : kb_blocks_row_scratch(),
                 sizeof(double), &row->scratch));
    if (dense)
        TRY(kb_alloc(ctx, D, sizeof(double), &row->z));
    kb_transpose(D, C, w, row->w);
    if (r->kind == KB_RIVAL_NYSTROM)
        TRY(kb_triangle_backward(ctx, r->tiles, &r->triangle, C, row->w));
    *out = row;
done:
    if (status != KB_OK)
        kb_rival_row_free(row);
    return status;
}

void kb_rival_row_free(kb_rival_row *row) {
    if (!row)
        return;
    void *all[] = {row->w, row->scratch, row->z};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(row->allocator, all[i]);
    kb_points_free(row->point);
    kb_allocator_release(row->allocator, row);
}

void kb_rival_row_decide(kb_rival_row *row, const double *x, double *out) {
    const kb_rival *r = row->r;
    kb_metric metric = kb_rival_metric(r);
    size_t D = r->columns;
    kb_points_set(&metric, x, row->point);
    if (!kb_is_dense_map(r->kind)) {
        kb_blocks_decide_row(r, row->point, row->C, row->w, row->scratch, out);
        return;
    }
    kb_dense_map_rows(r, row->point, 0, 1, row->scratch, (float *)row->z, row->z);
    kb_rows z = {1, D, D, r->kind == KB_RIVAL_FOURIER ? (float *)row->z : NULL, row->z};
    memset(out, 0, row->C * sizeof *out);
    r->tiles->times(&z, row->C, row->w, D, out, row->C);
}
