/*
 * map.h - from a sample to its row of Z: scaling, grids and known bins.
 */
#ifndef KB_MODEL_MAP_H
#define KB_MODEL_MAP_H

#include "features/dictionary.h"
#include "features/rival.h"
#include "model/options.h"

struct kb_map {
    kb_allocator allocator;
    size_t features;
    double *shift, *scale; /* of the features */
    kb_rival *rival;       /* instead of grids and bins; NULL for random binning */
    kb_grids *grids;
    size_t drawn; /* R: how many grids there were; a model may have dropped some since */
    kb_dictionary dictionary;
    int borrowed; /* the dictionary's arrays belong to a mapped file */
    char *kernel; /* as it was asked for */
    char *sigma;  /* as it was found */
    const char *scaling;
};

static inline kb_binning kb_map_binning(const kb_map *map) {
    return (kb_binning){map->grids, map->shift, map->scale, kb_kernels_best()};
}

/* What a fit takes beside the bin numbers: for the forecast. */
typedef struct kb_memory_plan {
    size_t limit;   /* bytes that may be taken in all */
    double fixed;   /* bytes that do not depend on the bins */
    double per_bin; /* bytes for each bin of Z */
} kb_memory_plan;

/* Learns scaling and widths, draws the grids and bins the data.  The map's dictionary
 * is empty until kb_dictionary_build takes the keys from *z. */
kb_status kb_map_build(kb_context *ctx, const kb_options *options, const kb_data *data,
                       const kb_memory_plan *plan, kb_map **map, kb_binmat **z, double *forecast);

/* Whether the options ask for another map than random binning. */
int kb_map_is_rival(const kb_options *options);
kb_rival_kind kb_map_rival_kind(const kb_options *options);

/* The same for a rival, for C outputs at once.  *room: bytes that its operator may take to store
 * what it would else compute in every product; *direct: whether a Cholesky solution is wanted, and
 * on return whether it fits. */
kb_status kb_map_build_rival(kb_context *ctx, const kb_options *options, const kb_data *data,
                             const kb_memory_plan *plan, size_t C, kb_map **map, size_t *room,
                             int *direct, double *forecast);

/* Scaling by the options, learnt on the data. */
kb_status kb_map_scale(kb_context *ctx, const kb_options *options, const kb_data *data,
                       kb_map *map);

/* kb_map_write_features for a rival. */
kb_status kb_map_write_dense(kb_context *ctx, const kb_map *map, const kb_data *data,
                             const char *path);

/* An empty map for a reader of model files. */
kb_status kb_map_create(kb_context *ctx, size_t features, kb_map **out);

/* KB_ERR_DATA if the data have other features than the map. */
kb_status kb_map_check(kb_context *ctx, const kb_map *map, const kb_data *data);

#endif
