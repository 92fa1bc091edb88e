/* Model files: whole ones come back to the bit, with the documented layout. */
#include "model/originals.h"

static void assert_same_text(const char *a, const char *b) {
    assert_string_equal(a, b);
}

static void assert_same_info(const kb_fit_info *a, const kb_fit_info *b) {
    assert_same_text(a->task, b->task);
    assert_same_text(a->loss, b->loss);
    assert_same_text(a->penalty, b->penalty);
    assert_same_text(a->map, b->map);
    assert_same_text(a->kernel, b->kernel);
    assert_same_text(a->sigma_text, b->sigma_text);
    assert_same_text(a->sigma_rule, b->sigma_rule);
    assert_true(a->sigma == b->sigma);
    assert_same_text(a->solver, b->solver);
    assert_same_text(a->scale, b->scale);
    assert_same_text(a->probability, b->probability);
    assert_true(a->lambda == b->lambda && a->seed == b->seed && a->intercept == b->intercept);
    assert_true(a->rows == b->rows && a->features == b->features && a->classes == b->classes);
    assert_true(a->outputs == b->outputs && a->grids == b->grids && a->bins == b->bins);
    assert_true(a->kappa == b->kappa && a->steps == b->steps && a->converged == b->converged);
    assert_true(a->objective == b->objective && a->train_score == b->train_score);
    assert_true(a->nonzeros == b->nonzeros && a->gap == b->gap);
    assert_true(a->kept_grids == b->kept_grids && a->kept_bins == b->kept_bins);
    assert_true(a->widths_differ == b->widths_differ && a->linear_columns == b->linear_columns &&
                a->directions == b->directions);
}

static void a_model_comes_back_to_the_bit(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        kb_model *model = small_model(ctx, kind), *back;
        test_path path = written(ctx, model);
        size_t C = kb_model_info(model)->outputs;
        kb_data *data = data_of(ctx, 100, 2, REAL);
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        const kb_fit_cost *none = kb_model_cost(back);
        assert_same_info(kb_model_info(model), kb_model_info(back));
        assert_true(none->tune_seconds == 0 && none->bin_seconds == 0 && none->solve_seconds == 0);
        assert_true(none->id_bytes == 0 && none->forecast_bytes == 0);
        double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, back, data);
        assert_same_bits(f, g, 100 * C);
        int64_t *x = columns_of(ctx, kb_model_map(model), data);
        int64_t *y = columns_of(ctx, kb_model_map(back), data);
        assert_same_bits(x, y, 100 * 5);
        for (size_t k = 0; k < kb_model_info(model)->classes; k++) {
            assert_true(kb_model_class(model, k) == kb_model_class(back, k));
            assert_same_text(kb_model_class_name(model, k), kb_model_class_name(back, k));
        }
        assert_same_file_again(ctx, back, path.text);
        /* A model that was read no longer needs its file. */
        unlink(path.text);
        assert_ok(ctx, kb_model_decide(ctx, back, data, g));
        assert_same_bits(f, g, 100 * C);
        free(f), free(g), free(x), free(y);
        kb_data_free(data);
        kb_model_free(model);
        kb_model_free(back);
    }
    kb_context_free(ctx);
}

typedef struct pieces {
    char bytes[1 << 16];
    size_t used, stop_at;
} pieces;

static kb_status keep_piece(void *user, const void *bytes, size_t count) {
    pieces *p = user;
    if (p->used >= p->stop_at)
        return KB_ERR_IO;
    assert_true(count <= sizeof p->bytes - p->used);
    memcpy(p->bytes + p->used, bytes, count);
    p->used += count;
    return KB_OK;
}

