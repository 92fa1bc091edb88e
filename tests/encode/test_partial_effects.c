/* Partial effects against the normal equations, solved by dense Cholesky. */
#include "encode/tables.h"
#include "meter.h"

#include "core/weights.h"
#include "encode/partial_effects.h"

#include <lapacke.h>

static const double RIDGE = 10, TOL = 1e-3, CLIP = 4;

/* A problem with two numbers in rows of three, and three categories, of which the second wants
 * folds. */
enum { NUMBERS = 2, ALL = 3, CATEGORIES = 3, LEVELS = 3 + 40 + 2, D = 2 * NUMBERS + LEVELS };
typedef struct problem {
    kb_effects_problem p;
    double *number, *y, *weight;
    uint32_t *level;
    uint8_t *fold;
} problem;
static const size_t WHICH[] = {2, 0}, LEVELS_OF[] = {3, 40, 2};

static problem problem_of(size_t N, size_t C, int weighted, int folds) {
    static const int none[] = {0, 0, 0}, second[] = {0, 1, 0};
    problem o = {.number = test_numbers(1, N * ALL),
                 .y = test_numbers(2, N * C),
                 .weight = test_numbers(3, N),
                 .level = malloc(N * CATEGORIES * sizeof(uint32_t)),
                 .fold = malloc(N)};
    for (size_t i = 0; i < N; i++) {
        o.number[i * ALL] = exp(4 * o.number[i * ALL]);               /* a tail to clip */
        o.number[i * ALL + 2] = floor(4 * o.number[i * ALL + 2]) / 4; /* equal values */
        o.weight[i] = i % 7 == 0 ? 0 : 1.5 + o.weight[i];
        o.fold[i] = (uint8_t)(test_uniform(4, i) * KB_EFFECT_FOLDS);
        for (size_t c = 0; c < CATEGORIES; c++)
            o.level[i * CATEGORIES + c] =
                (uint32_t)((double)LEVELS_OF[c] * test_uniform(5 + c, i) * test_uniform(9, i));
        for (size_t c = 0; c < C; c++)
            o.y[i * C + c] +=
                3 + o.number[i * ALL + 2] + sin((double)(c + o.level[i * CATEGORIES + 1]));
    }
    o.p = (kb_effects_problem){.rows = N,
                               .C = C,
                               .y = o.y,
                               .weight = weighted ? o.weight : NULL,
                               .numbers = NUMBERS,
                               .all = ALL,
                               .number = o.number,
                               .which = WHICH,
                               .categories = CATEGORIES,
                               .levels = LEVELS_OF,
                               .level = o.level,
                               .fold = o.fold,
                               .needs_folds = folds ? second : none};
    return o;
}

static void problem_free(problem *o) {
    free(o->number), free(o->y), free(o->weight), free(o->level), free(o->fold);
}

/* ---- the oracle -------------------------------------------------------- */

/* X, rows x D: mid-rank and z-score of each number, by counting, then an indicator a level. */
static double *matrix_of(const kb_effects_problem *p) {
    size_t N = p->rows;
    double *X = calloc(N * D, sizeof *X), n = (double)N;
    for (size_t j = 0; j < NUMBERS; j++) {
        double mean = 0, square = 0, ranks = 0;
        for (size_t i = 0; i < N; i++) {
            double x = p->number[i * ALL + WHICH[j]], below = 0;
            for (size_t k = 0; k < N; k++) {
                double other = p->number[k * ALL + WHICH[j]];
                below += other < x ? 1 : other == x ? 0.5 : 0;
            }
            mean += x / n;
            X[i * D + 2 * j] = below / n - 0.5;
            ranks += X[i * D + 2 * j] * X[i * D + 2 * j] / n;
        }
        for (size_t i = 0; i < N; i++) {
            X[i * D + 2 * j + 1] = p->number[i * ALL + WHICH[j]] - mean;
            square += X[i * D + 2 * j + 1] * X[i * D + 2 * j + 1] / n;
        }
        for (size_t i = 0; i < N; i++) {
            X[i * D + 2 * j] /= sqrt(ranks);
            X[i * D + 2 * j + 1] = fmax(-CLIP, fmin(CLIP, X[i * D + 2 * j + 1] / sqrt(square)));
        }
    }
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0, start = 2 * NUMBERS; c < CATEGORIES; start += LEVELS_OF[c++])
            X[i * D + start + p->level[i * CATEGORIES + c]] = 1;
    return X;
}

