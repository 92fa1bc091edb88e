/*
 * shapley.c - what each feature adds to a decision: Shapley values against a background.
 *
 * For a row x and a row z of the background, f(S) is the decision of the row that has the features
 * S of x and the others of z.  The value of feature j is the mean over all orders of the features
 * of f(before j and j) - f(before j) (Shapley, 1953; Strumbelj and Kononenko, Knowledge and
 * Information Systems 41, 2014), averaged over the background.
 *
 * The sum over grids does not make this easy: the weight of a bin is any function of all its
 * coordinates, and a model that fills in divides by the number of known bins, which is not a sum
 * over grids.  So orders are sampled: for each row of the background a random one and its reverse,
 * whose errors partly cancel.  Along an order the differences add up to f(x) - f(z), so the values
 * of a row add up to its decision minus the base, whatever the orders.  A feature that is equal in
 * x and z adds 0 and is left out.  With one or two such features the values are exact.
 */
#include "core/order.h"
#include "core/random.h"
#include "explain/hybrid.h"

#include <math.h>
#include <string.h>

enum { BACKGROUND = 64 }; /* rows, unless the caller says how many */

/* One feature of z becomes that of x. */
typedef struct step {
    uint32_t feature, z;
    int first, backward; /* first: the decision before it is that of z */
    int last;            /* the decision after it is that of x; no hybrid row is needed */
} step;

typedef struct explaining {
    const kb_model *model;
    const kb_data *data, *background;
    uint64_t seed;
    kb_hybrids hybrids;
    step *step;
    size_t steps, room;
    double *decision;       /* rows x C */
    double *base;           /* background rows x C */
    double *from;           /* C: the decision before the current step */
    double *pair;           /* features x C: of an order, before its reverse */
    uint32_t *order, *some; /* features: an order, and those of it that differ */
    unsigned char *of_z;    /* features */
    double *sum, *squares;  /* features x C, of the current row; squares may be NULL */
    size_t row;
} explaining;

/* ---- sums ---------------------------------------------------------------- */

static void take_step(explaining *e, const step *s, const double *now) {
    size_t C = e->model->info.outputs;
    const double *before = s->first ? e->base + s->z * C : e->from;
    double *pair = e->pair + s->feature * C, *sum = e->sum + s->feature * C;
    for (size_t c = 0; c < C; c++) {
        double half = (now[c] - before[c]) / 2;
        pair[c] = s->backward ? pair[c] + half : half;
        sum[c] += half;
        if (s->backward && e->squares)
            e->squares[s->feature * C + c] += pair[c] * pair[c];
    }
    memcpy(e->from, now, C * sizeof *now);
}

/* Decides the rows that wait, and takes the steps in their order. */
static kb_status flush(kb_context *ctx, explaining *e) {
    kb_status status = KB_OK;
    size_t C = e->model->info.outputs, at = 0;
    if (e->hybrids.rows->rows > 0)
        TRY(kb_hybrids_decide(ctx, &e->hybrids));
    for (size_t k = 0; k < e->steps; k++) {
        const step *s = &e->step[k];
        take_step(e, s, s->last ? e->decision + e->row * C : e->hybrids.decision + C * at++);
    }
    e->steps = 0;
    kb_hybrids_clear(&e->hybrids);
done:
    return status;
}

/* ---- orders -------------------------------------------------------------- */

static int same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Whether the two rows differ in column j: marks[j] = 1. */
static void mark_differences(kb_row x, kb_row z, size_t features, unsigned char *marks) {
    memset(marks, 0, features);
    for (size_t j = 0; j < features && !x.column && !z.column; j++)
        marks[j] = !same(x.value[j], z.value[j]);
    if (!x.column && !z.column)
        return;
    kb_row dense = x.column ? z : x, sparse = x.column ? x : z;
    if (!dense.column) { /* one of each form */
        for (size_t j = 0; j < features; j++)
            marks[j] = dense.value[j] != 0;
        for (size_t e = 0; e < sparse.count; e++)
            marks[sparse.column[e]] = !same(sparse.value[e], dense.value[sparse.column[e]]);
        return;
    }
    for (size_t i = 0, k = 0; i < x.count || k < z.count;) {
        if (k == z.count || (i < x.count && x.column[i] < z.column[k])) {
            marks[x.column[i]] = x.value[i] != 0;
            i++;
        } else if (i == x.count || z.column[k] < x.column[i]) {
            marks[z.column[k]] = z.value[k] != 0;
            k++;
        } else {
            marks[x.column[i]] = x.value[i] != z.value[k];
            i++, k++;
        }
    }
}

/* The steps from z to x along the features `some`, forward or backward. */
static kb_status walk(kb_context *ctx, explaining *e, size_t z, size_t count, int backward) {
    kb_status status = KB_OK;
    for (size_t k = 0; k < count; k++)
        e->of_z[e->some[k]] = 1;
    for (size_t k = 0; k < count; k++) {
        uint32_t feature = e->some[backward ? count - 1 - k : k];
        step s = {feature, (uint32_t)z, k == 0, backward, k + 1 == count};
        e->of_z[feature] = 0;
        TRY(kb_reserve(ctx, e->steps + 1, sizeof *e->step, &e->room, &e->step));
        e->step[e->steps++] = s;
        if (!s.last)
            kb_hybrids_add(&e->hybrids, e->data, e->row, e->background, z, e->of_z);
        if (kb_hybrids_full(&e->hybrids))
            TRY(flush(ctx, e));
    }
done:
    return status;
}

