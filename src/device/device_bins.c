/*
 * device_bins.c - see device_bins.h.
 *
 * Where binmat_build.c would store tuples, the device looks for them too, by the same rule; so the
 * products of Z, whose sums depend on that, have the same bits.
 */
#include "device/device_bins.h"

#include <string.h>

/* Bundles after which the memory that all will take is forecast, and after which none has tuples if
 * none had any: binmat_build.c. */
enum { PILOT = 4 };

static void free_bins(void *elsewhere) {
    kb_device_bins *d = elsewhere;
    d->device->call->bins_free(d->bins);
    kb_allocator_release(d->allocator, d);
}

/* The numbers of a bundle's rows, from the device. */
static kb_status take_numbers(kb_context *ctx, kb_device_bins *d, kb_binmat *z, size_t bundle,
                              const kb_gpu_bundle *made) {
    kb_status status = KB_OK;
    const kb_device_table *call = d->device->call;
    size_t first = bundle * KB_GROUP, rest = z->groups - first, most = 1;
    size_t groups = rest < KB_GROUP ? rest : KB_GROUP;
    kb_id_group *tuples = &z->bundle[bundle];
    for (size_t g = 0; g < groups; g++) {
        kb_id_group *to = &z->group[first + g];
        size_t bins = 1, rows = made->has_tuples ? made->tuples[g] : z->rows;
        for (size_t k = g * KB_GROUP; k < (g + 1) * KB_GROUP && bundle * KB_BUNDLE + k < z->grids;
             k++)
            bins = made->bins[k] > bins ? made->bins[k] : bins;
        most = made->has_tuples && made->tuples[g] > most ? made->tuples[g] : most;
        to->bits = kb_id_bits(bins);
        z->tuples[first + g] = rows;
        TRY(kb_alloc(ctx, rows, kb_id_row_bytes(to->bits), &to->ids));
        TRY(kb_device_check(ctx, d->device, call->bundle_group(d->bins, g, to->bits, to->ids)));
    }
    if (!made->has_tuples)
        goto done;
    tuples->bits = kb_id_bits(most);
    TRY(kb_alloc(ctx, z->rows, kb_id_row_bytes(tuples->bits), &tuples->ids));
    TRY(kb_device_check(ctx, d->device, call->bundle_tuples(d->bins, tuples->bits, tuples->ids)));
done:
    return status;
}

static kb_status make_bundle(kb_context *ctx, kb_device_bins *d, kb_binmat *z, size_t bundle,
                             int tuples, double *kappa) {
    kb_status status;
    kb_gpu_bundle made;
    TRY(kb_device_check(ctx, d->device, d->device->call->bins_bundle(d->bins, tuples, &made)));
    TRY(take_numbers(ctx, d, z, bundle, &made));
    for (size_t k = 0, r = bundle * KB_BUNDLE; k < KB_BUNDLE && r < z->grids; k++, r++) {
        TRY(kb_alloc(ctx, made.bins[k], sizeof(uint64_t), &z->key[r]));
        TRY(kb_device_check(ctx, d->device, d->device->call->bundle_keys(d->bins, k, z->key[r])));
        z->start[r + 1] = made.bins[k];
        kappa[r] = (double)z->rows / (double)made.most[k];
    }
    TRY(kb_progress(ctx, "bin", (double)(bundle + 1) / (double)z->bundles));
done:
    return status;
}

static kb_status make_bundles(kb_context *ctx, kb_device_bins *d, kb_binmat *z,
                              const kb_memory_plan *memory, double *kappa) {
    kb_status status = KB_OK;
    size_t pilot = z->bundles < PILOT ? z->bundles : PILOT;
    int any = 0;
    for (size_t b = 0; b < z->bundles; b++) {
        /* Of many rows, later bundles have no tuples if the first ones have none. */
        int tuples = b < PILOT || any || z->rows <= KB_PART_ROWS;
        TRY(make_bundle(ctx, d, z, b, tuples, kappa));
        any |= b < PILOT && z->bundle[b].ids != NULL;
        if (b + 1 == pilot)
            TRY(kb_binmat_check_memory(ctx, z, (double)pilot / (double)z->bundles, memory));
    }
    TRY(kb_binmat_check_memory(ctx, z, 1, memory));
    kb_binmat_sum_up(z, kappa);
done:
    return status;
}

static kb_status build(kb_context *ctx, kb_device *device, const kb_binning *binning,
                       const kb_data *data, size_t R, const kb_memory_plan *memory,
                       kb_binmat **out) {
    kb_status status;
    const kb_grids *g = binning->grids;
    kb_binmat *z = NULL;
    kb_device_bins *d;
    double *kappa = NULL;
    kb_gpu_rows rows = {.rows = data->rows,
                        .features = data->features,
                        .grids = g->grids,
                        .x = data->dense,
                        .shift = binning->shift,
                        .scale = binning->scale,
                        .parameter = g->parameter,
                        .bound = g->bound,
                        .factor = g->factor};
    TRY(kb_binmat_create(ctx, data->rows, g->grids, R, &z));
    z->simd = binning->simd ? binning->simd : kb_simd_best();
    TRY(kb_zalloc(ctx, 1, sizeof *d, &d));
    d->allocator = kb_allocator_of(ctx);
    d->device = device;
    z->elsewhere = d;
    z->free_elsewhere = free_bins;
    TRY(kb_alloc(ctx, g->grids, sizeof *kappa, &kappa));
    TRY(kb_device_check(ctx, device, device->call->bins_create(device->gpu, &rows, &d->bins)));
    TRY(make_bundles(ctx, d, z, memory, kappa));
    device->call->bins_finish(d->bins);
    *out = z;
done:
    kb_release(ctx, kappa);
    if (status != KB_OK)
        kb_binmat_free(z);
    return status;
}

/* Whether the device holds the rows, and a run of sweeps over them with one output. */
static int fits(kb_context *ctx, const kb_device *d, const kb_data *data, size_t grids) {
    double need = d->call->bins_bytes(data->rows, data->features, grids) +
                  d->call->sweeps_bytes(data->rows, 0, 1);
    double left = d->call->memory_free(d->gpu);
    kb_log(ctx, KB_LOG_INFO, "device: %s of memory or more, of %s", kb_size_in_words(need).text,
           kb_size_in_words(left).text);
    return need <= left;
}

kb_status kb_device_bin(kb_context *ctx, const kb_binning *binning, const kb_data *data, size_t R,
                        const kb_memory_plan *memory, kb_binmat **out) {
    kb_context *top = ctx;
    while (top->above)
        top = top->above;
    kb_device *d = top->device;
    *out = NULL;
    if (!data->dense) {
        kb_device_tell(ctx, d, "sparse rows are binned and solved on the CPU");
    } else if (data->rows == 0 || data->rows > UINT32_MAX / 2 ||
               !fits(ctx, d, data, binning->grids->grids)) {
        kb_device_tell(ctx, d, "the GPU has too little memory for the rows: they stay on the CPU");
    } else {
        kb_status status = build(ctx, d, binning, data, R, memory, out);
        if (!kb_device_gives_up(ctx, d, &status))
            return status;
    }
    return kb_binmat_build(ctx, binning, data, R, memory, out);
}
