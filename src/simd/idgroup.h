/*
 * idgroup.h - numbers of bins or tuples, KB_GROUP to a row, in as few bits as they need.
 *
 * The numbers of a row lie side by side.  With 18 bits, their low 16 bits come first, and then one
 * byte with the two high bits of each: a quarter less than three bytes a number.
 */
#ifndef KB_SIMD_IDGROUP_H
#define KB_SIMD_IDGROUP_H

#include "simd/bins.h"

#include <string.h>

/* The bits that numbers below `numbers` take. */
KB_BOTH static inline int kb_id_bits(size_t numbers) {
    return numbers <= 1u << 8    ? 8
           : numbers <= 1u << 16 ? 16
           : numbers <= 1u << 18 ? 18
           : numbers <= 1u << 24 ? 24
                                 : 32;
}

/* The bytes of a row. */
KB_BOTH static inline size_t kb_id_row_bytes(int bits) {
    return KB_GROUP * (size_t)bits / 8;
}

static inline size_t kb_id_group_bytes(const kb_id_group *g, size_t rows) {
    return rows * kb_id_row_bytes(g->bits);
}

/* One number of row i. */
KB_BOTH static inline uint32_t kb_id_get(const void *ids, int bits, size_t i, size_t lane) {
    const uint8_t *row = (const uint8_t *)ids + i * kb_id_row_bytes(bits);
    const uint8_t *at = row + lane * (size_t)(bits / 8);
    uint16_t low;
    uint32_t all;
    if (bits == 8)
        return *at;
    memcpy(&low, at, sizeof low);
    if (bits == 16)
        return low;
    if (bits == 18)
        return low | (uint32_t)(row[2 * KB_GROUP] >> 2 * lane & 3) << 16;
    if (bits == 24)
        return low | (uint32_t)at[2] << 16;
    memcpy(&all, at, sizeof all);
    return all;
}

/* All numbers of row i. */
KB_BOTH static inline void kb_id_put(void *ids, int bits, size_t i, const uint32_t *id) {
    uint8_t *row = (uint8_t *)ids + i * kb_id_row_bytes(bits), high = 0;
    for (size_t lane = 0; lane < KB_GROUP; lane++) {
        uint8_t *at = row + lane * (size_t)(bits / 8);
        uint16_t low = (uint16_t)id[lane];
        if (bits == 8)
            *at = (uint8_t)id[lane];
        else if (bits == 32)
            memcpy(at, &id[lane], sizeof id[lane]);
        else
            memcpy(at, &low, sizeof low);
        if (bits == 24)
            at[2] = (uint8_t)(id[lane] >> 16);
        high |= (uint8_t)((id[lane] >> 16 & 3) << 2 * lane);
    }
    if (bits == 18)
        row[2 * KB_GROUP] = high;
}

static inline size_t kb_id_at(const kb_id_group *g, size_t i, size_t lane) {
    return kb_id_get(g->ids, g->bits, i, lane);
}

/* Whether to store the rows of some groups as tuples, given how many of each there are in all.
 * Beyond half a tuple per row the detour costs a product more than it saves, and where the tuples
 * of a bundle do not stay in cache, beyond an eighth.  Close rows that stand side by side have
 * tuples that do. */
KB_BOTH static inline int kb_tuples_pay(size_t tuples, size_t rows, int ordered) {
    return ordered || tuples <= (size_t)1 << 18 ? 2 * tuples <= rows : 8 * tuples <= rows;
}

/* One statement, in which BITS is the constant `bits`: the compiler specialises what it calls. */
#define KB_WITH_BITS(bits, ...)                                                                    \
    do {                                                                                           \
        switch (bits) {                                                                            \
            KB_CASE_OF_BITS(8, __VA_ARGS__)                                                        \
            KB_CASE_OF_BITS(16, __VA_ARGS__)                                                       \
            KB_CASE_OF_BITS(18, __VA_ARGS__)                                                       \
            KB_CASE_OF_BITS(24, __VA_ARGS__)                                                       \
            KB_CASE_OF_BITS(32, __VA_ARGS__)                                                       \
        }                                                                                          \
    } while (0)
#define KB_CASE_OF_BITS(number, ...)                                                               \
    case number: {                                                                                 \
        enum { BITS = number };                                                                    \
        __VA_ARGS__;                                                                               \
        break;                                                                                     \
    }

#endif
