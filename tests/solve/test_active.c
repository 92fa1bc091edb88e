/* A Newton round over the rows that have curvature: against CG over all of them, and the system
 * solved by LAPACK. */
#include "solve/smooth.h"

#include "solve/active.h"

/* ---- a round ----------------------------------------------------------- */

typedef struct round_system {
    problem p;
    kb_smooth smooth;
    kb_newton_system system;
    double *h, *rho, *k_rho; /* N */
} round_system;

/* The squared hinge at decisions far on the right side, but for a share of the rows. */
static round_system round_create(kb_context *ctx, size_t N, size_t R, double share) {
    round_system s = {.p = problem_create(ctx, HINGE, N, R, 1)};
    double *alpha = test_numbers(5, N);
    s.h = malloc(N * sizeof *s.h);
    s.rho = malloc(N * sizeof *s.rho);
    s.k_rho = malloc(N * sizeof *s.k_rho);
    for (size_t i = 0; i < N; i++) {
        double f = test_uniform(3, i) < share ? 0.1 * alpha[i] : 5 * s.p.y[i], slope;
        sample_loss(&s.p, &f, &s.p.y[i], &slope, &s.h[i]);
        s.rho[i] = -s.p.lambda * alpha[i] - slope;
    }
    s.smooth = smooth_of(&s.p, 1e-8, 1000);
    s.smooth.steps = 0;
    s.system = (kb_newton_system){.h = s.h, .rho = s.rho, .k_rho = s.k_rho, .residual = 1};
    assert_ok(ctx, s.p.base->apply_k(s.p.base, ctx, 1, s.rho, s.k_rho, &s.system.norm));
    free(alpha);
    return s;
}

static void round_free(round_system *s) {
    free(s->h), free(s->rho), free(s->k_rho);
    problem_free(&s->p);
}

/* d, K d and <d, d>. */
typedef struct direction {
    double *d, *k_d, square;
} direction;

static direction round_solve(kb_context *ctx, kb_active *a, round_system *s) {
    direction out = {malloc(s->p.N * sizeof(double)), malloc(s->p.N * sizeof(double)), NAN};
    s->system.p = &s->smooth;
    assert_ok(ctx, kb_active_solve(ctx, a, &s->system, out.d, out.k_d, &out.square));
    return out;
}

static void direction_free(direction *d) {
    free(d->d), free(d->k_d);
}

/* What a direction gains of the quadratic model: <rho, d> - <d, (lambda I + h K) d> / 2. */
static double gain_of(const round_system *s, const double *d) {
    double *w = bins_of(&s->p, d), *k_d = rows_of(&s->p, w), gain = 0;
    for (size_t i = 0; i < s->p.N; i++)
        gain += s->k_rho[i] * d[i] - (s->p.lambda * d[i] * k_d[i] + s->h[i] * k_d[i] * k_d[i]) / 2;
    free(w), free(k_d);
    return gain;
}

/* ---- the direction ----------------------------------------------------- */

/* CG over all rows, with the same rule to stop. */
static double *plain_cg(kb_context *ctx, const problem *p, const round_system *s, size_t *steps) {
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
    for (double share = 0.02; share < 0.45; share += 0.04) {
        round_system s = round_create(ctx, 300, 20, share);
        size_t N = s.p.N, steps;
        s.p.lambda = s.smooth.lambda = 0.02 + share; /* more steps, and fewer */
        kb_active *a;
        double *k = malloc(N * sizeof *k), square;
        assert_ok(ctx, kb_active_create(ctx, N, &a));
        assert_true(kb_active_worth(a, s.h));
        direction found = round_solve(ctx, a, &s);
        double *expected = plain_cg(ctx, &s.p, &s, &steps);
        assert_int_equal(s.smooth.steps, steps + 1);
        for (size_t i = 0; i < N; i++)
            assert_true(fabs(found.d[i] - expected[i]) <= 1e-8 * (1 + fabs(expected[i])));
        assert_ok(ctx, s.p.base->apply_k(s.p.base, ctx, 1, found.d, k, &square));
        assert_true(close_to(found.square, square, 1e-12));
        assert_memory_equal(k, found.k_d, N * sizeof *k);
        kb_active_free(ctx, a);
        direction_free(&found);
        free(k), free(expected);
        round_free(&s);
    }
    kb_context_free(ctx);
}

