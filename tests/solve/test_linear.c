/* Mixtures of the columns by least squares, against the normal equations. */
#include "solve/linear.h"
#include "features/world.h"

enum { N = 200, D = 6, C = 3, POOL = 150 };

/* Rows between 0 and 1 with zeros, three outputs, and a list of every row but each fourth. */
typedef struct problem {
    kb_linear s;
    kb_data *data;
    double *y, *weight;
    double *x;
    uint32_t row[POOL];
} problem;

/* Column 3 is constant; 4 and 5 are nearly the same. */
static problem problem_of(kb_context *ctx, int sparse, int weighted) {
    problem p = {.x = test_values(N, D, 3), .y = test_numbers(5, N * C)};
    for (size_t i = 0; i < N; i++) {
        double *x = p.x + i * D;
        for (size_t j = 0; j < D; j++)
            x[j] = fabs(x[j]);
        x[3] = sparse ? 0 : 1;
        x[5] = x[4] == 0 ? 0 : x[4] * 0.95 + 0.05 * x[5];
        p.y[i * C] += 3 * x[0] - 2 * x[1];
        p.y[i * C + 1] += 100 * x[2] + 1e6;
    }
    for (size_t i = 0; i < POOL; i++)
        p.row[i] = (uint32_t)(i + i / 3);
    if (weighted) {
        p.weight = malloc(N * sizeof *p.weight);
        for (size_t i = 0; i < N; i++)
            p.weight[i] = i % 5 ? 4 * test_uniform(8, i) : 0;
    }
    if (sparse)
        p.data = test_sparse(ctx, N, D, p.x, NULL);
    else
        assert_ok(ctx, data_from_dense(ctx, N, D, p.x, NULL, &p.data));
    p.s = (kb_linear){p.data, C, p.y, p.weight};
    return p;
}

static void problem_free(problem *p) {
    kb_data_free(p->data);
    free(p->y), free(p->weight), free(p->x);
}

/* a (n x n) v = b by elimination with pivots; both are lost. */
static void eliminate(size_t n, double *a, double *b) {
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k; i < n; i++)
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        for (size_t j = 0; j < n; j++) {
            double other = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = other;
        }
        double other = b[k];
        b[k] = b[pivot];
        b[pivot] = other;
        for (size_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
            b[i] -= factor * b[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
}

/* The weights of output c on the columns as they are: centred columns of variance 1 and a ridge of
 * 0.001 for each row, by its weight. */
static void oracle(const problem *p, size_t c, double *w) {
    double mean[D] = {0}, deviation[D] = {0}, total = 0, middle = 0, a[D * D] = {0};
    for (size_t i = 0; i < POOL; i++) {
        double weight = p->weight ? p->weight[p->row[i]] : 1;
        total += weight;
        middle += weight * p->y[p->row[i] * C + c];
        for (size_t j = 0; j < D; j++)
            mean[j] += weight * p->x[p->row[i] * D + j];
    }
    for (size_t j = 0; j < D; j++) {
        for (size_t i = 0; i < POOL; i++) {
            double weight = p->weight ? p->weight[p->row[i]] : 1;
            deviation[j] += weight * pow(p->x[p->row[i] * D + j] - mean[j] / total, 2) / total;
        }
        deviation[j] = sqrt(deviation[j]);
    }
    memset(w, 0, D * sizeof *w);
    for (size_t i = 0; i < POOL; i++) {
        double weight = p->weight ? p->weight[p->row[i]] : 1, z[D];
        for (size_t j = 0; j < D; j++)
            z[j] = deviation[j] < 1e-6 ? 0
                                       : (p->x[p->row[i] * D + j] - mean[j] / total) / deviation[j];
        for (size_t j = 0; j < D; j++) {
            w[j] += weight * z[j] * (p->y[p->row[i] * C + c] - middle / total);
            for (size_t k = 0; k < D; k++)
                a[j * D + k] += weight * z[j] * z[k];
        }
    }
    for (size_t j = 0; j < D; j++)
        a[j * D + j] += 1e-3 * total;
    eliminate(D, a, w);
    for (size_t j = 0; j < D; j++)
        w[j] = deviation[j] < 1e-6 ? 0 : w[j] / deviation[j];
}

/* The steps end where the residual is a millionth; columns 4 and 5 make that a thousandth of an
 * error at most, and less in the sums. */
static void they_are_those_of_the_normal_equations(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 4; k++) {
        int sparse = k & 1;
        problem p = problem_of(ctx, sparse, k & 2);
        kb_mixtures m;
        assert_ok(ctx, kb_linear_learn(ctx, &p.s, POOL, p.row, &m));
        assert_int_equal(m.count, C);
        assert_int_equal(m.columns, D);
        assert_true(kb_mixtures_are_sound(&m));
        for (size_t c = 0; c < C; c++) {
            double w[D], low = sparse ? 0 : INFINITY, high = sparse ? 0 : -INFINITY;
            oracle(&p, c, w);
            for (size_t i = 0; i < POOL; i++) {
                double sum = 0;
                for (size_t j = 0; j < D; j++)
                    sum += w[j] * p.x[p.row[i] * D + j];
                low = fmin(low, sum);
                high = fmax(high, sum);
            }
            for (size_t j = 0; j < D; j++)
                w[j] /= high - low;
            assert_close(m.weight + c * D, w, D, 1e-4);
            assert_true(m.weight[c * D + 3] == 0);
            assert_close(m.offset + c, &(double){sparse ? 0 : -low / (high - low)}, 1, 1e-4);
        }
        kb_mixtures_release(kb_allocator_of(ctx), &m);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* The sums of both forms: they differ by a shift alone, for sparse ones are not moved. */
static void sparse_rows_give_the_weights_of_dense_ones(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_of(ctx, 1, 1);
    kb_linear dense = p.s;
    kb_data *rows;
    kb_mixtures a, b;
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, N, D, p.x, NULL, &rows));
    dense.x = rows;
    assert_ok(ctx, kb_linear_learn(ctx, &p.s, POOL, p.row, &a));
    assert_ok(ctx, kb_linear_learn(ctx, &dense, POOL, p.row, &b));
    for (size_t c = 0; c < C; c++) {
        double factor = b.weight[c * D] / a.weight[c * D], w[D];
        assert_true(factor >= 1); /* 0 may make the range of sparse sums longer */
        for (size_t j = 0; j < D; j++)
            w[j] = factor * a.weight[c * D + j];
        assert_close(w, b.weight + c * D, D, 1e-12);
    }
    kb_mixtures_release(kb_allocator_of(ctx), &a);
    kb_mixtures_release(kb_allocator_of(ctx), &b);
    kb_data_free(rows);
    problem_free(&p);
    kb_context_free(ctx);
}

