/* A model that goes on: with new rows, and with its own again. */
#include "meter.h"
#include "tune/tuned.h"

#include <math.h>

/* Rows begin .. end of the data, by their numbers. */
static kb_data *rows_between(kb_context *ctx, const kb_data *data, size_t begin, size_t end) {
    uint32_t *row = malloc((end - begin) * sizeof *row);
    kb_data *out;
    assert_non_null(row);
    for (size_t i = begin; i < end; i++)
        row[i - begin] = (uint32_t)i;
    assert_ok(ctx, kb_data_take(ctx, data, end - begin, row, &out));
    free(row);
    return out;
}

static kb_model *updated(kb_context *ctx, const kb_options *options, const kb_model *model,
                         const kb_data *data) {
    kb_model *out;
    assert_ok(ctx, kb_model_update(ctx, options, model, data, &out));
    return out;
}

static kb_model *refitted(kb_context *ctx, const kb_options *options, const kb_model *model,
                          const kb_data *data) {
    kb_model *out;
    assert_ok(ctx, kb_model_refit(ctx, options, model, data, &out));
    return out;
}

/* ---- new rows ---------------------------------------------------------- */

/* A stream of ten batches against all rows at once and the last batch alone. */
static void check_stream(kb_context *ctx, const kb_options *options, const char *name) {
    kb_data *data = generated(ctx, name, "2000", "1", "0.05");
    kb_data *test = generated(ctx, name, "1000", "2", "0");
    kb_data *first = rows_between(ctx, data, 0, 200), *last = rows_between(ctx, data, 1800, 2000);
    kb_model *model = model_of(ctx, options, first), *all = model_of(ctx, options, data);
    kb_model *alone = model_of(ctx, options, last);
    double begin = error_on(ctx, model, test);
    for (size_t k = 1; k < 10; k++) {
        kb_data *batch = rows_between(ctx, data, 200 * k, 200 * k + 200);
        kb_model *next = updated(ctx, options, model, batch);
        assert_true(kb_model_info(next)->bins >= kb_model_info(model)->bins);
        assert_int_equal(kb_model_info(next)->rows, 200 * (k + 1));
        kb_model_free(model);
        kb_data_free(batch);
        model = next;
    }
    double end = error_on(ctx, model, test), best = error_on(ctx, all, test);
    double lonely = error_on(ctx, alone, test);
    /* Nearer to the fit of all rows than to that of a tenth of them. */
    if (!(end < 0.7 * begin && end < 0.7 * lonely && end - best < 0.5 * (lonely - best)))
        fail_msg("%s: %g at first, %g after all, %g by all at once, %g by the last", name, begin,
                 end, best, lonely);
    kb_model_free(model), kb_model_free(all), kb_model_free(alone);
    kb_data_free(data), kb_data_free(test), kb_data_free(first), kb_data_free(last);
}

