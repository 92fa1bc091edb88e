/* transform_apply.c - see transform.h; data through a transform. */
#include "core/team.h"
#include "data/transform.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const uint32_t NOWHERE = UINT32_MAX;

/* ---- one value --------------------------------------------------------- */

/* Linear between the knots; x lies within them or beyond. */
static double rank_of(const double *knot, const double *rank, size_t knots, double x) {
    size_t low = 0, high = knots - 1;
    if (x <= knot[0])
        return rank[0];
    if (x >= knot[high])
        return rank[high];
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (knot[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    double gap = knot[high] - knot[low], way = x - knot[low];
    if (isinf(gap)) {
        gap = knot[high] / 2 - knot[low] / 2;
        way = x / 2 - knot[low] / 2;
    }
    return rank[low] + way / gap * (rank[high] - rank[low]);
}

static double value_of(const kb_transform *t, size_t j, double x) {
    size_t s = t->source[j], begin = t->knot_start[j], knots = t->knot_start[j + 1] - begin;
    x = x > t->low[s] ? x : t->low[s];
    x = x < t->high[s] ? x : t->high[s];
    if (knots)
        x = rank_of(t->knot + begin, t->rank + begin, knots, x);
    return (x - t->shift[j]) * t->factor[j];
}

/* ---- what a transform must be ------------------------------------------ */

static int is_finite(const double *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return 0;
    return 1;
}

static int knots_are_sound(const double *knot, const double *rank, size_t knots) {
    for (size_t k = 0; k + 1 < knots; k++)
        if (!(knot[k] < knot[k + 1] && rank[k] <= rank[k + 1]))
            return 0;
    return knots != 1 && (knots == 0 || (rank[0] >= 0 && rank[knots - 1] <= 1));
}

/* If both ends of the range stay finite, so does everything between them. */
static int column_is_sound(const kb_transform *t, size_t j) {
    size_t begin = t->knot_start[j], knots = t->knot_start[j + 1] - begin;
    return t->factor[j] >= 0 && isfinite(value_of(t, j, -DBL_MAX)) &&
           isfinite(value_of(t, j, DBL_MAX)) &&
           knots_are_sound(t->knot + begin, t->rank + begin, knots);
}

/* Values come first, then ranks, then levels. */
static int kind_of(const kb_transform *t, size_t j) {
    return j >= t->plain - t->levels ? 2 : t->knot_start[j + 1] > t->knot_start[j];
}

/* Each kind in the order of the data.  Levels have no knots and are not scaled. */
static int order_is_sound(const kb_transform *t, size_t j) {
    int kind = kind_of(t, j), before = j == 0 ? 0 : kind_of(t, j - 1);
    if (kind == 2 &&
        (t->knot_start[j + 1] > t->knot_start[j] || t->shift[j] != 0 || t->factor[j] != 1))
        return 0;
    return j == 0 ? kind != 1 : kind == before ? t->source[j] > t->source[j - 1] : kind > before;
}

int kb_transform_is_sound(const kb_transform *t) {
    size_t d = t->plain, knots = t->knot_start[d];
    if (d == 0 || t->levels > d || t->features > KB_FEATURES_MAX || t->inputs > KB_FEATURES_MAX ||
        t->knot_start[0] != 0)
        return 0;
    for (size_t j = 0; j < d; j++)
        if (t->source[j] >= t->inputs || t->knot_start[j] > t->knot_start[j + 1] ||
            t->knot_start[j + 1] > knots)
            return 0;
    for (size_t j = 0; j < t->inputs; j++)
        if (!(t->low[j] <= t->high[j]))
            return 0;
    if (!is_finite(t->low, t->inputs) || !is_finite(t->high, t->inputs) ||
        !is_finite(t->shift, d) || !is_finite(t->factor, d) || !is_finite(t->knot, knots) ||
        !is_finite(t->rank, knots))
        return 0;
    for (size_t j = 0; j < d; j++)
        if (!order_is_sound(t, j) || !column_is_sound(t, j))
            return 0;
    return kb_mixtures_are_sound(&t->mixtures);
}

/* Of a dense row, after its plain columns. */
static void write_mixtures(const kb_transform *t, double *out) {
    for (size_t k = 0; k < t->mixtures.count; k++)
        out[t->plain + k] = kb_mixtures_value(&t->mixtures, k, (kb_row){t->plain, NULL, out});
}

kb_status kb_transform_finish(kb_context *ctx, kb_transform *t) {
    kb_status status;
    TRY(kb_alloc(ctx, t->inputs, 2 * sizeof *t->place, &t->place));
    TRY(kb_alloc(ctx, t->features, sizeof *t->zero, &t->zero));
    for (size_t j = 0; j < 2 * t->inputs; j++)
        t->place[j] = NOWHERE;
    if (t->levels) {
        TRY(kb_zalloc(ctx, t->features, 1, &t->level));
        memset(t->level + t->plain - t->levels, 1, t->levels);
    }
    t->keeps_zero = 1;
    for (size_t j = 0; j < t->plain; j++) {
        int rank = t->knot_start[j + 1] > t->knot_start[j];
        t->place[2 * t->source[j] + (size_t)rank] = (uint32_t)j;
        t->zero[j] = value_of(t, j, 0);
    }
    write_mixtures(t, t->zero);
    for (size_t j = 0; j < t->features; j++)
        t->keeps_zero &= t->zero[j] == 0;
done:
    return status;
}

/* ---- rows -------------------------------------------------------------- */

static int gives_sparse(const kb_transform *t, const kb_data *data) {
    return !data->dense && t->keeps_zero;
}

static void write_dense(const kb_transform *t, kb_row row, double *out) {
    if (row.column)
        memcpy(out, t->zero, t->plain * sizeof *out);
    for (size_t j = 0; j < t->plain && !row.column; j++)
        out[j] = value_of(t, j, row.value[t->source[j]]);
    for (size_t e = 0; e < row.count && row.column; e++)
        for (int k = 0; k < 2; k++) {
            uint32_t j = t->place[2 * (size_t)row.column[e] + k];
            if (j != NOWHERE)
                out[j] = value_of(t, j, row.value[e]);
        }
    write_mixtures(t, out);
}

/* Where zeros are kept there may still be ranks: of a column whose 0 has rank 0. */
static size_t count_sparse(const kb_transform *t, kb_row row) {
    size_t count = t->mixtures.count;
    for (size_t e = 0; e < row.count; e++) {
        const uint32_t *place = t->place + 2 * (size_t)row.column[e];
        count += (place[0] != NOWHERE) + (place[1] != NOWHERE);
    }
    return count;
}

static void write_sparse(const kb_transform *t, kb_row row, uint32_t *column, double *value) {
    size_t at = 0;
    for (int k = 0; k < 2; k++) /* all ranks come after all values */
        for (size_t e = 0; e < row.count; e++) {
            uint32_t j = t->place[2 * (size_t)row.column[e] + k];
            if (j == NOWHERE)
                continue;
            column[at] = j;
            value[at++] = value_of(t, j, row.value[e]);
        }
    for (size_t k = 0; k < t->mixtures.count; k++) {
        column[at + k] = (uint32_t)(t->plain + k);
        value[at + k] = kb_mixtures_value(&t->mixtures, k, (kb_row){at, column, value});
    }
}

typedef struct job {
    const kb_transform *t;
    const kb_data *data;
    kb_data *out;
    size_t begin; /* the row of `data` that is row 0 of `out` */
} job;

static void count_rows(void *arg, size_t begin, size_t end) {
    job *a = arg;
    for (size_t i = begin; i < end; i++)
        a->out->row_start[i + 1] = count_sparse(a->t, kb_data_row(a->data, a->begin + i));
}

static void add_counts(kb_data *out) {
    out->row_start[0] = 0;
    for (size_t i = 0; i < out->rows; i++)
        out->row_start[i + 1] += out->row_start[i];
}

static void write_rows(void *arg, size_t begin, size_t end) {
    job *a = arg;
    kb_data *out = a->out;
    for (size_t i = begin; i < end; i++) {
        kb_row row = kb_data_row(a->data, a->begin + i);
        if (out->dense)
            write_dense(a->t, row, out->dense + i * out->features);
        else
            write_sparse(a->t, row, out->column + out->row_start[i],
                         out->value + out->row_start[i]);
    }
}

/* An empty set of `rows` rows; if they are to be sparse, without their entries. */
static kb_status create_result(kb_context *ctx, const kb_transform *t, const kb_data *data,
                               size_t rows, kb_data **out) {
    kb_status status;
    size_t cells;
    TRY(kb_data_create(ctx, out));
    (*out)->rows = rows;
    (*out)->features = t->features;
    (*out)->level = t->level;
    if (gives_sparse(t, data)) {
        TRY(kb_alloc(ctx, rows + 1, sizeof(size_t), &(*out)->row_start));
    } else {
        if (__builtin_mul_overflow(rows, t->features, &cells))
            TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: %zu rows of %zu features", rows,
                        t->features));
        TRY(kb_alloc(ctx, cells, sizeof(double), &(*out)->dense));
    }
done:
    return status;
}

