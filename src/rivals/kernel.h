/*
 * kernel.h - kernels between samples, for the rival maps.
 *
 * Two families.  Product kernels are those of random binning (law.h): one factor a feature.
 * Isotropic ones see the Euclidean distance alone:
 *
 *     exponential   exp(-|x - y|)          gauss   exp(-|x - y|^2 / 2)
 *
 * All are for sigma = 1; points.h divides by sigma, which may differ between features.
 */
#ifndef KB_RIVALS_KERNEL_H
#define KB_RIVALS_KERNEL_H

#include "simd/simd.h"
#include "features/law.h"
#include "rivals/points.h"

typedef struct kb_kernel {
    kb_allocator allocator;
    kb_kernel_id kind;
    kb_law *law; /* NULL for an isotropic one */
} kb_kernel;

/* Of a name (options/kernel_name.h). */
kb_status kb_kernel_parse(kb_context *ctx, const char *text, kb_kernel **out);
/* The same for a kernel from a file: of a table only the knots are used, `knots` of them, and
 * copied. */
kb_status kb_kernel_restore(kb_context *ctx, const char *text, size_t knots, const double *knot,
                            const double *share, kb_kernel **out);
void kb_kernel_free(kb_kernel *kernel);

static inline int kb_kernel_is_isotropic(const kb_kernel *kernel) {
    return kernel->law == NULL;
}

/* Rows of a kernel matrix: out[i*ld + j] = k(a_{first_a + i}, b_{first_b + j}) for i < rows, j <
 * columns.  Differences are taken feature by feature, so close samples lose no digits and equal
 * ones give exactly 1.  One thread; `scratch` is memory for kb_kernel_scratch() numbers.  The same
 * bits for every cut into blocks, for dense and sparse points, and on every CPU. */
size_t kb_kernel_scratch(void);
void kb_kernel_block(const kb_kernel *kernel, const kb_tiles *tiles, const kb_points *a,
                     size_t first_a, size_t rows, const kb_points *b, size_t first_b,
                     size_t columns, double *scratch, double *out, size_t ld);

#endif
