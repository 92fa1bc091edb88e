/* dictionary.c - see dictionary.h. */
#include "features/dictionary.h"
#include "core/team.h"

#include <string.h>

/* As many buckets as a power of two allows with at most two bins in each on average. */
static size_t buckets_for(size_t bins) {
    size_t buckets = 1;
    while (2 * buckets < bins)
        buckets *= 2;
    return buckets;
}

/* Counts the bins of each bucket, places them, and sorts what shares a bucket. */
static void sort_grid(const uint64_t *from, size_t bins, size_t buckets, uint32_t *bucket,
                      uint64_t *key, uint32_t *order) {
    memset(bucket, 0, (buckets + 1) * sizeof *bucket);
    for (size_t b = 0; b < bins; b++)
        bucket[kb_bucket_of(from[b], buckets) + 1]++;
    for (size_t k = 0; k < buckets; k++)
        bucket[k + 1] += bucket[k];
    for (size_t b = bins; b-- > 0;) {
        /* bucket[k + 1] runs down from the end of bucket k to its beginning. */
        size_t at = --bucket[kb_bucket_of(from[b], buckets) + 1];
        key[at] = from[b];
        order[at] = (uint32_t)b;
    }
    /* Now bucket[k + 1] is where k begins: move it to its own place. */
    memmove(bucket, bucket + 1, buckets * sizeof *bucket);
    bucket[buckets] = (uint32_t)bins;
    for (size_t i = 1; i < bins; i++) {
        uint64_t k = key[i];
        uint32_t o = order[i];
        size_t j = i;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
            order[j] = order[j - 1];
        }
        key[j] = k;
        order[j] = o;
    }
}

typedef struct sorting {
    kb_context *ctx;
    kb_binmat *z;
    const kb_dictionary *out;
    uint32_t *bucket;
    uint64_t *key;
    uint32_t *order;
} sorting;

static void sort_grids(void *arg, size_t begin, size_t end) {
    sorting *s = arg;
    for (size_t r = begin; r < end; r++) {
        size_t first = s->out->start[r];
        sort_grid(s->z->key[r], kb_binmat_bins_of(s->z, r), kb_dictionary_buckets(s->out, r),
                  s->bucket + s->out->bucket_start[r], s->key + first, s->order + first);
        kb_release(s->ctx, s->z->key[r]);
        s->z->key[r] = NULL;
    }
}

kb_status kb_dictionary_build(kb_context *ctx, kb_binmat *z, kb_dictionary *out, uint32_t **order) {
    kb_status status;
    uint64_t *start = NULL, *bucket_start = NULL, *key = NULL;
    uint32_t *bucket = NULL;
    size_t R = z->grids;
    *order = NULL;
    memset(out, 0, sizeof *out);
    TRY(kb_alloc(ctx, R + 1, sizeof *start, &start));
    TRY(kb_alloc(ctx, R + 1, sizeof *bucket_start, &bucket_start));
    start[0] = bucket_start[0] = 0;
    for (size_t r = 0; r < R; r++) {
        start[r + 1] = z->start[r + 1];
        bucket_start[r + 1] = bucket_start[r] + buckets_for(kb_binmat_bins_of(z, r)) + 1;
    }
    TRY(kb_alloc(ctx, bucket_start[R], sizeof *bucket, &bucket));
    TRY(kb_alloc(ctx, z->bins, sizeof *key, &key));
    TRY(kb_alloc(ctx, z->bins, sizeof **order, order));
    *out = (kb_dictionary){R, z->bins, start, bucket_start, bucket, key};
    sorting all = {ctx, z, out, bucket, key, *order};
    kb_team_for(ctx, R, 1, sort_grids, &all);
done:
    if (status != KB_OK) {
        kb_release(ctx, start);
        kb_release(ctx, bucket_start);
        kb_release(ctx, bucket);
        kb_release(ctx, key);
        kb_release(ctx, *order);
        *order = NULL;
    }
    return status;
}

void kb_dictionary_release(kb_allocator allocator, kb_dictionary *d) {
    kb_allocator_release(allocator, (void *)d->start);
    kb_allocator_release(allocator, (void *)d->bucket_start);
    kb_allocator_release(allocator, (void *)d->bucket);
    kb_allocator_release(allocator, (void *)d->key);
    memset(d, 0, sizeof *d);
}

