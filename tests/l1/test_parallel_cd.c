/* Coordinate descent by many threads: with one thread it is the plain one, with several it
 * converges too, and steps that are too long are undone. */
#include "l1/l1problem.h"

/* A second copy under another name, for the functions inside it. */
kb_l1_solver parallel_inside;
#define kb_l1_parallel_cd parallel_inside
#include "l1/parallel_cd.c"
#undef kb_l1_parallel_cd

static void release_parallel(kb_context *ctx, parallel *a) {
    kb_release(ctx, a->f), kb_release(ctx, a->push), kb_release(ctx, a->w);
    kb_release(ctx, a->M), kb_release(ctx, a->old);
    kb_l1_close(&a->r);
}

/* ---- one thread -------------------------------------------------------- */

static void one_thread_takes_the_steps_of_plain_loops(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    check_steps_of_plain_cd(ctx, kb_l1_parallel_cd);
    kb_context_free(ctx);
}

static void one_thread_gives_the_same_bits_again(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    double *first = NULL;
    (void)unused;
    for (int t = 0; t < 2; t++) {
        problem q = problem_create(ctx, "logistic", 300, 5);
        q.p.max_epochs = 9;
        assert_ok(ctx, kb_l1_parallel_cd(ctx, &q.p));
        if (t == 0)
            first = q.weights, q.weights = NULL;
        else
            assert_same_bits(first, q.weights, q.D);
        problem_free(&q);
    }
    free(first);
    kb_context_free(ctx);
}

/* One after the other the threads of a team make the draws of one. */
static void threads_share_the_draws_of_an_epoch(void **unused) {
    enum { TEAM = 3 };
    kb_context *ctx = test_context();
    parallel a = {0};
    (void)unused;
    problem q = problem_create(ctx, "squared-hinge", 100, 5);
    double b, *want = plain_cd(&q, 1, &b);
    assert_ok(ctx, create(ctx, &q.p, &a));
    assert_ok(ctx, kb_l1_look(&a.r));
    share(&a);
    for (int me = 0; me < TEAM; me++)
        draw_columns(&a, me, TEAM);
    collect(&a);
    assert_close(q.weights, want, q.D, 1e-9);
    free(want);
    release_parallel(ctx, &a);
    problem_free(&q);
    kb_context_free(ctx);
}

/* ---- many -------------------------------------------------------------- */

/* Within the tolerance of the objective that one thread finds. */
static void threads_arrive_where_one_does(void **unused) {
    (void)unused;
    for (int kind = 0; kind < L1_KINDS; kind++) {
        double least = 0;
        for (int threads = 1; threads <= 5; threads += 2) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, threads);
            problem q = problem_of_kind(ctx, kind, 100, 6);
            q.p.tol = 1e-6;
            assert_ok(ctx, (threads == 1 ? kb_l1_cd : kb_l1_parallel_cd)(ctx, &q.p));
            assert_true(q.p.converged);
            check_word(&q);
            least = threads == 1 ? q.p.objective : least;
            assert_true(fabs(q.p.objective - least) <= 1e-6 * least);
            problem_free(&q);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
    }
}

/* ---- steps that go too far --------------------------------------------- */

/* Second derivatives that are `share` of what they are: the steps are longer. */
static void make_long(parallel *a, double share) {
    for (size_t j = 0; j < a->r.D; j++)
        a->M[j] *= share;
}

/* No epoch raises the objective, and what the rows know stays true. */
static void the_objective_never_rises(void **unused) {
    static const double share[] = {1, 0.5, 0.45, 0.05};
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 3);
    (void)unused;
    for (int kind = 0; kind < L1_KINDS; kind++)
        for (int k = 0; k < 4; k++) {
            problem q = problem_of_kind(ctx, kind, 150, 6);
            parallel a = {0};
            assert_ok(ctx, create(ctx, &q.p, &a));
            assert_ok(ctx, kb_l1_look(&a.r));
            make_long(&a, share[k]);
            double objective = q.p.objective;
            for (int round = 0; round < 8; round++) {
                double before = objective;
                assert_ok(ctx, epoch(&a, &objective));
                assert_true(objective <= before * (1 + 1e-11));
                assert_true(fabs(objective - objective_of(&q, q.weights, q.p.b)) <=
                            1e-10 * objective);
            }
            release_parallel(ctx, &a);
            check_f(&q);
            problem_free(&q);
        }
    kb_context_free(ctx);
}