/* Never more than the solution gains, and most of it: CG stops where a step gains a fifth of the
 * mean of those before it. */
static void most_of_the_gain_is_found(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (double share = 0.02; share < 0.5; share += 0.08) {
        round_system s = round_create(ctx, 150, 12, share);
        size_t N = s.p.N;
        kb_active *a;
        double *A = calloc(N * N, sizeof *A), *best = malloc(N * sizeof *best);
        lapack_int *pivot = malloc(N * sizeof *pivot);
        assert_ok(ctx, kb_active_create(ctx, N, &a));
        direction found = round_solve(ctx, a, &s);
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < N; k++) {
                for (size_t b = 0; b < s.p.D; b++)
                    A[i * N + k] += s.h[i] * s.p.Z[i * s.p.D + b] * s.p.Z[k * s.p.D + b];
                A[i * N + k] += i == k ? s.p.lambda : 0;
            }
        memcpy(best, s.rho, N * sizeof *best);
        assert_int_equal(
            LAPACKE_dgesv(LAPACK_ROW_MAJOR, (lapack_int)N, 1, A, (lapack_int)N, pivot, best, 1), 0);
        double most = gain_of(&s, best), mine = gain_of(&s, found.d);
        assert_true(mine <= most * (1 + 1e-10));
        assert_true(mine >= 0.5 * most);
        kb_active_free(ctx, a);
        direction_free(&found);
        free(A), free(best), free(pivot);
        round_free(&s);
    }
    kb_context_free(ctx);
}

/* Where h is zero the direction is one multiple of rho. */
static void a_number_stands_for_the_other_rows(void **unused) {
    kb_context *ctx = test_context();
    round_system s = round_create(ctx, 200, 12, 0.2);
    kb_active *a;
    double times = NAN;
    (void)unused;
    assert_ok(ctx, kb_active_create(ctx, s.p.N, &a));
    direction found = round_solve(ctx, a, &s);
    for (size_t i = 0; i < s.p.N; i++) {
        if (s.h[i] != 0)
            continue;
        if (isnan(times))
            times = found.d[i] / s.rho[i];
        assert_true(fabs(found.d[i] - times * s.rho[i]) <= 1e-14 * fabs(found.d[i]));
    }
    assert_true(times > 0);
    kb_active_free(ctx, a);
    direction_free(&found);
    round_free(&s);
    kb_context_free(ctx);
}

/* With room for the least number of products there is one step, along rho. */
static void the_first_step_is_along_the_gradient(void **unused) {
    kb_context *ctx = test_context();
    round_system s = round_create(ctx, 200, 12, 0.2);
    kb_active *a;
    double below = 0;
    (void)unused;
    assert_ok(ctx, kb_active_create(ctx, s.p.N, &a));
    for (size_t used = 0; used < 3; used++) {
        s.smooth.steps = used;
        s.smooth.max_steps = used + KB_ACTIVE_LEAST;
        direction found = round_solve(ctx, a, &s);
        assert_int_equal(s.smooth.steps, used + KB_ACTIVE_LEAST);
        below = 0;
        for (size_t i = 0; i < s.p.N; i++)
            below += s.k_rho[i] * (s.p.lambda * s.rho[i] + s.h[i] * s.k_rho[i]);
        for (size_t i = 0; i < s.p.N; i++) {
            double want = s.system.norm / below * s.rho[i];
            assert_true(fabs(found.d[i] - want) <= 1e-12 * (1 + fabs(want)));
        }
        direction_free(&found);
    }
    s.smooth.lambda = 1e-3; /* which asks for many steps: one product is left for who comes next */
    for (size_t most = 3; most <= 5; most++) {
        s.smooth.steps = 0;
        s.smooth.max_steps = most;
        direction found = round_solve(ctx, a, &s);
        assert_int_equal(s.smooth.steps, most - 1);
        direction_free(&found);
    }
    kb_active_free(ctx, a);
    round_free(&s);
    kb_context_free(ctx);
}

/* ---- when, and again --------------------------------------------------- */

