/*
 * light_binmat.h - bin numbers for a trial, made in less time than those of a fit.
 *
 * Nobody predicts with the bins of a trial, so their keys are not kept and have 32 bits; values are
 * floats; a grid looks only at the features that it cuts within the range of the rows; and tuples
 * are looked for only where bins are few.
 */
#ifndef KB_TRIAL_LIGHT_BINMAT_H
#define KB_TRIAL_LIGHT_BINMAT_H

#include "features/binned.h"

/* Whether data of this size can be binned so: bin numbers have 16 bits, and the columns as floats
 * must not take more memory than the keys that are not kept. */
int kb_light_binmat_suits(const kb_data *data, size_t grids);

/* Puts every sample of x into its bin of every grid of the range; R grids in all.  Bins are
 * numbered by first appearance.  They are those of kb_binmat_build but for values within a rounding
 * of a float from the edge of a bin, and for one pair of bins in 2^32.  Does not depend on the
 * number of threads.  On success *out belongs to the caller (kb_binmat_free); on failure it is
 * NULL. */
kb_status kb_light_binmat_build(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                                size_t R, kb_binmat **out);

/* As kb_binned_build, with these bin numbers where the data allow it. */
kb_status kb_light_binned_build(kb_context *ctx, const kb_binned_spec *spec, const kb_data *data,
                                kb_binned *out);

#endif
