/* learn.c - see learn.h. */
#include "encode/learn.h"
#include "core/order.h"
#include "core/team.h"

#include <math.h>
#include <string.h>

enum {
    MEDIAN_ROWS = 20000, /* a median comes from at most so many evenly spaced rows */
    INDICATOR_ROWS = 10, /* missing, and present: fewer tell nothing */
};
/* The means of the targets of the rows with and without a value must lie so many standard errors
 * apart.  Indicators everywhere were no better (docs/accuracy.md). */
static const double INDICATOR_ERRORS = 4;

typedef struct learning {
    const kb_encode_spec *spec;
    const kb_data *data;
    kb_encoding *e;
    double *median;   /* inputs */
    double *sample;   /* of each thread, for medians */
    uint64_t *hashes; /* inputs: of which rows miss the value, where there is an indicator */
    size_t patterns;
} learning;

static double cell_at(const learning *l, size_t i, size_t j) {
    return l->data->dense[i * l->data->features + j];
}

int kb_encode_needs_targets(const kb_data *data) {
    return data->missing || kb_encode_has_categories(data);
}

/* ---- numbers and dates ------------------------------------------------- */

static size_t median_rows(const kb_data *data) {
    return kb_least(data->rows, MEDIAN_ROWS);
}

/* Of the values that are there, the upper one of two; 0 if there are none. */
static double median_of(const learning *l, size_t j, double *sample) {
    size_t N = l->data->rows, n = median_rows(l->data), count = 0;
    for (size_t i = 0; i < n; i++) {
        double x = cell_at(l, i * N / n, j);
        if (!isnan(x))
            sample[count++] = x;
    }
    for (size_t i = 0; i < N && count == 0; i++)
        if (!isnan(cell_at(l, i, j)))
            sample[count++] = cell_at(l, i, j);
    return count ? kb_select_rank(sample, count, count / 2) : 0;
}

static void find_medians(void *arg, int me, int threads) {
    const learning *l = arg;
    for (size_t j = (size_t)me; j < l->data->features; j += (size_t)threads) {
        kb_column_type type = kb_encode_column(l->data, j).type;
        if (type == KB_COLUMN_NUMBER || type == KB_COLUMN_DATE)
            l->median[j] = median_of(l, j, l->sample + (size_t)me * median_rows(l->data));
    }
}

/* |mean of the rows that miss the value - mean of the others| in standard errors. */
static double indicator_errors(const learning *l, size_t j, size_t c, size_t missing) {
    const kb_encode_spec *s = l->spec;
    size_t N = l->data->rows;
    double sum[2] = {0}, mean = 0, square = 0;
    double count[2] = {(double)(N - missing), (double)missing};
    for (size_t i = 0; i < N; i++)
        sum[isnan(cell_at(l, i, j))] += s->y[i * s->C + c];
    mean = (sum[0] + sum[1]) / (double)N;
    for (size_t i = 0; i < N; i++)
        square += (s->y[i * s->C + c] - mean) * (s->y[i * s->C + c] - mean) / (double)N;
    double apart = fabs(sum[1] / count[1] - sum[0] / count[0]);
    return square > 0 ? apart / sqrt(square / count[0] + square / count[1]) : 0;
}

/* FNV-1a of which rows miss the value: another column with the same pattern needs no indicator. */
static uint64_t pattern_of(const learning *l, size_t j, size_t *missing) {
    uint64_t h = 0xcbf29ce484222325u;
    *missing = 0;
    for (size_t i = 0; i < l->data->rows; i++) {
        int none = isnan(cell_at(l, i, j));
        *missing += (size_t)none;
        h = (h ^ (uint64_t)none) * 0x100000001b3u;
    }
    return h;
}

