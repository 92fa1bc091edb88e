/* test_deal.c - rows dealt out to ranks. */
#define _POSIX_C_SOURCE 200809L
#include "ranked.h"
#include "samples.h"

#include "deal/deal.h"

#include <math.h>

enum { COLUMNS = 5 };

/* The whole, and how the rows come to the ranks. */
typedef struct whole {
    size_t rows;
    double *x, *label, *weight;
    uint32_t *group;
    int sparse, last_has_all;
} whole;

static whole make(size_t rows, int sparse, int last_has_all) {
    whole w = {.rows = rows, .sparse = sparse, .last_has_all = last_has_all};
    w.x = calloc(rows * COLUMNS, sizeof *w.x);
    w.label = calloc(rows, sizeof *w.label);
    w.weight = calloc(rows, sizeof *w.weight);
    w.group = calloc(rows, sizeof *w.group);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            if (!sparse || (i + 3 * j) % 7 == 0)
                w.x[i * COLUMNS + j] = (double)(i * COLUMNS + j + 1);
        w.label[i] = (double)(i % 11);
        w.weight[i] = 1 + (double)(i % 3);
        w.group[i] = (uint32_t)(i / 5);
    }
    return w;
}

static void drop(whole w) {
    free(w.x), free(w.label), free(w.weight), free(w.group);
}

/* Rank k comes with the rows from rows k^2 / P^2 on; or the last with all. */
static size_t come(const whole *w, int rank, int ranks) {
    size_t k = (size_t)rank, P = (size_t)ranks;
    if (w->last_has_all)
        return rank == ranks ? w->rows : 0;
    return w->rows * k * k / (P * P);
}

static kb_data *piece(kb_context *ctx, const whole *w) {
    size_t begin = come(w, kb_rank(ctx), kb_rank_count(ctx)), rows;
    rows = come(w, kb_rank(ctx) + 1, kb_rank_count(ctx)) - begin;
    kb_data *data;
    if (w->sparse) {
        data = compressed(ctx, rows, COLUMNS, w->x + begin * COLUMNS, w->label + begin, 0);
    } else {
        kb_arrays a = {.size = sizeof a,
                       .rows = rows,
                       .features = COLUMNS,
                       .values = w->x + begin * COLUMNS,
                       .labels = w->label + begin,
                       .borrow = 1};
        assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    }
    assert_ok(ctx, kb_data_set_weights(ctx, data, w->weight + begin));
    assert_ok(ctx, kb_data_set_groups(ctx, data, w->group + begin));
    return data;
}

static void deal_out(kb_context *ctx, void *arg) {
    const whole *w = arg;
    kb_data *data = piece(ctx, w);
    assert_ok(ctx, kb_data_deal(ctx, data));
    size_t first = kb_data_first_row(data),
           next = kb_deal_begin(w->rows, kb_rank(ctx) + 1, kb_rank_count(ctx));
    assert_int_equal(first, kb_deal_begin(w->rows, kb_rank(ctx), kb_rank_count(ctx)));
    assert_int_equal(data->rows, next - first);
    assert_int_equal(kb_data_rows_of_all(data), w->rows);
    assert_int_equal(data->dense == NULL, w->sparse);
    assert_true(first % KB_RANK_ROWS == 0 || data->rows == 0);
    for (size_t i = 0; i < data->rows; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            assert_true(cell(data, i, j) == w->x[(first + i) * COLUMNS + j]);
        assert_true(data->label[i] == w->label[first + i]);
        assert_true(data->weight[i] == w->weight[first + i]);
        assert_int_equal(data->group[i], w->group[first + i]);
    }
    kb_data_free(data);
}

static void rows_come_to_the_ranks_in_their_order(void **state) {
    const size_t sizes[] = {1, 77, KB_RANK_ROWS, KB_RANK_ROWS + 1, 7 * KB_RANK_ROWS + 5};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 4; kind++) {
            whole w = make(sizes[s], kind & 1, kind & 2);
            for (int P = 1; P <= 5; P++)
                run_ranked(P, 1, deal_out, &w);
            drop(w);
        }
}

/* ---- words ------------------------------------------------------------- */

/* Rank k met the words k, k+1 and "cow"; its three rows have one each. */
static void deal_words(kb_context *ctx, void *arg) {
    static const char *const words[] = {"ant", "bee", "cat", "dog", "elk", "fox", "gnu"};
    int k = kb_rank(ctx), P = kb_rank_count(ctx);
    const char *names[] = {words[k], words[k + 1], "zebra"};
    double x[3] = {1, 2, 3}, label[3] = {2, 0, 1};
    kb_arrays a = {.size = sizeof a,
                   .rows = 3,
                   .features = 1,
                   .values = x,
                   .labels = label,
                   .class_names = names,
                   .classes = 3};
    kb_data *data;
    (void)arg;
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    assert_ok(ctx, kb_data_deal(ctx, data));
    assert_int_equal(data->class_count, P + 2);
    for (int c = 0; c <= P; c++)
        assert_string_equal(kb_data_class_name(data, (size_t)c), words[c]);
    assert_string_equal(kb_data_class_name(data, (size_t)P + 1), "zebra");
    assert_int_equal(data->rows, k == 0 ? 3 * P : 0);
    for (size_t i = 0; i < data->rows; i++)
        assert_true(data->label[i] == (i % 3 == 0 ? P + 1 : (double)(i / 3 + i % 3 - 1)));
    kb_data_free(data);
}

