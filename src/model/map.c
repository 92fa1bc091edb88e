/* map.c - see map.h. */
#include "model/map.h"
#include "core/number.h"
#include "core/outfile.h"
#include "core/team.h"
#include "options/say.h"

#include <float.h>
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
    kb_encoding_free(map->encoding);
    kb_transform_free(map->transform);
    void *all[] = {map->shift,  map->scale, map->spread, map->widths.width,
                   map->kernel, map->sigma, map};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(map->allocator, all[i]);
}

size_t kb_map_grids(const kb_map *map) {
    return map->rival ? map->drawn : map->dictionary.grids;
}

size_t kb_map_bins(const kb_map *map) {
    return map->rival ? map->rival->columns : map->dictionary.bins;
}

kb_status kb_map_attach(kb_context *ctx, kb_map *map, const kb_encoding *encoding) {
    if (!encoding)
        return KB_OK;
    map->features = encoding->inputs;
    return kb_encoding_copy(ctx, encoding, &map->encoding);
}

int kb_all_within(size_t count, const double *x, double least, double most) {
    for (size_t i = 0; i < count; i++)
        if (!(x[i] >= least && x[i] <= most))
            return 0;
    return 1;
}

/* Refuses numbers for which binning would not give a bin. */
static int grids_are_sound(const kb_grids *g) {
    for (size_t r = 0; r < g->grids; r++)
        for (size_t j = 0; j < g->features; j++) {
            const double *at = kb_grids_at(g, r, j);
            if (!kb_all_within(1, at, 0, 1e300) || !kb_all_within(1, at + KB_LANES, 0, 1))
                return 0;
        }
    return 1;
}

static int widths_are_sound(const kb_widths *w) {
    for (size_t k = 0; w->width && k < w->vectors * w->features; k++)
        if (!(w->width[k].sigma > 0 && w->width[k].sigma <= DBL_MAX && w->width[k].q >= 0 &&
              w->width[k].q <= 1))
            return 0;
    return 1;
}

const char *kb_map_fault(const kb_map *map) {
    size_t d = map->columns;
    if ((map->encoding && !kb_encoding_is_sound(map->encoding)) ||
        (map->transform && !kb_transform_is_sound(map->transform)))
        return "the numbers of a column contradict each other";
    if (!map->rival && (!kb_all_within(d, map->shift, -DBL_MAX, DBL_MAX) || /* it has its own */
                        !kb_all_within(d, map->scale, -DBL_MAX, DBL_MAX)))
        return "the scale of a feature is not finite";
    if (!widths_are_sound(&map->widths))
        return "a width is not one";
    if (map->spread && !kb_all_within(d, map->spread, 0, DBL_MAX))
        return "the spread of a feature is not a number";
    if (map->grids && !grids_are_sound(map->grids))
        return "a grid has no bins";
    return NULL;
}

kb_status kb_map_check(kb_context *ctx, const kb_map *map, const kb_data *data) {
    if (data->features != map->features)
        return kb_fail(ctx, KB_ERR_DATA, "the data have %zu features, the model %zu",
                       data->features, map->features);
    return KB_OK;
}

kb_status kb_map_room_create(kb_context *ctx, const kb_map *map, const kb_data *data, size_t rows,
                             kb_map_room *out) {
    kb_status status = KB_OK;
    *out = (kb_map_room){0};
    if (kb_encoding_is_needed(map->encoding, data)) {
        TRY(kb_data_create(ctx, &out->encoded));
        out->encoded->rows = rows;
        out->encoded->features = map->encoding ? map->encoding->features : map->features;
        TRY(kb_alloc(ctx, rows * out->encoded->features, sizeof(double), &out->encoded->dense));
    }
    if (map->transform)
        TRY(kb_transform_room(ctx, map->transform, out->encoded ? out->encoded : data, rows,
                              &out->transformed));
done:
    return status;
}

void kb_map_room_release(kb_map_room *room) {
    kb_data_free(room->encoded);
    kb_data_free(room->transformed);
    *room = (kb_map_room){0};
}

