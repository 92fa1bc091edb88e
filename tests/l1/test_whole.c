/* test_whole.c - sums over columns that do not depend on how the rows lie on ranks. */
#define _POSIX_C_SOURCE 200809L
#include "ranked.h"

#include "l1/l1problem.h"
#include "l1/l1_rows.h"

/* Sums of numbers with so many bits are exact in any order. */
static void sums_of_rounded_numbers_are_exact(void **state) {
    enum { N = 5000 };
    (void)state;
    assert_int_equal(kb_l1_bits(1), 40);
    assert_int_equal(kb_l1_bits(1 << 20), 31);
    assert_int_equal(kb_l1_bits((1 << 20) + 1), 30);
    for (int scale = -300; scale <= 300; scale += 60) {
        double most = ldexp(0.7, scale), forward = 0, back = 0;
        kb_l1_unit u = kb_l1_unit_of(most, kb_l1_bits(N));
        for (size_t i = 0; i < N; i++) {
            double x = most * (2 * test_uniform(1, i) - 1), r = kb_l1_round(&u, x);
            assert_true(fabs(r - x) <= u.unit / 2 && fmod(r, u.unit) == 0);
            forward += r;
            back += kb_l1_round(&u, most * (2 * test_uniform(1, N - 1 - i) - 1));
        }
        assert_true(forward == back && u.unit * u.per == 1);
    }
    assert_true(kb_l1_unit_of(0, 40).per == 0 && kb_l1_unit_of(NAN, 40).per == 0);
}

typedef struct solved {
    const char *loss;
    int group;
    double objective, gap;
} solved;

/* One rank: the pulls of a look against plain loops, then the solution. */
static void look_and_solve(kb_context *ctx, void *arg) {
    solved *s = arg;
    problem q = problem_create(ctx, s->loss, 90, 12);
    kb_l1_rows r;
    double sum, *pull;
    q.p.group = s->group;
    q.p.s = q.s;
    for (size_t j = 0; j < q.D; j++)
        q.weights[j] = test_uniform(3, j) - 0.5;
    assert_ok(ctx, kb_l1_open(ctx, &q.p, &r));
    assert_true(r.ranked);
    assert_ok(ctx, kb_l1_look(&r));
    double *found = malloc(q.D * sizeof *found);
    memcpy(found, r.pull, q.D * sizeof *found);
    kb_l1_close(&r);
    pull = pulls_of(&q, &sum);
    assert_close(found, pull, q.D, 1e-13); /* both round sums of 90 */
    from_zero(&q);
    assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
    assert_true(q.p.converged);
    check_f(&q);
    s->objective = objective_of(&q, q.weights, q.p.b);
    s->gap = q.p.gap;
    assert_true(fabs(s->objective - q.p.objective) <= 1e-12 * s->objective);
    free(pull), free(found);
    problem_free(&q);
}

/* To the last digits: a rounded step is followed by one from new pushes. */
static void the_least_objective_is_that_of_one_process(void **state) {
    kb_context *ctx = test_context();
    (void)state;
    for (size_t l = 0; l < 3; l++)
        for (int group = 0; group < 2; group++) {
            solved s = {.loss = LOSS[l], .group = group};
            run_ranked(1, 1, look_and_solve, &s);
            problem q = problem_create(ctx, s.loss, 90, 12);
            q.p.group = group;
            q.p.s = q.s;
            assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
            assert_true(fabs(q.p.objective - s.objective) <= 1e-9 * s.objective);
            assert_true(q.p.objective >= s.objective - s.gap - 1e-13 * s.objective);
            problem_free(&q);
        }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_rounded_numbers_are_exact),
        cmocka_unit_test(the_least_objective_is_that_of_one_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
