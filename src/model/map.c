/* map.c - see map.h. */
#include "model/map.h"
#include "core/outfile.h"
#include "data/number.h"
#include "data/scaling.h"
#include "model/sigma.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1024 };

kb_status kb_map_create(kb_context *ctx, size_t features, kb_map **out) {
    kb_status status;
    kb_map *map;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *map, &map));
    map->allocator = kb_allocator_of(ctx);
    map->features = features;
    TRY(kb_alloc(ctx, features, sizeof(double), &map->shift));
    TRY(kb_alloc(ctx, features, sizeof(double), &map->scale));
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
    kb_allocator_release(map->allocator, map->shift);
    kb_allocator_release(map->allocator, map->scale);
    kb_allocator_release(map->allocator, map->kernel);
    kb_allocator_release(map->allocator, map->sigma);
    kb_allocator_release(map->allocator, map);
}

static kb_scale_kind scale_kind(const kb_options *options, const char **name) {
    static const struct {
        const char *name;
        kb_scale_kind kind;
    } kinds[] = {{"auto", KB_SCALE_MINMAX},
                 {"minmax", KB_SCALE_MINMAX},
                 {"maxabs", KB_SCALE_MAXABS},
                 {"standard", KB_SCALE_STANDARD},
                 {"none", KB_SCALE_NONE}};
    int choice = kb_options_choice(options, KB_OPT_SCALE);
    *name = kinds[choice == 0 ? 1 : choice].name;
    return kinds[choice].kind;
}

kb_status kb_map_scale(kb_context *ctx, const kb_options *options, const kb_data *data,
                       kb_map *map) {
    return kb_scaling_learn(ctx, scale_kind(options, &map->scaling), data, map->shift, map->scale);
}

static kb_status draw_grids(kb_context *ctx, const kb_options *options, const kb_data *data,
                            kb_map *map) {
    kb_status status;
    kb_law *law = NULL;
    kb_width *widths = NULL;
    size_t vectors;
    double spread = 0;
    const char *sigma = kb_options_text(options, KB_OPT_SIGMA);
    TRY(kb_law_parse(ctx, map->kernel, &law));
    if (strcmp(sigma, "default") == 0)
        TRY(kb_scaling_mean_deviation(ctx, data, map->shift, map->scale, &spread));
    TRY(kb_sigma_parse(ctx, sigma, law, data->features, spread, &vectors, &widths, &map->sigma));
    TRY(kb_grids_build(ctx, (uint64_t)kb_options_integer(options, KB_OPT_SEED),
                       (size_t)kb_options_integer(options, KB_OPT_GRIDS), data->features, vectors,
                       widths, &map->grids));
done:
    kb_release(ctx, widths);
    kb_law_free(law);
    return status;
}

/* What does not depend on the bins.  A feature costs 136 bytes for each block of grids (their
 * parameters and bounds), 16 for each grid when a model is written, 232 for widths and
 * scaling, and 128 a thread for sparse rows; a row 16 to 80 bytes for each thread that bins. */
static double fixed_bytes(const kb_context *ctx, const kb_data *data, size_t grids) {
    double R = (double)grids, blocks = ceil(R / KB_LANES), threads = (double)ctx->threads;
    double feature = 136 * blocks + 16 * R + 232 + (data->dense ? 0 : 128 * threads);
    double crew = fmin(threads, ceil(R / 16));
    return feature * (double)data->features + 48 * crew * (double)data->rows;
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

kb_status kb_map_build(kb_context *ctx, const kb_options *options, const kb_data *data,
                       const kb_memory_plan *plan, kb_map **out, kb_binmat **z, double *forecast) {
    kb_status status;
    kb_map *map = NULL;
    size_t grids = (size_t)kb_options_integer(options, KB_OPT_GRIDS);
    double fixed = plan->fixed + fixed_bytes(ctx, data, grids);
    *out = NULL;
    *z = NULL;
    TRY(kb_progress(ctx, "bin", 0));
    TRY(check_least(ctx, data, grids, plan, fixed));
    TRY(kb_map_create(ctx, data->features, &map));
    TRY(kb_strdup(ctx, kb_options_text(options, KB_OPT_KERNEL), &map->kernel));
    if (kb_kernel_name_is_isotropic(map->kernel))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                    "--kernel %s: is isotropic, and --map binning has product kernels only, such "
                    "as laplace",
                    map->kernel));
    TRY(kb_map_scale(ctx, options, data, map));
    TRY(draw_grids(ctx, options, data, map));
    kb_binning binning = kb_map_binning(map);
    TRY(kb_binmat_build(ctx, &binning, data, plan->limit, fixed, plan->per_bin, z));
    map->drawn = grids;
    *forecast = (*z)->forecast;
    *out = map;
