/* map.c - see map.h. */
#include "model/map.h"
#include "core/outfile.h"
#include "core/team.h"
#include "data/number.h"
#include "data/scaling.h"
#include "model/choose.h"
#include "model/sigma.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1024 };

kb_status kb_map_create(kb_context *ctx, size_t features, size_t columns, kb_map **out) {
    kb_status status;
    kb_map *map;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *map, &map));
    map->allocator = kb_allocator_of(ctx);
    map->features = features;
    map->columns = columns;
    TRY(kb_alloc(ctx, columns, sizeof(double), &map->shift));
    TRY(kb_alloc(ctx, columns, sizeof(double), &map->scale));
    *out = map;
done:
    if (status != KB_OK)
        kb_map_free(map);
    return status;
}

void kb_map_free(kb_map *map) {
    if (!map)
        return;
    if (!map->borrowed)
        kb_dictionary_release(map->allocator, &map->dictionary);
    kb_grids_free(map->grids);
    kb_rival_free(map->rival);
    kb_transform_free(map->transform);
    void *all[] = {map->shift,  map->scale, map->spread, map->widths.width,
                   map->kernel, map->sigma, map};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(map->allocator, all[i]);
}

/* The widths that the options ask for; to be released with their law. */
static kb_status widths_by_option(kb_context *ctx, const kb_options *options, kb_map *map,
                                  kb_law **law, kb_widths *out) {
    kb_status status;
    double spread = kb_scaling_mean(map->spread, map->columns);
    TRY(kb_law_parse(ctx, map->kernel, law));
    out->features = map->columns;
    TRY(kb_sigma_parse(ctx, kb_options_text(options, KB_OPT_SIGMA), *law, map->columns, spread,
                       &out->vectors, &out->width, &map->sigma));
done:
    return status;
}

static kb_status draw_grids(kb_context *ctx, const kb_options *options, const kb_widths *given,
                            kb_map *map) {
    kb_status status;
    kb_law *law = NULL;
    kb_widths own = {0};
    size_t grids = (size_t)kb_options_integer(options, KB_OPT_GRIDS);
    if (given && given->features != map->columns)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "widths of %zu features for %zu", given->features,
                    map->columns));
    if (given)
        TRY(kb_strdup(ctx, "learned", &map->sigma));
    else
        TRY(widths_by_option(ctx, options, map, &law, &own));
    const kb_widths *widths = given ? given : &own;
    TRY(kb_grids_build(ctx, (uint64_t)kb_options_integer(options, KB_OPT_SEED), grids, map->columns,
                       widths->vectors, widths->width, &map->grids));
    TRY(kb_map_keep_widths(ctx, map, widths, grids));
done:
    kb_release(ctx, own.width);
    kb_law_free(law);
    return status;
}

/* What does not depend on the bins.  A feature costs 136 bytes for each block of grids (their
 * parameters and bounds), 16 for each grid when a model is written, 432 for widths and
 * scaling, and 128 a thread for sparse rows; a row 16 to 80 bytes for each thread that bins. */
static double fixed_bytes(const kb_context *ctx, const kb_data *data, size_t columns, int dense,
                          size_t grids) {
    double R = (double)grids, blocks = ceil(R / KB_LANES), threads = (double)ctx->threads;
    double sparse = dense ? 0 : 128 * threads;
    double crew = fmin(threads, ceil(R / 16));
    return (136 * blocks + 16 * R + 432 + sparse) * (double)columns +
           48 * crew * (double)data->rows;
}

/* Before any work: what the fit takes even if every group of four grids needs one byte a row. */
static kb_status check_least(kb_context *ctx, const kb_data *data, size_t grids,
                             const kb_memory_plan *plan, double fixed) {
    double least = fixed + (double)data->rows * (double)grids / 4;
    if (least <= (double)plan->limit)
        return KB_OK;
    return kb_fail(
        ctx, KB_ERR_MEMORY,
        "%zu grids over %zu rows and %zu features need at least %s of memory, and %s may "
        "be taken: use fewer --grids or a larger --max-memory",
        grids, data->rows, data->features, kb_size_in_words(least).text,
        kb_size_in_words((double)plan->limit).text);
}

kb_status kb_map_check_kernel(kb_context *ctx, const kb_options *options) {
    const char *kernel = kb_options_text(options, KB_OPT_KERNEL);
    if (kb_map_is_rival(options) || !kb_kernel_name_is_isotropic(kernel))
        return KB_OK;
    return kb_fail(ctx, KB_ERR_ARGUMENT,
                   "--kernel %s: is isotropic, and --map binning has product kernels only, such as "
                   "laplace",
                   kernel);
}

