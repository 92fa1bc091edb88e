/* Univariate relevance of the columns, and widths from it. */
#include "model/fitted.h"

#include "tune/relevance.h"

enum { ROWS = 400, FEATURES = 5 };

/* Column 0 is the target itself, 1 depends on its absolute value alone, 2 is categorical, 3 is
 * irrelevant and 4 constant. */
typedef struct setting {
    kb_subsample sample;
    double shift[FEATURES], scale[FEATURES], x[ROWS * FEATURES], weight[ROWS];
    uint32_t row[ROWS];
} setting;

static setting *setting_create(kb_context *ctx, size_t rows, size_t C) {
    setting *s = calloc(1, sizeof *s);
    double *noise = test_numbers(8, 3 * ROWS);
    assert_ok(ctx, kb_alloc(ctx, rows * C, sizeof(double), &s->sample.y));
    for (size_t i = 0; i < rows; i++) {
        double *x = s->x + i * FEATURES, a = noise[3 * i], b = noise[3 * i + 1];
        x[0] = a + fabs(b);
        x[1] = b;
        x[2] = a > 0;
        x[3] = noise[3 * i + 2];
        x[4] = 7;
        for (size_t c = 0; c < C; c++)
            s->sample.y[i * C + c] = 5 + (c % 2 ? -2 : 3) * x[0];
        s->row[i] = (uint32_t)i;
    }
    for (size_t j = 0; j < FEATURES; j++) {
        s->shift[j] = -1;
        s->scale[j] = 0.5;
    }
    s->sample.C = C;
    s->sample.shift = s->shift;
    s->sample.scale = s->scale;
    assert_ok(ctx, data_from_dense(ctx, rows, FEATURES, s->x, NULL, &s->sample.x));
    free(noise);
    return s;
}

static void setting_free(kb_context *ctx, setting *s) {
    s->sample.weight = NULL; /* the setting's own */
    kb_subsample_release(ctx, &s->sample);
    free(s);
}

static void columns_are_told_apart(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t C = 1; C <= 3; C++) { /* correlated outputs change nothing */
        setting *s = setting_create(ctx, ROWS, C);
        double score[FEATURES];
        assert_ok(ctx, kb_relevance_columns(ctx, &s->sample, ROWS, s->row, score));
        assert_true(score[0] > 0.8 && score[0] < 1);
        assert_true(score[1] > 0.1); /* though its correlation with the target is 0 */
        assert_true(score[2] > 0.5);
        assert_true(score[3] < 0.03);
        assert_true(score[4] < 1e-12);
        setting_free(ctx, s);
    }
    kb_context_free(ctx);
}

/* A column of two values: its share of the variance is known in closed form. */
static void the_score_of_a_level_is_its_share_of_the_variance(void **unused) {
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, ROWS, 1);
    double score[FEATURES], sum[2] = {0}, count[2] = {0}, all = 0, total = 0, between = 0;
    (void)unused;
    for (size_t i = 0; i < ROWS; i++) {
        size_t level = s->x[i * FEATURES + 2] > 0;
        sum[level] += s->sample.y[i];
        count[level]++;
        all += s->sample.y[i] / ROWS;
    }
    for (size_t i = 0; i < ROWS; i++)
        total += (s->sample.y[i] - all) * (s->sample.y[i] - all);
    for (int k = 0; k < 2; k++)
        between += count[k] * pow(sum[k] / count[k] - all, 2);
    assert_ok(ctx, kb_relevance_columns(ctx, &s->sample, ROWS, s->row, score));
    assert_true(fabs(score[2] - (between / total - 1.0 / (ROWS - 1))) < 1e-12);
    setting_free(ctx, s);
    kb_context_free(ctx);
}

/* Compressed rows that do not store zeros. */
static void sparse_rows_have_the_scores_of_dense_ones(void **unused) {
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, ROWS, 2);
    double dense[FEATURES], sparse[FEATURES], value[ROWS * FEATURES];
    uint32_t column[ROWS * FEATURES];
    size_t start[ROWS + 1] = {0}, count = 0;
    kb_data *other;
    (void)unused;
    for (size_t i = 0; i < ROWS; i++, start[i] = count)
        for (size_t j = 0; j < FEATURES; j++)
            if (s->x[i * FEATURES + j] != 0) {
                column[count] = (uint32_t)j;
                value[count++] = s->x[i * FEATURES + j];
            }
    assert_true(count < ROWS * FEATURES);
    assert_ok(ctx, data_from_csr(ctx, ROWS, FEATURES, start, column, value, NULL, &other));
    assert_null(other->dense);
    assert_ok(ctx, kb_relevance_columns(ctx, &s->sample, ROWS, s->row, dense));
    kb_data_free(s->sample.x);
    s->sample.x = other;
    assert_ok(ctx, kb_relevance_columns(ctx, &s->sample, ROWS, s->row, sparse));
    for (size_t j = 0; j < FEATURES; j++)
        assert_true(fabs(dense[j] - sparse[j]) < 1e-9);
    setting_free(ctx, s);
    kb_context_free(ctx);
}

