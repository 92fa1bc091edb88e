/*
 * both.h - marks a function that device code has as well: KB_BOTH static inline ..
 *
 * Such a function is C and C++ at once, and gives the same bits on both: no sums or products that a
 * compiler may join.
 */
#ifndef KB_CORE_BOTH_H
#define KB_CORE_BOTH_H

#ifdef __CUDACC__
#define KB_BOTH __host__ __device__
#else
#define KB_BOTH
#endif

#endif
