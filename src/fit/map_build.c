/* map_build.c - see map_build.h. */
#include "fit/map_build.h"
#include "data/scaling.h"
#include "device/device_operator.h"
#include "fit/sigma.h"
#include "fit/solvers.h"
#include "joined/join_bins.h"
#include "joined/joined_operator.h"
#include "ranks/ranks.h"
#include "options/say.h"

#include <math.h>

/* The widths by the config; release them together with their law. */
static kb_status widths_of(kb_context *ctx, const kb_config *config, kb_map *map, kb_law **law,
                           kb_widths *out) {
    kb_status status;
    double spread = kb_scaling_mean(map->spread, map->columns);
    TRY(kb_law_build(ctx, &config->kernel, law));
    out->features = map->columns;
    TRY(kb_sigma_widths(ctx, &config->sigma, *law, map->columns, spread, &out->vectors, &out->width,
                        &map->sigma));
done:
    return status;
}

/* Whether the products of a fit are in whole numbers. */
static int in_whole_numbers(const kb_context *ctx, const kb_config *config) {
    return kb_has_ranks(ctx) || (kb_device_of(ctx, config) && kb_solver_on_device(config) &&
                                 !kb_solver_of(config)->sweeps);
}

/* The products of a fit with a device are in whole numbers, also where they are made here. */
static kb_status take_whole_products(kb_context *ctx, kb_binned *binned) {
    kb_operator_free(binned->op);
    binned->op = NULL;
    return kb_device_bins_of(binned->z) ? kb_operator_device(ctx, binned->z, &binned->op)
                                        : kb_operator_joined(ctx, binned->z, &binned->op);
}

/* Sweeps over many rows are faster where close ones stand side by side. */
static kb_binner *binner_of(kb_context *ctx, const kb_plan *plan, const kb_data *data) {
    int ordered = kb_solver_of(&plan->config)->sweeps && data->rows >= KB_MANY_ROWS;
    if (kb_solver_on_device(&plan->config) && kb_device_of(ctx, &plan->config))
        return ordered ? kb_device_bin_ordered : kb_device_bin;
    return ordered ? kb_binmat_build_ordered : NULL;
}

/* Draws the grids, which belong to the map, and bins the data. */
static kb_status bin(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                     const kb_memory_plan *memory, kb_map *map, kb_binned *binned) {
    kb_status status;
    kb_law *law = NULL;
    kb_widths own = {0};
    const kb_widths *given = plan->widths.vectors ? &plan->widths : NULL;
    size_t grids = plan->config.grids;
    if (given && given->features != map->columns)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "widths of %zu features for %zu", given->features,
                    map->columns));
    if (given)
        TRY(kb_strdup(ctx, "learned", &map->sigma));
    else
        TRY(widths_of(ctx, &plan->config, map, &law, &own));
    const kb_widths *widths = given ? given : &own;
    TRY(kb_map_keep_widths(ctx, map, widths, grids));
    kb_binned_spec spec = {.shift = map->shift,
                           .scale = map->scale,
                           .widths = widths,
                           .seed = plan->config.seed,
                           .first = plan->first_grid,
                           .count = grids,
                           .R = grids,
                           .memory = memory,
                           .bin = binner_of(ctx, plan, data)};
    if (kb_has_ranks(ctx))
        TRY(kb_joined_build(ctx, &spec, data, binned));
    else
        TRY(kb_binned_build(ctx, &spec, data, binned));
    if (spec.bin == kb_device_bin && !kb_solver_of(&plan->config)->sweeps)
        TRY(take_whole_products(ctx, binned));
    map->grids = kb_binned_take_grids(binned);
done:
    kb_release(ctx, own.width);
    kb_law_free(law);
    return status;
}

/* The grids and their binning.  A column costs 136 bytes for each block of grids (their parameters
 * and bounds), 16 for each grid when a model is written, and 432 for widths and scaling. */
static kb_bytes binning_bytes(const kb_context *ctx, size_t rows, size_t columns, int dense,
                              size_t grids, int whole) {
    double R = (double)grids, blocks = ceil(R / KB_LANES);
    kb_bytes sum = kb_binmat_build_bytes(rows, columns, dense, grids, ctx->threads);
    sum.fixed += (136 * blocks + 16 * R + 432) * (double)columns;
    if (whole)
        kb_bytes_add(&sum, kb_operator_joined_bytes(grids));
    return sum;
}

static int may_stay_away(kb_context *ctx, const kb_config *config) {
    return kb_solver_on_device(config) && kb_device_of(ctx, config) != NULL;
}

/* Checked before any work: the memory of the fit if every group of four grids needs one byte per
 * row, or none here because the bin numbers stay on a GPU. */
