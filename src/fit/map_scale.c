/* map_scale.c - the scaling of a map; see map_scale.h. */
#include "fit/map_scale.h"
#include "data/scaling.h"

/* After a transform nothing needs scaling. */
static void leave_scale(kb_map *map) {
    for (size_t j = 0; map->transform && j < map->columns; j++) {
        map->shift[j] = 0;
        map->scale[j] = 1;
    }
}

kb_status kb_map_begin(kb_context *ctx, const kb_config *config, int levels, const kb_data *data,
                       kb_map **out) {
    kb_status status = KB_OK;
    kb_transform *transform = NULL;
    *out = NULL;
    if (config->scale == KB_SCALE_RANKS)
        TRY(levels ? kb_transform_learn(ctx, data, &transform)
                   : kb_transform_learn_numbers(ctx, data, &transform));
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
        TRY(kb_transform_apply(ctx, map->transform, data, scaled));
    const kb_data *x = *scaled ? *scaled : data;
    TRY(kb_scaling_learn(ctx, kind, x, map->shift, map->scale));
    TRY(kb_alloc(ctx, map->columns, sizeof *map->spread, &map->spread));
    TRY(kb_scaling_deviations(ctx, x, map->shift, map->scale, map->spread));
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