/* A row of weight 2 is two rows, and one of weight 0 is none; all that differs is how sums are
 * rounded. */
static void a_weight_is_so_many_rows(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_of(ctx, 0, 0);
    uint32_t twice[2 * POOL];
    double weight[N];
    kb_mixtures a, b;
    size_t count = 0;
    (void)unused;
    for (size_t i = 0; i < POOL; i++) {
        weight[p.row[i]] = (double)(i % 3);
        for (size_t k = 0; k < i % 3; k++)
            twice[count++] = p.row[i];
    }
    assert_ok(ctx, kb_linear_learn(ctx, &p.s, count, twice, &a));
    kb_linear weighted = p.s;
    weighted.weight = weight;
    assert_ok(ctx, kb_linear_learn(ctx, &weighted, POOL, p.row, &b));
    for (size_t c = 0; c < C; c++) {
        double w[D], factor = a.weight[c * D] / b.weight[c * D]; /* of the ranges */
        for (size_t j = 0; j < D; j++)
            w[j] = factor * b.weight[c * D + j];
        assert_close(w, a.weight + c * D, D, 1e-9);
    }
    kb_mixtures_release(kb_allocator_of(ctx), &a);
    kb_mixtures_release(kb_allocator_of(ctx), &b);
    problem_free(&p);
    kb_context_free(ctx);
}

/* Targets as large, and as small, as they may be; the same for weights. */
static void the_size_of_targets_and_weights_does_not_matter(void **unused) {
    static const double size[] = {1e30, 1e-25, 1, 1}, heavy[] = {1, 1, 1e200, 1e-200};
    kb_context *ctx = test_context();
    problem p = problem_of(ctx, 0, 1);
    kb_mixtures want, m;
    (void)unused;
    for (size_t i = 0; i < N; i++)
        p.y[i * C + 1] -= 1e6; /* leaves no digits for what is small beside it */
    assert_ok(ctx, kb_linear_learn(ctx, &p.s, POOL, p.row, &want));
    for (int k = 0; k < 4; k++) {
        kb_linear other = p.s;
        double y[N * C], weight[N];
        for (size_t i = 0; i < N * C; i++)
            y[i] = p.y[i] * size[k];
        for (size_t i = 0; i < N; i++)
            weight[i] = p.weight[i] * heavy[k];
        other.y = y;
        other.weight = weight;
        assert_ok(ctx, kb_linear_learn(ctx, &other, POOL, p.row, &m));
        assert_close(m.weight, want.weight, C * D, 1e-9);
        kb_mixtures_release(kb_allocator_of(ctx), &m);
    }
    kb_mixtures_release(kb_allocator_of(ctx), &want);
    problem_free(&p);
    kb_context_free(ctx);
}

