/*
 * Model files of every format version, map, loss and penalty, kept in tests/golden/, decide to the
 * bit what they decided when they were written.  NAME.kerbin is the model, NAME.csv rows as a user
 * writes them, without a head, and NAME.txt their decisions.  No file there is ever changed.
 */
#include "model/forged.h"

#include "core/strings.h"

#include "table/cell.h"
#include "table/date.h"

static const struct {
    const char *name, *version;
} FILES[] = {{"plain", "1"},         {"pruned", "2"},   {"fourier", "2"},    {"ranks", "3"},
             {"mixtures", "4"},      {"medians", "5"},  {"table", "5"},      {"classes", "5"},
             {"curve", "6"},         {"nystrom", "5"},  {"blocks", "5"},     {"exact", "5"},
             {"logistic", "5"},      {"hinge", "5"},    {"softmax", "5"},    {"l1_square", "5"},
             {"l1_logistic", "5"},   {"l1_hinge", "5"}, {"quantile", "5"},   {"absolute", "5"},
             {"poisson", "5"},       {"levels", "5"},   {"directions", "5"}, {"compact", "7"},
             {"compact_table", "7"}, {"dropped", "7"}};

static test_path golden(const char *name, const char *end) {
    test_path path;
    snprintf(path.text, sizeof path.text, "%s/%s.%s", TEST_GOLDEN, name, end);
    return path;
}

/* A cell as text to what table.h says. */
static double cell_of(const kb_column *c, const char *text) {
    double days;
    if (kb_text_is_missing(text, strlen(text)))
        return NAN;
    if (!c || c->type == KB_COLUMN_NUMBER)
        return strtod(text, NULL);
    if (c->type == KB_COLUMN_DATE) {
        assert_true(kb_date_read(text, strlen(text), &days));
        return days;
    }
    for (size_t k = 0; k < c->levels; k++)
        if (strcmp(c->level[k], text) == 0)
            return (double)k;
    return KB_CELL_UNSEEN;
}

/* The rows of a file without quotes. */
static kb_data *rows_of(kb_context *ctx, const kb_model *model, const char *path) {
    size_t count, d = model->info.features;
    char *text = bytes_of(path, &count), *at = text;
    kb_data *data;
    assert_ok(ctx, kb_data_create(ctx, &data));
    data->features = d;
    for (const char *p = text; *p; p++)
        data->rows += *p == '\n';
    assert_ok(ctx, kb_alloc(ctx, data->rows * d, sizeof(double), &data->dense));
    for (size_t k = 0; k < data->rows * d; k++) {
        char *end = at + strcspn(at, ",\n");
        assert_int_equal(*end, k % d == d - 1 ? '\n' : ',');
        *end = '\0';
        data->dense[k] = cell_of(model->table ? &model->table->column[k % d] : NULL, at);
        data->missing |= isnan(data->dense[k]) != 0;
        at = end + 1;
    }
    free(text);
    return data;
}

static void check(kb_context *ctx, const char *name, const char *version) {
    kb_model *model;
    test_path path = golden(name, "kerbin");
    parts p = take_apart(path.text);
    size_t count, C;
    assert_string_equal(version_of(&p), version);
    assert_ok(ctx, kb_model_read(ctx, path.text, &model));
    kb_data *data = rows_of(ctx, model, golden(name, "csv").text);
    double *f = decisions_of(ctx, model, data);
    char *text = bytes_of(golden(name, "txt").text, &count), *at = text;
    C = model->info.outputs;
    assert_true(data->rows >= 10);
    for (size_t k = 0; k < data->rows * C; k++) {
        double want = strtod(at, &at);
        at += *at == ',' || *at == '\n';
        if (f[k] != want)
            fail_msg("%s, row %zu, output %zu: %.17g, not %.17g", name, k / C, k % C, f[k], want);
    }
    assert_int_equal(at - text, count);
    free(f), free(text);
    parts_free(&p);
    kb_data_free(data);
    kb_model_free(model);
}

static void old_files_decide_as_they_did(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES; k++)
        check(ctx, FILES[k].name, FILES[k].version);
    kb_context_free(ctx);
}

