/*
 * random.h - counter-based random numbers: value = f(seed, stream, a, b).
 *
 * Nothing is carried from one draw to the next (Philox 4x32-10 of Random123), so a
 * draw depends on its place alone and never on threads, machines or devices.
 */
#ifndef KB_CORE_RANDOM_H
#define KB_CORE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* What a draw is for; part of the counter, so that uses never overlap. */
typedef enum kb_stream {
    KB_STREAM_WIDTH = 1,     /* (grid, feature): two numbers for the bin width */
    KB_STREAM_OFFSET = 2,    /* (grid, feature): the offset, and whether the grid cuts */
    KB_STREAM_HASH = 3,      /* (feature, 0) */
    KB_STREAM_SYNTHETIC = 4, /* (row, draw) */
    KB_STREAM_FOLD = 5,      /* (row, 0) */
    KB_STREAM_DESCENT = 6,   /* (epoch or draw, place): which columns a solver moves next */
    KB_STREAM_FREQUENCY = 7, /* (cosine and attempt, feature) */
    KB_STREAM_PHASE = 8,     /* (cosine, 0) */
    KB_STREAM_LANDMARK = 9,  /* (landmark, 0) */
    KB_STREAM_SPLIT = 10,    /* (split, attempt): two samples */
    KB_STREAM_VALID = 11,    /* (row, 0): which of two sets it goes to */
    KB_STREAM_SHUFFLE = 12,  /* (place, 0): which of the remaining rows or groups goes there */
    KB_STREAM_TUNE = 13,     /* (vector and feature, draw): where learned widths begin */
    KB_STREAM_TUNE_ROW = 14, /* (step, place): rows and signs of a step of learning */
    KB_STREAM_STOP_ROW = 15, /* (row or group, 0): whether it tells a fit when to stop */
    KB_STREAM_EFFECT = 16,   /* (row or group, 0): its fold; (output, 1): signs */
    KB_STREAM_PERMUTE = 17,  /* (place, repeat): which row's cells go there */
    KB_STREAM_EXPLAIN = 18,  /* (place, row of the background): which column changes next;
                                (place, UINT32_MAX): which rows are the background */
    KB_STREAM_HELD = 19,     /* (row or group, 0): in which fold it is held out, on ranks */
} kb_stream;

typedef struct kb_random4 {
    uint32_t word[4];
} kb_random4;

kb_random4 kb_random(uint64_t seed, kb_stream stream, uint64_t a, uint32_t b);

/* Two uniform numbers, each strictly inside (0, 1), from one draw. */
typedef struct kb_uniform2 {
    double u, v;
} kb_uniform2;
kb_uniform2 kb_random_uniform(uint64_t seed, kb_stream stream, uint64_t a, uint32_t b);

/* 0 .. count - 1 in random order, of which the first `places` are needed: (place, b) is drawn for
 * each of these. */
void kb_random_order(uint64_t seed, kb_stream stream, uint32_t b, size_t count, size_t places,
                     uint32_t *order);

#endif