static void bytes_in_memory_are_the_file(void **unused) {
    kb_context *ctx = test_context();
    pieces *p = malloc(sizeof *p);
    (void)unused;
    assert_non_null(p);
    for (int rival = 0; rival < 2; rival++) {
        kb_options *options = OPTIONS(ctx, "grids", "5", "map", rival ? "nystrom" : "binning");
        kb_data *data = data_of(ctx, 40, 2, WORDS);
        kb_model *model = model_of(ctx, options, data), *back;
        test_path path = written(ctx, model);
        size_t count;
        char *bytes = bytes_of(path.text, &count);
        p->used = 0;
        p->stop_at = SIZE_MAX;
        assert_ok(ctx, kb_model_write_bytes(ctx, model, keep_piece, p));
        assert_int_equal(p->used, count);
        assert_memory_equal(p->bytes, bytes, count);
        assert_ok(ctx, kb_model_read_bytes(ctx, p->bytes, count, &back));
        double *f = decisions_of(ctx, model, data);
        memset(p->bytes, 0, count); /* they were copied */
        double *g = decisions_of(ctx, back, data);
        assert_same_bits(f, g, 40 * kb_model_info(back)->outputs);
        kb_model_free(back);
        /* The sink of the bytes may stop it. */
        p->used = 0;
        p->stop_at = 9;
        assert_int_equal(kb_model_write_bytes(ctx, model, keep_piece, p), KB_ERR_IO);
        assert_true(p->used < count);
        assert_fails(ctx, KB_ERR_MODEL, "the model's bytes: truncated",
                     kb_model_read_bytes(ctx, bytes, 16, &back));
        assert_fails(ctx, KB_ERR_MODEL, "the model's bytes: not a kerbin model",
                     kb_model_read_bytes(ctx, bytes, 7, &back));
        bytes[count - 1] ^= 1;
        assert_fails(ctx, KB_ERR_MODEL, "the model's bytes: damaged: the checksum does not match",
                     kb_model_read_bytes(ctx, bytes, count, &back));
        assert_null(back);
        free(f), free(g), free(bytes);
        unlink(path.text);
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
    }
    free(p);
    kb_context_free(ctx);
}

/* Names with all that JSON must escape. */
static void names_come_back(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "3", "label", "kind");
    test_path csv = file_with("names.csv", "\"a \"\"b\"\"\",kind,\\n gr\xC3\xB6\xC3\x9F"
                                           "e\n1,\"x,\\y\",2\n2,z,3\n");
    kb_data *data, *again;
    kb_model *back;
    (void)unused;
    assert_ok(ctx, kb_data_read(ctx, options, csv.text, NULL, &data));
    kb_model *model = model_of(ctx, options, data);
    test_path path = written(ctx, model);
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    for (size_t j = 0; j < 2; j++)
        assert_same_text(kb_model_feature_name(back, j), data->feature_name[j]);
    assert_same_text(kb_model_class_name(back, 0), "x,\\y");
    assert_same_text(back->label, "kind");
    assert_ok(ctx, kb_data_read(ctx, options, csv.text, back, &again)); /* matched by name */
    assert_int_equal(kb_data_features(again), 2);
    unlink(csv.text);
    unlink(path.text);
    kb_data_free(data);
    kb_data_free(again);
    kb_model_free(model);
    kb_model_free(back);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- the layout, as others read it ------------------------------------- */

