/*
 * support.h - what all unit tests share: cmocka, contexts, temporary files, and the tests that make
 * every allocation fail once and cancel at every report.
 */
#ifndef KB_TESTS_SUPPORT_H
#define KB_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/context.h"
#include "core/memory.h"
#include "data/data.h"

/* 1 under the sanitizers, and for coverage, where everything takes many times as long: loops over
 * cases that go the same ways with other numbers are shorter then.  The plain run has all of them.
 */
#ifndef TEST_LIGHT
#define TEST_LIGHT 0
#endif

/* What a test context records. */
typedef struct test_state {
    long live;         /* blocks not yet freed */
    long allocations;  /* allocations so far */
    long fail_at;      /* the allocation that fails; 0: none */
    char log[2048];    /* lines of the log, each with a newline */
    long warnings;     /* how many of them were warnings */
    long progress;     /* calls of the progress callback */
    long cancel_after; /* the progress call that cancels; 0: none */
} test_state;

/* Fresh memory is filled with junk, to show missing initialisation. */
static inline void *test_reallocate(void *user, void *block, size_t bytes) {
    test_state *state = user;
    if (bytes == 0) {
        state->live -= block != NULL;
        free(block);
        return NULL;
    }
    if (++state->allocations == state->fail_at)
        return NULL;
    void *grown = realloc(block, bytes);
    state->live += grown != NULL && block == NULL;
    if (grown && !block)
        memset(grown, 0x41, bytes); /* a large number, and no address */
    return grown;
}

static inline void test_log(void *user, kb_log_level level, const char *line) {
    test_state *state = user;
    size_t used = strlen(state->log);
    state->warnings += level == KB_LOG_WARNING;
    snprintf(state->log + used, sizeof state->log - used, "%s\n", line);
}

static inline int test_progress(void *user, const char *phase, double done) {
    test_state *state = user;
    assert_non_null(phase);
    assert_true(done <= 1);
    return ++state->progress == state->cancel_after;
}

/* A context that counts; `state` must outlive it. */
static inline kb_context *test_context_with(test_state *state, int threads) {
    kb_context *ctx;
    kb_context_config config = {.size = sizeof config,
                                .user = state,
                                .reallocate = test_reallocate,
                                .log = test_log,
                                .progress = test_progress,
                                .threads = threads,
                                .option_style = KB_STYLE_FLAG};
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    return ctx;
}

/* A plain context with the default allocator. */
static inline kb_context *test_context(void) {
    kb_context *ctx;
    kb_context_config config = {.size = sizeof config, .option_style = KB_STYLE_FLAG};
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    return ctx;
}

#define assert_ok(ctx, call)                                                                       \
    do {                                                                                           \
        kb_status status_ = (call);                                                                \
        if (status_ != KB_OK)                                                                      \
            fail_msg("status %d: %s", (int)status_, kb_context_message(ctx));                      \
    } while (0)

/* `call` must fail with `status` and exactly this message. */
#define assert_fails(ctx, status, message, call)                                                   \
    do {                                                                                           \
        assert_int_equal((call), (status));                                                        \
        assert_string_equal(kb_context_message(ctx), (message));                                   \
    } while (0)

/* Runs `body` with the first, the second, .. allocation failing, until it gets through
 * without meeting the failure.  Every failed run must return KB_ERR_MEMORY, say so, and
 * leave no block behind; a run that returns KB_OK must have freed its results too.  Only
 * memory of our own allocator counts.  One thread: a team of threads would be made on first
 * use, stay with the context, and be done without where memory is short. */
static inline void run_with_allocation_failures(int (*body)(kb_context *ctx, void *arg),
                                                void *arg) {
    for (long k = 1;; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        state.fail_at = state.allocations + k;
        int status = body(ctx, arg);
        int met = state.allocations >= state.fail_at;
        assert_int_equal(state.live, 1); /* the context itself */
        assert_int_equal(status, met ? KB_ERR_MEMORY : KB_OK);
        if (met)
            assert_non_null(strstr(kb_context_message(ctx), "memory"));
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
        if (!met)
            return;
        assert_true(k < 1000000);
    }
}

/* Runs `body` with the first, the second, .. call of the progress callback cancelling it, until
 * it gets through without that call.  There must be `least` calls or more, and no run may leave
 * a block behind. */
static inline void run_with_cancellations(int (*body)(kb_context *ctx, void *arg), void *arg,
                                          int threads, long least) {
    for (long k = 1;; k++) {
        test_state state = {.cancel_after = k};
        kb_context *ctx = test_context_with(&state, threads);
        int status = body(ctx, arg);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
        assert_int_equal(status, state.progress < k ? KB_OK : KB_ERR_CANCELLED);
        if (state.progress < k) {
            assert_true(state.progress >= least);
            return;
        }
    }
}

