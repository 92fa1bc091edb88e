/* hybrid.c - see hybrid.h. */
#include "explain/hybrid.h"
#include "core/order.h"

#include <string.h>

/* Numbers that the rows may hold, and the most rows: enough for every thread to have some. */
enum { NUMBERS = 1 << 19, MOST_ROWS = 8192, LEAST_ROWS = 16 };

static size_t longest(const kb_data *data) {
    size_t most = 0;
    for (size_t i = 0; i < data->rows; i++) {
        size_t count = kb_data_row(data, i).count;
        most = count > most ? count : most;
    }
    return most;
}

kb_status kb_hybrids_create(kb_context *ctx, const kb_model *model, const kb_data *x,
                            const kb_data *z, size_t most, kb_hybrids *h) {
    kb_status status;
    int dense = x->dense || z->dense;
    size_t width = dense ? x->features : longest(x) + longest(z) + 1;
    *h = (kb_hybrids){.model = model};
    size_t fitting = NUMBERS / width > LEAST_ROWS ? NUMBERS / width : LEAST_ROWS;
    h->room = kb_least(kb_least(most, MOST_ROWS), fitting);
    h->room = h->room ? h->room : 1;
    h->entries = h->room * width;
    TRY(kb_data_create(ctx, &h->rows));
    h->rows->missing = x->missing || z->missing;
    h->rows->level = x->level;
    if (dense) {
        TRY(kb_alloc(ctx, h->entries, sizeof(double), &h->rows->dense));
    } else {
        TRY(kb_zalloc(ctx, h->room + 1, sizeof(size_t), &h->rows->row_start));
        TRY(kb_alloc(ctx, h->entries, sizeof(uint32_t), &h->rows->column));
        TRY(kb_alloc(ctx, h->entries, sizeof(double), &h->rows->value));
    }
    h->rows->features = x->features;
    TRY(kb_alloc(ctx, h->room * model->info.outputs, sizeof(double), &h->decision));
done:
    return status;
}

void kb_hybrids_release(kb_context *ctx, kb_hybrids *h) {
    kb_data_free(h->rows);
    kb_release(ctx, h->decision);
    *h = (kb_hybrids){0};
}

static void copy_dense(kb_row row, size_t features, double *out) {
    if (!row.column) {
        memcpy(out, row.value, features * sizeof *out);
        return;
    }
    memset(out, 0, features * sizeof *out);
    for (size_t e = 0; e < row.count; e++)
        out[row.column[e]] = row.value[e];
}

static void add_dense(kb_hybrids *h, kb_row x, kb_row z, const unsigned char *from_z) {
    size_t d = h->rows->features;
    double *out = h->rows->dense + h->rows->rows * d;
    copy_dense(x, d, out);
    for (size_t j = 0; j < d; j++)
        if (from_z[j])
            out[j] = z.column ? 0 : z.value[j];
    for (size_t e = 0; z.column && e < z.count; e++)
        if (from_z[z.column[e]])
            out[z.column[e]] = z.value[e];
}

static void add_sparse(kb_hybrids *h, kb_row x, kb_row z, const unsigned char *from_z) {
    kb_data *rows = h->rows;
    size_t at = rows->row_start[rows->rows], i = 0, k = 0;
    while (i < x.count || k < z.count) {
        int mine = k == z.count || (i < x.count && x.column[i] < z.column[k]);
        int both = i < x.count && k < z.count && x.column[i] == z.column[k];
        uint32_t column = mine || both ? x.column[i] : z.column[k];
        int other = from_z[column] != 0;
        if (both || mine != other) {
            rows->column[at] = column;
            rows->value[at++] = other ? z.value[k] : x.value[i];
        }
        i += (size_t)(mine || both);
        k += (size_t)(!mine || both);
    }
    rows->row_start[rows->rows + 1] = at;
}

void kb_hybrids_add(kb_hybrids *h, const kb_data *x, size_t i, const kb_data *z, size_t k,
                    const unsigned char *from_z) {
    if (h->rows->dense)
        add_dense(h, kb_data_row(x, i), kb_data_row(z, k), from_z);
    else
        add_sparse(h, kb_data_row(x, i), kb_data_row(z, k), from_z);
    h->rows->rows++;
}

kb_status kb_hybrids_decide(kb_context *ctx, kb_hybrids *h) {
    return kb_model_decide(ctx, h->model, h->rows, h->decision);
}
