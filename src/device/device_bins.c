/*
 * device_bins.c - see device_bins.h.
 *
 * Where binmat_build.c would store tuples, the device looks for them too, by the same rule; so the
 * products of Z, whose sums depend on that, have the same bits.
 */
#include "device/device_bins.h"
#include "options/say.h"

#include <string.h>

/* Bundles after which the memory that all will take is forecast, and after which none has tuples if
 * none had any: binmat_build.c. */
enum { PILOT = 4 };

static void free_bins(void *there) {
    kb_device_bins *d = there;
    d->device->call->bins_free(d->bins);
    kb_allocator_release(d->allocator, d->has_tuples);
    kb_allocator_release(d->allocator, d);
}

/* ---- numbers that come here -------------------------------------------- */

/* The numbers of a bundle's rows. */
static kb_status take_numbers(kb_context *ctx, kb_device_bins *d, size_t bundle) {
    kb_status status = KB_OK;
    kb_binmat *z = d->z;
    const kb_device_table *call = d->device->call;
    size_t first = bundle * KB_GROUP, rest = z->groups - first;
    kb_id_group *tuples = &z->bundle[bundle];
    TRY(kb_device_check(ctx, d->device, call->bins_again(d->bins, bundle, d->has_tuples[bundle])));
    for (size_t g = 0; g < (rest < KB_GROUP ? rest : KB_GROUP); g++) {
        kb_id_group *to = &z->group[first + g];
        TRY(kb_alloc(ctx, z->tuples[first + g], kb_id_row_bytes(to->bits), &to->ids));
        TRY(kb_device_check(ctx, d->device, call->bundle_group(d->bins, g, to->bits, to->ids)));
    }
    if (!d->has_tuples[bundle])
        goto done;
    TRY(kb_alloc(ctx, z->rows, kb_id_row_bytes(tuples->bits), &tuples->ids));
    TRY(kb_device_check(ctx, d->device, call->bundle_tuples(d->bins, tuples->bits, tuples->ids)));
done:
    return status;
}

static void drop_numbers(kb_context *ctx, kb_binmat *z) {
    for (size_t q = 0; q < z->groups; q++) {
        kb_release(ctx, z->group[q].ids);
        z->group[q].ids = NULL;
    }
    for (size_t b = 0; b < z->bundles; b++) {
        kb_release(ctx, z->bundle[b].ids);
        z->bundle[b].ids = NULL;
    }
}

/* The forecast was without them. */
static kb_status check_room(kb_context *ctx, const kb_binmat *z, const kb_memory_plan *memory) {
    double need = z->forecast + (double)z->id_bytes;
    if (memory->limit == 0 || need <= (double)memory->limit)
        return KB_OK;
    return kb_fail(
        ctx, KB_ERR_MEMORY,
        "with the bin numbers that come from the GPU %s of memory are needed, and %s may "
        "be taken: use fewer %s or a larger %s",
        kb_size_in_words(need).text, kb_size_in_words((double)memory->limit).text,
        kb_say(ctx, KB_OPT_GRIDS).text, kb_say(ctx, KB_OPT_MAX_MEMORY).text);
}

static kb_status fetch(kb_context *ctx, void *there) {
    kb_status status;
    kb_device_bins *d = there;
    kb_binmat *z = d->z;
    kb_log(ctx, KB_LOG_INFO, "device: %s of bin numbers are copied from there",
           kb_size_in_words((double)z->id_bytes).text);
    TRY(check_room(ctx, z, &d->memory));
    for (size_t b = 0; b < z->bundles; b++)
        TRY(take_numbers(ctx, d, b));
    z->away = 0;
done:
    d->device->call->bins_finish(d->bins);
    if (status != KB_OK)
        drop_numbers(ctx, z);
    return status;
}

/* ---- what is done there ------------------------------------------------ */

static kb_status times(kb_context *ctx, void *there, size_t C, const double *w, double *out,
                       int *done) {
    kb_device_bins *d = there;
    kb_status status = kb_device_check(
        ctx, d->device, d->device->call->times(d->bins, C, kb_bin_value(d->z->R), w, out));
    *done = status == KB_OK;
    kb_device_gives_up(ctx, d->device, &status);
    return status;
}

static kb_status count_known(kb_context *ctx, void *there, const uint8_t *fits, size_t count,
                             const uint32_t *row, uint32_t *known, int *done) {
    kb_device_bins *d = there;
    kb_status status = kb_device_check(
        ctx, d->device, d->device->call->count_known(d->bins, fits, count, row, known));
    *done = status == KB_OK;
    kb_device_gives_up(ctx, d->device, &status);
    return status;
}

static const kb_elsewhere ON_DEVICE = {free_bins, fetch, times, count_known};

kb_device_bins *kb_device_bins_of(const kb_binmat *z) {
    return z->elsewhere == &ON_DEVICE ? z->there : NULL;
}