static kb_status check_least(kb_context *ctx, const kb_data *data, size_t grids, int away,
                             const kb_memory_plan *memory) {
    double least = memory->fixed + (away ? 0 : (double)data->rows * (double)grids / 4);
    if (least <= (double)memory->limit)
        return KB_OK;
    return kb_fail(
        ctx, KB_ERR_MEMORY,
        "%zu grids over %zu rows and %zu features need at least %s of memory, and %s may "
        "be taken: use fewer %s or a larger %s",
        grids, data->rows, data->features, kb_size_in_words(least).text,
        kb_size_in_words((double)memory->limit).text, kb_say(ctx, KB_OPT_GRIDS).text,
        kb_say(ctx, KB_OPT_MAX_MEMORY).text);
}

kb_status kb_map_check_kernel(kb_context *ctx, const kb_config *config) {
    if (kb_config_is_rival(config) || !config->kernel.isotropic)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_ARGUMENT,
                   "%s: is isotropic, and %s has product kernels only, such as laplace",
                   kb_say_value(ctx, KB_OPT_KERNEL, config->kernel.text).text,
                   kb_say_value(ctx, KB_OPT_MAP, "binning").text);
}

kb_status kb_map_check_memory(kb_context *ctx, const kb_config *config, const kb_data *data,
                              const kb_memory_plan *memory, size_t C, int direct) {
    size_t grids = config->grids;
    /* A transform may drop all columns but one. */
    size_t columns = config->scale == KB_SCALE_RANKS ? 1 : data->features;
    if (kb_config_is_rival(config))
        return kb_map_check_rival_memory(ctx, config, data, memory, C, direct);
    kb_bytes binning = binning_bytes(ctx, data->rows, columns, data->dense != NULL, grids,
                                     in_whole_numbers(ctx, config));
    kb_memory_plan all = kb_forecast_with(memory, binning, data->rows);
    return check_least(ctx, data, grids, may_stay_away(ctx, config), &all);
}

/* The same for a map that has its grids. */
static kb_status bin_again(kb_context *ctx, const kb_data *data, const kb_memory_plan *memory,
                           kb_map *map, kb_binned *binned, double *forecast) {
    kb_status status;
    kb_data *scaled = NULL;
    size_t grids = map->grids->grids;
    TRY(kb_progress(ctx, "bin", 0));
    kb_bytes sum = kb_map_scaled_bytes(map, data);
    kb_bytes_add(&sum, binning_bytes(ctx, data->rows, map->columns, kb_map_is_dense(map, data),
                                     grids, kb_has_ranks(ctx)));
    kb_memory_plan all = kb_forecast_with(memory, sum, data->rows);
    TRY(check_least(ctx, data, grids, 0, &all));
    if (map->transform)
        TRY(kb_transform_apply(ctx, map->transform, data, &scaled));
    kb_binning binning = kb_map_binning(map);
    TRY(kb_binmat_build(ctx, &binning, scaled ? scaled : data, map->drawn, &all, &binned->z));
    TRY(kb_operator_binmat(ctx, binned->z, &binned->op));
    *forecast = binned->z->forecast;
done:
    kb_data_free(scaled);
    if (status != KB_OK)
        kb_binned_release(binned);
    return status;
}

kb_status kb_map_build(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                       const kb_memory_plan *memory, kb_map **out, kb_binned *binned,
                       double *forecast) {
    kb_status status;
    kb_map *map = NULL, *mixed;
    kb_data *scaled = NULL;
    const kb_config *config = &plan->config;
    *out = NULL;
    *binned = (kb_binned){0};
    if (plan->map) {
        kb_device *device = kb_device_of(ctx, config);
        if (device)
            kb_device_tell(ctx, device, "an update is fitted on the CPU");
        TRY(bin_again(ctx, data, memory, plan->map, binned, forecast));
        *out = plan->map;
        return KB_OK;
    }
    TRY(kb_map_check_kernel(ctx, config));
    TRY(kb_progress(ctx, "bin", 0));
    TRY(kb_ranks_agree(ctx, kb_map_check_memory(ctx, config, data, memory, 1, 0)));
    TRY(kb_map_begin_with(ctx, config, plan->transform, plan->levels,
                          plan->transform_on ? plan->transform_on : data, &map));
    if (plan->mixtures.count && map->transform) {
        TRY(kb_map_mix(ctx, map, &plan->mixtures, &mixed));
        kb_map_free(map);
        map = mixed;
    }
    kb_bytes sum = kb_map_scaled_bytes(map, data);
    kb_bytes_add(&sum, binning_bytes(ctx, data->rows, map->columns, kb_map_is_dense(map, data),
                                     config->grids, in_whole_numbers(ctx, config)));
    kb_memory_plan all = kb_forecast_with(memory, sum, data->rows);
    TRY(kb_ranks_agree(ctx,
                       check_least(ctx, data, config->grids, may_stay_away(ctx, config), &all)));
    TRY(kb_map_scale(ctx, config, data, map, &scaled));
    TRY(bin(ctx, plan, scaled ? scaled : data, &all, map, binned));
    map->drawn = config->grids;
    *forecast = binned->z->forecast;
    *out = map;
done:
    kb_data_free(scaled);
    if (status != KB_OK)
        kb_map_free(map);
    return status;
}
