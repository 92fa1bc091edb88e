/*
 * device_bins.h - Z as bin numbers, made on another device and kept there too.
 */
#ifndef KB_DEVICE_DEVICE_BINS_H
#define KB_DEVICE_DEVICE_BINS_H

#include "device/device.h"
#include "features/binmat.h"

/* As kb_binmat_build, with the same result to the bit, by the GPU of the context, which is open.
 * The bin numbers stay there, and sweeps run over them (sweeps/sweep_device.c); they are copied
 * here when kb_binmat_fetch is first called, and count as memory from then on only.  What it cannot
 * do goes to kb_binmat_build, and is told: sparse rows, and more than its memory holds. */
kb_status kb_device_bin(kb_context *ctx, const kb_binning *binning, const kb_data *data, size_t R,
                        const kb_memory_plan *memory, kb_binmat **out);

/* The same in place of kb_binmat_build_ordered. */
kb_status kb_device_bin_ordered(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                                size_t R, const kb_memory_plan *memory, kb_binmat **out);

/* The numbers of z on a device, and that device. */
typedef struct kb_device_bins {
    kb_allocator allocator;
    kb_device *device;
    kb_gpu_bins *bins;
    kb_binmat *z;
    int *has_tuples;       /* bundles */
    kb_memory_plan memory; /* of the build; limit 0: none */
} kb_device_bins;

/* NULL: they are on the CPU alone. */
kb_device_bins *kb_device_bins_of(const kb_binmat *z);

#endif
