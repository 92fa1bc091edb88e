/* Scores against brute force. */
#include "model/fitted.h"

#include "model/score.h"

/* A model of that many classes, as far as scores need it; the test makes the decisions. */
static kb_model *scored_model(kb_context *ctx, labels kind, kb_calibration_rule probability) {
    kb_options *options = OPTIONS(ctx, "grids", "3", "sigma", "1");
    kb_data *data = data_of(ctx, 60, 2, kind);
    kb_model *model = model_of(ctx, options, data);
    model->calibration = (kb_calibration){.kind = probability, .slope = 1.3};
    kb_data_free(data);
    kb_options_free(options);
    return model;
}

enum { N = 200 };

/* N rows with labels of the model's classes, at random. */
static kb_data *labelled(kb_context *ctx, const kb_model *model) {
    kb_data *data;
    double x[N], y[N];
    size_t classes = kb_model_info(model)->classes;
    for (size_t i = 0; i < N; i++) {
        x[i] = 0;
        y[i] = classes ? kb_model_class(model, (size_t)(test_uniform(101, i) * (double)classes))
                       : 5 * test_uniform(102, i);
    }
    assert_ok(ctx, data_from_dense(ctx, N, 1, x, y, &data));
    return data;
}

/* Coarse, so that there are ties; they have some relation to the labels. */
static double *coarse_decisions(const kb_model *model, const kb_data *data) {
    size_t C = kb_model_info(model)->outputs;
    double *f = malloc(N * C * sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < C; c++) {
            int own = data->label[i] == kb_model_class(model, C == 1 ? 1 : c);
            f[i * C + c] = round(8 * (test_uniform(103, i * C + c) - 0.5) + own) / 4;
        }
    return f;
}

static void give_weights(kb_context *ctx, kb_data *data) {
    assert_ok(ctx, kb_alloc(ctx, data->rows, sizeof(double), &data->weight));
    for (size_t i = 0; i < data->rows; i++)
        data->weight[i] = (double)(i % 4);
}

/* The share of pairs of a row of class k and another in the right order. */
static double area_of(const kb_model *model, const kb_data *data, const double *f, size_t k) {
    size_t C = kb_model_info(model)->outputs, c = C == 1 ? 0 : k;
    double pairs = 0, right = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double w = data->weight ? data->weight[i] * data->weight[j] : 1;
            double a = f[i * C + c], b = f[j * C + c];
            if (data->label[i] != kb_model_class(model, k) ||
                data->label[j] == kb_model_class(model, k))
                continue;
            pairs += w;
            right += w * (a > b ? 1 : a == b ? 0.5 : 0);
        }
    return right / pairs;
}

static double f1_of(const kb_model *model, const kb_data *data, const double *label, size_t k) {
    double both = 0, there = 0, said = 0;
    for (size_t i = 0; i < N; i++) {
        double w = data->weight ? data->weight[i] : 1;
        int own = data->label[i] == kb_model_class(model, k);
        int called = label[i] == kb_model_class(model, k);
        both += own && called ? w : 0;
        there += own ? w : 0;
        said += called ? w : 0;
    }
    double precision = both / said, recall = both / there;
    return 2 * precision * recall / (precision + recall);
}

/* Every number by brute force. */
static kb_score brute_force(kb_context *ctx, const kb_model *model, const kb_data *data,
                            const double *f) {
    size_t classes = kb_model_info(model)->classes, C = kb_model_info(model)->outputs;
    double label[N], *p = malloc(N * classes * sizeof *p), right = 0, total = 0;
    kb_score score = KB_SCORE_INIT;
    kb_model_label(model, N, f, label);
    assert_ok(ctx, kb_model_probability(ctx, model, N, f, p));
    for (size_t k = 0; k < classes; k++) {
        double own = 0, good = 0;
        for (size_t i = 0; i < N; i++) {
            double w = data->weight ? data->weight[i] : 1;
            if (data->label[i] != kb_model_class(model, k))
                continue;
            own += w;
            good += label[i] == data->label[i] ? w : 0;
            score.log_loss -= w * log(p[i * classes + k]);
        }
        score.balanced_accuracy += good / own / (double)classes;
        right += good;
        total += own;
    }
    score.accuracy = right / total;
    for (size_t i = 0; i < N; i++) { /* the deviation of a row's hit, over sqrt of the rows */
        double off = (label[i] == data->label[i] ? 1 : 0) - score.accuracy;
        score.standard_error += (data->weight ? data->weight[i] : 1) * off * off / total / total;
    }
    score.standard_error = sqrt(score.standard_error);
    score.log_loss /= total;
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < classes; k++)
            score.brier +=
                (data->weight ? data->weight[i] : 1) / total / 2 *
                pow(p[i * classes + k] - (data->label[i] == kb_model_class(model, k)), 2);
    for (size_t k = C == 1 ? 1 : 0; k < classes; k++) {
        size_t counted = C == 1 ? 1 : classes;
        score.auc += area_of(model, data, f, k) / (double)counted;
        score.f1 += f1_of(model, data, label, k) / (double)counted;
    }
    free(p);
    return score;
}