done:
    if (status != KB_OK)
        kb_map_free(map);
    return status;
}

kb_status kb_map_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                     kb_map **out) {
    kb_status status;
    kb_map *map = NULL;
    kb_binmat *z = NULL;
    uint32_t *order = NULL;
    double forecast;
    kb_memory_plan plan = {kb_options_bytes(options, KB_OPT_MAX_MEMORY), 0, 8 + 12 + 4};
    size_t room;
    int direct = 0;
    *out = NULL;
    if (kb_map_is_rival(options))
        return kb_map_build_rival(ctx, options, data, &plan, 1, out, &room, &direct, &forecast);
    TRY(kb_map_build(ctx, options, data, &plan, &map, &z, &forecast));
    TRY(kb_dictionary_build(ctx, z, &map->dictionary, &order));
    *out = map;
done:
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

/* Columns of the rows begin .. begin + rows; `keys` and `zero` are scratch. */
static void apply_chunk(const kb_map *map, const kb_data *data, size_t begin, size_t rows,
                        uint64_t *zero, uint64_t *keys, int64_t *columns) {
    kb_binning binning = kb_map_binning(map);
    size_t R = map->dictionary.grids;
    for (size_t block = 0; block < kb_grids_blocks(map->grids); block++) {
        kb_keys_prepare(&binning, data, block, zero);
        kb_keys_compute(&binning, data, block, begin, rows, zero, CHUNK, keys);
        for (size_t k = 0; k < KB_LANES && block * KB_LANES + k < R; k++)
            for (size_t i = 0; i < rows; i++)
                columns[i * R + block * KB_LANES + k] =
                    kb_dictionary_find(&map->dictionary, block * KB_LANES + k, keys[k * CHUNK + i]);
    }
}

kb_status kb_map_apply(kb_context *ctx, const kb_map *map, const kb_data *data, int64_t *columns) {
    kb_status status;
    uint64_t *scratch = NULL;
    size_t zero = kb_keys_scratch(data), each = zero + KB_LANES * CHUNK;
    TRY(kb_map_check(ctx, map, data));
    if (map->rival)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "only --map binning has bins"));
    TRY(kb_alloc(ctx, each, sizeof *scratch, &scratch));
    for (size_t begin = 0; begin < data->rows; begin += CHUNK) {
        size_t rows = data->rows - begin < CHUNK ? data->rows - begin : CHUNK;
        apply_chunk(map, data, begin, rows, scratch, scratch + zero,
                    columns + begin * map->dictionary.grids);
    }
done:
    kb_release(ctx, scratch);
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
    uint64_t *scratch = NULL;
    int64_t *columns = NULL;
    char *line = NULL, value[KB_NUMBER_TEXT], label[KB_NUMBER_TEXT];
    kb_outfile *file = NULL;
    size_t R = map->dictionary.grids, zero = kb_keys_scratch(data);
    size_t length = kb_number_format(1 / sqrt((double)map->drawn), value);
    TRY(kb_map_check(ctx, map, data));
    if (map->rival)
        return kb_map_write_dense(ctx, map, data, path);
    TRY(kb_alloc(ctx, zero + KB_LANES * CHUNK, sizeof *scratch, &scratch));
    TRY(kb_alloc(ctx, CHUNK * R, sizeof *columns, &columns));
    TRY(kb_alloc(ctx, R, 24 + KB_NUMBER_TEXT, &line));
    TRY(kb_outfile_create(ctx, path, &file));
    for (size_t begin = 0; begin < data->rows; begin += CHUNK) {
        size_t rows = data->rows - begin < CHUNK ? data->rows - begin : CHUNK;
        apply_chunk(map, data, begin, rows, scratch, scratch + zero, columns);
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
    kb_release(ctx, scratch);
    kb_release(ctx, columns);
    kb_release(ctx, line);
    return status;
}
