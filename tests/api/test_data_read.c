/* Data read by the options, and as a model expects them. */
#include "model/fitted.h"

/* ---- by the options ---------------------------------------------------- */

/* Each option changes what the same text means. */
static void every_option_reaches_the_reader(void **unused) {
    static const struct {
        const char *name, *value; /* one option */
        const char *file, *text;
        size_t rows, features;
        double first, label; /* the first value and label of row 0; NAN: no labels */
    } known[] = {
        {"format", "auto", "a.csv", "5,6,7\n8,9,1\n", 2, 2, 5, 7},
        {"format", "libsvm", "a.csv", "4 1:5 3:6\n", 1, 3, 5, 4},
        {"zero-based", "on", "a.txt", "4 0:5 3:6\n", 1, 4, 5, 4},
        {"header", "on", "a.csv", "1,2,3\n5,6,7\n", 1, 2, 5, 7},
        {"header", "auto", "a.csv", "a,b,c\n5,6,7\n", 1, 2, 5, 7},
        {"label", "1", "a.csv", "5,6,7\n", 1, 2, 6, 5},
        {"label", "b", "a.csv", "a,b,c\n5,6,7\n", 1, 2, 5, 6},
        {"label", "none", "a.csv", "5,6,7\n", 1, 3, 5, NAN},
        {"weights", "column:1", "a.csv", "5,6,7\n", 1, 1, 6, 7},
        {"split", "group:b", "a.csv", "a,b,c,d\n5,x,6,7\n", 1, 2, 5, 7},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_options *options = OPTIONS(ctx, known[k].name, known[k].value);
        test_path path = file_with(known[k].file, known[k].text);
        kb_data *data;
        assert_ok(ctx, kb_data_read(ctx, options, path.text, NULL, &data));
        assert_int_equal(kb_data_rows(data), known[k].rows);
        assert_int_equal(kb_data_features(data), known[k].features);
        if (known[k].features)
            assert_true(cell(data, 0, 0) == known[k].first);
        if (isnan(known[k].label))
            assert_null(kb_data_labels(data));
        else
            assert_true(kb_data_labels(data)[0] == known[k].label);
        assert_int_equal(data->weight != NULL, strcmp(known[k].name, "weights") == 0);
        assert_int_equal(data->group != NULL, strcmp(known[k].name, "split") == 0);
        kb_data_free(data);
        remove(path.text);
        kb_options_free(options);
    }
    /* Lines without a delimiter: LIBSVM text, if it were not for the option. */
    kb_options *options = OPTIONS(ctx, "format", "csv");
    test_path path = file_with("a.txt", "5\n8\n");
    kb_data *data;
    assert_int_equal(kb_data_read(ctx, options, path.text, NULL, &data), KB_ERR_DATA);
    assert_non_null(strstr(kb_context_message(ctx), ": no features: the label is the only column"));
    remove(path.text);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- as a model expects them ------------------------------------------- */

static kb_data *read_like(kb_context *ctx, const kb_options *options, const kb_model *model,
                          const char *file, const char *text) {
    test_path path = file_with(file, text);
    kb_data *data;
    assert_ok(ctx, kb_data_read(ctx, options, path.text, model, &data));
    remove(path.text);
    return data;
}

static kb_model *model_from(kb_context *ctx, const kb_options *options, const char *file,
                            const char *text) {
    kb_data *data = read_like(ctx, options, NULL, file, text);
    kb_model *model = model_of(ctx, options, data);
    kb_data_free(data);
    return model;
}

static void columns_are_found_by_the_names_of_the_model(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4", "label", "y");
    kb_model *model = model_from(ctx, options, "t.csv", "a,y,b\n1,2,3\n4,5,7\n0,1,2\n");
    (void)unused;
    kb_data *data = read_like(ctx, options, model, "p.csv", "b,a\n30,10\n");
    assert_int_equal(kb_data_features(data), 2);
    assert_true(cell(data, 0, 0) == 10 && cell(data, 0, 1) == 30);
    assert_null(kb_data_labels(data));
    kb_data_free(data);
    data = read_like(ctx, options, model, "p.csv", "y,b,a\n5,30,10\n");
    assert_true(cell(data, 0, 0) == 10 && kb_data_labels(data)[0] == 5);
    kb_data_free(data);
    kb_model_free(model);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Without names: the model's label column, unless the option says another. */
static void the_label_is_where_the_model_had_it(void **unused) {
    kb_context *ctx = test_context();
    kb_options *first = OPTIONS(ctx, "grids", "4", "label", "1"),
               *plain = OPTIONS(ctx, "grids", "4");
    kb_options *second = OPTIONS(ctx, "label", "2");
    kb_model *model = model_from(ctx, first, "t.csv", "9,1,2\n8,3,4\n7,5,7\n");
    (void)unused;
    kb_data *data = read_like(ctx, plain, model, "p.csv", "5,30,10\n");
    assert_true(kb_data_labels(data)[0] == 5 && cell(data, 0, 0) == 30);
    kb_data_free(data);
    data = read_like(ctx, second, model, "p.csv", "5,30,10\n");
    assert_true(kb_data_labels(data)[0] == 30 && cell(data, 0, 0) == 5);
    kb_data_free(data);
    kb_model_free(model);
    kb_options_free(first);
    kb_options_free(plain);
    kb_options_free(second);
    kb_context_free(ctx);
}

static void indices_begin_where_those_of_the_model_did(void **unused) {
    kb_context *ctx = test_context();
    kb_options *zero = OPTIONS(ctx, "grids", "4", "zero-based", "on"),
               *one = OPTIONS(ctx, "grids", "4");
    kb_model *model = model_from(ctx, zero, "t.txt", "1 0:5 1:6\n2 0:1 1:1\n3 1:2\n");
    (void)unused;
    kb_data *data = read_like(ctx, one, model, "p.txt", "1 0:7\n");
    assert_int_equal(kb_data_features(data), 2);
    assert_true(cell(data, 0, 0) == 7 && cell(data, 0, 1) == 0);
    kb_data_free(data);
    kb_model_free(model);
    kb_options_free(zero);
    kb_options_free(one);
    kb_context_free(ctx);
}

/* ---- synthetic --------------------------------------------------------- */

static void rows_noise_and_seed_make_the_samples(void **unused) {
    static const char *const pairs[][2] = {{"rows", "50"}, {"seed", "2"}, {"noise", "0.3"}};
    kb_context *ctx = test_context();
    kb_options *plain = OPTIONS(ctx, "rows", "60", "noise", "0.1");
    kb_data *data, *same, *other;
    (void)unused;
    assert_ok(ctx, kb_data_generate(ctx, plain, "friedman", &data));
    assert_ok(ctx, kb_data_generate(ctx, plain, "friedman", &same));
    assert_int_equal(data->rows, 60);
    assert_same_bits(data->dense, same->dense, 60 * data->features);
    assert_same_bits(data->label, same->label, 60);
    for (int k = 0; k < 3; k++) {
        kb_options *options = OPTIONS(ctx, "rows", "60", "noise", "0.1", pairs[k][0], pairs[k][1]);
        assert_ok(ctx, kb_data_generate(ctx, options, "friedman", &other));
        assert_int_equal(other->rows, k == 0 ? 50 : 60);
        assert_int_equal(memcmp(other->label, data->label, 50 * sizeof(double)) != 0, k > 0);
        kb_data_free(other);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_data_free(same);
    kb_options_free(plain);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_reaches_the_reader),
        cmocka_unit_test(columns_are_found_by_the_names_of_the_model),
        cmocka_unit_test(the_label_is_where_the_model_had_it),
        cmocka_unit_test(indices_begin_where_those_of_the_model_did),
        cmocka_unit_test(rows_noise_and_seed_make_the_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
