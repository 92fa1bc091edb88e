/* Model files: whole ones come back to the bit, all others are refused. */
#include "model/forged.h"

#include <sys/stat.h>

/* ---- models ------------------------------------------------------------ */

static kb_model *small_model(kb_context *ctx, labels kind) {
    kb_options *options = OPTIONS(ctx, "grids", "5", "sigma", "0.9");
    kb_data *data = data_of(ctx, 40, 2, kind);
    kb_model *model = model_of(ctx, options, data);
    kb_data_free(data);
    kb_options_free(options);
    return model;
}

/* One that has dropped bins and grids. */
static kb_model *pruned_model(kb_context *ctx, labels kind) {
    kb_options *options =
        OPTIONS(ctx, "penalty", "l1", "grids", "15", "sigma", "0.5", "lambda", "1");
    kb_data *data = data_of(ctx, 40, 2, kind);
    kb_model *model = model_of(ctx, options, data);
    const kb_fit_info *info = kb_model_info(model);
    assert_true(info->kept_grids > 1 && info->kept_grids < info->grids);
    assert_true(info->kept_bins > 1 && info->kept_bins < info->bins);
    kb_data_free(data);
    kb_options_free(options);
    return model;
}

static void assert_same_text(const char *a, const char *b) {
    assert_string_equal(a, b);
}

static void assert_same_info(const kb_fit_info *a, const kb_fit_info *b) {
    assert_same_text(a->task, b->task);
    assert_same_text(a->loss, b->loss);
    assert_same_text(a->penalty, b->penalty);
    assert_same_text(a->map, b->map);
    assert_same_text(a->kernel, b->kernel);
    assert_same_text(a->sigma, b->sigma);
    assert_same_text(a->solver, b->solver);
    assert_same_text(a->scale, b->scale);
    assert_true(a->lambda == b->lambda && a->seed == b->seed && a->intercept == b->intercept);
    assert_true(a->rows == b->rows && a->features == b->features && a->classes == b->classes);
    assert_true(a->outputs == b->outputs && a->grids == b->grids && a->bins == b->bins);
    assert_true(a->kappa == b->kappa && a->steps == b->steps && a->converged == b->converged);
    assert_true(a->objective == b->objective && a->train_score == b->train_score);
    assert_true(a->nonzeros == b->nonzeros && a->gap == b->gap);
    assert_true(a->kept_grids == b->kept_grids && a->kept_bins == b->kept_bins);
    assert_true(b->bin_seconds == 0 && b->solve_seconds == 0 && b->id_bytes == 0);
}

static void a_model_comes_back_to_the_bit(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        kb_model *model = small_model(ctx, kind), *back;
        test_path path = written(ctx, model), again = path_of("again.kerbin");
        size_t C = kb_model_info(model)->outputs, a, b;
        kb_data *data = data_of(ctx, 100, 2, REAL);
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        assert_same_info(kb_model_info(model), kb_model_info(back));
        double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, back, data);
        assert_same_bits(f, g, 100 * C);
        int64_t *x = columns_of(ctx, kb_model_map(model), data);
        int64_t *y = columns_of(ctx, kb_model_map(back), data);
        assert_same_bits(x, y, 100 * 5);
        for (size_t k = 0; k < kb_model_info(model)->classes; k++) {
            assert_true(kb_model_class(model, k) == kb_model_class(back, k));
            assert_same_text(kb_model_class_name(model, k), kb_model_class_name(back, k));
        }
        /* Written once more it is the same file. */
        assert_ok(ctx, kb_model_write(ctx, back, again.text));
        char *one = bytes_of(path.text, &a), *two = bytes_of(again.text, &b);
        assert_int_equal(a, b);
        assert_memory_equal(one, two, a);
        /* A model in use needs its file no longer. */
        unlink(path.text);
        unlink(again.text);
        assert_ok(ctx, kb_model_decide(ctx, back, data, g));
        assert_same_bits(f, g, 100 * C);
        free(f), free(g), free(x), free(y), free(one), free(two);
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
        /* Whoever takes the bytes may stop it. */
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
    static const char *const arrays[] = {
        "grid.inverse_width", "grid.offset",  "feature.shift", "feature.scale",
        "intercept",          "prior",        "hash.factor",   "bin.start",
        "bucket.start",       "bin.key",      "width.sigma",   "width.q",
        "feature.spread",     "bucket.first", "bin.weight"};
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
        assert_string_equal(key, arrays[arrays_seen++]);
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
    assert_int_equal(arrays_seen, 15);
    assert_int_equal(8 + length + (size_t)end, count);
    json_decref(header);
    free(bytes);
    unlink(path.text);
    kb_model_free(model);
    kb_context_free(ctx);
}

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