/* As many rows as not may have curvature, and one must. */
static void it_pays_for_few_rows(void **unused) {
    kb_context *ctx = test_context();
    kb_active *a;
    (void)unused;
    for (size_t N = 49; N <= 61; N += 3) { /* so few that all are counted */
        double h[61];
        assert_ok(ctx, kb_active_create(ctx, N, &a));
        for (size_t active = 0; active <= N; active++) {
            for (size_t i = 0; i < N; i++)
                h[(i * 17) % N] = i < active ? 0.5 : 0;
            assert_int_equal(kb_active_worth(a, h), active > 0 && 2 * active <= N);
        }
        kb_active_free(ctx, a);
    }
    enum { MANY = 20000 };
    double *h = calloc(MANY, sizeof *h);
    assert_ok(ctx, kb_active_create(ctx, MANY, &a));
    for (double share = 0.1; share < 1; share += 0.2) {
        for (size_t i = 0; i < MANY; i++)
            h[i] = test_uniform(9, i) < share ? 2 : 0;
        assert_int_equal(kb_active_worth(a, h), share < 0.45);
    }
    for (size_t i = 0; i < MANY; i++) /* most rows, and none of those that are looked at first */
        h[i] = i % 61 != 0;
    assert_int_equal(kb_active_worth(a, h), 0);
    kb_active_free(ctx, a);
    free(h);
    kb_context_free(ctx);
}

/* What a round with more rows left behind does not show in one with fewer. */
static void rounds_do_not_remember_each_other(void **unused) {
    static const double share[] = {0.1, 0.4, 0.1};
    kb_context *ctx = test_context();
    kb_active *a;
    direction first = {0};
    (void)unused;
    assert_ok(ctx, kb_active_create(ctx, 200, &a));
    for (int k = 0; k < 3; k++) {
        round_system s = round_create(ctx, 200, 12, share[k]);
        direction found = round_solve(ctx, a, &s);
        if (k == 2)
            assert_same_bits(found.d, first.d, 200);
        if (k == 0)
            first = found;
        else
            direction_free(&found);
        round_free(&s);
    }
    direction_free(&first);
    kb_active_free(ctx, a);
    kb_context_free(ctx);
}

/* ---- promises ---------------------------------------------------------- */

static int solve_once(kb_context *ctx, void *arg) {
    round_system *s = arg;
    kb_status status;
    kb_active *a = NULL;
    kb_operator *op = NULL;
    double d[60], k_d[60], square;
    kb_smooth mine = s->smooth;
    kb_newton_system system = s->system;
    system.p = &mine;
    TRY(kb_operator_binmat(ctx, s->p.w.z, &op));
    mine.op = op;
    TRY(kb_active_create(ctx, 60, &a));
    TRY(kb_active_solve(ctx, a, &system, d, k_d, &square));
done:
    kb_active_free(ctx, a);
    kb_operator_free(op);
    return (int)status;
}

static void a_round_may_fail_or_be_cancelled(void **unused) {
    kb_context *ctx = test_context();
    round_system s = round_create(ctx, 60, 8, 0.4);
    (void)unused;
    run_with_allocation_failures(solve_once, &s);
    run_with_cancellations(solve_once, &s, 1, 1);
    round_free(&s);
    kb_context_free(ctx);
}

static void threads_change_no_bit(void **unused) {
    static const int teams[] = {1, 2, 5};
    enum { N = 12000 };
    double *first = NULL;
    (void)unused;
    for (int t = 0; t < 3; t++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, teams[t]);
        round_system s = round_create(ctx, N, 3, 0.45);
        kb_active *a;
        assert_ok(ctx, kb_active_create(ctx, N, &a));
        direction found = round_solve(ctx, a, &s);
        if (t == 0) {
            first = found.d;
            found.d = NULL;
        } else {
            assert_same_bits(first, found.d, N);
        }
        direction_free(&found);
        kb_active_free(ctx, a);
        round_free(&s);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_without_curvature_may_be_left_out),
        cmocka_unit_test(most_of_the_gain_is_found),
        cmocka_unit_test(a_number_stands_for_the_other_rows),
        cmocka_unit_test(the_first_step_is_along_the_gradient),
        cmocka_unit_test(it_pays_for_few_rows),
        cmocka_unit_test(rounds_do_not_remember_each_other),
        cmocka_unit_test(a_round_may_fail_or_be_cancelled),
        cmocka_unit_test(threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
