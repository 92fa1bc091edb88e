/*
 * binmat_subset.c - Z for some of its rows, with the bins it has.
 *
 * Of a bundle that is stored by tuples, the tuples of these rows are renumbered; if there are too
 * many of them for so few rows, the bins of the rows are stored directly.
 */
#include "features/binmat.h"

#include <string.h>

enum { NONE = UINT32_MAX };

typedef struct picker {
    kb_context *ctx;
    const kb_binmat *from;
    kb_binmat *to;
    const uint32_t *rows;
    uint32_t *tuple; /* rows x KB_GROUP: the new number of each row's tuple */
    uint32_t *known; /* by old number: the new one, or NONE */
    uint32_t *old;   /* by new number, of one group */
} picker;

/* to = from's entries `which`, `count` of them. */
static kb_status pick(kb_context *ctx, const kb_id_group *from, const uint32_t *which, size_t count,
                      kb_id_group *to) {
    to->bits = from->bits;
    kb_status status = kb_alloc(ctx, count, kb_id_row_bytes(to->bits), &to->ids);
    if (status != KB_OK)
        return status;
    const unsigned char *source = from->ids;
    unsigned char *place = to->ids;
    if (to->bits == 8)
        for (size_t i = 0; i < count; i++)
            memcpy(place + i * 4, source + (size_t)which[i] * 4, 4);
    else if (to->bits == 16)
        for (size_t i = 0; i < count; i++)
            memcpy(place + i * 8, source + (size_t)which[i] * 8, 8);
    else if (to->bits == 18)
        for (size_t i = 0; i < count; i++)
            memcpy(place + i * 9, source + (size_t)which[i] * 9, 9);
    else if (to->bits == 24)
        for (size_t i = 0; i < count; i++)
            memcpy(place + i * 12, source + (size_t)which[i] * 12, 12);
    else
        for (size_t i = 0; i < count; i++)
            memcpy(place + i * 16, source + (size_t)which[i] * 16, 16);
    return KB_OK;
}

/* Numbers the tuples of group g of the bundle in the order in which the rows have them. */
static size_t number(picker *p, const kb_id_group *bundle, size_t q, size_t g) {
    size_t count = 0;
    memset(p->known, 0xff, p->from->tuples[q] * sizeof *p->known);
    for (size_t i = 0; i < p->to->rows; i++) {
        size_t t = kb_id_at(bundle, p->rows[i], g);
        if (p->known[t] == NONE)
            p->known[t] = (uint32_t)count++;
        p->tuple[i * KB_GROUP + g] = p->known[t];
    }
    return count;
}

/* The old numbers of group g's tuples, in the order of the new ones. */
static void list_old(picker *p, const kb_id_group *bundle, size_t g) {
    for (size_t i = 0; i < p->to->rows; i++)
        p->old[p->tuple[i * KB_GROUP + g]] = (uint32_t)kb_id_at(bundle, p->rows[i], g);
}

static kb_status keep_tuples(picker *p, size_t b, size_t most) {
    kb_id_group *to = &p->to->bundle[b];
    size_t rows = p->to->rows;
    to->bits = kb_id_bits(most);
    kb_status status = kb_alloc(p->ctx, rows, kb_id_row_bytes(to->bits), &to->ids);
    if (status != KB_OK)
        return status;
    for (size_t i = 0; i < rows; i++)
        kb_id_put(to->ids, to->bits, i, p->tuple + i * KB_GROUP);
    return KB_OK;
}

static kb_status pick_bundle(picker *p, size_t b) {
    kb_status status = KB_OK;
    const kb_binmat *z = p->from;
    const kb_id_group *bundle = &z->bundle[b];
    size_t first = b * KB_GROUP, sum = 0, most = 1, count[KB_GROUP];
    size_t groups = z->groups - first < KB_GROUP ? z->groups - first : KB_GROUP;
    memset(p->tuple, 0, p->to->rows * KB_GROUP * sizeof *p->tuple);
    for (size_t g = 0; bundle->ids && g < groups; g++) {
        count[g] = number(p, bundle, first + g, g);
        sum += count[g];
        most = count[g] > most ? count[g] : most;
    }
    int pays = bundle->ids && kb_tuples_pay(sum, groups * p->to->rows, 0);
    if (pays)
        TRY(keep_tuples(p, b, most));
    for (size_t g = 0; g < groups; g++) {
        const uint32_t *which = bundle->ids ? p->old : p->rows;
        size_t q = first + g, kept = pays ? count[g] : p->to->rows;
        if (pays)
            list_old(p, bundle, g);
        for (size_t i = 0; bundle->ids && !pays && i < kept; i++)
            p->old[i] = (uint32_t)kb_id_at(bundle, p->rows[i], g);
        p->to->tuples[q] = kept;
        TRY(pick(p->ctx, &z->group[q], which, kept, &p->to->group[q]));
    }
done:
    return status;
}

kb_status kb_binmat_subset(kb_context *ctx, const kb_binmat *z, size_t count, const uint32_t *rows,
                           kb_binmat **out) {
    kb_status status;
    size_t most = 1;
    picker p = {.ctx = ctx, .from = z, .rows = rows};
    uint32_t *placed = NULL;
    *out = NULL;
    if (z->place) {
        TRY(kb_alloc(ctx, count, sizeof *placed, &placed));
        for (size_t i = 0; i < count; i++)
            placed[i] = z->place[rows[i]];
        p.rows = placed;
    }
    for (size_t q = 0; q < z->groups; q++)
        most = z->tuples[q] > most ? z->tuples[q] : most;
    TRY(kb_binmat_create(ctx, count, z->grids, z->R, &p.to));
    TRY(kb_alloc(ctx, count * KB_GROUP, sizeof *p.tuple, &p.tuple));
    TRY(kb_alloc(ctx, most, sizeof *p.known, &p.known));
    TRY(kb_alloc(ctx, count, sizeof *p.old, &p.old));
    p.to->simd = z->simd;
    p.to->bins = z->bins;
    memcpy(p.to->start, z->start, (z->grids + 1) * sizeof *z->start);
    for (size_t b = 0; b < z->bundles; b++)
        TRY(pick_bundle(&p, b));
    *out = p.to;
done:
    kb_release(ctx, p.tuple);
    kb_release(ctx, p.known);
    kb_release(ctx, p.old);
    kb_release(ctx, placed);
    if (status != KB_OK)
        kb_binmat_free(p.to);
    return status;
}
