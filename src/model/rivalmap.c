/* rivalmap.c - a rival map by the options: scaling, sigma, memory; see map.h. */
#include "core/outfile.h"
#include "data/number.h"
#include "data/scaling.h"
#include "model/map.h"
#include "model/sigma.h"

#include <math.h>
#include <stdio.h>
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

kb_status kb_map_build_rival(kb_context *ctx, const kb_options *options, const kb_data *data,
                             const kb_memory_plan *plan, size_t C, kb_map **out, size_t *room,
                             int *direct, double *forecast) {
    kb_status status;
    kb_map *map = NULL;
    double *sigma = NULL, spread = 0;
    const char *text = kb_options_text(options, KB_OPT_SIGMA);
    *out = NULL;
    TRY(kb_progress(ctx, "bin", 0));
    TRY(kb_map_create(ctx, data->features, &map));
    TRY(kb_strdup(ctx, kb_options_text(options, KB_OPT_KERNEL), &map->kernel));
    map->drawn = (size_t)kb_options_integer(options, KB_OPT_GRIDS);
    kb_rival_spec spec = {.kind = kb_map_rival_kind(options),
                          .kernel = map->kernel,
                          .shift = map->shift,
                          .scale = map->scale,
                          .rank = map->drawn,
                          .seed = (uint64_t)kb_options_integer(options, KB_OPT_SEED),
                          .landmarks = (kb_landmarks)kb_options_choice(options, KB_OPT_LANDMARKS)};
    TRY(plan_rival(ctx, options, &spec, data, plan, C, room, direct, forecast));
    TRY(kb_map_scale(ctx, options, data, map));
    if (strcmp(text, "default") == 0)
        TRY(kb_scaling_mean_deviation(ctx, data, map->shift, map->scale, &spread));
    TRY(kb_sigma_vector(ctx, text, kb_kernel_name_is_isotropic(map->kernel), data->features, spread,
                        &sigma, &map->sigma));
    spec.sigma = sigma;
    TRY(kb_rival_build(ctx, &spec, data, &map->rival));
    spec.rank = largest_block(map->rival);
    if (*direct && spec.kind == KB_RIVAL_BLOCKS && spec.rank > map->drawn)
        TRY(plan_rival(ctx, options, &spec, data, plan, C, room, direct, forecast));
    *out = map;
done:
    kb_release(ctx, sigma);
    if (status != KB_OK)
        kb_map_free(map);
    return status;
}

/* All features of a row, from its product with the unit matrix. */
kb_status kb_map_write_dense(kb_context *ctx, const kb_map *map, const kb_data *data,
                             const char *path) {
    kb_status status;
    size_t D = map->rival->columns, N = data->rows;
    double *unit = NULL, *z = NULL;
    char number[KB_NUMBER_TEXT + 32];
    kb_outfile *file = NULL;
    if (kb_rival_is_direct(map->rival->kind))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--map blocks and exact have no features to write");
    TRY(kb_zalloc(ctx, D * D, sizeof *unit, &unit));
    TRY(kb_alloc(ctx, N * D, sizeof *z, &z));
    for (size_t k = 0; k < D; k++)
        unit[k * D + k] = 1;
    TRY(kb_rival_decide(ctx, map->rival, data, D, unit, z));
    TRY(kb_outfile_create(ctx, path, &file));
    for (size_t i = 0; i < N; i++) {
        size_t n = kb_number_format(data->label ? data->label[i] : 0, number);
        TRY(kb_outfile_write(file, number, n));
        for (size_t k = 0; k < D; k++) {
            n = (size_t)snprintf(number, 32, " %zu:", k + 1);
            n += kb_number_format(z[i * D + k], number + n);
            TRY(kb_outfile_write(file, number, n));
        }
        TRY(kb_outfile_write(file, "\n", 1));
        if (i % 1024 == 0)
            TRY(kb_progress(ctx, "write", (double)i / (double)N));
    }
    TRY(kb_outfile_commit(file));
done:
    kb_outfile_free(file);
    kb_release(ctx, unit);
    kb_release(ctx, z);
    return status;
}
