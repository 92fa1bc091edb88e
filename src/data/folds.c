/*
 * folds.c - see folds.h.
 *
 * Rows are assigned along an order of the rows.  In a random order, place p goes to fold p mod K.
 * With a stable sort by class, the same rule also divides each class evenly, since the places of a
 * class follow each other.  So does the rule for one part, where the places up to p hold round(p
 * share) rows of it.
 */
#include "data/folds.h"
#include "core/random.h"

#include <math.h>
#include <string.h>

/* What is being asked for. */
typedef struct request {
    size_t folds; /* 0: one part */
    size_t size;  /* of the one part: 1 .. rows - 1 */
    uint64_t seed;
    size_t rows;
} request;

/* ---- orders ------------------------------------------------------------ */

static uint32_t largest(size_t count, const uint32_t *key) {
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = key[i] > most ? key[i] : most;
    return most;
}

/* Sorts the items by their keys, all at most `most`; those with the same key stay in their order.
 * sorted: count.  end: most + 1, place behind the last item of each key. */
static void sort_by_key(size_t count, const uint32_t *order, const uint32_t *key, size_t most,
                        uint32_t *sorted, size_t *end) {
    size_t before = 0;
    memset(end, 0, (most + 1) * sizeof *end);
    for (size_t i = 0; i < count; i++)
        end[key[i]]++;
    for (size_t k = 0; k <= most; k++) {
        size_t size = end[k];
        end[k] = before;
        before += size;
    }
    for (size_t i = 0; i < count; i++)
        sorted[end[key[order[i]]]++] = order[i];
}

/* ---- rows -------------------------------------------------------------- */

static void deal_in_turn(size_t count, const uint32_t *order, size_t folds, uint8_t *fold) {
    for (size_t p = 0; p < count; p++)
        fold[order[p]] = (uint8_t)(p % folds);
}

static kb_status split_random(kb_context *ctx, const request *r, uint8_t *fold) {
    kb_status status;
    uint32_t *order;
    TRY(kb_alloc(ctx, r->rows, sizeof *order, &order));
    size_t places = r->folds > 0 ? r->rows : r->size;
    kb_random_order(r->seed, KB_STREAM_SHUFFLE, 0, r->rows, places, order);
    deal_in_turn(places, order, r->folds > 0 ? r->folds : 1, fold);
    kb_release(ctx, order);
done:
    return status;
}

static void split_time(const request *r, uint8_t *fold) {
    if (r->folds == 0) {
        memset(fold + (r->rows - r->size), 0, r->size);
        return;
    }
    size_t blocks = r->folds + 1;
    for (size_t k = 0; k < r->folds; k++) {
        size_t begin = (k + 1) * r->rows / blocks, end = (k + 2) * r->rows / blocks;
        memset(fold + begin, (int)k, end - begin);
    }
}

/* ---- classes ----------------------------------------------------------- */

/* order: sorted by class; end: place behind each of the classes.  Classes of one row are left out
 * of the count, and of the part. */
static kb_status hold_out_shares(kb_context *ctx, const request *r, size_t classes,
                                 const uint32_t *order, const size_t *end, uint8_t *fold) {
    size_t able = 0, seen = 0, taken = 0;
    for (size_t c = 0, begin = 0; c < classes; begin = end[c++])
        able += end[c] - begin > 1 ? end[c] - begin : 0;
    if (able == 0)
        return kb_fail(ctx, KB_ERR_DATA, "every class has one row only, so none can be held out");
    double share = fmax(1, round((double)r->size * (double)able / (double)r->rows)) / (double)able;
    for (size_t c = 0, begin = 0; c < classes; begin = end[c++]) {
        size_t count = end[c] - begin;
        if (count < 2)
            continue;
        seen += count;
        size_t due = (size_t)round(share * (double)seen) - taken;
        taken += due;
        deal_in_turn(due < count ? due : count - 1, order + begin, 1, fold);
    }
    return KB_OK;
}