/* The coefficients w of output c without the rows of a fold (-1: of all rows).  A residual within
 * TOL of the right-hand side b leaves w within TOL |b| / ridge: returned. */
static double solve(const kb_effects_problem *p, const double *X, size_t c, int fold, double *w) {
    size_t N = p->rows;
    double *A = calloc((size_t)D * D, sizeof *A), mean = 0, total = 0, weights = 0, square = 0;
    for (size_t i = 0; i < N; i++) {
        double weight = kb_weight_of(p->weight, i);
        weights += weight / (double)N;
        if (p->fold[i] != fold) {
            mean += weight * p->y[i * p->C + c];
            total += weight;
        }
    }
    mean /= total;
    memset(w, 0, D * sizeof *w);
    for (size_t i = 0; i < N; i++)
        for (size_t a = 0; p->fold[i] != fold && a < D; a++) {
            double each = kb_weight_of(p->weight, i) * X[i * D + a];
            w[a] += each * (p->y[i * p->C + c] - mean);
            for (size_t b = 0; each != 0 && b < D; b++)
                A[a * D + b] += each * X[i * D + b];
        }
    for (size_t a = 0; a < D; a++) {
        A[a * D + a] += RIDGE * weights;
        square += w[a] * w[a];
    }
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', D, 1, A, D, w, 1), 0);
    free(A);
    return TOL * sqrt(square) / (RIDGE * weights);
}

static double largest(const double *w) {
    double most = 0;
    for (size_t k = 2 * NUMBERS; k < D; k++)
        most = fmax(most, fabs(w[k]));
    return most;
}

static void coefficients_solve_the_normal_equations(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int weighted = 0; weighted < 2; weighted++)
        for (int folds = 0; folds < 2; folds++)
            for (size_t C = 1; C <= 3; C += 2) {
                problem o = problem_of(300, C, weighted, folds);
                double *X = matrix_of(&o.p), w[D];
                kb_effects fx;
                assert_ok(ctx, kb_effects_build(ctx, &o.p, &fx));
                assert_int_equal(fx.C, C);
                assert_int_equal(fx.D, LEVELS);
                assert_int_equal(fx.start[2], 43);
                assert_int_equal(fx.without != NULL, folds);
                for (size_t c = 0; c < C; c++)
                    for (int fold = -1; fold < (folds ? KB_EFFECT_FOLDS : 0); fold++) {
                        const double *got =
                            fold < 0 ? fx.all : fx.without + fold * (int)(LEVELS * C);
                        double within = solve(&o.p, X, c, fold, w);
                        assert_true(within < 0.05 * largest(w)); /* the test can fail */
                        for (size_t k = 0; k < LEVELS; k++)
                            if (!(fabs(got[k * C + c] - w[2 * NUMBERS + k]) <= within))
                                fail_msg("output %zu, fold %d, level %zu: %g, not %g", c, fold, k,
                                         got[k * C + c], w[2 * NUMBERS + k]);
                    }
                kb_effects_release(ctx, &fx);
                free(X);
                problem_free(&o);
            }
    kb_context_free(ctx);
}

/* One category and nothing else: sums by level, with ten rows of the mean added. */
static void one_category_has_shrunk_means(void **unused) {
    enum { N = 90 };
    static const size_t three[] = {3}, no_number[] = {0};
    static const int no[] = {0};
    kb_context *ctx = test_context();
    double y[N], sum[3] = {0}, count[3] = {0}, mean = 0;
    uint32_t level[N];
    uint8_t fold[N] = {0};
    kb_effects fx;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        level[i] = i < 60 ? 0 : i < 85 ? 1 : 2;
        y[i] = (double)level[i] + test_uniform(1, i);
        mean += y[i] / N;
    }
    for (size_t i = 0; i < N; i++) {
        sum[level[i]] += y[i] - mean;
        count[level[i]]++;
    }
    kb_effects_problem p = {.rows = N,
                            .C = 1,
                            .y = y,
                            .which = no_number,
                            .categories = 1,
                            .levels = three,
                            .level = level,
                            .fold = fold,
                            .needs_folds = no};
    assert_ok(ctx, kb_effects_build(ctx, &p, &fx));
    for (int m = 0; m < 3; m++) /* three different eigenvalues: three steps are exact */
        assert_true(fabs(fx.all[m] - sum[m] / (count[m] + RIDGE)) <= 1e-12);
    kb_effects_release(ctx, &fx);
    kb_context_free(ctx);
}

