/*
 * weights.h - weights of the rows, where an array that is NULL stands for ones.
 */
#ifndef KB_CORE_WEIGHTS_H
#define KB_CORE_WEIGHTS_H

#include <stddef.h>

static inline double kb_weight_of(const double *weight, size_t i) {
    return weight ? weight[i] : 1;
}

#endif
