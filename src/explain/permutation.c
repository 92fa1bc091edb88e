/* permutation.c - see permutation.h. */
#include "explain/permutation.h"
#include "core/order.h"
#include "core/random.h"
#include "explain/hybrid.h"
#include "model/score.h"

#include <math.h>
#include <string.h>

/* A row that is decided again. */
typedef struct change {
    uint32_t row, feature;
} change;

typedef struct shuffling {
    const kb_permutation *p;
    kb_hybrids hybrids;
    change *change;    /* of each of these */
    size_t *class_of;  /* rows; classes */
    double *loss;      /* rows: as the cells are; 1 for a wrong class, or the squared error */
    double *sum;       /* features: of weight x more, over rows and repeats */
    double *squares;   /* features: of (weight x more of a row over the repeats)^2 */
    double *crossed;   /* features: of weight^2 x more of a row over the repeats */
    double *more;      /* rows: loss with the shuffled feature - loss, summed over the repeats */
    uint32_t *from;    /* repeats x rows: the row that the cells come from */
    unsigned char *on; /* columns of the feature that is shuffled */
    size_t done;       /* features whose sums are made */
    double total, weight_squares, unit;
} shuffling;

static kb_status prepare(kb_context *ctx, shuffling *s) {
    kb_status status;
    const kb_permutation *p = s->p;
    const kb_data *data = p->data;
    size_t N = data->rows;
    if (!data->label)
        TRY(kb_fail(ctx, KB_ERR_DATA, "the data have no labels to score against"));
    TRY(kb_hybrids_create(ctx, p->model, data, data, SIZE_MAX, &s->hybrids));
    TRY(kb_alloc(ctx, s->hybrids.room, sizeof *s->change, &s->change));
    if (p->model->info.classes)
        TRY(kb_find_classes(ctx, p->model, data, &s->class_of));
    TRY(kb_alloc(ctx, N, sizeof(double), &s->loss));
    TRY(kb_zalloc(ctx, N, sizeof(double), &s->more));
    TRY(kb_zalloc(ctx, p->features, sizeof(double), &s->sum));
    TRY(kb_zalloc(ctx, p->features, sizeof(double), &s->squares));
    TRY(kb_zalloc(ctx, p->features, sizeof(double), &s->crossed));
    TRY(kb_alloc(ctx, p->repeats * N, sizeof *s->from, &s->from));
    TRY(kb_zalloc(ctx, data->features, 1, &s->on));
    for (size_t k = 0; k < p->repeats; k++)
        kb_random_order(p->seed, KB_STREAM_PERMUTE, (uint32_t)k, N, N, s->from + k * N);
done:
    return status;
}

