/* The threads of a context: all work, and all wait for each other. */
#define _GNU_SOURCE
#include "support.h"

#include "core/team.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

/* ---- a machine that gives only so many threads ------------------------- */

static int threads_left = -1; /* -1: no limit */

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *arg) {
    create_function *create = (create_function *)dlsym(RTLD_NEXT, "pthread_create");
    if (threads_left == 0)
        return EAGAIN;
    threads_left -= threads_left > 0;
    return create(thread, attributes, body, arg);
}

static kb_context *team_of(int threads) {
    kb_context *ctx;
    assert_int_equal(
        kb_context_create(
            &(kb_context_config){.size = sizeof(kb_context_config), .threads = threads}, &ctx),
        KB_OK);
    return ctx;
}

/* ---- parts -------------------------------------------------------------- */

typedef struct parts {
    atomic_int lanes, threads, bodies;
    atomic_int nested; /* lanes within lane 0 */
} parts;

static void count_body(void *arg, int me, int threads) {
    parts *p = arg;
    (void)me;
    (void)threads;
    atomic_fetch_add(&p->bodies, 1);
}

static void count_nested(void *arg, kb_context *part, int lane) {
    parts *p = arg;
    (void)lane;
    atomic_fetch_add(&p->nested, 1);
    kb_team_run(part, 0, count_body, p);
}

static void count_part(void *arg, kb_context *part, int lane) {
    parts *p = arg;
    atomic_fetch_add(&p->lanes, 1);
    atomic_fetch_add(&p->threads, part->threads);
    for (int round = 0; round < 3; round++)
        kb_team_run(part, 0, count_body, p);
    if (lane == 0)
        kb_team_split(part, 2, count_nested, p);
    kb_fail(part, KB_ERR_DATA, "of lane %d", lane);
}

static void parts_share_the_threads_and_may_be_split_again(void **unused) {
    (void)unused;
    for (int threads = 1; threads <= 9; threads++)
        for (int lanes = 1; lanes <= 4; lanes++) {
            kb_context *ctx = team_of(threads);
            parts p = {0};
            int expected = lanes < threads ? lanes : threads;
            kb_team_split(ctx, lanes, count_part, &p);
            int first = expected < 2 ? threads : (int)kb_share((size_t)threads, 1, expected);
            assert_int_equal(p.lanes, expected);
            assert_int_equal(p.threads, threads);
            assert_int_equal(p.nested, first < 2 ? 1 : 2);
            assert_int_equal(p.bodies, 3 * threads + first);
            /* A part has its own message; without parts it is the context's. */
            assert_string_equal(kb_context_message(ctx), expected < 2 ? "of lane 0" : "");
            kb_context_free(ctx);
        }
}

/* ---- who runs ---------------------------------------------------------- */

typedef struct roll {
    atomic_int calls[16];
    atomic_int threads;
    pthread_t self[16];
} roll;

static void answer(void *arg, int me, int threads) {
    roll *r = arg;
    atomic_fetch_add(&r->calls[me], 1);
    atomic_store(&r->threads, threads);
    r->self[me] = pthread_self();
}

static void every_thread_runs_the_body_once(void **unused) {
    (void)unused;
    for (int threads = 1; threads <= 8; threads++) {
        kb_context *ctx = team_of(threads);
        for (int round = 1; round <= 3; round++) {
            roll r = {0};
            kb_team_run(ctx, 0, answer, &r);
            assert_int_equal(r.threads, threads);
            for (int t = 0; t < 16; t++)
                assert_int_equal(r.calls[t], t < threads);
            assert_true(pthread_equal(r.self[0], pthread_self()));
            for (int t = 0; t < threads; t++)
                for (int u = 0; u < t; u++)
                    assert_false(pthread_equal(r.self[t], r.self[u]));
        }
        kb_context_free(ctx);
    }
}

static void alone_is_the_caller_itself(void **unused) {
    kb_context *ctx = team_of(4);
    (void)unused;
    for (int before = 0; before < 2; before++) {
        roll r = {0};
        kb_team_run(ctx, 1, answer, &r);
        assert_int_equal(r.threads, 1);
        assert_int_equal(r.calls[0], 1);
        kb_team_meet(ctx, 0, 1); /* with nobody to wait for */
        kb_team_run(ctx, 0, answer, &r);
        assert_int_equal(r.threads, 4);
    }
    kb_context_free(ctx);
}

static void a_new_team_does_not_rest_whatever_was_in_memory(void **unused) {
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 3);
    roll r = {0};
    kb_team_run(ctx, 0, answer, &r);
    assert_int_equal(r.threads, 3);
    kb_context_free(ctx);
}

