/* width_vectors.c - see width_vectors.h. */
#include "trial/width_vectors.h"
#include "trial/rules.h"

#include <string.h>

static kb_status make(kb_context *ctx, size_t vectors, size_t features, kb_widths *out) {
    *out = (kb_widths){vectors, features, NULL};
    return kb_alloc(ctx, vectors * features, sizeof *out->width, &out->width);
}

kb_status kb_widths_equal(kb_context *ctx, size_t features, const unsigned char *level,
                          const kb_law *law, double sigma, kb_widths *out) {
    kb_status status = make(ctx, 1, features, out);
    for (size_t j = 0; status == KB_OK && j < features; j++)
        out->width[j] = level && level[j]
                            ? (kb_width){kb_law_levels(), KB_RULE_LEVELS_SIGMA * sigma, 1}
                            : (kb_width){law, sigma, 1};
    return status;
}

kb_status kb_widths_copy(kb_context *ctx, const kb_widths *from, kb_widths *out) {
    kb_status status = make(ctx, from->vectors, from->features, out);
    if (status == KB_OK)
        memcpy(out->width, from->width, from->vectors * from->features * sizeof *out->width);
    return status;
}

kb_status kb_widths_join(kb_context *ctx, const kb_widths *a, const kb_widths *b, kb_widths *out) {
    size_t count = a->vectors * a->features, more = b->vectors * b->features;
    kb_status status = make(ctx, a->vectors + b->vectors, a->features, out);
    if (status != KB_OK)
        return status;
    memcpy(out->width, a->width, count * sizeof *out->width);
    memcpy(out->width + count, b->width, more * sizeof *out->width);
    return KB_OK;
}

void kb_widths_multiply(kb_widths *w, double factor) {
    for (size_t k = 0; k < w->vectors * w->features; k++)
        w->width[k].sigma *= factor;
}