static int same(double a, double b) {
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * (1 + fabs(b));
}

static void scores_agree_with_brute_force(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = TWO; kind <= THREE; kind++)
        for (kb_calibration_rule p = KB_CALIBRATION_SIGMOID; p <= KB_CALIBRATION_SOFTMAX; p++)
            for (int weighted = 0; weighted < 2; weighted++) {
                kb_model *model = scored_model(ctx, kind, p);
                kb_data *data = labelled(ctx, model);
                double *f = coarse_decisions(model, data);
                kb_score score = KB_SCORE_INIT;
                if (weighted)
                    give_weights(ctx, data);
                assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
                kb_score want = brute_force(ctx, model, data, f);
                assert_true(same(score.accuracy, want.accuracy));
                assert_true(same(score.balanced_accuracy, want.balanced_accuracy));
                assert_true(same(score.standard_error, want.standard_error));
                assert_true(same(score.auc, want.auc));
                assert_true(same(score.log_loss, want.log_loss));
                assert_true(same(score.brier, want.brier));
                assert_true(same(score.f1, want.f1));
                assert_true(isnan(score.mae) && isnan(score.rmse) && isnan(score.r2) &&
                            isnan(score.relative_error));
                assert_true(score.accuracy > 0.2 && score.accuracy < 0.95);
                assert_true(score.balanced_accuracy != score.accuracy);
                assert_true(score.f1 != score.accuracy);
                assert_true(score.auc > 0.55 && score.auc < 0.95);
                free(f);
                kb_data_free(data);
                kb_model_free(model);
            }
    kb_context_free(ctx);
}

/* Weights 0, 1, 2, 3 are rows so many times. */
static void weights_are_repeated_rows(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++) {
        kb_model *model = scored_model(ctx, kind, KB_CALIBRATION_SIGMOID);
        size_t C = kb_model_info(model)->outputs, count = 0;
        kb_data *data = labelled(ctx, model), *more;
        double *f = kind == REAL ? test_numbers(5, N) : coarse_decisions(model, data);
        double *x = calloc(3 * N, sizeof *x), *y = malloc(3 * N * sizeof *y);
        double *g = malloc(3 * N * C * sizeof *g);
        kb_score a = KB_SCORE_INIT, b = a, plain = a;
        assert_ok(ctx, kb_model_score(ctx, model, data, f, &plain));
        give_weights(ctx, data);
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < i % 4; k++) {
                memcpy(g + count * C, f + i * C, C * sizeof *g);
                y[count++] = data->label[i];
            }
        assert_ok(ctx, data_from_dense(ctx, count, 1, x, y, &more));
        assert_ok(ctx, kb_model_score(ctx, model, data, f, &a));
        assert_ok(ctx, kb_model_score(ctx, model, more, g, &b));
        const double *one = &a.accuracy, *other = &b.accuracy;
        for (size_t k = 0; k < (sizeof a - offsetof(kb_score, accuracy)) / sizeof(double); k++)
            assert_true(same(one[k], other[k]));
        assert_true(kind == REAL ? a.rmse != plain.rmse : a.log_loss != plain.log_loss);
        free(f), free(g), free(x), free(y);
        kb_data_free(data);
        kb_data_free(more);
        kb_model_free(model);
    }
    kb_context_free(ctx);
}

/* A perfect order, the opposite, none at all, and one class only. */
static void the_area_has_its_ends(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = scored_model(ctx, TWO, KB_CALIBRATION_NONE);
    kb_data *data = labelled(ctx, model);
    double f[N];
    kb_score score = KB_SCORE_INIT;
    (void)unused;
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < N; i++)
            f[i] = (1 - kind) * (data->label[i] == 7 ? 2.0 : 1.0);
        assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
        assert_true(score.auc == (kind == 0 ? 1 : kind == 1 ? 0.5 : 0));
        assert_true(isnan(score.log_loss)); /* this model gives no probabilities */
    }
    for (size_t i = 0; i < N; i++)
        data->label[i] = 7;
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
    assert_true(isnan(score.auc));
    assert_true(score.accuracy == 0 && score.balanced_accuracy == 0); /* f < 0 */
    kb_data_free(data);
    kb_model_free(model);
    kb_context_free(ctx);
}

