/*
 * tables.h - small tables with columns of all types, for tests.
 */
#ifndef KB_TESTS_TABLES_H
#define KB_TESTS_TABLES_H

#include "model/fitted.h"

#include "encode/encoding.h"

#include <math.h>

/* What a column of a table holds; the names of its levels are those of `level_name`. */
typedef struct column_spec {
    kb_column_type type;
    size_t levels;
} column_spec;

typedef struct level_text {
    char text[32];
} level_text;

static inline level_text level_name(size_t column, size_t level) {
    level_text out;
    snprintf(out.text, sizeof out.text, "%c%zu", (char)('a' + column), level);
    return out;
}

/* Data that stay dense, of cells (N x d) as table.h says; label may be NULL. */
static inline kb_data *table_of(kb_context *ctx, size_t N, size_t d, const column_spec *spec,
                                const double *cells, const double *label) {
    kb_data *data;
    assert_ok(ctx, kb_data_create(ctx, &data));
    data->rows = N;
    data->features = d;
    assert_ok(ctx, kb_alloc(ctx, N * d, sizeof(double), &data->dense));
    memcpy(data->dense, cells, N * d * sizeof *cells);
    if (label) {
        assert_ok(ctx, kb_alloc(ctx, N, sizeof(double), &data->label));
        memcpy(data->label, label, N * sizeof *label);
    }
    assert_ok(ctx, kb_table_create(ctx, d, &data->table));
    for (size_t j = 0; j < d; j++) {
        kb_column *c = &data->table->column[j];
        c->type = spec[j].type;
        for (size_t i = 0; i < N; i++)
            c->missing += isnan(cells[i * d + j]) != 0;
        data->missing |= c->missing > 0;
        if (spec[j].levels)
            assert_ok(ctx, kb_zalloc(ctx, spec[j].levels, sizeof(char *), &c->level));
        c->levels = spec[j].levels;
        for (size_t k = 0; k < c->levels; k++)
            assert_ok(ctx, kb_strdup(ctx, level_name(j, k).text, &c->level[k]));
    }
    return data;
}

/* ---- a table of five columns ------------------------------------------- */

enum { SIZE, DAY, OPEN, COLOUR, TOWN, MIXED_COLUMNS, COLOURS = 4, TOWNS = 30 };
static const column_spec MIXED_SPEC[] = {{KB_COLUMN_NUMBER, 0},
                                         {KB_COLUMN_DATE, 0},
                                         {KB_COLUMN_BOOLEAN, 2},
                                         {KB_COLUMN_CATEGORY, COLOURS},
                                         {KB_COLUMN_CATEGORY, TOWNS}};

static inline int missing_here(size_t i, size_t j) {
    return j != OPEN && test_uniform(50 + j, i) < 0.1;
}

/* Cell j of row i. */
static inline double mixed_cell(size_t i, size_t j) {
    double u = test_uniform(40 + j, i);
    static const size_t levels[] = {0, 0, 2, COLOURS, TOWNS};
    if (missing_here(i, j))
        return NAN;
    return j == SIZE ? 10 * u : j == DAY ? floor(700 * u) + 0.25 : floor((double)levels[j] * u);
}

static inline double mixed_target(size_t i) {
    double size = missing_here(i, SIZE) ? 12 : mixed_cell(i, SIZE);
    double colour = missing_here(i, COLOUR) ? 2 : mixed_cell(i, COLOUR);
    double town = missing_here(i, TOWN) ? 5 : mixed_cell(i, TOWN);
    return size + 3 * sin(4 * colour) + 2 * cos(town) + mixed_cell(i, OPEN);
}

/* classes: 0 for numbers as labels. */
static inline kb_data *mixed_table(kb_context *ctx, size_t N, size_t classes) {
    double *x = malloc(N * MIXED_COLUMNS * sizeof *x), *y = malloc(N * sizeof *y);
    assert_true(x && y);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < MIXED_COLUMNS; j++)
            x[i * MIXED_COLUMNS + j] = mixed_cell(i, j);
        y[i] = mixed_target(i);
        if (classes)
            y[i] = fmin(fmax(floor((y[i] + 4) / 20 * (double)classes), 0), (double)classes - 1);
    }
    kb_data *data = table_of(ctx, N, MIXED_COLUMNS, MIXED_SPEC, x, y);
    free(x), free(y);
    return data;
}

#endif