static kb_status explain_row(kb_context *ctx, explaining *e) {
    kb_status status = KB_OK;
    size_t d = e->data->features;
    for (size_t z = 0; z < e->background->rows; z++) {
        size_t count = 0;
        mark_differences(kb_data_row(e->data, e->row), kb_data_row(e->background, z), d, e->of_z);
        kb_random_order(e->seed, KB_STREAM_EXPLAIN, (uint32_t)z, d, d, e->order);
        for (size_t k = 0; k < d; k++)
            if (e->of_z[e->order[k]])
                e->some[count++] = e->order[k];
        TRY(walk(ctx, e, z, count, 0));
        TRY(walk(ctx, e, z, count, 1));
    }
    TRY(flush(ctx, e));
done:
    return status;
}

/* ---- all of it ----------------------------------------------------------- */

static kb_status prepare(kb_context *ctx, explaining *e, int errors) {
    kb_status status;
    size_t d = e->data->features, C = e->model->info.outputs, B = e->background->rows;
    TRY(kb_hybrids_create(ctx, e->model, e->data, e->background, SIZE_MAX, &e->hybrids));
    TRY(kb_alloc(ctx, e->data->rows * C, sizeof(double), &e->decision));
    TRY(kb_alloc(ctx, B * C, sizeof(double), &e->base));
    TRY(kb_alloc(ctx, C, sizeof(double), &e->from));
    TRY(kb_alloc(ctx, d * C, sizeof(double), &e->pair));
    TRY(kb_alloc(ctx, d, sizeof *e->order, &e->order));
    TRY(kb_alloc(ctx, d, sizeof *e->some, &e->some));
    TRY(kb_alloc(ctx, d, 1, &e->of_z));
    if (errors)
        TRY(kb_alloc(ctx, d * C, sizeof(double), &e->squares));
    TRY(kb_model_decide(ctx, e->model, e->data, e->decision));
    TRY(kb_model_decide(ctx, e->model, e->background, e->base));
done:
    return status;
}

static void release(kb_context *ctx, explaining *e) {
    void *all[] = {e->step,  e->decision, e->base, e->from,   e->pair,
                   e->order, e->some,     e->of_z, e->squares};
    kb_hybrids_release(ctx, &e->hybrids);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

/* Means over the background, and their standard errors over samples of it and of the orders. */
static void finish_row(explaining *e, double *standard_error) {
    size_t cells = e->data->features * e->model->info.outputs;
    double B = (double)e->background->rows;
    for (size_t k = 0; k < cells; k++) {
        e->sum[k] /= B;
        if (standard_error)
            standard_error[k] = sqrt(fmax(e->squares[k] / B - e->sum[k] * e->sum[k], 0) / (B - 1));
    }
}

static kb_status explain_rows(kb_context *ctx, explaining *e, double *contribution,
                              double *standard_error, double *base) {
    kb_status status;
    size_t C = e->model->info.outputs, cells = e->data->features * C, N = e->data->rows;
    TRY(prepare(ctx, e, standard_error != NULL));
    for (size_t c = 0; c < C; c++) {
        base[c] = 0;
        for (size_t z = 0; z < e->background->rows; z++)
            base[c] += e->base[z * C + c] / (double)e->background->rows;
    }
    for (size_t i = 0; i < N; i++) {
        TRY(kb_progress(ctx, "explain", (double)i / (double)N));
        e->row = i;
        e->sum = contribution + i * cells;
        memset(e->sum, 0, cells * sizeof(double));
        if (e->squares)
            memset(e->squares, 0, cells * sizeof(double));
        TRY(explain_row(ctx, e));
        finish_row(e, standard_error ? standard_error + i * cells : NULL);
    }
    TRY(kb_progress(ctx, "explain", 1));
done:
    return status;
}

/* Some rows of the background, chosen at random. */
static kb_status draw(kb_context *ctx, const kb_data *from, size_t count, uint64_t seed,
                      kb_data **out) {
    kb_status status;
    uint32_t *rows = NULL;
    TRY(kb_alloc(ctx, from->rows, sizeof *rows, &rows));
    kb_random_order(seed, KB_STREAM_EXPLAIN, UINT32_MAX, from->rows, count, rows);
    TRY(kb_data_take(ctx, from, count, rows, out));
done:
    kb_release(ctx, rows);
    return status;
}

kb_status kb_model_explain(kb_context *ctx, const kb_model *model, const kb_data *data,
                           const kb_data *background, size_t samples, uint64_t seed,
                           double *contribution, double *standard_error, double *base) {
    kb_status status;
    kb_data *drawn = NULL;
    explaining e = {.model = model, .data = data, .seed = seed};
    background = background ? background : data;
    size_t count = kb_least(samples ? samples : BACKGROUND, background->rows);
    TRY(kb_map_check(ctx, model->map, data));
    TRY(kb_map_check(ctx, model->map, background));
    if (count < 2)
        TRY(kb_fail(ctx, KB_ERR_DATA,
                    "the background has %zu row%s; contributions are differences from two or more",
                    count, count == 1 ? "" : "s"));
    TRY(draw(ctx, background, count, seed, &drawn));
    e.background = drawn;
    kb_progress_outer(ctx, "explain");
    TRY(explain_rows(ctx, &e, contribution, standard_error, base));
done:
    kb_progress_outer(ctx, NULL);
    release(ctx, &e);
    kb_data_free(drawn);
    return status;
}