static test_path original(kb_context *ctx, labels kind) {
    kb_model *model = small_model(ctx, kind);
    test_path path = written(ctx, model);
    kb_model_free(model);
    return path;
}

static test_path original_pruned(kb_context *ctx, labels kind) {
    kb_model *model = pruned_model(ctx, kind);
    test_path path = written(ctx, model);
    kb_model_free(model);
    return path;
}

static void a_file_put_together_again_is_read(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx, WORDS);
    parts p = take_apart(path.text);
    kb_model *model;
    (void)unused;
    /* What this version does not know is left alone. */
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
                 {"format_version", "4", "use a newer kerbin"},
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

static const char *const ARRAYS[] = {
    "grid.inverse_width", "grid.offset",  "feature.shift", "feature.scale",
    "intercept",          "prior",        "hash.factor",   "bin.start",
    "bucket.start",       "bin.key",      "width.sigma",   "width.q",
    "feature.spread",     "bucket.first", "bin.weight"};
enum { COUNT = sizeof ARRAYS / sizeof *ARRAYS };

static void every_array_must_be_there_in_its_shape(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx, THREE);
    (void)unused;
    for (int k = 0; k < COUNT; k++)
        for (int damage = 0; damage < 6; damage++) {
            parts p = take_apart(path.text);
            json_t *entry = entry_of(&p, ARRAYS[k]), *shape = json_object_get(entry, "shape");
            const char *type = json_string_value(json_object_get(entry, "dtype"));
            int wide = strcmp(type + 1, "64") == 0;
            json_int_t size = wide ? 8 : 4;
            size_t items =
                (offset_of(&p, ARRAYS[k], 1) - offset_of(&p, ARRAYS[k], 0)) / (size_t)size;
            switch (damage) {
            case 0:
                cut_out(&p, ARRAYS[k]);
                break;
            case 1: /* another rank */
                if (json_array_size(shape) == 1)
                    json_array_append_new(shape, json_integer(1));
                else
                    json_object_set_new(entry, "shape", json_pack("[I]", (json_int_t)items));
                break;
            case 2: /* another type of the same size */
                json_object_set_new(
                    entry, "dtype",
                    json_string(type[0] == 'F' ? (wide ? "I64" : "I32") : (wide ? "F64" : "F32")));
                break;
            case 3: /* fewer items than bytes */
                json_array_set_new(shape, 0, json_integer(1));
                if (json_array_size(shape) == 2)
                    json_array_set_new(shape, 1, json_integer(1));
                if (items == 1)
                    json_array_set_new(shape, 0, json_integer(2));
                break;
            case 4: /* a type that is none */
                json_object_set_new(entry, "dtype", json_string("BF16"));
                break;
            case 5: /* not an array at all */
                json_object_set_new(p.header, ARRAYS[k], json_string("gone"));
                break;
            }
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

static void sizes_are_not_believed(void **unused) {
    static const char *const keys[] = {"features", "grids", "bins", "outputs", "classes"};
    static const json_int_t sizes[] = {
        0, -1, 1, 4, 6, INT64_C(1) << 31, INT64_C(1) << 48, INT64_C(1) << 60, INT64_MAX, INT64_MIN};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        test_path path = original(ctx, kind);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                parts p = take_apart(path.text);
                json_int_t is = json_integer_value(json_object_get(p.model, keys[k]));
                /* A size out of range counts as 0. */
                int same =
                    is == sizes[s] || (is == 0 && (sizes[s] < 0 || sizes[s] > INT64_C(1) << 48));
                json_object_set_new(p.model, keys[k], json_integer(sizes[s]));
                if (!same)
                    refused_parts(ctx, &p, keys[k], "damaged");
                parts_free(&p);
            }
        unlink(path.text);
    }
    kb_context_free(ctx);
}

/* Readers of the first version know of no bins that are dropped. */
static void pruned_files_have_a_version_of_their_own(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int pruned = 0; pruned < 2; pruned++) {
            test_path path = pruned ? original_pruned(ctx, kind) : original(ctx, kind);
            parts p = take_apart(path.text);
            const json_t *metadata = json_object_get(p.header, "__metadata__");
            assert_string_equal(json_string_value(json_object_get(metadata, "format_version")),
                                pruned ? "2" : "1");
            json_int_t kept = json_integer_value(json_object_get(p.model, "kept_bins"));
            json_int_t bins = json_integer_value(json_object_get(p.model, "bins"));
            assert_true(pruned ? kept < bins : kept == bins);
            assert_int_equal(offset_of(&p, "bin.key", 1) - offset_of(&p, "bin.key", 0), 8 * kept);
            parts_free(&p);
            unlink(path.text);
        }
    kb_context_free(ctx);
}

