/* Newton-CG: against dense Newton, its own word, and the inside of a round. */
#include "solve/dense.h"
#include "features/world.h"

#include "solve/newton.h"
#include "solve/ridge.h"

#include <lapacke.h>

/* A second copy under another name, for the functions inside it. */
kb_status newton_inside(kb_context *ctx, kb_smooth *problem);
#define kb_newton newton_inside
#include "solve/newton.c"
#undef kb_newton

/* ---- problems ---------------------------------------------------------- */

enum { LOGISTIC, HINGE, MULTINOMIAL, KINDS };
static const char *const KIND[] = {"logistic", "squared-hinge", "softmax"};

typedef struct problem {
    world w;
    kb_operator *base, *constant;
    size_t N, D, C;
    double *Z;         /* N x D, with a column of ones at the end if there is `constant` */
    double *y;         /* N x C */
    double *s;         /* N, or NULL */
    double *alpha, *f; /* N x C, the solver's */
    int kind;
    double lambda;
} problem;

static problem problem_create(kb_context *ctx, int kind, size_t N, size_t R, size_t C) {
    problem p = {.w = world_build(ctx, N, 2, R, 3), .N = N, .C = C, .kind = kind, .lambda = 0.3};
    p.D = p.w.z->bins;
    p.Z = test_matrix(p.w.z);
    p.y = malloc(N * C * sizeof(double));
    p.alpha = malloc(N * C * sizeof(double));
    p.f = malloc(N * C * sizeof(double));
    assert_non_null(p.y);
    for (size_t i = 0; i < N; i++) {
        double score = sin(3 * p.w.x[2 * i]) + p.w.x[2 * i + 1] + test_uniform(7, i) - 0.5;
        size_t own = (size_t)(fmin(fmax(score + 1, 0), 1.999) / 2 * (double)C);
        for (size_t c = 0; c < C; c++)
            p.y[i * C + c] = C == 1 ? (score > 0 ? 1 : -1) : (own == c ? 1 : -1);
    }
    assert_ok(ctx, kb_operator_binmat(ctx, p.w.z, &p.base));
    return p;
}

static void problem_free(problem *p) {
    kb_operator_free(p->constant);
    kb_operator_free(p->base);
    world_free(&p->w);
    free(p->Z), free(p->y), free(p->s), free(p->alpha), free(p->f);
}

/* Weights between 0 and 3, and every fifth sample left out. */
static void weigh(problem *p) {
    p->s = malloc(p->N * sizeof(double));
    assert_non_null(p->s);
    for (size_t i = 0; i < p->N; i++)
        p->s[i] = i % 5 == 2 ? 0 : 3 * test_uniform(17, i);
}

static void add_constant(kb_context *ctx, problem *p) {
    double *wide = malloc(p->N * (p->D + 1) * sizeof *wide);
    assert_non_null(wide);
    for (size_t i = 0; i < p->N; i++) {
        memcpy(wide + i * (p->D + 1), p->Z + i * p->D, p->D * sizeof *wide);
        wide[i * (p->D + 1) + p->D] = 1;
    }
    free(p->Z);
    p->Z = wide;
    p->D++;
    assert_ok(ctx, kb_operator_constant(ctx, p->base, &p->constant));
}

static kb_smooth smooth_of(problem *p, double tol, size_t max_steps) {
    return (kb_smooth){.op = p->constant ? p->constant : p->base,
                       .loss = p->kind == MULTINOMIAL ? NULL : kb_loss_find(KIND[p->kind]),
                       .softmax = p->kind == MULTINOMIAL,
                       .lambda = p->lambda,
                       .tol = tol,
                       .max_steps = max_steps,
                       .C = p->C,
                       .y = p->y,
                       .s = p->s,
                       .alpha = p->alpha,
                       .f = p->f,
                       .steps = 12345,
                       .rounds = 12345,
                       .converged = 77,
                       .objective = NAN};
}

/* ---- a dense oracle ---------------------------------------------------- */

/* Z' v, D x C. */
static double *bins_of(const problem *p, const double *v) {
    return dense_apply_t(p->N, p->D, p->C, p->Z, v);
}

/* Z w, N x C. */
static double *rows_of(const problem *p, const double *w) {
    return dense_apply(p->N, p->D, p->C, p->Z, w);
}

/* The loss of one sample by libm, its slopes (C) and its curvatures (C x C). */
static double sample_loss(const problem *p, const double *f, const double *y, double *slope,
                          double *curvature) {
    double value = 0, sum = 0;
    size_t C = p->C;
    memset(curvature, 0, C * C * sizeof *curvature);
    for (size_t c = 0; c < C; c++)
        sum += exp(f[c]);
    for (size_t c = 0; c < C; c++) {
        double m = y[c] * f[c], wrong = 1 / (1 + exp(m)), gap = fmax(1 - m, 0);
        if (p->kind == LOGISTIC) {
            value += log1p(exp(-m));
            slope[c] = -y[c] * wrong;
            curvature[c * C + c] = wrong * (1 - wrong);
        } else if (p->kind == HINGE) {
            value += gap * gap;
            slope[c] = -2 * y[c] * gap;
            curvature[c * C + c] = gap > 0 ? 2 : 0;
        } else {
            value += y[c] > 0 ? log(sum) - f[c] : 0;
            slope[c] = exp(f[c]) / sum - (y[c] > 0);
            for (size_t k = 0; k < C; k++)
                curvature[c * C + k] = exp(f[c]) / sum * ((c == k) - exp(f[k]) / sum);
        }
    }
    return value;
}

