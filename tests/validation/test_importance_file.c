/* The importance of the features through a model file, and damaged ones. */
#include "model/forged.h"

enum { N = 100, D = 3 };

static kb_model *measured(kb_context *ctx) {
    kb_options *options = OPTIONS(ctx, "grids", "5", "importance", "on");
    kb_data *data = data_of(ctx, N, D, REAL);
    kb_model *model = model_of(ctx, options, data);
    kb_data_free(data);
    kb_options_free(options);
    return model;
}

static void it_comes_back(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = measured(ctx), *back;
    kb_importance a = KB_IMPORTANCE_INIT, b = KB_IMPORTANCE_INIT;
    test_path path = written(ctx, model);
    (void)unused;
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    assert_ok(ctx, kb_model_importance(model, &a));
    assert_ok(ctx, kb_model_importance(back, &b));
    assert_true(a.rows == b.rows && a.repeats == b.repeats && a.score == b.score && a.rows == 20);
    assert_same_bits(a.drop, b.drop, D);
    assert_same_bits(a.standard_error, b.standard_error, D);
    assert_true(a.drop[0] > a.drop[2]);
    kb_importance wrong = {.size = 0};
    assert_int_equal(kb_model_importance(model, &wrong), KB_ERR_ARGUMENT);
    wrong.size = sizeof wrong + 1;
    assert_int_equal(kb_model_importance(model, &wrong), KB_ERR_ARGUMENT);
    unlink(path.text);
    kb_model_free(model);
    kb_model_free(back);
    kb_context_free(ctx);
}

/* An older file has none. */
static void it_may_be_missing(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = measured(ctx), *back;
    kb_importance told = KB_IMPORTANCE_INIT;
    test_path path = written(ctx, model);
    parts p = take_apart(path.text);
    (void)unused;
    assert_int_equal(json_object_del(p.model, "importance"), 0);
    test_path old = put_together(&p);
    assert_ok(ctx, kb_model_read(ctx, old.text, &back));
    assert_int_equal(kb_model_importance(back, &told), KB_ERR_ARGUMENT);
    kb_model_free(back);
    parts_free(&p);
    unlink(old.text);
    unlink(path.text);
    kb_model_free(model);
    kb_context_free(ctx);
}

static void wrong_ones_are_refused(void **unused) {
    static const char *const wrong[] = {
        "1",
        "{}",
        "{\"rows\": 1, \"repeats\": 1, \"score\": 0, \"drop\": [1, 2], \"standard_error\": [1, 2]}",
        "{\"rows\": 0, \"repeats\": 1, \"score\": 0, \"drop\": [1, 2, 3], \"standard_error\": "
        "[1, 2, 3]}",
        "{\"rows\": 1, \"repeats\": 1, \"score\": \"x\", \"drop\": [1, 2, 3], \"standard_error\": "
        "[1, 2, 3]}",
        "{\"rows\": 1, \"repeats\": 1, \"score\": 0, \"drop\": [1, \"x\", 3], "
        "\"standard_error\": [1, 2, 3]}",
    };
    kb_context *ctx = test_context();
    kb_model *model = measured(ctx);
    test_path path = written(ctx, model);
    (void)unused;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        parts p = take_apart(path.text);
        json_object_set_new(p.model, "importance", json_loads(wrong[k], JSON_DECODE_ANY, NULL));
        test_path bad = put_together(&p);
        refused_at(ctx, bad.text, "importance", k);
        unlink(bad.text);
        parts_free(&p);
    }
    unlink(path.text);
    kb_model_free(model);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_back),
        cmocka_unit_test(it_may_be_missing),
        cmocka_unit_test(wrong_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