static kb_status give_entries(kb_context *ctx, size_t entries, kb_data *out) {
    kb_status status;
    TRY(kb_alloc(ctx, entries, sizeof *out->column, &out->column));
    TRY(kb_alloc(ctx, entries, sizeof *out->value, &out->value));
done:
    return status;
}

kb_status kb_transform_apply(kb_context *ctx, const kb_transform *t, const kb_data *data,
                             kb_data **out) {
    kb_status status;
    size_t least = KB_WORTH_A_THREAD / t->features + 1;
    *out = NULL;
    if (data->features != t->inputs)
        return kb_fail(ctx, KB_ERR_DATA, "the data have %zu features instead of %zu",
                       data->features, t->inputs);
    TRY(create_result(ctx, t, data, data->rows, out));
    job all = {t, data, *out, 0};
    if ((*out)->row_start) {
        kb_team_for(ctx, data->rows, least, count_rows, &all);
        add_counts(*out);
        TRY(give_entries(ctx, (*out)->row_start[data->rows], *out));
    }
    kb_team_for(ctx, data->rows, least, write_rows, &all);
done:
    if (status != KB_OK) {
        kb_data_free(*out);
        *out = NULL;
    }
    return status;
}

kb_status kb_transform_room(kb_context *ctx, const kb_transform *t, const kb_data *data,
                            size_t rows, kb_data **out) {
    kb_status status;
    size_t most = 0;
    *out = NULL;
    TRY(create_result(ctx, t, data, rows, out));
    if ((*out)->row_start) {
        for (size_t i = 0; i < data->rows; i += rows) {
            size_t end = data->rows - i < rows ? data->rows : i + rows;
            size_t entries = data->row_start[end] - data->row_start[i];
            most = entries > most ? entries : most;
        }
        TRY(give_entries(ctx, 2 * most + rows * t->mixtures.count, *out)); /* with its rank */
    }
done:
    if (status != KB_OK) {
        kb_data_free(*out);
        *out = NULL;
    }
    return status;
}

void kb_transform_rows(const kb_transform *t, const kb_data *data, size_t begin, size_t rows,
                       kb_data *out) {
    job all = {t, data, out, begin};
    out->rows = rows;
    if (out->row_start) {
        count_rows(&all, 0, rows);
        add_counts(out);
    }
    write_rows(&all, 0, rows);
}

double kb_transform_bytes(const kb_transform *t, const kb_data *data) {
    double N = (double)data->rows;
    double mixed = N * (double)t->mixtures.count;
    return gives_sparse(t, data) ? 8 * N + 12 * ((double)data->row_start[data->rows] + mixed)
                                 : 8 * N * (double)t->features;
}
