/*
 * hybrid.h - rows that take some columns from one row and the others from another, and their
 * decisions: what permutation importance, partial dependence and contributions are made from.
 */
#ifndef KB_EXPLAIN_HYBRID_H
#define KB_EXPLAIN_HYBRID_H

#include "model/model.h"

typedef struct kb_hybrids {
    const kb_model *model;
    kb_data *rows;    /* rows->rows of them so far; dense if one of the sources is */
    size_t room;      /* the most rows */
    size_t entries;   /* room for entries of compressed rows */
    double *decision; /* room x outputs, of kb_hybrids_decide */
} kb_hybrids;

/* Room for some rows, at most `most`, made from those of x and z, which have as many features as
 * the model and must outlive it.  Some MiB.  Release it also after a failure. */
kb_status kb_hybrids_create(kb_context *ctx, const kb_model *model, const kb_data *x,
                            const kb_data *z, size_t most, kb_hybrids *out);
void kb_hybrids_release(kb_context *ctx, kb_hybrids *h);

/* Adds row i of x with the columns that `from_z` marks, features bytes, as in row k of z.  There
 * must be room. */
void kb_hybrids_add(kb_hybrids *h, const kb_data *x, size_t i, const kb_data *z, size_t k,
                    const unsigned char *from_z);
static inline int kb_hybrids_full(const kb_hybrids *h) {
    return h->rows->rows == h->room;
}

/* The decisions of all rows added.  kb_hybrids_clear then starts anew. */
kb_status kb_hybrids_decide(kb_context *ctx, kb_hybrids *h);
static inline void kb_hybrids_clear(kb_hybrids *h) {
    h->rows->rows = 0;
}

#endif