/* The objective at w, its gradient (D x C) and Hessian ((D C) x (D C)), unless NULL. */
static double dense_objective(const problem *p, const double *w, double *gradient,
                              double *hessian) {
    size_t N = p->N, D = p->D, C = p->C, n = D * C;
    double *f = rows_of(p, w), *slope = malloc(C * sizeof *slope), sum = 0;
    double *curvature = malloc(C * C * sizeof *curvature);
    for (size_t k = 0; k < n; k++) {
        sum += p->lambda / 2 * w[k] * w[k];
        if (gradient)
            gradient[k] = p->lambda * w[k];
    }
    for (size_t k = 0; hessian && k < n * n; k++)
        hessian[k] = k % (n + 1) == 0 ? p->lambda : 0;
    for (size_t i = 0; i < N; i++) {
        double s = p->s ? p->s[i] : 1;
        const double *z = p->Z + i * D;
        sum += s * sample_loss(p, f + i * C, p->y + i * C, slope, curvature);
        for (size_t b = 0; b < D; b++)
            for (size_t c = 0; z[b] != 0 && c < C; c++) {
                if (gradient)
                    gradient[b * C + c] += s * z[b] * slope[c];
                for (size_t a = 0; hessian && a < D; a++)
                    for (size_t k = 0; z[a] != 0 && k < C; k++)
                        hessian[(b * C + c) * n + a * C + k] +=
                            s * z[b] * z[a] * curvature[c * C + k];
            }
    }
    free(f), free(slope), free(curvature);
    return sum;
}

static double length(const double *x, size_t count) {
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += x[k] * x[k];
    return sqrt(sum);
}

/* w of the least objective, by Newton's method with Cholesky and halving. */
static double *dense_newton(const problem *p, double *least) {
    size_t n = p->D * p->C;
    double *w = calloc(n, sizeof *w), *g = malloc(n * sizeof *g),
           *trial = malloc(n * sizeof *trial);
    double *hessian = malloc(n * n * sizeof *hessian);
    assert_non_null(hessian);
    *least = dense_objective(p, w, g, hessian);
    double first = length(g, n);
    for (int round = 0; round < 100 && length(g, n) > 1e-13 * first; round++) {
        assert_int_equal(
            LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, 1, hessian, (lapack_int)n, g, 1),
            0);
        double t = 1, there;
        for (;; t /= 2) {
            for (size_t k = 0; k < n; k++)
                trial[k] = w[k] - t * g[k];
            there = dense_objective(p, trial, NULL, NULL);
            if (there <= *least * (1 + 1e-14))
                break;
        }
        memcpy(w, trial, n * sizeof *w);
        *least = dense_objective(p, w, g, hessian);
    }
    assert_true(length(g, n) <= 1e-12 * first);
    free(g), free(trial), free(hessian);
    return w;
}

/* The largest |Z'g| / |Z'g_0| of an output, or of all together for softmax, from the matrix. */
static double true_gradient(const problem *p) {
    size_t D = p->D, C = p->C;
    double *w = bins_of(p, p->alpha), *zero = calloc(D * C, sizeof *zero), worst_share = 0;
    double *g = malloc(D * C * sizeof *g), *g0 = malloc(D * C * sizeof *g0);
    dense_objective(p, w, g, NULL);
    dense_objective(p, zero, g0, NULL);
    for (size_t c = 0; c < C; c++) {
        double above = 0, below = 0;
        for (size_t b = 0; b < D; b++) {
            above += g[b * C + c] * g[b * C + c];
            below += g0[b * C + c] * g0[b * C + c];
        }
        worst_share = fmax(worst_share, sqrt(above / below));
    }
    if (p->kind == MULTINOMIAL)
        worst_share = length(g, D * C) / length(g0, D * C);
    free(w), free(zero), free(g), free(g0);
    return worst_share;
}

static int close_to(double a, double b, double share) {
    return fabs(a - b) <= share * fabs(b);
}

/* ---- the solution ------------------------------------------------------ */

/* The objective is off by |gradient|^2 / (2 lambda) at most, 1e-16 of its size or so for
 * tol = 1e-9; w by |gradient| / lambda. */
