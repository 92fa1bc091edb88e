/* Named arrays in a file: written and read back, and malformed files. */
#include "model/forged.h"

/* ---- a small file ------------------------------------------------------ */

static const double NUMBERS[6] = {0.5, -1, 1e300, 4, 5, -0.0};
static const int64_t WIDE[3] = {INT64_MIN, 0, 77};
static const float SMALL[4] = {1.5f, 2, 3, 4};
static const int32_t NARROW[5] = {1, -2, 3, INT32_MAX, 5};

static const kb_tensor ARRAYS[] = {{"numbers", KB_F64, 2, {2, 3}, NUMBERS},
                                   {"wide", KB_I64, 1, {3}, WIDE},
                                   {"none", KB_F64, 2, {0, 7}, NUMBERS},
                                   {"small", KB_F32, 2, {4, 1}, SMALL},
                                   {"narrow", KB_I32, 1, {5}, NARROW}};
enum { COUNT = sizeof ARRAYS / sizeof *ARRAYS };

typedef struct buffer {
    char bytes[4096];
    size_t used;
    int calls, fail_at;
} buffer;

static kb_status put(void *user, const void *bytes, size_t count) {
    buffer *b = user;
    if (++b->calls == b->fail_at)
        return KB_ERR_IO;
    assert_true(b->used + count <= sizeof b->bytes);
    memcpy(b->bytes + b->used, bytes, count);
    b->used += count;
    return KB_OK;
}

static kb_status write_small(kb_context *ctx, buffer *b) {
    json_t *texts = json_pack("{s:s, s:s, s:s}", "format", "test", "format_version", "2", "note",
                              "a \"checksum\":\" of its own");
    kb_sink sink = {put, b};
    kb_status status = kb_tensors_write(ctx, &sink, texts, ARRAYS, COUNT);
    assert_int_equal(json_object_size(texts), 3); /* it is the caller's */
    json_decref(texts);
    return status;
}

static buffer small_file(kb_context *ctx) {
    buffer b = {0};
    assert_ok(ctx, write_small(ctx, &b));
    return b;
}

static void check_small(kb_context *ctx, const kb_tensor_file *file) {
    assert_string_equal(kb_tensors_text(file, "note"), "a \"checksum\":\" of its own");
    assert_null(kb_tensors_text(file, "nothing"));
    assert_int_equal((file->data - (const unsigned char *)file->map) % 64, 0);
    for (size_t k = 0; k < COUNT; k++) {
        const kb_tensor *want = &ARRAYS[k];
        size_t size = want->type == KB_F64 || want->type == KB_I64 ? 8 : 4;
        size_t items = want->shape[0] * (want->rank == 2 ? want->shape[1] : 1);
        kb_tensor got, found = *want;
        assert_int_equal(kb_tensors_get(file, want->name, &got), 1);
        assert_string_equal(got.name, want->name);
        assert_int_equal(got.type, want->type);
        assert_int_equal(got.rank, want->rank);
        assert_int_equal(got.shape[0], want->shape[0]);
        if (want->rank == 2)
            assert_int_equal(got.shape[1], want->shape[1]);
        assert_int_equal((uintptr_t)got.bytes % size, 0);
        assert_memory_equal(got.bytes, want->bytes, items * size);
        assert_ok(ctx, kb_tensors_find(ctx, file, &found));
        assert_ptr_equal(found.bytes, got.bytes);
        assert_int_equal(kb_tensors_length(file, want->name), want->rank == 1 ? want->shape[0] : 0);
        assert_int_equal(kb_tensors_rows(file, want->name), want->rank == 2 ? want->shape[0] : 0);
    }
}

static void arrays_come_back(void **unused) {
    kb_context *ctx = test_context();
    buffer b = small_file(ctx);
    test_path path = file_with_bytes("small.tensors", b.bytes, b.used);
    kb_tensor_file file;
    (void)unused;
    assert_ok(ctx, kb_tensors_open(ctx, path.text, NULL, 0, "test", 2, 0, &file));
    assert_string_equal(file.path, path.text);
    check_small(ctx, &file);
    kb_tensors_close(&file);
    assert_null(file.map);
    assert_ok(ctx, kb_tensors_open(ctx, "here", b.bytes, b.used, "test", 9, 0, &file));
    memset(b.bytes, 0, b.used); /* it has taken a copy */
    check_small(ctx, &file);
    kb_tensors_close(&file);
    unlink(path.text);
    kb_context_free(ctx);
}

