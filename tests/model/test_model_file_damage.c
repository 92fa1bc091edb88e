/* Files that are not model files, or are damaged: refused, with a message that says why. */
#include "model/originals.h"

/* ---- damage that anyone would see -------------------------------------- */

static void refused_bytes(kb_context *ctx, const char *bytes, size_t count, const char *what,
                          size_t where) {
    test_path path = file_with_bytes("damaged.kerbin", bytes, count);
    refused_at(ctx, path.text, what, where);
    unlink(path.text);
}

static void truncated_and_longer_files_are_refused(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_model *model = small_model(ctx, TWO);
    test_path path = written(ctx, model);
    size_t count;
    char *bytes = bytes_of(path.text, &count);
    (void)unused;
    kb_model_free(model);
    for (size_t length = 0; length < count; length += length < 40 ? 1 : 37)
        refused_bytes(ctx, bytes, length, "length", length);
    refused_bytes(ctx, bytes, count - 1, "length", count - 1);
    refused_bytes(ctx, bytes, count + 1, "length", count + 1); /* the '\0' behind */
    free(bytes);
    unlink(path.text);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void every_flipped_byte_of_the_header_is_seen(void **unused) {
    static const int flips[] = {0x01, 0x20, 0x80};
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_model *model = small_model(ctx, TWO);
    test_path path = written(ctx, model);
    size_t count;
    char *bytes = bytes_of(path.text, &count);
    uint64_t length;
    (void)unused;
    kb_model_free(model);
    memcpy(&length, bytes, 8);
    for (size_t at = 0; at < 8 + length; at++)
        for (int k = 0; k < 3; k++) {
            bytes[at] = (char)(bytes[at] ^ flips[k]);
            refused_bytes(ctx, bytes, count, "flipped header byte", at);
            bytes[at] = (char)(bytes[at] ^ flips[k]);
        }
    for (size_t at = 8 + length; at < count; at += 5) {
        bytes[at] ^= 0x10;
        refused_bytes(ctx, bytes, count, "flipped byte", at);
        bytes[at] ^= 0x10;
    }
    free(bytes);
    unlink(path.text);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void other_files_are_refused(void **unused) {
    static const char *const texts[] = {
        "", "x", "1 1:2 2:3\n", "\0\0\0\0\0\0\0\0", "12345678{", "{\"a\": 1}         "};
    kb_context *ctx = test_context();
    kb_model *model;
    (void)unused;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        refused_bytes(ctx, texts[k], strlen(texts[k]), "text", k);
    refused_bytes(ctx, "\0\0\0\0\0\0\0\0{}", 10, "empty header", 0);
    refused_bytes(ctx, "\2\0\0\0\0\0\0\0{}", 10, "empty object", 0);
    refused_bytes(ctx, "\2\0\0\0\0\0\0\0[]", 10, "array", 0);
    refused_bytes(ctx, "\377\377\377\377\377\377\377\377{}", 10, "longest header", 0);
    refused_bytes(ctx, "\370\377\377\377\377\377\377\377{}", 10, "wrapping header", 0);
    refused_at(ctx, "/tmp", "folder", 0);
    assert_fails(ctx, KB_ERR_IO, "/nowhere/m.kerbin: cannot open: No such file or directory",
                 kb_model_read(ctx, "/nowhere/m.kerbin", &model));
    kb_context_free(ctx);
}

/* ---- damage with a good checksum --------------------------------------- */

static void a_file_put_together_again_is_read(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx, WORDS);
    parts p = take_apart(path.text);
    kb_model *model;
    (void)unused;
    /* Unknown entries are ignored. */
    json_object_set_new(p.model, "mood", json_string("good"));
    json_object_set_new(json_object_get(p.header, "__metadata__"), "author", json_string("x"));
    test_path forged = put_together(&p);
    assert_ok(ctx, kb_model_read(ctx, forged.text, &model));
    kb_model_free(model);
    parts_free(&p);
    unlink(forged.text);
    unlink(path.text);
    kb_context_free(ctx);
}

static void foreign_and_newer_files_are_named_so(void **unused) {
    static const struct {
        const char *key, *value, *says;
    } cases[] = {{"format", "pt", "not a kerbin model"},
                 {"format", NULL, "not a kerbin model"},
                 {"format_version", "8", "use a newer kerbin"},
                 {"format_version", "999999999999999999999", "use a newer kerbin"},
                 {"format_version", "0", "model format 0"},
                 {"format_version", "one", "model format one"},
                 {"format_version", NULL, "not a kerbin model"},
                 {"checksum", NULL, "no checksum"}};
    kb_context *ctx = test_context();
    test_path path = original(ctx, TWO);
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        parts p = take_apart(path.text);
        json_t *metadata = json_object_get(p.header, "__metadata__");
        if (cases[k].value)
            json_object_set_new(metadata, cases[k].key, json_string(cases[k].value));
        else
            json_object_del(metadata, cases[k].key);
        refused_parts(ctx, &p, cases[k].key, cases[k].says);
        parts_free(&p);
    }
    parts p = take_apart(path.text);
    json_object_del(p.header, "__metadata__");
    refused_parts(ctx, &p, "no metadata", "not a kerbin model");
    parts_free(&p);
    unlink(path.text);
    kb_context_free(ctx);
}