/* A label that the model does not know is never right, costs as much as a probability of 1e-15,
 * is a class of its own, and has no place in the order. */
static void unknown_labels_are_wrong(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = scored_model(ctx, TWO, KB_CALIBRATION_SIGMOID);
    double x[4] = {0}, y[4] = {3, 7, 7, 11}, f[4] = {-1, 1, -0.5, 3};
    kb_data *data;
    kb_score score = KB_SCORE_INIT;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 4, 1, x, y, &data));
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
    assert_true(same(score.accuracy, 0.5));
    assert_true(same(score.balanced_accuracy, (1 + 0.5 + 0) / 3));
    assert_true(same(score.auc, 1));
    double want = 2 * log1p(exp(-1.3)) + log1p(exp(0.65)) - log(1e-15);
    assert_true(same(score.log_loss, want / 4));
    kb_data_free(data);
    kb_model_free(model);
    kb_context_free(ctx);
}

/* Words are matched by name: the data may know others, in other places. */
static void words_are_matched_by_name(void **unused) {
    static const char *const word[] = {"ant", "bee", "cow"};
    kb_context *ctx = test_context();
    kb_model *model = scored_model(ctx, WORDS, KB_CALIBRATION_NONE); /* ape, bee, cow */
    double x[3] = {0}, y[3] = {0, 1, 2}, f[9] = {1, 0, 0, 0, 1, 0, 1, 0, 0};
    kb_data *data;
    kb_score score = KB_SCORE_INIT;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 3, 1, x, y, &data));
    assert_ok(ctx, kb_alloc(ctx, 3, sizeof(char *), &data->class_name));
    data->class_count = 3;
    for (int k = 0; k < 3; k++)
        assert_ok(ctx, kb_strdup(ctx, word[k], &data->class_name[k]));
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
    assert_true(same(score.accuracy, 1.0 / 3)); /* bee; ant is unknown, cow is called ape */
    assert_true(same(score.balanced_accuracy, 1.0 / 3));
    kb_data_free(data);
    kb_model_free(model);
    kb_context_free(ctx);
}

static void numbers_are_scored(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = scored_model(ctx, REAL, KB_CALIBRATION_NONE);
    double x[3] = {0}, y[3] = {1, 2, 4}, f[3] = {1, 3, 4};
    kb_data *data;
    kb_score score = KB_SCORE_INIT;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 3, 1, x, y, &data));
    assert_ok(ctx, kb_alloc(ctx, 3, sizeof(double), &data->weight));
    data->weight[0] = 1, data->weight[1] = 2, data->weight[2] = 1;
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
    /* mean 9/4; around 25/16 + 2/16 + 49/16 = 19/4; error 2; size 25 */
    assert_true(same(score.rmse, sqrt(0.5)));
    assert_true(same(score.mae, 0.5)); /* 0, 1, 1, 0 */
    assert_true(same(score.relative_error, sqrt(2.0 / 25)));
    assert_true(same(score.r2, 1 - 2 / 4.75));
    /* squared errors 0, 1, 1, 0: mean 1/2, deviation 1/2, of four rows */
    assert_true(same(score.standard_error, 0.25));
    assert_true(isnan(score.accuracy) && isnan(score.auc) && isnan(score.log_loss));
    assert_true(isnan(score.f1) && isnan(score.brier));
    assert_true(isnan(score.pinball) && isnan(score.poisson_deviance));
    model->info.quantile = 0.9; /* one unit too high, twice, of four rows */
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
    assert_true(same(score.pinball, 0.05));
    data->label[1] = 4; /* and too low */
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
    assert_true(same(score.pinball, 0.45));
    model->info.quantile = 0;
    model->log_link = 1;
    double logs[3] = {log(1), log(3), log(4)};
    assert_ok(ctx, kb_model_score(ctx, model, data, logs, &score));
    assert_true(fabs(score.poisson_deviance - (4 * log(4.0 / 3) - 1)) <= 1e-14);
    assert_true(fabs(score.mae - 0.5) <= 1e-14 && isnan(score.pinball));
    data->label[1] = 0; /* y log y is 0 there */
    assert_ok(ctx, kb_model_score(ctx, model, data, logs, &score));
    assert_true(fabs(score.poisson_deviance - 3) <= 1e-14);
    kb_data_free(data);
    kb_model_free(model);
    kb_context_free(ctx);
}