static kb_status split_stratified(kb_context *ctx, const request *r, const uint32_t *stratum,
                                  uint8_t *fold) {
    kb_status status;
    size_t last = largest(r->rows, stratum), *end = NULL;
    uint32_t *order = NULL, *sorted = NULL;
    TRY(kb_alloc(ctx, r->rows, sizeof *order, &order));
    TRY(kb_alloc(ctx, r->rows, sizeof *sorted, &sorted));
    TRY(kb_alloc(ctx, last + 1, sizeof *end, &end));
    kb_random_order(r->seed, KB_STREAM_SHUFFLE, 0, r->rows, r->rows, order);
    sort_by_key(r->rows, order, stratum, last, sorted, end);
    if (r->folds > 0)
        deal_in_turn(r->rows, sorted, r->folds, fold);
    else
        TRY(hold_out_shares(ctx, r, last + 1, sorted, end, fold));
done:
    kb_release(ctx, order);
    kb_release(ctx, sorted);
    kb_release(ctx, end);
    return status;
}

/* ---- groups ------------------------------------------------------------ */

/* All numbers up to the largest, whether or not a row has them. */
typedef struct groups {
    size_t count, used; /* used: those that have rows */
    uint32_t *size;     /* count */
    uint32_t *order;    /* count: random */
    uint8_t *fold;      /* count */
} groups;

static kb_status check_groups(kb_context *ctx, size_t used, size_t folds) {
    if (used == 1)
        return kb_fail(ctx, KB_ERR_DATA,
                       "all rows are of one group, so none can be held out without the others");
    if (used < folds)
        return kb_fail(ctx, KB_ERR_DATA, "%zu groups cannot be dealt out to %zu folds", used,
                       folds);
    return KB_OK;
}

static kb_status prepare_groups(kb_context *ctx, const request *r, const uint32_t *group,
                                groups *g) {
    kb_status status;
    g->count = (size_t)largest(r->rows, group) + 1;
    TRY(kb_zalloc(ctx, g->count, sizeof *g->size, &g->size));
    for (size_t i = 0; i < r->rows; i++)
        g->used += g->size[group[i]]++ == 0;
    TRY(check_groups(ctx, g->used, r->folds));
    TRY(kb_alloc(ctx, g->count, sizeof *g->order, &g->order));
    TRY(kb_alloc(ctx, g->count, sizeof *g->fold, &g->fold));
    kb_random_order(r->seed, KB_STREAM_SHUFFLE, 0, g->count, g->count, g->order);
    memset(g->fold, KB_FOLD_NONE, g->count);
done:
    return status;
}

/* Whether adding a group of that size to `held` rows, fewer than wanted, brings them closer to
 * the number wanted. */
static int brings_nearer(size_t size, size_t held, size_t want) {
    size_t next = held + size;
    return next <= want || next - want < want - held;
}

static void hold_out_groups(const request *r, groups *g) {
    size_t held = 0, taken = 0, least = SIZE_MAX;
    uint32_t smallest = 0;
    for (size_t p = 0; p < g->count && held < r->size; p++) {
        uint32_t k = g->order[p];
        if (g->size[k] == 0)
            continue;
        if (g->size[k] < least) {
            least = g->size[k];
            smallest = k;
        }
        if (taken + 1 < g->used && brings_nearer(g->size[k], held, r->size)) {
            g->fold[k] = 0;
            held += g->size[k];
            taken++;
        }
    }
    if (taken == 0)
        g->fold[smallest] = 0;
}

static kb_status deal_groups(kb_context *ctx, const request *r, groups *g) {
    kb_status status;
    size_t rows_of[KB_FOLDS_MAX] = {0}, most = largest(g->count, g->size), *end = NULL;
    uint32_t *sorted = NULL;
    TRY(kb_alloc(ctx, g->count, sizeof *sorted, &sorted));
    TRY(kb_alloc(ctx, most + 1, sizeof *end, &end));
    sort_by_key(g->count, g->order, g->size, most, sorted, end);
    for (size_t p = g->count; p-- > g->count - g->used;) {
        size_t emptiest = 0;
        for (size_t k = 1; k < r->folds; k++)
            if (rows_of[k] < rows_of[emptiest])
                emptiest = k;
        g->fold[sorted[p]] = (uint8_t)emptiest;
        rows_of[emptiest] += g->size[sorted[p]];
    }
done:
    kb_release(ctx, sorted);
    kb_release(ctx, end);
    return status;
}

