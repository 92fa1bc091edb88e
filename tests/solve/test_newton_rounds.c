/* The parts of Newton-CG: the model of a round, and its step. */
#include "solve/smooth.h"

#include "solve/ridge.h"

/* A second copy under another name, for the functions inside it. */
void small_inside(size_t n, const double *A, const double *y, double *x);
kb_status newton_inside(kb_context *ctx, kb_smooth *problem);
#define kb_newton      newton_inside
#define kb_solve_small small_inside
#include "solve/newton.c"
#undef kb_newton

/* ---- the step ---------------------------------------------------------- */

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

/* ---- the model --------------------------------------------------------- */

/* rho is the negative gradient of the losses: Z'g against differences of the objective in w. */
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
            kb_solve_small(n, A, y, x);
            for (size_t a = 0; a < n; a++)
                assert_true(fabs(x[a] - want[a]) <= 1e-9 * (1 + fabs(want[a])));
            free(B);
        }
    /* A direction that is there twice is used once. */
    const double twice[] = {2, 2, 2}, right[] = {4, 4};
    kb_solve_small(2, twice, right, x);
    assert_true(close_to(x[0], 2, 1e-12) && x[1] == 0);
    const double nothing[] = {2, 0, 0}, half[] = {4, 0};
    kb_solve_small(2, nothing, half, x);
    assert_true(close_to(x[0], 2, 1e-12) && x[1] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_objective_never_rises),
        cmocka_unit_test(a_step_that_leads_uphill_is_shortened),
        cmocka_unit_test(steps_on_a_quadratic_are_those_of_cg),
        cmocka_unit_test(gradients_are_differences_of_the_objective),
        cmocka_unit_test(the_model_is_made_of_differences_of_gradients),
        cmocka_unit_test(a_round_minimises_its_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
