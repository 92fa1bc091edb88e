/*
 * joined_operator.h - the operator of Z with its rows on several ranks, in whole numbers.
 *
 * N is that of this rank, and D that of all.  V has the rows of this rank; Z'V is summed over all
 * ranks and is the same on each; Z W has the rows of this rank.
 *
 * A column is written in units of 2^-50 of its largest size, as two whole numbers of 32 bits, which
 * are summed as slices.h does it.  No result depends on an order of additions: neither on threads,
 * nor on ranks, nor on whether rows are stored by tuples, which differs between ranks.  An entry is
 * rounded by 2^-51 of the largest of its column.
 *
 * A product Z'V sends two numbers of 8 bytes for each bin and column.
 */
#ifndef KB_JOINED_JOINED_OPERATOR_H
#define KB_JOINED_JOINED_OPERATOR_H

#include "features/binmat.h"
#include "features/operator.h"

/* z must outlive it.  On success *out belongs to the caller (kb_operator_free). */
kb_status kb_operator_joined(kb_context *ctx, const kb_binmat *z, kb_operator **out);

/* Bytes that it takes. */
kb_bytes kb_operator_joined_bytes(size_t grids);

#endif