static kb_status split_groups(kb_context *ctx, const request *r, const uint32_t *group,
                              uint8_t *fold) {
    kb_status status;
    groups g = {0};
    TRY(prepare_groups(ctx, r, group, &g));
    if (r->folds > 0)
        TRY(deal_groups(ctx, r, &g));
    else
        hold_out_groups(r, &g);
    for (size_t i = 0; i < r->rows; i++)
        fold[i] = g.fold[group[i]];
done:
    kb_release(ctx, g.size);
    kb_release(ctx, g.order);
    kb_release(ctx, g.fold);
    return status;
}

/* ---- all of them ------------------------------------------------------- */

static kb_status check(kb_context *ctx, kb_split_kind kind, size_t folds, double share, size_t rows,
                       const uint32_t *stratum, const uint32_t *group) {
    size_t need = folds == 0 ? 2 : kind == KB_SPLIT_TIME ? folds + 1 : folds;
    if (folds == 0 && !(share > 0 && share < 1))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "a share of %g: must be above 0 and below 1", share);
    if (folds == 1 || folds > KB_FOLDS_MAX)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%zu fold%s: must be from 2 to %d", folds,
                       folds == 1 ? "" : "s", KB_FOLDS_MAX);
    if (kind == KB_SPLIT_STRATIFIED && !stratum)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "a stratified split is for classification");
    if (kind == KB_SPLIT_GROUP && !group)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "a split by groups needs data that say which group each row is of");
    if (rows >= need)
        return KB_OK;
    if (folds == 0)
        return kb_fail(ctx, KB_ERR_DATA, "%zu row%s cannot be split in two", rows,
                       rows == 1 ? "" : "s");
    return kb_fail(ctx, KB_ERR_DATA, "%zu row%s: too few for %zu folds%s", rows,
                   rows == 1 ? "" : "s", folds,
                   kind == KB_SPLIT_TIME ? " and the rows before the first" : "");
}

static size_t size_of_part(double share, size_t most, size_t rows) {
    size_t size = (size_t)(share * (double)rows);
    most = most < rows ? most : rows - 1;
    size = size < most ? size : most;
    return size > 0 ? size : 1;
}

kb_split_kind kb_split_resolve(kb_split_kind asked, size_t classes, size_t rows) {
    if (asked != KB_SPLIT_AUTO)
        return asked;
    return classes && rows > classes ? KB_SPLIT_STRATIFIED : KB_SPLIT_RANDOM;
}

kb_status kb_folds_build(kb_context *ctx, kb_split_kind kind, size_t folds, double share,
                         size_t most, uint64_t seed, size_t rows, const uint32_t *stratum,
                         const uint32_t *group, kb_folds *out) {
    kb_status status;
    *out = (kb_folds){.rows = rows, .folds = folds > 0 ? folds : 1};
    out->ordered = kind == KB_SPLIT_TIME;
    TRY(check(ctx, kind, folds, share, rows, stratum, group));
    request r = {.folds = folds, .seed = seed, .rows = rows};
    if (folds == 0)
        r.size = size_of_part(share, most, rows);
    TRY(kb_alloc(ctx, rows, sizeof *out->fold, &out->fold));
    memset(out->fold, KB_FOLD_NONE, rows);
    switch (kind) {
    case KB_SPLIT_AUTO:
    case KB_SPLIT_RANDOM:
        TRY(split_random(ctx, &r, out->fold));
        break;
    case KB_SPLIT_STRATIFIED:
        TRY(split_stratified(ctx, &r, stratum, out->fold));
        break;
    case KB_SPLIT_GROUP:
        TRY(split_groups(ctx, &r, group, out->fold));
        break;
    case KB_SPLIT_TIME:
        split_time(&r, out->fold);
        break;
    }
done:
    return status;
}

void kb_folds_release(kb_context *ctx, kb_folds *folds) {
    kb_release(ctx, folds->fold);
    *folds = (kb_folds){0};
}