/* Keys stay in order, so only the buckets are counted again. */
static void select_grid(const uint64_t *key, size_t bins, size_t buckets, uint32_t *bucket) {
    memset(bucket, 0, (buckets + 1) * sizeof *bucket);
    for (size_t b = 0; b < bins; b++)
        bucket[kb_bucket_of(key[b], buckets) + 1]++;
    for (size_t k = 0; k < buckets; k++)
        bucket[k + 1] += bucket[k];
}

kb_status kb_dictionary_of_keys(kb_context *ctx, size_t grids, const uint64_t *start,
                                const uint64_t *key, kb_dictionary *out) {
    kb_status status;
    uint64_t *bucket_start = NULL;
    uint32_t *bucket = NULL;
    memset(out, 0, sizeof *out);
    TRY(kb_alloc(ctx, grids + 1, sizeof *bucket_start, &bucket_start));
    bucket_start[0] = 0;
    for (size_t r = 0; r < grids; r++)
        bucket_start[r + 1] = bucket_start[r] + buckets_for((size_t)(start[r + 1] - start[r])) + 1;
    TRY(kb_alloc(ctx, bucket_start[grids], sizeof *bucket, &bucket));
    *out = (kb_dictionary){grids, (size_t)start[grids], start, bucket_start, bucket, key};
    for (size_t r = 0; r < grids; r++)
        select_grid(key + start[r], (size_t)(start[r + 1] - start[r]),
                    kb_dictionary_buckets(out, r), bucket + bucket_start[r]);
done:
    if (status != KB_OK)
        kb_release(ctx, bucket_start);
    return status;
}

kb_status kb_dictionary_select(kb_context *ctx, const kb_dictionary *from, size_t grids,
                               const size_t *grid, const unsigned char *stays, kb_dictionary *out) {
    kb_status status;
    uint64_t *start = NULL, *key = NULL;
    size_t bins = 0;
    for (size_t b = 0; b < from->bins; b++)
        bins += stays[b] != 0;
    memset(out, 0, sizeof *out);
    TRY(kb_alloc(ctx, grids + 1, sizeof *start, &start));
    TRY(kb_alloc(ctx, bins, sizeof *key, &key));
    start[0] = 0;
    for (size_t r = 0; r < grids; r++) {
        start[r + 1] = start[r];
        for (size_t b = from->start[grid[r]]; b < from->start[grid[r] + 1]; b++)
            if (stays[b])
                key[start[r + 1]++] = from->key[b];
    }
    TRY(kb_dictionary_of_keys(ctx, grids, start, key, out));
done:
    if (status != KB_OK) {
        kb_release(ctx, start);
        kb_release(ctx, key);
    }
    return status;
}

static int grid_is_sound(const kb_dictionary *d, size_t r) {
    const uint32_t *bucket = d->bucket + d->bucket_start[r];
    size_t buckets = kb_dictionary_buckets(d, r);
    if ((buckets & (buckets - 1)) != 0 || bucket[0] != 0)
        return 0;
    for (size_t k = 0; k < buckets; k++)
        if (bucket[k] > bucket[k + 1])
            return 0;
    return bucket[buckets] == d->start[r + 1] - d->start[r];
}

int kb_dictionary_starts_are_sound(const kb_dictionary *d, size_t buckets) {
    if (d->start[0] != 0 || d->bucket_start[0] != 0 || d->start[d->grids] != d->bins ||
        d->bucket_start[d->grids] != buckets)
        return 0;
    for (size_t r = 0; r < d->grids; r++)
        if (d->start[r] > d->start[r + 1] || d->bucket_start[r] > buckets ||
            d->bucket_start[r + 1] < d->bucket_start[r] + 2 || d->bucket_start[r + 1] > buckets)
            return 0;
    return 1;
}

int kb_dictionary_is_sound(const kb_dictionary *d, size_t buckets) {
    if (!kb_dictionary_starts_are_sound(d, buckets))
        return 0;
    for (size_t r = 0; r < d->grids; r++)
        if (!grid_is_sound(d, r))
            return 0;
    return 1;
}
