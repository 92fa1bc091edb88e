/* reading.h - texts read as files, for the tests of the readers. */
#ifndef KB_TESTS_DATA_READING_H
#define KB_TESTS_DATA_READING_H

#include "support.h"

#include "io/reader.h"

static test_path path; /* of the last text that was read */

/* The text as NAME.csv or, for "data", as what it looks like. */
static kb_status read_as(kb_context *ctx, const char *name, const kb_read_spec *spec,
                                const char *text, kb_data **out) {
    path = file_with(name, text);
    kb_status status = kb_read(ctx, spec, path.text, out);
    remove(path.text);
    return status;
}

/* The message is about that file. */
static void assert_message(kb_context *ctx, const char *rest) {
    char want[1024];
    snprintf(want, sizeof want, "%s%s", path.text, rest);
    assert_string_equal(kb_context_message(ctx), want);
}

#define assert_items(type, got, ...)                                                               \
    do {                                                                                           \
        const type want_[] = {__VA_ARGS__};                                                        \
        assert_non_null(got);                                                                      \
        assert_memory_equal(got, want_, sizeof want_);                                             \
    } while (0)

#endif
