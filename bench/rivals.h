/*
 * rivals.h - the plain implementations that kerbin is measured against.
 */
#ifndef KB_BENCH_RIVALS_H
#define KB_BENCH_RIVALS_H

#include "features/binmat.h"

/* Z as compressed sparse rows with 8-byte values and 4-byte columns. */
typedef struct csr {
    size_t rows, columns;
    size_t *start;
    uint32_t *column;
    double *value;
    double *sums; /* Z' v */
} csr;

kb_status csr_from_binmat(kb_context *ctx, const kb_binmat *z, csr *out);
void csr_release(kb_context *ctx, csr *m);
/* out = Z (Z' v), one thread. */
void csr_apply_k(csr *m, const double *v, double *out);

/* Reads LIBSVM text with getline, strtol and strtod into growing arrays; the number of
 * entries, or 0 on failure. */
size_t strtod_read(const char *path);

#endif
