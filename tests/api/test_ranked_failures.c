/* test_ranked_failures.c - what fails on one rank alone ends the work on all, with one message. */
#define _POSIX_C_SOURCE 200809L
#include "model/fitted.h"
#include "ranked.h"

#include "deal/deal.h"
#include "model/model.h"

enum { ROWS = 2 * KB_RANK_ROWS + 100, COLUMNS = 2 };

/* One rank fails at an allocation, or stops at a report. */
typedef struct trouble {
    int ranks, rank;
    long fail_at, cancel_after;
    const char *const *pairs;
    kb_data *data;
    kb_status status[RANKED_MOST];
    char message[RANKED_MOST][1024];
    long allocations, reports; /* of that rank */
} trouble;

static kb_status fit(kb_context *ctx, const trouble *t, kb_model **out) {
    kb_status status;
    size_t begin = kb_deal_begin(ROWS, kb_rank(ctx), kb_rank_count(ctx));
    size_t end = kb_deal_begin(ROWS, kb_rank(ctx) + 1, kb_rank_count(ctx));
    kb_arrays a = {.size = sizeof a,
                   .rows = end - begin,
                   .features = COLUMNS,
                   .values = t->data->dense + begin * COLUMNS,
                   .labels = t->data->label + begin};
    kb_data *own = NULL;
    kb_options *options = NULL;
    *out = NULL;
    /* A program agrees on what its own part came to. */
    status = kb_data_from_arrays(ctx, &a, &own);
    if (status == KB_OK)
        status = kb_options_create(ctx, &options);
    for (const char *const *p = t->pairs; status == KB_OK && p[0]; p += 2)
        status = kb_options_set(ctx, options, p[0], p[1]);
    status = kb_ranks_agree(ctx, status);
    if (status == KB_OK)
        status = kb_data_deal(ctx, own);
    if (status == KB_OK)
        status = kb_model_fit(ctx, options, own, out);
    kb_data_free(own);
    kb_options_free(options);
    return status;
}

static void run_one(kb_context *ctx, void *arg) {
    trouble *t = arg;
    int me = kb_rank(ctx);
    test_state state = {0};
    kb_context *own;
    kb_model *model;
    kb_context_config config = {.size = sizeof config,
                                .user = &state,
                                .reallocate = test_reallocate,
                                .progress = test_progress,
                                .threads = 1,
                                .ranks = &ctx->ranks};
    assert_int_equal(kb_context_create(&config, &own), KB_OK);
    if (me == t->rank) {
        state.fail_at = t->fail_at;
        state.cancel_after = t->cancel_after;
    }
    t->status[me] = fit(own, t, &model);
    snprintf(t->message[me], sizeof t->message[me], "%s", kb_context_message(own));
    kb_model_free(model);
    if (me == t->rank) {
        t->allocations = state.allocations;
        t->reports = state.progress;
    }
    kb_context_free(own);
    assert_int_equal(state.live, 0);
}

static void all_say(const trouble *t, kb_status status) {
    for (int k = 0; k < t->ranks; k++) {
        assert_int_equal(t->status[k], status);
        assert_string_equal(t->message[k], t->message[t->rank]);
    }
}

/* A fit without trouble, then allocations that fail, ever fewer of the later ones. */
static void check(int rank, const char *const *pairs, kb_data *data) {
    trouble t = {.ranks = 3, .rank = rank, .pairs = pairs, .data = data};
    run_ranked(t.ranks, 1, run_one, &t);
    all_say(&t, KB_OK);
    long allocations = t.allocations, reports = t.reports;
    for (t.fail_at = 2; t.fail_at <= allocations;
         t.fail_at += 1 + t.fail_at / (TEST_LIGHT ? 8 : 32)) {
        run_ranked(t.ranks, 1, run_one, &t);
        if (t.status[t.rank] != KB_OK) /* some may fail, such as those of a larger table */
            all_say(&t, KB_ERR_MEMORY);
    }
    t.fail_at = 0;
    for (t.cancel_after = 1; t.cancel_after <= reports; t.cancel_after += 1 + t.cancel_after / 2) {
        run_ranked(t.ranks, 1, run_one, &t);
        all_say(&t, KB_ERR_CANCELLED);
    }
}

#define PAIRS(...)                                                                                 \
    (const char *const[]) {                                                                        \
        "tune", "off", "grids", "17", "max-iter", "3", "max-memory", "1G", __VA_ARGS__, NULL       \
    }

static void trouble_of_one_rank_ends_the_work_on_all(void **state) {
    kb_context *ctx = test_context();
    kb_data *real = data_of(ctx, ROWS, COLUMNS, REAL), *two = data_of(ctx, ROWS, COLUMNS, TWO);
    (void)state;
    check(1, PAIRS("solver", "sweeps", "scale", "ranks"), real);
    check(0, PAIRS("solver", "cg", "class-weight", "balanced"), two);
    check(2, PAIRS("loss", "logistic", "holdout", "auto", "scale", "standard"), two);
    kb_data_free(real);
    kb_data_free(two);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trouble_of_one_rank_ends_the_work_on_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
