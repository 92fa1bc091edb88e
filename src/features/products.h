/*
 * products.h - the operator of a bin matrix: K V, Z W and Z' V straight from the bin numbers.
 */
#ifndef KB_FEATURES_PRODUCTS_H
#define KB_FEATURES_PRODUCTS_H

#include "features/binmat.h"
#include "features/operator.h"

/* Z of random binning, or the columns that z has of it; `z` must outlive the operator.  Memory
 * beside the arguments: the sums of a few grids.  On success *out belongs to the caller
 * (kb_operator_free); on failure it is NULL. */
kb_status kb_operator_binmat(kb_context *ctx, const kb_binmat *z, kb_operator **out);

#endif
