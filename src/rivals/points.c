/* points.c - see points.h. */
#include "rivals/points.h"

#include <string.h>

/* Far enough out for every kernel to be 0, and near enough for squares to stay finite. */
static const double FAR = 1e150;

static double place(const kb_metric *m, size_t j, double x) {
    double y = (x - m->shift[j]) * m->factor[j];
    y = y < FAR ? y : FAR;
    return y > -FAR ? y : -FAR;
}

kb_status kb_points_create(kb_context *ctx, size_t rows, size_t features, int sparse,
                           size_t entries, kb_points **out) {
    kb_status status;
    kb_points *p;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *p, &p));
    p->allocator = kb_allocator_of(ctx);
    p->rows = rows;
    p->features = features;
    TRY(kb_alloc(ctx, features, sizeof *p->zero, &p->zero));
    if (sparse) {
        TRY(kb_zalloc(ctx, rows + 1, sizeof *p->row_start, &p->row_start));
        TRY(kb_alloc(ctx, entries, sizeof *p->column, &p->column));
        TRY(kb_alloc(ctx, entries, sizeof *p->value, &p->value));
    } else {
        if (features && rows > SIZE_MAX / features)
            TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: %zu x %zu numbers", rows, features));
        TRY(kb_alloc(ctx, rows * features, sizeof *p->dense, &p->dense));
    }
    *out = p;
done:
    if (status != KB_OK)
        kb_points_free(p);
    return status;
}

void kb_points_free(kb_points *p) {
    if (!p)
        return;
    void *all[] = {p->dense, p->row_start, p->column, p->value, p->zero};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(p->allocator, all[i]);
    kb_allocator_release(p->allocator, p);
}

static size_t row_at(size_t i, const uint32_t *order) {
    return order ? order[i] : i;
}

kb_status kb_points_build(kb_context *ctx, const kb_metric *m, const kb_data *data, size_t begin,
                          size_t count, const uint32_t *order, kb_points **out) {
    kb_points *p;
    size_t d = data->features, entries = 0;
    *out = NULL;
    for (size_t i = 0; !data->dense && i < count; i++)
        entries += kb_data_row(data, row_at(begin + i, order)).count;
    kb_status status = kb_points_create(ctx, count, d, !data->dense, entries, &p);
    if (status != KB_OK)
        return status;
    for (size_t j = 0; j < d; j++)
        p->zero[j] = place(m, j, 0);
    entries = 0;
    for (size_t i = 0; i < count; i++) {
        kb_row row = kb_data_row(data, row_at(begin + i, order));
        for (size_t e = 0; e < row.count; e++)
            if (data->dense) {
                p->dense[i * d + e] = place(m, e, row.value[e]);
            } else {
                p->column[entries] = row.column[e];
                p->value[entries++] = place(m, row.column[e], row.value[e]);
            }
        if (p->row_start)
            p->row_start[i + 1] = entries;
    }
    *out = p;
    return KB_OK;
}

void kb_points_set(const kb_metric *m, const double *x, kb_points *p) {
    for (size_t j = 0; j < p->features; j++) {
        p->zero[j] = place(m, j, 0);
        p->dense[j] = place(m, j, x[j]);
    }
}

double kb_points_bytes(const kb_data *data) {
    double d = (double)data->features, N = (double)data->rows;
    return data->dense ? 8 * (N + 1) * d
                       : 8 * (N + 1 + d) + 12 * (double)data->row_start[data->rows];
}

int kb_points_thin(const kb_points *p) {
    return !p->dense && p->features > 64 && p->rows > 0 &&
           p->features / 16 > p->row_start[p->rows] / p->rows;
}

/* The first entry of row i at feature k or later. */
static size_t entry_from(const kb_points *p, size_t i, size_t k) {
    size_t low = p->row_start[i], high = p->row_start[i + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->column[middle] < k)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void pack_row(const kb_points *p, size_t i, size_t lanes, size_t k, size_t K, double *out) {
    if (p->dense) {
        const double *x = p->dense + i * p->features + k;
        for (size_t e = 0; e < K; e++)
            out[e * lanes] = x[e];
        return;
    }
    for (size_t e = 0; e < K; e++)
        out[e * lanes] = p->zero[k + e];
    for (size_t e = entry_from(p, i, k); e < p->row_start[i + 1] && p->column[e] < k + K; e++)
        out[(p->column[e] - k) * lanes] = p->value[e];
}

void kb_points_pack(const kb_points *p, size_t first, size_t rows, size_t lanes, size_t k, size_t K,
                    double *out) {
    for (size_t group = 0; group < rows; group += lanes, out += K * lanes) {
        if (rows - group < lanes)
            memset(out, 0, K * lanes * sizeof *out);
        for (size_t lane = 0; lane < lanes && group + lane < rows; lane++)
            pack_row(p, first + group + lane, lanes, k, K, out + lane);
    }
}

double kb_points_project(const kb_points *p, size_t i, const double *direction) {
    double sum = 0;
    if (p->dense)
        for (size_t j = 0; j < p->features; j++)
            sum += direction[j] * (p->dense[i * p->features + j] - p->zero[j]);
    else
        for (size_t e = p->row_start[i]; e < p->row_start[i + 1]; e++)
            sum += direction[p->column[e]] * (p->value[e] - p->zero[p->column[e]]);
    return sum;
}
