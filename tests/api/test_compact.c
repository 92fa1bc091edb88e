/* Compact models: decisions within the bound that is told, all that a model can do, and files. */
#include "model/originals.h"
#include "model/rivals.h"

enum { N = 200 };

typedef struct kind_of_model {
    labels kind;
    const char *options[13];
} kind_of_model;

static const kind_of_model MODELS[] = {
    {REAL, {"grids", "40", "sigma", "0.4"}},
    {REAL, {"grids", "40", "sigma", "0.1", "tune", "on", "scale", "auto", "holdout", "auto"}},
    {TWO, {"grids", "21", "sigma", "0.7", "holdout", "0.2", "scale", "ranks"}},
    {WORDS, {"grids", "40", "sigma", "0.3", "loss", "logistic"}},
    {THREE, {"grids", "5", "sigma", "1"}},
    {THREE, {"grids", "40", "sigma", "0.5", "penalty", "l1", "lambda", "1"}},
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

static kb_model *fitted(kb_context *ctx, const kind_of_model *m, kb_data *data) {
    kb_options *options = options_of(ctx, m->options);
    kb_model *model = model_of(ctx, options, data);
    kb_options_free(options);
    return model;
}

/* Training rows, and rows between and far from them. */
static kb_data *rows_to_decide(kb_context *ctx) {
    double *x = test_values(N, 3, 21), *other = test_values(N, 3, 22);
    kb_data *data;
    for (size_t k = 0; k < N * 3; k++)
        x[k] = k / 3 % 2 ? x[k] : k % 13 ? other[k] : 1e6;
    assert_ok(ctx, data_from_dense(ctx, N, 3, x, NULL, &data));
    free(x), free(other);
    return data;
}

/* Decisions, and shares of known bins. */
typedef struct answers {
    double *f, *known;
} answers;

static answers answers_of(kb_context *ctx, const kb_model *model, const kb_data *data) {
    answers a = {malloc(N * model->info.outputs * sizeof(double)), malloc(N * sizeof(double))};
    assert_non_null(a.f);
    assert_non_null(a.known);
    assert_ok(ctx, kb_model_decide_known(ctx, model, data, a.f, a.known));
    return a;
}

static void answers_free(answers a) {
    free(a.f), free(a.known);
}

static void same_answers(kb_context *ctx, const kb_model *model, const kb_data *data, answers a) {
    answers b = answers_of(ctx, model, data);
    assert_same_bits(a.f, b.f, N * model->info.outputs);
    assert_same_bits(a.known, b.known, N);
    answers_free(b);
}

static void same_rows_one_by_one(kb_context *ctx, const kb_model *model, const kb_data *data,
                                 answers a) {
    kb_predictor *p;
    double f[3];
    size_t C = model->info.outputs;
    assert_ok(ctx, kb_predictor_create(ctx, model, &p));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(kb_predictor_row(p, data->dense + i * 3, f), KB_OK);
        assert_same_bits(f, a.f + i * C, C);
    }
    kb_predictor_free(p);
}

static void check_file(kb_context *ctx, const kb_model *model, const kb_data *data, answers a) {
    kb_model *back, *trusted;
    test_path path = written(ctx, model);
    parts p = take_apart(path.text);
    assert_string_equal(version_of(&p), "7");
    parts_free(&p);
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    assert_ok(ctx, kb_model_read_trusted(ctx, path.text, &trusted));
    same_answers(ctx, back, data, a);
    same_answers(ctx, trusted, data, a);
    same_rows_one_by_one(ctx, back, data, a);
    assert_same_file_again(ctx, back, path.text);
    kb_compaction is = KB_COMPACTION_INIT, was = KB_COMPACTION_INIT;
    assert_int_equal(kb_model_compaction(back, &is), KB_OK);
    assert_int_equal(kb_model_compaction(model, &was), KB_OK);
    assert_memory_equal(&is, &was, sizeof is);
    kb_model_free(back);
    kb_model_free(trusted);
    unlink(path.text);
}

static size_t bytes_written(kb_context *ctx, const kb_model *model) {
    size_t count;
    test_path path = written(ctx, model);
    free(bytes_of(path.text, &count));
    unlink(path.text);
    return count;
}