const kb_data *kb_map_rows(const kb_map *map, const kb_data *data, size_t begin, size_t rows,
                           const kb_map_room *room, size_t *first) {
    if (kb_encoding_is_needed(map->encoding, data)) {
        kb_encoding_rows(map->encoding, data, begin, rows, room->encoded->dense);
        room->encoded->rows = rows;
        data = room->encoded;
        begin = 0;
    }
    *first = map->transform ? 0 : begin;
    if (!map->transform)
        return data;
    kb_transform_rows(map->transform, data, begin, rows, room->transformed);
    return room->transformed;
}

int kb_map_is_dense(const kb_map *map, const kb_data *data) {
    return data->dense || kb_encoding_is_needed(map->encoding, data) ||
           (map->transform && !map->transform->keeps_zero);
}

kb_status kb_lookup_create(kb_context *ctx, const kb_map *map, const kb_data *data, size_t rows,
                           size_t chunk, kb_lookup *out) {
    kb_status status;
    TRY(kb_map_room_create(ctx, map, data, rows, &out->room));
    size_t zero = kb_bin_keys_scratch(out->room.transformed ? out->room.transformed
                                      : out->room.encoded   ? out->room.encoded
                                                            : data);
    TRY(kb_alloc(ctx, zero + KB_LANES * chunk, sizeof *out->zero, &out->zero));
    out->keys = out->zero + zero;
done:
    return status;
}

void kb_lookup_release(kb_context *ctx, kb_lookup *lookup) {
    kb_map_room_release(&lookup->room);
    kb_release(ctx, lookup->zero);
}

/* Columns of the rows begin .. begin + rows. */
static void apply_chunk(const kb_map *map, const kb_data *data, size_t begin, size_t rows,
                        const kb_lookup *t, int64_t *columns) {
    kb_binning binning = kb_map_binning(map);
    size_t R = map->dictionary.grids, first;
    const kb_data *x = kb_map_rows(map, data, begin, rows, &t->room, &first);
    for (size_t block = 0; block < kb_grids_blocks(map->grids); block++) {
        kb_bin_keys_prepare(&binning, x, block, t->zero);
        kb_bin_keys_compute(&binning, x, block, first, rows, t->zero, CHUNK, t->keys);
        for (size_t k = 0; k < KB_LANES && block * KB_LANES + k < R; k++)
            for (size_t i = 0; i < rows; i++)
                columns[i * R + block * KB_LANES + k] = kb_dictionary_find(
                    &map->dictionary, block * KB_LANES + k, t->keys[k * CHUNK + i]);
    }
}

/* A round of chunks, distributed over the threads. */
typedef struct applying {
    const kb_map *map;
    const kb_data *data;
    size_t first, last; /* chunks */
    const kb_lookup *each;
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
    kb_lookup *each = NULL;
    TRY(kb_map_check(ctx, map, data));
    if (map->rival)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "only %s has bins",
                    kb_say_value(ctx, KB_OPT_MAP, "binning").text));
    TRY(kb_zalloc(ctx, T, sizeof *each, &each));
    for (size_t t = 0; t < T; t++)
        TRY(kb_lookup_create(ctx, map, data, CHUNK, CHUNK, &each[t]));
    for (size_t first = 0; first < chunks; first += 4 * T) {
        size_t last = chunks - first < 4 * T ? chunks : first + 4 * T;
        applying a = {map, data, first, last, each, columns};
        kb_team_run(ctx, last - first < 2, apply_chunks, &a);
        TRY(kb_progress(ctx, "predict", (double)last / (double)chunks));
    }
done:
    for (size_t t = 0; each && t < T; t++)
        kb_lookup_release(ctx, &each[t]);
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
    kb_lookup t = {0};
    int64_t *columns = NULL;
    char *line = NULL, value[KB_NUMBER_TEXT], label[KB_NUMBER_TEXT];
    kb_outfile *file = NULL;
    size_t R = map->dictionary.grids;
    size_t length = kb_number_format(kb_bin_value(map->drawn), value);
    TRY(kb_map_check(ctx, map, data));
    if (map->rival)
        return kb_map_write_dense(ctx, map, data, path);
    TRY(kb_lookup_create(ctx, map, data, CHUNK, CHUNK, &t));
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
    kb_lookup_release(ctx, &t);
    kb_release(ctx, columns);
    kb_release(ctx, line);
    return status;
}
