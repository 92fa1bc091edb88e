/* What all rivals promise: memory as forecast, and solvers that work with each. */
#include "rivals/maps.h"
#include "meter.h"
#include "solve/ridge.h"

/* ---- memory ------------------------------------------------------------ */

/* The peak since `before`, against a forecast: not above it, and not far below. */
static void check_peak(meter *m, size_t before, double forecast) {
    double took = (double)(m->peak - before);
    assert_true(took <= 1.02 * forecast + 4096);
    assert_true(took >= 0.3 * forecast);
    m->peak = m->now;
}

static void check_memory(const rivalry *t, int sparse) {
    enum { C = 4 };
    meter m = {0, 0};
    kb_context *ctx = metered_context(&m);
    size_t N = t->c->N, d = t->c->d, before = m.now;
    const kb_data *data = sparse ? t->c->sparse : t->c->dense;
    double *one = malloc(d * sizeof *one), *v = test_numbers(1, N * C),
           *out = test_numbers(2, N * C);
    for (size_t j = 0; j < d; j++)
        one[j] = 1;
    kb_rival_spec spec = {t->kind, t->kernel, t->c->shift, one, one, t->rank, 7, t->landmarks};
    kb_rival_bytes bytes = kb_rival_forecast(ctx, &spec, data, C);
    kb_rival *rival;
    kb_operator *op;
    m.peak = m.now;
    assert_ok(ctx, kb_rival_build(ctx, &spec, data, &rival));
    check_peak(&m, before, bytes.map + bytes.building);
    double *w = test_numbers(3, rival->columns * C);
    for (int stored = 0; stored < 2; stored++) {
        assert_ok(ctx, kb_rival_operator(ctx, rival, data, stored ? SIZE_MAX : 0, &op));
        assert_ok(ctx, op->apply_k(op, ctx, C, v, out, NULL));
        check_peak(&m, before, bytes.map + bytes.product + (stored ? bytes.stored : 0));
        kb_operator_free(op);
    }
    m.peak = m.now;
    assert_ok(ctx, kb_rival_decide(ctx, rival, data, C, w, out));
    assert_true((double)(m.peak - before) <= 1.02 * (bytes.map + bytes.product) + 4096);
    m.peak = m.now;
    if (kb_rival_is_direct(t->kind)) {
        assert_ok(ctx, kb_rival_solve(ctx, rival, 1, NULL, C, v, out, NULL));
        check_peak(&m, before, bytes.map + bytes.solve);
    }
    kb_rival_free(rival);
    free(one), free(v), free(out), free(w);
    kb_context_free(ctx);
}

static void memory_is_as_forecast(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 3000, 20, 5);
    (void)unused;
    for (int sparse = TEST_LIGHT; sparse < 2; sparse++) {
        check_memory(&(rivalry){&c, KB_RIVAL_FOURIER, "laplace", 700, 0, 0}, sparse);
        check_memory(&(rivalry){&c, KB_RIVAL_NYSTROM, "laplace", 700, 0, 0}, sparse);
        check_memory(&(rivalry){&c, KB_RIVAL_NYSTROM, "laplace", 200, KB_LANDMARKS_KMEANS, 0},
                     sparse);
        check_memory(&(rivalry){&c, KB_RIVAL_BLOCKS, "laplace", 1600, 0, 0}, sparse);
        check_memory(&(rivalry){&c, KB_RIVAL_EXACT, "laplace", 0, 0, 0}, sparse);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* ---- solvers ----------------------------------------------------------- */

/* (K + lambda I) alpha = y by conjugate gradients, checked through the operator itself. */
static void conjugate_gradients_work_with_each(void **unused) {
    enum { C = CHECK_COLUMNS };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 400, 3, 5);
    size_t n = c.N * C;
    (void)unused;
    for (int kind = KB_RIVAL_FOURIER; kind <= KB_RIVAL_EXACT; kind++) {
        rivalry t = {&c, (kb_rival_kind)kind, "laplace", 100, 0, 0};
        kb_rival *rival;
        kb_operator *op;
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &rival));
        assert_ok(ctx, kb_rival_operator(ctx, rival, c.dense, SIZE_MAX, &op));
        double *y = test_numbers(1, n), *alpha = calloc(n, sizeof *alpha);
        double *f = calloc(n, sizeof *f), *back = calloc(n, sizeof *back);
        kb_ridge p = {.op = op, .lambda = 0.5, .tol = 1e-10, .max_steps = 2000, .C = C, .y = y};
        p.alpha = alpha, p.f = f;
        assert_ok(ctx, kb_ridge_cg(ctx, &p));
        assert_true(p.converged);
        if (kb_rival_is_direct(t.kind)) {
            assert_ok(ctx, kb_rival_solve(ctx, rival, 0.5, NULL, C, y, back, NULL));
            assert_close(alpha, back, n, 1e-8);
        } else { /* the part of the residual that Z can see is gone */
            double square[C], start[C];
            for (size_t e = 0; e < n; e++)
                back[e] = y[e] - f[e] - 0.5 * alpha[e];
            assert_ok(ctx, op->apply_k(op, ctx, C, back, f, square));
            assert_ok(ctx, op->apply_k(op, ctx, C, y, f, start));
            for (size_t k = 0; k < C; k++)
                assert_true(square[k] <= 1e-18 * start[k]);
        }
        free(y), free(alpha), free(f), free(back);
        kb_operator_free(op);
        kb_rival_free(rival);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* lambda alpha = s (y - b - K alpha) for every sample, and alpha adds up to 0. */
