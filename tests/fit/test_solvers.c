/* The table of solvers: which one solves what. */
#include "model/fitted.h"

#include "fit/solvers.h"

static const kb_map_kind MAPS[] = {KB_MAP_BINNING, KB_MAP_FOURIER, KB_MAP_NYSTROM, KB_MAP_BLOCKS,
                                   KB_MAP_EXACT};
static const kb_loss_kind LOSSES[] = {KB_LOSS_SQUARE, KB_LOSS_LOGISTIC, KB_LOSS_SQUARED_HINGE};

static void auto_is_the_solver_of_the_problem(void **unused) {
    (void)unused;
    for (size_t m = 0; m < 5; m++)
        for (size_t l = 0; l < 3; l++)
            for (kb_penalty p = KB_PENALTY_L2; p <= KB_PENALTY_L1; p++) {
                kb_config c = {.map = MAPS[m], .loss = LOSSES[l], .penalty = p};
                kb_solver_kind want = p == KB_PENALTY_L1            ? KB_SOLVER_GRID_CD
                                      : LOSSES[l] == KB_LOSS_SQUARE ? KB_SOLVER_CG
                                                                    : KB_SOLVER_NEWTON;
                assert_int_equal(kb_solver_of(&c)->kind, want);
            }
}

/* Each has one function, that of its kind of problem; the direct one has none. */
static void a_solver_has_one_function(void **unused) {
    (void)unused;
    for (kb_solver_kind kind = KB_SOLVER_CG; kind <= KB_SOLVER_CHOLESKY; kind++) {
        kb_config c = {.solver = kind};
        const kb_solver *s = kb_solver_of(&c);
        assert_int_equal(s->kind, kind);
        assert_int_equal((s->ridge != NULL) + (s->smooth != NULL) + (s->l1 != NULL) +
                             (s->sweeps != NULL) + (s->margin != NULL),
                         kind != KB_SOLVER_CHOLESKY);
        assert_int_equal(s->l1 != NULL, s->penalty == KB_PENALTY_L1);
        assert_int_equal(s->weights, s->l1 || s->sweeps); /* the others give alpha */
        assert_true(s->batch >= 1);
    }
}

/* The same name for several problems: the row is that of the loss. */
static void sweeps_solve_every_loss_of_binning(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t l = 0; l < 3; l++) {
        kb_config c = {.solver = KB_SOLVER_SWEEPS, .loss = LOSSES[l], .map = KB_MAP_BINNING};
        const kb_solver *s = kb_solver_of(&c);
        assert_ok(ctx, kb_solver_check_loss(ctx, &c));
        assert_true(s->kind == KB_SOLVER_SWEEPS && s->weights);
        assert_int_equal(s->sweeps != NULL, LOSSES[l] == KB_LOSS_SQUARE);
        assert_int_equal(s->margin != NULL, LOSSES[l] != KB_LOSS_SQUARE);
    }
    kb_context_free(ctx);
}

static void the_direct_solver_is_for_kernels_and_the_square_loss(void **unused) {
    (void)unused;
    for (size_t m = 0; m < 5; m++)
        for (size_t l = 0; l < 3; l++) {
            kb_config c = {.map = MAPS[m], .loss = LOSSES[l]};
            int may = MAPS[m] >= KB_MAP_BLOCKS && LOSSES[l] == KB_LOSS_SQUARE;
            assert_int_equal(kb_solver_direct(&c) != NULL, may);
            c.solver = KB_SOLVER_CHOLESKY;
            assert_int_equal(kb_solver_direct(&c) != NULL, may);
            c.solver = KB_SOLVER_CG;
            assert_null(kb_solver_direct(&c));
        }
}

static void what_does_not_fit_is_refused(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    kb_config c = {.solver = KB_SOLVER_CG, .penalty = KB_PENALTY_L1, .loss = KB_LOSS_SQUARE};
    assert_fails(ctx, KB_ERR_ARGUMENT, "--solver cg: does not solve --penalty l1",
                 kb_solver_check_penalty(ctx, &c));
    c = (kb_config){.solver = KB_SOLVER_NEWTON, .loss = KB_LOSS_SQUARE};
    assert_fails(ctx, KB_ERR_ARGUMENT, "--solver newton: does not solve --loss square",
                 kb_solver_check_loss(ctx, &c));
    c = (kb_config){.solver = KB_SOLVER_CHOLESKY, .loss = KB_LOSS_SQUARE};
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "--solver cholesky: needs --loss square and --map blocks or exact",
                 kb_solver_check_loss(ctx, &c));
    c = (kb_config){.solver = KB_SOLVER_SWEEPS, .penalty = KB_PENALTY_L1, .loss = KB_LOSS_SQUARE};
    assert_fails(ctx, KB_ERR_ARGUMENT, "--solver sweeps: does not solve --penalty l1",
                 kb_solver_check_penalty(ctx, &c));
    for (size_t m = 0; m < 5; m++)
        for (size_t l = 0; l < 3; l++) {
            c = (kb_config){.solver = KB_SOLVER_SWEEPS, .map = MAPS[m], .loss = LOSSES[l]};
            if (MAPS[m] == KB_MAP_BINNING)
                assert_ok(ctx, kb_solver_check_loss(ctx, &c));
            else
                assert_fails(ctx, KB_ERR_ARGUMENT, "--solver sweeps: needs --map binning",
                             kb_solver_check_loss(ctx, &c));
        }
    static const kb_loss_kind NUMBERS[] = {KB_LOSS_QUANTILE, KB_LOSS_ABSOLUTE, KB_LOSS_POISSON};
    for (size_t l = 0; l < 3; l++) {
        c = (kb_config){.loss = NUMBERS[l]};
        assert_ok(ctx, kb_solver_check_loss(ctx, &c));
        assert_int_equal(kb_solver_of(&c)->kind, KB_SOLVER_NEWTON);
        assert_true(kb_solver_of(&c)->smooth == kb_unit_fit);
        c.solver = KB_SOLVER_NEWTON;
        assert_true(kb_solver_of(&c)->smooth == kb_unit_fit);
    }
    c = (kb_config){.solver = KB_SOLVER_SWEEPS, .loss = KB_LOSS_POISSON};
    assert_fails(ctx, KB_ERR_ARGUMENT, "--solver sweeps: does not solve --loss poisson",
                 kb_solver_check_loss(ctx, &c));
    c = (kb_config){.penalty = KB_PENALTY_L1, .loss = KB_LOSS_QUANTILE};
    assert_fails(ctx, KB_ERR_ARGUMENT, "--loss quantile: needs --penalty l2",
                 kb_solver_check_loss(ctx, &c));
    c = (kb_config){.solver = KB_SOLVER_AUTO, .loss = KB_LOSS_SQUARE};
    assert_ok(ctx, kb_solver_check_loss(ctx, &c));
    assert_ok(ctx, kb_solver_check_penalty(ctx, &c));
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_is_the_solver_of_the_problem),
        cmocka_unit_test(a_solver_has_one_function),
        cmocka_unit_test(sweeps_solve_every_loss_of_binning),
        cmocka_unit_test(the_direct_solver_is_for_kernels_and_the_square_loss),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