kb_status kb_map_check_memory(kb_context *ctx, const kb_options *options, const kb_data *data,
                              const kb_memory_plan *plan, size_t C, int direct) {
    size_t grids = (size_t)kb_options_integer(options, KB_OPT_GRIDS);
    /* A transform may drop all columns but one. */
    size_t columns = kb_map_transforms(options) ? 1 : data->features;
    if (kb_map_is_rival(options))
        return kb_map_check_rival_memory(ctx, options, data, plan, C, direct);
    return check_least(ctx, data, grids, plan,
                       plan->fixed + fixed_bytes(ctx, data, columns, data->dense != NULL, grids));
}

kb_status kb_map_build(kb_context *ctx, const kb_options *options, const kb_data *data,
                       const kb_found *found, const kb_memory_plan *plan, kb_map **out,
                       kb_binmat **z, double *forecast) {
    kb_status status;
    kb_map *map = NULL, *mixed;
    kb_data *scaled = NULL;
    size_t grids = (size_t)kb_options_integer(options, KB_OPT_GRIDS);
    *out = NULL;
    *z = NULL;
    TRY(kb_map_check_kernel(ctx, options));
    TRY(kb_progress(ctx, "bin", 0));
    TRY(kb_map_check_memory(ctx, options, data, plan, 1, 0));
    TRY(kb_map_begin(ctx, options, found->like ? found->like : data, &map));
    if (found->mixtures && map->transform) {
        TRY(kb_map_mix(ctx, map, found->mixtures, &mixed));
        kb_map_free(map);
        map = mixed;
    }
    double fixed = plan->fixed + kb_map_scaled_bytes(map, data) +
                   fixed_bytes(ctx, data, map->columns, kb_map_is_dense(map, data), grids);
    TRY(check_least(ctx, data, grids, plan, fixed));
    TRY(kb_map_scale(ctx, options, data, map, &scaled));
    TRY(draw_grids(ctx, options, found->widths, map));
    kb_binning binning = kb_map_binning(map);
    TRY(kb_binmat_build(ctx, &binning, scaled ? scaled : data, plan->limit, fixed, plan->per_bin,
                        z));
    map->drawn = grids;
    *forecast = (*z)->forecast;
    *out = map;
done:
    kb_data_free(scaled);
    if (status != KB_OK)
        kb_map_free(map);
    return status;
}

kb_status kb_map_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                     kb_map **out) {
    kb_status status;
    kb_map *map = NULL;
    kb_binmat *z = NULL;
    kb_data *scaled = NULL;
    uint32_t *order = NULL;
    double forecast;
    kb_memory_plan plan = {kb_options_bytes(options, KB_OPT_MAX_MEMORY), 0, 8 + 12 + 4};
    size_t room;
    int direct = 0;
    kb_choice choice;
    *out = NULL;
    TRY(kb_choose(ctx, options, data, &choice));
    options = choice.options;
    if (kb_map_is_rival(options)) {
        plan.fixed = kb_map_features_bytes(options, data);
        TRY(kb_map_build_rival(ctx, options, data, &plan, 1, &map, &scaled, &room, &direct,
                               &forecast));
    } else {
        kb_found found = kb_choice_found(&choice);
        TRY(kb_map_build(ctx, options, data, &found, &plan, &map, &z, &forecast));
        TRY(kb_dictionary_build(ctx, z, &map->dictionary, &order));
    }
    *out = map;
done:
    kb_choice_release(ctx, &choice);
    kb_data_free(scaled);
    kb_release(ctx, order);
    kb_binmat_free(z);
    if (status != KB_OK)
        kb_map_free(map);
    return status;
}

size_t kb_map_grids(const kb_map *map) {
    return map->rival ? map->drawn : map->dictionary.grids;
}

size_t kb_map_bins(const kb_map *map) {
    return map->rival ? map->rival->columns : map->dictionary.bins;
}

kb_status kb_map_check(kb_context *ctx, const kb_map *map, const kb_data *data) {
    if (data->features != map->features)
        return kb_fail(ctx, KB_ERR_DATA, "the data have %zu features, the model %zu",
                       data->features, map->features);
    return KB_OK;
}

/* What it takes to look up CHUNK rows at a time. */
typedef struct lookup {
    kb_data *room; /* kb_map_room */
    uint64_t *zero, *keys;
} lookup;

static kb_status lookup_create(kb_context *ctx, const kb_map *map, const kb_data *data,
                               lookup *out) {
    kb_status status;
    TRY(kb_map_room(ctx, map, data, CHUNK, &out->room));
    size_t zero = kb_keys_scratch(out->room ? out->room : data);
    TRY(kb_alloc(ctx, zero + KB_LANES * CHUNK, sizeof *out->zero, &out->zero));
    out->keys = out->zero + zero;
done:
    return status;
}

static void lookup_release(kb_context *ctx, lookup *t) {
    kb_data_free(t->room);
    kb_release(ctx, t->zero);
}

