/* The context: its defaults, the message of a failure, and what its callbacks get. */
#include "support.h"
#include <math.h>

/* What the callbacks were told last. */
typedef struct told {
    char phase[32], line[600];
    double done;
    kb_log_level level;
    int reports, lines, stop;
} told;

static int keep_report(void *user, const char *phase, double done) {
    told *t = user;
    snprintf(t->phase, sizeof t->phase, "%s", phase);
    t->done = done;
    t->reports++;
    return t->stop;
}

static void keep_line(void *user, kb_log_level level, const char *line) {
    told *t = user;
    snprintf(t->line, sizeof t->line, "%s", line);
    t->level = level;
    t->lines++;
}

static kb_context *telling_context(told *t) {
    kb_context *ctx;
    kb_context_config config = {
        .size = sizeof config, .user = t, .log = keep_line, .progress = keep_report};
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    return ctx;
}

static void *no_memory(void *user, void *block, size_t bytes) {
    ++*(int *)user;
    assert_null(block);
    assert_true(bytes >= sizeof(kb_context));
    return NULL;
}

/* ---- making one -------------------------------------------------------- */

static void nothing_need_be_said(void **unused) {
    const kb_context_config none = KB_CONTEXT_CONFIG_INIT;
    kb_context *ctx;
    (void)unused;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(kb_context_create(k ? &none : NULL, &ctx), KB_OK);
        assert_true(kb_context_threads(ctx) >= 1);
        assert_string_equal(kb_context_message(ctx), "");
        kb_log(ctx, KB_LOG_WARNING, "heard by %s", "nobody");
        assert_int_equal(kb_progress(ctx, "read", 0.5), KB_OK);
        kb_context_free(ctx);
    }
    kb_context_free(NULL);
}

static void threads_are_as_many_as_were_asked_for(void **unused) {
    (void)unused;
    for (int threads = 1; threads < 100; threads += 33) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, threads);
        assert_int_equal(kb_context_threads(ctx), threads);
        assert_int_equal(state.live, 1);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
}

static void what_cannot_be_made_is_null(void **unused) {
    kb_context *ctx = (kb_context *)&ctx;
    int asked = 0;
    kb_context_config negative = {.size = sizeof negative, .threads = -1};
    kb_context_config poor = {.size = sizeof poor, .user = &asked, .reallocate = no_memory};
    (void)unused;
    assert_int_equal(kb_context_create(&negative, &ctx), KB_ERR_ARGUMENT);
    assert_null(ctx);
    ctx = (kb_context *)&ctx;
    assert_int_equal(kb_context_create(&poor, &ctx), KB_ERR_MEMORY);
    assert_null(ctx);
    assert_int_equal(asked, 1);
}

static void a_config_says_its_size(void **unused) {
    kb_context_config c = {.threads = 3};
    kb_context *ctx = (kb_context *)&ctx;
    (void)unused;
    assert_int_equal(kb_context_create(&c, &ctx), KB_ERR_ARGUMENT);
    assert_null(ctx);
    c.size = sizeof c + 1;
    assert_int_equal(kb_context_create(&c, &ctx), KB_ERR_ARGUMENT);
    c.size = sizeof c;
    assert_int_equal(kb_context_create(&c, &ctx), KB_OK);
    assert_int_equal(kb_context_threads(ctx), 3);
    kb_context_free(ctx);

    /* A config of an older program, without threads. */
    c.size = offsetof(kb_context_config, threads);
    c.threads = -7;
    assert_int_equal(kb_context_create(&c, &ctx), KB_OK);
    assert_true(kb_context_threads(ctx) >= 1);
    kb_context_free(ctx);
}

/* ---- messages ---------------------------------------------------------- */

static void a_failure_keeps_its_sentence(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    assert_int_equal(kb_fail(ctx, KB_ERR_DATA, "row %d: %s", 7, "no label"), KB_ERR_DATA);
    assert_string_equal(kb_context_message(ctx), "row 7: no label");
    assert_int_equal(kb_fail(ctx, KB_ERR_IO, "gone"), KB_ERR_IO);
    assert_string_equal(kb_context_message(ctx), "gone");
    kb_context_free(ctx);
}

static void a_long_message_is_cut_not_overrun(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    assert_int_equal(kb_fail(ctx, KB_ERR_DATA, "%05000d", 1), KB_ERR_DATA);
    assert_int_equal(strlen(kb_context_message(ctx)), sizeof ctx->message - 1);
    kb_context_free(ctx);
}

