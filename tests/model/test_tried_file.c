/* The trials of the tuner through a model file, and damaged lists. */
#include "model/forged.h"

enum { N = 60 };

/* A model with three trials, one of which failed. */
static kb_model *with_trials(kb_context *ctx) {
    kb_options *options = OPTIONS(ctx, "grids", "3");
    kb_data *data = data_of(ctx, N, 2, TWO);
    kb_model *model = model_of(ctx, options, data);
    assert_ok(ctx, kb_zalloc(ctx, 3, sizeof *model->tried, &model->tried));
    model->tried_count = 3;
    model->chosen = 2;
    for (size_t i = 0; i < 3; i++)
        model->tried[i] = (kb_trial_info){.widths = i ? "learned" : "equal",
                                          .loss = "square",
                                          .sigma = (double)i / 3,
                                          .lambda = 0.1,
                                          .grids = 10 + i,
                                          .steps = i,
                                          .error = i == 1 ? INFINITY : 0.25,
                                          .seconds = 7};
    kb_data_free(data);
    kb_options_free(options);
    return model;
}

static void they_come_back_without_their_seconds(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = with_trials(ctx), *back;
    test_path path = written(ctx, model);
    size_t count;
    (void)unused;
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    const kb_trial_info *got = kb_model_trials(back, &count);
    assert_int_equal(count, 3);
    assert_int_equal(kb_model_chosen_trial(back), 2);
    for (size_t i = 0; i < 3; i++) {
        const kb_trial_info *want = &model->tried[i];
        assert_string_equal(got[i].widths, want->widths);
        assert_string_equal(got[i].loss, want->loss);
        assert_true(got[i].sigma == want->sigma && got[i].lambda == want->lambda);
        assert_true(got[i].grids == want->grids && got[i].steps == want->steps);
        assert_true(got[i].error == want->error && isnan(got[i].seconds));
    }
    unlink(path.text);
    kb_model_free(model);
    kb_model_free(back);
    kb_context_free(ctx);
}

static void wrong_ones_are_refused(void **unused) {
    static const char *const wrong[] = {
        "1",
        "[1]",
        "[{}]",
        "[{\"widths\": \"equal\", \"loss\": 1, \"grids\": 1, \"steps\": 1}]",
        "[{\"widths\": \"equal\", \"loss\": \"square\", \"grids\": -1, \"steps\": 1}]",
        "[{\"widths\": \"equal\", \"loss\": \"square\", \"grids\": 1, \"steps\": 1}]", /* chosen */
    };
    kb_context *ctx = test_context();
    kb_model *model = with_trials(ctx);
    test_path path = written(ctx, model);
    (void)unused;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        parts p = take_apart(path.text);
        json_object_set_new(p.model, "tried", json_loads(wrong[k], JSON_DECODE_ANY, NULL));
        test_path bad = put_together(&p);
        refused_at(ctx, bad.text, "trials", k);
        unlink(bad.text);
        parts_free(&p);
    }
    unlink(path.text);
    kb_model_free(model);
    kb_context_free(ctx);
}

static int read_it(kb_context *ctx, void *path) {
    kb_model *model;
    kb_status status = kb_model_read(ctx, path, &model);
    kb_model_free(model);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = with_trials(ctx);
    test_path path = written(ctx, model);
    (void)unused;
    run_with_allocation_failures(read_it, path.text);
    unlink(path.text);
    kb_model_free(model);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_come_back_without_their_seconds),
        cmocka_unit_test(wrong_ones_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