/* ---- making them ------------------------------------------------------- */

/* How the numbers of a bundle are stored, once they come here. */
static void note_sizes(kb_device_bins *d, size_t bundle, const kb_gpu_bundle *made) {
    kb_binmat *z = d->z;
    size_t first = bundle * KB_GROUP, rest = z->groups - first, most = 1;
    for (size_t g = 0; g < (rest < KB_GROUP ? rest : KB_GROUP); g++) {
        size_t bins = 1, rows = made->has_tuples ? made->tuples[g] : z->rows;
        for (size_t k = g * KB_GROUP; k < (g + 1) * KB_GROUP && bundle * KB_BUNDLE + k < z->grids;
             k++)
            bins = made->bins[k] > bins ? made->bins[k] : bins;
        most = rows > most ? rows : most;
        z->group[first + g].bits = kb_id_bits(bins);
        z->tuples[first + g] = rows;
        z->id_bytes += kb_id_group_bytes(&z->group[first + g], rows);
    }
    d->has_tuples[bundle] = made->has_tuples;
    if (!made->has_tuples)
        return;
    z->bundle[bundle].bits = kb_id_bits(most);
    z->id_bytes += kb_id_group_bytes(&z->bundle[bundle], z->rows);
}

static kb_status make_bundle(kb_context *ctx, kb_device_bins *d, size_t bundle, int tuples,
                             double *kappa) {
    kb_status status;
    kb_binmat *z = d->z;
    kb_gpu_bundle made;
    TRY(kb_device_check(ctx, d->device, d->device->call->bins_bundle(d->bins, tuples, &made)));
    note_sizes(d, bundle, &made);
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

static kb_status make_bundles(kb_context *ctx, kb_device_bins *d, const kb_memory_plan *memory,
                              double *kappa) {
    kb_status status = KB_OK;
    kb_binmat *z = d->z;
    size_t pilot = z->bundles < PILOT ? z->bundles : PILOT;
    int any = 0;
    for (size_t b = 0; b < z->bundles; b++) {
        /* Of many rows, later bundles have no tuples if the first ones have none. */
        int tuples = b < PILOT || any || z->rows <= KB_PART_ROWS;
        TRY(make_bundle(ctx, d, b, tuples, kappa));
        any |= b < PILOT && d->has_tuples[b];
        if (b + 1 == pilot)
            TRY(kb_binmat_check_memory(ctx, z, (double)pilot / (double)z->bundles, memory));
    }
    TRY(kb_binmat_check_memory(ctx, z, 1, memory));
    kb_binmat_sum_up(z, kappa);
done:
    return status;
}

static kb_status build(kb_context *ctx, kb_device *device, const kb_binning *binning,
                       const kb_data *data, size_t R, int ordered, const kb_memory_plan *memory,
                       kb_binmat **out) {
    kb_status status;
    uint32_t *order = NULL;
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
    d->z = z;
    d->memory = memory ? *memory : (kb_memory_plan){0};
    z->elsewhere = &ON_DEVICE;
    z->there = d;
    z->away = 1;
    if (ordered && kb_data_can_order(data)) {
        TRY(kb_binmat_put_in_order(ctx, z, binning, data, &order));
        kb_release(ctx, order);
        order = NULL;
        rows.place = z->place;
    }
    TRY(kb_alloc(ctx, z->bundles, sizeof *d->has_tuples, &d->has_tuples));
    TRY(kb_alloc(ctx, g->grids, sizeof *kappa, &kappa));
    TRY(kb_device_check(ctx, device, device->call->bins_create(device->gpu, &rows, &d->bins)));
    TRY(make_bundles(ctx, d, memory, kappa));
    device->call->bins_finish(d->bins);
    kb_log(ctx, KB_LOG_INFO, "device: %s of bin numbers stay there",
           kb_size_in_words((double)z->id_bytes).text);
    *out = z;
done:
    kb_release(ctx, kappa);
    kb_release(ctx, order);
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

static kb_status bin(kb_context *ctx, const kb_binning *binning, const kb_data *data, size_t R,
                     int ordered, const kb_memory_plan *memory, kb_binmat **out) {
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
        kb_status status = build(ctx, d, binning, data, R, ordered, memory, out);
        if (!kb_device_gives_up(ctx, d, &status))
            return status;
    }
    return ordered ? kb_binmat_build_ordered(ctx, binning, data, R, memory, out)
                   : kb_binmat_build(ctx, binning, data, R, memory, out);
}

kb_status kb_device_bin(kb_context *ctx, const kb_binning *binning, const kb_data *data, size_t R,
                        const kb_memory_plan *memory, kb_binmat **out) {
    return bin(ctx, binning, data, R, 0, memory, out);
}

kb_status kb_device_bin_ordered(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                                size_t R, const kb_memory_plan *memory, kb_binmat **out) {
    return bin(ctx, binning, data, R, 1, memory, out);
}
