/*
 * join_bins.h - Z of rows that are dealt out to ranks: bins that have the same numbers on all.
 *
 * Each rank bins its own rows.  Then, sixteen grids at a time, the bins of all ranks are numbered
 * in the order in which the rows of all have them first, so they have the numbers that one process
 * would give.  A key goes to the rank that its hash belongs to, which tells who has it first; the
 * keys that are first somewhere go to all ranks, which need them for the model.
 */
#ifndef KB_JOINED_JOIN_BINS_H
#define KB_JOINED_JOIN_BINS_H

#include "features/binned.h"

/* As kb_binned_build: with ranks, of the rows of all.  z has the rows of this rank, and the bins of
 * all.  A rank may have no rows.  Beside what kb_binmat_build takes, about 40 bytes for each bin of
 * the sixteen grids. */
kb_status kb_joined_build(kb_context *ctx, const kb_binned_spec *spec, const kb_data *data,
                          kb_binned *out);

/* The same for grids that are there already (kb_binmat_build). */
kb_status kb_joined_binmat(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                           size_t R, const kb_memory_plan *memory, kb_binned *out);

#endif
