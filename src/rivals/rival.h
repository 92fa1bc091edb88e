/*
 * rival.h - the rivals of random binning, behind one interface.
 *
 *   fourier   z(x) = sqrt(2/R) cos(w'x + b), R random frequencies w of the kernel's spectrum
 *   nystrom   z(x) = L^-1 k(landmarks, x), L L' = the kernel between R landmarks
 *   blocks    the kernel within blocks of at most about R samples, and 0 between them
 *   exact     the kernel itself
 *
 * A rival gives the training rows as an operator (operator.h), so every solver works with it; w =
 * Z' alpha, from apply_t, is all that a prediction needs beside the rival: f(x) = z(x)'w.  The last
 * two have no Z: there "Z' alpha" is alpha in the rival's own order of the samples, and "Z w" the
 * kernel times it; K v = Z (Z' v) holds all the same.
 *
 * All numbers depend on the data and the specification only, never on threads, on the CPU, or on
 * whether intermediate results were stored or computed again.
 */
#ifndef KB_RIVALS_RIVAL_H
#define KB_RIVALS_RIVAL_H

#include "rivals/rival_type.h"

/* What a rival takes, before any work. */
typedef struct kb_rival_bytes {
    double map;      /* the rival itself */
    double building; /* while it is learned */
    double stored;   /* the operator, beside `product`, if what it needs is stored */
    double product;  /* a product or a decision with C columns, at its peak */
    double solve;    /* a direct solution */
} kb_rival_bytes;
kb_rival_bytes kb_rival_forecast(const kb_context *ctx, const kb_rival_spec *spec,
                                 const kb_data *data, size_t C);

/* *out belongs to the caller (kb_rival_free); on failure it is NULL.  The specification is copied.
 */
kb_status kb_rival_build(kb_context *ctx, const kb_rival_spec *spec, const kb_data *data,
                         kb_rival **out);
void kb_rival_free(kb_rival *rival);

/* The training rows: `data` as given to kb_rival_build, which must outlive the operator, as the
 * rival must.  What each product needs is kept if it takes at most `room` bytes, else computed
 * again by each. */
kb_status kb_rival_operator(kb_context *ctx, const kb_rival *rival, const kb_data *data,
                            size_t room, kb_operator **out);

/* out (rows x C) = Z w for other samples, w being D x C. */
kb_status kb_rival_decide(kb_context *ctx, const kb_rival *rival, const kb_data *data, size_t C,
                          const double *w, double *out);

/* The same for dense rows one at a time, in memory made beforehand and on the caller's thread.  w
 * is copied; the rival must outlive it.  On failure *out is NULL. */
typedef struct kb_rival_row kb_rival_row;
kb_status kb_rival_row_create(kb_context *ctx, const kb_rival *rival, size_t C, const double *w,
                              kb_rival_row **out);
void kb_rival_row_decide(kb_rival_row *row, const double *x, double *out);
void kb_rival_row_free(kb_rival_row *row);

/* out (rows x D) = Z for other samples.  KB_ERR_ARGUMENT for blocks and exact, which have none. */
kb_status kb_rival_features(kb_context *ctx, const kb_rival *rival, const kb_data *data,
                            double *out);

/* ---- as named arrays --------------------------------------------------- */

typedef enum kb_array_type { KB_ARRAY_F64, KB_ARRAY_I64, KB_ARRAY_I32 } kb_array_type;

typedef struct kb_array {
    const char *name;
    kb_array_type type;
    size_t rank, shape[2];
    const void *bytes;
} kb_array;

/* The arrays that make up a rival, which keeps them; at most KB_RIVAL_ARRAYS. */
enum { KB_RIVAL_ARRAYS = 16 };
size_t kb_rival_arrays(const kb_rival *rival, kb_array *out);

/* A rival from such arrays, which are copied: KB_ERR_MODEL if they do not fit together.  `kernel`
 * is the name it was made with. */
kb_status kb_rival_restore(kb_context *ctx, kb_rival_kind kind, const char *kernel, size_t features,
                           size_t count, const kb_array *arrays, kb_rival **out);

#endif
