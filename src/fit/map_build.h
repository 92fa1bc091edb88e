/*
 * map_build.h - builds a feature map from data: scaling, widths, grids and bins, or a rival map.
 */
#ifndef KB_FIT_MAP_BUILD_H
#define KB_FIT_MAP_BUILD_H

#include "features/binned.h"
#include "fit/forecast.h"
#include "fit/map_scale.h"
#include "fit/plan.h"
#include "model/map.h"

/* Learns scaling and widths, draws the grids and bins the data.  The map owns the grids; Z and its
 * operator are in *binned: call kb_binned_release on success and on failure.  The map's dictionary
 * is empty until kb_dictionary_build takes the keys from Z.  The features of widths are those after
 * the transform, which is learned on plan->transform_on.  With plan->map that one is *map, and only
 * the data are binned. */
kb_status kb_map_build(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                       const kb_memory_plan *memory, kb_map **map, kb_binned *binned,
                       double *forecast);

/* KB_ERR_ARGUMENT if random binning does not support the kernel. */
kb_status kb_map_check_kernel(kb_context *ctx, const kb_config *config);

/* KB_ERR_MEMORY if a map is certain to take more than the limit; see kb_map_build_rival for C and
 * direct. */
kb_status kb_map_check_memory(kb_context *ctx, const kb_config *config, const kb_data *data,
                              const kb_memory_plan *memory, size_t C, int direct);
/* The same for a rival. */
kb_status kb_map_check_rival_memory(kb_context *ctx, const kb_config *config, const kb_data *data,
                                    const kb_memory_plan *memory, size_t C, int direct);

/* kb_map_build for a rival, for C outputs at once.  *scaled: the data after the transform, which
 * the rival's operator needs and the caller frees, or NULL if there is none.  *room: bytes that the
 * operator may use to store what it would otherwise compute in every product; *direct: whether a
 * Cholesky solution is wanted, and on return whether it fits. */
kb_status kb_map_build_rival(kb_context *ctx, const kb_config *config, const kb_data *data,
                             const kb_memory_plan *memory, size_t C, kb_map **map, kb_data **scaled,
                             size_t *room, int *direct, double *forecast);

/* Bytes that kb_map_apply_dense and kb_map_write_dense use at a time, in addition to the map. */
double kb_map_features_bytes(const kb_config *config, const kb_data *data);

#endif