/* Columns of the rows begin .. begin + rows. */
static void apply_chunk(const kb_map *map, const kb_data *data, size_t begin, size_t rows,
                        const lookup *t, int64_t *columns) {
    kb_binning binning = kb_map_binning(map);
    size_t R = map->dictionary.grids, first;
    const kb_data *x = kb_map_rows(map, data, begin, rows, t->room, &first);
    for (size_t block = 0; block < kb_grids_blocks(map->grids); block++) {
        kb_keys_prepare(&binning, x, block, t->zero);
        kb_keys_compute(&binning, x, block, first, rows, t->zero, CHUNK, t->keys);
        for (size_t k = 0; k < KB_LANES && block * KB_LANES + k < R; k++)
            for (size_t i = 0; i < rows; i++)
                columns[i * R + block * KB_LANES + k] = kb_dictionary_find(
                    &map->dictionary, block * KB_LANES + k, t->keys[k * CHUNK + i]);
    }
}

/* A round of chunks, dealt out to the threads. */
typedef struct applying {
    const kb_map *map;
    const kb_data *data;
    size_t first, last; /* chunks */
    const lookup *each;
    int64_t *columns;
} applying;

static void apply_chunks(void *arg, int me, int threads) {
    const applying *a = arg;
    for (size_t k = a->first + (size_t)me; k < a->last; k += (size_t)threads) {
        size_t begin = k * CHUNK, left = a->data->rows - begin;
        apply_chunk(a->map, a->data, begin, left < CHUNK ? left : CHUNK, &a->each[me],
                    a->columns + begin * a->map->dictionary.grids);
    }
}

kb_status kb_map_apply(kb_context *ctx, const kb_map *map, const kb_data *data, int64_t *columns) {
    kb_status status;
    size_t T = (size_t)ctx->threads, chunks = (data->rows + CHUNK - 1) / CHUNK;
    lookup *each = NULL;
    TRY(kb_map_check(ctx, map, data));
    if (map->rival)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "only --map binning has bins"));
    TRY(kb_zalloc(ctx, T, sizeof *each, &each));
    for (size_t t = 0; t < T; t++)
        TRY(lookup_create(ctx, map, data, &each[t]));
    for (size_t first = 0; first < chunks; first += 4 * T) {
        size_t last = chunks - first < 4 * T ? chunks : first + 4 * T;
        applying a = {map, data, first, last, each, columns};
        kb_team_run(ctx, last - first < 2, apply_chunks, &a);
        TRY(kb_progress(ctx, "predict", (double)last / (double)chunks));
    }
done:
    for (size_t t = 0; each && t < T; t++)
        lookup_release(ctx, &each[t]);
    kb_release(ctx, each);
    return status;
}

/* " column:value" for every known bin of one row. */
static size_t format_row(const int64_t *columns, size_t R, const char *value, size_t length,
                         char *line) {
    char *p = line;
    for (size_t r = 0; r < R; r++) {
        char digits[24];
        int n = 0;
        if (columns[r] < 0)
            continue;
        for (uint64_t c = (uint64_t)columns[r] + 1; c; c /= 10)
            digits[n++] = (char)('0' + c % 10);
        *p++ = ' ';
        while (n > 0)
            *p++ = digits[--n];
        *p++ = ':';
        memcpy(p, value, length);
        p += length;
    }
    *p++ = '\n';
    return (size_t)(p - line);
}

kb_status kb_map_write_features(kb_context *ctx, const kb_map *map, const kb_data *data,
                                const char *path) {
    kb_status status;
    lookup t = {0};
    int64_t *columns = NULL;
    char *line = NULL, value[KB_NUMBER_TEXT], label[KB_NUMBER_TEXT];
    kb_outfile *file = NULL;
    size_t R = map->dictionary.grids;
    size_t length = kb_number_format(1 / sqrt((double)map->drawn), value);
    TRY(kb_map_check(ctx, map, data));
    if (map->rival)
        return kb_map_write_dense(ctx, map, data, path);
    TRY(lookup_create(ctx, map, data, &t));
    TRY(kb_alloc(ctx, CHUNK * R, sizeof *columns, &columns));
    TRY(kb_alloc(ctx, R, 24 + KB_NUMBER_TEXT, &line));
    TRY(kb_outfile_create(ctx, path, &file));
    for (size_t begin = 0; begin < data->rows; begin += CHUNK) {
        size_t rows = data->rows - begin < CHUNK ? data->rows - begin : CHUNK;
        apply_chunk(map, data, begin, rows, &t, columns);
        for (size_t i = 0; i < rows; i++) {
            size_t n = kb_number_format(data->label ? data->label[begin + i] : 0, label);
            TRY(kb_outfile_write(file, label, n));
            TRY(kb_outfile_write(file, line, format_row(columns + i * R, R, value, length, line)));
        }
        TRY(kb_progress(ctx, "write", (double)(begin + rows) / (double)data->rows));
    }
    TRY(kb_outfile_commit(file));
done:
    kb_outfile_free(file);
    lookup_release(ctx, &t);
    kb_release(ctx, columns);
    kb_release(ctx, line);
    return status;
}