/* A fit that drops nothing is as good as any for readers of the first version. */
static void a_sparse_model_with_all_bins_has_the_first_version(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "penalty", "l1", "grids", "3", "sigma", "0.9", "lambda",
                                  "1e-6", "group-grids", "on", "intercept", "off");
    kb_data *data = data_of(ctx, 40, 2, REAL);
    kb_model *model = model_of(ctx, options, data), *back;
    test_path path = written(ctx, model);
    parts p = take_apart(path.text);
    (void)unused;
    assert_int_equal(kb_model_info(model)->kept_bins, kb_model_info(model)->bins);
    assert_string_equal(json_string_value(json_object_get(json_object_get(p.header, "__metadata__"),
                                                          "format_version")),
                        "1");
    assert_ok(ctx, kb_model_read(ctx, path.text, &back));
    parts_free(&p);
    unlink(path.text);
    kb_model_free(model);
    kb_model_free(back);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void kept_sizes_are_not_believed(void **unused) {
    static const char *const keys[] = {"kept_grids", "kept_bins"};
    static const json_int_t sizes[] = {
        0, -1, 1, 4, INT64_C(1) << 31, INT64_C(1) << 48, INT64_C(1) << 60, INT64_MAX, INT64_MIN};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int pruned = 0; pruned < 2; pruned++) {
            test_path path = pruned ? original_pruned(ctx, kind) : original(ctx, kind);
            for (size_t k = 0; k < 2; k++) {
                parts p = take_apart(path.text);
                json_int_t is = json_integer_value(json_object_get(p.model, keys[k]));
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes + 2; s++) {
                    size_t listed = sizeof sizes / sizeof *sizes;
                    json_int_t size = s < listed ? sizes[s] : s == listed ? is - 1 : is + 1;
                    json_object_set_new(p.model, keys[k], json_integer(size));
                    if (size != is)
                        refused_parts(ctx, &p, keys[k], "damaged");
                }
                json_object_set_new(p.model, keys[k], json_string("5"));
                refused_parts(ctx, &p, keys[k], "incomplete");
                if (pruned) { /* without it, all bins should be there */
                    json_object_del(p.model, keys[k]);
                    refused_parts(ctx, &p, keys[k], "damaged");
                }
                parts_free(&p);
            }
            if (pruned) { /* what only the L1 penalty does */
                parts p = take_apart(path.text);
                json_object_set_new(p.model, "penalty", json_string("l2"));
                refused_parts(ctx, &p, "penalty", "incomplete");
                parts_free(&p);
            }
            unlink(path.text);
        }
    kb_context_free(ctx);
}

/* Probabilities of a regression would be written beyond their array; those that fall with the
 * decision would contradict the label. */
static void probabilities_must_suit_the_model(void **unused) {
    static const struct {
        labels kind;
        const char *probability;
        double slope;
    } cases[] = {{REAL, "sigmoid", 1},  {REAL, "softmax", 1}, {TWO, "sigmoid", 0},
                 {TWO, "sigmoid", -1},  {TWO, "odds", 1},     {THREE, "softmax", -1e-9},
                 {THREE, "isotonic", 1}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        test_path path = original(ctx, cases[k].kind);
        parts p = take_apart(path.text);
        json_object_set_new(p.model, "probability", json_string(cases[k].probability));
        json_object_set_new(p.model, "probability_slope", json_real(cases[k].slope));
        refused_parts(ctx, &p, "probability", "incomplete");
        parts_free(&p);
        unlink(path.text);
    }
    kb_context_free(ctx);
}

/* More outputs than classes would make a winner without a name. */
static void classes_must_suit_the_outputs(void **unused) {
    static const struct {
        labels kind;
        int classes;
    } cases[] = {{THREE, 2}, {THREE, 4}, {THREE, 0}, {REAL, 1}, {REAL, 3}, {TWO, 1}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        test_path path = original(ctx, cases[k].kind);
        parts p = take_apart(path.text);
        json_t *values = json_array();
        for (int c = 0; c < cases[k].classes; c++)
            json_array_append_new(values, json_real(c));
        json_object_set_new(p.model, "classes", json_integer(cases[k].classes));
        json_object_set_new(p.model, "class_values", values);
        refused_parts(ctx, &p, "classes", "incomplete");
        parts_free(&p);
        unlink(path.text);
    }
    kb_context_free(ctx);
}