/* The layout by another reader: the length, JSON, blanks, and the arrays without a gap. */
static void the_layout_is_that_of_safetensors(void **unused) {
    kb_context *ctx = test_context();
    buffer b = small_file(ctx);
    uint64_t length;
    size_t at = 0;
    (void)unused;
    memcpy(&length, b.bytes, 8);
    assert_int_equal((8 + length) % 64, 0);
    json_t *header = json_loadb(b.bytes + 8, length, 0, NULL);
    assert_int_equal(json_object_size(header), COUNT + 1);
    for (size_t k = 0; k < COUNT; k++) {
        static const char *const type[] = {"F64", "I64", "F32", "I32"};
        const json_t *entry = json_object_get(header, ARRAYS[k].name);
        const json_t *offsets = json_object_get(entry, "data_offsets");
        assert_string_equal(json_string_value(json_object_get(entry, "dtype")),
                            type[ARRAYS[k].type]);
        assert_int_equal(json_integer_value(json_array_get(offsets, 0)), at);
        at = (size_t)json_integer_value(json_array_get(offsets, 1));
    }
    assert_int_equal(8 + length + at, b.used);
    json_decref(header);
    kb_context_free(ctx);
}

static void an_array_is_only_found_as_it_is(void **unused) {
    kb_context *ctx = test_context();
    buffer b = small_file(ctx);
    kb_tensor_file file;
    (void)unused;
    assert_ok(ctx, kb_tensors_open(ctx, "here", b.bytes, b.used, "test", 2, 0, &file));
    const kb_tensor wrong[] = {
        {"numbers", KB_I64, 2, {2, 3}, NULL}, {"numbers", KB_F64, 2, {3, 2}, NULL},
        {"numbers", KB_F64, 2, {2, 2}, NULL}, {"numbers", KB_F64, 1, {6}, NULL},
        {"numbers", KB_F64, 2, {6, 1}, NULL}, {"number", KB_F64, 2, {2, 3}, NULL},
        {"numbers", KB_F64, 2, {3, 3}, NULL}, {"wide", KB_I64, 1, {2}, NULL}};
    for (size_t k = 0; k < 8; k++) {
        kb_tensor want = wrong[k];
        char says[128];
        snprintf(says, sizeof says, "here: damaged: the array '%s' is not as it should be",
                 want.name);
        assert_fails(ctx, KB_ERR_MODEL, says, kb_tensors_find(ctx, &file, &want));
        assert_null(want.bytes);
    }
    kb_tensor unread;
    assert_int_equal(kb_tensors_get(&file, "number", &unread), 0);
    assert_int_equal(kb_tensors_length(&file, "number"), 0);
    assert_int_equal(kb_tensors_rows(&file, "number"), 0);
    kb_tensors_close(&file);
    kb_context_free(ctx);
}

/* ---- files that are not what they should be ---------------------------- */

static void refused(kb_context *ctx, const char *bytes, size_t count, const char *says) {
    kb_tensor_file file;
    assert_fails(ctx, KB_ERR_MODEL, says,
                 kb_tensors_open(ctx, "here", bytes, count, "test", 2, 0, &file));
    assert_null(file.map);
    assert_null(file.header);
}

static void every_byte_counts(void **unused) {
    kb_context *ctx = test_context();
    buffer b = small_file(ctx);
    kb_tensor_file file;
    (void)unused;
    for (size_t k = 0; k < b.used; k++) {
        char kept = b.bytes[k];
        b.bytes[k] ^= 1;
        assert_int_equal(kb_tensors_open(ctx, "here", b.bytes, b.used, "test", 2, 0, &file),
                         KB_ERR_MODEL);
        assert_ptr_equal(strstr(kb_context_message(ctx), "here: "), kb_context_message(ctx));
        assert_null(strchr(kb_context_message(ctx), '\n'));
        b.bytes[k] = kept;
    }
    b.bytes[b.used - 1] ^= 1;
    refused(ctx, b.bytes, b.used, "here: damaged: the checksum does not match");
    kb_context_free(ctx);
}

