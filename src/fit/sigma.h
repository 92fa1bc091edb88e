/*
 * sigma.h - from the option sigma to the widths of every feature.
 */
#ifndef KB_FIT_SIGMA_H
#define KB_FIT_SIGMA_H

#include "features/grids.h"
#include "options/config.h"

/* The width vectors of any sigma but KB_SIGMA_AUTO.  `spread` is the mean absolute deviation of the
 * scaled features, for the default rule.  *widths is V x d and belongs to the caller; *words
 * describes it. */
kb_status kb_sigma_widths(kb_context *ctx, const kb_sigma *sigma, const kb_law *law,
                          size_t features, double spread, size_t *vectors, kb_width **widths,
                          char **words);

/* One sigma per feature, for a map that does not mix several: *out has `features` numbers and
 * belongs to the caller.  The default rule gives its middle value, divided by sqrt(d) for an
 * isotropic kernel, whose distances grow like that. */
kb_status kb_sigma_vector(kb_context *ctx, const kb_sigma *sigma, int isotropic, size_t features,
                          double spread, double **out, char **words);

#endif
