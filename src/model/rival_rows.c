/* rival_rows.c - rows of Z of a rival map, some at a time; see map.h. */
#include "core/number.h"
#include "core/outfile.h"
#include "model/map.h"
#include "options/say.h"

#include <stdio.h>

/* Rows that pass the transform at a time.  Of features about so many numbers are made at a time,
 * but of rows enough for all threads to have some. */
enum { ROWS_AT_ONCE = 8192, NUMBERS_AT_ONCE = 1 << 20, ROWS_AT_LEAST = 1024 };

size_t kb_map_rows_at_once(size_t columns) {
    size_t rows = NUMBERS_AT_ONCE / (columns ? columns : 1);
    return rows < ROWS_AT_LEAST ? ROWS_AT_LEAST : rows < ROWS_AT_ONCE ? rows : ROWS_AT_ONCE;
}

/* Z w, or Z itself without w, whose C columns are then D. */
static kb_status apply_rival(kb_context *ctx, const kb_map *map, const kb_data *data, size_t C,
                             const double *w, double *out) {
    return w ? kb_rival_decide(ctx, map->rival, data, C, w, out)
             : kb_rival_features(ctx, map->rival, data, out);
}

kb_status kb_map_decide_rival(kb_context *ctx, const kb_map *map, const kb_data *data, size_t C,
                              const double *w, double *out) {
    kb_status status;
    kb_map_room room = {0};
    size_t most = w ? ROWS_AT_ONCE : kb_map_rows_at_once(C);
    if (w && kb_map_changes_nothing(map, data))
        return apply_rival(ctx, map, data, C, w, out);
    TRY(kb_map_room_create(ctx, map, data, most, &room));
    for (size_t begin = 0, first; begin < data->rows; begin += most) {
        size_t rows = data->rows - begin < most ? data->rows - begin : most;
        const kb_data *x = kb_map_rows(map, data, begin, rows, &room, &first);
        kb_data part = kb_data_view(x, first, rows);
        TRY(apply_rival(ctx, map, &part, C, w, out + begin * C));
    }
done:
    kb_map_room_release(&room);
    return status;
}

kb_status kb_map_apply_dense(kb_context *ctx, const kb_map *map, const kb_data *data,
                             double *features) {
    kb_status status = kb_map_check(ctx, map, data);
    if (status != KB_OK)
        return status;
    if (!map->rival)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s has bins: too many to be dense",
                       kb_say_value(ctx, KB_OPT_MAP, "binning").text);
    return kb_map_decide_rival(ctx, map, data, map->rival->columns, NULL, features);
}

static kb_status write_rows(kb_outfile *file, const kb_data *part, size_t D, const double *z) {
    kb_status status = KB_OK;
    char number[KB_NUMBER_TEXT + 32];
    for (size_t i = 0; i < part->rows; i++) {
        size_t n = kb_number_format(part->label ? part->label[i] : 0, number);
        TRY(kb_outfile_write(file, number, n));
        for (size_t k = 0; k < D; k++) {
            n = (size_t)snprintf(number, 32, " %zu:", k + 1);
            n += kb_number_format(z[i * D + k], number + n);
            TRY(kb_outfile_write(file, number, n));
        }
        TRY(kb_outfile_write(file, "\n", 1));
    }
done:
    return status;
}

kb_status kb_map_write_dense(kb_context *ctx, const kb_map *map, const kb_data *data,
                             const char *path) {
    kb_status status;
    size_t D = map->rival->columns, N = data->rows, most = kb_map_rows_at_once(D);
    double *z = NULL;
    kb_outfile *file = NULL;
    if (kb_rival_is_direct(map->rival->kind))
        return kb_map_apply_dense(ctx, map, data, NULL); /* which says that there are none */
    TRY(kb_alloc(ctx, (most < N ? most : N) * D, sizeof *z, &z));
    TRY(kb_outfile_create(ctx, path, &file));
    for (size_t begin = 0; begin < N; begin += most) {
        kb_data part = kb_data_view(data, begin, N - begin < most ? N - begin : most);
        TRY(kb_map_apply_dense(ctx, map, &part, z));
        TRY(write_rows(file, &part, D, z));
        TRY(kb_progress(ctx, "write", (double)(begin + part.rows) / (double)N));
    }
    TRY(kb_outfile_commit(file));
done:
    kb_outfile_free(file);
    kb_release(ctx, z);
    return status;
}