static void check(kb_context *ctx, const kind_of_model *m, double drop) {
    kb_data *train = data_of(ctx, N, 3, m->kind), *data = rows_to_decide(ctx);
    kb_model *model = fitted(ctx, m, train);
    answers was = answers_of(ctx, model, data);
    size_t count = N * model->info.outputs, before = bytes_written(ctx, model);
    size_t arrays = model->info.kept_bins * (8 + 4 * model->info.outputs);
    kb_compaction told = KB_COMPACTION_INIT;
    assert_int_equal(kb_model_compaction(model, &told), KB_OK);
    assert_false(told.compact);
    assert_ok(ctx, kb_model_compact(ctx, model, drop));
    assert_int_equal(kb_model_compaction(model, &told), KB_OK);
    assert_int_equal(told.dropped > 0, drop > 0);
    assert_true(told.compact && told.typical > 0 && told.most >= told.typical);
    if (model->info.kept_bins > 1000) /* else the header is most of the file */
        assert_true(bytes_written(ctx, model) < before - arrays / 2);
    answers is = answers_of(ctx, model, data);
    double square = 0;
    for (size_t k = 0; k < count; k++) {
        double moved = fabs(is.f[k] - was.f[k]);
        square += moved * moved;
        /* Sums of 40 doubles may have other roundings. */
        assert_true(moved <= told.most * (1 + 1e-9));
    }
    /* Rounding errors are independent: the mean over some hundred decisions is near what is told,
     * and below it where few grids know the bins.  Weights that are dropped may miss together. */
    if (drop == 0)
        assert_true(sqrt(square / (double)count) < 2 * told.typical);
    assert_same_bits(was.known, is.known, N);
    same_rows_one_by_one(ctx, model, data, is);
    check_file(ctx, model, data, is);
    answers_free(was), answers_free(is);
    kb_model_free(model);
    kb_data_free(train), kb_data_free(data);
}

static void decisions_stay_within_what_is_told(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    (void)unused;
    for (int k = 0; k < MODEL_COUNT; k++)
        for (int d = 0; d < 3; d++)
            check(ctx, &MODELS[k], d * 0.2);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* By hand: the weight nearest to that of the model among 255 of its grid. */
static void every_weight_is_the_nearest_level(void **unused) {
    kb_context *ctx = test_context();
    kb_data *train = data_of(ctx, N, 3, THREE);
    kb_model *model = fitted(ctx, &MODELS[4], train), *same = fitted(ctx, &MODELS[4], train);
    (void)unused;
    assert_ok(ctx, kb_model_compact(ctx, same, 0));
    const kb_dictionary *d = &model->map->dictionary, *cut = &same->map->dictionary;
    for (size_t r = 0; r < d->grids; r++)
        for (size_t c = 0; c < 3; c++) {
            double most = 0, largest = 0;
            for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
                int64_t at = kb_dictionary_find(cut, r, d->key[b]);
                assert_true(at >= 0);
                double w = model->weight[b * 3 + c];
                double is = (double)same->level[(size_t)at * 3 + c] * same->unit[r * 3 + c];
                largest = fmax(largest, fabs(w));
                most = fmax(most, fabs(w - is));
            }
            assert_true(most <= largest / 254 * (1 + 1e-6)); /* the unit is a float */
        }
    kb_model_free(model), kb_model_free(same);
    kb_data_free(train);
    kb_context_free(ctx);
}

/* The weights of the least squares go, whatever their grid; no more of them would fit the share. */
static void the_smallest_weights_are_dropped(void **unused) {
    static const double shares[] = {1e-6, 0.01, 0.3, 0.999};
    kb_context *ctx = test_context();
    kb_data *train = data_of(ctx, N, 3, WORDS);
    kb_model *model = fitted(ctx, &MODELS[3], train);
    const kb_dictionary *d = &model->map->dictionary;
    (void)unused;
    for (int k = 0; k < 4; k++) {
        kb_model *less = fitted(ctx, &MODELS[3], train);
        double sum = 0, gone = 0, largest_gone = 0, least_left = INFINITY, at_least = 0;
        size_t dropped = 0;
        assert_ok(ctx, kb_model_compact(ctx, less, shares[k]));
        for (size_t r = 0; r < d->grids; r++)
            for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
                const float *w = model->weight + b * 3;
                double square = (double)w[0] * w[0] + (double)w[1] * w[1] + (double)w[2] * w[2];
                int64_t at = kb_dictionary_find(&less->map->dictionary, r, d->key[b]);
                sum += square;
                if (kb_model_levels(less, (size_t)at)) {
                    at_least =
                        square < least_left ? square : at_least + square * (square == least_left);
                    least_left = fmin(least_left, square);
                    continue;
                }
                dropped++;
                gone += square;
                largest_gone = fmax(largest_gone, square);
            }
        assert_int_equal(dropped, less->compaction.dropped);
        assert_true(largest_gone < least_left);
        assert_true(gone <= shares[k] * sum && gone + at_least > shares[k] * sum * (1 - 1e-9));
        kb_model_free(less);
    }
    assert_fails(ctx, KB_ERR_ARGUMENT, "drop 1: must be at least 0 and below 1",
                 kb_model_compact(ctx, model, 1));
    assert_fails(ctx, KB_ERR_ARGUMENT, "drop nan: must be at least 0 and below 1",
                 kb_model_compact(ctx, model, NAN));
    kb_model_free(model);
    kb_data_free(train);
    kb_context_free(ctx);
}