static void lines_are_logged_with_their_level(void **unused) {
    told t = {0};
    kb_context *ctx = telling_context(&t);
    (void)unused;
    kb_log(ctx, KB_LOG_INFO, "%d rows", 3);
    assert_string_equal(t.line, "3 rows");
    assert_int_equal(t.level, KB_LOG_INFO);
    kb_log(ctx, KB_LOG_WARNING, "%0900d", 1);
    assert_int_equal(t.level, KB_LOG_WARNING);
    assert_int_equal(strlen(t.line), 511);
    assert_int_equal(t.lines, 2);
    assert_string_equal(kb_context_message(ctx), ""); /* a log is no failure */
    kb_context_free(ctx);
}

/* ---- time -------------------------------------------------------------- */

static void assert_near(double a, double b, double most) {
    assert_true(fabs(a - b) <= most);
}

static double stopped_at(void *arg) {
    return *(double *)arg;
}

static void work_is_cut_short_at_a_moment(void **unused) {
    kb_context *ctx = test_context();
    double now = 10;
    kb_status status;
    (void)unused;
    ctx->clock = (kb_clock){stopped_at, &now};
    assert_true(isinf(kb_cut_at(ctx, 20)));
    assert_int_equal(kb_progress(ctx, "solve", 0), KB_OK);
    now = 20;
    status = kb_progress(ctx, "solve", 0.5);
    assert_int_equal(status, KB_ERR_CANCELLED);
    assert_true(kb_take_cut(ctx, &status));
    assert_int_equal(status, KB_OK);
    assert_string_equal(kb_context_message(ctx), "");
    status = KB_ERR_CANCELLED; /* the caller's wish is no such cut */
    assert_false(kb_take_cut(ctx, &status));
    assert_int_equal(status, KB_ERR_CANCELLED);
    assert_near(kb_cut_at(ctx, INFINITY), 20, 0);
    assert_int_equal(kb_progress(ctx, "solve", 1), KB_OK);
    kb_context_free(ctx);
}

static void solvers_are_told_when_they_are_late(void **unused) {
    kb_context *ctx = test_context();
    double now = 10;
    (void)unused;
    ctx->clock = (kb_clock){stopped_at, &now};
    assert_false(kb_is_late(ctx));
    assert_true(isinf(kb_stop_at(ctx, 30)));
    assert_false(kb_is_late(ctx));
    assert_near(kb_share_of_time(ctx, 30, 1, 4), 15, 1e-12);
    assert_near(kb_share_of_time(ctx, 5, 1, 4), 10, 1e-12); /* it is spent */
    now = 30;
    assert_true(kb_is_late(ctx));
    assert_int_equal(kb_progress(ctx, "solve", 0), KB_OK); /* nothing is cut */
    kb_context_free(ctx);
}

/* ---- progress ---------------------------------------------------------- */

/* Work without a measure of its own asks whether to go on, and the bar stays where it is. */
static void progress_is_told_again(void **unused) {
    told t = {0};
    kb_context *ctx = telling_context(&t);
    (void)unused;
    kb_progress_part(ctx, 0.5, 1);
    assert_int_equal(kb_progress(ctx, "predict", 0.5), KB_OK);
    t.done = 0;
    assert_int_equal(kb_progress_again(ctx), KB_OK);
    assert_string_equal(t.phase, "predict");
    assert_true(t.done == 0.75);
    assert_int_equal(t.reports, 2);
    kb_context_free(ctx);
}

static void a_phase_may_be_made_of_parts(void **unused) {
    told t = {0};
    kb_context *ctx = telling_context(&t);
    (void)unused;
    assert_int_equal(kb_progress(ctx, "solve", 0.25), KB_OK);
    assert_string_equal(t.phase, "solve");
    assert_true(t.done == 0.25);
    kb_progress_part(ctx, 0.5, 0.75);
    assert_int_equal(kb_progress(ctx, "solve", 0), KB_OK);
    assert_true(t.done == 0.5);
    assert_int_equal(kb_progress(ctx, "solve", 0.5), KB_OK);
    assert_true(t.done == 0.625);
    assert_int_equal(kb_progress(ctx, "solve", 1), KB_OK);
    assert_true(t.done == 0.75);
    assert_int_equal(kb_progress(ctx, "read", -1), KB_OK); /* an end that is not known */
    assert_true(t.done == -1);
    kb_progress_part(ctx, 0, 1);
    assert_int_equal(kb_progress(ctx, "solve", 0.5), KB_OK);
    assert_true(t.done == 0.5);
    assert_int_equal(t.reports, 6);
    kb_context_free(ctx);
}

