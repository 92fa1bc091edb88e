/* gram.c - see gram.h. */
#include "simd/gram.h"

#include <string.h>

/* Sums at a time, and how much of the vectors: that of 64 of them stays in the first cache. */
enum { SUMS = 8, PART = 48 };

size_t kb_gram_width(size_t n) {
    return (n + SUMS - 1) / SUMS * SUMS;
}

void kb_gram(size_t n, size_t p, const double *G, double *L) {
    size_t m = kb_gram_width(n);
    memset(L, 0, n * n * sizeof *L);
    for (size_t from = 0; from < p; from += PART) {
        size_t to = from + PART < p ? from + PART : p;
        for (size_t i = 0; i < n; i++)
            for (size_t first = 0; first <= i; first += SUMS) {
                size_t count = i + 1 - first < SUMS ? i + 1 - first : SUMS;
                double sum[SUMS] = {0};
                memcpy(sum, L + i * n + first, count * sizeof *sum);
                for (size_t j = from; j < to; j++)
                    for (size_t k = 0; k < SUMS; k++)
                        sum[k] += G[j * m + i] * G[j * m + first + k];
                memcpy(L + i * n + first, sum, count * sizeof *sum);
            }
    }
}