static void a_model_from_a_file_becomes_compact_too(void **unused) {
    kb_context *ctx = test_context();
    kb_data *train = data_of(ctx, N, 3, WORDS);
    kb_model *model = fitted(ctx, &MODELS[3], train), *back;
    test_path path = written(ctx, model);
    (void)unused;
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    unlink(path.text);
    assert_ok(ctx, kb_model_compact(ctx, model, 0));
    assert_ok(ctx, kb_model_compact(ctx, back, 0));
    path = written(ctx, model);
    assert_same_file_again(ctx, back, path.text);
    unlink(path.text);
    kb_model_free(model), kb_model_free(back);
    kb_data_free(train);
    kb_context_free(ctx);
}

static void what_cannot_be_compact_is_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *train = data_of(ctx, N, 3, TWO);
    kb_options *options = OPTIONS(ctx, "map", "fourier", "grids", "8");
    kb_model *model = model_of(ctx, options, train);
    kb_compaction wrong = {.size = 3};
    (void)unused;
    assert_fails(ctx, KB_ERR_ARGUMENT, "a compact model needs --map binning",
                 kb_model_compact(ctx, model, 0));
    assert_int_equal(kb_model_compaction(model, &wrong), KB_ERR_ARGUMENT);
    kb_model_free(model);
    model = fitted(ctx, &MODELS[2], train);
    assert_ok(ctx, kb_model_compact(ctx, model, 0));
    assert_fails(ctx, KB_ERR_ARGUMENT, "the model is compact already",
                 kb_model_compact(ctx, model, 0));
    kb_model_free(model);
    kb_options_free(options);
    kb_data_free(train);
    kb_context_free(ctx);
}

static void what_cannot_be_made_compact_stays_whole(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_data *train = data_of(ctx, N, 3, WORDS), *data = rows_to_decide(ctx);
    kb_model *model = fitted(ctx, &MODELS[3], train);
    answers was = answers_of(ctx, model, data);
    kb_status status;
    long k = 0;
    (void)unused;
    do {
        long live = state.live;
        state.fail_at = state.allocations + ++k;
        status = kb_model_compact(ctx, model, 0.1);
        state.fail_at = 0;
        assert_true(status == KB_OK || status == KB_ERR_MEMORY);
        assert_int_equal(model->compaction.compact, status == KB_OK);
        if (status == KB_OK)
            break;
        same_answers(ctx, model, data, was);
        assert_int_equal(state.live, live);
    } while (1);
    assert_true(k > 8);
    answers_free(was);
    kb_model_free(model);
    kb_data_free(train), kb_data_free(data);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void files_do_not_depend_on_the_threads(void **unused) {
    char *first = NULL;
    size_t count = 0, again;
    (void)unused;
    for (int threads = 1; threads <= 3; threads++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, threads);
        kb_data *train = data_of(ctx, N, 3, WORDS);
        kb_model *model = fitted(ctx, &MODELS[3], train);
        assert_ok(ctx, kb_model_compact(ctx, model, 0));
        test_path path = written(ctx, model);
        char *bytes = bytes_of(path.text, &again);
        if (first) {
            assert_int_equal(again, count);
            assert_memory_equal(bytes, first, count);
            free(bytes);
        } else {
            first = bytes;
            count = again;
        }
        unlink(path.text);
        kb_model_free(model);
        kb_data_free(train);
        kb_context_free(ctx);
    }
    free(first);
}

/* ---- damage ------------------------------------------------------------- */

static test_path original_compact(kb_context *ctx, labels kind) {
    kb_model *model = small_model(ctx, kind);
    assert_ok(ctx, kb_model_compact(ctx, model, 0.05));
    assert_true(model->compaction.dropped > 0);
    test_path path = written(ctx, model);
    kb_model_free(model);
    return path;
}

static void every_array_must_be_there_in_its_shape(void **unused) {
    static const char *const names[] = {"grid.unit", "grid.skip", "bin.level",  "bucket.first",
                                        "bin.tail",  "bin.kept",  "kept.before"};
    kb_context *ctx = test_context();
    test_path path = original_compact(ctx, THREE);
    (void)unused;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int how = 0; how < DAMAGED_HEADERS; how++) {
            parts p = take_apart(path.text);
            assert_true(damage(&p, names[k], how));
            refused_parts(ctx, &p, names[k], "damaged");
            parts_free(&p);
        }
    unlink(path.text);
    kb_context_free(ctx);
}

