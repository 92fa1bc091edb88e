/* Predictions as files: from decisions, and as the decisions are made. */
#include "model/ways.h"
#include "meter.h"

static void writes(kb_context *ctx, const kb_model *model, size_t rows, const double *decision,
                   int decisions, const char *want) {
    test_path path = path_of("predictions.txt");
    assert_ok(ctx, kb_model_write_predictions(ctx, model, rows, decision, decisions, path.text));
    char *text = bytes_of(path.text, NULL);
    assert_string_equal(text, want);
    free(text);
    unlink(path.text);
}

static void predictions_are_one_line_a_row(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4");
    kb_model *model[4];
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        kb_data *data = data_of(ctx, 50, 2, kind);
        model[kind] = model_of(ctx, options, data);
        kb_data_free(data);
    }
    writes(ctx, model[REAL], 3, (const double[]){1.5, -2, 1e-9}, 0, "1.5\n-2\n1e-09\n");
    writes(ctx, model[REAL], 2, (const double[]){0.1, 3}, 1, "0.1\n3\n");
    writes(ctx, model[TWO], 3, (const double[]){-1, 0.25, 0}, 0, "3\n7\n3\n");
    writes(ctx, model[TWO], 2, (const double[]){-1, 0.25}, 1, "-1\n0.25\n");
    const double three[] = {1, 2, 3, 0.5, -1, -1};
    writes(ctx, model[THREE], 2, three, 0, "6\n4\n");
    writes(ctx, model[THREE], 2, three, 1, "4,5,6\n1,2,3\n0.5,-1,-1\n");
    writes(ctx, model[WORDS], 2, three, 0, "cow\nape\n");
    writes(ctx, model[WORDS], 2, three, 1, "ape,bee,cow\n1,2,3\n0.5,-1,-1\n");
    assert_int_equal(kb_model_write_predictions(ctx, model[TWO], 1, three, 0, "/nowhere/p.txt"),
                     KB_ERR_IO);
    assert_non_null(strstr(kb_context_message(ctx), "/nowhere/p.txt"));
    for (labels kind = REAL; kind <= WORDS; kind++)
        kb_model_free(model[kind]);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* A header of names is CSV: a comma within a name must not make two columns of it. */
static void names_with_commas_are_quoted_in_the_header(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4");
    kb_data *data =
        csv_of(ctx, options, NULL, "x,y\n0,\"red, dark\"\n1,blue\n2,\"so called \"\"green\"\"\"\n");
    kb_model *model = model_of(ctx, options, data);
    (void)unused;
    writes(ctx, model, 1, (const double[]){1, 2, 3}, 1,
           "blue,\"red, dark\",\"so called \"\"green\"\"\"\n1,2,3\n");
    writes(ctx, model, 1, (const double[]){1, 2, 0}, 0, "red, dark\n"); /* a line, not a table */
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static char *text_of(kb_context *ctx, const kb_model *model, size_t rows, const double *decision,
                     kb_output what) {
    test_path path = path_of("threads.txt");
    assert_ok(ctx, kb_model_write_predictions(ctx, model, rows, decision, what, path.text));
    char *text = bytes_of(path.text, NULL);
    unlink(path.text);
    return text;
}

/* More rows than become text at once, against a file of its parts. */
static void rows_are_written_in_order_by_any_threads(void **unused) {
    enum { ROWS = 30001 };
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4", "probability", "on");
    kb_data *data = data_of(ctx, 60, 2, THREE);
    kb_model *model = model_of(ctx, options, data);
    double *f = malloc(3 * ROWS * sizeof *f);
    (void)unused;
    for (size_t k = 0; k < 3 * ROWS; k++)
        f[k] = k % 5 ? (double)(k * 7919 % 10007) / 3e3 - 1 : (double)(k % 11);
    for (kb_output what = KB_OUTPUT_LABEL; what <= KB_OUTPUT_PROBABILITY; what++) {
        char *want = text_of(ctx, model, ROWS, f, what), *at = want;
        for (int threads = 1; threads <= 7; threads += 3) {
            test_state state = {0};
            kb_context *team = test_context_with(&state, threads);
            char *got = text_of(team, model, ROWS, f, what);
            assert_string_equal(got, want);
            free(got);
            kb_context_free(team);
            assert_int_equal(state.live, 0);
        }
        size_t header = what == KB_OUTPUT_LABEL ? 0 : strcspn(want, "\n") + 1;
        at += header;
        for (size_t i = 0; i < ROWS; i += 997) {
            char *one = text_of(ctx, model, 1, f + 3 * i, what);
            for (size_t skipped = i > 0 ? 997 : 0; skipped > 0; skipped--)
                at = strchr(at, '\n') + 1;
            assert_memory_equal(at, one + header, strlen(one + header));
            free(one);
        }
        free(want);
    }
    free(f);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- as they are made -------------------------------------------------- */

/* Two texts of scores are the same where their bits are. */
static void assert_same_score(const kb_score *a, const kb_score *b) {
    assert_memory_equal(a, b, sizeof *a);
}

/* kb_model_predict_file against its parts, one after the other. */
static void check_predict(kb_context *ctx, const kb_model *model, const kb_data *data,
                          kb_output what) {
    test_path one = path_of("one.txt"), two = path_of("two.txt");
    double *f = decisions_of(ctx, model, data);
    kb_score want = KB_SCORE_INIT, got = want;
    size_t a, b;
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &want));
    assert_ok(ctx, kb_model_write_predictions(ctx, model, data->rows, f, what, one.text));
    assert_ok(ctx, kb_model_predict_file(ctx, model, data, what, two.text, &got));
    assert_same_score(&got, &want);
    char *x = bytes_of(one.text, &a), *y = bytes_of(two.text, &b);
    assert_int_equal(a, b);
    assert_memory_equal(x, y, a);
    assert_ok(ctx, kb_model_predict_file(ctx, model, data, what, NULL, &got));
    assert_same_score(&got, &want);
    unlink(one.text);
    unlink(two.text);
    free(f), free(x), free(y);
}

