/*
 * folds.h - validation rows: which rows are held out to measure what is learned from the others.
 *
 * Either one validation part, or K folds each of which is held out in turn: by a random order of
 * the rows; stratified, with the same share of each class; by whole groups; or by time, where later
 * rows are held out and earlier ones are learned from.  The result depends on the seed and the rows
 * alone.  O(rows), and for groups O(groups K) more; up to 16 bytes a row while they are built and 1
 * after.
 */
#ifndef KB_DATA_FOLDS_H
#define KB_DATA_FOLDS_H

#include "core/memory.h"
#include "options/choices.h"

#define KB_FOLD_NONE 255 /* the fold of a row that is never held out */
#define KB_FOLDS_MAX 254

typedef struct kb_folds {
    size_t rows, folds;
    int ordered;   /* fold k is learned from the folds before it, not from later ones */
    uint8_t *fold; /* rows: in which fold a row is held out, or KB_FOLD_NONE */
} kb_folds;

/*
 * `folds` = 0: one validation part (out->folds = 1) of `share` of the rows, 0 < share < 1, but at
 * least one and at most `most`; all others are KB_FOLD_NONE.
 *   stratified   the same share of each class up to one row; a class keeps at least one row
 *                outside, so a class of one row is never held out
 *   group        groups in random order as long as they bring the part nearer to its size, at
 *                least one and not all
 *   time         the last rows
 * `folds` = K, 2 or more: every row is in one of K folds.
 *   random       their sizes differ by at most one
 *   stratified   so do the numbers of rows of each class
 *   group        each group goes, the largest first, to the fold that is the smallest so far
 *   time         K + 1 blocks of consecutive rows, of which the first is KB_FOLD_NONE
 *
 * stratum: the class of each row, numbered from 0, for a stratified split; else it may be NULL.
 * group: likewise for a split by groups; numbers may be left out, but the memory taken grows with
 * the largest.  KB_ERR_DATA where there are too few rows or groups.  Release it also after a
 * failure.
 */
kb_status kb_folds_build(kb_context *ctx, kb_split_kind kind, size_t folds, double share,
                         size_t most, uint64_t seed, size_t rows, const uint32_t *stratum,
                         const uint32_t *group, kb_folds *out);
void kb_folds_release(kb_context *ctx, kb_folds *folds);

/* KB_SPLIT_AUTO is stratified for classes, unless each class may have one row only; else random. */
kb_split_kind kb_split_resolve(kb_split_kind asked, size_t classes, size_t rows);

/* Whether row i is held out in fold k. */
static inline int kb_folds_holds(const kb_folds *f, size_t i, size_t k) {
    return f->fold[i] == k;
}

/* Whether fold k is learned from row i. */
static inline int kb_folds_fits(const kb_folds *f, size_t i, size_t k) {
    if (f->ordered)
        return f->fold[i] == KB_FOLD_NONE || f->fold[i] < k;
    return f->fold[i] != k;
}

#endif