/* The phases inside are still reports, so that they can be cancelled. */
static void an_outer_phase_hides_those_inside(void **unused) {
    told t = {0};
    kb_context *ctx = telling_context(&t);
    (void)unused;
    kb_progress_outer(ctx, "tune");
    assert_int_equal(kb_progress(ctx, "bin", 0.9), KB_OK);
    assert_string_equal(t.phase, "tune");
    assert_true(t.done == 0);
    assert_int_equal(kb_progress(ctx, "tune", 0.3), KB_OK);
    assert_true(t.done == 0.3);
    kb_progress_part(ctx, 0.5, 1); /* of a phase inside */
    assert_int_equal(kb_progress(ctx, "solve", 0.9), KB_OK);
    assert_string_equal(t.phase, "tune");
    assert_true(t.done == 0.3);
    kb_progress_part(ctx, 0, 1);
    kb_log(ctx, KB_LOG_INFO, "one of many fits");
    assert_int_equal(t.lines, 0);
    kb_log(ctx, KB_LOG_WARNING, "but this");
    assert_int_equal(t.lines, 1);
    t.stop = 1;
    assert_int_equal(kb_progress(ctx, "bin", 0), KB_ERR_CANCELLED);
    t.stop = 0;
    kb_progress_outer(ctx, NULL);
    assert_int_equal(kb_progress(ctx, "bin", 0.9), KB_OK);
    assert_string_equal(t.phase, "bin");
    assert_true(t.done == 0.9);
    kb_log(ctx, KB_LOG_INFO, "heard again");
    assert_int_equal(t.lines, 2);
    kb_progress_outer(ctx, "tune"); /* starts again */
    assert_int_equal(kb_progress(ctx, "bin", 0.9), KB_OK);
    assert_true(t.done == 0);
    kb_context_free(ctx);
}

static void cancelling_is_a_status(void **unused) {
    test_state state = {.cancel_after = 2};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    assert_int_equal(kb_progress(ctx, "read", 0), KB_OK);
    assert_string_equal(kb_context_message(ctx), "");
    assert_fails(ctx, KB_ERR_CANCELLED, "interrupted", kb_progress(ctx, "read", 0.5));
    kb_context_free(ctx);
}

/* ---- the rest ---------------------------------------------------------- */

static void the_clock_never_goes_back(void **unused) {
    double before = kb_seconds();
    (void)unused;
    for (int k = 0; k < 1000; k++) {
        double now = kb_seconds();
        assert_true(now >= before);
        before = now;
    }
    assert_true(before > 0);
}

static void the_version_is_made_of_its_numbers(void **unused) {
    char text[32];
    (void)unused;
    snprintf(text, sizeof text, "%d.%d.%d", KB_VERSION_MAJOR, KB_VERSION_MINOR, KB_VERSION_PATCH);
    assert_string_equal(KB_VERSION, text);
    assert_string_equal(kb_version(), text);
}

static void every_status_has_a_name(void **unused) {
    (void)unused;
    assert_string_equal(kb_status_name(KB_OK), "KB_OK");
    assert_string_equal(kb_status_name(KB_ERR_DATA), "KB_ERR_DATA");
    assert_string_equal(kb_status_name(KB_ERR_CANCELLED), "KB_ERR_CANCELLED");
    assert_string_equal(kb_status_name((kb_status)7), "unknown status");
    assert_string_equal(kb_status_name((kb_status)-1), "unknown status");
}

static void a_message_is_one_line(void **unused) {
    static const char path[] = "a\nb\t\033[m\177\xC3\xA9",
                      want[] = "a\\nb\\t\\x1b[m\\x7f\xC3\xA9: no";
    told t = {0};
    kb_context *ctx = telling_context(&t);
    (void)unused;
    kb_fail(ctx, KB_ERR_IO, "%s: no", path);
    assert_string_equal(kb_context_message(ctx), want);
    kb_log(ctx, KB_LOG_WARNING, "%s: no", path);
    assert_string_equal(t.line, want);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_need_be_said),
        cmocka_unit_test(threads_are_as_many_as_were_asked_for),
        cmocka_unit_test(what_cannot_be_made_is_null),
        cmocka_unit_test(a_config_says_its_size),
        cmocka_unit_test(a_failure_keeps_its_sentence),
        cmocka_unit_test(a_long_message_is_cut_not_overrun),
        cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(lines_are_logged_with_their_level),
        cmocka_unit_test(progress_is_told_again),
        cmocka_unit_test(a_phase_may_be_made_of_parts),
        cmocka_unit_test(an_outer_phase_hides_those_inside),
        cmocka_unit_test(cancelling_is_a_status),
        cmocka_unit_test(the_clock_never_goes_back),
        cmocka_unit_test(the_version_is_made_of_its_numbers),
        cmocka_unit_test(work_is_cut_short_at_a_moment),
        cmocka_unit_test(solvers_are_told_when_they_are_late),
        cmocka_unit_test(every_status_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