static void check_against_dense(kb_context *ctx, problem *p) {
    double least, most = 0;
    double *w = dense_newton(p, &least), *f = rows_of(p, w);
    kb_smooth mine = smooth_of(p, 1e-9, 5000);
    assert_ok(ctx, kb_newton(ctx, &mine));
    assert_int_equal(mine.converged, 1);
    if (!close_to(mine.objective, least, 1e-10))
        fail_msg("%s, lambda %g: %.15g, not %.15g", KIND[p->kind], p->lambda, mine.objective,
                 least);
    double *my_w = bins_of(p, p->alpha);
    for (size_t k = 0; k < p->D * p->C; k++)
        most = fmax(most, fabs(w[k]));
    for (size_t k = 0; k < p->D * p->C; k++)
        assert_true(fabs(my_w[k] - w[k]) <= 1e-6 * most);
    assert_close(p->f, f, p->N * p->C, 1e-6);
    free(w), free(f), free(my_w);
}

static void solutions_agree_with_dense_newton(void **unused) {
    static const double lambdas[] = {0.01, 0.3, 10};
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int weighted = 0; weighted < 2; weighted++)
            for (int k = 0; k < 3; k++) {
                problem p = problem_create(ctx, kind, 80, 12, kind == MULTINOMIAL ? 3 : 1);
                p.lambda = lambdas[k];
                if (weighted)
                    weigh(&p);
                check_against_dense(ctx, &p);
                problem_free(&p);
            }
    kb_context_free(ctx);
}