/* As many as the smallest of all limits, always the first ones. */
static void a_limit_leaves_the_last_threads_asleep(void **unused) {
    (void)unused;
    kb_context *ctx = team_of(5);
    for (int round = 0; round < 20; round++)
        for (int limit = 0; limit <= 6; limit++)
            for (int most = 0; most <= 6; most++) {
                int threads = 5;
                roll r = {0};
                threads = limit > 0 && limit < threads ? limit : threads;
                threads = most > 0 && most < threads ? most : threads;
                kb_team_limit(ctx, limit);
                kb_team_run(ctx, most, answer, &r);
                assert_int_equal(r.threads, threads);
                for (int t = 0; t < 16; t++)
                    assert_int_equal(r.calls[t], t < threads);
            }
    kb_context_free(ctx);
}

/* ---- meeting ----------------------------------------------------------- */

enum { STAGES = 200 };

typedef struct relay {
    kb_context *ctx;
    int stage[16]; /* not atomic: only the barriers order the accesses */
    atomic_int wrong;
    int first; /* so many run; 0: all */
} relay;

/* Each thread writes its place and, after a barrier, reads those of all others: one that is
 * behind or ahead by one did not wait. */
static void run_relay(void *arg, int me, int threads) {
    relay *r = arg;
    threads = r->first ? r->first : threads;
    if (me >= threads)
        return;
    for (int stage = 1; stage <= STAGES; stage++) {
        if ((stage + me) % 3 == 0)
            sched_yield();
        r->stage[me] = stage;
        kb_team_meet(r->ctx, me, threads);
        for (int t = 0; t < threads; t++)
            if (r->stage[t] != stage)
                atomic_fetch_add(&r->wrong, 1);
        kb_team_meet(r->ctx, me, threads);
    }
}

static void nobody_passes_a_meeting_before_all_are_there(void **unused) {
    (void)unused;
    for (int threads = 1; threads <= 8; threads++) {
        relay r = {.ctx = team_of(threads)};
        for (int round = 0; round < 3; round++) {
            memset(r.stage, 0, sizeof r.stage);
            kb_team_run(r.ctx, 0, run_relay, &r);
            assert_int_equal(r.wrong, 0);
            for (int t = 0; t < threads; t++)
                assert_int_equal(r.stage[t], STAGES);
        }
        kb_context_free(r.ctx);
    }
}

static void some_may_meet_without_the_others(void **unused) {
    (void)unused;
    for (int first = 1; first <= 4; first++) {
        relay r = {.ctx = team_of(4), .first = first};
        for (int round = 0; round < 3; round++) {
            memset(r.stage, 0, sizeof r.stage);
            kb_team_run(r.ctx, 0, run_relay, &r);
            assert_int_equal(r.wrong, 0);
            for (int t = 0; t < 4; t++)
                assert_int_equal(r.stage[t], t < first ? STAGES : 0);
        }
        kb_context_free(r.ctx);
    }
}

static void count_one(void *arg, int me, int threads) {
    (void)threads;
    ((long *)arg)[me * 16]++; /* not atomic: the end of a run orders the accesses */
}

static void many_rounds_end(void **unused) {
    (void)unused;
    /* 7 threads are more than the machine has processors: most of them must sleep. */
    static const struct { int threads, rounds; } cases[] = {{2, 100000}, {7, 3000}};
    for (int k = 0; k < 2; k++) {
        kb_context *ctx = team_of(cases[k].threads);
        long count[16 * 16] = {0};
        for (int round = 0; round < cases[k].rounds; round++)
            kb_team_run(ctx, 0, count_one, count);
        for (int t = 0; t < cases[k].threads; t++)
            assert_int_equal(count[t * 16], cases[k].rounds);
        kb_context_free(ctx);
    }
}

/* ---- sharing out ------------------------------------------------------- */

static void mark(void *arg, size_t begin, size_t end) {
    unsigned char *seen = arg;
    for (size_t i = begin; i < end; i++)
        seen[i]++;
}

static void every_item_is_in_exactly_one_piece(void **unused) {
    static const size_t counts[] = {0, 1, 2, 3, 7, 8, 9, 100, 1001};
    (void)unused;
    for (int threads = 1; threads <= 8; threads++) {
        kb_context *ctx = team_of(threads);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            for (size_t least = 0; least < 1000; least = 10 * least + 1) {
                unsigned char seen[1001] = {0};
                kb_team_for(ctx, counts[k], least, mark, seen);
                for (size_t i = 0; i < 1001; i++)
                    assert_int_equal(seen[i], i < counts[k]);
            }
        kb_context_free(ctx);
    }
}

static void shares_are_even_and_meet_without_a_gap(void **unused) {
    static const size_t counts[] = {0, 1, 5, 64, 1000003, SIZE_MAX};
    (void)unused;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int threads = 1; threads <= 9; threads++) {
            assert_int_equal(kb_share(counts[k], 0, threads), 0);
            assert_true(kb_share(counts[k], threads, threads) == counts[k]);
            for (int me = 0; me < threads; me++) {
                size_t part =
                    kb_share(counts[k], me + 1, threads) - kb_share(counts[k], me, threads);
                size_t even = counts[k] / (size_t)threads;
                assert_true(part == even || part == even + 1);
            }
        }
}

/* ---- stopping ---------------------------------------------------------- */