/* How much the mean squared error, or the accuracy, varies from one sample of rows to another. */
static void the_standard_error_is_that_of_other_rows(void **unused) {
    enum { DRAWS = 2000 };
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= THREE; kind++) {
        kb_model *model = scored_model(ctx, kind, KB_CALIBRATION_NONE);
        kb_data *data = labelled(ctx, model), *draw = labelled(ctx, model);
        size_t C = kb_model_info(model)->outputs;
        double *f = kind == REAL ? test_numbers(5, N) : coarse_decisions(model, data);
        double *g = malloc(N * C * sizeof *g), sum = 0, squares = 0;
        kb_score score = KB_SCORE_INIT, one = score;
        assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
        for (size_t k = 0; k < DRAWS; k++) {
            for (size_t i = 0; i < N; i++) {
                size_t from = (size_t)(test_uniform(500 + k, i) * N);
                draw->label[i] = data->label[from];
                memcpy(g + i * C, f + from * C, C * sizeof *g);
            }
            assert_ok(ctx, kb_model_score(ctx, model, draw, g, &one));
            double value = kind == REAL ? one.rmse * one.rmse : one.accuracy;
            sum += value / DRAWS;
            squares += value * value / DRAWS;
        }
        double deviation = sqrt(squares - sum * sum);
        /* A deviation of 2000 numbers is known to about 1 in sqrt(4000). */
        assert_true(fabs(deviation / score.standard_error - 1) < 4 / sqrt(2 * DRAWS));
        free(f), free(g);
        kb_data_free(data);
        kb_data_free(draw);
        kb_model_free(model);
    }
    kb_context_free(ctx);
}

/* Decisions that come some rows at a time score to the same bits. */
static void pieces_score_as_the_whole(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (size_t step = 1; step < 100; step += 48) {
            kb_model *model = scored_model(
                ctx, kind, kind == REAL ? KB_CALIBRATION_NONE : KB_CALIBRATION_SIGMOID);
            kb_data *data = labelled(ctx, model);
            double *f = kind == REAL ? test_numbers(7, N) : coarse_decisions(model, data);
            kb_score want = KB_SCORE_INIT, got = want;
            kb_scorer s;
            give_weights(ctx, data);
            assert_ok(ctx, kb_model_score(ctx, model, data, f, &want));
            assert_ok(ctx, kb_scorer_begin(ctx, model, data, &s));
            for (size_t begin = 0; begin < data->rows; begin += step)
                kb_scorer_add(&s, begin, data->rows - begin < step ? data->rows - begin : step,
                              f + begin * model->info.outputs);
            assert_ok(ctx, kb_scorer_end(ctx, &s, &got));
            assert_memory_equal(&got, &want, sizeof got);
            kb_scorer_release(ctx, &s);
            free(f);
            kb_data_free(data);
            kb_model_free(model);
        }
    kb_context_free(ctx);
}

static void a_score_is_filled_as_far_as_it_goes(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = scored_model(ctx, TWO, KB_CALIBRATION_SIGMOID);
    kb_data *data = labelled(ctx, model);
    double *f = coarse_decisions(model, data);
    kb_score whole = KB_SCORE_INIT, part = {.size = offsetof(kb_score, rmse), .rmse = 7},
             none = {0};
    (void)unused;
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &whole));
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &part));
    assert_true(whole.size == sizeof whole && part.size == offsetof(kb_score, rmse));
    assert_true(part.accuracy == whole.accuracy && part.log_loss == whole.log_loss);
    assert_true(part.rmse == 7 && isnan(whole.rmse) && part.standard_error == 0);
    assert_fails(ctx, KB_ERR_ARGUMENT, "kb_score: size is 0; it must be sizeof(kb_score)",
                 kb_model_score(ctx, model, data, f, &none));
    free(f);
    kb_data_free(data);
    kb_model_free(model);
    kb_context_free(ctx);
}

typedef struct question {
    kb_model *model;
    kb_data *data;
    double *f;
} question;

static int score_once(kb_context *ctx, void *arg) {
    question *q = arg;
    kb_score score = KB_SCORE_INIT;
    return (int)kb_model_score(ctx, q->model, q->data, q->f, &score);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    question q = {.model = scored_model(ctx, TWO, KB_CALIBRATION_SIGMOID)};
    (void)unused;
    q.data = labelled(ctx, q.model);
    q.f = coarse_decisions(q.model, q.data);
    run_with_allocation_failures(score_once, &q);
    free(q.f);
    kb_data_free(q.data);
    kb_model_free(q.model);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_agree_with_brute_force),
        cmocka_unit_test(weights_are_repeated_rows),
        cmocka_unit_test(the_area_has_its_ends),
        cmocka_unit_test(unknown_labels_are_wrong),
        cmocka_unit_test(words_are_matched_by_name),
        cmocka_unit_test(numbers_are_scored),
        cmocka_unit_test(the_standard_error_is_that_of_other_rows),
        cmocka_unit_test(pieces_score_as_the_whole),
        cmocka_unit_test(a_score_is_filled_as_far_as_it_goes),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