/* Its first and last number, in turn, are none. */
static void refuse_array(kb_context *ctx, const char *path, const char *array) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 6; k++) {
        parts p = take_apart(path);
        const char *type = json_string_value(json_object_get(entry_of(&p, array), "dtype"));
        size_t width = strcmp(type, "F64") == 0 ? 8 : 4;
        size_t items = (offset_of(&p, array, 1) - offset_of(&p, array, 0)) / width;
        if (type[0] == 'F' && items > 0) {
            char *at = (char *)array_of(&p, array) + (k < 3 ? 0 : items - 1) * width;
            float narrow = (float)bad[k % 3];
            memcpy(at, width == 8 ? (const void *)&bad[k % 3] : &narrow, width);
            refused_parts(ctx, &p, array, "damaged");
        }
        parts_free(&p);
    }
}

/* As doubles, what is in fresh memory is NaN. */
static void *fresh_as_nan(void *user, void *block, size_t bytes) {
    (void)user;
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    void *grown = realloc(block, bytes);
    if (grown && !block)
        memset(grown, 0xFF, bytes);
    return grown;
}

/* What a map does not have is not looked at. */
static void all_are_read_whatever_is_in_fresh_memory(void **unused) {
    kb_context_config config = {.size = sizeof config, .reallocate = fresh_as_nan};
    kb_context *ctx;
    kb_model *model;
    (void)unused;
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES; k++) {
        assert_ok(ctx, kb_model_read(ctx, golden(FILES[k].name, "kerbin").text, &model));
        kb_model_free(model);
    }
    kb_context_free(ctx);
}

static void numbers_that_are_not_finite_are_refused(void **unused) {
    kb_context *ctx = test_context();
    const char *array;
    json_t *entry;
    (void)unused;
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES; k++) {
        test_path path = golden(FILES[k].name, "kerbin");
        parts p = take_apart(path.text);
        json_object_foreach(p.header, array, entry) if (strcmp(array, "__metadata__") != 0)
            refuse_array(ctx, path.text, array);
        parts_free(&p);
    }
    kb_context_free(ctx);
}

/* Labels that are 1 above the predictions, or the first class in all rows. */
static void label_rows(kb_context *ctx, const kb_model *model, const double *f, kb_data *data) {
    size_t classes = model->info.classes;
    int logs = strcmp(model->info.loss, "poisson") == 0;
    assert_ok(ctx, kb_alloc(ctx, data->rows, sizeof(double), &data->label));
    for (size_t i = 0; i < data->rows; i++)
        data->label[i] = classes == 0        ? (logs ? exp(f[i]) : f[i]) + 1
                         : model->class_name ? 0
                                             : model->class_value[0];
    if (!model->class_name)
        return;
    assert_ok(ctx, kb_strings_copy(ctx, classes, model->class_name, &data->class_name));
    data->class_count = classes;
}

/* They have neither counts of rows nor anything else that was not needed before. */
static void check_update(kb_context *ctx, const char *name) {
    kb_model *model, *next;
    kb_options *options;
    assert_ok(ctx, kb_options_create(ctx, &options));
    assert_ok(ctx, kb_model_read(ctx, golden(name, "kerbin").text, &model));
    kb_data *data = rows_of(ctx, model, golden(name, "csv").text);
    double *f = decisions_of(ctx, model, data);
    size_t C = model->info.outputs;
    label_rows(ctx, model, f, data);
    kb_status status = kb_model_update(ctx, options, model, data, &next);
    if (model->map->rival || model->compaction.compact || strcmp(model->info.penalty, "l1") == 0) {
        assert_int_equal(status, KB_ERR_ARGUMENT);
    } else {
        assert_ok(ctx, status);
        assert_int_equal(next->info.rows, model->info.rows + data->rows);
        double *g = decisions_of(ctx, next, data), was = 0, is = 0;
        for (size_t i = 0; i < data->rows; i++) { /* of two classes the first has less */
            was += model->info.classes == 2 ? -f[i] : f[i * C];
            is += model->info.classes == 2 ? -g[i] : g[i * C];
        }
        if (!(is > was))
            fail_msg("%s: %g, and %g before", name, is, was);
        free(g);
    }
    free(f);
    kb_data_free(data);
    kb_model_free(model), kb_model_free(next);
    kb_options_free(options);
}

static void old_files_go_on(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES; k++)
        check_update(ctx, FILES[k].name);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_files_decide_as_they_did),
        cmocka_unit_test(all_are_read_whatever_is_in_fresh_memory),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(old_files_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
