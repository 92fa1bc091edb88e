/* Sweeps for losses of classes: against dense Newton, and their guarantees. */
#include "solve/smooth.h"

#include "sweeps/margin_sweeps.h"

typedef struct answer {
    double *w, *f, *b;
} answer;

static answer answer_create(const problem *p) {
    answer a = {calloc(p->D * p->C, sizeof(double)), calloc(p->N * p->C, sizeof(double)),
                calloc(p->C, sizeof(double))};
    assert_non_null(a.b);
    return a;
}

static void answer_free(answer *a) {
    free(a->w), free(a->f), free(a->b);
}

static kb_margin margin_of(problem *p, answer *a, double tol, size_t max_steps) {
    return (kb_margin){.z = p->w.z,
                       .op = p->base,
                       .op_one = p->constant ? p->constant : p->base,
                       .loss = kb_loss_find(KIND[p->kind]),
                       .lambda = p->lambda,
                       .tol = tol,
                       .max_steps = max_steps,
                       .C = p->C,
                       .y = p->y,
                       .s = p->s,
                       .intercept = p->constant != NULL,
                       .w = a->w,
                       .b = a->b,
                       .f = a->f,
                       .steps = 12345,
                       .converged = 77,
                       .objective = NAN};
}

/* w with b as the weight of the constant, where there is one: D x C. */
static double *all_weights(const problem *p, const answer *a) {
    double *w = malloc(p->D * p->C * sizeof *w);
    size_t bins = p->D - (p->constant != NULL);
    memcpy(w, a->w, bins * p->C * sizeof *w);
    if (p->constant)
        memcpy(w + bins * p->C, a->b, p->C * sizeof *w);
    return w;
}

/* The largest |gradient| / |that of w = 0| of an output, from the matrix. */
static double true_gradient(const problem *p, const double *w) {
    size_t n = p->D * p->C;
    double *g = malloc(n * sizeof *g), *g0 = malloc(n * sizeof *g0), worst = 0;
    double *zero = calloc(n, sizeof *zero);
    dense_objective(p, w, g, NULL);
    dense_objective(p, zero, g0, NULL);
    for (size_t c = 0; c < p->C; c++) {
        double above = 0, below = 0;
        for (size_t e = c; e < n; e += p->C) {
            above += g[e] * g[e];
            below += g0[e] * g0[e];
        }
        worst = fmax(worst, sqrt(above / below));
    }
    free(g), free(g0), free(zero);
    return worst;
}

/* The objective is off by |gradient|^2 / (2 lambda) at most, so 1e-10 of its size with this tol. */
static void check_against_dense(kb_context *ctx, problem *p) {
    double least;
    double *w = dense_newton(p, &least);
    answer a = answer_create(p);
    kb_margin mine = margin_of(p, &a, 1e-6, 5000);
    assert_ok(ctx, kb_margin_fit(ctx, &mine));
    double *my_w = all_weights(p, &a), *f = rows_of(p, my_w);
    assert_int_equal(mine.converged, 1);
    if (!close_to(mine.objective, least, 1e-8))
        fail_msg("%s, lambda %g: %.15g, not %.15g", KIND[p->kind], p->lambda, mine.objective,
                 least);
    assert_true(close_to(mine.objective, dense_objective(p, my_w, NULL, NULL), 1e-12));
    assert_close(a.f, f, p->N * p->C, 1e-10);
    assert_true(true_gradient(p, my_w) <= 1.1e-6); /* rounding to whole numbers */
    free(w), free(my_w), free(f);
    answer_free(&a);
}

/* With one slice of grids and with two, and with a part of a bundle in the last. */
static void solutions_agree_with_dense_newton(void **unused) {
    static const double lambdas[] = {0.01, 0.3, 10};
    static const size_t grids[] = {3, 16, 40};
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++)
        for (int how = 0; how < 4; how++)
            for (int k = 0; k < 3; k++) {
                problem p = problem_create(ctx, kind, 60, grids[k], 1);
                p.lambda = lambdas[(how + k) % 3];
                if (how & 1)
                    weigh(&p);
                if (how & 2)
                    add_constant(ctx, &p);
                check_against_dense(ctx, &p);
                problem_free(&p);
            }
    kb_context_free(ctx);
}

