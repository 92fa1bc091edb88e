/* The gradients of a small exact fit, against differences, and their mean products. */
#include "slopes/gradients.h"
#include "features/world.h"

enum { N = 90, D = 5, POOL = 75 };

/* Column 3 is left out, and 4 is constant. */
static const double UNIT[D] = {1, 0.5, 2, 0, 1};

typedef struct problem {
    kb_gradient_fit fit;
    kb_data *data;
    double *x, *y, *weight;
    uint32_t row[POOL];
} problem;

static problem problem_of(kb_context *ctx, int sparse, int weighted, size_t C) {
    problem p = {.x = test_values(N, D, 3), .y = test_numbers(5, N * C)};
    for (size_t i = 0; i < N; i++) {
        double *x = p.x + i * D;
        x[4] = sparse ? 0 : 1;
        for (size_t c = 0; c < C; c++)
            p.y[i * C + c] = 0.2 * p.y[i * C + c] + sin(3 * x[0] + x[1] + (double)c) + 10;
    }
    for (size_t i = 0; i < POOL; i++)
        p.row[i] = (uint32_t)(i + i / 6);
    if (weighted) {
        p.weight = malloc(N * sizeof *p.weight);
        for (size_t i = 0; i < N; i++)
            p.weight[i] = i % 5 ? 4 * test_uniform(8, i) : 0;
    }
    if (sparse)
        p.data = test_sparse(ctx, N, D, p.x, NULL);
    else
        assert_ok(ctx, data_from_dense(ctx, N, D, p.x, NULL, &p.data));
    p.fit = (kb_gradient_fit){
        .x = p.data, .C = C, .y = p.y, .weight = p.weight, .rounds = 1, .seed = 7};
    return p;
}

static void problem_free(problem *p) {
    kb_data_free(p->data);
    free(p->y), free(p->weight), free(p->x);
}

static double weight_of(const problem *p, size_t i) {
    return p->weight ? p->weight[i] : 1;
}

/* The fitted rows, in order. */
static size_t fitted_rows(const problem *p, uint32_t *row) {
    size_t n = 0;
    for (size_t i = 0; i < POOL; i++)
        if (i % 3 != 2 && weight_of(p, p->row[i]) > 0)
            row[n++] = p->row[i];
    return n;
}

static double kernel(const problem *p, double s, const double *z, const double *x) {
    double square = 0;
    (void)p;
    for (size_t j = 0; j < D; j++)
        square += (z[j] - x[j] * UNIT[j]) * (z[j] - x[j] * UNIT[j]);
    return (1 + s * sqrt(square)) * exp(-s * sqrt(square));
}

static double decision(const problem *p, const kb_gradient_detail *g, const uint32_t *row, size_t c,
                       const double *z) {
    double f = 0;
    for (size_t k = 0; k < g->fitted; k++)
        f += g->c[c * g->fitted + k] * kernel(p, g->s, z, p->x + row[k] * D);
    return f;
}

/* The mean weight of all rows that count, by which weights are divided. */
static double mean_weight(const problem *p) {
    double sum = 0, count = 0;
    for (size_t i = 0; i < POOL; i++) {
        sum += weight_of(p, p->row[i]);
        count += weight_of(p, p->row[i]) > 0;
    }
    return sum / count;
}

/* (K + lambda / w) c = y - mean. */
static void check_fit(const problem *p, const kb_gradient_detail *g, const uint32_t *row) {
    size_t C = p->fit.C;
    double unit = mean_weight(p);
    for (size_t c = 0; c < C; c++) {
        double mean = 0, total = 0;
        for (size_t k = 0; k < g->fitted; k++) {
            mean += weight_of(p, row[k]) * p->y[row[k] * C + c];
            total += weight_of(p, row[k]);
        }
        for (size_t k = 0; k < g->fitted; k++) {
            double z[D];
            for (size_t j = 0; j < D; j++)
                z[j] = p->x[row[k] * D + j] * UNIT[j];
            double left = decision(p, g, row, c, z) +
                          g->lambda * unit / weight_of(p, row[k]) * g->c[c * g->fitted + k];
            assert_true(fabs(left - (p->y[row[k] * C + c] - mean / total)) < 1e-8);
        }
    }
}