/* No weight at all, targets that are all the same, columns that are. */
static void where_there_is_nothing_to_say_the_mixtures_are_0(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 3; k++) {
        problem p = problem_of(ctx, 0, 1);
        kb_mixtures m;
        for (size_t i = 0; i < N; i++) {
            if (k == 0)
                p.weight[i] = 0;
            for (size_t c = 0; k == 1 && c < C; c++)
                p.y[i * C + c] = 1;
            for (size_t j = 0; k == 2 && j < D; j++)
                p.s.x->dense[i * D + j] = 0.25 * (double)j;
        }
        assert_ok(ctx, kb_linear_learn(ctx, &p.s, POOL, p.row, &m));
        assert_true(kb_mixtures_are_sound(&m));
        for (size_t j = 0; j < C * D; j++)
            if (m.weight[j] != 0)
                fail_msg("case %d: weight %zu is %g", k, j, m.weight[j]);
        kb_mixtures_release(kb_allocator_of(ctx), &m);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static int learn(kb_context *ctx, void *arg) {
    const problem *p = arg;
    kb_mixtures m;
    kb_status status = kb_linear_learn(ctx, &p->s, POOL, p->row, &m);
    kb_mixtures_release(kb_allocator_of(ctx), &m);
    return (int)status;
}

static void it_may_fail_and_be_cancelled_anywhere(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_of(ctx, 0, 1);
    (void)unused;
    run_with_allocation_failures(learn, &p);
    run_with_cancellations(learn, &p, 1, C);
    problem_free(&p);
    kb_context_free(ctx);
}

/* Numbers of levels have no order: the fit is what it is with a constant instead of them. */
static void levels_are_left_out(void **unused) {
    enum { ROWS = 200, COLUMNS = 3 };
    static const unsigned char level[COLUMNS] = {0, 1, 0};
    kb_context *ctx = test_context();
    double x[ROWS * COLUMNS], y[ROWS];
    uint32_t row[ROWS];
    kb_mixtures m[2] = {{0}};
    (void)unused;
    for (int constant = 0; constant < 2; constant++) {
        kb_data *data;
        for (size_t i = 0; i < ROWS; i++) {
            double a = (double)(i * 7 % 31) / 31, b = (double)(i * 3 % 17) / 17;
            row[i] = (uint32_t)i;
            x[i * COLUMNS] = a;
            x[i * COLUMNS + 1] = constant ? 0 : (double)(i % 5);
            x[i * COLUMNS + 2] = b;
            y[i] = a + 2 * b + (double)(i % 5);
        }
        assert_ok(ctx, data_from_dense(ctx, ROWS, COLUMNS, x, NULL, &data));
        data->level = constant ? NULL : level;
        kb_linear fit = {data, 1, y, NULL};
        assert_ok(ctx, kb_linear_learn(ctx, &fit, ROWS, row, &m[constant]));
        kb_data_free(data);
    }
    assert_true(m[0].weight[1] == 0);
    assert_true(m[0].weight[0] > 0 && m[0].weight[2] > m[0].weight[0]);
    assert_memory_equal(m[0].weight, m[1].weight, COLUMNS * sizeof(double));
    for (int k = 0; k < 2; k++)
        kb_mixtures_release(kb_allocator_of(ctx), &m[k]);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_those_of_the_normal_equations),
        cmocka_unit_test(sparse_rows_give_the_weights_of_dense_ones),
        cmocka_unit_test(a_weight_is_so_many_rows),
        cmocka_unit_test(the_size_of_targets_and_weights_does_not_matter),
        cmocka_unit_test(where_there_is_nothing_to_say_the_mixtures_are_0),
        cmocka_unit_test(it_may_fail_and_be_cancelled_anywhere),
        cmocka_unit_test(levels_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
