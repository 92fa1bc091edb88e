/*
 * kerbin-bench - the speed of kerbin against plain implementations of the same.
 *
 * kerbin-bench [--json FILE] [PART]
 *
 * PART is one of memory, readers, binning, products, predict, latency and dense; all without it.
 * Data sets come from the folder KERBIN_DATA, else ../shared/data.  Exit status 1 if a bar
 * is missed.
 */
#include "bench.h"
#include "simd/simd.h"

#include <stdio.h>
#include <string.h>

typedef struct part {
    const char *name;
    void (*measure)(bench *b);
} part;

static const part PARTS[] = {
    {"memory", bench_memory}, /* first: it forks, and the memory of the child must be its own */
    {"readers", bench_readers},
    {"binning", bench_binning},
    {"products", bench_products},
    {"predict", bench_predict},
    {"latency", bench_latency},
    {"dense", bench_dense}, /* last: OpenBLAS starts threads of its own */
};
enum { PART_COUNT = sizeof PARTS / sizeof *PARTS };

/* The part of that name; PART_COUNT if there is none. */
static size_t find_part(const char *name) {
    size_t k = 0;
    while (k < PART_COUNT && strcmp(PARTS[k].name, name) != 0)
        k++;
    return k;
}

int main(int argc, char **argv) {
    const char *json = NULL;
    size_t first = 0, last = PART_COUNT;
    bench b;
    if (argc >= 3 && strcmp(argv[1], "--json") == 0) {
        json = argv[2];
        argc -= 2;
        argv += 2;
    }
    if (argc == 2) {
        first = find_part(argv[1]);
        last = first + 1;
    }
    if (argc > 2 || first == PART_COUNT) {
        fprintf(stderr, "usage: kerbin-bench [--json FILE] [PART]\n");
        return 2;
    }
    bench_open(&b);
    printf(
        "kerbin %s, %s kernels, %d threads where it says so, else 1; the best of several runs\n\n",
        kb_version(), kb_simd_best()->name, b.threads);
    for (size_t k = first; k < last; k++)
        PARTS[k].measure(&b);
    return bench_close(&b, json);
}
