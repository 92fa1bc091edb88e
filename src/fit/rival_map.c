/* rival_map.c - a rival map by the config: scaling, sigma, memory; see map_build.h. */
#include "data/scaling.h"
#include "fit/map_build.h"
#include "fit/sigma.h"
#include "options/say.h"

#include <math.h>

/* Memory that is needed at once, without what is only stored to save time. */
static double least_bytes(const kb_rival_bytes *b, const kb_memory_plan *memory) {
    return memory->fixed + b->map + fmax(b->building, b->product);
}

static kb_status refuse(kb_context *ctx, const kb_config *config, const kb_data *data, double bytes,
                        double limit, int solver) {
    const char *map = kb_choice_word(KB_OPT_MAP, (int)config->map);
    kb_said less = kb_say(ctx, KB_OPT_GRIDS);
    if (solver)
        less = kb_say_value(ctx, KB_OPT_SOLVER, "cg");
    else if (config->map == KB_MAP_EXACT)
        less = (kb_said){"rows"};
    return kb_fail(ctx, KB_ERR_MEMORY,
                   "%s for %zu rows needs %s of memory, and %s may be taken: use %s%s or a larger "
                   "%s",
                   kb_say_value(ctx, KB_OPT_MAP, map).text, data->rows,
                   kb_size_in_words(bytes).text, kb_size_in_words(limit).text,
                   solver ? "" : "fewer ", less.text, kb_say(ctx, KB_OPT_MAX_MEMORY).text);
}

static kb_status plan_rival(kb_context *ctx, const kb_config *config, const kb_rival_spec *spec,
                            const kb_data *data, const kb_memory_plan *memory, size_t C,
                            size_t *room, int *direct, double *forecast) {
    kb_rival_bytes b = kb_rival_forecast(ctx, spec, data, C);
    double columns = kb_rival_is_direct(spec->kind)   ? (double)data->rows
                     : spec->kind == KB_RIVAL_NYSTROM ? fmin((double)spec->rank, (double)data->rows)
                                                      : (double)spec->rank;
    double limit = (double)memory->limit,
           least = least_bytes(&b, memory) + memory->per_bin * columns;
    const char *map = kb_choice_word(KB_OPT_MAP, (int)config->map);
    int wanted = *direct && kb_rival_is_direct(spec->kind);
    int asked = wanted && config->solver == KB_SOLVER_CHOLESKY;
    *direct = wanted && least + b.solve <= limit;
    if (least > limit || (asked && !*direct))
        return refuse(ctx, config, data, least + (asked ? b.solve : 0), limit,
                      asked && least <= limit);
    /* A direct solution needs a matrix of its own, and one product with the rows. */
    *room = !*direct && least + b.stored <= limit ? (size_t)b.stored + 1 : 0;
    *forecast = least + (*direct ? b.solve : *room ? b.stored : 0);
    kb_log(ctx, KB_LOG_INFO, "memory: %s forecast; the rows of %s are %s",
           kb_size_in_words(*forecast).text, map,
           *direct ? "solved directly"
           : *room ? "stored"
                   : "computed in every step");
    return KB_OK;
}

/* More than asked for where many samples coincide. */
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

/* First the data after the transform: the memory of a rival depends on them. */
static kb_status scale_within(kb_context *ctx, const kb_config *config, const kb_data *data,
                              const kb_memory_plan *memory, kb_map *map, kb_data **scaled) {
    double bytes = memory->fixed + kb_map_scaled_bytes(map, data).fixed;
    if (map->transform && bytes > (double)memory->limit)
        return kb_fail(
            ctx, KB_ERR_MEMORY,
            "%s for %zu rows needs %s of memory, and %s may be taken: use another %s or a "
            "larger %s",
            kb_say_value(ctx, KB_OPT_SCALE, "ranks").text, data->rows, kb_size_in_words(bytes).text,
            kb_size_in_words((double)memory->limit).text, kb_say(ctx, KB_OPT_SCALE).text,
            kb_say(ctx, KB_OPT_MAX_MEMORY).text);
    return kb_map_scale(ctx, config, data, map, scaled);
}

static kb_rival_spec spec_of(const kb_config *config) {
    return (kb_rival_spec){.kind = kb_rival_kind_of(config->map),
                           .kernel = config->kernel.text,
                           .rank = config->grids,
                           .seed = config->seed,
                           .landmarks = config->landmarks};
}

kb_status kb_map_check_rival_memory(kb_context *ctx, const kb_config *config, const kb_data *data,
                                    const kb_memory_plan *memory, size_t C, int direct) {
    kb_rival_spec spec = spec_of(config);
    size_t room;
    double forecast;
    if (config->scale == KB_SCALE_RANKS) /* the number of columns is not known yet */
        return KB_OK;
    return plan_rival(ctx, config, &spec, data, memory, C, &room, &direct, &forecast);
}

/* A number and the factors it is the product of. */
double kb_map_features_bytes(const kb_config *config, const kb_data *data) {
    kb_rival_spec spec = spec_of(config);
    double rows = fmin((double)kb_map_rows_at_once(spec.rank), (double)data->rows);
    double scaled = config->scale == KB_SCALE_RANKS ? 24 * rows * (double)data->features : 0;
    return kb_rival_is_direct(spec.kind) ? 0 : 16 * rows * (double)spec.rank + scaled;
}

kb_status kb_map_build_rival(kb_context *ctx, const kb_config *config, const kb_data *data,
                             const kb_memory_plan *memory, size_t C, kb_map **out, kb_data **scaled,
                             size_t *room, int *direct, double *forecast) {
    kb_status status;
    kb_map *map = NULL;
    double *sigma = NULL;
    *out = NULL;
    *scaled = NULL;
    TRY(kb_progress(ctx, "bin", 0));
    TRY(kb_map_begin(ctx, config, 0, data, &map));
    kb_rival_spec spec = spec_of(config);
    spec.shift = map->shift;
    spec.scale = map->scale;
    map->drawn = spec.rank;
    kb_memory_plan rest = kb_forecast_with(memory, kb_map_scaled_bytes(map, data), data->rows);
    if (!map->transform)
        TRY(plan_rival(ctx, config, &spec, data, &rest, C, room, direct, forecast));
    TRY(scale_within(ctx, config, data, memory, map, scaled));
    const kb_data *x = *scaled ? *scaled : data;
    if (map->transform)
        TRY(plan_rival(ctx, config, &spec, x, &rest, C, room, direct, forecast));
    TRY(kb_sigma_vector(ctx, &config->sigma, config->kernel.isotropic, map->columns,
                        kb_scaling_mean(map->spread, map->columns), &sigma, &map->sigma));
    TRY(keep_sigma(ctx, map, sigma));
    spec.sigma = sigma;
    TRY(kb_rival_build(ctx, &spec, x, &map->rival));
    spec.rank = largest_block(map->rival);
    if (*direct && spec.kind == KB_RIVAL_BLOCKS && spec.rank > map->drawn)
        TRY(plan_rival(ctx, config, &spec, x, &rest, C, room, direct, forecast));
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