/* ---- bits -------------------------------------------------------------- */

static void assert_same_effects(const kb_effects *a, const kb_effects *b) {
    assert_same_bits(a->all, b->all, a->D * a->C);
    assert_same_bits(a->without, b->without, KB_EFFECT_FOLDS * a->D * a->C);
}

static void threads_change_no_bit(void **unused) {
    static const int teams[] = {1, 3, 7};
    problem o = problem_of(13000, 2, 1, 1); /* four parts */
    kb_context *ctx[3];
    kb_effects fx[3];
    (void)unused;
    for (int t = 0; t < 3; t++) {
        kb_context_config config = {.size = sizeof config, .threads = teams[t]};
        assert_int_equal(kb_context_create(&config, &ctx[t]), KB_OK);
        assert_ok(ctx[t], kb_effects_build(ctx[t], &o.p, &fx[t]));
        assert_same_effects(&fx[0], &fx[t]);
    }
    for (int t = 0; t < 3; t++) {
        kb_effects_release(ctx[t], &fx[t]);
        kb_context_free(ctx[t]);
    }
    problem_free(&o);
}

/* Only the ratios of the weights count. */
static void the_unit_of_the_weights_does_not_matter(void **unused) {
    kb_context *ctx = test_context();
    problem o = problem_of(300, 2, 1, 1);
    kb_effects a, b;
    (void)unused;
    assert_ok(ctx, kb_effects_build(ctx, &o.p, &a));
    for (size_t i = 0; i < o.p.rows; i++)
        o.weight[i] *= 1024;
    assert_ok(ctx, kb_effects_build(ctx, &o.p, &b));
    assert_same_effects(&a, &b);
    kb_effects_release(ctx, &a);
    kb_effects_release(ctx, &b);
    problem_free(&o);
    kb_context_free(ctx);
}

/* ---- memory ------------------------------------------------------------ */

static void it_takes_no_more_than_forecast(void **unused) {
    (void)unused;
    for (size_t N = 300; N <= 30000; N *= 100) {
        problem o = problem_of(N, 3, 0, 1);
        kb_effects_size size = {N, 3, NUMBERS, LEVELS};
        meter m = {0, 0};
        kb_context *ctx = metered_context(&m);
        size_t before = m.peak = m.now;
        kb_effects fx;
        assert_ok(ctx, kb_effects_build(ctx, &o.p, &fx));
        double taken = (double)(m.peak - before), forecast = kb_effects_bytes(&size, 1);
        assert_true(taken <= forecast + 256 && forecast <= 1.5 * taken); /* not all at once */
        kb_effects_release(ctx, &fx);
        assert_int_equal(m.now, before);
        kb_context_free(ctx);
        problem_free(&o);
    }
}

static int build_once(kb_context *ctx, void *arg) {
    kb_effects fx;
    kb_status status = kb_effects_build(ctx, &((problem *)arg)->p, &fx);
    kb_effects_release(ctx, &fx);
    return (int)status;
}

static void every_allocation_may_fail_and_every_call_cancel(void **unused) {
    problem o = problem_of(100, 2, 0, 1);
    (void)unused;
    run_with_allocation_failures(build_once, &o);
    run_with_cancellations(build_once, &o, 2, 2);
    problem_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coefficients_solve_the_normal_equations),
        cmocka_unit_test(one_category_has_shrunk_means),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(the_unit_of_the_weights_does_not_matter),
        cmocka_unit_test(it_takes_no_more_than_forecast),
        cmocka_unit_test(every_allocation_may_fail_and_every_call_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