static void several_outputs_agree_with_dense_newton(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++)
        for (size_t C = 2; C <= KB_PANEL; C += 3) {
            problem p = problem_create(ctx, kind, 50, 5, C);
            if (C == 5)
                weigh(&p);
            add_constant(ctx, &p);
            check_against_dense(ctx, &p);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

static void the_tolerance_is_reached(void **unused) {
    static const double tols[] = {0.3, 1e-2, 1e-4};
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++) {
        problem p = problem_create(ctx, kind, 300, 40, 1);
        answer a = answer_create(&p);
        double before = INFINITY;
        for (size_t k = 0; k < 3; k++) {
            kb_margin mine = margin_of(&p, &a, tols[k], 500);
            assert_ok(ctx, kb_margin_sweeps(ctx, &mine));
            assert_int_equal(mine.converged, 1);
            assert_true(true_gradient(&p, a.w) <= tols[k] * 1.001);
            assert_true(mine.objective <= before);
            before = mine.objective;
        }
        answer_free(&a);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* What one sweep leaves, Newton's method finishes. */
static void few_sweeps_do_not_claim_to_have_converged(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++) {
        problem p = problem_create(ctx, kind, 80, 40, 1);
        answer a = answer_create(&p);
        double last = INFINITY;
        for (size_t most = 1; most < 6; most++) {
            kb_margin mine = margin_of(&p, &a, 1e-9, most);
            assert_ok(ctx, kb_margin_sweeps(ctx, &mine));
            assert_true(!mine.converged && mine.steps == most);
            assert_true(mine.objective < last);
            last = mine.objective;
        }
        answer_free(&a);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void a_tight_tolerance_is_left_to_newton(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++) {
        problem p = problem_create(ctx, kind, 60, 20, 1);
        answer a = answer_create(&p);
        add_constant(ctx, &p);
        double least, *dense = dense_newton(&p, &least);
        kb_margin mine = margin_of(&p, &a, 1e-11, 5000);
        assert_ok(ctx, kb_margin_fit(ctx, &mine));
        assert_int_equal(mine.converged, 1);
        double *w = all_weights(&p, &a);
        assert_true(true_gradient(&p, w) <= 2e-11); /* rounding */
        assert_true(close_to(mine.objective, least, 1e-12));
        free(w), free(dense);
        answer_free(&a);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void a_start_saves_sweeps(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++) {
        problem p = problem_create(ctx, kind, 200, 40, 2);
        answer a = answer_create(&p);
        add_constant(ctx, &p);
        kb_margin first = margin_of(&p, &a, 1e-5, 500);
        assert_ok(ctx, kb_margin_fit(ctx, &first));
        p.lambda *= 0.9;
        kb_margin warm = margin_of(&p, &a, 1e-4, 500);
        warm.warm = 1;
        assert_ok(ctx, kb_margin_fit(ctx, &warm));
        kb_margin cold = margin_of(&p, &a, 1e-4, 500);
        assert_ok(ctx, kb_margin_fit(ctx, &cold));
        assert_true(warm.converged && cold.converged && warm.steps < cold.steps);
        assert_true(close_to(warm.objective, cold.objective, 1e-5));
        answer_free(&a);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

static void the_number_of_threads_changes_no_bit(void **unused) {
    static const int threads[] = {1, 2, 3, 7};
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++)
        for (size_t C = 1; C <= 3; C += 2) {
            answer first = {0};
            for (size_t k = 0; k < 4; k++) {
                test_state state = {0};
                kb_context *ctx = test_context_with(&state, threads[k]);
                problem p = problem_create(ctx, kind, 5000, 40, C);
                answer a = answer_create(&p);
                if (C == 3)
                    weigh(&p);
                add_constant(ctx, &p);
                kb_margin mine = margin_of(&p, &a, 1e-9, 9);
                assert_ok(ctx, kb_margin_sweeps(ctx, &mine));
                if (k == 0) {
                    first = a;
                } else {
                    assert_memory_equal(a.w, first.w, (p.D - 1) * C * sizeof(double));
                    assert_memory_equal(a.f, first.f, p.N * C * sizeof(double));
                    assert_memory_equal(a.b, first.b, C * sizeof(double));
                    answer_free(&a);
                }
                problem_free(&p);
                kb_context_free(ctx);
            }
            answer_free(&first);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_agree_with_dense_newton),
        cmocka_unit_test(several_outputs_agree_with_dense_newton),
        cmocka_unit_test(the_tolerance_is_reached),
        cmocka_unit_test(few_sweeps_do_not_claim_to_have_converged),
        cmocka_unit_test(a_tight_tolerance_is_left_to_newton),
        cmocka_unit_test(a_start_saves_sweeps),
        cmocka_unit_test(the_number_of_threads_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
