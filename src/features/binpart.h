/*
 * binpart.h - some rows of a bundle of grids, with bins and tuples numbered for themselves.
 *
 * A part knows nothing of other rows, so threads can number the parts of a bundle at the same time.
 * What is found is then numbered for all rows, part after part (binmat_bundle.h): a number is
 * looked up once for each bin and tuple of the part instead of once for each row.
 */
#ifndef KB_FEATURES_BINPART_H
#define KB_FEATURES_BINPART_H

#include "features/binkeys.h"
#include "features/bintable.h"

/* Grids of a bundle: KB_GROUP groups of KB_GROUP. */
enum { KB_BUNDLE = KB_GROUP * KB_GROUP };

/* The most rows of a part: 16 bits hold any number in it, and 64 bits the four bins of a tuple. */
enum { KB_PART_ROWS = 1 << 16 };
/* Rows that are worked on at a time. */
enum { KB_PART_CHUNK = 4096 };

typedef struct kb_binpart {
    size_t begin, rows;
    /* The bins of grid k are bin_start[k] up to bin_start[k + 1]; every grid has one at least. */
    size_t bin_start[KB_BUNDLE + 1];
    uint64_t *key;
    uint32_t *samples; /* in each bin */
    uint32_t *bin;     /* the number of each among those of all rows: for who merges the parts */
    size_t key_room, samples_room, bin_room;
    /* Likewise the tuples of group g.  Without tuples every row counts as one, and `row` is not
     * used. */
    int has_tuples;
    size_t tuple_start[KB_GROUP + 1];
    uint64_t *four;  /* the bins of each, 16 bits a grid */
    uint32_t *tuple; /* the number of each among those of all rows */
    size_t four_room, tuple_room;
    uint16_t *row; /* rows x KB_GROUP: the tuple of each row */
    size_t row_room;
} kb_binpart;

static inline size_t kb_binpart_bin(uint64_t four, size_t lane) {
    return four >> 16 * lane & 0xffff;
}

/* What one thread needs to number parts. */
typedef struct kb_binpart_maker kb_binpart_maker;
/* order[i] is the row of the data that is row i here; NULL: row i. */
kb_status kb_binpart_maker_create(kb_context *ctx, const kb_data *data, const uint32_t *order,
                                  kb_binpart_maker **out);
void kb_binpart_maker_free(kb_context *ctx, kb_binpart_maker *maker);

/* Bins part->rows rows from part->begin on in the grids of the bundle.  After each chunk of `rows`
 * it calls step(arg, rows), unless that is NULL, and stops if the result is not KB_OK. */
kb_status kb_binpart_number(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                            size_t bundle, int with_tuples, kb_binpart_maker *maker,
                            kb_status (*step)(void *arg, size_t rows), void *arg, kb_binpart *part);
void kb_binpart_release(kb_context *ctx, kb_binpart *part);

#endif
