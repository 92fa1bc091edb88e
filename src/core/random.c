/* random.c - see random.h. */
#include "core/random.h"

#include <Random123/philox.h>

kb_random4 kb_random(uint64_t seed, kb_stream stream, uint64_t a, uint32_t b) {
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t counter = {{(uint32_t)a, (uint32_t)(a >> 32), b, (uint32_t)stream}};
    philox4x32_ctr_t out = philox4x32(counter, key);
    return (kb_random4){{out.v[0], out.v[1], out.v[2], out.v[3]}};
}

/* (k + 1/2) / 2^52 for a 52-bit k: exact, never 0 and never 1. */
static double uniform(uint32_t high, uint32_t low) {
    uint64_t k = (((uint64_t)high << 32) | low) >> 12;
    return ((double)k + 0.5) * 0x1p-52;
}

kb_uniform2 kb_random_uniform(uint64_t seed, kb_stream stream, uint64_t a, uint32_t b) {
    kb_random4 r = kb_random(seed, stream, a, b);
    return (kb_uniform2){uniform(r.word[0], r.word[1]), uniform(r.word[2], r.word[3])};
}

/* Fisher and Yates. */
void kb_random_order(uint64_t seed, kb_stream stream, uint32_t b, size_t count, size_t places,
                     uint32_t *order) {
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = 0; i < places; i++) {
        double u = kb_random_uniform(seed, stream, i, b).u;
        size_t other = i + (size_t)(u * (double)(count - i));
        uint32_t item = order[other];
        order[other] = order[i];
        order[i] = item;
    }
}