static int wants_indicator(learning *l, size_t j) {
    const kb_encode_spec *s = l->spec;
    size_t missing;
    if (!l->data->missing || s->C == 0)
        return 0;
    uint64_t hash = pattern_of(l, j, &missing);
    if (missing < INDICATOR_ROWS || l->data->rows - missing < INDICATOR_ROWS)
        return 0;
    for (size_t k = 0; k < l->patterns; k++)
        if (l->hashes[k] == hash)
            return 0;
    for (size_t c = 0; c < s->C; c++)
        if (indicator_errors(l, j, c, missing) >= INDICATOR_ERRORS) {
            l->hashes[l->patterns++] = hash;
            return 1;
        }
    return 0;
}

static kb_status add_number(kb_context *ctx, learning *l, size_t j) {
    kb_encode_step step = {.kind = KB_ENCODE_FILL, .source = j, .fill = l->median[j]};
    return kb_encoding_add(ctx, l->e, step);
}

/* Whether the step gives different values. */
static int varies(const learning *l, const kb_encode_step *step) {
    for (size_t i = 1; i < l->data->rows; i++)
        if (kb_encode_value(l->e, step, cell_at(l, i, step->source)) !=
            kb_encode_value(l->e, step, cell_at(l, 0, step->source)))
            return 1;
    return 0;
}

static kb_status add_date(kb_context *ctx, learning *l, size_t j) {
    kb_status status = KB_OK;
    double fill = fabs(l->median[j]) <= KB_DATE_MOST ? l->median[j] : 0;
    for (int part = 0; part < KB_DATE_PARTS; part++) {
        kb_encode_step step = {
            .kind = KB_ENCODE_DATE, .source = j, .fill = fill, .part = (kb_date_part)part};
        if (part == KB_DATE_DAYS || varies(l, &step))
            TRY(kb_encoding_add(ctx, l->e, step));
    }
done:
    return status;
}

/* ---- levels ------------------------------------------------------------ */

/* 0 and 1; what is not known is the commoner of the two.  A missing cell may be the second level.
 */
static kb_status add_boolean(kb_context *ctx, learning *l, size_t j) {
    kb_status status;
    size_t levels = kb_encode_column(l->data, j).levels, count[2] = {0}, missing = 0;
    TRY(kb_encoding_add(
        ctx, l->e, (kb_encode_step){.kind = KB_ENCODE_CODE, .source = j, .count = levels + 2}));
    double *code = l->e->code + l->e->step[l->e->features - 1].first;
    for (size_t i = 0; i < l->data->rows; i++) {
        double x = cell_at(l, i, j);
        if (isnan(x))
            missing++;
        else
            count[x >= 1]++;
    }
    for (size_t k = 0; k < levels; k++)
        code[k] = (double)k;
    if (levels == 1)
        count[1] = missing;
    double commoner = count[1] > count[0];
    code[levels] = levels == 1 ? 1 : commoner;
    code[levels + 1] = commoner;
done:
    return status;
}

static kb_status add_category(kb_context *ctx, learning *l, size_t j) {
    kb_status status = KB_OK;
    size_t levels = kb_encode_column(l->data, j).levels;
    if (l->spec->C == 0)
        TRY(kb_fail(ctx, KB_ERR_DATA,
                    "a category becomes numbers by the labels, and the data have none"));
    for (size_t k = 0; k < kb_category_columns(l->spec->C); k++) {
        kb_encode_step step = {.kind = KB_ENCODE_CODE, .source = j, .count = levels + 2};
        TRY(kb_encoding_add(ctx, l->e, step));
        memset(l->e->code + l->e->step[l->e->features - 1].first, 0, step.count * sizeof(double));
    }
    if (l->spec->levels)
        TRY(kb_encoding_add(
            ctx, l->e, (kb_encode_step){.kind = KB_ENCODE_LEVEL, .source = j, .count = levels}));
done:
    return status;
}

/* ---- all columns ------------------------------------------------------- */

static kb_status add_column(kb_context *ctx, learning *l, size_t j) {
    kb_status status = KB_OK;
    switch (kb_encode_column(l->data, j).type) {
    case KB_COLUMN_DATE:
        TRY(add_date(ctx, l, j));
        break;
    case KB_COLUMN_BOOLEAN:
        return add_boolean(ctx, l, j);
    case KB_COLUMN_CATEGORY:
        return add_category(ctx, l, j);
    default:
        TRY(add_number(ctx, l, j));
        break;
    }
    if (wants_indicator(l, j))
        TRY(kb_encoding_add(ctx, l->e, (kb_encode_step){.kind = KB_ENCODE_MISSING, .source = j}));
done:
    return status;
}

