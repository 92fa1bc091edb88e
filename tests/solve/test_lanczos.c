/* Ridge for all lambdas at once: against dense solutions, CG, and itself with other folds and
 * outputs. */
#include "features/world.h"

#include "solve/lanczos.h"
#include "solve/ridge.h"

#include <lapacke.h>

enum { N = 72, GRIDS = 16, C = 3 };

/* ---- problems ---------------------------------------------------------- */

typedef struct problem {
    world w;
    kb_operator *op;
    kb_folds folds;
    uint8_t fold[N];
    double y[N * C], root[N];
} problem;

typedef enum scheme { ONE_PART, THREE_FOLDS, IN_ORDER } scheme;

static problem *problem_create(kb_context *ctx, scheme how) {
    problem *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->w = world_build(ctx, N, 2, GRIDS, 0.8);
    assert_ok(ctx, kb_operator_binmat(ctx, p->w.z, &p->op));
    p->folds = (kb_folds){N, how == ONE_PART ? 1 : 3, how == IN_ORDER, p->fold};
    for (size_t i = 0; i < N; i++) {
        size_t block = 4 * i / N; /* the first is never a validation row */
        p->fold[i] = how == ONE_PART   ? (i % 4 == 1 ? 0 : KB_FOLD_NONE)
                     : how == IN_ORDER ? (block ? (uint8_t)(block - 1) : KB_FOLD_NONE)
                                       : (uint8_t)(i * i % 7 % 3);
        p->root[i] = i % 5 == 0 ? 0 : sqrt(0.3 + test_uniform(3, i));
        for (size_t c = 0; c < C; c++)
            p->y[i * C + c] = 5 + sin(3 * p->w.x[2 * i] + (double)c) + 0.3 * test_uniform(c, i);
    }
    return p;
}

static void problem_free(problem *p) {
    kb_operator_free(p->op);
    world_free(&p->w);
    free(p);
}

static kb_lanczos lanczos_of(problem *p, int weighted) {
    return (kb_lanczos){.op = p->op,
                        .folds = &p->folds,
                        .C = C,
                        .y = p->y,
                        .root = weighted ? p->root : NULL,
                        .keeps_basis = 1};
}

/* The expected decisions of output c for the validation rows of fold k, at their places in out (N x
 * C); alpha: N, zero where a row is not fitted.  (D K D + lambda I) b = D (y - mean), alpha = D
 * b. */
static void dense_decide(const problem *p, int weighted, size_t k, size_t c, double lambda,
                         double *out, double *alpha) {
    size_t n = 0, row[N];
    double A[N * N], b[N], mean = 0, total = 0;
    for (size_t i = 0; i < N; i++)
        if (kb_folds_fits(&p->folds, i, k))
            row[n++] = i;
    double *Z = test_matrix(p->w.z), K[N * N];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            K[i * N + j] = 0;
            for (size_t d = 0; d < p->w.z->bins; d++)
                K[i * N + j] += Z[i * p->w.z->bins + d] * Z[j * p->w.z->bins + d];
        }
    free(Z);
    for (size_t a = 0; a < n; a++) {
        double s = weighted ? p->root[row[a]] * p->root[row[a]] : 1;
        mean += s * p->y[row[a] * C + c];
        total += s;
    }
    mean /= total;
    for (size_t a = 0; a < n; a++) {
        double ra = weighted ? p->root[row[a]] : 1;
        b[a] = ra * (p->y[row[a] * C + c] - mean);
        for (size_t e = 0; e < n; e++)
            A[a * n + e] = ra * K[row[a] * N + row[e]] * (weighted ? p->root[row[e]] : 1) +
                           (a == e ? lambda : 0);
    }
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, 1, A, (lapack_int)n, b, 1),
                     0);
    memset(alpha, 0, N * sizeof *alpha);
    for (size_t a = 0; a < n; a++)
        alpha[row[a]] = b[a] * (weighted ? p->root[row[a]] : 1);
    for (size_t i = 0; i < N; i++)
        if (kb_folds_holds(&p->folds, i, k)) {
            out[i * C + c] = mean;
            for (size_t j = 0; j < N; j++)
                out[i * C + c] += K[i * N + j] * alpha[j];
        }
}

/* ---- the solutions ----------------------------------------------------- */

