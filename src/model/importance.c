/*
 * importance.c - what the widths say of the features.
 *
 * Two samples that differ by the spread s_j in feature j are, for that alone, parted by a share of
 * about q_j s_j / sigma_j of the grids (theory, section 2).  A feature's importance is that number,
 * summed over the width vectors and over the columns that the transform makes of it, as a share of
 * the sum over all features.
 */
#include "model/model.h"

#include <float.h>

kb_status kb_model_importance(kb_context *ctx, const kb_model *model, double *out) {
    const kb_map *map = model->map;
    const kb_widths *w = &map->widths;
    double total = 0, most = DBL_MAX / 2 / ((double)w->vectors * (double)w->features + 1);
    if (!w->width)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "the model does not tell the widths of its features: an older kerbin made "
                       "it; train it again");
    for (size_t j = 0; j < map->features; j++)
        out[j] = 0;
    for (size_t k = 0; k < w->vectors * w->features; k++) {
        size_t column = k % w->features;
        double part = w->width[k].q * (map->spread[column] / w->width[k].sigma);
        part = part < most ? part : most; /* so that no sum overflows */
        out[map->transform ? kb_transform_source(map->transform, column) : column] += part;
        total += part;
    }
    for (size_t j = 0; j < map->features; j++)
        out[j] = total > 0 ? out[j] / total : 1 / (double)map->features;
    return KB_OK;
}

const char *kb_model_feature_name(const kb_model *model, size_t i) {
    return model->feature_name ? model->feature_name[i] : NULL;
}

int kb_model_zero_based(const kb_model *model) {
    return model->zero_based;
}
