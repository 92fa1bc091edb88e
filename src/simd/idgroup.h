/*
 * idgroup.h - numbers of bins or tuples, KB_GROUP to a row, in as few bytes as they need.
 */
#ifndef KB_SIMD_IDGROUP_H
#define KB_SIMD_IDGROUP_H

#include "simd/bins.h"

/* The bytes that numbers below `numbers` need. */
static inline int kb_id_width(size_t numbers) {
    return numbers <= 1u << 8 ? 1 : numbers <= 1u << 16 ? 2 : numbers <= 1u << 24 ? 3 : 4;
}

static inline size_t kb_id_group_bytes(const kb_id_group *g, size_t rows) {
    return rows * KB_GROUP * (size_t)g->width;
}

/* The number at place `at` = row * KB_GROUP + lane, `width` bytes each. */
static inline uint32_t kb_id_get(const void *ids, int width, size_t at) {
    const uint8_t *bytes = (const uint8_t *)ids + at * 3;
    return width == 1   ? ((const uint8_t *)ids)[at]
           : width == 2 ? ((const uint16_t *)ids)[at]
           : width == 3 ? bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16
                        : ((const uint32_t *)ids)[at];
}

static inline void kb_id_put(void *ids, int width, size_t at, uint32_t id) {
    uint8_t *bytes = (uint8_t *)ids + at * 3;
    if (width == 1) {
        ((uint8_t *)ids)[at] = (uint8_t)id;
    } else if (width == 2) {
        ((uint16_t *)ids)[at] = (uint16_t)id;
    } else if (width == 3) {
        bytes[0] = (uint8_t)id;
        bytes[1] = (uint8_t)(id >> 8);
        bytes[2] = (uint8_t)(id >> 16);
    } else {
        ((uint32_t *)ids)[at] = id;
    }
}

static inline size_t kb_id_at(const kb_id_group *g, size_t i, size_t lane) {
    return kb_id_get(g->ids, g->width, i * KB_GROUP + lane);
}

#endif