static void every_array_must_be_there_in_its_shape(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx, THREE);
    (void)unused;
    for (int k = 0; k < ARRAY_COUNT; k++)
        for (int how = 0; how < DAMAGED_HEADERS; how++) {
            parts p = take_apart(path.text);
            assert_true(damage(&p, ARRAYS[k], how));
            refused_parts(ctx, &p, ARRAYS[k], "damaged");
            parts_free(&p);
        }
    unlink(path.text);
    kb_context_free(ctx);
}

static void offsets_that_leave_the_file_or_overlap_are_refused(void **unused) {
    static const json_int_t offsets[][2] = {
        {-8, 80}, {0, INT64_MAX}, {INT64_MAX - 7, INT64_MAX}, {80, 0}, {8, 88}, {0, 72}, {4, 84}};
    kb_context *ctx = test_context();
    test_path path = original(ctx, TWO);
    (void)unused;
    for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++) {
        parts p = take_apart(path.text);
        assert_int_equal(offset_of(&p, "grid.inverse_width", 1), 80);
        json_object_set_new(entry_of(&p, "grid.inverse_width"), "data_offsets",
                            json_pack("[II]", offsets[k][0], offsets[k][1]));
        refused_parts(ctx, &p, "offsets", "damaged");
        parts_free(&p);
    }
    parts p = take_apart(path.text); /* two arrays on the same bytes */
    json_object_set(p.header, "grid.offset", entry_of(&p, "grid.inverse_width"));
    refused_parts(ctx, &p, "overlap", "damaged");
    parts_free(&p);
    p = take_apart(path.text); /* a product that wraps round to the right number of bytes */
    json_object_set_new(entry_of(&p, "grid.inverse_width"), "shape",
                        json_pack("[II]", (INT64_C(1) << 61) + 10, INT64_C(1)));
    refused_parts(ctx, &p, "overflow", "damaged");
    parts_free(&p);
    unlink(path.text);
    kb_context_free(ctx);
}

/* Arrays of 8-byte numbers at odd addresses must never be read as such. */
static void a_header_that_breaks_the_alignment_is_refused(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx, TWO);
    (void)unused;
    for (size_t shift = 1; shift < 8; shift++) {
        parts p = take_apart(path.text);
        p.shift = shift;
        refused_parts(ctx, &p, "alignment", "damaged");
        parts_free(&p);
    }
    unlink(path.text);
    kb_context_free(ctx);
}

