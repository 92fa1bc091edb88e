/* Jobs side by side: done ahead or when they are taken, they give the same. */
#define _POSIX_C_SOURCE 200809L
#include "ranked.h"

#include "ranks/ranks.h"
#include "trial/jobs.h"
#include "trial/trial.h"
#include "core/memory.h"

#include <stdatomic.h>

enum { JOBS = 5 };

typedef struct task {
    kb_job job;
    int number;
    kb_status fails; /* KB_OK: it does not */
    int only_ahead;  /* it fails the first time only */
    int runs, threads;
    double *made;
} task;

static kb_status work(kb_context *ctx, void *arg) {
    task *a = arg;
    a->runs++;
    a->threads = ctx->threads;
    if (a->fails != KB_OK && !(a->only_ahead && (a->runs > 1 || ctx->aside.size)))
        return kb_fail(ctx, a->fails, "job %d failed", a->number);
    kb_status status = kb_progress(ctx, "solve", 0.5);
    if (status == KB_OK)
        status = kb_alloc(ctx, 1, sizeof *a->made, &a->made);
    if (status == KB_OK)
        *a->made = 10 * a->number;
    return status;
}

static void plan(task *all, kb_job **job) {
    for (int k = 0; k < JOBS; k++) {
        all[k] = (task){.job = {.run = work, .arg = &all[k]}, .number = k};
        job[k] = &all[k].job;
    }
}

static kb_context *context_of(int threads, test_state *state) {
    kb_context *ctx;
    kb_context_config config = {.size = sizeof config,
                                .user = state,
                                .progress = state ? test_progress : NULL,
                                .threads = threads};
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    return ctx;
}

static void as_many_are_done_ahead_as_there_are_threads_for(void **unused) {
    (void)unused;
    for (int threads = 1; threads <= 12; threads++) {
        kb_context *ctx = context_of(threads, NULL);
        task all[JOBS];
        kb_job *job[JOBS];
        plan(all, job);
        job[1] = NULL;
        assert_ok(ctx, kb_jobs_ahead(ctx, 3, JOBS, job));
        int most = threads / 3 < JOBS - 1 ? threads / 3 : JOBS - 1, done = 0;
        for (int k = 0; k < JOBS; k++) {
            done += all[k].job.done;
            assert_true(all[k].job.done ? all[k].threads >= 3 : all[k].runs == 0);
        }
        assert_int_equal(done, most < 2 ? 0 : most);
        job[1] = &all[1].job;
        for (int k = 0; k < JOBS; k++) {
            assert_ok(ctx, kb_job_take(ctx, job[k]));
            assert_true(*all[k].made == 10 * k);
            assert_int_equal(all[k].runs, 1);
            kb_release(ctx, all[k].made);
        }
        kb_context_free(ctx);
    }
}

/* ---- on ranks ---------------------------------------------------------- */

static kb_status carry(kb_parcel *parcel, void *arg) {
    task *a = arg;
    double made = a->made ? *a->made : 0;
    kb_status status = kb_parcel_carry(parcel, &made, sizeof made);
    if (status == KB_OK && parcel->reads)
        status = kb_alloc(parcel->ctx, 1, sizeof *a->made, &a->made);
    if (status == KB_OK)
        *a->made = made;
    return status;
}

/* How often each was done by all ranks together. */
typedef struct shared {
    int ahead;
    atomic_int runs[JOBS];
} shared;

static void share_jobs(kb_context *ctx, void *arg) {
    shared *s = arg;
    task all[JOBS];
    kb_job *job[JOBS];
    plan(all, job);
    for (int k = 0; k < JOBS; k++)
        all[k].job.carry = carry;
    job[0] = NULL; /* not among them */
    all[3].fails = KB_ERR_DATA;
    all[4].fails = KB_ERR_MEMORY;
    all[4].only_ahead = kb_rank_count(ctx) > 3;
    ctx->least_threads = ctx->threads;
    kb_ranks ranks = kb_ranks_leave(ctx);
    assert_ok(ctx, kb_jobs_ahead(ctx, s->ahead, JOBS, job));
    for (int k = 1; k < JOBS; k++) {
        kb_status status = kb_job_take(ctx, &all[k].job);
        atomic_fetch_add(&s->runs[k], all[k].runs);
        if (k == 3)
            assert_string_equal(kb_context_message(ctx), "job 3 failed");
        assert_int_equal(status, k == 3                         ? KB_ERR_DATA
                                 : k == 4 && !all[4].only_ahead ? KB_ERR_MEMORY
                                                                : KB_OK);
        assert_true(status != KB_OK || *all[k].made == 10 * k);
        kb_release(ctx, all[k].made);
    }
    kb_ranks_return(ctx, ranks);
    assert_true(!ctx->aside.size);
}