static void it_is_deciding_scoring_and_writing_in_one(void **unused) {
    static const double weights[] = {1, 0.5, 3};
    kb_context *ctx = test_context();
    (void)unused;
    for (int rival = 0; rival < 2; rival++)
        for (int k = 0; k < RIVAL_WAYS; k++) {
            const way *w = &WAYS[k];
            kb_options *options = WAY(ctx, w, "map", rival ? "nystrom" : "binning");
            kb_data *data = data_of(ctx, 200, 2, w->kind), *test = data_of(ctx, 300, 2, w->kind);
            kb_model *model = model_of(ctx, options, data);
            for (int weighted = 0; weighted < 2; weighted++) {
                if (weighted)
                    weigh_rows(ctx, test, weights, 3);
                check_predict(ctx, model, test, KB_OUTPUT_LABEL);
                check_predict(ctx, model, test, KB_OUTPUT_DECISION);
                if (strcmp(w->rule, "none") != 0)
                    check_predict(ctx, model, test, KB_OUTPUT_PROBABILITY);
            }
            kb_model_free(model);
            kb_data_free(data);
            kb_data_free(test);
            kb_options_free(options);
        }
    kb_context_free(ctx);
}

/* A model of so many classes that few of its rows are decided at a time. */
enum { CLASSES = 70, MANY_ROWS = 40000 };

static kb_data *samples_of(kb_context *ctx, size_t N, int sparse) {
    kb_data *dense = data_of(ctx, N, 3, REAL), *other;
    for (size_t i = 0; i < N; i++)
        dense->label[i] = (double)(i % CLASSES);
    if (!sparse)
        return dense;
    other = test_sparse(ctx, N, 3, dense->dense, dense->label);
    kb_data_free(dense);
    return other;
}

static kb_model *wide_model(kb_context *ctx, const char *scale) {
    kb_options *options = OPTIONS(ctx, "grids", "16", "sigma", "0.5", "task", "classification",
                                  "scale", scale, "max-iter", "5");
    kb_data *data = samples_of(ctx, 300, 0);
    kb_model *model = model_of(ctx, options, data);
    kb_data_free(data);
    kb_options_free(options);
    return model;
}

/* More rows than are decided at a time: nothing changes but the memory, of which there is far less
 * than all decisions would take. */
static void many_rows_take_little_memory(void **unused) {
    (void)unused;
    for (int form = 0; form < 4; form++) {
        meter m = {0, 0};
        kb_context *ctx = metered_context(&m);
        kb_model *model = wide_model(ctx, form / 2 ? "ranks" : "minmax");
        kb_data *data = samples_of(ctx, MANY_ROWS, form % 2);
        kb_score score = KB_SCORE_INIT;
        if (form != 3)
            check_predict(ctx, model, data, KB_OUTPUT_LABEL);
        size_t before = m.peak = m.now;
        assert_ok(ctx, kb_model_predict_file(ctx, model, data, KB_OUTPUT_LABEL, NULL, &score));
        assert_true((double)(m.peak - before) < 0.6 * 8 * MANY_ROWS * CLASSES);
        assert_int_equal(m.now, before);
        kb_data_free(data);
        kb_model_free(model);
        kb_context_free(ctx);
        assert_int_equal(m.now, 0);
    }
}

