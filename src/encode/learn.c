/* learn.c - see learn.h. */
#include "encode/learn.h"
#include "core/order.h"
#include "core/random.h"
#include "core/team.h"
#include "encode/partial_effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEDIAN_ROWS = 100000, /* a median comes from at most so many evenly spaced rows */
    INDICATOR_ROWS = 10,  /* missing, and present: fewer tell nothing */
    MIXED_OUTPUTS = 24,   /* more outputs are replaced by so many random signed sums of them */
    POWER_STEPS = 60,     /* of the power iteration for principal coordinates */
};
/* The means of the targets of the rows with and without a value must lie so many standard errors
 * apart.  Indicators everywhere were no better (docs/accuracy.md). */
static const double INDICATOR_ERRORS = 4;

typedef struct learning {
    const kb_encode_spec *spec;
    const kb_data *data;
    kb_encoding *e;
    size_t *place;    /* inputs: the first step of the column */
    double *sample;   /* MEDIAN_ROWS */
    uint64_t *hashes; /* inputs: of which rows miss the value, where there is an indicator */
    size_t patterns;
} learning;

static double cell_at(const learning *l, size_t i, size_t j) {
    return l->data->dense[i * l->data->features + j];
}

static const kb_column *column_at(const learning *l, size_t j) {
    static const kb_column number = {.type = KB_COLUMN_NUMBER};
    return l->data->table ? &l->data->table->column[j] : &number;
}

int kb_encode_needs_targets(const kb_data *data) {
    for (size_t j = 0; data->table && j < data->table->columns; j++)
        if (data->table->column[j].type == KB_COLUMN_CATEGORY)
            return 1;
    return data->missing;
}

/* ---- numbers and dates ------------------------------------------------- */

/* Of the values that are there; 0 if there are none. */
static double median_of(const learning *l, size_t j) {
    size_t N = l->data->rows, n = N < MEDIAN_ROWS ? N : MEDIAN_ROWS, count = 0;
    for (size_t i = 0; i < n; i++) {
        double x = cell_at(l, i * N / n, j);
        if (!isnan(x))
            l->sample[count++] = x;
    }
    for (size_t i = 0; i < N && count == 0; i++)
        if (!isnan(cell_at(l, i, j)))
            l->sample[count++] = cell_at(l, i, j);
    if (count == 0)
        return 0;
    qsort(l->sample, count, sizeof *l->sample, kb_compare_doubles);
    return l->sample[count / 2];
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
    kb_encode_step step = {.kind = KB_ENCODE_FILL, .source = j, .fill = median_of(l, j)};
    return kb_encoding_add(ctx, l->e, step);
}

/* Whether a part of the date varies. */
static int varies(const learning *l, size_t j, kb_date_part part, double fill) {
    double first = NAN;
    for (size_t i = 0; i < l->data->rows; i++) {
        double x = cell_at(l, i, j), value = kb_date_part_of(isnan(x) ? fill : x, part);
        if (i == 0)
            first = value;
        else if (value != first)
            return 1;
    }
    return 0;
}

static kb_status add_date(kb_context *ctx, learning *l, size_t j) {
    kb_status status = KB_OK;
    double fill = median_of(l, j);
    for (int part = 0; part < KB_DATE_PARTS; part++)
        if (part == KB_DATE_DAYS || varies(l, j, (kb_date_part)part, fill))
            TRY(kb_encoding_add(ctx, l->e,
                                (kb_encode_step){.kind = KB_ENCODE_DATE,
                                                 .source = j,
                                                 .fill = fill,
                                                 .part = (kb_date_part)part}));
done:
    return status;
}

/* ---- levels ------------------------------------------------------------ */

/* 0 and 1; what is not known is the commoner of the two.  A missing cell may be the second level.
 */
