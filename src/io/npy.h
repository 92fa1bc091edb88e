/*
 * npy.h - arrays of numbers from files of NumPy: .npy, and .npz with the features and their labels.
 *
 * A .npy holds one array of 2 dimensions, a row for each sample.  A .npz is a zip file of such
 * arrays by name: X, x, data or arr_0 has the features, and y, label, labels or target, if it is
 * there, the labels, of 1 dimension.
 */
#ifndef KB_IO_NPY_H
#define KB_IO_NPY_H

#include "core/memory.h"

typedef struct kb_npy {
    size_t rows, columns;
    double *cell; /* rows x columns, row after row; NaN: missing.  Labels of a .npz come last */
} kb_npy;

/* Reads `path` ("-": standard input), which may be compressed as text files may.  Integers,
 * booleans and floats of 4 and 8 bytes, in the order of C or Fortran.  KB_ERR_DATA for other
 * arrays, infinite values and damaged files.  Clear it also after a failure. */
kb_status kb_npy_read(kb_context *ctx, const char *path, kb_npy *out);
void kb_npy_clear(kb_context *ctx, kb_npy *npy);

#endif