/* With damp = k a step is that of a k times larger second derivative. */
static void damped_steps_are_shorter(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (double damp = 1; damp <= 8; damp *= 2) {
        problem q = problem_create(ctx, "logistic", 100, 5);
        parallel a = {0};
        size_t moved = 0;
        assert_ok(ctx, create(ctx, &q.p, &a));
        assert_ok(ctx, kb_l1_look(&a.r));
        a.damp = damp;
        share(&a);
        for (size_t j = 0; j < q.D; j++) {
            double want = least_of_bound(0, pull_of(&a, j), damp * a.M[j], q.p.lambda);
            step(&a, j);
            assert_true(fabs(read_shared(&a.w[j]) - want) <= 1e-12);
            moved += want != 0;
        }
        assert_true(moved > 5);
        release_parallel(ctx, &a);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* One thread takes the same epoch twice: first to see where it leads, then with an objective to
 * compare with that is a little below. */
static void a_small_rise_is_a_rise(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    double there = INFINITY;
    (void)unused;
    for (int again = 0; again < 2; again++) {
        problem q = problem_create(ctx, "logistic", 100, 5);
        parallel a = {0};
        assert_ok(ctx, create(ctx, &q.p, &a));
        assert_ok(ctx, kb_l1_look(&a.r));
        double below = there * (1 - 1e-10), objective = below;
        assert_ok(ctx, epoch(&a, &objective));
        assert_int_equal(objective == below, again);
        there = objective;
        release_parallel(ctx, &a);
        assert_int_equal(q.p.nonzeros == 0, again);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* Steps that are too long by far: undone to the bit, then half as long, down to one over the number
 * of threads; then one goes on alone. */
static void an_epoch_that_rises_is_undone(void **unused) {
    enum { THREADS = 4 };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, THREADS);
    problem q = problem_create(ctx, "square", 150, 6);
    parallel a = {0};
    (void)unused;
    q.p.intercept = 1;
    for (size_t j = 0; j < q.D; j++)
        q.weights[j] = 2 * test_uniform(8, j) - 1;
    assert_ok(ctx, create(ctx, &q.p, &a));
    assert_ok(ctx, kb_l1_look(&a.r));
    make_long(&a, 0.001);
    double objective = q.p.objective, first = objective, b = q.p.b;
    double *w = malloc(q.D * sizeof *w);
    memcpy(w, q.weights, q.D * sizeof *w);
    for (int round = 0; round < 4; round++) {
        static const double damp[] = {2, 4, 1, 1};
        assert_ok(ctx, epoch(&a, &objective));
        assert_true(objective == first);
        assert_same_bits(w, q.weights, q.D);
        assert_true(q.p.b == b);
        assert_true(a.damp == damp[round]);
        assert_int_equal(a.alone, round >= 2);
    }
    free(w);
    release_parallel(ctx, &a);
    problem_free(&q);
    kb_context_free(ctx);
}

/* ---- problems that are worth more threads ------------------------------ */

/* So many rows, and columns, that every thread has some of both. */
static kb_l1 large_problem(kb_context *ctx, world *w, const char *loss) {
    enum { N = 20000 };
    kb_zcolumns *columns;
    *w = world_build(ctx, N, 2, 16, 0.03);
    assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w->z, &columns));
    assert_true(w->z->bins > 2 * KB_WORTH_A_THREAD);
    double *y = malloc(N * sizeof *y);
    for (size_t i = 0; i < N; i++)
        y[i] = sin(3 * w->x[2 * i]) + test_uniform(7, i) > 0.5 ? 1 : -1;
    return (kb_l1){.columns = columns,
                   .loss = kb_loss_find(loss),
                   .lambda = 0.2,
                   .tol = 1e-10,
                   .max_epochs = 2,
                   .seed = 1,
                   .y = y,
                   .w = calloc(w->z->bins, sizeof(double)),
                   .f = malloc(N * sizeof(double))};
}

static void large_problem_free(world *w, kb_l1 *p) {
    kb_zcolumns_free((kb_zcolumns *)p->columns);
    free((void *)p->y), free(p->w), free(p->f);
    world_free(w);
}

/* Every column has its bound; what is laid open to all threads and gathered again is what it was,
 * of every row and column. */
static void no_row_or_column_is_lost(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 3);
    world w;
    kb_l1 p = large_problem(ctx, &w, "square");
    parallel a = {0};
    (void)unused;
    assert_ok(ctx, create(ctx, &p, &a));
    for (size_t j = 0; j < a.r.D; j++) {
        double curve = 0;
        for (kb_nonzero z = kb_nonzeros(a.r.c, j); kb_nonzero_next(a.r.c, &z);)
            curve += z.value * z.value;
        assert_true(fabs(a.M[j] - curve) <= 1e-12 * curve);
    }
    for (size_t k = 0; k < a.r.N; k++)
        a.r.f[k] = (double)k + 1, a.r.push[k] = -(double)k - 1;
    for (size_t j = 0; j < a.r.D; j++)
        p.w[j] = (double)j + 0.5;
    share(&a);
    for (size_t k = 0; k < a.r.N; k++) {
        assert_true(read_shared(&a.push[k]) == -(double)k - 1);
        a.r.f[k] = 0;
    }
    memset(p.w, 0, a.r.D * sizeof *p.w);
    collect(&a);
    for (size_t k = 0; k < a.r.N; k++)
        assert_true(a.r.f[k] == (double)k + 1);
    for (size_t j = 0; j < a.r.D; j++)
        assert_true(p.w[j] == (double)j + 0.5 && a.old[j] == p.w[j]);
    release_parallel(ctx, &a);
    large_problem_free(&w, &p);
    kb_context_free(ctx);
}

/* Of the two solvers that promise it. */
static void threads_change_no_bit_of_large_problems(void **unused) {
    static kb_l1_solver *const solve[] = {kb_l1_cd, kb_l1_grid_cd};
    (void)unused;
    for (int k = 0; k < 2; k++) {
        double *first = NULL;
        for (int threads = 1; threads <= 3; threads++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, threads);
            world w;
            kb_l1 p = large_problem(ctx, &w, k ? "logistic" : "square");
            assert_ok(ctx, solve[k](ctx, &p));
            assert_true(p.nonzeros > 1000);
            if (threads == 1)
                first = p.w, p.w = NULL;
            else
                assert_same_bits(first, p.w, w.z->bins);
            large_problem_free(&w, &p);
            kb_context_free(ctx);
        }
        free(first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_takes_the_steps_of_plain_loops),
        cmocka_unit_test(one_thread_gives_the_same_bits_again),
        cmocka_unit_test(threads_share_the_draws_of_an_epoch),
        cmocka_unit_test(threads_arrive_where_one_does),
        cmocka_unit_test(damped_steps_are_shorter),
        cmocka_unit_test(the_objective_never_rises),
        cmocka_unit_test(a_small_rise_is_a_rise),
        cmocka_unit_test(an_epoch_that_rises_is_undone),
        cmocka_unit_test(no_row_or_column_is_lost),
        cmocka_unit_test(threads_change_no_bit_of_large_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