static void release(kb_context *ctx, shuffling *s) {
    void *all[] = {s->change,  s->class_of, s->loss, s->more, s->sum,
                   s->squares, s->crossed,  s->from, s->on};
    kb_hybrids_release(ctx, &s->hybrids);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

static double loss_of(const shuffling *s, size_t row, const double *decision) {
    double error = kb_model_mean(s->p->model, decision[0]) - s->p->data->label[row];
    return s->class_of ? kb_model_winner(s->p->model, decision) != s->class_of[row] : error * error;
}

/* The losses of the rows as they are, and from them the score and the unit of a drop: the weight of
 * all rows, or for r2 the squared distance of the labels from their mean. */
static kb_status score_rows(kb_context *ctx, shuffling *s, double *score) {
    kb_status status;
    const kb_data *data = s->p->data;
    size_t C = s->p->model->info.outputs;
    double *decision = NULL, mean = 0, around = 0, lost = 0;
    TRY(kb_alloc(ctx, data->rows * C, sizeof *decision, &decision));
    TRY(kb_model_decide(ctx, s->p->model, data, decision));
    for (size_t i = 0; i < data->rows; i++) {
        double w = kb_weight_of(data->weight, i);
        s->loss[i] = loss_of(s, i, decision + i * C);
        lost += w * s->loss[i];
        s->total += w;
        s->weight_squares += w * w;
        mean += w * data->label[i];
    }
    mean /= s->total;
    for (size_t i = 0; i < data->rows; i++)
        around += kb_weight_of(data->weight, i) * (data->label[i] - mean) * (data->label[i] - mean);
    s->unit = s->class_of ? s->total : around;
    *score = s->unit > 0 ? 1 - lost / s->unit : 0;
done:
    kb_release(ctx, decision);
    return status;
}

/* The sums of a feature, once all its rows are decided. */
static void end_feature(shuffling *s, size_t feature) {
    const kb_data *data = s->p->data;
    for (size_t i = 0; i < data->rows; i++) {
        double w = kb_weight_of(data->weight, i), more = s->more[i] / (double)s->p->repeats;
        s->sum[feature] += w * more;
        s->squares[feature] += w * more * w * more;
        s->crossed[feature] += w * w * more;
        s->more[i] = 0;
    }
}

/* Decides the rows that wait; changes come feature after feature. */
static kb_status flush(kb_context *ctx, shuffling *s) {
    kb_status status;
    size_t C = s->p->model->info.outputs;
    if (s->hybrids.rows->rows == 0)
        return KB_OK;
    TRY(kb_hybrids_decide(ctx, &s->hybrids));
    for (size_t k = 0; k < s->hybrids.rows->rows; k++) {
        change c = s->change[k];
        for (; s->done < c.feature; s->done++)
            end_feature(s, s->done);
        s->more[c.row] += loss_of(s, c.row, s->hybrids.decision + k * C) - s->loss[c.row];
    }
    kb_hybrids_clear(&s->hybrids);
done:
    return status;
}

static kb_status add(kb_context *ctx, shuffling *s, size_t row, size_t from, size_t feature) {
    kb_status status = KB_OK;
    const kb_data *data = s->p->data;
    s->change[s->hybrids.rows->rows] = (change){(uint32_t)row, (uint32_t)feature};
    kb_hybrids_add(&s->hybrids, data, row, data, from, s->on);
    if (kb_hybrids_full(&s->hybrids))
        TRY(flush(ctx, s));
done:
    return status;
}

/* ---- which rows change --------------------------------------------------- */

static int same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static int differs(const shuffling *s, size_t row, size_t from) {
    const kb_data *data = s->p->data;
    const double *a = data->dense + row * data->features, *b = data->dense + from * data->features;
    for (size_t c = 0; c < data->features; c++)
        if (s->on[c] && !same(a[c], b[c]))
            return 1;
    return 0;
}

static kb_status shuffle_dense(kb_context *ctx, shuffling *s) {
    kb_status status = KB_OK;
    const kb_permutation *p = s->p;
    size_t N = p->data->rows;
    for (size_t j = 0; j < p->features; j++) {
        for (size_t c = 0; c < p->data->features; c++)
            s->on[c] = (p->feature_of ? p->feature_of[c] : c) == j;
        for (size_t k = 0; k < p->repeats; k++)
            for (size_t i = 0; i < N; i++)
                if (differs(s, i, s->from[k * N + i]))
                    TRY(add(ctx, s, i, s->from[k * N + i], j));
    }
done:
    return status;
}

/* The entries by columns: start, features + 1, and the rows and values of each. */
typedef struct by_column {
    size_t *start;
    uint32_t *row;
    double *value;
} by_column;

static kb_status transpose(kb_context *ctx, const kb_data *data, by_column *t) {
    kb_status status;
    TRY(kb_zalloc(ctx, data->features + 2, sizeof *t->start, &t->start));
    size_t first = data->row_start[0], count = data->row_start[data->rows] - first;
    TRY(kb_alloc(ctx, count, sizeof *t->row, &t->row));
    TRY(kb_alloc(ctx, count, sizeof *t->value, &t->value));
    for (size_t e = 0; e < count; e++)
        t->start[data->column[first + e] + 2]++;
    for (size_t j = 2; j < data->features + 2; j++)
        t->start[j] += t->start[j - 1];
    for (size_t i = 0; i < data->rows; i++) {
        kb_row row = kb_data_row(data, i);
        for (size_t e = 0; e < row.count; e++) {
            size_t to = t->start[row.column[e] + 1]++;
            t->row[to] = (uint32_t)i;
            t->value[to] = row.value[e];
        }
    }
done:
    return status;
}

/* The rows of one repeat whose entry of column j changes: those that have one, and those that get
 * one.  value: rows, the column. */
static kb_status shuffle_column(kb_context *ctx, shuffling *s, const by_column *t, size_t j,
                                const uint32_t *from, const uint32_t *to, const double *value) {
    kb_status status = KB_OK;
    for (size_t e = t->start[j]; e < t->start[j + 1]; e++) {
        size_t row = t->row[e], gets = to[row];
        if (value[row] != 0 && value[from[row]] != value[row])
            TRY(add(ctx, s, row, from[row], j));
        if (value[gets] == 0 && value[row] != 0)
            TRY(add(ctx, s, gets, row, j));
    }
done:
    return status;
}

static kb_status shuffle_sparse(kb_context *ctx, shuffling *s) {
    kb_status status;
    const kb_data *data = s->p->data;
    size_t N = data->rows;
    by_column t = {0};
    uint32_t *to = NULL;
    double *value = NULL;
    TRY(transpose(ctx, data, &t));
    TRY(kb_alloc(ctx, s->p->repeats * N, sizeof *to, &to));
    TRY(kb_zalloc(ctx, N, sizeof *value, &value));
    for (size_t k = 0; k < s->p->repeats; k++)
        for (size_t i = 0; i < N; i++)
            to[k * N + s->from[k * N + i]] = (uint32_t)i;
    for (size_t j = 0; j < data->features; j++) {
        s->on[j] = 1;
        for (size_t e = t.start[j]; e < t.start[j + 1]; e++)
            value[t.row[e]] = t.value[e];
        for (size_t k = 0; k < s->p->repeats; k++)
            TRY(shuffle_column(ctx, s, &t, j, s->from + k * N, to + k * N, value));
        for (size_t e = t.start[j]; e < t.start[j + 1]; e++)
            value[t.row[e]] = 0;
        s->on[j] = 0;
    }
done:
    kb_release(ctx, t.start);
    kb_release(ctx, t.row);
    kb_release(ctx, t.value);
    kb_release(ctx, to);
    kb_release(ctx, value);
    return status;
}

/* ---- all of it ----------------------------------------------------------- */

double kb_permutation_changes(const kb_data *data, size_t features) {
    if (data->dense)
        return (double)features;
    double entries = (double)(data->row_start[data->rows] - data->row_start[0]);
    return fmin((double)features, 2 * entries / (double)data->rows);
}

kb_status kb_permutation_measure(kb_context *ctx, const kb_permutation *p, double *score,
                                 double *drop, double *standard_error) {
    kb_status status;
    shuffling s = {.p = p};
    TRY(prepare(ctx, &s));
    TRY(score_rows(ctx, &s, score));
    TRY(p->data->dense ? shuffle_dense(ctx, &s) : shuffle_sparse(ctx, &s));
    TRY(flush(ctx, &s));
    for (; s.done < p->features; s.done++)
        end_feature(&s, s.done);
    for (size_t j = 0; j < p->features; j++) {
        /* The sum of weight^2 (more - mean)^2. */
        double mean = s.sum[j] / s.total;
        double square = s.squares[j] - 2 * mean * s.crossed[j] + mean * mean * s.weight_squares;
        drop[j] = s.unit > 0 ? s.sum[j] / s.unit : 0;
        standard_error[j] = s.unit > 0 ? sqrt(fmax(square, 0)) / s.unit : 0;
    }
done:
    release(ctx, &s);
    return status;
}