static void a_description_must_be_whole(void **unused) {
    static const char *const keys[] = {"task",  "loss",    "penalty", "map",         "kernel",
                                       "sigma", "solver",  "scale",   "features",    "grids",
                                       "bins",  "outputs", "label",   "class_values"};
    kb_context *ctx = test_context();
    test_path path = original(ctx, WORDS);
    (void)unused;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (int damage = 0; damage < 2; damage++) {
            parts p = take_apart(path.text);
            if (damage == 0)
                json_object_del(p.model, keys[k]);
            else
                json_object_set_new(p.model, keys[k], json_object());
            refused_parts(ctx, &p, keys[k], "damaged");
            parts_free(&p);
        }
    static const char *const lists[] = {"class_values", "class_names", "feature_names"};
    for (size_t k = 0; k < 3; k++)
        for (int size = 0; size < 5; size++) {
            if (size == (k < 2 ? 3 : 2)) /* classes, features */
                continue;
            parts p = take_apart(path.text);
            json_t *list = json_array();
            for (int i = 0; i < size; i++)
                json_array_append_new(list, k ? json_string("x") : json_real(i));
            json_object_set_new(p.model, lists[k], list);
            refused_parts(ctx, &p, lists[k], "damaged");
            parts_free(&p);
        }
    static const char *const texts[] = {"", "{", "[]", "null", "3", "{\"task\":1,\"task\":2}"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        parts p = take_apart(path.text);
        json_decref(p.model);
        p.model = NULL;
        json_object_set_new(json_object_get(p.header, "__metadata__"), "model",
                            json_string(texts[k]));
        refused_parts(ctx, &p, texts[k], "damaged");
        parts_free(&p);
    }
    char deep[100001]; /* brackets that would overturn a stack */
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    parts p = take_apart(path.text);
    json_decref(p.model);
    p.model = NULL;
    json_object_set_new(json_object_get(p.header, "__metadata__"), "model", json_string(deep));
    refused_parts(ctx, &p, "brackets", "damaged");
    parts_free(&p);
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

/* Keys and weights may be anything: the answers are nonsense, but they are answers. */
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

/* ---- when things go wrong ---------------------------------------------- */

static void a_file_that_cannot_be_written_is_told(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = small_model(ctx, TWO);
    (void)unused;
    assert_int_equal(kb_model_write(ctx, model, "/nowhere/m.kerbin"), KB_ERR_IO);
    assert_non_null(strstr(kb_context_message(ctx), "/nowhere/m.kerbin"));
    assert_int_equal(kb_model_write(ctx, model, "/dev/full"), KB_ERR_IO);
    assert_non_null(strstr(kb_context_message(ctx), "/dev/full"));
    kb_model_free(model);
    kb_context_free(ctx);
}

static void a_cancelled_write_leaves_what_was_there(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = small_model(ctx, TWO);
    test_path path = file_with("model.kerbin", "precious");
    (void)unused;
    for (long k = 1;; k++) {
        test_state state = {.cancel_after = k};
        kb_context *mine = test_context_with(&state, 1);
        kb_status status = kb_model_write(mine, model, path.text);
        kb_context_free(mine);
        assert_int_equal(state.live, 0);
        char *bytes = bytes_of(path.text, NULL);
        if (state.progress < k) {
            assert_int_equal(status, KB_OK);
            assert_int_not_equal(strncmp(bytes, "precious", 8), 0);
            free(bytes);
            break;
        }
        assert_int_equal(status, KB_ERR_CANCELLED);
        assert_string_equal(bytes, "precious");
        free(bytes);
    }
    unlink(path.text);
    kb_model_free(model);
    kb_context_free(ctx);
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
        cmocka_unit_test(names_come_back),
        cmocka_unit_test(the_bytes_are_safetensors),
        cmocka_unit_test(truncated_and_longer_files_are_refused),
        cmocka_unit_test(every_flipped_byte_of_the_header_is_seen),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(a_file_put_together_again_is_read),
        cmocka_unit_test(foreign_and_newer_files_are_named_so),
        cmocka_unit_test(every_array_must_be_there_in_its_shape),
        cmocka_unit_test(offsets_that_leave_the_file_or_overlap_are_refused),
        cmocka_unit_test(a_header_that_breaks_the_alignment_is_refused),
        cmocka_unit_test(sizes_are_not_believed),
        cmocka_unit_test(pruned_files_have_a_version_of_their_own),
        cmocka_unit_test(a_sparse_model_with_all_bins_has_the_first_version),
        cmocka_unit_test(kept_sizes_are_not_believed),
        cmocka_unit_test(probabilities_must_suit_the_model),
        cmocka_unit_test(classes_must_suit_the_outputs),
        cmocka_unit_test(a_description_must_be_whole),
        cmocka_unit_test(tables_that_point_outside_are_refused),
        cmocka_unit_test(numbers_that_make_no_bins_are_refused),
        cmocka_unit_test(nonsense_in_keys_and_weights_is_harmless),
        cmocka_unit_test(a_file_that_cannot_be_written_is_told),
        cmocka_unit_test(a_cancelled_write_leaves_what_was_there),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
