/* test_ranks.c - what ranks exchange. */
#define _POSIX_C_SOURCE 200809L
#include "ranked.h"

#include "ranks/ranks.h"

/* ---- exchanges --------------------------------------------------------- */

static void add_up(kb_context *ctx, void *arg) {
    int64_t x[3] = {kb_rank(ctx), INT64_MAX, -1};
    (void)arg;
    assert_int_equal(kb_ranks_sum(ctx, x, 3), KB_OK);
    int P = kb_rank_count(ctx);
    assert_int_equal(x[0], P * (P - 1) / 2);
    assert_true((uint64_t)x[1] == (uint64_t)INT64_MAX * (uint64_t)P);
    assert_int_equal(x[2], -P);
}

static void sums_are_over_all_ranks_and_wrap(void **state) {
    (void)state;
    for (int P = 1; P <= 5; P++)
        run_ranked(P, 1, add_up, NULL);
}

/* Rank k has k letters. */
static void gather_letters(kb_context *ctx, void *arg) {
    char mine[RANKED_MOST];
    void *all;
    size_t *end, at = 0;
    (void)arg;
    memset(mine, 'a' + kb_rank(ctx), sizeof mine);
    assert_int_equal(kb_ranks_gather(ctx, mine, (size_t)kb_rank(ctx), &all, &end), KB_OK);
    for (int k = 0; k < kb_rank_count(ctx); k++) {
        assert_int_equal(end[k], at + (size_t)k);
        for (; at < end[k]; at++)
            assert_int_equal(((const char *)all)[at], 'a' + k);
    }
    kb_release(ctx, all);
    kb_release(ctx, end);
}

static void bytes_of_all_ranks_come_in_order(void **state) {
    (void)state;
    for (int P = 1; P <= 5; P++)
        run_ranked(P, 1, gather_letters, NULL);
}

/* Rank k gives (k + j) % 3 numbers 100 k + j to rank j. */
static void trade(kb_context *ctx, void *arg) {
    int to[3 * RANKED_MOST] = {0}, me = kb_rank(ctx), P = kb_rank_count(ctx);
    size_t bytes[RANKED_MOST] = {0}, count = 0, *end;
    void *from;
    (void)arg;
    for (int j = 0; j < P; j++) {
        bytes[j] = (size_t)((me + j) % 3) * sizeof *to;
        for (int n = 0; n < (me + j) % 3; n++)
            to[count++] = 100 * me + j;
    }
    assert_int_equal(kb_ranks_exchange(ctx, to, bytes, &from, &end), KB_OK);
    for (int k = 0; k < P; k++) {
        size_t begin = k > 0 ? end[k - 1] : 0;
        assert_int_equal(end[k] - begin, (size_t)((me + k) % 3) * sizeof *to);
        for (size_t at = begin / sizeof *to; at < end[k] / sizeof *to; at++)
            assert_int_equal(((const int *)from)[at], 100 * k + me);
    }
    kb_release(ctx, from);
    kb_release(ctx, end);
}

static void every_rank_gets_what_the_others_have_for_it(void **state) {
    (void)state;
    for (int P = 1; P <= 5; P++)
        run_ranked(P, 1, trade, NULL);
}

static void find_most(kb_context *ctx, void *arg) {
    double x[2] = {kb_rank(ctx), -kb_rank(ctx)};
    (void)arg;
    assert_int_equal(kb_ranks_most(ctx, x, 2), KB_OK);
    assert_true(x[0] == kb_rank_count(ctx) - 1 && x[1] == 0);
}

static void the_largest_of_all_ranks_is_found(void **state) {
    (void)state;
    for (int P = 1; P <= 5; P++)
        run_ranked(P, 1, find_most, NULL);
}

/* ---- failures ---------------------------------------------------------- */

static void fail_on_some(kb_context *ctx, void *arg) {
    int first = *(const int *)arg;
    kb_status own = KB_OK;
    if (kb_rank(ctx) >= first)
        own = kb_fail(ctx, kb_rank(ctx) == first ? KB_ERR_DATA : KB_ERR_IO, "rank %d fails",
                      kb_rank(ctx));
    if (first >= kb_rank_count(ctx)) {
        assert_int_equal(kb_ranks_agree(ctx, own), KB_OK);
        return;
    }
    char message[32];
    snprintf(message, sizeof message, "rank %d fails", first);
    assert_int_equal(kb_ranks_agree(ctx, own), KB_ERR_DATA);
    assert_string_equal(kb_context_message(ctx), message);
}

static void all_ranks_hear_of_the_first_that_fails(void **state) {
    (void)state;
    for (int P = 1; P <= 5; P++)
        for (int first = 0; first <= P; first++)
            run_ranked(P, 1, fail_on_some, &first);
}

/* The last rank fails alone; the others hear of it in whatever they exchange next. */
static void fail_before_an_exchange(kb_context *ctx, void *arg) {
    int kind = *(const int *)arg, P = kb_rank_count(ctx), me = kb_rank(ctx);
    int64_t x[2] = {1, 2};
    double y[1] = {3};
    size_t bytes[RANKED_MOST] = {0}, *end = NULL;
    void *all = NULL;
    kb_status status;
    if (me == P - 1)
        status = kb_ranks_agree(ctx, kb_fail(ctx, KB_ERR_MEMORY, "no memory here"));
    else if (kind == 0)
        status = kb_ranks_sum(ctx, x, 2);
    else if (kind == 1)
        status = kb_ranks_most(ctx, y, 1);
    else if (kind == 2)
        status = kb_ranks_gather(ctx, x, sizeof x, &all, &end);
    else if (kind == 3)
        status = kb_ranks_exchange(ctx, x, bytes, &all, &end);
    else
        status = kb_ranks_progress(ctx, "solve", 0.5);
    assert_int_equal(status, KB_ERR_MEMORY);
    char message[40];
    snprintf(message, sizeof message, "rank %d: no memory here", P - 1);
    assert_string_equal(kb_context_message(ctx), P > 1 ? message : "no memory here");
    assert_null(all);
    /* On the way out nothing is exchanged: each rank may come by other places. */
    for (int k = 0; k < me; k++)
        assert_int_equal(kb_ranks_agree(ctx, KB_ERR_MEMORY), KB_ERR_MEMORY);
    /* The next call works. */
    kb_ranks_begin(ctx);
    x[0] = 1;
    assert_int_equal(kb_ranks_sum(ctx, x, 1), KB_OK);
    assert_int_equal(x[0], P);
}