static void several_outputs_agree_with_dense_newton(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 70, 7, 3);
        weigh(&p);
        check_against_dense(ctx, &p);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void a_constant_is_one_more_feature(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int weighted = 0; weighted < 2; weighted++) {
            problem p = problem_create(ctx, kind, 60, 7, kind == MULTINOMIAL ? 3 : 2);
            if (weighted)
                weigh(&p);
            add_constant(ctx, &p);
            check_against_dense(ctx, &p);
            /* Its weight is the sum of alpha, and matters. */
            double *w = bins_of(&p, p.alpha);
            assert_true(fabs(w[(p.D - 1) * p.C]) > 0.01);
            free(w);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* At the return, recomputed from the matrix; a thousandth more is the rounding of that and of
 * f, which is added up along the way.  The objective is that of the alpha that is returned, and
 * a smaller tolerance takes more products. */
static void what_is_called_converged_has_converged(void **unused) {
    static const double tols[] = {1e-2, 1e-3, 1e-5, 1e-7, 1e-9};
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int weighted = 0; weighted < 2; weighted++) {
            problem p = problem_create(ctx, kind, 100, 15, 3);
            if (weighted)
                weigh(&p);
            for (p.lambda = 10; p.lambda > 1e-3; p.lambda /= 30) {
                size_t before = 0;
                for (size_t k = 0; k < sizeof tols / sizeof *tols; k++) {
                    kb_smooth mine = smooth_of(&p, tols[k], 20000);
                    assert_ok(ctx, kb_newton(ctx, &mine));
                    assert_int_equal(mine.converged, 1);
                    double share = true_gradient(&p);
                    if (!(share <= tols[k] * (1 + 1e-3)))
                        fail_msg("%s, lambda %g: %g is not below %g", KIND[kind], p.lambda, share,
                                 tols[k]);
                    assert_true(mine.steps >= before && mine.steps > mine.rounds);
                    before = mine.steps;
                    double *w = bins_of(&p, p.alpha), *f = rows_of(&p, w);
                    assert_true(
                        close_to(mine.objective, dense_objective(&p, w, NULL, NULL), 1e-12));
                    assert_close(p.f, f, p.N * p.C, 1e-10);
                    free(w), free(f);
                }
                assert_true(before > 5);
            }
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* Rows of weight 0 have no say: the rest is the solution without them, and they get the
 * decisions of samples that were not there. */
static void weight_0_leaves_a_sample_out(void **unused) {
    enum { ALL = 90, FEWER = 60 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem all_rows = problem_create(ctx, kind, ALL, 9, 3);
        problem fewer = problem_create(ctx, kind, FEWER, 9, 3); /* the first of the same rows */
        assert_memory_equal(all_rows.w.x, fewer.w.x, FEWER * 2 * sizeof(double));
        all_rows.s = malloc(ALL * sizeof(double));
        for (size_t i = 0; i < ALL; i++)
            all_rows.s[i] = i < FEWER;
        kb_smooth a = smooth_of(&all_rows, 1e-9, 5000), b = smooth_of(&fewer, 1e-9, 5000);
        assert_ok(ctx, kb_newton(ctx, &a));
        assert_ok(ctx, kb_newton(ctx, &b));
        assert_true(close_to(a.objective, b.objective, 1e-12));
        assert_close(all_rows.f, fewer.f, FEWER * 3, 1e-8);
        for (size_t k = FEWER * 3; k < ALL * 3; k++)
            assert_true(all_rows.alpha[k] == 0);
        assert_true(length(all_rows.f + FEWER * 3, (ALL - FEWER) * 3) > 0.1);
        problem_free(&all_rows);
        problem_free(&fewer);
    }
    kb_context_free(ctx);
}

/* An output finds the same solution, to the bit, whatever its neighbours are. */
static void outputs_do_not_disturb_each_other(void **unused) {
    enum { C = 4 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++) {
        problem p = problem_create(ctx, kind, 100, 9, C), q = problem_create(ctx, kind, 100, 9, C);
        double sum = 0;
        size_t rounds = 0;
        for (size_t i = 0; i < p.N; i++) {
            p.y[i * C + 1] = 1;              /* an easy one */
            p.y[i * C + 3] = i % 2 ? 1 : -1; /* and one that cannot be learnt */
        }
        kb_smooth together = smooth_of(&p, 1e-6, 5000);
        assert_ok(ctx, kb_newton(ctx, &together));
        assert_int_equal(together.converged, 1);
        for (size_t c = 0; c < C; c++) {
            for (size_t k = 0; k < p.N * C; k++)
                q.y[k] = p.y[k / C * C + c];
            kb_smooth alone = smooth_of(&q, 1e-6, 5000);
            assert_ok(ctx, kb_newton(ctx, &alone));
            for (size_t i = 0; i < p.N; i++)
                for (size_t k = 0; k < C; k++) {
                    assert_true(q.f[i * C + k] == p.f[i * C + c]);
                    assert_true(q.alpha[i * C + k] == p.alpha[i * C + c]);
                }
            sum += alone.objective / C;
            rounds = alone.rounds > rounds ? alone.rounds : rounds;
        }
        assert_true(close_to(together.objective, sum, 1e-14));
        assert_int_equal(together.rounds, rounds);
        problem_free(&p);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* And alone it finds the same but for rounding, which the bends of the squared hinge amplify. */
static void several_outputs_are_single_solutions(void **unused) {
    enum { C = 3 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++) {
        problem p = problem_create(ctx, kind, 100, 9, C),
                one = problem_create(ctx, kind, 100, 9, 1);
        double sum = 0;
        kb_smooth together = smooth_of(&p, 1e-9, 5000);
        assert_ok(ctx, kb_newton(ctx, &together));
        for (size_t c = 0; c < C; c++) {
            for (size_t i = 0; i < p.N; i++)
                one.y[i] = p.y[i * C + c];
            kb_smooth alone = smooth_of(&one, 1e-9, 5000);
            assert_ok(ctx, kb_newton(ctx, &alone));
            sum += alone.objective;
            for (size_t i = 0; i < p.N; i++)
                assert_true(fabs(p.f[i * C + c] - one.f[i]) <= 1e-7);
        }
        assert_true(close_to(together.objective, sum, 1e-12));
        problem_free(&p);
        problem_free(&one);
    }
    kb_context_free(ctx);
}

/* Twice the objective has the same minimum; the factor is exact in binary, all along. */
static void only_the_ratio_of_weights_and_lambda_matters(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 80, 9, 3),
                twice = problem_create(ctx, kind, 80, 9, 3);
        weigh(&p);
        weigh(&twice);
        for (size_t i = 0; i < p.N; i++)
            twice.s[i] *= 2;
        twice.lambda = 2 * p.lambda;
        kb_smooth a = smooth_of(&p, 1e-6, 5000), b = smooth_of(&twice, 1e-6, 5000);
        assert_ok(ctx, kb_newton(ctx, &a));
        assert_ok(ctx, kb_newton(ctx, &b));
        assert_same_bits(p.alpha, twice.alpha, p.N * p.C);
        assert_true(b.objective == 2 * a.objective);
        problem_free(&p);
        problem_free(&twice);
    }
    kb_context_free(ctx);
}

/* ---- the way there ----------------------------------------------------- */

static void too_few_steps_are_told(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 100, 15, 3);
        double start = INFINITY;
        p.lambda = 1e-3;
        for (size_t most = 1; most <= 25; most++) {
            kb_smooth mine = smooth_of(&p, 1e-12, most);
            assert_ok(ctx, kb_newton(ctx, &mine));
            assert_int_equal(mine.converged, 0);
            assert_int_equal(mine.steps, most);
            double *w = bins_of(&p, p.alpha);
            assert_true(close_to(mine.objective, dense_objective(&p, w, NULL, NULL), 1e-12));
            if (most == 1) /* the gradient of w = 0 */
                start = mine.objective;
            else /* whatever there was time for has helped */
                assert_true(mine.objective < start);
            free(w);
        }
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void the_objective_never_rises(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS + MULTINOMIAL; kind++) /* the latter one output */
        for (double lambda = 1; lambda > 1e-3; lambda /= 10) {
            problem p = problem_create(ctx, kind % KINDS, 100, 15, kind < KINDS ? 3 : 1);
            double before[3];
            newton s = {0};
            int rounds = 0;
            weigh(&p);
            p.lambda = lambda;
            kb_smooth mine = smooth_of(&p, 1e-8, 100000);
            mine.steps = 0;
            memset(p.alpha, 0, p.N * p.C * sizeof(double));
            memset(p.f, 0, p.N * p.C * sizeof(double));
            assert_ok(ctx, create(ctx, &mine, &s));
            assert_ok(ctx, begin(ctx, &s));
            while (!all_done(&s)) {
                memcpy(before, s.objective, p.C * sizeof *before);
                assert_ok(ctx, round_of(ctx, &s));
                rounds++;
                for (size_t c = 0; c < p.C; c++) /* but by rounding */
                    assert_true(s.objective[c] <= before[c] * (1 + 1e-13));
                assert_true(rounds < 1000);
            }
            assert_true(rounds > 2 && worst(&s) <= 1e-8);
            release(ctx, &s);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* Newton's own steps seldom are too long, so one is made so here. */
static void a_step_that_leads_uphill_is_shortened(void **unused) {
    kb_context *ctx = test_context();
    problem p = problem_create(ctx, LOGISTIC, 60, 9, 1);
    newton s = {0};
    (void)unused;
    kb_smooth mine = smooth_of(&p, 1e-8, 1000);
    mine.steps = 0;
    memset(p.alpha, 0, p.N * sizeof(double));
    memset(p.f, 0, p.N * sizeof(double));
    assert_ok(ctx, create(ctx, &mine, &s));
    assert_ok(ctx, begin(ctx, &s));
    /* A direction 1000 times too long. */
    for (size_t i = 0; i < p.N; i++)
        s.step[0][i] = 1000 * s.rho[i];
    assert_ok(ctx, p.base->apply_k(p.base, ctx, 1, s.step[0], s.k_step[0], s.across));
    double before = s.objective[0];
    assert_ok(ctx, search(ctx, &s));
    assert_true(s.t[0] > 0 && s.t[0] < 0.1);
    assert_ok(ctx, look(ctx, &s));
    assert_true(s.objective[0] < before);
    assert_true(close_to(s.objective[0], s.trial[0], 1e-12));
    double *w = bins_of(&p, p.alpha);
    assert_true(close_to(s.objective[0], dense_objective(&p, w, NULL, NULL), 1e-12));
    free(w);
    /* One that leads uphill from the start is not taken at all. */
    for (size_t i = 0; i < p.N; i++)
        s.step[0][i] = -s.rho[i];
    assert_ok(ctx, p.base->apply_k(p.base, ctx, 1, s.step[0], s.k_step[0], s.across));
    before = s.objective[0];
    assert_ok(ctx, search(ctx, &s));
    assert_true(s.t[0] == 0 && s.done[0]);
    assert_ok(ctx, look(ctx, &s));
    assert_true(s.objective[0] == before);
    w = bins_of(&p, p.alpha);
    assert_true(close_to(before, dense_objective(&p, w, NULL, NULL), 1e-12));
    free(w);
    release(ctx, &s);
    problem_free(&p);
    kb_context_free(ctx);
}

/* The forms of the model, <a, h K b>, against a' K times the difference of slopes along b.  Central
 * differences with e = 1e-5: off by e^2 and by 1e-16 / e.  The squared hinge has none at its
 * bends, where no f of this test lies within reach. */
static void the_model_is_made_of_differences_of_gradients(void **unused) {
    const double e = 1e-5;
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS + MULTINOMIAL; kind++) /* the latter one output */
        for (int weighted = 0; weighted < 2; weighted++) {
            problem p = problem_create(ctx, kind % KINDS, 100, 9, kind < KINDS ? 3 : 1);
            size_t n = p.N * p.C, C = p.C;
            newton s = {.past = PAST};
            if (weighted)
                weigh(&p);
            kb_smooth mine = smooth_of(&p, 1e-8, 100);
            double *f = test_numbers(31, n), *plus = malloc(n * sizeof *plus), unread[3 * TRIED];
            double *sum = malloc(C * FORMS * sizeof *sum);
            memset(p.alpha, 0, n * sizeof(double));
            assert_ok(ctx, create(ctx, &mine, &s));
            const double *k[MOST] = {s.k_rho, s.k_step[0], s.k_step[1], s.k_step[2]};
            for (size_t a = 0; a < MOST; a++) {
                double *dir = test_numbers(32 + (unsigned)a, n);
                assert_ok(ctx, p.base->apply_k(p.base, ctx, C, dir, (double *)k[a], NULL));
                free(dir);
            }
            memcpy(p.f, f, n * sizeof *f);
            look_at(&s, 0, p.N, unread);
            add_forms(&s, 0, p.N, sum);
            for (size_t c = 0; c < C; c++) /* rho' k */
                for (size_t a = 0; a < MOST && kind % KINDS != MULTINOMIAL; a++) {
                    double want = 0;
                    for (size_t i = c; i < n; i += C)
                        want += s.rho[i] * k[a][i];
                    assert_true(close_to(sum[c * FORMS + PAIRS + a], want, 1e-10));
                }
            for (size_t b = 0, pair = 0; b < MOST; b++) {
                for (size_t i = 0; i < n; i++) {
                    p.f[i] = f[i] + e * k[b][i];
                    assert_true(kind % KINDS != HINGE ||
                                fabs(1 - p.y[i] * f[i]) > e * fabs(k[b][i]));
                }
                look_at(&s, 0, p.N, unread);
                memcpy(plus, s.rho, n * sizeof *plus);
                for (size_t i = 0; i < n; i++)
                    p.f[i] = f[i] - e * k[b][i];
                look_at(&s, 0, p.N, unread);
                for (size_t a = 0; a <= b; a++, pair++) {
                    double want[3] = {0}, scale = 0;
                    for (size_t i = 0; i < n; i++) {
                        double part = k[a][i] * (s.rho[i] - plus[i]) / (2 * e);
                        want[kind % KINDS == MULTINOMIAL ? 0 : i % C] += part;
                        scale += fabs(part);
                    }
                    for (size_t c = 0; c < C; c++)
                        assert_true(fabs(sum[c * FORMS + pair] - want[c]) <= 1e-7 * (1 + scale));
                }
            }
            release(ctx, &s);
            free(f), free(plus), free(sum);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* The step of a round is the best one in its space: against all of the model by LAPACK. */
static void a_round_minimises_its_model(void **unused) {
    double A[PAIRS], y[MOST], x[MOST];
    (void)unused;
    for (unsigned round = 0; round < 50; round++)
        for (size_t n = 1; n <= MOST; n++) {
            double *B = test_numbers(round, n * n), full[MOST * MOST];
            for (size_t b = 0, pair = 0; b < n; b++)
                for (size_t a = 0; a <= b; a++, pair++) {
                    double sum = a == b;
                    for (size_t k = 0; k < n; k++)
                        sum += B[a * n + k] * B[b * n + k];
                    A[pair] = full[a * n + b] = full[b * n + a] = sum;
                }
            double want[MOST];
            for (size_t a = 0; a < n; a++)
                want[a] = y[a] = B[a] - 0.3;
            assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', (int)n, 1, full, (int)n, want, 1),
                             0);
            solve_small(n, A, y, x);
            for (size_t a = 0; a < n; a++)
                assert_true(fabs(x[a] - want[a]) <= 1e-9 * (1 + fabs(want[a])));
            free(B);
        }
    /* A direction that is there twice is used once. */
    const double twice[] = {2, 2, 2}, right[] = {4, 4};
    solve_small(2, twice, right, x);
    assert_true(close_to(x[0], 2, 1e-12) && x[1] == 0);
    const double nothing[] = {2, 0, 0}, half[] = {4, 0};
    solve_small(2, nothing, half, x);
    assert_true(close_to(x[0], 2, 1e-12) && x[1] == 0);
}

/* On a quadratic objective the steps are those of conjugate gradients, which ridge.h has. */
static void steps_on_a_quadratic_are_those_of_cg(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t most = 2; most <= 12; most++) {
        problem p = problem_create(ctx, LOGISTIC, 150, 12, 1);
        double *alpha = malloc(p.N * sizeof *alpha), *f = malloc(p.N * sizeof *f);
        kb_smooth mine = smooth_of(&p, 1e-14, most);
        mine.loss = kb_loss_find("square");
        kb_ridge cg = {.op = p.base,
                       .lambda = p.lambda,
                       .tol = 1e-14,
                       .max_steps = most - 1,
                       .C = 1,
                       .y = p.y,
                       .alpha = alpha,
                       .f = f};
        assert_ok(ctx, kb_newton(ctx, &mine));
        assert_ok(ctx, kb_ridge_cg(ctx, &cg));
        /* Rounding sets the two apart soon; ours, which knows more steps, is then the better. */
        double theirs = 0;
        for (size_t i = 0; i < p.N; i++) {
            assert_true(most > 8 || fabs(p.f[i] - f[i]) <= 1e-9);
            theirs += p.lambda / 2 * alpha[i] * f[i] + (f[i] - p.y[i]) * (f[i] - p.y[i]) / 2;
        }
        assert_true(mine.objective <= theirs * (1 + 1e-12));
        free(alpha), free(f);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* ---- rows without curvature -------------------------------------------- */

/* CG over all rows, with the same rule to stop. */
static double *plain_cg(kb_context *ctx, const problem *p, const newton *s, size_t *steps) {
    size_t N = p->N;
    double *rho = malloc(N * sizeof *rho), *k_rho = malloc(N * sizeof *rho);
    double *dir = calloc(N, sizeof *rho), *k_dir = calloc(N, sizeof *rho);
    double *d = calloc(N, sizeof *rho), b = 0, gain = 0, norm;
    memcpy(rho, s->rho, N * sizeof *rho);
    for (*steps = 1;; ++*steps) {
        double below = 0, old;
        assert_ok(ctx, p->base->apply_k(p->base, ctx, 1, rho, k_rho, &norm));
        for (size_t i = 0; i < N; i++) {
            dir[i] = rho[i] + b * dir[i];
            k_dir[i] = k_rho[i] + b * k_dir[i];
            below += k_dir[i] * (p->lambda * dir[i] + s->h[i] * k_dir[i]);
        }
        for (size_t i = 0; i < N; i++) {
            d[i] += norm / below * dir[i];
            rho[i] -= norm / below * (p->lambda * dir[i] + s->h[i] * k_dir[i]);
        }
        gain += norm * norm / below / 2;
        if ((double)*steps * norm * norm / below / 2 <= 0.2 * gain) /* XI of active.c */
            break;
        old = norm;
        assert_ok(ctx, p->base->apply_k(p->base, ctx, 1, rho, k_rho, &norm));
        b = norm / old;
    }
    free(rho), free(k_rho), free(dir), free(k_dir);
    return d;
}

static void rows_without_curvature_may_be_left_out(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (double share = 0.02; share < 0.5; share += 0.08) {
        problem p = problem_create(ctx, HINGE, 300, 20, 1);
        newton s = {0};
        kb_smooth mine = smooth_of(&p, 1e-8, 1000);
        double *alpha = test_numbers(5, p.N), *d = malloc(p.N * sizeof *d);
        double *k_d = malloc(p.N * sizeof *d), *k = malloc(p.N * sizeof *d), square, want,
               unread[3];
        size_t steps;
        memcpy(p.alpha, alpha, p.N * sizeof *alpha);
        assert_ok(ctx, create(ctx, &mine, &s));
        for (size_t i = 0; i < p.N; i++) /* far on the right side but for a share of the rows */
            p.f[i] = test_uniform(3, i) < share ? 0.1 * alpha[i] : 5 * p.y[i];
        look_at(&s, 0, p.N, unread);
        assert_ok(ctx, p.base->apply_k(p.base, ctx, 1, s.rho, s.k_rho, s.norm));
        assert_true(kb_active_worth(s.active, s.h));
        kb_newton_system system = {
            .p = &mine, .h = s.h, .rho = s.rho, .k_rho = s.k_rho, .norm = *s.norm, .residual = 1};
        mine.steps = 0;
        assert_ok(ctx, kb_active_solve(ctx, s.active, &system, d, k_d, &square));
        double *expected = plain_cg(ctx, &p, &s, &steps);
        assert_int_equal(mine.steps, steps + 1);
        for (size_t i = 0; i < p.N; i++)
            assert_true(fabs(d[i] - expected[i]) <= 1e-8 * (1 + fabs(expected[i])));
        assert_ok(ctx, p.base->apply_k(p.base, ctx, 1, d, k, &want));
        assert_true(close_to(square, want, 1e-12));
        assert_memory_equal(k, k_d, p.N * sizeof *k);
        release(ctx, &s);
        free(alpha), free(d), free(k_d), free(k), free(expected);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* And g itself is that of the losses: Z'g against differences of the objective in w. */
static void gradients_are_differences_of_the_objective(void **unused) {
    const double e = 1e-5;
    double unread[3 * TRIED];
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 60, 5, 3);
        size_t n = p.N * p.C;
        newton s = {0};
        weigh(&p);
        kb_smooth mine = smooth_of(&p, 1e-8, 100);
        double *alpha = test_numbers(33, n), *w, *g;
        memcpy(p.alpha, alpha, n * sizeof *alpha);
        assert_ok(ctx, p.base->apply_k(p.base, ctx, p.C, alpha, p.f, NULL));
        assert_ok(ctx, create(ctx, &mine, &s));
        look_at(&s, 0, p.N, unread); /* rho = -g */
        w = bins_of(&p, alpha);
        g = bins_of(&p, s.rho);
        for (size_t k = 0; k < p.D * p.C; k += 7) {
            double at = w[k];
            w[k] = at + e;
            double more = dense_objective(&p, w, NULL, NULL);
            w[k] = at - e;
            double less = dense_objective(&p, w, NULL, NULL);
            w[k] = at;
            assert_true(fabs(-g[k] - (more - less) / (2 * e)) <= 1e-6 * (1 + fabs(g[k])));
        }
        release(ctx, &s);
        free(alpha), free(w), free(g);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* ---- silly problems ---------------------------------------------------- */

/* All samples of one class, and a single sample. */
static void one_sided_targets_are_solved(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t N = 1; N <= 40; N += 39)
        for (int kind = LOGISTIC; kind <= HINGE; kind++) {
            problem p = problem_create(ctx, kind, N, 5, 1);
            for (size_t i = 0; i < N; i++)
                p.y[i] = -1;
            kb_smooth mine = smooth_of(&p, 1e-9, 5000);
            assert_ok(ctx, kb_newton(ctx, &mine));
            assert_int_equal(mine.converged, 1);
            for (size_t i = 0; i < N; i++)
                assert_true(p.f[i] < 0);
            check_against_dense(ctx, &p);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

static void weights_that_are_all_0_take_no_rounds(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 40, 5, 3);
        p.s = calloc(p.N, sizeof(double));
        kb_smooth mine = smooth_of(&p, 1e-9, 5000);
        assert_ok(ctx, kb_newton(ctx, &mine));
        assert_int_equal(mine.converged, 1);
        assert_int_equal(mine.rounds, 0);
        assert_true(mine.objective == 0);
        for (size_t k = 0; k < p.N * p.C; k++)
            assert_true(p.f[k] == 0 && p.alpha[k] == 0);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* The least tolerance that the options take, beyond what rounding allows, ends. */
static void an_impossible_tolerance_ends(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (double lambda = 1e-4; lambda < 1e3; lambda *= 1e3) {
            problem p = problem_create(ctx, kind, 100, 20, 2);
            p.lambda = lambda;
            kb_smooth mine = smooth_of(&p, 1e-15, 1000000000);
            assert_ok(ctx, kb_newton(ctx, &mine));
            assert_true(mine.steps < 100000);
            assert_true(true_gradient(&p) < 1e-8); /* what can be had is there */
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* ---- promises ---------------------------------------------------------- */

static void threads_change_no_bit(void **unused) {
    enum { N = 5000 };
    static const int teams[] = {1, 2, 5};
    kb_context *ctx = test_context();
    world w = world_build(ctx, N, 2, 20, 0.3);
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t C = kind == MULTINOMIAL ? 3 : 1; C <= 3; C += 2) {
            double *first = NULL, *y = test_numbers(3, N * C), *weight = test_numbers(4, N);
            double objective = 0;
            for (size_t k = 0; k < N * C; k++)
                y[k] = y[k] > 0 ? 1 : -1;
            for (size_t i = 0; i < N; i++)
                weight[i] = fabs(weight[i]);
            for (int t = 0; t < 3; t++) {
                test_state state = {0};
                kb_context *team = test_context_with(&state, teams[t]);
                kb_operator *base, *op;
                double *out = malloc(2 * N * C * sizeof *out);
                assert_ok(team, kb_operator_binmat(team, w.z, &base));
                assert_ok(team, kb_operator_constant(team, base, &op));
                kb_smooth p = {.op = op,
                               .loss = kb_loss_find(KIND[kind]),
                               .softmax = kind == MULTINOMIAL,
                               .lambda = 0.1,
                               .tol = 1e-5,
                               .max_steps = 30,
                               .C = C,
                               .y = y,
                               .s = weight,
                               .alpha = out,
                               .f = out + N * C};
                assert_ok(team, kb_newton(team, &p));
                kb_operator_free(op);
                kb_operator_free(base);
                kb_context_free(team);
                assert_int_equal(state.live, 0);
                if (first) {
                    assert_same_bits(out, first, 2 * N * C);
                    assert_true(p.objective == objective);
                    free(out);
                } else {
                    first = out;
                    objective = p.objective;
                }
            }
            free(first), free(y), free(weight);
        }
    world_free(&w);
    kb_context_free(ctx);
}

static void the_callback_may_cancel_at_any_call(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 60, 10, 3);
        p.lambda = 0.01;
        for (long k = 1;; k++) {
            test_state state = {.cancel_after = k};
            kb_context *mine = test_context_with(&state, 1);
            kb_operator *op;
            assert_ok(mine, kb_operator_binmat(mine, p.w.z, &op));
            kb_smooth r = smooth_of(&p, 1e-6, 1000);
            r.op = op;
            kb_status status = kb_newton(mine, &r);
            assert_int_equal(status, state.progress < k ? KB_OK : KB_ERR_CANCELLED);
            kb_operator_free(op);
            kb_context_free(mine);
            assert_int_equal(state.live, 0);
            if (state.progress < k) {
                assert_true(k > 5);
                break;
            }
        }
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static int solve_once(kb_context *ctx, void *arg) {
    problem *p = arg;
    kb_status status;
    kb_operator *op = NULL, *constant = NULL;
    TRY(kb_operator_binmat(ctx, p->w.z, &op));
    TRY(kb_operator_constant(ctx, op, &constant));
    kb_smooth r = smooth_of(p, 1e-9, 10);
    r.op = constant;
    TRY(kb_newton(ctx, &r));
done:
    kb_operator_free(constant);
    kb_operator_free(op);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = problem_create(ctx, kind, 30, 4, 2);
        run_with_allocation_failures(solve_once, &p);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_agree_with_dense_newton),
        cmocka_unit_test(several_outputs_agree_with_dense_newton),
        cmocka_unit_test(a_constant_is_one_more_feature),
        cmocka_unit_test(what_is_called_converged_has_converged),
        cmocka_unit_test(weight_0_leaves_a_sample_out),
        cmocka_unit_test(outputs_do_not_disturb_each_other),
        cmocka_unit_test(several_outputs_are_single_solutions),
        cmocka_unit_test(only_the_ratio_of_weights_and_lambda_matters),
        cmocka_unit_test(too_few_steps_are_told),
        cmocka_unit_test(the_objective_never_rises),
        cmocka_unit_test(a_step_that_leads_uphill_is_shortened),
        cmocka_unit_test(the_model_is_made_of_differences_of_gradients),
        cmocka_unit_test(a_round_minimises_its_model),
        cmocka_unit_test(steps_on_a_quadratic_are_those_of_cg),
        cmocka_unit_test(rows_without_curvature_may_be_left_out),
        cmocka_unit_test(gradients_are_differences_of_the_objective),
        cmocka_unit_test(one_sided_targets_are_solved),
        cmocka_unit_test(weights_that_are_all_0_take_no_rounds),
        cmocka_unit_test(an_impossible_tolerance_ends),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(the_callback_may_cancel_at_any_call),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