static void enough_steps_agree_with_cholesky(void **unused) {
    static const double lambda[] = {0.01, 0.3, 10};
    kb_context *ctx = test_context();
    (void)unused;
    for (scheme how = ONE_PART; how <= IN_ORDER; how++)
        for (int weighted = 0; weighted < 2; weighted++) {
            problem *p = problem_create(ctx, how);
            kb_lanczos l = lanczos_of(p, weighted);
            assert_ok(ctx, kb_lanczos_begin(ctx, &l));
            assert_ok(ctx, kb_lanczos_extend(ctx, &l, 2 * N)); /* rounding costs some */
            double *f = malloc(l.held * C * sizeof *f), *alpha = malloc(N * l.M * sizeof *alpha);
            for (int a = 0; a < 3; a++) {
                double want[N * C], coefficient[N], off;
                assert_ok(ctx, kb_lanczos_decide(ctx, &l, l.steps, lambda[a], f));
                assert_ok(ctx, kb_lanczos_alpha(ctx, &l, l.steps, lambda[a], alpha));
                for (size_t k = 0; k < p->folds.folds; k++)
                    for (size_t c = 0; c < C; c++) {
                        dense_decide(p, weighted, k, c, lambda[a], want, coefficient);
                        for (size_t i = 0; i < N; i++)
                            coefficient[i] -= alpha[i * l.M + k * C + c];
                        assert_ok(ctx, p->op->apply_k(p->op, ctx, 1, coefficient, NULL, &off));
                        assert_true(off < 1e-12); /* in the length that the weights of bins have */
                    }
                for (size_t h = 0; h < l.held; h++)
                    assert_close(f + h * C, want + l.row[h] * C, C, 1e-7);
            }
            free(f), free(alpha);
            kb_lanczos_release(ctx, &l);
            problem_free(p);
        }
    kb_context_free(ctx);
}

/* The same Krylov space: after m steps alpha is that of m steps of CG on the fitted rows alone. */
static void few_steps_agree_with_cg(void **unused) {
    kb_context *ctx = test_context();
    problem *p = problem_create(ctx, ONE_PART);
    uint32_t row[N];
    size_t n = 0;
    kb_data *fitted;
    kb_binmat *z;
    kb_operator *op;
    double y[N * C], mean[C], a[N * C], f[N * C], alpha[N * C];
    kb_binning binning = world_binning(&p->w);
    (void)unused;
    for (size_t i = 0; i < N; i++)
        if (kb_folds_fits(&p->folds, i, 0)) {
            memcpy(y + n * C, p->y + i * C, C * sizeof *y);
            row[n++] = (uint32_t)i;
        }
    assert_ok(ctx, kb_data_take(ctx, p->w.data, n, row, &fitted));
    assert_ok(ctx, kb_binmat_build(ctx, &binning, fitted, p->w.R, NULL, &z));
    assert_ok(ctx, kb_operator_binmat(ctx, z, &op));
    assert_ok(ctx, kb_centre(ctx, n, C, NULL, y, mean));
    kb_lanczos l = lanczos_of(p, 0);
    assert_ok(ctx, kb_lanczos_begin(ctx, &l));
    assert_ok(ctx, kb_lanczos_extend(ctx, &l, 8));
    for (size_t m = 1; m <= 8; m++)
        for (double lambda = 0.1; lambda < 20; lambda *= 10) {
            kb_ridge r = {.op = op,
                          .lambda = lambda,
                          .tol = 1e-15,
                          .max_steps = m,
                          .C = C,
                          .y = y,
                          .alpha = a,
                          .f = f};
            assert_ok(ctx, kb_ridge_cg(ctx, &r));
            assert_int_equal(r.steps, m);
            assert_ok(ctx, kb_lanczos_alpha(ctx, &l, m, lambda, alpha));
            for (size_t k = 0; k < n; k++)
                assert_close(alpha + row[k] * C, a + k * C, C, 1e-7); /* rounding */
        }
    kb_lanczos_release(ctx, &l);
    kb_operator_free(op);
    kb_binmat_free(z);
    kb_data_free(fitted);
    problem_free(p);
    kb_context_free(ctx);
}

