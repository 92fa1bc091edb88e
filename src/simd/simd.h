/*
 * simd.h - the inner loops where kerbin spends its time, for each level of CPU.
 *
 * bins.c, light_bins.c, losses.c, tiles.c, masked_rows.c, whole_sums.c and one_row.c are C with
 * vectors and, for AVX-512, one instruction of its own.  Each is compiled once for every level of
 * CPU, and the level is picked at run time. All levels give the same bits: no operation is fused
 * but where tiles.h says so, and every sum has its order written down.
 */
#ifndef KB_SIMD_SIMD_H
#define KB_SIMD_SIMD_H

#include "simd/bins.h"
#include "simd/light_bins.h"
#include "simd/losses.h"
#include "simd/masked_rows.h"
#include "simd/one_row.h"
#include "simd/tiles.h"
#include "simd/whole_sums.h"

/* All loops of one level. */
typedef struct kb_simd {
    const char *name;
    const kb_bin_loops *bins;
    const kb_light_loops *light;
    const kb_loss_loops *losses;
    const kb_tiles *tiles;
    const kb_masked_rows *masked_rows;
    const kb_whole_sums *whole_sums;
    const kb_one_row_loops *one_row;
} kb_simd;

/* All levels that this machine can run, the plainest first. */
size_t kb_simd_list(const kb_simd **out, size_t room);
const kb_simd *kb_simd_best(void);

#endif
