/*
 * binned.h - data under a range of random grids: the grids, Z as bin numbers, and its operator.
 *
 * The one place where the operator of random binning is made, for fits and for trials.  Another
 * storage of Z, or Z on another device, is another constructor for this place (docs/extending.md):
 * solvers see the operator only.
 */
#ifndef KB_FEATURES_BINNED_H
#define KB_FEATURES_BINNED_H

#include "features/products.h"

/* What bins the data: kb_binmat_build, or another with the same arguments. */
typedef kb_status kb_binner(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                            size_t R, const kb_memory_plan *memory, kb_binmat **out);

/* How the data are binned.  All pointers are used only while it is built. */
typedef struct kb_binned_spec {
    const double *shift, *scale; /* of the data, features each */
    const kb_widths *widths;     /* for as many features as the data have */
    uint64_t seed;
    size_t first, count;          /* the range of grids */
    size_t R;                     /* grids in all: a nonzero of Z is 1/sqrt(R) */
    const kb_memory_plan *memory; /* NULL: no limit */
    kb_binner *bin;               /* NULL: kb_binmat_build */
} kb_binned_spec;

typedef struct kb_binned {
    kb_grids *grids;
    kb_binmat *z;
    kb_operator *op; /* of z */
    double seconds;  /* that it took */
} kb_binned;

/* Draws the grids, bins the data and makes the operator.  Time and memory are those of
 * kb_binmat_build, and it fails as that does.  Ranges that cover the R grids add up to the whole;
 * cut them at multiples of KB_BUNDLE to have its bin numbers and Z'V to the bit (binmat.h).  On
 * failure *out is empty; kb_binned_release either way. */
kb_status kb_binned_build(kb_context *ctx, const kb_binned_spec *spec, const kb_data *data,
                          kb_binned *out);
void kb_binned_release(kb_binned *binned);

/* The grids, for a map that outlives the rest; they are the caller's (kb_grids_free). */
kb_grids *kb_binned_take_grids(kb_binned *binned);

#endif
