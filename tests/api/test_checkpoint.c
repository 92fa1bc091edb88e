/* test_checkpoint.c - fits that are stopped and gone on from a file, on as many ranks or others. */
#define _POSIX_C_SOURCE 200809L
#include "api/ranking.h"

#include <limits.h>
#include <unistd.h>

static char path[] = "/tmp/kerbin-checkpoint-XXXXXX";

typedef struct stopped {
    const kb_data *data;
    const char *const *pairs;
    bytes model; /* of the fit that was not stopped */
    int stop_at; /* report; 0: none */
    int resumed, ended;
} stopped;

/* Of rank 0. */
typedef struct listener {
    int left;
    int resumed;
} listener;

static int count_down(void *user, const char *phase, double done) {
    listener *l = user;
    (void)done;
    return strcmp(phase, "solve") == 0 && l->left > 0 && --l->left == 0;
}

static void listen(void *user, kb_log_level level, const char *line) {
    listener *l = user;
    (void)level;
    l->resumed += strstr(line, ": goes on after ") != NULL;
}

static void fit_kept(kb_context *ctx, void *arg) {
    stopped *s = arg;
    kb_data *own = own_rows(ctx, s->data);
    kb_options *options = tuning_options_of(ctx, s->pairs);
    kb_model *model;
    bytes mine = {0};
    listener l = {.left = kb_rank(ctx) == 0 ? s->stop_at : 0};
    ctx->config.progress = count_down;
    ctx->config.log = listen;
    ctx->config.user = &l;
    assert_ok(ctx, kb_context_set_checkpoint(ctx, path, s->stop_at ? 0 : 1e9));
    kb_status status = kb_model_fit(ctx, options, own, &model);
    if (kb_rank(ctx) == 0) {
        s->resumed += l.resumed;
        s->ended = status == KB_OK;
    }
    if (status == KB_OK) {
        assert_ok(ctx, kb_model_write_bytes(ctx, model, put, &mine));
        if (mine.count != s->model.count || memcmp(mine.at, s->model.at, mine.count) != 0)
            fail_msg("rank %d of %d: another model", kb_rank(ctx), kb_rank_count(ctx));
    } else {
        assert_int_equal(status, KB_ERR_CANCELLED);
    }
    free(mine.at);
    kb_model_free(model);
    kb_options_free(options);
    kb_data_free(own);
}

/* Stopped later and later, until it ends by itself; each time gone on with on other ranks. */
static void check_stops(labels kind, size_t rows, const char *const *pairs, int least) {
    kb_context *ctx = test_context();
    kb_data *data = make(ctx, kind, rows, 0, kind == TWO);
    problem first = {.data = data, .pairs = pairs, .first = 1};
    run_ranked(2, 1, fit_and_compare, &first);
    stopped s = {.data = data, .pairs = pairs, .model = first.model};
    int ranks = 1;
    for (int at = 1; !s.ended && at < 400; at *= 4) {
        unlink(path);
        s.stop_at = at;
        run_ranked(ranks, 1, fit_kept, &s);
        if (s.ended)
            break;
        s.stop_at = 0;
        ranks = ranks % 3 + 1;
        run_ranked(ranks, 1, fit_kept, &s);
        assert_true(s.ended);
        s.ended = 0;
    }
    /* And after its last step: a run may be killed before its model is there. */
    unlink(path);
    for (int again = 0; again < 2; again++) {
        s.stop_at = again ? 0 : INT_MAX;
        run_ranked(ranks, 1, fit_kept, &s);
        assert_true(s.ended);
    }
    if (s.resumed < least)
        fail_msg("%s %s: gone on with %d times", pairs[2], pairs[3], s.resumed);
    unlink(path);
    free(first.model.at);
    kb_data_free(data);
    kb_context_free(ctx);
}

#define KEPT(...) PAIRS("holdout", "off", "importance", "off", __VA_ARGS__)

static void every_solver_goes_on_to_the_same_bits(void **state) {
    (void)state;
    check_stops(REAL, ROWS, KEPT("solver", "cg", "lambda", "3", "tol", "1e-5"), 2);
    check_stops(WORDS, 300, KEPT("solver", "cg", "lambda", "1", "tol", "1e-8"), 2);
    check_stops(REAL, 300, KEPT("solver", "cg", "lambda", "0.001", "tol", "1e-14"), 2);
    check_stops(REAL, 300, KEPT("solver", "sweeps", "lambda", "0.1", "tol", "1e-6"), 2);
    check_stops(TWO, ROWS, KEPT("loss", "logistic", "lambda", "0.3", "tol", "1e-5"), 2);
    check_stops(TWO, 300, KEPT("loss", "squared-hinge", "lambda", "0.1", "tol", "1e-5"), 2);
    check_stops(WORDS, 300,
                KEPT("loss", "logistic", "multiclass", "softmax", "lambda", "0.3", "tol", "1e-4"),
                2);
    check_stops(TWO, 300, KEPT("loss", "logistic", "solver", "sweeps", "lambda", "0.1"), 2);
}

/* Several solves, each from the end of the one before: the file waits for its own. */
static void later_solves_are_gone_on_with(void **state) {
    (void)state;
    check_stops(REAL, 300, KEPT("loss", "absolute", "lambda", "3", "tol", "1e-2"), 2);
    check_stops(
        REAL, 300,
        PAIRS("holdout", "auto", "importance", "off", "solver", "cg", "lambda", "3", "tol", "1e-2"),
        2);
}

static int name_file(void **unused) {
    (void)unused;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd) || unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_solver_goes_on_to_the_same_bits),
        cmocka_unit_test(later_solves_are_gone_on_with),
    };
    return cmocka_run_group_tests(tests, name_file, NULL);
}