typedef struct endless {
    kb_interrupt interrupt;
    atomic_int ended;
} endless;

static void go_on(void *arg, int me, int threads) {
    endless *e = arg;
    (void)threads;
    while (!kb_interrupt_asked(&e->interrupt, me))
        ;
    atomic_fetch_add(&e->ended, 1);
}

/* Only the caller's thread asks, and all hear the answer. */
static void all_threads_hear_that_the_caller_wants_to_stop(void **unused) {
    (void)unused;
    for (int threads = 1; threads <= 4; threads++) {
        test_state state = {.cancel_after = 3};
        kb_context *ctx = test_context_with(&state, threads);
        endless e = {.interrupt = {.ctx = ctx}};
        kb_team_run(ctx, 0, go_on, &e);
        assert_int_equal(atomic_load(&e.ended), threads);
        assert_int_equal(kb_interrupt_status(&e.interrupt), KB_ERR_CANCELLED);
        assert_string_equal(kb_context_message(ctx), "interrupted");
        assert_int_equal(state.progress, 3);
        kb_context_free(ctx);
    }
}

/* ---- when things go wrong ---------------------------------------------- */

/* The thread sanitizer ends a forked child that starts threads: it keeps the parent's, which the
 * child has not ("starting new threads after multi-threaded fork is not supported", and with
 * die_after_fork=0 "dup thread with used id"). */
#ifndef __has_feature
#define __has_feature(what) 0
#endif
#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
#define SKIP_UNDER_THE_THREAD_SANITIZER() skip()
#else
#define SKIP_UNDER_THE_THREAD_SANITIZER() (void)0
#endif

static void a_forked_child_has_a_team_again(void **unused) {
    SKIP_UNDER_THE_THREAD_SANITIZER();
    kb_context *ctx = team_of(3);
    roll r = {0};
    (void)unused;
    kb_team_run(ctx, 0, answer, &r);
    pid_t child = fork();
    if (child == 0) {
        roll mine = {0};
        alarm(20); /* instead of waiting for threads that do not exist */
        kb_team_meet(ctx, 0, 1);
        kb_team_run(ctx, 0, answer, &mine);
        int fine =
            mine.threads == 3 && mine.calls[0] == 1 && mine.calls[1] == 1 && mine.calls[2] == 1;
        kb_context_free(ctx);
        _exit(fine ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    kb_team_run(ctx, 0, answer, &r); /* the parent's is still whole */
    assert_int_equal(r.calls[2], 2);
    kb_context_free(ctx);
}

static void a_child_may_free_the_context_it_inherited(void **unused) {
    kb_context *ctx = team_of(3);
    roll r = {0};
    (void)unused;
    kb_team_run(ctx, 0, answer, &r);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        kb_context_free(ctx);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    kb_context_free(ctx);
}

static void fewer_threads_do_all_of_the_work(void **unused) {
    (void)unused;
    for (int given = 0; given < 4; given++) {
        kb_context *ctx = team_of(6);
        relay r = {.ctx = ctx};
        unsigned char seen[1000] = {0};
        threads_left = given;
        kb_team_for(ctx, 1000, 1, mark, seen);
        kb_team_run(ctx, 0, run_relay, &r);
        threads_left = -1;
        assert_int_equal(r.wrong, 0);
        for (int t = 0; t < 16; t++)
            assert_int_equal(r.stage[t], t <= given ? STAGES : 0);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(seen[i], 1);
        kb_context_free(ctx);
    }
}

static void without_memory_for_a_team_the_caller_works_alone(void **unused) {
    (void)unused;
    for (int k = 1; k <= 2; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 4);
        roll r = {0};
        state.fail_at = state.allocations + k;
        kb_team_run(ctx, 0, answer, &r);
        assert_int_equal(r.threads, 1);
        assert_int_equal(state.live, 1);
        kb_team_run(ctx, 0, answer, &r); /* there is memory again */
        assert_int_equal(r.threads, 4);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_share_the_threads_and_may_be_split_again),
        cmocka_unit_test(every_thread_runs_the_body_once),
        cmocka_unit_test(alone_is_the_caller_itself),
        cmocka_unit_test(a_new_team_does_not_rest_whatever_was_in_memory),
        cmocka_unit_test(a_limit_leaves_the_last_threads_asleep),
        cmocka_unit_test(nobody_passes_a_meeting_before_all_are_there),
        cmocka_unit_test(some_may_meet_without_the_others),
        cmocka_unit_test(many_rounds_end),
        cmocka_unit_test(every_item_is_in_exactly_one_piece),
        cmocka_unit_test(shares_are_even_and_meet_without_a_gap),
        cmocka_unit_test(all_threads_hear_that_the_caller_wants_to_stop),
        cmocka_unit_test(a_forked_child_has_a_team_again),
        cmocka_unit_test(a_child_may_free_the_context_it_inherited),
        cmocka_unit_test(fewer_threads_do_all_of_the_work),
        cmocka_unit_test(without_memory_for_a_team_the_caller_works_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