/* Rows of weight 2 count as two rows, except in the correction for chance: 4 bins in all. */
static void weights_count(void **unused) {
    enum { HALF = ROWS / 2 };
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, ROWS, 1);
    uint32_t twice[ROWS];
    double once[FEATURES], both[FEATURES], square = 0;
    (void)unused;
    for (size_t i = 0; i < ROWS; i++)
        twice[i] = (uint32_t)(i < HALF || i % 3 ? i % HALF : (i + 1) % HALF);
    for (size_t i = 0; i < ROWS; i++)
        s->weight[twice[i]]++;
    assert_ok(ctx, kb_relevance_columns(ctx, &s->sample, ROWS, twice, both));
    s->sample.weight = s->weight;
    for (size_t i = 0; i < HALF; i++)
        square += s->weight[i] * s->weight[i];
    assert_ok(ctx, kb_relevance_columns(ctx, &s->sample, HALF, s->row, once));
    double worth = (double)ROWS * ROWS / square; /* rows of one weight */
    for (size_t j = 0; j < 2; j++)
        assert_true(fabs(once[j] + 3 / (worth - 1) - (both[j] + 3.0 / (ROWS - 1))) < 1e-9);
    setting_free(ctx, s);
    kb_context_free(ctx);
}

static void bins_are_narrow_where_scores_are_high(void **unused) {
    static const double some[FEATURES] = {0.4, 0.2, 0, 0, 0}, none[FEATURES] = {0};
    kb_context *ctx = test_context();
    kb_widths w;
    double inverse = 0;
    (void)unused;
    assert_ok(ctx, kb_relevance_widths(ctx, FEATURES, NULL, some, NULL, 0.7, &w));
    assert_int_equal(w.vectors, 1);
    assert_int_equal(w.features, FEATURES);
    for (size_t j = 0; j < FEATURES; j++) {
        assert_true(w.width[j].q == 1);
        inverse += 1 / w.width[j].sigma / FEATURES;
    }
    assert_true(fabs(inverse - 1 / 0.7) < 1e-12);
    assert_true(w.width[1].sigma > 1.8 * w.width[0].sigma);
    assert_true(w.width[2].sigma > 10 * w.width[1].sigma && isfinite(w.width[2].sigma));
    kb_release(ctx, w.width);
    assert_ok(ctx, kb_relevance_widths(ctx, FEATURES, NULL, none, NULL, 0.7, &w));
    for (size_t j = 0; j < FEATURES; j++)
        assert_true(w.width[j].sigma == 0.7);
    kb_release(ctx, w.width);
    kb_context_free(ctx);
}

/* Including the correction for chance. */
static void rows_without_weight_do_not_count(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    setting *s = setting_create(ctx, ROWS, 1);
    double all[FEATURES], some[FEATURES];
    for (size_t i = 0; i < ROWS; i++)
        s->weight[i] = i < 30 ? 2 : 0;
    s->sample.weight = s->weight;
    assert_ok(ctx, kb_relevance_columns(ctx, &s->sample, ROWS, s->row, all));
    assert_ok(ctx, kb_relevance_columns(ctx, &s->sample, 30, s->row, some));
    for (size_t j = 0; j < FEATURES; j++)
        assert_true(all[j] == some[j]);
    for (size_t i = 1; i < ROWS; i++)
        s->weight[i] = 0; /* one row tells nothing */
    assert_ok(ctx, kb_relevance_columns(ctx, &s->sample, ROWS, s->row, all));
    for (size_t j = 0; j < FEATURES; j++)
        assert_true(all[j] == 0);
    setting_free(ctx, s);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_told_apart),
        cmocka_unit_test(the_score_of_a_level_is_its_share_of_the_variance),
        cmocka_unit_test(sparse_rows_have_the_scores_of_dense_ones),
        cmocka_unit_test(weights_count),
        cmocka_unit_test(rows_without_weight_do_not_count),
        cmocka_unit_test(bins_are_narrow_where_scores_are_high),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