static void gradients_are_differences_and_the_fit_is_exact(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int way = 0; way < 4; way++) {
        problem p = problem_of(ctx, way & 1, way & 2, 2);
        kb_gradient_detail g;
        uint32_t row[POOL];
        size_t n = fitted_rows(&p, row);
        double unit = mean_weight(&p);
        assert_ok(ctx, kb_gradients_find(ctx, &p.fit, POOL, p.row, UNIT, &g));
        assert_int_equal(g.fitted, n);
        assert_int_equal(g.outputs, 2);
        assert_true(g.s > 0 && g.lambda > 0);
        check_fit(&p, &g, row);
        for (size_t k = 0; k < n; k++)
            for (size_t c = 0; c < 2; c++)
                for (size_t j = 0; j < D; j++) {
                    const double h = 1e-5;
                    double z[D], by = sqrt(weight_of(&p, row[k]) / unit);
                    for (size_t m = 0; m < D; m++)
                        z[m] = p.x[row[k] * D + m] * UNIT[m];
                    z[j] += h;
                    double above = decision(&p, &g, row, c, z);
                    z[j] -= 2 * h;
                    double below = decision(&p, &g, row, c, z);
                    double found = g.gradient[(k * 2 + c) * g.width + j];
                    assert_true(fabs(found - by * (above - below) / (2 * h)) < 1e-4);
                }
        kb_release(ctx, g.c);
        kb_release(ctx, g.gradient);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void products_are_means_over_the_rows(void **unused) {
    static const size_t outputs[] = {1, 3, 11};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        problem p = problem_of(ctx, 0, 1, outputs[k]);
        kb_gradient_detail g;
        double M[D * D], unit[D];
        memcpy(unit, UNIT, sizeof unit);
        assert_ok(ctx, kb_gradients_find(ctx, &p.fit, POOL, p.row, UNIT, &g));
        assert_ok(ctx, kb_gradients_learn(ctx, &p.fit, POOL, p.row, unit, M));
        assert_same_bits(unit, UNIT, D);
        assert_int_equal(g.outputs,
                         outputs[k] < KB_GRADIENT_OUTPUTS ? outputs[k] : KB_GRADIENT_OUTPUTS);
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < D; j++) {
                double sum = 0;
                for (size_t r = 0; r < g.fitted * g.outputs; r++)
                    sum += g.gradient[r * g.width + i] * g.gradient[r * g.width + j];
                assert_true(fabs(M[i * D + j] - sum / (double)g.fitted) < 1e-12 * (1 + fabs(sum)));
            }
        assert_true(M[3 * D + 3] == 0 && M[4 * D + 4] == 0 && M[0] > M[2 * D + 2]);
        kb_release(ctx, g.c);
        kb_release(ctx, g.gradient);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* A second round has the derivatives of the first as units. */
static void rounds_take_the_derivatives_as_units(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_of(ctx, 0, 0, 1);
    double M[2][D * D], unit[2][D], again[D], first[D * D], largest = 0;
    (void)unused;
    memcpy(unit[0], UNIT, sizeof UNIT);
    memcpy(unit[1], UNIT, sizeof UNIT);
    assert_ok(ctx, kb_gradients_learn(ctx, &p.fit, POOL, p.row, unit[0], first));
    p.fit.rounds = 2;
    assert_ok(ctx, kb_gradients_learn(ctx, &p.fit, POOL, p.row, unit[1], M[1]));
    for (size_t j = 0; j < D; j++)
        largest = fmax(largest, UNIT[j] * sqrt(first[j * D + j]));
    for (size_t j = 0; j < D; j++) {
        double expected = UNIT[j] * sqrt(first[j * D + j]) / largest;
        again[j] = UNIT[j] > 0 ? fmax(expected, KB_GRADIENT_FLOOR) : 0;
        assert_true(fabs(unit[1][j] - again[j]) < 1e-14);
    }
    /* The search of s and lambda starts elsewhere, and may end elsewhere. */
    assert_true(M[1][0] > 0);
    problem_free(&p);
    kb_context_free(ctx);
}

static void where_nothing_varies_all_is_0(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int constant_targets = 0; constant_targets < 2; constant_targets++) {
        problem p = problem_of(ctx, 0, 0, 1);
        double M[D * D], unit[D] = {0};
        p.fit.rounds = 3;
        if (constant_targets) {
            for (size_t j = 0; j < D; j++)
                unit[j] = 1;
            for (size_t i = 0; i < N; i++)
                p.y[i] = 2;
        }
        assert_ok(ctx, kb_gradients_learn(ctx, &p.fit, POOL, p.row, unit, M));
        for (size_t k = 0; k < D * D; k++)
            assert_true(M[k] == 0);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void threads_change_no_bit(void **unused) {
    double M[3][D * D], unit[3][D];
    (void)unused;
    for (int k = 0; k < 3; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, k + 1);
        problem p = problem_of(ctx, 1, 1, 3);
        p.fit.rounds = 3;
        memcpy(unit[k], UNIT, sizeof UNIT);
        assert_ok(ctx, kb_gradients_learn(ctx, &p.fit, POOL, p.row, unit[k], M[k]));
        problem_free(&p);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    for (int k = 1; k < 3; k++) {
        assert_same_bits(M[k], M[0], D * D);
        assert_same_bits(unit[k], unit[0], D);
    }
}

static int learn(kb_context *ctx, void *arg) {
    problem *p = arg;
    double M[D * D], unit[D];
    memcpy(unit, UNIT, sizeof UNIT);
    return kb_gradients_learn(ctx, &p->fit, POOL, p->row, unit, M);
}

static void it_may_fail_and_be_cancelled_anywhere(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_of(ctx, 0, 0, 2);
    (void)unused;
    p.fit.rounds = 2;
    run_with_allocation_failures(learn, &p);
    run_with_cancellations(learn, &p, 1, 4);
    problem_free(&p);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_differences_and_the_fit_is_exact),
        cmocka_unit_test(products_are_means_over_the_rows),
        cmocka_unit_test(rounds_take_the_derivatives_as_units),
        cmocka_unit_test(where_nothing_varies_all_is_0),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(it_may_fail_and_be_cancelled_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
