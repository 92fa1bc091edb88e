/* binned.c - see binned.h. */
#include "features/binned.h"

kb_status kb_binned_build(kb_context *ctx, const kb_binned_spec *spec, const kb_data *data,
                          kb_binned *out) {
    kb_status status;
    double began = kb_now(ctx);
    *out = (kb_binned){0};
    TRY(kb_grids_build(ctx, spec->seed, spec->first, spec->count, spec->widths, &out->grids));
    kb_binning binning = {out->grids, spec->shift, spec->scale, NULL};
    TRY((spec->bin ? spec->bin : kb_binmat_build)(ctx, &binning, data, spec->R, spec->memory,
                                                  &out->z));
    TRY(kb_operator_binmat(ctx, out->z, &out->op));
    out->seconds = kb_now(ctx) - began;
done:
    if (status != KB_OK)
        kb_binned_release(out);
    return status;
}

void kb_binned_release(kb_binned *b) {
    kb_operator_free(b->op);
    kb_binmat_free(b->z);
    kb_grids_free(b->grids);
    *b = (kb_binned){0};
}

kb_grids *kb_binned_take_grids(kb_binned *b) {
    kb_grids *grids = b->grids;
    b->grids = NULL;
    return grids;
}
