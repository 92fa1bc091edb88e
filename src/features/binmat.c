/* binmat.c - see binmat.h. */
#include "features/binmat.h"

kb_status kb_binmat_create(kb_context *ctx, size_t rows, size_t grids, size_t R, kb_binmat **out) {
    kb_status status;
    kb_binmat *z;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *z, &z));
    z->allocator = kb_allocator_of(ctx);
    z->rows = rows;
    z->grids = grids;
    z->R = R;
    z->groups = (grids + KB_GROUP - 1) / KB_GROUP;
    z->bundles = (z->groups + KB_GROUP - 1) / KB_GROUP;
    TRY(kb_zalloc(ctx, z->groups, sizeof *z->group, &z->group));
    TRY(kb_zalloc(ctx, z->groups, sizeof *z->tuples, &z->tuples));
    TRY(kb_zalloc(ctx, z->bundles, sizeof *z->bundle, &z->bundle));
    TRY(kb_zalloc(ctx, grids + 1, sizeof *z->start, &z->start));
    TRY(kb_zalloc(ctx, grids, sizeof *z->key, &z->key));
    *out = z;
done:
    if (status != KB_OK)
        kb_binmat_free(z);
    return status;
}

void kb_binmat_free(kb_binmat *z) {
    if (!z)
        return;
    if (z->elsewhere)
        z->elsewhere->release(z->there);
    for (size_t q = 0; z->group && q < z->groups; q++)
        kb_allocator_release(z->allocator, z->group[q].ids);
    for (size_t r = 0; z->key && r < z->grids; r++)
        kb_allocator_release(z->allocator, z->key[r]);
    for (size_t b = 0; z->bundle && b < z->bundles; b++)
        kb_allocator_release(z->allocator, z->bundle[b].ids);
    kb_allocator_release(z->allocator, z->place);
    kb_allocator_release(z->allocator, z->group);
    kb_allocator_release(z->allocator, z->tuples);
    kb_allocator_release(z->allocator, z->bundle);
    kb_allocator_release(z->allocator, z->start);
    kb_allocator_release(z->allocator, z->key);
    kb_allocator_release(z->allocator, z);
}
