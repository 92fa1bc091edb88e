/* Which sweeps are left to one thread; what threads do to one is the solvers' tests'. */
#include "solve/l1problem.h"

#include "solve/sweep.h"

static void visit_nothing(void *arg, const kb_turn *turn) {
    (void)arg;
    (void)turn;
}

/* Else a team that was once late would be left out for as long as sweeps are small, and with it the
 * work between them. */
static void a_small_sweep_is_one_of_those_left_to_one_thread(void **unused) {
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    problem q = problem_create(ctx, "square", 50, 3);
    kb_set set = {0};
    kb_pace pace = {.rest = 2, .wait = 7};
    assert_ok(ctx, kb_set_create(ctx, q.columns, &set));
    for (size_t block = 0; block < q.columns->blocks; block++) {
        kb_set_add(&set, q.columns, q.columns->block_start[block]);
        kb_set_end_block(&set, block);
    }
    kb_sweep sweep = {.columns = q.columns, .set = &set, .visit = {visit_nothing}, .pace = &pace};
    for (int left = 1; left >= 0; left--) {
        kb_sweep_run(ctx, &sweep);
        assert_int_equal(pace.rest, left);
    }
    kb_sweep_run(ctx, &sweep);
    assert_int_equal(pace.rest, 0);
    kb_set_release(ctx, &set);
    problem_free(&q);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_sweep_is_one_of_those_left_to_one_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