static void a_rank_that_fails_alone_ends_the_exchanges_of_the_others(void **state) {
    (void)state;
    for (int P = 2; P <= 5; P++)
        for (int kind = 0; kind < 5; kind++)
            run_ranked(P, 1, fail_before_an_exchange, &kind);
}

/* For the time being it is one process. */
static void work_alone(kb_context *ctx, void *arg) {
    int P = kb_rank_count(ctx), me = kb_rank(ctx);
    int64_t x[1] = {5};
    (void)arg;
    kb_ranks ranks = kb_ranks_leave(ctx);
    assert_false(kb_has_ranks(ctx));
    assert_int_equal(kb_rank_count(ctx), 1);
    if (me == 0)
        assert_int_equal(kb_ranks_sum(ctx, x, 1), KB_OK);
    kb_ranks_return(ctx, ranks);
    assert_true(kb_has_ranks(ctx));
    assert_int_equal(kb_rank(ctx), me);
    assert_int_equal(kb_ranks_sum(ctx, x, 1), KB_OK);
    assert_int_equal(x[0], 5 * P);
}

static void a_rank_can_work_alone_for_a_while(void **state) {
    kb_context *ctx = test_context();
    (void)state;
    run_ranked(3, 1, work_alone, NULL);
    kb_ranks_return(ctx, kb_ranks_leave(ctx));
    assert_false(kb_has_ranks(ctx));
    kb_context_free(ctx);
}

static int no_sum(void *user, int64_t *x, size_t count) {
    (void)user, (void)x, (void)count;
    return 1;
}

static int no_gather(void *user, const void *mine, void *all, const size_t *bytes_of) {
    (void)user, (void)mine, (void)all, (void)bytes_of;
    return 1;
}

static int no_exchange(void *user, const void *to, const size_t *to_bytes, void *from,
                       const size_t *from_bytes) {
    (void)user, (void)to, (void)to_bytes, (void)from, (void)from_bytes;
    return 1;
}

static void an_exchange_that_fails_is_an_error_of_input_and_output(void **state) {
    kb_ranks ranks = {sizeof ranks, 1, 2, NULL, no_sum, no_gather, no_exchange, NULL, 1};
    kb_context_config config = {.size = sizeof config, .threads = 1, .ranks = &ranks};
    kb_context *ctx;
    int64_t x[1] = {0};
    double y[1] = {0};
    size_t bytes[2] = {0, 0}, *end;
    void *all;
    (void)state;
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    assert_int_equal(kb_ranks_sum(ctx, x, 1), KB_ERR_IO);
    assert_string_equal(kb_context_message(ctx), "rank 1 of 2: no exchange with the other ranks");
    assert_int_equal(kb_ranks_gather(ctx, x, 8, &all, NULL), KB_ERR_IO);
    assert_int_equal(kb_ranks_exchange(ctx, x, bytes, &all, &end), KB_ERR_IO);
    assert_int_equal(kb_ranks_most(ctx, y, 1), KB_ERR_IO);
    assert_int_equal(kb_ranks_agree(ctx, KB_OK), KB_ERR_IO);
    kb_context_free(ctx);
}

static void ranks_that_make_no_sense_make_no_context(void **state) {
    kb_ranks wrong[] = {
        {sizeof(kb_ranks), -1, 2, NULL, no_sum, no_gather, no_exchange, NULL, 1},
        {sizeof(kb_ranks), 2, 2, NULL, no_sum, no_gather, no_exchange, NULL, 1},
        {sizeof(kb_ranks), 0, 0, NULL, no_sum, no_gather, no_exchange, NULL, 1},
        {sizeof(kb_ranks), 0, 2, NULL, NULL, no_gather, no_exchange, NULL, 1},
        {sizeof(kb_ranks), 0, 2, NULL, no_sum, NULL, no_exchange, NULL, 1},
        {sizeof(kb_ranks), 0, 2, NULL, no_sum, no_gather, NULL, NULL, 1},
        {0, 0, 2, NULL, no_sum, no_gather, no_exchange, NULL, 1},
    };
    kb_context *ctx;
    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        kb_context_config config = {.size = sizeof config, .ranks = &wrong[k]};
        assert_int_equal(kb_context_create(&config, &ctx), KB_ERR_ARGUMENT);
        assert_null(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_over_all_ranks_and_wrap),
        cmocka_unit_test(bytes_of_all_ranks_come_in_order),
        cmocka_unit_test(every_rank_gets_what_the_others_have_for_it),
        cmocka_unit_test(the_largest_of_all_ranks_is_found),
        cmocka_unit_test(all_ranks_hear_of_the_first_that_fails),
        cmocka_unit_test(a_rank_that_fails_alone_ends_the_exchanges_of_the_others),
        cmocka_unit_test(a_rank_can_work_alone_for_a_while),
        cmocka_unit_test(an_exchange_that_fails_is_an_error_of_input_and_output),
        cmocka_unit_test(ranks_that_make_no_sense_make_no_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
