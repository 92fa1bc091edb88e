/*
 * deal.c - see deal.h.
 *
 * What belongs to rows is exchanged array by array.  The rows that a rank gives to another are
 * consecutive, so nothing is packed: an array goes out as it lies, and what comes in is the new
 * array.  Beside the old array there is the new one.
 */
#include "deal/deal.h"
#include "core/order.h"
#include "core/strings.h"
#include "deal/deal_words.h"

#include <string.h>

size_t kb_deal_begin(size_t rows, int rank, int ranks) {
    size_t parts = (rows + KB_RANK_ROWS - 1) / KB_RANK_ROWS;
    size_t many = (size_t)ranks, begin = (parts * (size_t)rank + many - 1) / many;
    return kb_least(begin * KB_RANK_ROWS, rows);
}

/* What a rank has. */
typedef struct shape {
    uint64_t rows, features, entries;
    uint8_t dense, fixed, label, weight, group, missing, kept;
} shape;

static shape shape_of(kb_context *ctx, const kb_data *data) {
    return (shape){.rows = data->rows,
                   .features = data->features,
                   .entries = data->rows ? kb_data_entries(ctx, data) : 0,
                   .dense = data->dense != NULL,
                   .fixed = (uint8_t)kb_data_stays_dense(data),
                   .label = data->label != NULL,
                   .weight = data->weight != NULL,
                   .group = data->group != NULL,
                   .missing = data->missing != 0,
                   .kept = data->kept != NULL};
}

/* What all ranks have: the first with rows tells, and the others must agree. */
typedef struct deal {
    kb_context *ctx;
    kb_data *data;
    shape *of;       /* ranks */
    shape all;       /* rows and entries in all */
    int first;       /* the first rank with rows */
    size_t *to_rows; /* ranks: how many of this rank's rows go there */
    size_t *bytes;   /* ranks */
    size_t rows;     /* of this rank afterwards */
} deal;

static kb_status differ(const deal *d, int rank, const char *what) {
    return kb_fail(d->ctx, KB_ERR_DATA, "rank %d has other data than those before it: %s", rank,
                   what);
}

/* Ranks without rows agree with everything, and the features of sparse rows may be fewer. */
static kb_status agree(deal *d) {
    kb_status status = KB_OK;
    int told = 0;
    for (int k = 0; k < kb_rank_count(d->ctx); k++) {
        const shape *s = &d->of[k];
        uint64_t rows = d->all.rows + s->rows, entries = d->all.entries + s->entries;
        if (s->rows == 0)
            continue;
        if (!told) {
            d->all = *s;
            d->first = k;
        }
        told = 1;
        if (s->kept)
            TRY(differ(d, k, "columns that are kept"));
        if (s->features != d->all.features && (s->dense || d->all.dense))
            TRY(differ(d, k, "another number of columns"));
        if (s->label != d->all.label)
            TRY(differ(d, k, "labels are there, or not"));
        if (s->weight != d->all.weight)
            TRY(differ(d, k, "weights are there, or not"));
        if (s->group != d->all.group)
            TRY(differ(d, k, "groups are there, or not"));
        d->all.features = s->features > d->all.features ? s->features : d->all.features;
        d->all.fixed |= s->fixed;
        d->all.missing |= s->missing;
        d->all.rows = rows;
        d->all.entries = entries;
    }
    if (!told)
        TRY(kb_fail(d->ctx, KB_ERR_DATA, "the data have no samples"));
    if (d->all.rows > KB_ROWS_MAX)
        TRY(kb_fail(d->ctx, KB_ERR_DATA, KB_ROWS_TOO_MANY));
done:
    return status;
}

/* As kb_data_choose_form does for the rows of all. */
static int wants_dense(const deal *d) {
    double border = KB_DENSE_SHARE * (double)d->all.rows * (double)d->all.features;
    return d->all.fixed || (double)d->all.entries > border;
}

/* The number of features, and the form. */
static kb_status shape_up(deal *d) {
    kb_status status = KB_OK;
    kb_data *data = d->data;
    if (data->features != d->all.features && data->feature_name && data->rows > 0)
        TRY(kb_fail(d->ctx, KB_ERR_DATA, "names of %zu columns for %zu", data->features,
                    (size_t)d->all.features));
    if (data->rows == 0) { /* whatever it came with */
        kb_context *ctx = d->ctx;
        if (!data->borrowed_values) {
            kb_release(ctx, data->dense);
            kb_release(ctx, data->value);
        }
        kb_release(ctx, data->row_start);
        kb_release(ctx, data->column);
        data->dense = data->value = NULL;
        data->column = NULL;
        data->borrowed_values = 0;
        TRY(kb_zalloc(ctx, 1, sizeof *data->row_start, &data->row_start));
        TRY(kb_alloc(ctx, 0, sizeof *data->column, &data->column));
        TRY(kb_alloc(ctx, 0, sizeof *data->value, &data->value));
        kb_strings_free(data->allocator, data->features, data->feature_name);
        data->feature_name = NULL;
    }
    data->features = d->all.features;
    TRY(kb_data_set_form(d->ctx, data, wants_dense(d)));
done:
    return status;
}

/* An array with `size` bytes a row: the one of the new rows takes its place. */
static kb_status exchange(deal *d, int there, size_t size, int borrowed, void *inout) {
    kb_status status = KB_OK;
    kb_context *ctx = d->ctx;
    void *old, *from = NULL;
    size_t *end = NULL;
    memcpy(&old, inout, sizeof old);
    if (!there)
        return KB_OK;
    for (int k = 0; k < kb_rank_count(ctx); k++)
        d->bytes[k] = d->to_rows[k] * size;
    TRY(kb_ranks_exchange(ctx, old, d->bytes, &from, &end));
    kb_release(ctx, end);
    if (!borrowed)
        kb_allocator_release(d->data->allocator, old);
    memcpy(inout, &from, sizeof from);
done:
    return status;
}