static void every_length_but_its_own_is_refused(void **unused) {
    kb_context *ctx = test_context();
    buffer b = small_file(ctx);
    kb_tensor_file file;
    uint64_t length;
    (void)unused;
    memcpy(&length, b.bytes, 8);
    for (size_t k = 0; k < b.used; k++) {
        assert_int_equal(kb_tensors_open(ctx, "here", b.bytes, k, "test", 2, 0, &file),
                         KB_ERR_MODEL);
        assert_string_equal(kb_context_message(ctx),
                            k < 9                 ? "here: not a kerbin model"
                            : k < 8 + length      ? "here: truncated"
                            : k < 8 + length + 48 ? "here: truncated or damaged (array 'numbers')"
                            : k < 8 + length + 72 ? "here: truncated or damaged (array 'wide')"
                            : k < 8 + length + 72 + 16
                                ? "here: truncated or damaged (array 'small')"
                                : "here: truncated or damaged (array 'narrow')");
    }
    refused(ctx, b.bytes, b.used + 3, "here: damaged: 3 bytes too many");
    kb_context_free(ctx);
}

static void other_formats_are_told(void **unused) {
    kb_context *ctx = test_context();
    buffer b = small_file(ctx);
    kb_tensor_file file;
    (void)unused;
    assert_fails(ctx, KB_ERR_MODEL,
                 "here: has model format 2, this kerbin knows up to 1: use a newer kerbin",
                 kb_tensors_open(ctx, "here", b.bytes, b.used, "test", 1, 0, &file));
    assert_fails(ctx, KB_ERR_MODEL, "here: not a kerbin model",
                 kb_tensors_open(ctx, "here", b.bytes, b.used, "toast", 2, 0, &file));
    refused(ctx, "plain text, and some more of it", 31, "here: not a kerbin model");
    refused(ctx, "\377\377\377\377\377\377\377\177{}", 10, "here: not a kerbin model");
    refused(ctx, "\2\0\0\0\0\0\0\0{]", 10, "here: damaged: its arrays are not aligned");
    refused(ctx, "\10\0\0\0\0\0\0\0{]      ", 16, "here: not a kerbin model, or damaged");
    refused(ctx, "\10\0\0\0\0\0\0\0{}      ", 16, "here: not a kerbin model");
    assert_int_equal(kb_tensors_open(ctx, "/nowhere/at/all", NULL, 0, "test", 2, 0, &file),
                     KB_ERR_IO);
    assert_ptr_equal(strstr(kb_context_message(ctx), "/nowhere/at/all: cannot open: "),
                     kb_context_message(ctx));
    assert_fails(ctx, KB_ERR_MODEL, "/: not a kerbin model",
                 kb_tensors_open(ctx, "/", NULL, 0, "test", 2, 0, &file));
    kb_context_free(ctx);
}

/* A header made by hand, with the right checksum. */
static void refused_header(kb_context *ctx, const char *entries, size_t bytes, const char *says) {
    char text[1024];
    snprintf(
        text, sizeof text,
        "{\"__metadata__\":{\"format\":\"test\",\"format_version\":\"1\",\"checksum\":\"\"}%s}",
        entries);
    parts p = {.header = json_loads(text, 0, NULL), .data = calloc(bytes + 1, 1), .bytes = bytes};
    assert_non_null(p.header);
    test_path path = put_together(&p);
    char want[1024];
    kb_tensor_file file;
    snprintf(want, sizeof want, "%s%s", path.text, says);
    kb_status status = kb_tensors_open(ctx, path.text, NULL, 0, "test", 2, 0, &file);
    if (says[0] == '\0') {
        assert_ok(ctx, status);
        kb_tensors_close(&file);
    } else {
        assert_int_equal(status, KB_ERR_MODEL);
        assert_string_equal(kb_context_message(ctx), want);
    }
    unlink(path.text);
    parts_free(&p);
}

