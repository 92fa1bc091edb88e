/*
 * map_scale.h - the first parts of a feature map: its transform, its scaling and its widths.
 */
#ifndef KB_FIT_MAP_SCALE_H
#define KB_FIT_MAP_SCALE_H

#include "core/bytes.h"
#include "model/map.h"
#include "options/config.h"

/* A new map with its transform, learned if the config asks for one, and its kernel's name.  levels:
 * whether the transform keeps columns of levels. */
kb_status kb_map_begin(kb_context *ctx, const kb_config *config, int levels, const kb_data *data,
                       kb_map **out);
/* With a copy of a transform that was learned before, unless that is NULL. */
kb_status kb_map_begin_with(kb_context *ctx, const kb_config *config, const kb_transform *given,
                            int levels, const kb_data *data, kb_map **out);
/* A copy of a new map with a transform, with these mixtures of its columns added. */
kb_status kb_map_mix(kb_context *ctx, const kb_map *map, const kb_mixtures *mixtures, kb_map **out);
/* Scaling by the config, learned on the data, and the spread.  *scaled: the data after the
 * transform, or NULL if there is none. */
kb_status kb_map_scale(kb_context *ctx, const kb_config *config, const kb_data *data, kb_map *map,
                       kb_data **scaled);
/* Bytes that *scaled takes. */
kb_bytes kb_map_scaled_bytes(const kb_map *map, const kb_data *data);
/* Copies the vectors that `grids` grids use. */
kb_status kb_map_keep_widths(kb_context *ctx, kb_map *map, const kb_widths *widths, size_t grids);

#endif
