/* rival_map.c - a rival map by the options: scaling, sigma, memory; see map_build.h. */
#include "data/scaling.h"
#include "fit/map_build.h"
#include "fit/sigma.h"

#include <math.h>
#include <string.h>

int kb_map_is_rival(const kb_options *options) {
    return kb_options_choice(options, KB_OPT_MAP) > 0;
}

kb_rival_kind kb_map_rival_kind(const kb_options *options) {
    return (kb_rival_kind)(kb_options_choice(options, KB_OPT_MAP) - 1);
}

/* What is taken at once, without what is only stored to save time. */
static double least_bytes(const kb_rival_bytes *b, const kb_memory_plan *plan) {
    return plan->fixed + b->map + fmax(b->building, b->product);
}

static kb_status plan_rival(kb_context *ctx, const kb_options *options, const kb_rival_spec *spec,
                            const kb_data *data, const kb_memory_plan *plan, size_t C, size_t *room,
                            int *direct, double *forecast) {
    kb_rival_bytes b = kb_rival_forecast(ctx, spec, data, C);
    double columns = kb_rival_is_direct(spec->kind)   ? (double)data->rows
                     : spec->kind == KB_RIVAL_NYSTROM ? fmin((double)spec->rank, (double)data->rows)
                                                      : (double)spec->rank;
    double limit = (double)plan->limit, least = least_bytes(&b, plan) + plan->per_bin * columns;
    const char *map = kb_options_text(options, KB_OPT_MAP);
    int wanted = *direct && kb_rival_is_direct(spec->kind);
    int asked = wanted && strcmp(kb_options_text(options, KB_OPT_SOLVER), "cholesky") == 0;
    *direct = wanted && least + b.solve <= limit;
    if (least > limit || (asked && !*direct))
        return kb_fail(ctx, KB_ERR_MEMORY,
                       "--map %s for %zu rows needs %s of memory, and %s may be taken: use %s", map,
                       data->rows, kb_size_in_words(least + (asked ? b.solve : 0)).text,
                       kb_size_in_words(limit).text,
                       asked && least <= limit        ? "--solver cg or a larger --max-memory"
                       : spec->kind == KB_RIVAL_EXACT ? "fewer rows or a larger --max-memory"
                                                      : "fewer --grids or a larger --max-memory");
    /* A direct solution has a matrix of its own, and one product with the rows. */
    *room = !*direct && least + b.stored <= limit ? (size_t)b.stored + 1 : 0;
    *forecast = least + (*direct ? b.solve : *room ? b.stored : 0);
    kb_log(ctx, KB_LOG_INFO, "memory: %s forecast; the rows of %s are %s",
           kb_size_in_words(*forecast).text, map,
           *direct ? "solved directly"
           : *room ? "stored"
                   : "computed in every step");
    return KB_OK;
}

/* More than asked for where many samples lie at the same place. */
static size_t largest_block(const kb_rival *r) {
    size_t most = 0;
    for (size_t b = 0; b < r->blocks; b++)
        if (r->start[b + 1] - r->start[b] > most)
            most = r->start[b + 1] - r->start[b];
    return most;
}

static kb_status keep_sigma(kb_context *ctx, kb_map *map, const double *sigma) {
    kb_widths one = {1, map->columns, NULL};
    kb_status status = kb_alloc(ctx, map->columns, sizeof *one.width, &one.width);
    if (status != KB_OK)
        return status;
    for (size_t j = 0; j < map->columns; j++)
        one.width[j] = (kb_width){NULL, sigma[j], 1};
    status = kb_map_keep_widths(ctx, map, &one, 1);
    kb_release(ctx, one.width);
    return status;
}

