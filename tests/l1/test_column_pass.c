/* Turns, and which passes are left to one thread; the work in a turn is tested with the solvers. */
#include "l1/l1problem.h"

#include "core/team.h"
#include "l1/column_pass.h"

static void visit_nothing(void *arg, const kb_turn *turn) {
    (void)arg;
    (void)turn;
}

/* Else a team that was once slow would not be used again as long as passes are small, nor for
 * the work between them. */
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
    kb_column_pass sweep = {
        .columns = q.columns, .set = &set, .visit = {visit_nothing}, .pace = &pace};
    for (int left = 1; left >= 0; left--) {
        kb_column_pass_run(ctx, &sweep);
        assert_int_equal(pace.rest, left);
    }
    kb_column_pass_run(ctx, &sweep);
    assert_int_equal(pace.rest, 0);
    kb_set_release(ctx, &set);
    problem_free(&q);
    kb_context_free(ctx);
}

/* How often each place was visited; a turn must not leave its block. */
typedef struct visits {
    const kb_set *set;
    int seen[5];
} visits;

static void note_visit(void *arg, const kb_turn *turn) {
    visits *v = arg;
    assert_true(turn->begin >= v->set->start[turn->block]);
    assert_true(turn->begin < turn->end);
    assert_true(turn->end <= v->set->start[turn->block + 1]);
    for (size_t k = turn->begin; k < turn->end; k++)
        v->seen[k]++;
}

/* The columns of some bits. */
static void fill_set(kb_set *set, const kb_zcolumns *c, unsigned bits) {
    set->count = 0;
    for (size_t block = 0; block < c->blocks; block++) {
        for (size_t j = c->block_start[block]; j < c->block_start[block + 1]; j++)
            if (bits >> j & 1)
                kb_set_add(set, c, j);
        kb_set_end_block(set, block);
    }
}

/* What lies behind the set is of a larger one before it. */
static void turns_keep_to_their_block(void **unused) {
    (void)unused;
    enum { COLUMNS = 5, ALL = (1 << COLUMNS) - 1 };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    uint32_t octet = 0, rows[COLUMNS] = {10, 10, 40000, 20000, 100000};
    size_t start[] = {0, 2, COLUMNS};
    kb_zcolumns c = {.columns = COLUMNS,
                     .blocks = 2,
                     .block_start = start,
                     .parts = 2,
                     .octet = &octet,
                     .count = rows};
    kb_set set = {0};
    kb_pace pace = {0};
    assert_ok(ctx, kb_set_create(ctx, &c, &set));
    for (unsigned bits = 0; bits <= ALL; bits++) {
        visits v = {.set = &set};
        kb_column_pass sweep = {
            .columns = &c, .set = &set, .visit = {note_visit}, .arg = &v, .pace = &pace};
        fill_set(&set, &c, ALL);
        fill_set(&set, &c, bits);
        kb_column_pass_run(ctx, &sweep);
        for (size_t k = 0; k < COLUMNS; k++)
            assert_int_equal(v.seen[k], k < set.count);
    }
    kb_set_release(ctx, &set);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* Of each part a number that depends on all that was done before, in order. */
typedef struct chain {
    uint64_t part[2], noted[2][2], there[2][2]; /* of the last two turns, alternately */
    size_t slow;                                /* block in which the first thread is late */
    int amended;
} chain;

static void note_parts(void *arg, const kb_turn *t) {
    chain *c = arg;
    double began = kb_seconds();
    while (t->me == 0 && t->block == c->slow && kb_seconds() - began < 2e-3)
        ;
    for (size_t p = t->part; p < t->part_end; p++)
        c->noted[t->odd][p] = c->part[p];
}

static void move_parts(void *arg, const kb_turn *t) {
    chain *c = arg;
    uint64_t all = c->noted[t->odd][0] + 3 * c->noted[t->odd][1];
    for (size_t p = t->part; p < t->part_end; p++)
        c->there[t->odd][p] = c->part[p] = 7 * c->part[p] + all + t->begin + p;
}

/* Every third time or so. */
static int amend_parts(void *arg, const kb_turn *t) {
    chain *c = arg;
    uint64_t all = c->there[t->odd][0] + 5 * c->there[t->odd][1];
    for (size_t p = t->part; p < t->part_end && all % 3 == 0; p++)
        c->part[p] += all + 11 * p;
    if (t->me == 0)
        c->amended += all % 3 == 0;
    return all % 3 == 0;
}

/* Whatever the threads do before they know that a turn is to be amended; and if one of them is late
 * the other finishes alone. */
static void what_is_amended_is_as_if_by_one_thread(void **unused) {
    enum { BLOCKS = 40 };
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    uint32_t octet = 0, rows[BLOCKS];
    size_t start[BLOCKS + 1];
    kb_zcolumns c = {.columns = BLOCKS,
                     .blocks = BLOCKS,
                     .block_start = start,
                     .parts = 2,
                     .octet = &octet,
                     .count = rows};
    kb_set set = {0};
    for (size_t j = 0; j <= BLOCKS; j++)
        start[j] = j;
    for (size_t j = 0; j < BLOCKS; j++)
        rows[j] = 100000;
    assert_ok(ctx, kb_set_create(ctx, &c, &set));
    for (size_t j = 0; j < BLOCKS; j++) {
        kb_set_add(&set, &c, j);
        kb_set_end_block(&set, j);
    }
    for (size_t slow = 0; slow < BLOCKS + 10; slow++) {
        chain end[2] = {{.part = {slow + 1, 1}, .slow = BLOCKS},
                        {.part = {slow + 1, 1}, .slow = slow}};
        for (int two = 0; two < 2; two++) {
            kb_pace pace = {.alone = 1e-15, .rest = !two};
            kb_column_pass sweep = {.columns = &c,
                                    .set = &set,
                                    .visit = {note_parts, move_parts},
                                    .amend = amend_parts,
                                    .arg = &end[two],
                                    .pace = &pace};
            kb_column_pass_run(ctx, &sweep);
            assert_true(!two || slow >= BLOCKS || pace.rest > 0);
        }
        assert_memory_equal(end[0].part, end[1].part, sizeof end[0].part);
        assert_true(end[0].amended > 0 && end[0].amended < BLOCKS);
        assert_int_equal(end[0].amended, end[1].amended);
    }
    kb_set_release(ctx, &set);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_keep_to_their_block),
        cmocka_unit_test(what_is_amended_is_as_if_by_one_thread),
        cmocka_unit_test(a_small_sweep_is_one_of_those_left_to_one_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
