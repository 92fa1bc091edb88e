/* Rows held out of a fit: which, their decisions against separate fits, and their known bins. */
#include "fit/bench.h"

#include "fit/validate.h"

static kb_holding holding(kb_context *ctx, const char *holdout, const char *split, size_t classes,
                          size_t rows, size_t stop_rows) {
    kb_options *options = OPTIONS(ctx, "holdout", holdout, "split", split);
    kb_targets targets = {.classes = classes, .outputs = classes > 2 ? classes : 1};
    kb_holding h = kb_holding_of(CONFIG(options), &targets, rows, stop_rows, 0);
    kb_options_free(options);
    return h;
}

static void few_rows_are_dealt_into_folds_and_many_are_split_once(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    assert_int_equal(holding(ctx, "auto", "auto", 0, 9, 0).folds, 0);
    assert_int_equal(holding(ctx, "auto", "auto", 0, 1000, 0).folds, 5);
    assert_int_equal(holding(ctx, "auto", "auto", 60, 1000, 0).folds, 1);
    assert_int_equal(holding(ctx, "auto", "time", 0, 1000, 0).folds, 1);
    assert_int_equal(holding(ctx, "auto", "auto", 0, 1001, 0).folds, 1);
    assert_int_equal(holding(ctx, "off", "auto", 0, 1001, 0).folds, 0);
    kb_holding stop = holding(ctx, "auto", "auto", 0, 20000, 2000);
    assert_true(stop.stop && stop.folds == 0);
    kb_context_free(ctx);
}

/* By the normal equations of the rows that are left; tol = 1e-10 promises 1e-8 of f. */
static void decisions_are_those_of_a_fit_without_the_rows(void **unused) {
    enum { N = 90 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < 8; kind++) {
        bench t;
        bench_create(
            ctx, &t, N, kind % 2 ? THREE : REAL, 1,
            OPTIONS(ctx, "tol", "1e-10", "max-iter", "5000", "lambda", "0.3", "holdout", "auto"));
        size_t C = t.targets.outputs, folds = kind / 4 ? 5 : 1, seen = 0;
        double some[N], unread = 0, b[3] = {0};
        if (kind / 2 % 2)
            t.learner.weight = NULL;
        const double *all = t.learner.weight;
        kb_targets_fill(&t.targets, N, 0, C, t.y);
        kb_validate_spec spec = {
            .learner = &t.learner, .data = t.w.data, .holding = {.folds = folds}, .intercept = b};
        kb_validation v;
        assert_ok(ctx, kb_validate(ctx, &spec, &v));
        assert_int_equal(v.rows, folds == 1 ? N / 5 : N);
        assert_true((v.weight != NULL) == (all != NULL));
        if (folds == 1) { /* one part: all of it is left out */
            for (size_t i = 0; i < N; i++)
                some[i] = all ? all[i] : 1;
            for (size_t h = 0; h < v.rows; h++)
                some[v.row[h]] = 0;
            t.learner.weight = some;
            for (size_t c = 0; c < C; c++) {
                double *want = dense_ridge(&t, c, &unread);
                for (size_t h = 0; h < v.rows; h++, seen++)
                    assert_true(fabs(v.decision[h * C + c] - want[v.row[h]]) <=
                                1e-7 * (1 + fabs(want[v.row[h]])));
                free(want);
            }
            assert_int_equal(seen, v.rows * C);
            for (size_t h = 0; h < v.rows; h++) { /* known bins, by all pairs of rows */
                size_t known = 0;
                for (size_t r = 0; r < t.w.z->grids; r++) {
                    int met = 0;
                    for (size_t i = 0; i < N && !met; i++)
                        met = some[i] > 0 &&
                              kb_binmat_id(t.w.z, i, r) == kb_binmat_id(t.w.z, v.row[h], r);
                    known += (size_t)met;
                }
                assert_true(v.known[h] == (double)known / (double)t.w.z->grids);
            }
        }
        for (size_t h = 0; h < v.rows; h++)
            assert_true(v.label[h] == (v.class_of ? v.class_of[h] : t.targets.label[v.row[h]]));
        t.learner.weight = NULL;
        kb_validation_release(kb_allocator_of(ctx), &v);
        bench_free(ctx, &t);
    }
    kb_context_free(ctx);
}

