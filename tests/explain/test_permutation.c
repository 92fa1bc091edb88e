/* Permutation importance against whole copies of the rows with one feature shuffled. */
#include "model/fitted.h"

#include "core/random.h"
#include "explain/permutation.h"
#include "model/score.h"

enum { N = 60, D = 4, REPEATS = 3 };
static const double WEIGHTS[] = {1, 2, 0.5, 0, 3};

static kb_data *rows_of(kb_context *ctx, labels kind, int sparse, int weighted) {
    kb_data *like = data_of(ctx, N, D, kind), *data = like;
    if (sparse) {
        data = compressed(ctx, N, D, like->dense, like->label, 5);
        kb_data_free(like);
    }
    if (weighted)
        weigh_rows(ctx, data, WEIGHTS, 5);
    return data;
}

/* A dense copy with the columns of a feature from the rows `from`. */
static kb_data *shuffled(kb_context *ctx, const kb_data *data, const size_t *feature_of, size_t j,
                         const uint32_t *from) {
    double x[N * D];
    kb_data *out;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < D; c++)
            x[i * D + c] = cell(data, (feature_of ? feature_of[c] : c) == j ? from[i] : i, c);
    assert_ok(ctx, data_from_dense(ctx, N, D, x, data->label, &out));
    return out;
}

/* The loss of each row, and the score. */
static double losses(kb_context *ctx, const kb_model *model, const kb_data *data, double *loss) {
    size_t C = model->info.outputs;
    double *f = decisions_of(ctx, model, data);
    kb_score score = KB_SCORE_INIT;
    assert_ok(ctx, kb_model_score(ctx, model, data, f, &score));
    for (size_t i = 0; i < N; i++) {
        double label;
        kb_model_label(model, 1, f + i * C, &label);
        loss[i] = model->info.classes ? label != data->label[i] : pow(f[i] - data->label[i], 2);
    }
    free(f);
    return model->info.classes ? score.accuracy : score.r2;
}

static void check(kb_context *ctx, const kb_model *model, const kb_data *data,
                  const size_t *feature_of, size_t features) {
    kb_permutation p = {.model = model,
                        .data = data,
                        .features = features,
                        .feature_of = feature_of,
                        .repeats = REPEATS,
                        .seed = 5};
    double score, drop[D], error[D], before[N], after[N];
    assert_ok(ctx, kb_permutation_measure(ctx, &p, &score, drop, error));
    double want = losses(ctx, model, data, before), total = 0, mean = 0, unit = 0;
    assert_true(fabs(score - want) < 1e-12); /* sums of N terms */
    for (size_t i = 0; i < N; i++) {
        total += kb_weight_of(data->weight, i);
        mean += kb_weight_of(data->weight, i) * data->label[i];
    }
    for (size_t i = 0; i < N; i++)
        unit += kb_weight_of(data->weight, i) *
                (model->info.classes ? 1 : pow(data->label[i] - mean / total, 2));
    for (size_t j = 0; j < features; j++) {
        double more[N] = {0}, sum = 0, square = 0;
        for (uint32_t k = 0; k < REPEATS; k++) {
            uint32_t from[N];
            kb_random_order(5, KB_STREAM_PERMUTE, k, N, N, from);
            kb_data *other = shuffled(ctx, data, feature_of, j, from);
            losses(ctx, model, other, after);
            for (size_t i = 0; i < N; i++)
                more[i] += (after[i] - before[i]) / REPEATS;
            kb_data_free(other);
        }
        for (size_t i = 0; i < N; i++)
            sum += kb_weight_of(data->weight, i) * more[i];
        for (size_t i = 0; i < N; i++)
            square += pow(kb_weight_of(data->weight, i) * (more[i] - sum / total), 2);
        assert_true(fabs(drop[j] - sum / unit) < 1e-12);
        assert_true(fabs(error[j] - sqrt(square) / unit) < 1e-7); /* a root of a difference */
    }
}

static void it_is_the_drop_of_the_score(void **unused) {
    static const labels kinds[] = {REAL, TWO, THREE};
    static const size_t joined[] = {0, 1, 0, 2};
    (void)unused;
    for (int k = 0; k < 3; k++)
        for (int form = 0; form < 4; form++) {
            kb_context *ctx = test_context();
            kb_options *options = OPTIONS(ctx, "grids", "9", "sigma", "0.7");
            kb_data *data = rows_of(ctx, kinds[k], form & 1, form & 2);
            kb_model *model = model_of(ctx, options, data);
            check(ctx, model, data, NULL, D);
            if (data->dense)
                check(ctx, model, data, joined, 3);
            kb_model_free(model);
            kb_data_free(data);
            kb_options_free(options);
            kb_context_free(ctx);
        }
}

/* A feature that no grid cuts, and one that is constant. */
static void what_is_not_used_does_not_matter(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "30", "scale", "none", "sigma", "0.5,1,1e199,1");
    kb_data *data = data_of(ctx, N, D, REAL);
    double score, drop[D], error[D];
    (void)unused;
    for (size_t i = 0; i < N; i++)
        data->dense[i * D + 3] = 2;
    kb_model *model = model_of(ctx, options, data);
    kb_permutation p = {.model = model, .data = data, .features = D, .repeats = 2, .seed = 1};
    assert_ok(ctx, kb_permutation_measure(ctx, &p, &score, drop, error));
    assert_true(drop[0] > 0.1 && error[0] > 0);
    assert_true(drop[2] == 0 && error[2] == 0 && drop[3] == 0 && error[3] == 0);
    kb_release(ctx, data->label);
    data->label = NULL;
    assert_fails(ctx, KB_ERR_DATA, "the data have no labels to score against",
                 kb_permutation_measure(ctx, &p, &score, drop, error));
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void threads_change_no_bit(void **unused) {
    double want[2 * D], got[2 * D], score;
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        for (int threads = 1; threads <= 5; threads += 2) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, threads);
            kb_options *options = OPTIONS(ctx, "grids", "9");
            kb_data *data = rows_of(ctx, REAL, sparse, 0);
            kb_model *model = model_of(ctx, options, data);
            kb_permutation p = {
                .model = model, .data = data, .features = D, .repeats = 2, .seed = 1};
            assert_ok(ctx, kb_permutation_measure(ctx, &p, &score, got, got + D));
            if (threads == 1)
                memcpy(want, got, sizeof got);
            assert_same_bits(want, got, 2 * D);
            kb_model_free(model);
            kb_data_free(data);
            kb_options_free(options);
            kb_context_free(ctx);
        }
}

static int measure(kb_context *ctx, void *arg) {
    const model_and_data *m = arg;
    double score, drop[D], error[D];
    kb_permutation p = {.model = m->model, .data = m->data, .features = D, .repeats = 1};
    return (int)kb_permutation_measure(ctx, &p, &score, drop, error);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        run_with_failures_of_a_model(ctx, rows_of(ctx, TWO, sparse, 0), "5", measure, 2);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_drop_of_the_score),
        cmocka_unit_test(what_is_not_used_does_not_matter),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
