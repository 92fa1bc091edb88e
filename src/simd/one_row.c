/* one_row.c - see one_row.h. */
#include "simd/one_row.h"
#include "simd/contribution.h"

extern const kb_one_row_loops KB_OF_LEVEL(kb_one_row_loops);

/* Blocks of grids between the prefetch of their lines and the search in them. */
enum { AHEAD = 4 };

INLINE void compute_keys(const kb_one_row *row, const double *y, size_t block, uint64_t *keys) {
    keys_t sum = {0};
    const double *p = row->parameter + block * row->features * 2 * KB_LANES;
    for (size_t j = 0; j < row->features; j++, p += 2 * KB_LANES)
        sum += contribution(y[j], p, row->factor[j]);
    store_keys(sum, 1, keys);
}

INLINE void mask_keys(const kb_one_row *row, size_t block, uint64_t *keys) {
    keys_t key, mask;
    memcpy(&key, keys, sizeof key);
    memcpy(&mask, row->mask + block * KB_LANES, sizeof mask);
    key &= mask;
    memcpy(keys, &key, sizeof key);
}

/* The lines of the keys of a block, which are prefetched. */
INLINE void find_lines(const kb_one_row *row, size_t block, const uint64_t *keys,
                       const kb_key_line **lines) {
    keys_t key, first, count;
    memcpy(&key, keys, sizeof key);
    memcpy(&first, row->first + block * KB_LANES, sizeof first);
    memcpy(&count, row->count + block * KB_LANES, sizeof count);
    first += ((key >> 32) * count) >> 32; /* kb_line_of */
    for (int k = 0; k < KB_LANES; k++) {
        lines[k] = row->line + first[k];
        __builtin_prefetch(lines[k]);
    }
}

/* A bit for each key of the line that is the one sought. */
INLINE unsigned matches(const kb_key_line *line, uint64_t key) {
#ifdef __AVX512DQ__
    return _mm512_cmpeq_epi64_mask(_mm512_load_si512(line), _mm512_set1_epi64((long long)key)) &
           ((1U << KB_LINE_KEYS) - 1);
#else
    unsigned found = 0;
    for (int k = 0; k < KB_LINE_KEYS; k++)
        found |= (unsigned)(line->key[k] == key) << k;
    return found;
#endif
}

/* Whether the key is known, and its value; else 0. */
INLINE uint32_t look_up(const kb_one_row *row, const kb_key_line *line, uint64_t key,
                        uint32_t *value) {
    unsigned found = matches(line, key);
    while (__builtin_expect(!found && line->more, 0)) {
        line = row->line + line->more;
        found = matches(line, key);
    }
    /* Without a branch, which would often be mispredicted: no match reads the last value. */
    uint32_t known = found != 0;
    *value = line->value[__builtin_ctz(found | 1U << (KB_LINE_KEYS - 1))] & -known;
    return known;
}

/* Keys of a block are computed and their lines prefetched AHEAD blocks before these are searched,
 * and take the places of those that were. */
INLINE size_t walk(const kb_one_row *row, const double *y, uint64_t *keys, uint32_t *values,
                   double *sum) {
    const kb_key_line *lines[AHEAD * KB_LANES];
    size_t known = 0;
    double total = 0;
    for (size_t b = 0; b < row->blocks + AHEAD; b++) {
        const kb_key_line **at = lines + b % AHEAD * KB_LANES;
        for (size_t k = 0; b >= AHEAD && k < KB_LANES; k++) {
            size_t r = (b - AHEAD) * KB_LANES + k;
            uint32_t value, is_known = look_up(row, at[k], keys[r], &value);
            known += is_known;
            if (values) {
                values[r] = is_known ? value : UINT32_MAX;
            } else {
                float w;
                memcpy(&w, &value, sizeof w);
                total += w; /* 0 where it is not known: a sum from +0 on does not change */
            }
        }
        if (b >= row->blocks)
            continue;
        if (y)
            compute_keys(row, y, b, keys + b * KB_LANES);
        if (row->mask)
            mask_keys(row, b, keys + b * KB_LANES);
        find_lines(row, b, keys + b * KB_LANES, at);
    }
    if (sum)
        *sum = total;
    return known;
}

static size_t find(const kb_one_row *row, const double *y, uint64_t *keys, uint32_t *value) {
    return walk(row, y, keys, value, NULL);
}

static size_t sum(const kb_one_row *row, const double *y, uint64_t *keys, double *total) {
    return walk(row, y, keys, NULL, total);
}

const kb_one_row_loops KB_OF_LEVEL(kb_one_row_loops) = {.find = find, .sum = sum};