static void words_of_classes_become_those_of_all_ranks(void **state) {
    (void)state;
    for (int P = 1; P <= 5; P++)
        run_ranked(P, 1, deal_words, NULL);
}

/* The first rank met numbers alone. */
static void deal_numbers(kb_context *ctx, void *arg) {
    const char *names[] = {"1", "b"};
    double x[2] = {1, 2}, numbers[2] = {1, 2.5}, label[2] = {1, 0};
    int me = kb_rank(ctx);
    kb_arrays a = {.size = sizeof a, .rows = 2, .features = 1, .values = x};
    kb_data *data;
    (void)arg;
    a.labels = me == 0 ? numbers : label;
    a.class_names = me == 0 ? NULL : names;
    a.classes = me == 0 ? 0 : 2;
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    assert_ok(ctx, kb_data_deal(ctx, data));
    assert_int_equal(data->class_count, 3);
    assert_string_equal(kb_data_class_name(data, 1), "2.5");
    const double expected[] = {0, 1, 2, 0};
    for (size_t i = 0; i < data->rows; i++)
        assert_true(data->label[i] == expected[i]);
    kb_data_free(data);
}

static void numbers_among_words_are_words(void **state) {
    (void)state;
    run_ranked(2, 1, deal_numbers, NULL);
}

/* Rank k has the levels "a" and k, met in this order, and a value is missing on rank 1. */
static void deal_levels(kb_context *ctx, void *arg) {
    static const char *const words[] = {"p", "q", "r", "s", "t"};
    int k = kb_rank(ctx), P = kb_rank_count(ctx);
    double x[3] = {0, k == 1 ? NAN : 1, 1};
    kb_arrays a = {.size = sizeof a, .rows = 3, .features = 1, .values = x, .borrow = 1};
    kb_data *data;
    (void)arg;
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    if (!data->table)
        assert_ok(ctx, kb_table_create(ctx, 1, &data->table));
    kb_column *c = data->table->column;
    c->type = KB_COLUMN_CATEGORY;
    c->levels = 2;
    assert_ok(ctx, kb_alloc(ctx, 2, sizeof *c->level, &c->level));
    assert_ok(ctx, kb_strdup(ctx, "a", &c->level[0]));
    assert_ok(ctx, kb_strdup(ctx, words[k], &c->level[1]));
    assert_ok(ctx, kb_data_deal(ctx, data));
    c = data->table->column;
    assert_int_equal(c->levels, P + 1);
    for (int l = 0; l < P; l++)
        assert_string_equal(c->level[l + 1], words[l]);
    assert_int_equal(c->missing, P > 1);
    assert_int_equal(data->missing, P > 1);
    for (size_t i = 0; i < data->rows; i++)
        if (i == 4)
            assert_true(isnan(data->dense[i]));
        else
            assert_true(data->dense[i] == (i % 3 == 0 ? 0 : (double)(i / 3 + 1)));
    assert_true(x[0] == 0 && x[2] == 1); /* what was borrowed stays as it is */
    kb_data_free(data);
}

static void levels_become_those_of_all_ranks(void **state) {
    (void)state;
    for (int P = 1; P <= 5; P++)
        run_ranked(P, 1, deal_levels, NULL);
}

/* ---- what differs ------------------------------------------------------ */

static void differ(kb_context *ctx, void *arg) {
    const char *message = "rank 1 has other data than those before it: labels are there, or not";
    double x[2] = {1, 2};
    kb_arrays a = {.size = sizeof a, .rows = 2, .features = 1, .values = x};
    kb_data *data;
    (void)arg;
    a.labels = kb_rank(ctx) == 1 ? x : NULL;
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    assert_int_equal(kb_data_deal(ctx, data), KB_ERR_DATA);
    assert_string_equal(kb_context_message(ctx), message);
    kb_data_free(data);
}

static void data_that_differ_are_refused_on_every_rank(void **state) {
    (void)state;
    run_ranked(3, 1, differ, NULL);
}

static void nothing(kb_context *ctx, void *arg) {
    kb_arrays a = {.size = sizeof a, .features = 1, .values = &a};
    kb_data *data;
    (void)arg;
    assert_ok(ctx, kb_data_from_arrays(ctx, &a, &data));
    assert_int_equal(kb_data_deal(ctx, data), KB_ERR_DATA);
    assert_string_equal(kb_context_message(ctx), "the data have no samples");
    kb_data_free(data);
}

static void ranks_without_any_rows_are_refused(void **state) {
    (void)state;
    run_ranked(2, 1, nothing, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_to_the_ranks_in_their_order),
        cmocka_unit_test(words_of_classes_become_those_of_all_ranks),
        cmocka_unit_test(numbers_among_words_are_words),
        cmocka_unit_test(levels_become_those_of_all_ranks),
        cmocka_unit_test(data_that_differ_are_refused_on_every_rank),
        cmocka_unit_test(ranks_without_any_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