/* ---- samples ----------------------------------------------------------- */

/* Data of a row-major array that stay dense, however many zeros there are. */
static inline kb_status data_from_dense(kb_context *ctx, size_t rows, size_t features,
                                        const double *values, const double *labels, kb_data **out) {
    kb_status status;
    double *dense;
    kb_arrays a = {
        .size = sizeof a, .rows = rows, .features = features, .values = values, .labels = labels};
    TRY(kb_data_from_arrays(ctx, &a, out));
    if ((*out)->dense)
        goto done;
    size_t cells = (*out)->rows * (*out)->features;
    TRY(kb_alloc(ctx, cells, sizeof *dense, &dense));
    for (size_t k = 0; k < cells; k++)
        dense[k] = values[k];
    kb_release(ctx, (*out)->row_start);
    kb_release(ctx, (*out)->column);
    kb_release(ctx, (*out)->value);
    (*out)->row_start = NULL;
    (*out)->column = NULL;
    (*out)->value = NULL;
    (*out)->dense = dense;
done:
    if (status != KB_OK) {
        kb_data_free(*out);
        *out = NULL;
    }
    return status;
}

/* Data of compressed rows that stay so, however many entries there are. */
static inline kb_status data_from_csr(kb_context *ctx, size_t rows, size_t features,
                                      const size_t *row_start, const uint32_t *columns,
                                      const double *values, const double *labels, kb_data **out) {
    kb_status status;
    kb_arrays a = {.size = sizeof a,
                   .rows = rows,
                   .features = features,
                   .values = values,
                   .row_start = row_start,
                   .columns = columns,
                   .row_start_bytes = sizeof *row_start,
                   .column_bytes = sizeof *columns,
                   .labels = labels};
    TRY(kb_data_from_arrays(ctx, &a, out));
    if (!(*out)->dense)
        goto done;
    size_t first = row_start[0], entries = row_start[rows] - first;
    kb_release(ctx, (*out)->dense);
    (*out)->dense = NULL;
    TRY(kb_alloc(ctx, rows + 1, sizeof(size_t), &(*out)->row_start));
    TRY(kb_alloc(ctx, entries, sizeof(uint32_t), &(*out)->column));
    TRY(kb_alloc(ctx, entries, sizeof(double), &(*out)->value));
    for (size_t i = 0; i <= rows; i++)
        (*out)->row_start[i] = row_start[i] - first;
    memcpy((*out)->column, columns + first, entries * sizeof *columns);
    memcpy((*out)->value, values + first, entries * sizeof *values);
done:
    if (status != KB_OK) {
        kb_data_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- files for a moment ------------------------------------------------ */

/* "TMPDIR/kerbin-test-PID-name", the same for the same name. */
typedef struct test_path {
    char text[512];
} test_path;

static inline test_path path_of(const char *name) {
    test_path path;
    const char *folder = getenv("TMPDIR");
    snprintf(path.text, sizeof path.text, "%s/kerbin-test-%d-%s", folder ? folder : "/tmp",
             (int)getpid(), name);
    return path;
}

/* A device such as /dev/null (1, 3) or /dev/full (1, 7), to be unlinked.  As root it is one of our
 * own: a library that fails here must not replace that of the machine.  0: there is none. */
static inline int device_like(const char *name, int major, int minor, test_path *path) {
    char command[1200];
    *path = path_of(name);
    if (geteuid() == 0)
        snprintf(command, sizeof command, "mknod -m 666 '%s' c %d %d 2> /dev/null", path->text,
                 major, minor);
    else
        snprintf(command, sizeof command, "ln -s /dev/%s '%s'", name, path->text);
    FILE *file = system(command) == 0 ? fopen(path->text, "r+") : NULL;
    if (!file) {
        unlink(path->text);
        return 0;
    }
    fclose(file);
    return 1;
}

/* A file of that name with these bytes. */
static inline test_path file_with_bytes(const char *name, const void *bytes, size_t count) {
    test_path path = path_of(name);
    FILE *file = fopen(path.text, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline test_path file_with(const char *name, const char *text) {
    return file_with_bytes(name, text, strlen(text));
}

/* The bytes of a file, with a '\0' behind; to be freed. */
static inline char *bytes_of(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    size_t capacity = 1 << 16, used = 0, got;
    char *bytes = malloc(capacity);
    assert_non_null(file);
    assert_non_null(bytes);
    while ((got = fread(bytes + used, 1, capacity - used - 1, file)) > 0) {
        used += got;
        if (used + 1 == capacity) {
            capacity *= 2;
            bytes = realloc(bytes, capacity);
            assert_non_null(bytes);
        }
    }
    fclose(file);
    bytes[used] = '\0';
    if (count)
        *count = used;
    return bytes;
}

#endif