static void no_entry_is_believed(void **unused) {
#define A(type, shape, begin, end)                                                                 \
    ",\"a\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"
    static const char damaged[] = ": truncated or damaged (array 'a')";
    kb_context *ctx = test_context();
    (void)unused;
    refused_header(ctx, A("F64", "[2]", "0", "16"), 16, "");
    refused_header(ctx, "", 0, "");
    refused_header(ctx, A("F64", "[2]", "0", "24"), 24, damaged);
    refused_header(ctx, A("F64", "[2]", "8", "24"), 24, damaged);
    refused_header(ctx, A("F64", "[2]", "16", "0"), 16, damaged);
    refused_header(ctx, A("F64", "[2]", "-16", "0"), 16, damaged);
    refused_header(ctx, A("F64", "[2]", "0", "32"), 16, damaged);
    refused_header(ctx, A("F16", "[8]", "0", "16"), 16, damaged);
    refused_header(ctx, A("F64", "[]", "0", "8"), 8, damaged);
    refused_header(ctx, A("F64", "[1,1,2]", "0", "16"), 16, damaged);
    refused_header(ctx, A("F64", "[-2]", "0", "16"), 16, damaged);
    refused_header(ctx, A("F64", "[0,-5]", "0", "0"), 0, damaged);
    refused_header(ctx, A("F64", "[4611686018427387904,8]", "0", "0"), 0, damaged);
    refused_header(ctx, A("F64", "[9223372036854775807,2]", "0", "16"), 16, damaged);
    refused_header(ctx, ",\"a\":7", 8, damaged);
    refused_header(ctx, ",\"a\":{}", 8, damaged);
    refused_header(ctx, A("F64", "[1]", "0", "8"), 12, ": damaged: 4 bytes too many");
    /* A number of 8 bytes at 4. */
    refused_header(ctx,
                   ",\"b\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[0,4]}" A("F64", "[1]",
                                                                                       "4", "12"),
                   12, damaged);
    /* Twice the same bytes. */
    refused_header(
        ctx,
        ",\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}" A("F64", "[1]", "0", "8"),
        8, damaged);
    kb_context_free(ctx);
#undef A
}

static void a_file_without_a_checksum_is_refused(void **unused) {
    static const char header[] = "{\"__metadata__\":{\"format\":\"test\",\"format_version\":\"1\"}}"
                                 "        ";
    kb_context *ctx = test_context();
    char bytes[128];
    uint64_t length = (sizeof header - 1) / 8 * 8;
    (void)unused;
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    refused(ctx, bytes, 8 + length, "here: damaged: no checksum");
    kb_context_free(ctx);
}

/* ---- failures ---------------------------------------------------------- */

/* The status of the sink is returned, whichever piece it is at. */
static void a_sink_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int at = 1; at <= COUNT + 3; at++) {
        buffer b = {.fail_at = at};
        assert_int_equal(write_small(ctx, &b), at <= COUNT + 2 ? KB_ERR_IO : KB_OK);
    }
    kb_context_free(ctx);
}

static int there_and_back(kb_context *ctx, void *unused) {
    buffer b = {0};
    kb_tensor_file file;
    kb_status status;
    (void)unused;
    TRY(write_small(ctx, &b));
    TRY(kb_tensors_open(ctx, "here", b.bytes, b.used, "test", 2, 0, &file));
    kb_tensors_close(&file);
done:
    return (int)status;
}

static void allocations_may_fail_and_writing_be_cancelled(void **unused) {
    (void)unused;
    run_with_allocation_failures(there_and_back, NULL);
    run_with_cancellations(there_and_back, NULL, 1, COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_come_back),
        cmocka_unit_test(the_layout_is_that_of_safetensors),
        cmocka_unit_test(an_array_is_only_found_as_it_is),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(every_length_but_its_own_is_refused),
        cmocka_unit_test(other_formats_are_told),
        cmocka_unit_test(no_entry_is_believed),
        cmocka_unit_test(a_file_without_a_checksum_is_refused),
        cmocka_unit_test(a_sink_may_fail),
        cmocka_unit_test(allocations_may_fail_and_writing_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