static void direct_solutions_know_weights_and_the_intercept(void **unused) {
    enum { C = CHECK_COLUMNS };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 300, 3, 5);
    double lambda = 0.3, b[C], sum[C];
    (void)unused;
    for (int kind = KB_RIVAL_BLOCKS; kind <= KB_RIVAL_EXACT; kind++) {
        rivalry t = {&c, (kb_rival_kind)kind, "laplace", 100, 0, 0};
        kb_rival *rival;
        kb_operator *op;
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &rival));
        assert_ok(ctx, kb_rival_operator(ctx, rival, c.dense, SIZE_MAX, &op));
        double *y = test_numbers(1, c.N * C), *s = test_numbers(2, c.N);
        double *alpha = calloc(c.N * C, sizeof *alpha), *f = calloc(c.N * C, sizeof *f);
        for (size_t i = 0; i < c.N; i++)
            s[i] = i % 7 ? 1.5 + s[i] : 0;
        assert_ok(ctx, kb_rival_solve(ctx, rival, lambda, s, C, y, alpha, b));
        assert_ok(ctx, op->apply_k(op, ctx, C, alpha, f, NULL));
        memset(sum, 0, sizeof sum);
        for (size_t e = 0; e < c.N * C; e++) {
            double want = s[e / C] * (y[e] - b[e % C] - f[e]);
            assert_true(fabs(lambda * alpha[e] - want) <= 1e-12);
            sum[e % C] += alpha[e];
        }
        for (size_t k = 0; k < C; k++)
            assert_true(fabs(sum[k]) <= 1e-11);
        free(y), free(s), free(alpha), free(f);
        kb_operator_free(op);
        kb_rival_free(rival);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* A column's numbers are its own: beside others they come out the same. */
static void a_column_does_not_know_its_neighbours(void **unused) {
    enum { C = 5 };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 210, 3, 5);
    (void)unused;
    for (int kind = KB_RIVAL_FOURIER; kind <= KB_RIVAL_EXACT; kind++) {
        rivalry t = {&c, (kb_rival_kind)kind, "laplace", 50, 0, 0};
        kb_rival *rival;
        kb_operator *op;
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &rival));
        assert_ok(ctx, kb_rival_operator(ctx, rival, c.dense, SIZE_MAX, &op));
        double *v = test_numbers(1, c.N * C), *all = calloc(c.N * C, sizeof *all), *one, *out;
        one = calloc(c.N, sizeof *one), out = calloc(c.N, sizeof *out);
        assert_ok(ctx, op->apply_k(op, ctx, C, v, all, NULL));
        for (size_t k = 0; k < C; k++) {
            for (size_t i = 0; i < c.N; i++)
                one[i] = v[i * C + k];
            assert_ok(ctx, op->apply_k(op, ctx, 1, one, out, NULL));
            for (size_t i = 0; i < c.N; i++)
                assert_true(out[i] == all[i * C + k]);
        }
        free(v), free(all), free(one), free(out);
        kb_operator_free(op);
        kb_rival_free(rival);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* A kernel table is kept with the rival: its file may be gone. */
static void tables_are_kept(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 40, 2, 5);
    char text[600];
    test_path path = file_with("table", "0 1\n0.5 0.5\n1.5 0.1\n3 0\n");
    snprintf(text, sizeof text, "table:%s", path.text);
    rivalry t = {&c, KB_RIVAL_EXACT, text, 0, 0, 0};
    kb_rival *rival, *copy;
    kb_array arrays[KB_RIVAL_ARRAYS];
    (void)unused;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &rival));
    remove(path.text);
    size_t n = kb_rival_arrays(rival, arrays);
    assert_ok(ctx, kb_rival_restore(ctx, t.kind, text, c.d, n, arrays, &copy));
    double *w = test_numbers(1, c.N), *a = calloc(c.N, sizeof *a), *b = calloc(c.N, sizeof *b);
    assert_ok(ctx, kb_rival_decide(ctx, rival, c.dense, 1, w, a));
    assert_ok(ctx, kb_rival_decide(ctx, copy, c.dense, 1, w, b));
    assert_same_bits(a, b, c.N);
    free(w), free(a), free(b);
    kb_rival_free(rival);
    kb_rival_free(copy);
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_as_forecast),
        cmocka_unit_test(conjugate_gradients_work_with_each),
        cmocka_unit_test(direct_solutions_know_weights_and_the_intercept),
        cmocka_unit_test(a_column_does_not_know_its_neighbours),
        cmocka_unit_test(tables_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
