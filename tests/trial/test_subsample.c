/* Samples of rows for trials: which rows are drawn, what comes with them, and their scores. */
#include "model/fitted.h"

#include "trial/subsample.h"

enum { N = 400, D = 3 };

typedef struct origin {
    kb_options *options;
    kb_config config;
    kb_data *data;
    kb_targets targets;
    kb_map *map;
    kb_folds folds;
    kb_subsample_source source;
} origin;

static origin *origin_create(kb_context *ctx, labels kind, size_t folds) {
    origin *w = calloc(1, sizeof *w);
    kb_data *scaled = NULL;
    double weight[N];
    w->options = OPTIONS(ctx, "scale", "minmax");
    w->config = kb_config_of(w->options);
    w->data = data_of(ctx, N, D, kind);
    for (size_t i = 0; i < N; i++) {
        w->data->dense[i * D] = (double)i; /* no two rows are the same */
        weight[i] = 1 + (double)(i % 3);
    }
    assert_ok(ctx, kb_data_set_weights(ctx, w->data, weight));
    assert_ok(ctx, kb_targets_build(ctx, CONFIG(w->options)->task, w->data, &w->targets));
    assert_ok(ctx, kb_map_begin(ctx, CONFIG(w->options), 0, w->data, &w->map));
    assert_ok(ctx, kb_map_scale(ctx, CONFIG(w->options), w->data, w->map, &scaled));
    kb_data_free(scaled);
    assert_ok(ctx,
              kb_folds_build(ctx, KB_SPLIT_RANDOM, folds, 0.25, N, 7, N, NULL, NULL, &w->folds));
    w->source = (kb_subsample_source){&w->config, w->data, &w->targets, w->map, &w->folds, 7};
    return w;
}

static void origin_free(kb_context *ctx, origin *w) {
    kb_options_free(w->options);
    kb_data_free(w->data);
    kb_targets_release(ctx, &w->targets);
    kb_map_free(w->map);
    kb_folds_release(ctx, &w->folds);
    free(w);
}

/* The row of the data that is row i of the sample, searched after the row before. */
static size_t row_of(const origin *w, const kb_subsample *s, size_t i, size_t from) {
    while (from < N && memcmp(w->data->dense + from * D, s->x->dense + i * D, D * sizeof(double)))
        from++;
    assert_true(from < N);
    return from;
}

static size_t held_of(const kb_subsample *s) {
    size_t held = 0;
    for (size_t i = 0; i < s->x->rows; i++)
        held += s->folds.fold[i] != KB_FOLD_NONE;
    return held;
}

static void no_more_rows_are_drawn_than_asked_for(void **unused) {
    static const size_t held[] = {30, 1000}, others[] = {50, 1000};
    kb_context *ctx = test_context();
    origin *w = origin_create(ctx, TWO, 0);
    (void)unused;
    for (int h = 0; h < 2; h++)
        for (int o = 0; o < 2; o++) {
            kb_subsample s;
            assert_ok(ctx, kb_subsample_draw(ctx, &w->source, held[h], others[o], &s));
            assert_int_equal(held_of(&s), h ? 100 : 30);
            assert_int_equal(s.x->rows - held_of(&s), o ? 300 : 50);
            kb_subsample_release(ctx, &s);
        }
    origin_free(ctx, w);
    kb_context_free(ctx);
}

/* In their order, with their own targets, weights and folds. */
static void rows_keep_what_is_theirs(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = REAL; kind <= THREE; kind++) {
        origin *w = origin_create(ctx, (labels)kind, 3);
        size_t C = w->targets.outputs, from = 0;
        double *y = malloc(N * C * sizeof *y);
        kb_subsample s;
        kb_targets_fill(&w->targets, N, 0, C, y);
        assert_ok(ctx, kb_subsample_draw(ctx, &w->source, 90, 60, &s));
        assert_int_equal(s.C, C);
        assert_int_equal(s.x->rows, 90); /* with folds every row is a validation row */
        for (size_t i = 0; i < s.x->rows; i++, from++) {
            from = row_of(w, &s, i, from);
            assert_memory_equal(s.y + i * C, y + from * C, C * sizeof *y);
            assert_true(s.weight[i] == 1 + (double)(from % 3));
            assert_true(s.root[i] == sqrt(s.weight[i]));
            assert_int_equal(s.folds.fold[i], w->folds.fold[from]);
            assert_true(!s.class_of == (kind == REAL));
            assert_true(!s.class_of || s.class_of[i] == w->targets.class_of[from]);
        }
        kb_subsample_release(ctx, &s);
        free(y);
        origin_free(ctx, w);
    }
    kb_context_free(ctx);
}

/* The terms of the rows add up to the score and to the error, with weights. */
static void the_parts_of_the_rows_make_the_score(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = REAL; kind <= THREE; kind++) {
        origin *w = origin_create(ctx, (labels)kind, 0);
        kb_subsample s;
        assert_ok(ctx, kb_subsample_draw(ctx, &w->source, N, N, &s));
        uint32_t row[N];
        double *f = test_numbers(3, N * s.C), each[N], miss[N], error, square, sums[2] = {0};
        for (size_t i = 0; i < N; i++)
            row[i] = (uint32_t)i;
        double score = kb_subsample_score(&s, NULL, N, row, f, &error, &square, each, miss);
        for (size_t i = 0; i < N; i++) {
            sums[0] += each[i] / N;
            sums[1] += miss[i] / N;
        }
        assert_true(fabs(sums[0] - score) <= 1e-12 * score); /* rounding */
        assert_true(fabs(sums[1] - error) <= 1e-12 * error);
        assert_true(kind == REAL ? error == square && score == error : error < 1);
        free(f);
        kb_subsample_release(ctx, &s);
        origin_free(ctx, w);
    }
    kb_context_free(ctx);
}

static int draw_some(kb_context *ctx, void *arg) {
    origin *w = arg;
    kb_subsample s;
    kb_status status = kb_subsample_draw(ctx, &w->source, 50, 50, &s);
    kb_subsample_release(ctx, &s);
    return status;
}

static void allocations_may_fail(void **unused) {
    kb_context *ctx = test_context();
    origin *w = origin_create(ctx, THREE, 0);
    (void)unused;
    run_with_allocation_failures(draw_some, w);
    origin_free(ctx, w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_rows_are_drawn_than_asked_for),
        cmocka_unit_test(rows_keep_what_is_theirs),
        cmocka_unit_test(the_parts_of_the_rows_make_the_score),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
