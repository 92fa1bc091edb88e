/*
 * map.h - from a sample to its row of Z: scaling, grids and known bins.
 */
#ifndef KB_MODEL_MAP_H
#define KB_MODEL_MAP_H

#include "data/transform.h"
#include "encode/encoding.h"
#include "features/dictionary.h"
#include "rivals/rival.h"

struct kb_map {
    kb_allocator allocator;
    size_t features;         /* that the data must have */
    kb_encoding *encoding;   /* applied to the data first, or NULL */
    kb_transform *transform; /* applied to the encoded data, or NULL */
    size_t columns;          /* features after it, which the grids cut */
    double *shift, *scale;   /* columns: 0 and 1 where there is a transform */
    double *spread;          /* columns: mean absolute deviation of the scaled values, or NULL */
    kb_widths widths;        /* sigma and q of the columns, without their laws; width may be NULL */
    kb_rival *rival;         /* instead of grids and bins; NULL for random binning */
    kb_grids *grids;
    size_t drawn; /* R: how many grids there were; a model may have dropped some since */
    kb_dictionary dictionary;
    int borrowed; /* the dictionary's arrays belong to a mapped file */
    char *kernel; /* as it was given */
    char *sigma;  /* as it was chosen */
    const char *scaling;
};

static inline kb_binning kb_map_binning(const kb_map *map) {
    return (kb_binning){map->grids, map->shift, map->scale, kb_simd_best()};
}

static inline size_t kb_map_mixtures(const kb_map *map) {
    return map->transform ? map->transform->mixtures.count : 0;
}

/* Those of them that are predictions of a linear fit; the others are directions. */
static inline size_t kb_map_linear(const kb_map *map) {
    return map->transform ? map->transform->mixtures.linear : 0;
}

static inline size_t kb_map_levels(const kb_map *map) {
    return map->transform ? map->transform->levels : 0;
}

/* Other data pass the encoding and the transform some rows at a time.  kb_map_room_create: memory
 * for `rows` of them; release it also after a failure.  kb_map_rows: the rows from `begin`, a
 * multiple of that number, which lie in what is returned from *first on.  kb_map_is_dense: in which
 * form. */
typedef struct kb_map_room {
    kb_data *encoded, *transformed; /* NULL: the rows do not change there */
} kb_map_room;
kb_status kb_map_room_create(kb_context *ctx, const kb_map *map, const kb_data *data, size_t rows,
                             kb_map_room *out);
void kb_map_room_release(kb_map_room *room);
const kb_data *kb_map_rows(const kb_map *map, const kb_data *data, size_t begin, size_t rows,
                           const kb_map_room *room, size_t *first);
int kb_map_is_dense(const kb_map *map, const kb_data *data);
/* Whether all rows pass as they are. */
static inline int kb_map_changes_nothing(const kb_map *map, const kb_data *data) {
    return !map->transform && !kb_encoding_is_needed(map->encoding, data);
}

/* Memory to look up the bins of other data: `rows` of them are transformed at a time, and the
 * keys of `chunk` of those are computed at a time.  Release *out also after a failure. */
typedef struct kb_lookup {
    kb_map_room room;
    uint64_t *zero; /* kb_bin_keys_scratch */
    uint64_t *keys; /* KB_LANES x chunk */
} kb_lookup;
kb_status kb_lookup_create(kb_context *ctx, const kb_map *map, const kb_data *data, size_t rows,
                           size_t chunk, kb_lookup *out);
void kb_lookup_release(kb_context *ctx, kb_lookup *lookup);

/* kb_rival_decide after the transform. */
kb_status kb_map_decide_rival(kb_context *ctx, const kb_map *map, const kb_data *data, size_t C,
                              const double *w, double *out);

/* Rows of Z, each of so many columns, that are made at a time. */
size_t kb_map_rows_at_once(size_t columns);

/* kb_map_write_features for a rival. */
kb_status kb_map_write_dense(kb_context *ctx, const kb_map *map, const kb_data *data,
                             const char *path);

/* An empty map for a reader of model files. */
kb_status kb_map_create(kb_context *ctx, size_t features, size_t columns, kb_map **out);

/* From now on the map takes data as they are before this encoding, which is copied; NULL changes
 * nothing. */
kb_status kb_map_attach(kb_context *ctx, kb_map *map, const kb_encoding *encoding);

/* Whether all of x lie there; a NaN does not. */
int kb_all_within(size_t count, const double *x, double least, double most);

/* What is wrong with its numbers, as a clause, or NULL: one is not finite, or out of its bounds.
 * Bins and a rival's own arrays are not looked at. */
const char *kb_map_fault(const kb_map *map);

/* KB_ERR_DATA if the data have other features than the map. */
kb_status kb_map_check(kb_context *ctx, const kb_map *map, const kb_data *data);

#endif
