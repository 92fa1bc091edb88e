/* map_scale.c - the scaling of a map; see map_scale.h. */
#include "fit/map_scale.h"
#include "data/scaling.h"
#include "deal/collect.h"

/* After a transform nothing needs scaling. */
static void leave_scale(kb_map *map) {
    for (size_t j = 0; map->transform && j < map->columns; j++) {
        map->shift[j] = 0;
        map->scale[j] = 1;
    }
}

/* With ranks the ranks of values come from evenly spaced rows of all. */
static kb_status learn_transform(kb_context *ctx, int levels, const kb_data *data,
                                 kb_transform **out) {
    kb_status status;
    kb_data *sample = NULL;
    *out = NULL;
    if (kb_rank_count(ctx) > 1 && data->dense)
        TRY(kb_collect_evenly(ctx, data, KB_TRANSFORM_ROWS, &sample));
    TRY(kb_ranks_agree(ctx,
                       kb_transform_learn_from(ctx, data, sample ? sample : data, levels, out)));
done:
    kb_data_free(sample);
    return status;
}

/* Likewise how far the values lie apart. */
static kb_status find_spread(kb_context *ctx, const kb_data *x, kb_map *map) {
    kb_status status;
    kb_data *sample = NULL;
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, map->columns, sizeof *map->spread, &map->spread)));
    if (kb_rank_count(ctx) > 1)
        TRY(kb_collect_evenly(ctx, x, KB_DEVIATION_ROWS, &sample));
    TRY(kb_ranks_agree(
        ctx, kb_scaling_deviations(ctx, sample ? sample : x, map->shift, map->scale, map->spread)));
done:
    kb_data_free(sample);
    return status;
}

kb_status kb_map_begin(kb_context *ctx, const kb_config *config, int levels, const kb_data *data,
                       kb_map **out) {
    return kb_map_begin_with(ctx, config, NULL, levels, data, out);
}

kb_status kb_map_begin_with(kb_context *ctx, const kb_config *config, const kb_transform *given,
                            int levels, const kb_data *data, kb_map **out) {
    kb_status status = KB_OK;
    kb_transform *transform = NULL;
    const kb_mixtures none = {0};
    *out = NULL;
    if (config->scale == KB_SCALE_RANKS && given)
        TRY(kb_transform_mix(ctx, given, &none, &transform));
    else if (config->scale == KB_SCALE_RANKS)
        TRY(learn_transform(ctx, levels, data, &transform));
    TRY(kb_map_create(ctx, data->features, transform ? transform->features : data->features, out));
    (*out)->transform = transform;
    transform = NULL;
    leave_scale(*out);
    /* Without tuning auto is minmax; a model stores which scaling it has. */
    (*out)->scaling = kb_choice_word(
        KB_OPT_SCALE, config->scale == KB_SCALE_AUTO ? KB_SCALE_MINMAX : (int)config->scale);
    TRY(kb_strdup(ctx, config->kernel.text, &(*out)->kernel));
done:
    kb_transform_free(transform);
    if (status != KB_OK) {
        kb_map_free(*out);
        *out = NULL;
    }
    return status;
}

kb_status kb_map_mix(kb_context *ctx, const kb_map *map, const kb_mixtures *mixtures,
                     kb_map **out) {
    kb_status status;
    *out = NULL;
    if (mixtures->columns != map->columns)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "mixtures of %zu columns for %zu", mixtures->columns,
                       map->columns);
    TRY(kb_map_create(ctx, map->features, map->columns + mixtures->count, out));
    TRY(kb_transform_mix(ctx, map->transform, mixtures, &(*out)->transform));
    leave_scale(*out);
    (*out)->scaling = map->scaling;
    TRY(kb_strdup(ctx, map->kernel, &(*out)->kernel));
done:
    if (status != KB_OK) {
        kb_map_free(*out);
        *out = NULL;
    }
    return status;
}

kb_bytes kb_map_scaled_bytes(const kb_map *map, const kb_data *data) {
    return (kb_bytes){.fixed = map->transform ? kb_transform_bytes(map->transform, data) : 0};
}

kb_status kb_map_scale(kb_context *ctx, const kb_config *config, const kb_data *data, kb_map *map,
                       kb_data **scaled) {
    kb_status status;
    kb_scale_kind kind = config->scale == KB_SCALE_AUTO ? KB_SCALE_MINMAX : config->scale;
    *scaled = NULL;
    if (map->transform)
        TRY(kb_ranks_agree(ctx, kb_transform_apply(ctx, map->transform, data, scaled)));
    if (*scaled) {
        (*scaled)->first_row = data->first_row;
        (*scaled)->all_rows = data->all_rows;
    }
    const kb_data *x = *scaled ? *scaled : data;
    TRY(kb_scaling_learn(ctx, kind, x, map->shift, map->scale));
    TRY(find_spread(ctx, x, map));
done:
    if (status != KB_OK) {
        kb_data_free(*scaled);
        *scaled = NULL;
    }
    return status;
}

kb_status kb_map_keep_widths(kb_context *ctx, kb_map *map, const kb_widths *widths, size_t grids) {
    kb_status status;
    size_t vectors = widths->vectors < grids ? widths->vectors : grids;
    size_t count = vectors * widths->features;
    TRY(kb_alloc(ctx, count, sizeof *map->widths.width, &map->widths.width));
    map->widths.vectors = vectors;
    map->widths.features = widths->features;
    for (size_t k = 0; k < count; k++)
        map->widths.width[k] = (kb_width){NULL, widths->width[k].sigma, widths->width[k].q};
done:
    return status;
}