static void batches_come_close_to_a_fit_of_all_rows(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        static const char *const loss[] = {"square", "logistic", "squared-hinge"};
        kb_options *options = OPTIONS(ctx, "loss", loss[k], "grids", "64");
        check_stream(ctx, options, "checkers");
        if (k == 0)
            check_stream(ctx, options, "friedman");
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* Bins that no new row meets keep their weights to the bit, and the dictionary is that of both. */
static void other_bins_stay_as_they_are(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "20", "sigma", "0.1");
    kb_data *data = data_of(ctx, 300, 2, THREE), *more = rows_between(ctx, data, 0, 40);
    (void)unused;
    for (size_t i = 0; i < 40; i++)
        more->dense[2 * i] = data->dense[2 * i] + (i % 2 ? 0.02 : 3);
    kb_model *old = model_of(ctx, options, data), *model = updated(ctx, options, old, more);
    const kb_dictionary *was = &old->map->dictionary, *is = &model->map->dictionary;
    int64_t *met = columns_of(ctx, model->map, more);
    unsigned char *touched = calloc(is->bins, 1);
    size_t kept = 0, moved = 0;
    for (size_t k = 0; k < 40 * 20; k++) {
        assert_true(met[k] >= 0);
        touched[met[k]] = 1;
    }
    for (size_t r = 0; r < was->grids; r++)
        for (size_t b = was->start[r]; b < was->start[r + 1]; b++) {
            int64_t at = kb_dictionary_find(is, r, was->key[b]);
            assert_true(at >= 0);
            int same = memcmp(old->weight + b * 3, model->weight + at * 3, 3 * sizeof(float)) == 0;
            kept += same && !touched[at];
            moved += !same && touched[at];
            assert_true(same || touched[at]);
        }
    assert_true(kept > 100 && moved > 100 && is->bins > was->bins);
    for (size_t b = 0, fresh = 0; b < is->bins; b++) {
        size_t r = 0;
        while (is->start[r + 1] <= b)
            r++;
        fresh += kb_dictionary_find(was, r, is->key[b]) < 0;
        if (b + 1 == is->bins)
            assert_int_equal(fresh, is->bins - was->bins);
    }
    free(met), free(touched);
    kb_model_free(old), kb_model_free(model);
    kb_data_free(data), kb_data_free(more);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* What the model is told to expect comes from its decisions before it has seen the rows. */
static void new_rows_tell_first_how_good_the_model_was(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "32", "holdout", "auto");
    kb_data *data = data_of(ctx, 400, 2, TWO), *first = rows_between(ctx, data, 0, 100);
    kb_data *more = rows_between(ctx, data, 100, 400), *few = rows_between(ctx, data, 100, 130);
    kb_model *old = model_of(ctx, options, first), *model = updated(ctx, options, old, more);
    kb_model *little = updated(ctx, options, old, few);
    kb_expected expected = KB_EXPECTED_INIT, before = KB_EXPECTED_INIT, after = KB_EXPECTED_INIT;
    (void)unused;
    assert_ok(ctx, kb_model_expected(model, &expected));
    assert_int_equal(expected.rows, 300);
    assert_int_equal(expected.learned, 100);
    assert_true(fabs(expected.error - error_on(ctx, old, more)) < 1e-12);
    assert_true(kb_model_info(model)->probability[0] != 'n');
    /* Fewer rows than were held out before say less. */
    assert_ok(ctx, kb_model_expected(old, &before));
    assert_ok(ctx, kb_model_expected(little, &after));
    assert_int_equal(before.rows, 100);
    assert_memory_equal(&before, &after, sizeof before);
    assert_string_equal(kb_model_info(little)->probability, kb_model_info(old)->probability);
    kb_model_free(old), kb_model_free(model), kb_model_free(little);
    kb_data_free(data), kb_data_free(first), kb_data_free(more), kb_data_free(few);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* A batch may lack classes; it may not have others. */
static void classes_are_those_of_the_model(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "8", "label", "y");
    kb_data *words = csv_of(ctx, options, NULL, "a,y\n1,ape\n2,bee\n3,cow\n4,ape\n5,bee\n6,cow\n");
    kb_model *model = model_of(ctx, options, words), *out;
    kb_data *one = csv_of(ctx, options, model, "a,y\n3,cow\n7,cow\n");
    kb_data *dog = csv_of(ctx, options, model, "a,y\n1,ape\n2,dog\n");
    kb_data *numbers = data_of(ctx, 50, 1, TWO);
    kb_model *of_numbers = model_of(ctx, options, numbers);
    (void)unused;
    out = updated(ctx, options, model, one);
    assert_int_equal(kb_model_info(out)->classes, 3);
    assert_string_equal(kb_model_class_name(out, 0), "ape");
    assert_string_equal(kb_model_label_name(out), "y");
    double x = 7, f[3];
    kb_predictor *row;
    assert_ok(ctx, kb_predictor_create(ctx, out, &row));
    assert_ok(ctx, kb_predictor_row(row, &x, f));
    assert_true(f[2] > f[0] && f[2] > f[1]);
    kb_predictor_free(row);
    kb_model_free(out);
    assert_fails(ctx, KB_ERR_DATA, "row 2: the model does not know the class 'dog'",
                 kb_model_update(ctx, options, model, dog, &out));
    assert_null(out);
    numbers->label[4] = 5;
    assert_fails(ctx, KB_ERR_DATA, "row 5: the model does not know the class 5",
                 kb_model_update(ctx, options, of_numbers, numbers, &out));
    kb_data_free(words), kb_data_free(one), kb_data_free(dog), kb_data_free(numbers);
    kb_model_free(model), kb_model_free(of_numbers);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* What stays apart from the weights, and that a model from a file goes on to the same bytes. */
static void a_model_from_a_file_goes_on_alike(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = REAL; kind <= WORDS; kind++) {
        kb_options *options = OPTIONS(ctx, "grids", "24", "scale", "ranks", "holdout", "auto");
        kb_data *data = data_of(ctx, 200, 3, (labels)kind), *more = rows_between(ctx, data, 0, 60);
        kb_model *old = model_of(ctx, options, data), *read, *again;
        test_path path = written(ctx, old);
        assert_ok(ctx, kb_model_read(ctx, path.text, &read));
        unlink(path.text);
        kb_model *model = updated(ctx, options, old, more);
        assert_string_equal(kb_model_info(model)->scale, "ranks");
        assert_string_equal(kb_model_info(model)->kernel, kb_model_info(old)->kernel);
        assert_string_equal(kb_model_info(model)->sigma_text, kb_model_info(old)->sigma_text);
        assert_true(kb_model_info(model)->lambda == kb_model_info(old)->lambda);
        path = written(ctx, model);
        again = updated(ctx, options, read, more);
        assert_same_file_again(ctx, again, path.text);
        kb_model_free(read);
        assert_ok(ctx, kb_model_read(ctx, path.text, &read)); /* and it can be read */
        unlink(path.text);
        kb_model_free(old), kb_model_free(read), kb_model_free(again), kb_model_free(model);
        kb_data_free(data), kb_data_free(more);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void threads_do_not_matter(void **unused) {
    static const int teams[] = {1, 2, 5};
    test_path first[2];
    (void)unused;
    for (int t = 0; t < 3; t++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, teams[t]);
        kb_options *options = OPTIONS(ctx, "grids", "40", "loss", "logistic");
        kb_data *data = data_of(ctx, 3000, 3, THREE), *more = rows_between(ctx, data, 0, 2900);
        kb_model *old = model_of(ctx, options, data);
        for (int way = 0; way < 2; way++) {
            kb_model *model = (way ? refitted : updated)(ctx, options, old, more);
            if (t == 0) {
                first[way] = path_of(way ? "refit.kerbin" : "update.kerbin");
                assert_ok(ctx, kb_model_write(ctx, model, first[way].text));
            } else {
                assert_same_file_again(ctx, model, first[way].text);
            }
            kb_model_free(model);
        }
        kb_model_free(old);
        kb_data_free(data), kb_data_free(more);
        kb_options_free(options);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    unlink(first[0].text), unlink(first[1].text);
}

static void models_that_cannot_go_on_say_so(void **unused) {
    static const char *const what[][5] = {
        {"penalty", "l1", NULL, NULL, "--penalty l1"},
        {"map", "fourier", NULL, NULL, "--map fourier"},
        {"multiclass", "softmax", "loss", "logistic", "--multiclass softmax"}};
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 100, 2, THREE);
    (void)unused;
    for (int k = 0; k < 3; k++) {
        kb_options *options = OPTIONS(ctx, "grids", "8", what[k][0], what[k][1]);
        if (what[k][2])
            assert_ok(ctx, kb_options_set(ctx, options, what[k][2], what[k][3]));
        kb_model *model = model_of(ctx, options, data), *read, *out;
        test_path path = written(ctx, model); /* a file says it too */
        char message[200];
        assert_ok(ctx, kb_model_read(ctx, path.text, &read));
        unlink(path.text);
        snprintf(message, sizeof message, "a model with %s cannot go on: fit it to all rows again",
                 what[k][4]);
        assert_fails(ctx, KB_ERR_ARGUMENT, message,
                     kb_model_update(ctx, options, model, data, &out));
        assert_fails(ctx, KB_ERR_ARGUMENT, message, kb_model_refit(ctx, options, read, data, &out));
        kb_model_free(model), kb_model_free(read);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

static void data_must_suit_the_model(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "50", "max-memory", "64K");
    kb_options *enough = OPTIONS(ctx, "grids", "50");
    kb_data *data = data_of(ctx, 2000, 2, REAL), *wide = data_of(ctx, 30, 3, REAL);
    kb_model *model = model_of(ctx, enough, data), *out;
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "the data have 3 features, the model 2",
                 kb_model_update(ctx, enough, model, wide, &out));
    assert_int_equal(kb_model_update(ctx, options, model, data, &out), KB_ERR_MEMORY);
    assert_null(out);
    kb_release(ctx, data->label);
    data->label = NULL;
    assert_fails(ctx, KB_ERR_DATA, "the data have no labels to learn from",
                 kb_model_refit(ctx, enough, model, data, &out));
    kb_data_free(data), kb_data_free(wide);
    kb_model_free(model);
    kb_options_free(options), kb_options_free(enough);
    kb_context_free(ctx);
}

/* What a model of its own takes is the caller's; the rest is in the forecast, up to what is small
 * and does not grow. */
static void the_memory_is_forecast(void **unused) {
    static const char *const loss[] = {"square", "logistic"};
    (void)unused;
    for (int k = 0; k < 2; k++)
        for (int way = 0; way < 2; way++) {
            meter m = {0};
            kb_context *ctx = metered_context(&m);
            kb_options *options = OPTIONS(ctx, "grids", "64", "loss", loss[k], "sigma", "0.3");
            kb_data *data = data_of(ctx, 9000, 3, k ? THREE : REAL);
            kb_data *first = rows_between(ctx, data, 0, 3000);
            kb_model *old = model_of(ctx, options, first);
            size_t before = m.now;
            m.peak = m.now;
            kb_model *model = (way ? refitted : updated)(ctx, options, old, data);
            double took = (double)(m.peak - before);
            double forecast = (double)kb_model_cost(model)->forecast_bytes;
            if (!(took <= 1.05 * forecast + 3e5 && took >= 0.3 * forecast))
                fail_msg("%s, way %d: %.0f bytes, forecast %.0f", loss[k], way, took, forecast);
            kb_model_free(model), kb_model_free(old);
            kb_data_free(data), kb_data_free(first);
            kb_options_free(options);
            kb_context_free(ctx);
        }
}

/* ---- the same rows again ----------------------------------------------- */

/* The same decisions: tol bounds the gradient, and decisions within a thousand times that.  On the
 * same rows in hardly a step. */
static void a_fit_again_ends_at_the_same_place(void **unused) {
    static const char *const loss[] = {"square",   "logistic", "squared-hinge",
                                       "absolute", "quantile", "poisson"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 6; k++) {
        kb_options *options = OPTIONS(ctx, "grids", "32", "loss", loss[k], "lambda", "1", "scale",
                                      "none", "sigma", "0.5");
        kb_data *data = data_of(ctx, 420, 2, k == 0 || k > 2 ? REAL : TWO);
        assert_ok(ctx, kb_options_set(ctx, options, "tol", "1e-6"));
        assert_ok(ctx, kb_options_set(ctx, options, "max-iter", "5000"));
        if (k == 5)
            assert_ok(ctx, kb_options_set(ctx, options, "intercept", "off"));
        kb_data *most = rows_between(ctx, data, 0, 400);
        kb_model *first = model_of(ctx, options, most), *cold = model_of(ctx, options, data);
        kb_model *same = refitted(ctx, options, first, most);
        kb_model *more = refitted(ctx, options, first, data);
        assert_true(kb_model_info(same)->steps <= kb_model_info(first)->steps / 10);
        assert_int_equal(kb_model_info(same)->bins, kb_model_info(first)->bins);
        assert_int_equal(kb_model_info(more)->bins, kb_model_info(cold)->bins);
        assert_int_equal(kb_model_info(more)->rows, 420);
        double *f = decisions_of(ctx, first, data), *g = decisions_of(ctx, same, data);
        double *h = decisions_of(ctx, cold, data), *i = decisions_of(ctx, more, data);
        for (size_t j = 0; j < 420; j++)
            if (!(fabs(f[j] - g[j]) <= 1e-3 && fabs(h[j] - i[j]) <= 1e-3))
                fail_msg("%s: %g, not %g, or %g, not %g", loss[k], g[j], f[j], i[j], h[j]);
        free(f), free(g), free(h), free(i);
        assert_true(fabs(kb_model_info(more)->objective - kb_model_info(cold)->objective) <=
                    1e-4 * fabs(kb_model_info(cold)->objective));
        kb_model_free(first), kb_model_free(same), kb_model_free(more), kb_model_free(cold);
        kb_data_free(data), kb_data_free(most);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* With a few more rows, and at the usual tol. */
static void a_fit_again_takes_fewer_steps(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = generated(ctx, "friedman", "3000", "1", "0.1");
    kb_data *most = rows_between(ctx, data, 0, 2950);
    kb_options *options = OPTIONS(ctx, "grids", "64", "lambda", "0.1");
    kb_model *first = model_of(ctx, options, most), *cold = model_of(ctx, options, data);
    kb_model *warm = refitted(ctx, options, first, data);
    (void)unused;
    if (!(kb_model_info(warm)->steps <= kb_model_info(cold)->steps * 2 / 3))
        fail_msg("%zu steps, not %zu", kb_model_info(warm)->steps, kb_model_info(cold)->steps);
    assert_true(fabs(kb_model_info(warm)->objective - kb_model_info(cold)->objective) <=
                1e-2 * kb_model_info(cold)->objective);
    kb_model_free(first), kb_model_free(cold), kb_model_free(warm);
    kb_data_free(data), kb_data_free(most);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* lambda and loss may be given; then the optimum is that of a fit with them. */
static void another_lambda_is_taken(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "16", "lambda", "1", "tol", "1e-6");
    kb_options *other = OPTIONS(ctx, "grids", "16", "lambda", "10", "tol", "1e-6");
    kb_data *data = data_of(ctx, 200, 2, REAL);
    kb_model *model = model_of(ctx, options, data), *again = refitted(ctx, other, model, data);
    kb_model *cold = model_of(ctx, other, data);
    (void)unused;
    assert_true(kb_model_info(again)->lambda == 10);
    double *f = decisions_of(ctx, cold, data), *g = decisions_of(ctx, again, data);
    for (size_t i = 0; i < 200; i++)
        assert_true(fabs(f[i] - g[i]) <= 1e-4);
    free(f), free(g);
    kb_model_free(model), kb_model_free(again), kb_model_free(cold);
    kb_data_free(data);
    kb_options_free(options), kb_options_free(other);
    kb_context_free(ctx);
}

/* A table with words, dates and missing cells: by the encoding that the model has. */
static void tables_keep_their_encoding(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "32", "label", "y");
    char text[8000] = "colour,size,y\n", more[8000] = "size,colour,y\n";
    (void)unused;
    for (int i = 0; i < 200; i++) {
        int red = i % 3 == 0;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s,%d,%d\n",
                 red ? "red" : "blue", i % 7, red ? 5 : i % 7);
        if (i % 5)
            snprintf(more + strlen(more), sizeof more - strlen(more), "%d,%s,%d.5\n", i % 7,
                     red     ? "red"
                     : i % 4 ? "blue"
                             : "",
                     red ? 6 : i % 7);
    }
    assert_ok(ctx, kb_options_set(ctx, options, "task", "regression"));
    kb_data *data = csv_of(ctx, options, NULL, text);
    kb_model *old = model_of(ctx, options, data);
    kb_data *new = csv_of(ctx, options, old, more);
    kb_model *model = updated(ctx, options, old, new);
    assert_true(error_on(ctx, model, new) < 0.5 * error_on(ctx, old, new));
    kb_model_free(old), kb_model_free(model);
    kb_data_free(data), kb_data_free(new);
    kb_options_free(options);
    kb_context_free(ctx);
}

static int update_once(kb_context *ctx, void *arg) {
    const model_and_data *in = arg;
    kb_options *options = NULL;
    kb_model *out = NULL;
    kb_status status = kb_options_create(ctx, &options);
    if (status == KB_OK)
        status = kb_model_update(ctx, options, in->model, in->data, &out);
    kb_model_free(out);
    kb_options_free(options);
    return (int)status;
}

static void cancelling_leaves_nothing_behind(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 60, 2, THREE);
    kb_options *options = OPTIONS(ctx, "grids", "8");
    kb_model *model = model_of(ctx, options, data);
    (void)unused;
    run_with_cancellations(update_once, &(model_and_data){model, data}, 2, 3);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_come_close_to_a_fit_of_all_rows),
        cmocka_unit_test(other_bins_stay_as_they_are),
        cmocka_unit_test(new_rows_tell_first_how_good_the_model_was),
        cmocka_unit_test(classes_are_those_of_the_model),
        cmocka_unit_test(a_model_from_a_file_goes_on_alike),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(models_that_cannot_go_on_say_so),
        cmocka_unit_test(data_must_suit_the_model),
        cmocka_unit_test(the_memory_is_forecast),
        cmocka_unit_test(a_fit_again_ends_at_the_same_place),
        cmocka_unit_test(a_fit_again_takes_fewer_steps),
        cmocka_unit_test(another_lambda_is_taken),
        cmocka_unit_test(tables_keep_their_encoding),
        cmocka_unit_test(cancelling_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