/* A search must not leave the arrays, whatever they hold. */
static void tables_that_point_outside_are_refused(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx, TWO);
    (void)unused;
    static const int64_t starts[] = {-1, 1, INT64_MAX, INT64_MIN, 1000000};
    static const char *const names[] = {"bin.start", "bucket.start"};
    for (int n = 0; n < 2; n++)
        for (size_t at = 0; at < 6; at++) /* five grids */
            for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
                parts p = take_apart(path.text);
                int64_t *start = (int64_t *)array_of(&p, names[n]);
                int same = start[at] == starts[k];
                start[at] = starts[k];
                if (!same)
                    refused_parts(ctx, &p, names[n], "contradict");
                parts_free(&p);
            }
    parts whole = take_apart(path.text);
    size_t entries =
        (offset_of(&whole, "bucket.first", 1) - offset_of(&whole, "bucket.first", 0)) / 4;
    parts_free(&whole);
    for (size_t at = 0; at < entries; at += entries / 7) {
        parts p = take_apart(path.text);
        ((uint32_t *)array_of(&p, "bucket.first"))[at] = UINT32_MAX;
        refused_parts(ctx, &p, "bucket.first", "contradict");
        parts_free(&p);
    }
    unlink(path.text);
    kb_context_free(ctx);
}

static void numbers_that_make_no_bins_are_refused(void **unused) {
    static const double bad[] = {NAN, INFINITY, -INFINITY, -1, 1e301, -1e308};
    static const char *const names[] = {"grid.inverse_width", "grid.offset"};
    static const char *const affine[] = {"feature.shift", "feature.scale"};
    kb_context *ctx = test_context();
    test_path path = original(ctx, REAL);
    (void)unused;
    for (int n = 0; n < 2; n++)
        for (size_t at = 0; at < 10; at += 9)
            for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
                parts p = take_apart(path.text);
                ((double *)array_of(&p, names[n]))[at] = bad[k];
                refused_parts(ctx, &p, names[n], "damaged");
                parts_free(&p);
                if (k >= 3)
                    continue;
                p = take_apart(path.text);
                ((double *)array_of(&p, affine[n]))[at ? 1 : 0] = bad[k];
                refused_parts(ctx, &p, affine[n], "damaged");
                parts_free(&p);
            }
    unlink(path.text);
    kb_context_free(ctx);
}

/* Keys and weights may be anything: predictions are wrong, but do not crash. */
static void nonsense_in_keys_and_weights_is_harmless(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx, THREE);
    parts p = take_apart(path.text);
    kb_data *data = data_of(ctx, 50, 2, REAL);
    kb_model *model;
    static const char *const names[] = {"bin.key", "bin.weight", "hash.factor", "feature.shift"};
    (void)unused;
    for (int n = 0; n < 3; n++)
        memset(array_of(&p, names[n]), 0xA7 + n,
               offset_of(&p, names[n], 1) - offset_of(&p, names[n], 0));
    ((double *)array_of(&p, names[3]))[0] = 1e308;
    test_path forged = put_together(&p);
    assert_ok(ctx, kb_model_read(ctx, forged.text, &model));
    free(decisions_of(ctx, model, data));
    kb_model_free(model);
    kb_data_free(data);
    parts_free(&p);
    unlink(forged.text);
    unlink(path.text);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated_and_longer_files_are_refused),
        cmocka_unit_test(every_flipped_byte_of_the_header_is_seen),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(a_file_put_together_again_is_read),
        cmocka_unit_test(foreign_and_newer_files_are_named_so),
        cmocka_unit_test(every_array_must_be_there_in_its_shape),
        cmocka_unit_test(offsets_that_leave_the_file_or_overlap_are_refused),
        cmocka_unit_test(a_header_that_breaks_the_alignment_is_refused),
        cmocka_unit_test(tables_that_point_outside_are_refused),
        cmocka_unit_test(numbers_that_make_no_bins_are_refused),
        cmocka_unit_test(nonsense_in_keys_and_weights_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