static void ranks_share_jobs_and_all_have_the_results(void **unused) {
    (void)unused;
    for (int ranks = 1; ranks <= 5; ranks++)
        for (int threads = 1; threads <= 2; threads++) {
            shared s = {.ahead = 3};
            run_ranked(ranks, threads, share_jobs, &s);
            for (int k = 1; k < JOBS - 1; k++) /* one of each rank ahead, the others by all */
                assert_int_equal(s.runs[k], ranks > 1 && k <= ranks ? 1 : ranks);
            if (ranks > 3)
                assert_int_equal(s.runs[4], 1 + ranks);
        }
}

static void a_parcel_that_ends_early_is_told(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    kb_trial trial = {.held = 3, .score = 2}, back = {0};
    assert_ok(ctx, kb_alloc(ctx, 9, sizeof *trial.each, &trial.each));
    for (int i = 0; i < 9; i++)
        trial.each[i] = i;
    kb_parcel p = {.ctx = ctx};
    assert_ok(ctx, kb_trial_carry(&p, &trial));
    for (size_t count = 0; count <= p.count; count++) {
        kb_parcel q = {.ctx = ctx, .reads = 1, .bytes = p.bytes, .count = count};
        if (count < p.count)
            assert_fails(ctx, KB_ERR_DATA, "what another rank sent is not whole",
                         kb_trial_carry(&q, &back));
        else
            assert_ok(ctx, kb_trial_carry(&q, &back));
    }
    assert_true(back.score == 2 && back.each_across[2] == 8 && back.miss == back.each + 3);
    kb_trial_release(ctx, &trial);
    kb_trial_release(ctx, &back);
    kb_release(ctx, p.bytes);
    kb_context_free(ctx);
}

static void a_failure_is_told_when_its_job_is_taken(void **unused) {
    (void)unused;
    for (int threads = 1; threads <= 8; threads += 7) {
        kb_context *ctx = context_of(threads, NULL);
        task all[JOBS];
        kb_job *job[JOBS];
        plan(all, job);
        all[2].fails = KB_ERR_DATA;
        all[3].fails = KB_ERR_MEMORY;
        all[3].only_ahead = threads > 1;
        assert_ok(ctx, kb_jobs_ahead(ctx, 1, JOBS, job));
        assert_string_equal(kb_context_message(ctx), "");
        assert_ok(ctx, kb_job_take(ctx, job[0]));
        assert_fails(ctx, KB_ERR_DATA, "job 2 failed", kb_job_take(ctx, job[2]));
        /* Too little memory beside the others: it is done again alone. */
        if (threads > 1) {
            assert_ok(ctx, kb_job_take(ctx, job[3]));
            assert_int_equal(all[3].threads, threads);
        } else {
            assert_fails(ctx, KB_ERR_MEMORY, "job 3 failed", kb_job_take(ctx, job[3]));
        }
        for (int k = 0; k < JOBS; k++)
            kb_release(ctx, all[k].made);
        kb_context_free(ctx);
    }
}

static kb_status wait_for_the_end(kb_context *ctx, void *arg) {
    (void)arg;
    for (;;) {
        kb_status status = kb_progress(ctx, "solve", 0);
        if (status != KB_OK)
            return status;
    }
}

/* Only the caller's thread calls back: here it has nothing to do but wait. */
static void the_caller_may_interrupt_all_of_them(void **unused) {
    (void)unused;
    for (int endless = 0; endless < 2; endless++) {
        test_state state = {.cancel_after = 3};
        kb_context *ctx = context_of(4, &state);
        task all[JOBS];
        kb_job *job[JOBS];
        plan(all, job);
        all[endless].job.run = wait_for_the_end;
        assert_fails(ctx, KB_ERR_CANCELLED, "interrupted", kb_jobs_ahead(ctx, 1, 2, job));
        for (int k = 0; k < JOBS; k++)
            kb_release(ctx, all[k].made);
        kb_context_free(ctx);
    }
}

static void the_allocator_of_a_caller_is_not_shared(void **unused) {
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 8);
    task all[JOBS];
    kb_job *job[JOBS];
    plan(all, job);
    assert_ok(ctx, kb_jobs_ahead(ctx, 1, JOBS, job));
    for (int k = 0; k < JOBS; k++) {
        assert_false(all[k].job.done);
        assert_ok(ctx, kb_job_take(ctx, job[k]));
        assert_int_equal(all[k].threads, 8);
        kb_release(ctx, all[k].made);
    }
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_are_done_ahead_as_there_are_threads_for),
        cmocka_unit_test(ranks_share_jobs_and_all_have_the_results),
        cmocka_unit_test(a_parcel_that_ends_early_is_told),
        cmocka_unit_test(a_failure_is_told_when_its_job_is_taken),
        cmocka_unit_test(the_caller_may_interrupt_all_of_them),
        cmocka_unit_test(the_allocator_of_a_caller_is_not_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