/* Each fold and output together with others and alone; and a run that is extended twice. */
static void folds_and_outputs_do_not_disturb_each_other(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int weighted = 0; weighted < 2; weighted++) {
        problem *p = problem_create(ctx, THREE_FOLDS);
        double all[N * C], alone[N], y[N];
        uint8_t fold[N];
        for (size_t i = 0; i < N; i++)
            p->y[i * C + 2] *= 1e6; /* of a size of its own */
        kb_lanczos l = lanczos_of(p, weighted);
        assert_ok(ctx, kb_lanczos_begin(ctx, &l));
        assert_ok(ctx, kb_lanczos_extend(ctx, &l, 4));
        assert_ok(ctx, kb_lanczos_extend(ctx, &l, 9));
        assert_ok(ctx, kb_lanczos_decide(ctx, &l, 7, 0.1, all));
        assert_int_equal(l.held, N);
        for (size_t k = 0; k < 3; k++)
            for (size_t c = 0; c < C; c++) {
                kb_folds one = {N, 1, 0, fold};
                kb_lanczos s = {.op = p->op, .folds = &one, .C = 1, .y = y};
                s.root = weighted ? p->root : NULL;
                for (size_t i = 0; i < N; i++) {
                    y[i] = p->y[i * C + c];
                    fold[i] = p->fold[i] == k ? 0 : KB_FOLD_NONE;
                }
                assert_ok(ctx, kb_lanczos_begin(ctx, &s));
                assert_ok(ctx, kb_lanczos_extend(ctx, &s, 7));
                assert_ok(ctx, kb_lanczos_decide(ctx, &s, 7, 0.1, alone));
                for (size_t h = 0; h < s.held; h++)
                    assert_close(all + s.row[h] * C + c, alone + h, 1, 1e-9);
                kb_lanczos_release(ctx, &s);
            }
        kb_lanczos_release(ctx, &l);
        problem_free(p);
    }
    kb_context_free(ctx);
}

/* Targets of any size take the same way: what ends a column is measured by K alone. */
static void the_size_of_the_targets_does_not_matter(void **unused) {
    static const double size[] = {1, 0x1p-100, 0x1p40, 0x1p100}; /* no rounding */
    kb_context *ctx = test_context();
    double first[N * C], f[N * C];
    (void)unused;
    for (int s = 0; s < 4; s++) {
        problem *p = problem_create(ctx, ONE_PART);
        for (size_t i = 0; i < N * C; i++)
            p->y[i] *= size[s];
        kb_lanczos l = lanczos_of(p, 0);
        assert_ok(ctx, kb_lanczos_begin(ctx, &l));
        assert_ok(ctx, kb_lanczos_extend(ctx, &l, 20));
        assert_ok(ctx, kb_lanczos_decide(ctx, &l, 20, 0.01, f));
        for (size_t i = 0; i < l.held * C; i++)
            f[i] /= size[s];
        if (s == 0)
            memcpy(first, f, sizeof f);
        else
            assert_same_bits(f, first, l.held * C);
        kb_lanczos_release(ctx, &l);
        problem_free(p);
    }
    kb_context_free(ctx);
}

/* ---- silly problems ---------------------------------------------------- */

static void check_finite(const double *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_true(isfinite(x[i]));
}

/* Constant targets, all rows in one place, far more steps than there are directions. */
static void exhausted_columns_stay_finite(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int same = 0; same < 2; same++)
        for (int weighted = 0; weighted < 2; weighted++) {
            problem *p = problem_create(ctx, THREE_FOLDS);
            double f[N * C], *alpha = malloc(N * 3 * C * sizeof *alpha);
            if (same) {
                memset(p->w.data->dense, 0, N * 2 * sizeof(double));
                kb_operator_free(p->op);
                kb_binmat_free(p->w.z);
                p->w.z = world_bin(ctx, &p->w, NULL);
                assert_ok(ctx, kb_operator_binmat(ctx, p->w.z, &p->op));
            }
            for (size_t i = 0; i < N; i++) {
                p->y[i * C] = 7;
                p->y[i * C + 1] = 0;
            }
            kb_lanczos l = lanczos_of(p, weighted);
            assert_ok(ctx, kb_lanczos_begin(ctx, &l));
            assert_ok(ctx, kb_lanczos_extend(ctx, &l, 5 * N));
            for (double lambda = 1e-12; lambda < 1e13; lambda *= 1e4) {
                assert_ok(ctx, kb_lanczos_decide(ctx, &l, l.steps, lambda, f));
                assert_ok(ctx, kb_lanczos_alpha(ctx, &l, l.steps, lambda, alpha));
                check_finite(f, l.held * C);
                check_finite(alpha, N * l.M);
                for (size_t h = 0; h < l.held; h++) {
                    assert_true(fabs(f[h * C] - 7) < 1e-6);
                    assert_true(f[h * C + 1] == 0);
                    if (same) /* nothing but the mean can be known */
                        assert_true(fabs(f[h * C + 2] - l.mean[p->fold[l.row[h]] * C + 2]) < 1e-6);
                }
            }
            free(alpha);
            kb_lanczos_release(ctx, &l);
            problem_free(p);
        }
    kb_context_free(ctx);
}