/* The entries of the rows that go to each rank, and those that come. */
static kb_status exchange_sparse(deal *d) {
    kb_status status;
    kb_context *ctx = d->ctx;
    kb_data *data = d->data;
    size_t row = 0, *count = NULL, *end = NULL;
    void *counts = NULL, *part[2] = {NULL, NULL};
    const void *old[2] = {data->column, data->value};
    const size_t size[2] = {sizeof *data->column, sizeof *data->value};
    TRY(kb_alloc(ctx, data->rows, sizeof *count, &count));
    for (size_t i = 0; i < data->rows; i++)
        count[i] = data->row_start[i + 1] - data->row_start[i];
    counts = count;
    for (int a = 0; a < 2; a++) {
        row = 0;
        for (int k = 0; k < kb_rank_count(ctx); k++) {
            size_t first = data->row_start[row];
            row += d->to_rows[k];
            d->bytes[k] = (data->row_start[row] - first) * size[a];
        }
        TRY(kb_ranks_exchange(ctx, old[a], d->bytes, &part[a], &end));
        kb_release(ctx, end);
        end = NULL;
    }
    TRY(exchange(d, 1, sizeof *count, 0, &counts));
    count = counts;
    kb_release(ctx, data->column);
    if (!data->borrowed_values)
        kb_release(ctx, data->value);
    data->borrowed_values = 0;
    data->column = part[0];
    data->value = part[1];
    part[0] = part[1] = NULL;
    TRY(kb_realloc(ctx, d->rows + 1, sizeof *data->row_start, &data->row_start));
    data->row_start[0] = 0;
    for (size_t i = 0; i < d->rows; i++)
        data->row_start[i + 1] = data->row_start[i] + count[i];
done:
    kb_release(ctx, counts);
    kb_release(ctx, part[0]);
    kb_release(ctx, part[1]);
    return status;
}

/* Where this rank's rows go. */
static void aim(deal *d) {
    int ranks = kb_rank_count(d->ctx), me = kb_rank(d->ctx);
    size_t first = 0, all = d->all.rows;
    for (int k = 0; k < me; k++)
        first += d->of[k].rows;
    size_t last = first + d->data->rows;
    for (int k = 0; k < ranks; k++) {
        size_t begin = kb_deal_begin(all, k, ranks), end = kb_deal_begin(all, k + 1, ranks);
        begin = begin > first ? begin : first;
        end = end < last ? end : last;
        d->to_rows[k] = end > begin ? end - begin : 0;
    }
    d->data->first_row = kb_deal_begin(all, me, ranks);
    d->rows = kb_deal_begin(all, me + 1, ranks) - d->data->first_row;
    d->data->all_rows = all;
}

/* The missing values of each column on all ranks. */
static kb_status count_missing(deal *d) {
    kb_status status;
    kb_data *data = d->data;
    int64_t *missing = NULL;
    TRY(kb_alloc(d->ctx, data->features, sizeof *missing, &missing));
    TRY(kb_data_count_missing(d->ctx, data));
    data->missing = d->all.missing && data->dense;
    if (data->missing && !data->table)
        TRY(kb_table_create(d->ctx, data->features, &data->table));
    for (size_t j = 0; j < data->features; j++)
        missing[j] = data->missing ? (int64_t)data->table->column[j].missing : 0;
    if (data->missing)
        TRY(kb_ranks_sum(d->ctx, missing, data->features));
    for (size_t j = 0; data->missing && j < data->features; j++)
        data->table->column[j].missing = (size_t)missing[j];
done:
    kb_release(d->ctx, missing);
    return status;
}

static kb_status deal_rows(deal *d) {
    kb_status status;
    kb_data *data = d->data;
    aim(d);
    TRY(exchange(d, d->all.label, sizeof *data->label, 0, &data->label));
    TRY(exchange(d, d->all.weight, sizeof *data->weight, 0, &data->weight));
    TRY(exchange(d, d->all.group, sizeof *data->group, 0, &data->group));
    if (data->dense) {
        TRY(exchange(d, 1, data->features * sizeof(double), data->borrowed_values, &data->dense));
        data->borrowed_values = 0;
    } else {
        TRY(exchange_sparse(d));
    }
    data->rows = d->rows;
    TRY(count_missing(d));
done:
    return status;
}

kb_status kb_data_deal(kb_context *ctx, kb_data *data) {
    kb_status status;
    deal d = {.ctx = ctx, .data = data};
    shape mine = shape_of(ctx, data);
    size_t ranks = (size_t)kb_rank_count(ctx);
    void *all = NULL;
    kb_ranks_begin(ctx);
    TRY(kb_ranks_gather(ctx, &mine, sizeof mine, &all, NULL));
    d.of = all;
    TRY(agree(&d));
    status = kb_alloc(ctx, ranks, sizeof *d.to_rows, &d.to_rows);
    if (status == KB_OK)
        status = kb_alloc(ctx, ranks, sizeof *d.bytes, &d.bytes);
    if (status == KB_OK)
        status = shape_up(&d);
    TRY(kb_ranks_agree(ctx, status));
    TRY(kb_deal_words(ctx, d.first, data));
    TRY(kb_ranks_agree(ctx, deal_rows(&d)));
done:
    kb_release(ctx, all);
    kb_release(ctx, d.to_rows);
    kb_release(ctx, d.bytes);
    return kb_ranks_agree(ctx, status);
}

kb_status kb_deal_check(kb_context *ctx, const kb_data *data) {
    if (!ctx->config.ranks || data->all_rows)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_ARGUMENT, "the rows were not dealt out to the ranks: kb_data_deal");
}
