/* dictionary.c - see dictionary.h. */
#include "features/dictionary.h"
#include "core/team.h"

#include <string.h>

/* Bins that a bucket has at most on average: few where keys of 8 bytes are searched. */
enum { BINS_A_BUCKET = 2, TAILS_A_BUCKET = 8 };

/* The least power of two for so many. */
static size_t buckets_for(size_t bins, size_t most) {
    size_t buckets = 1;
    while (most * buckets < bins)
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
        bucket_start[r + 1] =
            bucket_start[r] + buckets_for(kb_binmat_bins_of(z, r), BINS_A_BUCKET) + 1;
    }
    TRY(kb_alloc(ctx, bucket_start[R], sizeof *bucket, &bucket));
    TRY(kb_alloc(ctx, z->bins, sizeof *key, &key));
    TRY(kb_alloc(ctx, z->bins, sizeof **order, order));
    *out = (kb_dictionary){R, z->bins, start, bucket_start, bucket, key, NULL, NULL};
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
    kb_allocator_release(allocator, (void *)d->tail);
    kb_allocator_release(allocator, (void *)d->skip);
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
        bucket_start[r + 1] =
            bucket_start[r] + buckets_for((size_t)(start[r + 1] - start[r]), BINS_A_BUCKET) + 1;
    TRY(kb_alloc(ctx, bucket_start[grids], sizeof *bucket, &bucket));
    *out =
        (kb_dictionary){grids, (size_t)start[grids], start, bucket_start, bucket, key, NULL, NULL};
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

/* ---- compact ------------------------------------------------------------ */

/* Places for the tails that are tried. */
enum { TRIES = 16 };

/* Pairs of bins of a grid with the same bucket and tail; counting ends at `enough`. */
static size_t count_twins(const uint64_t *key, size_t buckets, const uint32_t *bucket,
                          unsigned skip, size_t enough) {
    size_t twins = 0;
    for (size_t k = 0; k < buckets && twins < enough; k++)
        for (uint32_t i = bucket[k]; i < bucket[k + 1]; i++)
            for (uint32_t j = bucket[k]; j < i; j++)
                twins += kb_tail_of(key[i], skip) == kb_tail_of(key[j], skip);
    return twins;
}

/* The first place with the fewest twins: mostly right below the bits of the bucket. */
static unsigned choose_skip(const uint64_t *key, size_t buckets, const uint32_t *bucket) {
    unsigned first = (unsigned)__builtin_ctzll(buckets), last = first + TRIES - 1, best = first;
    size_t least = SIZE_MAX;
    last = last < 64 - KB_TAIL_BITS ? last : 64 - KB_TAIL_BITS;
    for (unsigned skip = first; skip <= last && least > 0; skip++) {
        size_t twins = count_twins(key, buckets, bucket, skip, least);
        if (twins < least) {
            least = twins;
            best = skip;
        }
    }
    return best;
}

/* The tails of a bucket, sorted. */
static void cut_bucket(const uint64_t *key, uint32_t begin, uint32_t end, unsigned skip,
                       uint16_t *tail, uint32_t *order) {
    for (uint32_t i = begin; i < end; i++) {
        uint16_t t = kb_tail_of(key[i], skip);
        uint32_t j = i;
        for (; j > begin && tail[j - 1] > t; j--) {
            tail[j] = tail[j - 1];
            order[j] = order[j - 1];
        }
        tail[j] = t;
        order[j] = i;
    }
}

typedef struct cutting {
    const kb_dictionary *from, *out;
    uint32_t *bucket, *order;
    uint16_t *tail;
    uint8_t *skip;
} cutting;

static void cut_grids(void *arg, size_t begin, size_t end) {
    const cutting *c = arg;
    for (size_t r = begin; r < end; r++) {
        size_t first = c->out->start[r], buckets = kb_dictionary_buckets(c->out, r);
        const uint64_t *key = c->from->key + first;
        uint32_t *bucket = c->bucket + c->out->bucket_start[r];
        select_grid(key, c->out->start[r + 1] - first, buckets, bucket);
        c->skip[r] = (uint8_t)choose_skip(key, buckets, bucket);
        for (size_t k = 0; k < buckets; k++)
            cut_bucket(key, bucket[k], bucket[k + 1], c->skip[r], c->tail + first,
                       c->order + first);
    }
}

kb_status kb_dictionary_cut(kb_context *ctx, const kb_dictionary *from, kb_dictionary *out,
                            uint32_t **order) {
    kb_status status;
    cutting c = {.from = from, .out = out};
    uint64_t *start = NULL, *bucket_start = NULL;
    size_t R = from->grids;
    *order = NULL;
    memset(out, 0, sizeof *out);
    TRY(kb_alloc(ctx, R + 1, sizeof *start, &start));
    TRY(kb_alloc(ctx, R + 1, sizeof *bucket_start, &bucket_start));
    memcpy(start, from->start, (R + 1) * sizeof *start);
    bucket_start[0] = 0;
    for (size_t r = 0; r < R; r++)
        bucket_start[r + 1] =
            bucket_start[r] + buckets_for(start[r + 1] - start[r], TAILS_A_BUCKET) + 1;
    TRY(kb_alloc(ctx, bucket_start[R], sizeof *c.bucket, &c.bucket));
    TRY(kb_alloc(ctx, from->bins, sizeof *c.tail, &c.tail));
    TRY(kb_alloc(ctx, R, sizeof *c.skip, &c.skip));
    TRY(kb_alloc(ctx, from->bins, sizeof *c.order, &c.order));
    *out = (kb_dictionary){R, from->bins, start, bucket_start, c.bucket, NULL, c.tail, c.skip};
    kb_team_for(ctx, R, 1, cut_grids, &c);
    *order = c.order;
done:
    if (status != KB_OK) {
        void *all[] = {start, bucket_start, c.bucket, c.tail, c.skip};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            kb_release(ctx, all[i]);
    }
    return status;
}

uint64_t kb_dictionary_mask(const kb_dictionary *d, size_t r) {
    int bits = __builtin_ctzll(kb_dictionary_buckets(d, r)); /* of a bucket */
    if (!d->tail)
        return UINT64_MAX;
    return (bits ? UINT64_MAX << (64 - bits) : 0) |
           UINT64_C(0xFFFF) << (64 - KB_TAIL_BITS) >> d->skip[r];
}

const uint64_t *kb_dictionary_keys(const kb_dictionary *d, size_t r, uint64_t *room) {
    if (!d->tail)
        return d->key + d->start[r];
    const uint32_t *bucket = d->bucket + d->bucket_start[r];
    const uint16_t *tail = d->tail + d->start[r];
    size_t buckets = kb_dictionary_buckets(d, r);
    int bits = __builtin_ctzll(buckets); /* of a bucket */
    for (size_t k = 0; k < buckets; k++)
        for (uint32_t i = bucket[k]; i < bucket[k + 1]; i++)
            room[i] = (bits ? (uint64_t)k << (64 - bits) : 0) |
                      (uint64_t)tail[i] << (64 - KB_TAIL_BITS) >> d->skip[r];
    return room;
}

size_t kb_dictionary_most_bins(const kb_dictionary *d) {
    size_t most = 0;
    for (size_t r = 0; r < d->grids; r++)
        most =
            most > d->start[r + 1] - d->start[r] ? most : (size_t)(d->start[r + 1] - d->start[r]);
    return most;
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
            d->bucket_start[r + 1] < d->bucket_start[r] + 2 || d->bucket_start[r + 1] > buckets ||
            (d->skip && d->skip[r] > 64 - KB_TAIL_BITS))
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
