/*
 * sweep_math.h - the arithmetic of sweeps, for one number at a time; see sweeps.c for the formulas.
 *
 * Here it stands once for every device (both.h).  Inner loops of the CPU write some of it again in
 * vectors (simd/whole_sums.h).
 */
#ifndef KB_SWEEPS_SWEEP_MATH_H
#define KB_SWEEPS_SWEEP_MATH_H

#include "core/both.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Bins that are summed in order by one thread. */
enum { KB_SWEEP_BLOCK = 256 };

/* The largest target in units; residuals may grow to the size KB_SWEEP_MOST before they are in
 * danger. */
#define KB_SWEEP_TOP  0x1p27
#define KB_SWEEP_MOST (1u << 29)
/* Weights of samples in units: the largest is 2^KB_SHARE_BITS. */
enum { KB_SHARE_BITS = 30 };
/* Steps are multiples of so many units. */
enum { KB_SWEEP_STEP = 16 };
/* The share of a slice's step that is taken: experiments/NOTES.md, sweeps. */
#define KB_SWEEP_SHRINK 0.2

/* Sums that the span of two moves needs: this move with itself, with the last and with the start;
 * the last one with itself and with the start; the start with itself. */
enum { KB_MOVE_MOVE, KB_MOVE_LAST, KB_MOVE_START, KB_LAST_LAST, KB_LAST_START, KB_START_START };
enum { KB_SPAN_SUMS = KB_START_START + 1 };

KB_BOTH static inline int32_t kb_sweep_nearest(double x) {
    return (int32_t)rint(fmin(fmax(x, -2.0 * KB_SWEEP_MOST), 2.0 * KB_SWEEP_MOST));
}

/* A residual times the weight of its sample; `equal`: all weights are the same, or 0. */
KB_BOTH static inline int32_t kb_sweep_weighted(int32_t r, int32_t share, int equal) {
    const int64_t half = (int64_t)1 << (KB_SHARE_BITS - 1);
    return equal ? (share ? r : 0) : (int32_t)(((int64_t)r * share + half) >> KB_SHARE_BITS);
}

/* 1 / (n + Lambda), for steps in their unit. */
KB_BOTH static inline double kb_sweep_inverse(float n, double Lambda) {
    double below = ((double)n + Lambda) * KB_SWEEP_STEP;
    return below > 0 ? 1 / below : 0;
}

/* S - Lambda u. */
KB_BOTH static inline double kb_sweep_slope(int64_t S, double Lambda, double u, float d) {
    return (double)S - Lambda * (u + (double)d);
}

/* t times KB_SWEEP_STEP: the change of a weight for a unit of g. */
KB_BOTH static inline double kb_sweep_length(double up, double square, double whole, double Lambda,
                                             double own) {
    double below = square * whole + Lambda * own;
    return below > 0 ? KB_SWEEP_SHRINK * up / below : 0;
}

/* A sum of squares in three parts, a0 + a1 2^32 + a2 2^64, as the nearest number. */
KB_BOTH static inline double kb_sweep_square(uint64_t a0, uint64_t a1, uint64_t a2) {
    uint64_t low = a0 + (a1 << 32), high = a2 + (a1 >> 32) + (low < a0);
    double scale = 1;
    int zeros = 0;
    if (high == 0)
        return (double)low;
    for (; !(high >> 63); zeros++)
        high = high << 1 | low >> 63, low <<= 1;
    for (int k = zeros; k < 64; k++)
        scale *= 2;
    return (double)(high | (low != 0)) * scale; /* the last bit says that there is more */
}

/* r - t h, rounded to the nearest, by the low bits of a sum (simd/whole_sums.c). */
KB_BOTH static inline int32_t kb_sweep_advance(double t, int32_t h, int32_t r) {
    double x = (double)h * t + 0x1.8p52;
    uint64_t rounded;
    memcpy(&rounded, &x, sizeof x);
    return (int32_t)((uint32_t)r - (uint32_t)rounded);
}

/* No bit beyond these is set in the size of r. */
KB_BOTH static inline uint32_t kb_sweep_bits(int32_t r) {
    return (uint32_t)(r ^ (r >> 31));
}

/* The same after a combined move. */
KB_BOTH static inline uint32_t kb_sweep_size(int32_t r) {
    return (uint32_t)(r < 0 ? -r : r);
}

/* What a row adds to a sum of the span, all in units. */
KB_BOTH static inline double kb_span_of_row(int kind, double weight, int32_t before, int32_t now,
                                            int32_t last_move) {
    double start = before, move = start - now, last = last_move;
    double a = kind == KB_LAST_LAST || kind == KB_LAST_START ? last
               : kind == KB_START_START                      ? start
                                                             : move;
    double b = kind == KB_MOVE_MOVE                           ? move
               : kind == KB_MOVE_LAST || kind == KB_LAST_LAST ? last
                                                              : start;
    return weight * a * b;
}

/* What a bin adds to it: d is its move. */
KB_BOTH static inline double kb_span_of_bin(int kind, double Lambda, double u, float d,
                                            float last_move) {
    double move = (double)d, last = (double)last_move;
    double a = kind == KB_LAST_LAST || kind == KB_LAST_START ? last : move;
    double b = kind == KB_MOVE_MOVE                           ? move
               : kind == KB_MOVE_LAST || kind == KB_LAST_LAST ? last
                                                              : u;
    double term = Lambda * a * b;
    return kind == KB_START_START                           ? 0
           : kind == KB_MOVE_START || kind == KB_LAST_START ? -term
                                                            : term;
}

/* The combined move of a row and of a bin. */
KB_BOTH static inline int32_t kb_combined_row(double of_move, double of_last, int32_t before,
                                              int32_t now, int32_t last) {
    return kb_sweep_nearest(of_move * (before - now) + of_last * last);
}

KB_BOTH static inline float kb_combined_bin(double of_move, double of_last, float d, float last) {
    return (float)(of_move * (double)d + of_last * (double)last);
}

#endif