/* The data behind the transform come first: what a rival takes depends on them. */
static kb_status scale_within(kb_context *ctx, const kb_options *options, const kb_data *data,
                              const kb_memory_plan *plan, kb_map *map, kb_data **scaled) {
    double bytes = plan->fixed + kb_map_scaled_bytes(map, data);
    if (map->transform && bytes > (double)plan->limit)
        return kb_fail(ctx, KB_ERR_MEMORY,
                       "--scale ranks for %zu rows needs %s of memory, and %s may be taken: use "
                       "another --scale or a larger --max-memory",
                       data->rows, kb_size_in_words(bytes).text,
                       kb_size_in_words((double)plan->limit).text);
    return kb_map_scale(ctx, options, data, map, scaled);
}

static kb_rival_spec spec_of(const kb_options *options) {
    return (kb_rival_spec){.kind = kb_map_rival_kind(options),
                           .kernel = kb_options_text(options, KB_OPT_KERNEL),
                           .rank = (size_t)kb_options_integer(options, KB_OPT_GRIDS),
                           .seed = (uint64_t)kb_options_integer(options, KB_OPT_SEED),
                           .landmarks = (kb_landmarks)kb_options_choice(options, KB_OPT_LANDMARKS)};
}

kb_status kb_map_check_rival_memory(kb_context *ctx, const kb_options *options, const kb_data *data,
                                    const kb_memory_plan *plan, size_t C, int direct) {
    kb_rival_spec spec = spec_of(options);
    size_t room;
    double forecast;
    if (kb_map_transforms(options)) /* nobody knows yet how many columns there will be */
        return KB_OK;
    return plan_rival(ctx, options, &spec, data, plan, C, &room, &direct, &forecast);
}

/* A number and what it is made from. */
double kb_map_features_bytes(const kb_options *options, const kb_data *data) {
    kb_rival_spec spec = spec_of(options);
    double rows = fmin((double)kb_map_rows_at_once(spec.rank), (double)data->rows);
    double scaled = kb_map_transforms(options) ? 24 * rows * (double)data->features : 0;
    return kb_rival_is_direct(spec.kind) ? 0 : 16 * rows * (double)spec.rank + scaled;
}

kb_status kb_map_build_rival(kb_context *ctx, const kb_options *options, const kb_data *data,
                             const kb_memory_plan *plan, size_t C, kb_map **out, kb_data **scaled,
                             size_t *room, int *direct, double *forecast) {
    kb_status status;
    kb_map *map = NULL;
    double *sigma = NULL;
    const char *text = kb_options_text(options, KB_OPT_SIGMA);
    *out = NULL;
    *scaled = NULL;
    TRY(kb_progress(ctx, "bin", 0));
    TRY(kb_map_begin(ctx, options, data, &map));
    kb_rival_spec spec = spec_of(options);
    spec.shift = map->shift;
    spec.scale = map->scale;
    map->drawn = spec.rank;
    kb_memory_plan rest = *plan;
    rest.fixed += kb_map_scaled_bytes(map, data);
    if (!map->transform)
        TRY(plan_rival(ctx, options, &spec, data, &rest, C, room, direct, forecast));
    TRY(scale_within(ctx, options, data, plan, map, scaled));
    const kb_data *x = *scaled ? *scaled : data;
    if (map->transform)
        TRY(plan_rival(ctx, options, &spec, x, &rest, C, room, direct, forecast));
    TRY(kb_sigma_vector(ctx, text, kb_kernel_name_is_isotropic(map->kernel), map->columns,
                        kb_scaling_mean(map->spread, map->columns), &sigma, &map->sigma));
    TRY(keep_sigma(ctx, map, sigma));
    spec.sigma = sigma;
    TRY(kb_rival_build(ctx, &spec, x, &map->rival));
    spec.rank = largest_block(map->rival);
    if (*direct && spec.kind == KB_RIVAL_BLOCKS && spec.rank > map->drawn)
        TRY(plan_rival(ctx, options, &spec, x, &rest, C, room, direct, forecast));
    *out = map;
done:
    kb_release(ctx, sigma);
    if (status != KB_OK) {
        kb_map_free(map);
        kb_data_free(*scaled);
        *scaled = NULL;
    }
    return status;
}