static void units_and_bounds_that_are_no_numbers_are_refused(void **unused) {
    static const float bad[] = {NAN, INFINITY, -1e-30F, 3e38F};
    static const char *const keys[] = {"typical", "most"};
    kb_context *ctx = test_context();
    test_path path = original_compact(ctx, THREE);
    (void)unused;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        parts p = take_apart(path.text);
        ((float *)array_of(&p, "grid.unit"))[14 * (k % 2)] = bad[k];
        refused_parts(ctx, &p, "grid.unit", "not sound");
        parts_free(&p);
    }
    for (int k = 0; k < 2; k++) {
        parts p = take_apart(path.text);
        json_object_set_new(json_object_get(p.model, "compact"), keys[k], json_real(-1));
        refused_parts(ctx, &p, keys[k], "not sound");
        parts_free(&p);
    }
    unlink(path.text);
    kb_context_free(ctx);
}

/* A search must not leave the arrays, nor shift by more bits than there are. */
static void tables_that_point_outside_are_refused(void **unused) {
    static const uint8_t skips[] = {49, 64, 255};
    kb_context *ctx = test_context();
    test_path path = original_compact(ctx, TWO);
    (void)unused;
    for (size_t k = 0; k < sizeof skips; k++) {
        parts p = take_apart(path.text);
        ((uint8_t *)array_of(&p, "grid.skip"))[2 * k] = skips[k];
        refused_parts(ctx, &p, "grid.skip", "contradict");
        parts_free(&p);
    }
    for (size_t at = 0; at < 10; at += 3) {
        parts p = take_apart(path.text);
        ((uint32_t *)array_of(&p, "bucket.first"))[at] = UINT32_MAX;
        refused_parts(ctx, &p, "bucket.first", "contradict");
        parts_free(&p);
    }
    unlink(path.text);
    kb_context_free(ctx);
}

/* The place of a level is counted from these. */
static void counts_of_bits_that_are_wrong_are_refused(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original_compact(ctx, TWO);
    (void)unused;
    for (int k = 0; k < 4; k++) {
        parts p = take_apart(path.text);
        size_t words = (offset_of(&p, "bin.kept", 1) - offset_of(&p, "bin.kept", 0)) / 8;
        uint64_t *kept = array_of(&p, "bin.kept");
        uint32_t *before = array_of(&p, "kept.before");
        if (k == 0)
            kept[0] ^= 4;
        if (k == 1)
            kept[words - 1] ^= UINT64_C(1) << 63; /* past the last bin */
        if (k == 2)
            before[0] = 1;
        if (k == 3)
            before[words - 1] += 7;
        refused_parts(ctx, &p, "bin.kept", "not sound");
        parts_free(&p);
    }
    unlink(path.text);
    kb_context_free(ctx);
}

/* Tails and levels may be anything: predictions are wrong, but do not crash. */
static void nonsense_in_tails_and_levels_is_harmless(void **unused) {
    static const char *const names[] = {"bin.tail", "bin.level"};
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 50, 2, REAL);
    (void)unused;
    for (labels kind = TWO; kind <= THREE; kind++) {
        test_path path = original_compact(ctx, kind);
        parts p = take_apart(path.text);
        kb_model *model;
        kb_predictor *one;
        double f[3];
        for (int n = 0; n < 2; n++) {
            uint8_t *at = array_of(&p, names[n]);
            size_t count = offset_of(&p, names[n], 1) - offset_of(&p, names[n], 0);
            for (size_t k = 0; k < count; k++)
                at[k] = (uint8_t)(k * 101 + 128); /* in no order, and -128 among the levels */
        }
        test_path forged = put_together(&p);
        assert_ok(ctx, kb_model_read(ctx, forged.text, &model));
        free(decisions_of(ctx, model, data));
        assert_ok(ctx, kb_predictor_create(ctx, model, &one));
        for (size_t i = 0; i < 50; i++)
            assert_int_equal(kb_predictor_row(one, data->dense + 2 * i, f), KB_OK);
        kb_predictor_free(one);
        kb_model_free(model);
        parts_free(&p);
        unlink(forged.text);
        unlink(path.text);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_stay_within_what_is_told),
        cmocka_unit_test(every_weight_is_the_nearest_level),
        cmocka_unit_test(the_smallest_weights_are_dropped),
        cmocka_unit_test(a_model_from_a_file_becomes_compact_too),
        cmocka_unit_test(what_cannot_be_compact_is_refused),
        cmocka_unit_test(what_cannot_be_made_compact_stays_whole),
        cmocka_unit_test(files_do_not_depend_on_the_threads),
        cmocka_unit_test(every_array_must_be_there_in_its_shape),
        cmocka_unit_test(units_and_bounds_that_are_no_numbers_are_refused),
        cmocka_unit_test(tables_that_point_outside_are_refused),
        cmocka_unit_test(counts_of_bits_that_are_wrong_are_refused),
        cmocka_unit_test(nonsense_in_tails_and_levels_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