static kb_status add_boolean(kb_context *ctx, learning *l, size_t j) {
    kb_status status;
    size_t levels = column_at(l, j)->levels, count[2] = {0}, missing = 0;
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

static size_t coordinates(const learning *l) {
    size_t C = l->spec->C;
    return C <= KB_ENCODE_CLASSES ? C : KB_ENCODE_COORDINATES;
}

static kb_status add_category(kb_context *ctx, learning *l, size_t j) {
    kb_status status = KB_OK;
    if (l->spec->C == 0)
        TRY(kb_fail(ctx, KB_ERR_DATA,
                    "a category becomes numbers by the labels, and the data have none"));
    for (size_t k = 0; k < coordinates(l); k++) {
        kb_encode_step step = {
            .kind = KB_ENCODE_CODE, .source = j, .count = column_at(l, j)->levels + 2};
        TRY(kb_encoding_add(ctx, l->e, step));
        memset(l->e->code + l->e->step[l->e->features - 1].first, 0, step.count * sizeof(double));
    }
    if (l->spec->levels)
        TRY(kb_encoding_add(ctx, l->e,
                            (kb_encode_step){.kind = KB_ENCODE_LEVEL,
                                             .source = j,
                                             .count = column_at(l, j)->levels}));
done:
    return status;
}

/* ---- partial effects --------------------------------------------------- */

/* A problem over the encoded rows, with memory of its own. */
typedef struct effects_input {
    kb_effects_problem p;
    size_t *which, *levels, *source;
    uint32_t *level;
    uint8_t *fold;
    int *needs_folds;
    double *mixed; /* outputs, where they are many */
} effects_input;

static void release_input(kb_context *ctx, effects_input *in) {
    void *all[] = {in->which, in->levels,      in->source, in->level,
                   in->fold,  in->needs_folds, in->mixed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

static int is_category(const learning *l, size_t j) {
    return column_at(l, j)->type == KB_COLUMN_CATEGORY;
}

/* Numbers with missing values enter as a category too: there, or missing. */
static int is_indicated(const learning *l, size_t j) {
    const kb_column *c = column_at(l, j);
    return (c->type == KB_COLUMN_NUMBER || c->type == KB_COLUMN_DATE) && c->missing > 0;
}

static uint32_t level_at(const learning *l, size_t i, size_t j) {
    double x = cell_at(l, i, j);
    if (!is_category(l, j))
        return isnan(x);
    return isnan(x) ? (uint32_t)column_at(l, j)->levels : (uint32_t)x;
}

static void fill_levels(const learning *l, effects_input *in) {
    for (size_t i = 0; i < l->data->rows; i++)
        for (size_t c = 0; c < in->p.categories; c++)
            in->level[i * in->p.categories + c] = level_at(l, i, in->source[c]);
}

static void fill_folds(const learning *l, uint8_t *fold) {
    for (size_t i = 0; i < l->data->rows; i++) {
        uint64_t unit = l->data->group ? l->data->group[i] : i;
        double u = kb_random_uniform(l->spec->seed, KB_STREAM_EFFECT, unit, 0).u;
        fold[i] = (uint8_t)(u * KB_EFFECT_FOLDS);
    }
}

/* Random signed sums of many outputs: they span what the levels do to the targets as well. */
static kb_status mix_outputs(kb_context *ctx, const learning *l, effects_input *in) {
    kb_status status = KB_OK;
    size_t C = l->spec->C, N = l->data->rows;
    in->p.C = C;
    in->p.y = l->spec->y;
    if (C <= MIXED_OUTPUTS)
        return KB_OK;
    TRY(kb_zalloc(ctx, N * MIXED_OUTPUTS, sizeof(double), &in->mixed));
    for (size_t c = 0; c < C; c++) {
        uint32_t bits = kb_random(l->spec->seed, KB_STREAM_EFFECT, c, 1).word[0];
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < MIXED_OUTPUTS; k++)
                in->mixed[i * MIXED_OUTPUTS + k] +=
                    (bits >> k & 1 ? 1 : -1) * l->spec->y[i * C + c];
    }
    in->p.C = MIXED_OUTPUTS;
    in->p.y = in->mixed;
done:
    return status;
}

static kb_status build_input(kb_context *ctx, const learning *l, const double *encoded,
                             effects_input *in) {
    kb_status status;
    size_t N = l->data->rows, d = l->data->features;
    in->p = (kb_effects_problem){
        .rows = N, .weight = l->spec->weight, .all = l->e->features, .number = encoded};
    TRY(kb_alloc(ctx, l->e->features, sizeof *in->which, &in->which));
    TRY(kb_alloc(ctx, d, sizeof *in->levels, &in->levels));
    TRY(kb_alloc(ctx, d, sizeof *in->source, &in->source));
    TRY(kb_alloc(ctx, d, sizeof *in->needs_folds, &in->needs_folds));
    for (size_t k = 0; k < l->e->features; k++)
        if (!is_category(l, l->e->step[k].source) && l->e->step[k].kind != KB_ENCODE_MISSING)
            in->which[in->p.numbers++] = k;
    for (size_t j = 0; j < d; j++)
        if (is_category(l, j) || is_indicated(l, j)) {
            size_t c = in->p.categories++;
            in->source[c] = j;
            in->levels[c] = is_category(l, j) ? column_at(l, j)->levels + 1 : 2;
            in->needs_folds[c] =
                is_category(l, j) && column_at(l, j)->levels > KB_ENCODE_FEW_LEVELS;
        }
    TRY(kb_alloc(ctx, N * in->p.categories, sizeof *in->level, &in->level));
    TRY(kb_alloc(ctx, N, 1, &in->fold));
    fill_levels(l, in);
    fill_folds(l, in->fold);
    in->p.which = in->which;
    in->p.levels = in->levels;
    in->p.level = in->level;
    in->p.fold = in->fold;
    in->p.needs_folds = in->needs_folds;
    TRY(mix_outputs(ctx, l, in));
done:
    return status;
}

/* ---- principal coordinates --------------------------------------------- */

/* The direction of the largest spread of the coefficients, each level counted by its rows, that is
 * orthogonal to those before: power iteration on their C x C moments. */
static void next_direction(size_t C, const double *moment, size_t before, double *direction) {
    double *v = direction + before * C;
    for (size_t c = 0; c < C; c++)
        v[c] = 1 + (double)((c * 7 + before * 3) % 11); /* any start that is not orthogonal to it */
    for (int step = 0; step <= POWER_STEPS; step++) {
        double next[MIXED_OUTPUTS], length = 0;
        for (size_t a = 0; a < C; a++) {
            next[a] = step == 0 ? v[a] : 0;
            for (size_t b = 0; b < C && step > 0; b++)
                next[a] += moment[a * C + b] * v[b];
        }
        for (size_t k = 0; k < before; k++) {
            double along = 0;
            for (size_t c = 0; c < C; c++)
                along += next[c] * direction[k * C + c];
            for (size_t c = 0; c < C; c++)
                next[c] -= along * direction[k * C + c];
        }
        for (size_t c = 0; c < C; c++)
            length += next[c] * next[c];
        for (size_t c = 0; c < C && length > 0; c++)
            v[c] = next[c] / sqrt(length);
    }
}

/* coordinates x C: unit vectors, or principal directions where there are many outputs. */
static void find_directions(const learning *l, const effects_input *in, const kb_effects *fx,
                            size_t c, double *direction) {
    size_t C = fx->C, count = coordinates(l);
    double moment[MIXED_OUTPUTS * MIXED_OUTPUTS] = {0};
    memset(direction, 0, count * C * sizeof *direction);
    if (l->spec->C <= KB_ENCODE_CLASSES) {
        for (size_t k = 0; k < count; k++)
            direction[k * C + k] = 1;
        return;
    }
    for (size_t i = 0; i < l->data->rows; i++) {
        const double *a = fx->all + (fx->start[c] + in->level[i * in->p.categories + c]) * C;
        for (size_t r = 0; r < C; r++)
            for (size_t s = 0; s < C; s++)
                moment[r * C + s] += a[r] * a[s] / (double)l->data->rows;
    }
    for (size_t k = 0; k < count; k++)
        next_direction(C, moment, k, direction);
}

static double project(size_t C, const double *coefficient, const double *direction) {
    double sum = 0;
    for (size_t c = 0; c < C; c++)
        sum += coefficient[c] * direction[c];
    return sum;
}

/* The codes of category c, and its columns of the training rows. */
static void set_codes(const learning *l, const effects_input *in, const kb_effects *fx, size_t c,
                      double *encoded) {
    double direction[MIXED_OUTPUTS * (KB_ENCODE_CLASSES + KB_ENCODE_COORDINATES)];
    size_t C = fx->C, j = in->source[c], levels = column_at(l, j)->levels;
    find_directions(l, in, fx, c, direction);
    for (size_t k = 0; k < coordinates(l); k++) {
        size_t at = l->place[j] + k;
        double *code = l->e->code + l->e->step[at].first;
        for (size_t m = 0; m <= levels; m++)
            code[m] = project(C, fx->all + (fx->start[c] + m) * C, direction + k * C);
        code[levels + 1] = 0;
        for (size_t i = 0; i < l->data->rows; i++) {
            size_t m = in->level[i * in->p.categories + c];
            const double *own = fx->without + in->fold[i] * fx->D * C;
            encoded[i * l->e->features + at] =
                in->needs_folds[c] ? project(C, own + (fx->start[c] + m) * C, direction + k * C)
                                   : code[m];
        }
    }
}

static kb_status encode_categories(kb_context *ctx, const learning *l, double *encoded) {
    kb_status status;
    effects_input in = {0};
    kb_effects fx = {0};
    TRY(build_input(ctx, l, encoded, &in));
    TRY(kb_effects_build(ctx, &in.p, &fx));
    for (size_t c = 0; c < in.p.categories; c++)
        if (is_category(l, in.source[c]))
            set_codes(l, &in, &fx, c, encoded);
done:
    kb_effects_release(ctx, &fx);
    release_input(ctx, &in);
    return status;
}

/* ---- all columns ------------------------------------------------------- */

static kb_status add_column(kb_context *ctx, learning *l, size_t j) {
    kb_status status = KB_OK;
    l->place[j] = l->e->features;
    switch (column_at(l, j)->type) {
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

static int has_categories(const learning *l) {
    for (size_t j = 0; j < l->data->features; j++)
        if (is_category(l, j))
            return 1;
    return 0;
}

kb_status kb_encode_learn(kb_context *ctx, const kb_encode_spec *spec, kb_encoding **out,
                          double **encoded) {
    kb_status status;
    const kb_data *data = spec->data;
    learning l = {.spec = spec, .data = data};
    *out = NULL;
    *encoded = NULL;
    TRY(kb_encoding_create(ctx, data->features, &l.e));
    TRY(kb_alloc(ctx, data->features, sizeof *l.place, &l.place));
    TRY(kb_alloc(ctx, data->features, sizeof *l.hashes, &l.hashes));
    TRY(kb_alloc(ctx, MEDIAN_ROWS, sizeof *l.sample, &l.sample));
    for (size_t j = 0; j < data->features; j++)
        TRY(add_column(ctx, &l, j));
    kb_encoding_finish(l.e);
    if (kb_encoding_is_needed(l.e, data)) {
        TRY(kb_progress(ctx, "encode", -1));
        TRY(kb_alloc(ctx, data->rows * l.e->features, sizeof(double), encoded));
        encoding_rows all = {&l, *encoded};
        kb_team_for(ctx, data->rows, KB_WORTH_A_THREAD / l.e->features + 1, encode_rows, &all);
    }
    if (has_categories(&l))
        TRY(encode_categories(ctx, &l, *encoded));
    *out = l.e;
done:
    kb_release(ctx, l.place);
    kb_release(ctx, l.hashes);
    kb_release(ctx, l.sample);
    if (status != KB_OK) {
        kb_encoding_free(l.e);
        kb_release(ctx, *encoded);
        *encoded = NULL;
    }
    return status;
}

double kb_encode_bytes(const kb_data *data) {
    double columns = (double)data->features;
    for (size_t j = 0; data->table && j < data->table->columns; j++)
        columns += data->table->column[j].type == KB_COLUMN_CATEGORY; /* of levels */
    return data->dense && (data->table || data->missing)
               ? (double)data->rows * columns * (2 * sizeof(double) + 2 * sizeof(float))
               : 0;
}
