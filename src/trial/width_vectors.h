/*
 * width_vectors.h - vectors of widths, made from others.
 */
#ifndef KB_TRIAL_WIDTH_VECTORS_H
#define KB_TRIAL_WIDTH_VECTORS_H

#include "features/grids.h"

/* One vector with the same sigma for all features.  Those that `level`, features or NULL, says
 * (data/data.h) have the law of levels, and KB_RULE_LEVELS_SIGMA times the sigma.  *out belongs to
 * the caller (kb_release out->width), as do those of the next two. */
kb_status kb_widths_equal(kb_context *ctx, size_t features, const unsigned char *level,
                          const kb_law *law, double sigma, kb_widths *out);
kb_status kb_widths_copy(kb_context *ctx, const kb_widths *from, kb_widths *out);
/* The vectors of a, then those of b, which has as many features. */
kb_status kb_widths_join(kb_context *ctx, const kb_widths *a, const kb_widths *b, kb_widths *out);
/* Every sigma times a factor. */
void kb_widths_multiply(kb_widths *w, double factor);

#endif