/* A fold whose fitted rows all weigh nothing decides 0. */
static void weights_of_zero_are_no_rows(void **unused) {
    kb_context *ctx = test_context();
    problem *p = problem_create(ctx, ONE_PART);
    double f[N * C];
    (void)unused;
    memset(p->root, 0, sizeof p->root);
    kb_lanczos l = lanczos_of(p, 1);
    assert_ok(ctx, kb_lanczos_begin(ctx, &l));
    assert_ok(ctx, kb_lanczos_extend(ctx, &l, 3));
    assert_ok(ctx, kb_lanczos_decide(ctx, &l, 3, 0.1, f));
    for (size_t i = 0; i < l.held * C; i++)
        assert_true(f[i] == 0);
    kb_lanczos_release(ctx, &l);
    problem_free(p);
    kb_context_free(ctx);
}

/* ---- promises ---------------------------------------------------------- */

static void threads_change_no_bit(void **unused) {
    enum { MANY = 4000, K = 2 };
    kb_context *ctx = test_context();
    world w = world_build(ctx, MANY, 2, 20, 0.3);
    double *y = test_numbers(3, MANY * C), *first = NULL;
    double *root = test_numbers(4, MANY);
    uint8_t *fold = malloc(MANY);
    (void)unused;
    for (size_t i = 0; i < MANY; i++) {
        fold[i] = (uint8_t)(i % K);
        root[i] = fabs(root[i]);
    }
    kb_folds folds = {MANY, K, 0, fold};
    for (int threads = 1; threads <= 3; threads++) {
        test_state state = {0};
        kb_context *team = test_context_with(&state, threads);
        kb_operator *op;
        double *out = malloc((1 + K) * MANY * C * sizeof *out);
        assert_ok(team, kb_operator_binmat(team, w.z, &op));
        kb_lanczos l = {.op = op, .folds = &folds, .C = C, .y = y, .root = root, .keeps_basis = 1};
        assert_ok(team, kb_lanczos_begin(team, &l));
        assert_ok(team, kb_lanczos_extend(team, &l, 15));
        assert_ok(team, kb_lanczos_decide(team, &l, 15, 0.1, out));
        assert_ok(team, kb_lanczos_alpha(team, &l, 15, 0.1, out + MANY * C));
        kb_lanczos_release(team, &l);
        kb_operator_free(op);
        kb_context_free(team);
        assert_int_equal(state.live, 0);
        if (first)
            assert_same_bits(out, first, (1 + K) * MANY * C);
        if (first)
            free(out);
        else
            first = out;
    }
    free(first), free(y), free(root), free(fold);
    world_free(&w);
    kb_context_free(ctx);
}

static kb_status solve_with(kb_context *ctx, problem *p) {
    kb_status status;
    kb_operator *op = NULL;
    kb_lanczos l = lanczos_of(p, 1);
    double f[N * C];
    TRY(kb_operator_binmat(ctx, p->w.z, &op));
    l.op = op;
    TRY(kb_lanczos_begin(ctx, &l));
    TRY(kb_lanczos_extend(ctx, &l, 3));
    TRY(kb_lanczos_extend(ctx, &l, 5));
    TRY(kb_lanczos_decide(ctx, &l, 5, 0.1, f));
done:
    if (op)
        kb_lanczos_release(ctx, &l);
    kb_operator_free(op);
    return status;
}

static int solve_once(kb_context *ctx, void *arg) {
    return (int)solve_with(ctx, arg);
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    problem *p = problem_create(ctx, THREE_FOLDS);
    (void)unused;
    run_with_allocation_failures(solve_once, p);
    problem_free(p);
    kb_context_free(ctx);
}

static void the_callback_may_cancel_at_any_step(void **unused) {
    kb_context *ctx = test_context();
    problem *p = problem_create(ctx, THREE_FOLDS);
    (void)unused;
    for (long k = 1; k <= 5; k++) {
        test_state state = {.cancel_after = k};
        kb_context *mine = test_context_with(&state, 1);
        assert_int_equal(solve_with(mine, p), KB_ERR_CANCELLED);
        kb_context_free(mine);
        assert_int_equal(state.live, 0);
    }
    problem_free(p);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enough_steps_agree_with_cholesky),
        cmocka_unit_test(few_steps_agree_with_cg),
        cmocka_unit_test(folds_and_outputs_do_not_disturb_each_other),
        cmocka_unit_test(the_size_of_the_targets_does_not_matter),
        cmocka_unit_test(exhausted_columns_stay_finite),
        cmocka_unit_test(weights_of_zero_are_no_rows),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_callback_may_cancel_at_any_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