static void the_bytes_are_safetensors(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = small_model(ctx, THREE);
    test_path path = written(ctx, model);
    size_t count, arrays_seen = 0;
    char *bytes = bytes_of(path.text, &count);
    uint64_t length;
    const char *key;
    json_t *entry;
    json_int_t end = 0;
    (void)unused;
    memcpy(&length, bytes, 8);
    assert_true(length < count - 8);
    assert_int_equal((8 + length) % 64, 0);
    assert_int_equal(bytes[8], '{');
    json_t *header = json_loadb(bytes + 8, length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(header);
    json_object_foreach(header, key, entry) {
        if (strcmp(key, "__metadata__") == 0) {
            const char *name;
            json_t *text;
            json_object_foreach(entry, name, text) assert_true(json_is_string(text));
            continue;
        }
        assert_string_equal(key, ARRAYS[arrays_seen++]);
        const char *type = json_string_value(json_object_get(entry, "dtype"));
        json_int_t size = strcmp(type, "F64") == 0 || strcmp(type, "I64") == 0 ? 8 : 4;
        assert_true(size == 8 || strcmp(type, "F32") == 0 || strcmp(type, "I32") == 0);
        json_t *shape = json_object_get(entry, "shape"),
               *at = json_object_get(entry, "data_offsets");
        for (size_t i = 0; i < json_array_size(shape); i++)
            size *= json_integer_value(json_array_get(shape, i));
        assert_int_equal(json_integer_value(json_array_get(at, 0)), end); /* no gap */
        end = json_integer_value(json_array_get(at, 1));
        assert_int_equal(end - json_integer_value(json_array_get(at, 0)), size);
    }
    assert_int_equal(arrays_seen, ARRAY_COUNT);
    assert_int_equal(8 + length + (size_t)end, count);
    json_decref(header);
    free(bytes);
    unlink(path.text);
    kb_model_free(model);
    kb_context_free(ctx);
}

/* Readers of the first version do not know dropped bins. */
static void pruned_files_have_a_version_of_their_own(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int pruned = 0; pruned < 2; pruned++) {
            kb_model *model = pruned ? pruned_model(ctx, kind) : small_model(ctx, kind);
            forget_encoding(model);
            test_path path = written(ctx, model);
            parts p = take_apart(path.text);
            kb_model_free(model);
            assert_string_equal(version_of(&p), pruned ? "2" : "1");
            json_int_t kept = json_integer_value(json_object_get(p.model, "kept_bins"));
            json_int_t bins = json_integer_value(json_object_get(p.model, "bins"));
            assert_true(pruned ? kept < bins : kept == bins);
            assert_int_equal(offset_of(&p, "bin.key", 1) - offset_of(&p, "bin.key", 0), 8 * kept);
            parts_free(&p);
            unlink(path.text);
        }
    kb_context_free(ctx);
}

/* A fit that drops nothing can be read by readers of the first version. */
static void a_sparse_model_with_all_bins_has_the_first_version(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "penalty", "l1", "grids", "3", "sigma", "0.9", "lambda",
                                  "1e-6", "group-grids", "on", "intercept", "off");
    kb_data *data = data_of(ctx, 40, 2, REAL);
    kb_model *model = model_of(ctx, options, data), *back;
    forget_encoding(model);
    test_path path = written(ctx, model);
    parts p = take_apart(path.text);
    (void)unused;
    assert_int_equal(kb_model_info(model)->kept_bins, kb_model_info(model)->bins);
    assert_string_equal(version_of(&p), "1");
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    parts_free(&p);
    unlink(path.text);
    kb_model_free(model);
    kb_model_free(back);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- when things go wrong ---------------------------------------------- */

static void a_file_that_cannot_be_written_is_told(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = small_model(ctx, TWO);
    test_path full;
    (void)unused;
    assert_int_equal(kb_model_write(ctx, model, "/nowhere/m.kerbin"), KB_ERR_IO);
    assert_non_null(strstr(kb_context_message(ctx), "/nowhere/m.kerbin"));
    if (device_like("full", 1, 7, &full)) {
        assert_int_equal(kb_model_write(ctx, model, full.text), KB_ERR_IO);
        assert_non_null(strstr(kb_context_message(ctx), full.text));
        unlink(full.text);
    }
    kb_model_free(model);
    kb_context_free(ctx);
}

static int overwrite(kb_context *ctx, void *model) {
    test_path path = file_with("model.kerbin", "precious");
    kb_status status = kb_model_write(ctx, model, path.text);
    char *bytes = bytes_of(path.text, NULL);
    assert_int_equal(strncmp(bytes, "precious", 8) == 0, status != KB_OK);
    free(bytes);
    unlink(path.text);
    return (int)status;
}