static void progress_runs_to_the_end(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_model *model = wide_model(ctx, "minmax");
    kb_data *data = samples_of(ctx, MANY_ROWS, 0);
    (void)unused;
    state.progress = 0;
    assert_ok(ctx, kb_model_predict_file(ctx, model, data, KB_OUTPUT_LABEL, NULL, NULL));
    assert_true(state.progress > 2);
    assert_true(ctx->part[0] == 0 && ctx->part[1] == 1); /* for the next test */
    kb_data_free(data);
    kb_model_free(model);
    kb_context_free(ctx);
}

static void what_cannot_be_predicted_is_refused_before_the_work(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_options *options = OPTIONS(ctx, "grids", "4");
    kb_data *data = data_of(ctx, 50, 2, REAL), *words = data_of(ctx, 50, 2, WORDS);
    kb_data *none, *three = data_of(ctx, 50, 3, REAL);
    kb_model *model = model_of(ctx, options, data);
    test_path path = path_of("predictions.txt");
    kb_score score = KB_SCORE_INIT;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 50, 2, data->dense, NULL, &none));
    state.progress = 0;
    assert_fails(ctx, KB_ERR_DATA, "the data have no labels to score against",
                 kb_model_predict_file(ctx, model, none, KB_OUTPUT_LABEL, path.text, &score));
    assert_true(isnan(score.accuracy) && isnan(score.rmse));
    assert_fails(ctx, KB_ERR_DATA, "the labels are words, the model predicts numbers",
                 kb_model_predict_file(ctx, model, words, KB_OUTPUT_LABEL, path.text, &score));
    assert_int_equal(
        kb_model_predict_file(ctx, model, data, KB_OUTPUT_PROBABILITY, path.text, NULL),
        KB_ERR_ARGUMENT);
    assert_int_equal(
        kb_model_predict_file(ctx, model, data, KB_OUTPUT_LABEL, "/nowhere/p.txt", NULL),
        KB_ERR_IO);
    assert_fails(ctx, KB_ERR_DATA, "the data have 3 features, the model 2",
                 kb_model_predict_file(ctx, model, three, KB_OUTPUT_LABEL, path.text, NULL));
    assert_int_equal(state.progress, 0);
    assert_false(file_exists(path.text));
    assert_ok(ctx, kb_model_predict_file(ctx, model, none, KB_OUTPUT_LABEL, NULL, NULL));
    kb_model_free(model);
    kb_data_free(data);
    kb_data_free(words);
    kb_data_free(none);
    kb_data_free(three);
    kb_options_free(options);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

typedef struct question {
    const kb_model *model;
    const kb_data *data;
    kb_output what;
} question;

/* A file is whole, or what was there before. */
static int predict_over(kb_context *ctx, void *arg) {
    question *q = arg;
    test_path path = file_with("predictions.txt", "precious");
    kb_score score = KB_SCORE_INIT;
    kb_status status = kb_model_predict_file(ctx, q->model, q->data, q->what, path.text, &score);
    char *text = bytes_of(path.text, NULL);
    assert_int_equal(strcmp(text, "precious") == 0, status != KB_OK);
    free(text);
    unlink(path.text);
    return (int)status;
}

static void it_may_be_cancelled_and_every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_model *wide = wide_model(ctx, "minmax");
    kb_data *many = samples_of(ctx, MANY_ROWS, 0), *two = data_of(ctx, 60, 2, TWO);
    kb_options *options = OPTIONS(ctx, "grids", "4", "loss", "logistic");
    kb_model *small = model_of(ctx, options, two);
    question q = {wide, many, KB_OUTPUT_LABEL};
    (void)unused;
    run_with_cancellations(predict_over, &q, 1, 2);
    q = (question){small, two, KB_OUTPUT_PROBABILITY};
    run_with_allocation_failures(predict_over, &q);
    kb_model_free(wide);
    kb_model_free(small);
    kb_data_free(many);
    kb_data_free(two);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_are_one_line_a_row),
        cmocka_unit_test(names_with_commas_are_quoted_in_the_header),
        cmocka_unit_test(rows_are_written_in_order_by_any_threads),
        cmocka_unit_test(it_is_deciding_scoring_and_writing_in_one),
        cmocka_unit_test(many_rows_take_little_memory),
        cmocka_unit_test(progress_runs_to_the_end),
        cmocka_unit_test(what_cannot_be_predicted_is_refused_before_the_work),
        cmocka_unit_test(it_may_be_cancelled_and_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
