/* Cross-validation against folds by hand. */
#include "model/fitted.h"

#include "data/folds.h"

enum { N = 200, D = 2, FOLDS = 4 };

typedef struct seen {
    kb_context *ctx;
    const kb_options *options;
    const kb_data *data;
    size_t folds;
    int times[N]; /* that a row was held out */
    kb_status stop;
} seen;

/* The model of the fold is that of a fit to the other rows, and its score that of its decisions. */
static kb_status compare_fold(void *user, const kb_fold *f) {
    seen *s = user;
    uint32_t other[N];
    size_t count = 0, at = 0, C = kb_model_info(f->model)->outputs;
    kb_data *fit, *held;
    kb_model *model;
    double decision[N * 3];
    kb_score score = KB_SCORE_INIT;
    assert_int_equal(f->number, s->folds++);
    assert_int_equal(f->folds, FOLDS);
    for (uint32_t i = 0; i < N; i++)
        if (at < f->rows && f->row[at] == i)
            at++;
        else
            other[count++] = i;
    assert_int_equal(at, f->rows); /* increasing */
    assert_int_equal(count, f->learned);
    for (size_t k = 0; k < f->rows; k++)
        s->times[f->row[k]]++;
    assert_ok(s->ctx, kb_data_take(s->ctx, s->data, count, other, &fit));
    assert_ok(s->ctx, kb_data_take(s->ctx, s->data, f->rows, f->row, &held));
    assert_ok(s->ctx, kb_model_fit(s->ctx, s->options, fit, &model));
    assert_ok(s->ctx, kb_model_decide(s->ctx, model, held, decision));
    assert_memory_equal(decision, f->decision, f->rows * C * sizeof *decision);
    assert_ok(s->ctx, kb_model_score(s->ctx, model, held, decision, &score));
    assert_memory_equal(&score, &f->score, sizeof score);
    kb_model_free(model);
    kb_data_free(fit);
    kb_data_free(held);
    return s->stop;
}

static void folds_are_fits_to_the_other_rows(void **unused) {
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        kb_context *ctx = test_context();
        kb_options *options =
            OPTIONS(ctx, "tune", "off", "grids", "8", "sigma", "0.5", "holdout", "off", "task",
                    kind == REAL ? "regression" : "classification");
        kb_data *data = data_of(ctx, N, D, kind);
        seen s = {.ctx = ctx, .options = options, .data = data};
        assert_ok(ctx, kb_cross_validate(ctx, options, data, FOLDS, compare_fold, &s));
        assert_int_equal(s.folds, FOLDS);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(s.times[i], 1);
        s = (seen){.ctx = ctx, .options = options, .data = data, .stop = KB_ERR_CANCELLED};
        assert_int_equal(kb_cross_validate(ctx, options, data, FOLDS, compare_fold, &s),
                         KB_ERR_CANCELLED);
        assert_int_equal(s.folds, 1);
        kb_data_free(data);
        kb_options_free(options);
        kb_context_free(ctx);
    }
}

static void odd_requests_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "tune", "off", "grids", "8", "sigma", "0.5");
    kb_data *data = data_of(ctx, N, D, TWO);
    (void)unused;
    assert_fails(ctx, KB_ERR_ARGUMENT, "cross-validation: folds must be from 2 to 254",
                 kb_cross_validate(ctx, options, data, 1, NULL, NULL));
    assert_ok(ctx, kb_options_set(ctx, options, "lambda-path", "3"));
    assert_fails(ctx, KB_ERR_ARGUMENT, "cross-validation: not along a --lambda-path",
                 kb_cross_validate(ctx, options, data, 3, NULL, NULL));
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static int try_all(kb_context *ctx, void *arg) {
    kb_options *options = NULL;
    kb_status status = kb_options_create(ctx, &options);
    if (status == KB_OK)
        status = kb_options_set(ctx, options, "tune", "off");
    if (status == KB_OK)
        status = kb_options_set(ctx, options, "grids", "2");
    if (status == KB_OK)
        status = kb_cross_validate(ctx, options, arg, 2, NULL, NULL);
    kb_options_free(options);
    return status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 30, D, TWO);
    (void)unused;
    run_with_allocation_failures(try_all, data);
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_are_fits_to_the_other_rows),
        cmocka_unit_test(odd_requests_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
