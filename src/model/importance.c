/*
 * importance.c - what a model tells of its features: their permutation importance, measured in the
 * fit, and how finely the grids split them.
 *
 * Two samples that differ in feature j by t are parted there by 1 - exp(-t/sigma_j) of the grids
 * that cut it; over distances t of mean s_j, the spread of the feature, that is about s_j / (s_j +
 * sigma_j).  A feature's share is q_j times that, summed over the vectors and over the columns made
 * from it, and divided by the sum of all.  The share of a mixture goes to its columns, by how much
 * each of them changes it.  Two samples differ in their level with probability s_j, and are then
 * parted by 1 - exp(-1/sigma_j) of the grids.
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

/* The column of the data behind a column that the encoding makes. */
static size_t input_of(const kb_map *map, size_t encoded) {
    return map->encoding ? map->encoding->step[encoded].source : encoded;
}

/* How much column j moves mixture k, with its sign. */
static double move_of(const kb_map *map, size_t k, size_t j) {
    return map->transform->mixtures.weight[k * map->transform->plain + j] * map->spread[j];
}

static double moves_of(const kb_map *map, size_t k) {
    double sum = 0;
    for (size_t j = 0; j < map->transform->plain; j++)
        sum += fabs(move_of(map, k, j));
    return sum;
}

/* Adds the part of a column of the map to the features that it is made from. */
static void credit(const kb_map *map, size_t column, double part, double *out) {
    const kb_transform *t = map->transform;
    if (!t || column < t->plain) {
        out[input_of(map, t ? kb_transform_source(t, column) : column)] += part;
        return;
    }
    double moves = moves_of(map, column - t->plain);
    for (size_t j = 0; j < t->plain && moves > 0; j++)
        out[input_of(map, kb_transform_source(t, j))] +=
            part * fabs(move_of(map, column - t->plain, j)) / moves;
}

/* The share of the grids that part two samples at the column. */
static double share_parted(const kb_map *map, const kb_width *width, size_t column) {
    double spread = map->spread[column];
    if (map->transform && map->transform->level && map->transform->level[column])
        return width->q * kb_levels_cut(width->sigma) * spread;
    return spread > 0 ? width->q / (1 + width->sigma / spread) : 0;
}

kb_status kb_model_importance(const kb_model *model, kb_importance *out) {
    size_t size = out->size;
    if (size == 0 || size > sizeof *out || !model->importance.drop)
        return KB_ERR_ARGUMENT;
    kb_importance told = model->importance;
    told.size = size;
    memcpy(out, &told, size);
    return KB_OK;
}

kb_status kb_model_fineness(kb_context *ctx, const kb_model *model, double *out) {
    const kb_map *map = model->map;
    const kb_widths *w = &map->widths;
    double total = 0;
    if (!w->width)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "the model does not tell the widths of its features: an older kerbin made "
                       "it; train it again");
    for (size_t j = 0; j < map->features; j++)
        out[j] = 0;
    for (size_t k = 0; k < w->vectors * w->features; k++) {
        size_t column = k % w->features;
        double part = share_parted(map, &w->width[k], column);
        credit(map, column, part, out);
        total += part;
    }
    for (size_t j = 0; j < map->features; j++)
        out[j] = total > 0 ? out[j] / total : 1 / (double)map->features;
    return KB_OK;
}

kb_status kb_model_extra_column(const kb_model *model, size_t k, double *out) {
    const kb_map *map = model->map;
    if (k >= kb_map_mixtures(map))
        return KB_ERR_ARGUMENT;
    double moves = moves_of(map, k);
    for (size_t j = 0; j < map->features; j++)
        out[j] = 0;
    for (size_t j = 0; j < map->transform->plain && moves > 0; j++)
        out[input_of(map, kb_transform_source(map->transform, j))] += move_of(map, k, j) / moves;
    return KB_OK;
}

const char *kb_model_feature_name(const kb_model *model, size_t i) {
    return model->feature_name ? model->feature_name[i] : NULL;
}

int kb_model_zero_based(const kb_model *model) {
    return model->zero_based;
}