static void a_cancelled_write_leaves_what_was_there(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = small_model(ctx, TWO);
    (void)unused;
    run_with_cancellations(overwrite, model, 1, 1);
    kb_model_free(model);
    kb_context_free(ctx);
}

/* Without a look at its bins: the same model, and a checksum that does not match is not seen. */
static void a_trusted_file_is_read_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    kb_options *options = OPTIONS(ctx, "grids", "9");
    kb_data *data = data_of(ctx, 40, 3, THREE);
    kb_model *model = model_of(ctx, options, data), *back;
    test_path path = written(ctx, model);
    assert_ok(ctx, kb_model_read_trusted(ctx, path.text, &back));
    double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, back, data);
    assert_same_bits(f, g, 40 * 3);
    kb_model_free(back);
    FILE *file = fopen(path.text, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    assert_true(fputc(1, file) != EOF); /* in a weight */
    fclose(file);
    assert_int_equal(kb_model_read(ctx, path.text, &back), KB_ERR_MODEL);
    assert_ok(ctx, kb_model_read_trusted(ctx, path.text, &back));
    kb_model_free(back);
    free(f), free(g);
    unlink(path.text);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Overwritten and cut short behind the model's back, where a mapped one would end the program. */
static void a_copied_file_may_change(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    kb_options *options = OPTIONS(ctx, "grids", "9");
    kb_data *data = data_of(ctx, 400, 3, THREE);
    kb_model *model = model_of(ctx, options, data), *back;
    test_path path = written(ctx, model);
    assert_ok(ctx, kb_model_read_copied(ctx, path.text, &back));
    FILE *file = fopen(path.text, "r+b");
    assert_non_null(file);
    for (int k = 0; k < 20000; k++)
        assert_true(fputc(0xA5, file) != EOF);
    fclose(file);
    double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, back, data);
    assert_same_bits(f, g, 400 * 3);
    file = fopen(path.text, "wb"); /* empty now */
    assert_non_null(file);
    fclose(file);
    free(g);
    g = decisions_of(ctx, back, data);
    assert_same_bits(f, g, 400 * 3);
    kb_model_free(back);
    assert_int_equal(kb_model_read_copied(ctx, path.text, &back), KB_ERR_MODEL);
    assert_null(back);
    unlink(path.text);
    assert_int_equal(kb_model_read_copied(ctx, path.text, &back), KB_ERR_IO);
    free(f), free(g);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int write_model(kb_context *ctx, void *arg) {
    test_path path = path_of("short.kerbin");
    kb_status status = kb_model_write(ctx, arg, path.text);
    assert_int_equal(file_exists(path.text), status == KB_OK);
    unlink(path.text);
    return (int)status;
}

static int read_model(kb_context *ctx, void *arg) {
    kb_model *model;
    kb_status status = kb_model_read(ctx, arg, &model);
    kb_model_free(model);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        kb_model *model = small_model(ctx, kind);
        test_path path = written(ctx, model);
        run_with_allocation_failures(write_model, model);
        run_with_allocation_failures(read_model, path.text);
        unlink(path.text);
        kb_model_free(model);
        path = original_pruned(ctx, kind);
        run_with_allocation_failures(read_model, path.text);
        unlink(path.text);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_comes_back_to_the_bit),
        cmocka_unit_test(bytes_in_memory_are_the_file),
        cmocka_unit_test(a_trusted_file_is_read_too),
        cmocka_unit_test(a_copied_file_may_change),
        cmocka_unit_test(names_come_back),
        cmocka_unit_test(the_bytes_are_safetensors),
        cmocka_unit_test(pruned_files_have_a_version_of_their_own),
        cmocka_unit_test(a_sparse_model_with_all_bins_has_the_first_version),
        cmocka_unit_test(a_file_that_cannot_be_written_is_told),
        cmocka_unit_test(a_cancelled_write_leaves_what_was_there),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
