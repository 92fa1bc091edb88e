/* category_codes.c - see category_codes.h. */
#include "encode/category_codes.h"
#include "core/random.h"
#include "encode/partial_effects.h"

#include <math.h>
#include <string.h>

enum { POWER_STEPS = 60 };
/* A principal direction with less than this share of all spread is rounding error. */
static const double SPREAD_LEAST = 1e-12;

size_t kb_category_columns(size_t C) {
    return C <= KB_ENCODE_CLASSES ? C : KB_ENCODE_COORDINATES;
}

/* ---- the problem of partial effects ------------------------------------ */

/* The problem with its memory. */
typedef struct effects_input {
    kb_effects_problem p;
    const kb_encode_spec *spec;
    size_t *which, *levels, *source;
    uint32_t *level;
    uint8_t *fold;
    int *needs_folds;
} effects_input;

static void release_input(kb_context *ctx, effects_input *in) {
    void *all[] = {in->which, in->levels, in->source, in->level, in->fold, in->needs_folds};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

static int is_category(const kb_data *data, size_t j) {
    return kb_encode_column(data, j).type == KB_COLUMN_CATEGORY;
}

/* Numbers with missing values enter as a category too: there, or missing. */
static int is_indicated(const kb_data *data, size_t j) {
    kb_column c = kb_encode_column(data, j);
    return (c.type == KB_COLUMN_NUMBER || c.type == KB_COLUMN_DATE) && c.missing > 0;
}

/* Missing cells are the last level of a category, and so is what is none of its levels. */
static uint32_t level_of(const kb_data *data, size_t j, double x) {
    size_t levels = kb_encode_column(data, j).levels;
    if (!is_category(data, j))
        return isnan(x);
    return x >= 0 && x < (double)levels ? (uint32_t)x : (uint32_t)levels;
}

static void fill_levels(effects_input *in) {
    const kb_data *data = in->spec->data;
    for (size_t c = 0; c < in->p.categories; c++)
        for (size_t i = 0; i < data->rows; i++)
            in->level[i * in->p.categories + c] =
                level_of(data, in->source[c], data->dense[i * data->features + in->source[c]]);
}

/* Rows of a group share their fold. */
static void fill_folds(effects_input *in) {
    const kb_data *data = in->spec->data;
    for (size_t i = 0; i < data->rows; i++) {
        uint64_t unit = data->group ? data->group[i] : i;
        double u = kb_random_uniform(in->spec->seed, KB_STREAM_EFFECT, unit, 0).u;
        in->fold[i] = (uint8_t)(u * KB_EFFECT_FOLDS);
    }
}

static void add_category(effects_input *in, size_t j) {
    size_t c = in->p.categories++, levels = kb_encode_column(in->spec->data, j).levels;
    int real = is_category(in->spec->data, j);
    in->source[c] = j;
    in->levels[c] = real ? levels + 1 : 2;
    in->needs_folds[c] = real && levels > KB_ENCODE_FEW_LEVELS;
}

static kb_status build_input(kb_context *ctx, const kb_encode_spec *spec, const kb_encoding *e,
                             const double *encoded, effects_input *in) {
    kb_status status;
    const kb_data *data = spec->data;
    size_t N = data->rows, d = data->features;
    in->spec = spec;
    TRY(kb_alloc(ctx, e->features, sizeof *in->which, &in->which));
    TRY(kb_alloc(ctx, d, sizeof *in->levels, &in->levels));
    TRY(kb_alloc(ctx, d, sizeof *in->source, &in->source));
    TRY(kb_alloc(ctx, d, sizeof *in->needs_folds, &in->needs_folds));
    for (size_t k = 0; k < e->features; k++)
        if (!is_category(data, e->step[k].source) && e->step[k].kind != KB_ENCODE_MISSING)
            in->which[in->p.numbers++] = k;
    for (size_t j = 0; j < d; j++)
        if (is_category(data, j) || is_indicated(data, j))
            add_category(in, j);
    TRY(kb_alloc(ctx, N * in->p.categories, sizeof *in->level, &in->level));
    TRY(kb_alloc(ctx, N, sizeof *in->fold, &in->fold));
    fill_levels(in);
    fill_folds(in);
    in->p = (kb_effects_problem){.rows = N,
                                 .C = spec->C,
                                 .y = spec->y,
                                 .weight = spec->weight,
                                 .numbers = in->p.numbers,
                                 .all = e->features,
                                 .number = encoded,
                                 .which = in->which,
                                 .categories = in->p.categories,
                                 .levels = in->levels,
                                 .level = in->level,
                                 .fold = in->fold,
                                 .needs_folds = in->needs_folds};
done:
    return status;
}

/* ---- principal coordinates --------------------------------------------- */

/* v minus its parts along the directions before. */
static void make_orthogonal(size_t C, size_t before, const double *direction, double *v) {
    for (size_t k = 0; k < before; k++) {
        double along = 0;
        for (size_t c = 0; c < C; c++)
            along += v[c] * direction[k * C + c];
        for (size_t c = 0; c < C; c++)
            v[c] -= along * direction[k * C + c];
    }
}

static double length_of(size_t C, const double *v) {
    double square = 0;
    for (size_t c = 0; c < C; c++)
        square += v[c] * v[c];
    return sqrt(square);
}

/* The direction of the largest spread that is orthogonal to those before, by power iteration on
 * the C x C moments; zeros if there is no spread left. */
static void next_direction(size_t C, const double *moment, size_t before, double *direction) {
    double *v = direction + before * C, trace = 0, spread = 0;
    for (size_t c = 0; c < C; c++) {
        v[c] = 1 + (double)((c * 7 + before * 3) % 11); /* any start that is not orthogonal to it */
        trace += moment[c * C + c];
    }
    for (int step = 0; step < POWER_STEPS; step++) {
        double next[KB_ENCODE_OUTPUTS];
        for (size_t a = 0; a < C; a++) {
            next[a] = 0;
            for (size_t b = 0; b < C; b++)
                next[a] += moment[a * C + b] * v[b];
        }
        make_orthogonal(C, before, direction, next);
        spread = length_of(C, next) / length_of(C, v);
        if (!(spread > SPREAD_LEAST * trace)) {
            memset(v, 0, C * sizeof *v);
            return;
        }
        double length = length_of(C, next);
        for (size_t c = 0; c < C; c++)
            v[c] = next[c] / length;
    }
}

/* Moments of the effects of category c, each level counted by its rows. */
static kb_status find_moments(kb_context *ctx, const effects_input *in, const kb_effects *fx,
                              size_t c, double *moment) {
    kb_status status;
    size_t C = fx->C, N = in->p.rows, *rows = NULL;
    TRY(kb_zalloc(ctx, in->levels[c], sizeof *rows, &rows));
    for (size_t i = 0; i < N; i++)
        rows[in->level[i * in->p.categories + c]]++;
    memset(moment, 0, C * C * sizeof *moment);
    for (size_t m = 0; m < in->levels[c]; m++) {
        const double *a = fx->all + (fx->start[c] + m) * C;
        for (size_t r = 0; r < C; r++)
            for (size_t s = 0; s < C; s++)
                moment[r * C + s] += a[r] * a[s] * (double)rows[m] / (double)N;
    }
done:
    kb_release(ctx, rows);
    return status;
}

/* direction, columns x C: unit vectors, or principal directions where there are many outputs. */
static kb_status find_directions(kb_context *ctx, const effects_input *in, const kb_effects *fx,
                                 size_t c, double *direction) {
    kb_status status = KB_OK;
    size_t C = fx->C, count = kb_category_columns(C);
    double moment[KB_ENCODE_OUTPUTS * KB_ENCODE_OUTPUTS];
    memset(direction, 0, count * C * sizeof *direction);
    if (C <= KB_ENCODE_CLASSES) {
        for (size_t k = 0; k < count; k++)
            direction[k * C + k] = 1;
        return KB_OK;
    }
    TRY(find_moments(ctx, in, fx, c, moment));
    for (size_t k = 0; k < count; k++)
        next_direction(C, moment, k, direction);
done:
    return status;
}

/* ---- codes ------------------------------------------------------------- */

static double project(size_t C, const double *effect, const double *direction) {
    double sum = 0;
    for (size_t c = 0; c < C; c++)
        sum += effect[c] * direction[c];
    return sum;
}

static size_t first_step(const kb_encoding *e, size_t j) {
    size_t k = 0;
    while (e->step[k].source != j)
        k++;
    return k;
}

/* The codes of category c, and its columns of the training rows. */
static kb_status set_codes(kb_context *ctx, const effects_input *in, const kb_effects *fx, size_t c,
                           kb_encoding *e, double *encoded) {
    kb_status status;
    double direction[KB_ENCODE_OUTPUTS * KB_ENCODE_CLASSES];
    size_t C = fx->C, levels = in->levels[c] - 1, first = first_step(e, in->source[c]);
    TRY(find_directions(ctx, in, fx, c, direction));
    for (size_t k = 0; k < kb_category_columns(C); k++) {
        const double *along = direction + k * C;
        double *code = e->code + e->step[first + k].first, *to = encoded + first + k;
        for (size_t m = 0; m <= levels; m++)
            code[m] = project(C, fx->all + (fx->start[c] + m) * C, along);
        code[levels + 1] = 0;
        for (size_t i = 0; i < in->p.rows; i++, to += e->features) {
            size_t m = in->level[i * in->p.categories + c];
            *to =
                in->needs_folds[c]
                    ? project(C, fx->without + (in->fold[i] * fx->D + fx->start[c] + m) * C, along)
                    : code[m];
        }
    }
done:
    return status;
}

kb_status kb_category_codes_set(kb_context *ctx, const kb_encode_spec *spec, kb_encoding *e,
                                double *encoded) {
    kb_status status;
    effects_input in = {0};
    kb_effects fx = {0};
    TRY(build_input(ctx, spec, e, encoded, &in));
    TRY(kb_effects_build(ctx, &in.p, &fx));
    for (size_t c = 0; c < in.p.categories; c++)
        if (is_category(spec->data, in.source[c]))
            TRY(set_codes(ctx, &in, &fx, c, e, encoded));
done:
    kb_effects_release(ctx, &fx);
    release_input(ctx, &in);
    return status;
}

double kb_category_codes_bytes(const kb_data *data, size_t C, size_t numbers, int threads) {
    kb_effects_size size = {.rows = data->rows, .C = C, .numbers = numbers};
    size_t categories = 0;
    for (size_t j = 0; j < data->features; j++) {
        categories += is_category(data, j) || is_indicated(data, j);
        size.levels += is_category(data, j) ? kb_encode_column(data, j).levels + 1
                                            : 2 * (size_t)is_indicated(data, j);
    }
    return (double)data->rows * (1 + (double)categories * sizeof(uint32_t)) +
           (double)size.levels * sizeof(size_t) + kb_effects_bytes(&size, threads);
}
