/* Contributions against Shapley values by enumeration. */
#include "encode/tables.h"

enum { N = 40, D = 4, B = 6 };

static kb_data *rows_of(kb_context *ctx, labels kind, size_t d, int sparse) {
    kb_data *like = data_of(ctx, N, d, kind), *data = like;
    if (sparse) {
        data = compressed(ctx, N, d, like->dense, like->label, 5);
        kb_data_free(like);
    }
    return data;
}

/* f of the row with the features `set` of x and the others of z. */
static void decide(kb_context *ctx, const kb_model *model, const kb_data *data, size_t x, size_t z,
                   unsigned set, double *f) {
    size_t d = data->features;
    double row[D];
    kb_data *one;
    for (size_t j = 0; j < d; j++)
        row[j] = cell(data, set >> j & 1 ? x : z, j);
    assert_ok(ctx, data_from_dense(ctx, 1, d, row, NULL, &one));
    assert_ok(ctx, kb_model_decide(ctx, model, one, f));
    kb_data_free(one);
}

static double factorial(int n) {
    return n < 2 ? 1 : n * factorial(n - 1);
}

/* The Shapley value of every feature of row x, over all subsets and all rows as background. */
static void enumerate(kb_context *ctx, const kb_model *model, const kb_data *data, size_t x,
                      double *out) {
    size_t d = data->features, C = model->info.outputs;
    memset(out, 0, d * C * sizeof *out);
    for (size_t z = 0; z < N; z++) {
        double f[1 << D][3];
        for (unsigned set = 0; set < 1u << d; set++)
            decide(ctx, model, data, x, z, set, f[set]);
        for (unsigned set = 0; set < 1u << d; set++)
            for (size_t j = 0; j < d; j++) {
                int before = __builtin_popcount(set);
                double share = factorial(before) * factorial((int)d - before - 1);
                for (size_t c = 0; !(set >> j & 1) && c < C; c++)
                    out[j * C + c] +=
                        (f[set | 1u << j][c] - f[set][c]) * share / factorial((int)d) / N;
            }
    }
}

/* Within five standard errors, which the error of the orders alone is well below; with two
 * features a pair of orders has all of them, and the values are exact. */
static void they_are_shapley_values(void **unused) {
    static const labels kinds[] = {REAL, TWO, THREE};
    (void)unused;
    for (int k = 0; k < 3; k++)
        for (int form = 0; form < 4; form++) {
            kb_context *ctx = test_context();
            size_t d = form & 2 ? D : 2;
            kb_options *options = OPTIONS(ctx, "grids", "9", "sigma", "0.7");
            kb_data *data = rows_of(ctx, kinds[k], d, form & 1);
            kb_model *model = model_of(ctx, options, data);
            size_t C = model->info.outputs, cells = d * C;
            double *got = malloc(2 * N * cells * sizeof *got), *error = got + N * cells, base[3];
            double want[D * 3], *f = decisions_of(ctx, model, data);
            assert_ok(ctx, kb_model_explain(ctx, model, data, NULL, N, 3, got, error, base));
            for (size_t i = 0; i < N; i++)
                for (size_t c = 0; c < C; c++) {
                    double sum = base[c];
                    for (size_t j = 0; j < d; j++)
                        sum += got[i * cells + j * C + c];
                    assert_true(fabs(sum - f[i * C + c]) < 1e-12); /* rounding */
                }
            for (size_t i = 0; i < N; i += 7) {
                enumerate(ctx, model, data, i, want);
                for (size_t j = 0; j < cells; j++)
                    assert_true(fabs(got[i * cells + j] - want[j]) <=
                                (d == 2 ? 1e-12 : 5 * error[i * cells + j] + 1e-12));
            }
            free(got), free(f);
            kb_model_free(model);
            kb_data_free(data);
            kb_options_free(options);
            kb_context_free(ctx);
        }
}

/* Columns of a table, some cells missing, explained as columns; other rows as background. */
static void tables_are_explained_by_column(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "20", "scale", "ranks");
    kb_data *data = mixed_table(ctx, 200, 4), *some, *other;
    for (size_t i = 0; i < 200; i++)
        data->label[i] += 0.5 * test_uniform(3, i); /* no classes */
    kb_model *model = model_of(ctx, options, data);
    double got[B * MIXED_COLUMNS], again[B * MIXED_COLUMNS], base, same;
    uint32_t rows[200];
    (void)unused;
    for (uint32_t i = 0; i < 200; i++)
        rows[i] = i;
    assert_ok(ctx, kb_data_take(ctx, data, B, rows, &some));
    assert_ok(ctx, kb_data_take(ctx, data, 100, rows + 100, &other));
    double *f = decisions_of(ctx, model, some);
    assert_ok(ctx, kb_model_explain(ctx, model, some, other, 10, 1, got, NULL, &base));
    for (size_t i = 0; i < B; i++) {
        double sum = base;
        for (size_t j = 0; j < MIXED_COLUMNS; j++)
            sum += got[i * MIXED_COLUMNS + j];
        assert_true(fabs(sum - f[i]) < 1e-12);
    }
    for (int threads = 1; threads < 6; threads += 2) {
        test_state state = {0};
        kb_context *team = test_context_with(&state, threads);
        assert_ok(team, kb_model_explain(team, model, some, other, 10, 1, again, NULL, &same));
        assert_same_bits(got, again, B * MIXED_COLUMNS);
        assert_true(base == same);
        kb_context_free(team);
    }
    free(f);
    kb_model_free(model);
    kb_data_free(data);
    kb_data_free(some);
    kb_data_free(other);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void silly_requests_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "3");
    kb_data *data = rows_of(ctx, REAL, 2, 0), *other = rows_of(ctx, REAL, 3, 0), *one;
    kb_model *model = model_of(ctx, options, data);
    double out[N * D], base;
    uint32_t first = 0;
    (void)unused;
    assert_ok(ctx, kb_data_take(ctx, data, 1, &first, &one));
    assert_fails(ctx, KB_ERR_DATA,
                 "the background has 1 row; contributions are differences from two or more",
                 kb_model_explain(ctx, model, one, NULL, 0, 1, out, NULL, &base));
    assert_ok(ctx, kb_model_explain(ctx, model, one, data, 0, 1, out, NULL, &base));
    assert_fails(ctx, KB_ERR_DATA, "the data have 3 features, the model 2",
                 kb_model_explain(ctx, model, other, NULL, 0, 1, out, NULL, &base));
    assert_fails(ctx, KB_ERR_DATA, "the data have 3 features, the model 2",
                 kb_model_explain(ctx, model, data, other, 0, 1, out, NULL, &base));
    kb_model_free(model);
    kb_data_free(data);
    kb_data_free(other);
    kb_data_free(one);
    kb_options_free(options);
    kb_context_free(ctx);
}

static int explain(kb_context *ctx, void *arg) {
    const model_and_data *p = arg;
    double out[N * D], error[N * D], base;
    return (int)kb_model_explain(ctx, p->model, p->data, NULL, 4, 1, out, error, &base);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++)
        run_with_failures_of_a_model(ctx, rows_of(ctx, TWO, D, sparse), "3", explain, N);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_shapley_values),
        cmocka_unit_test(tables_are_explained_by_column),
        cmocka_unit_test(silly_requests_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
