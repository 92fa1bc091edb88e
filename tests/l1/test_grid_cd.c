/* grid-cd alone: its gap, groups of columns, and its bits. */
#include "l1/l1problem.h"

static void the_gap_is_never_too_small(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    for (size_t l = 0; l < 3; l++)
        for (int kind = 0; kind < 8; kind++) {
            problem q = problem_create(ctx, LOSS[l], 120, 5);
            q.p.s = kind % 2 ? q.s : NULL;
            q.p.intercept = kind / 2 % 2;
            q.p.group = kind / 4;
            q.p.lambda = q.p.group ? 0.05 : 0.2;
            q.p.tol = 1e-10;
            assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
            if (!q.p.converged)
                fail_msg("%s, kind %d: gap %g of %g after %zu", LOSS[l], kind, q.p.gap,
                         q.p.objective, q.p.epochs);
            double least = q.p.objective;
            for (size_t epochs = 0; epochs < 20; epochs++) {
                from_zero(&q);
                q.p.max_epochs = epochs;
                assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
                assert_true(q.p.gap >= q.p.objective - least - 1e-12 * least);
            }
            problem_free(&q);
        }
    kb_context_free(ctx);
}

/* |pull of the block| <= lambda_g, and pull = lambda_g w/|w| where it is not zero. */
static void groups_meet_their_conditions(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    for (size_t l = 0; l < 3; l++)
        for (int kind = 0; kind < 4; kind++) {
            problem q = problem_create(ctx, LOSS[l], 150, 8);
            const kb_zcolumns *c = q.columns;
            double sum, most;
            size_t dropped = 0;
            q.p.group = 1;
            q.p.s = kind % 2 ? q.s : NULL;
            q.p.intercept = kind / 2;
            assert_ok(ctx, kb_l1_lambda_max(ctx, &q.p, &most));
            q.p.lambda = most / 3;
            assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
            assert_true(q.p.converged);
            check_word(&q);
            double *pull = pulls_of(&q, &sum);
            for (size_t g = 0; g < c->blocks; g++) {
                size_t begin = c->block_start[g], end = c->block_start[g + 1];
                double lambda = q.p.lambda * sqrt((double)(end - begin)), size = 0, far = 0;
                for (size_t j = begin; j < end; j++)
                    size += q.weights[j] * q.weights[j];
                size = sqrt(size);
                for (size_t j = begin; j < end; j++) {
                    double d = pull[j] - (size > 0 ? lambda * q.weights[j] / size : 0);
                    far += d * d;
                }
                dropped += size == 0;
                assert_true(sqrt(far) <= (size > 0 ? 0 : lambda) + 5e-4);
            }
            assert_true(dropped > 0 && dropped < c->blocks);
            free(pull);
            problem_free(&q);
        }
    kb_context_free(ctx);
}

/* Without the steps over the last moves it takes ten times as many. */
static void a_small_penalty_on_groups_does_not_take_long(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    for (size_t l = 0; l < 3; l++) {
        problem q = problem_create(ctx, LOSS[l], 400, 16);
        double most;
        q.p.group = 1;
        q.p.tol = 1e-4;
        assert_ok(ctx, kb_l1_lambda_max(ctx, &q.p, &most));
        q.p.lambda = most / 1000;
        assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
        assert_true(q.p.converged && q.p.epochs <= 400);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

static void grid_cd_gives_the_same_bits_for_any_number_of_threads(void **unused) {
    (void)unused;
    static const int threads[] = {1, 2, 3, 5};
    for (size_t l = 0; l < 3; l++)
        for (int kind = 0; kind < 4; kind++) {
            double *first = NULL, *first_f = NULL;
            for (size_t t = 0; t < 4; t++) {
                test_state state = {0};
                kb_context *ctx = test_context_with(&state, threads[t]);
                problem q = problem_create(ctx, LOSS[l], 6000, 5); /* work enough to share */
                q.p.tol = 1e-3;
                q.p.s = kind == 1 ? q.s : NULL;
                q.p.intercept = kind == 2;
                q.p.group = kind == 3;
                q.p.lambda = kind == 3 ? 0.5 : 1;
                assert_ok(ctx, kb_l1_grid_cd(ctx, &q.p));
                assert_true(q.p.converged);
                if (t == 0) {
                    first = q.weights, q.weights = NULL;
                    first_f = q.f, q.f = NULL;
                } else {
                    assert_same_bits(first, q.weights, q.D);
                    assert_same_bits(first_f, q.f, q.N);
                }
                problem_free(&q);
                kb_context_free(ctx);
                assert_int_equal(state.live, 0);
            }
            free(first), free(first_f);
        }
}

/* So many rows have more parts, and a grid is visited in several turns. */
static void many_rows_too_give_the_same_bits(void **unused) {
    (void)unused;
    enum { N = 270001 };
    static const int threads[] = {1, 2, 3, 8};
    kb_context *maker = test_context();
    world w = world_build(maker, N, 2, 3, 0.5);
    double *y = malloc(N * sizeof *y), *f = malloc(N * sizeof *f), *first_f = malloc(N * sizeof *f);
    double *x = malloc(w.z->bins * sizeof *x), *first = malloc(w.z->bins * sizeof *x);
    for (size_t i = 0; i < N; i++)
        y[i] = sin(3 * w.x[2 * i]) + w.x[2 * i + 1] + test_uniform(7, i) > 0.3 ? 1 : -1;
    for (size_t l = 0; l < 3; l++)
        for (size_t t = 0; t < 4; t++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, threads[t]);
            kb_zcolumns *c;
            assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
            assert_int_equal(c->parts, 8);
            kb_l1 p = {.columns = c,
                       .loss = kb_loss_find(LOSS[l]),
                       .lambda = 100,
                       .tol = 1e-3,
                       .max_epochs = 8,
                       .seed = 1,
                       .y = y,
                       .w = memset(t == 0 ? first : x, 0, w.z->bins * sizeof *x),
                       .f = t == 0 ? first_f : f};
            assert_ok(ctx, kb_l1_grid_cd(ctx, &p));
            assert_true(p.nonzeros > 0);
            if (t > 0) {
                assert_same_bits(first, x, w.z->bins);
                assert_same_bits(first_f, f, N);
            }
            kb_zcolumns_free(c);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
    world_free(&w);
    kb_context_free(maker);
    free(y), free(f), free(first_f), free(x), free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gap_is_never_too_small),
        cmocka_unit_test(groups_meet_their_conditions),
        cmocka_unit_test(a_small_penalty_on_groups_does_not_take_long),
        cmocka_unit_test(grid_cd_gives_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(many_rows_too_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