/* A bin fewer moves the decision away from the intercept by sqrt(grids / known). */
static void decisions_are_filled_in_as_the_model_does(void **unused) {
    enum { N = 60 };
    kb_context *ctx = test_context();
    double b = 10;
    bench t;
    kb_validation plain, filled;
    (void)unused;
    bench_create(ctx, &t, N, REAL, 1, OPTIONS(ctx, "tol", "1e-10", "max-iter", "5000"));
    t.learner.weight = NULL;
    kb_validate_spec spec = {
        .learner = &t.learner, .data = t.w.data, .holding = {.folds = 1}, .intercept = &b};
    assert_ok(ctx, kb_validate(ctx, &spec, &plain));
    spec.fill = 1;
    assert_ok(ctx, kb_validate(ctx, &spec, &filled));
    size_t missed = 0;
    for (size_t h = 0; h < plain.rows; h++) {
        double want = b + (plain.decision[h] - b) / sqrt(plain.known[h]);
        assert_true(fabs(filled.decision[h] - want) < 1e-12 * fabs(want));
        missed += plain.known[h] < 1;
    }
    assert_true(missed > 0);
    kb_validation_release(kb_allocator_of(ctx), &plain);
    kb_validation_release(kb_allocator_of(ctx), &filled);
    bench_free(ctx, &t);
    kb_context_free(ctx);
}

/* The decisions of the stop rows are taken as the solver left them. */
static void stop_rows_cost_no_fit(void **unused) {
    enum { N = 60 };
    kb_context *ctx = test_context();
    static const uint32_t row[] = {3, 7, 20};
    double f[] = {0.5, -0.5, 2}, b = 0;
    bench t;
    kb_validation v;
    (void)unused;
    bench_create(ctx, &t, N, TWO, 1, OPTIONS(ctx, "tol", "1e-6"));
    t.learner.stop_row = row;
    t.learner.stop_rows = 3;
    t.learner.stop_f = f;
    kb_validate_spec spec = {
        .learner = &t.learner, .data = t.w.data, .holding = {.stop = 1}, .intercept = &b};
    assert_ok(ctx, kb_validate(ctx, &spec, &v)); /* they did not stop it */
    assert_int_equal(v.rows, 0);
    t.learner.stopped = 1;
    assert_ok(ctx, kb_validate(ctx, &spec, &v));
    assert_int_equal(v.rows, 3);
    assert_memory_equal(v.row, row, sizeof row);
    assert_memory_equal(v.decision, f, sizeof f);
    assert_int_equal(v.learned, N - 3);
    kb_validation_release(kb_allocator_of(ctx), &v);
    bench_free(ctx, &t);
    kb_context_free(ctx);
}

/* A single group cannot be split: no rows, and no error. */
static void rows_that_cannot_be_held_out_are_not(void **unused) {
    enum { N = 60 };
    kb_context *ctx = test_context();
    double b = 0;
    bench t;
    kb_validation v;
    (void)unused;
    bench_create(ctx, &t, N, TWO, 1, OPTIONS(ctx, "split", "group:x"));
    assert_ok(ctx, kb_zalloc(ctx, N, sizeof *t.w.data->group, &t.w.data->group));
    kb_validate_spec spec = {
        .learner = &t.learner, .data = t.w.data, .holding = {.folds = 1}, .intercept = &b};
    assert_ok(ctx, kb_validate(ctx, &spec, &v));
    assert_int_equal(v.rows, 0);
    bench_free(ctx, &t);
    kb_context_free(ctx);
}

static int hold_out(kb_context *ctx, void *arg) {
    bench *t = arg;
    double b[3] = {0};
    kb_validation v;
    kb_validate_spec spec = {
        .learner = &t->learner, .data = t->w.data, .holding = {.folds = 5}, .intercept = b};
    kb_status status = kb_validate(ctx, &spec, &v);
    kb_validation_release(kb_allocator_of(ctx), &v);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    bench t;
    (void)unused;
    bench_create(ctx, &t, 30, THREE, 1, OPTIONS(ctx, "max-iter", "4"));
    bench_learn(ctx, &t); /* the operator has its memory by now */
    kb_learner_release(ctx, &t.learner);
    run_with_allocation_failures(hold_out, &t);
    bench_free(ctx, &t);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_are_dealt_into_folds_and_many_are_split_once),
        cmocka_unit_test(decisions_are_those_of_a_fit_without_the_rows),
        cmocka_unit_test(decisions_are_filled_in_as_the_model_does),
        cmocka_unit_test(stop_rows_cost_no_fit),
        cmocka_unit_test(rows_that_cannot_be_held_out_are_not),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
