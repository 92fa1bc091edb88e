/* merge.c - see merge.h. */
#include "update/merge.h"

#include <string.h>

/* Bins of grid r in both together, in the order of their keys; key: their keys, or NULL to count
 * them; from_fresh, from_old: where each stands there, or -1. */
typedef struct places {
    uint64_t *key;
    int64_t *fresh, *old;
} places;

static size_t merge_grid(const kb_dictionary *a, const kb_dictionary *b, size_t r, places *p) {
    size_t i = a->start[r], j = b->start[r], count = 0;
    while (i < a->start[r + 1] || j < b->start[r + 1]) {
        int from_a = i < a->start[r + 1] && (j == b->start[r + 1] || a->key[i] <= b->key[j]);
        int from_b = j < b->start[r + 1] && (i == a->start[r + 1] || b->key[j] <= a->key[i]);
        if (p) {
            p->key[count] = from_a ? a->key[i] : b->key[j];
            p->fresh[count] = from_a ? (int64_t)i : -1;
            p->old[count] = from_b ? (int64_t)j : -1;
        }
        i += (size_t)from_a;
        j += (size_t)from_b;
        count++;
    }
    return count;
}

kb_status kb_merge_bins(kb_context *ctx, const kb_model *old, const kb_dictionary *fresh,
                        const float *weight, kb_dictionary *out, float **merged) {
    kb_status status;
    const kb_dictionary *known = &old->map->dictionary;
    size_t R = fresh->grids, C = old->info.outputs;
    uint64_t *start = NULL;
    places all = {0};
    *merged = NULL;
    *out = (kb_dictionary){0};
    TRY(kb_alloc(ctx, R + 1, sizeof *start, &start));
    start[0] = 0;
    for (size_t r = 0; r < R; r++)
        start[r + 1] = start[r] + merge_grid(fresh, known, r, NULL);
    TRY(kb_alloc(ctx, start[R], sizeof *all.key, &all.key));
    TRY(kb_alloc(ctx, start[R], sizeof *all.fresh, &all.fresh));
    TRY(kb_alloc(ctx, start[R], sizeof *all.old, &all.old));
    TRY(kb_alloc(ctx, start[R] * C, sizeof **merged, merged));
    for (size_t r = 0; r < R; r++) {
        places grid = {all.key + start[r], all.fresh + start[r], all.old + start[r]};
        merge_grid(fresh, known, r, &grid);
    }
    for (size_t k = 0; k < start[R]; k++)
        memcpy(*merged + k * C,
               all.fresh[k] >= 0 ? weight + (size_t)all.fresh[k] * C
                                 : old->weight + (size_t)all.old[k] * C,
               C * sizeof **merged);
    TRY(kb_dictionary_of_keys(ctx, R, start, all.key, out));
    start = all.key = NULL; /* they are the dictionary's */
done:
    kb_release(ctx, start);
    kb_release(ctx, all.key);
    kb_release(ctx, all.fresh);
    kb_release(ctx, all.old);
    if (status != KB_OK) {
        kb_release(ctx, *merged);
        *merged = NULL;
    }
    return status;
}
