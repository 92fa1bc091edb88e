/*
 * kerbin-bench - the speed of kerbin against plain implementations of the same.
 *
 * kerbin-bench [--json FILE]
 *
 * Data sets come from the folder KERBIN_DATA, else ../shared/data.  Exit status 1 if a bar
 * is missed.
 */
#include "bench.h"
#include "simd/simd.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *json = NULL;
    bench b;
    if (argc == 3 && strcmp(argv[1], "--json") == 0) {
        json = argv[2];
    } else if (argc != 1) {
        fprintf(stderr, "usage: kerbin-bench [--json FILE]\n");
        return 2;
    }
    bench_open(&b);
    printf(
        "kerbin %s, %s kernels, %d threads where it says so, else 1; the best of several runs\n\n",
        kb_version(), kb_simd_best()->name, b.threads);
    bench_memory(&b); /* first: it forks, and the memory of the child must be its own */
    bench_readers(&b);
    bench_binning(&b);
    bench_products(&b);
    bench_predict(&b);
    bench_dense(&b); /* last: OpenBLAS starts threads of its own */
    return bench_close(&b, json);
}