typedef struct encoding_rows {
    const learning *l;
    double *out;
} encoding_rows;

static void encode_rows(void *arg, size_t begin, size_t end) {
    const encoding_rows *a = arg;
    const kb_encoding *e = a->l->e;
    kb_encoding_rows(e, a->l->data, begin, end - begin, a->out + begin * e->features);
}

kb_status kb_encode_learn(kb_context *ctx, const kb_encode_spec *spec, kb_encoding **out,
                          double **encoded) {
    kb_status status;
    const kb_data *data = spec->data;
    learning l = {.spec = spec, .data = data};
    size_t sampled = median_rows(data);
    *out = NULL;
    *encoded = NULL;
    TRY(kb_encoding_create(ctx, data->features, &l.e));
    TRY(kb_alloc(ctx, data->features, sizeof *l.median, &l.median));
    TRY(kb_alloc(ctx, data->features, sizeof *l.hashes, &l.hashes));
    TRY(kb_alloc(ctx, (size_t)ctx->threads * sampled, sizeof *l.sample, &l.sample));
    kb_team_run(ctx, sampled * data->features < KB_WORTH_A_THREAD, find_medians, &l);
    for (size_t j = 0; j < data->features; j++)
        TRY(add_column(ctx, &l, j));
    kb_encoding_finish(l.e);
    if (kb_encoding_is_needed(l.e, data)) {
        TRY(kb_progress(ctx, "encode", -1));
        TRY(kb_alloc(ctx, data->rows * l.e->features, sizeof(double), encoded));
        encoding_rows all = {&l, *encoded};
        kb_team_for(ctx, data->rows, KB_WORTH_A_THREAD / l.e->features + 1, encode_rows, &all);
    }
    if (kb_encode_has_categories(data))
        TRY(kb_category_codes_set(ctx, spec, l.e, *encoded));
    *out = l.e;
done:
    kb_release(ctx, l.median);
    kb_release(ctx, l.hashes);
    kb_release(ctx, l.sample);
    if (status != KB_OK) {
        kb_encoding_free(l.e);
        kb_release(ctx, *encoded);
        *encoded = NULL;
    }
    return status;
}

/* The most steps that columns of this type have. */
static size_t most_steps(const kb_data *data, size_t j, size_t C) {
    kb_column c = kb_encode_column(data, j);
    if (c.type == KB_COLUMN_CATEGORY)
        return kb_category_columns(C);
    if (c.type == KB_COLUMN_BOOLEAN)
        return 1;
    return (c.type == KB_COLUMN_DATE ? KB_DATE_PARTS : 1) + (data->missing && C > 0);
}

kb_encode_memory kb_encode_forecast(const kb_data *data, size_t C, int levels, int threads) {
    double steps = 0, codes = 0, rows = (double)data->rows, d = (double)data->features;
    size_t numbers = 0;
    for (size_t j = 0; j < data->features; j++) {
        size_t each = most_steps(data, j, C);
        kb_column c = kb_encode_column(data, j);
        steps += (double)each;
        codes += c.levels ? (double)(each * (c.levels + 2)) : 0;
        if (c.type != KB_COLUMN_CATEGORY)
            numbers += each;
        else
            steps += levels;
    }
    /* The model has a copy of the steps and codes, and the arrays of its file are another. */
    double kept = 3 * (steps * sizeof(kb_encode_step) + codes * sizeof(double));
    if (data->missing || steps > d || codes > 0)
        kept += rows * steps * sizeof(double);
    double medians = (double)median_rows(data) * threads + 2 * d, effects = 0;
    if (kb_encode_has_categories(data))
        effects = kb_category_codes_bytes(data, C, numbers, threads);
    return (kb_encode_memory){kept + medians * sizeof(double) + effects, kept};
}
