/* Transforms, widths and filling in through model files: whole ones come back to the bit, all
 * others are refused. */
#include "model/forged.h"
#include "model/mixed.h"

enum { N = 200, D = 3 };

static kb_data *samples(kb_context *ctx, int sparse) {
    kb_data *data = tailed_data(ctx, N, D, 4, TWO, 0, sparse);
    for (size_t i = 0; !sparse && i < N; i++) /* a second long tail */
        data->dense[i * D + 2] = exp(6 * data->dense[i * D + 2]);
    return data;
}

static test_path original(kb_context *ctx, const char *map, const char *scale, int fill) {
    kb_options *options = OPTIONS(ctx, "grids", "5", "map", map, "scale", scale);
    kb_data *data = samples(ctx, 0);
    kb_model *model = model_of(ctx, options, data);
    model->fill = fill;
    test_path path = written(ctx, model);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    return path;
}

/* Likewise with two mixtures of its four columns. */
static test_path original_mixed(kb_context *ctx) {
    kb_options *options = OPTIONS(ctx, "grids", "5", "scale", "ranks");
    kb_data *data = samples(ctx, 0);
    kb_model *model = mixed_model(ctx, options, data);
    test_path path = written(ctx, model);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
    return path;
}

static void check_version(const char *path, const char *want) {
    parts p = take_apart(path);
    assert_string_equal(version_of(&p), want);
    parts_free(&p);
}

static void a_model_with_a_transform_comes_back_to_the_bit(void **unused) {
    static const char *const maps[] = {"binning", "fourier", "nystrom", "blocks", "exact"};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++)
        for (int sparse = 0; sparse < 2; sparse++)
            for (int fill = 0; fill < (m ? 1 : 2); fill++) {
                kb_options *options =
                    OPTIONS(ctx, "grids", "9", "map", maps[m], "scale", "ranks", "sigma", "0.1");
                kb_data *data = samples(ctx, sparse), *test = data_of(ctx, 100, D, REAL);
                kb_model *model = model_of(ctx, options, data), *back;
                model->fill = fill;
                test_path path = written(ctx, model);
                check_version(path.text, sparse ? "3" : "5");
                assert_ok(ctx, kb_model_read(ctx, path.text, &back));
                double *f = decisions_of(ctx, model, test), *g = decisions_of(ctx, back, test);
                assert_same_bits(f, g, 100);
                assert_string_equal(kb_model_info(back)->scale, "ranks");
                assert_int_equal(back->fill, fill);
                assert_same_file_again(ctx, back, path.text);
                unlink(path.text);
                free(f), free(g);
                kb_model_free(model);
                kb_model_free(back);
                kb_data_free(data);
                kb_data_free(test);
                kb_options_free(options);
            }
    kb_context_free(ctx);
}

static void a_model_with_mixtures_comes_back_to_the_bit(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_options *options = OPTIONS(ctx, "grids", "9", "scale", "ranks", "sigma", "0.3");
        kb_data *data = samples(ctx, sparse), *test = data_of(ctx, 100, D, REAL);
        kb_model *model = mixed_model(ctx, options, data), *back;
        kb_model *plain = model_of(ctx, options, data);
        test_path path = written(ctx, model);
        check_version(path.text, "4");
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        double *f = decisions_of(ctx, model, test), *g = decisions_of(ctx, back, test);
        double *h = decisions_of(ctx, plain, test);
        assert_same_bits(f, g, 100);
        assert_memory_not_equal(f, h, 100 * sizeof *f); /* they matter */
        assert_int_equal(back->map->transform->keeps_zero, sparse);
        assert_same_file_again(ctx, back, path.text);
        unlink(path.text);
        free(f), free(g), free(h);
        kb_model_free(model);
        kb_model_free(plain);
        kb_model_free(back);
        kb_data_free(data);
        kb_data_free(test);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void filling_in_alone_has_the_third_version_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int fill = 0; fill < 2; fill++) {
        kb_options *options = OPTIONS(ctx, "grids", "5", "scale", "minmax");
        kb_data *data = samples(ctx, 1);
        kb_model *model = model_of(ctx, options, data), *back;
        model->fill = fill;
        test_path path = written(ctx, model);
        check_version(path.text, fill ? "3" : "1");
        kb_model_free(model);
        kb_data_free(data);
        kb_options_free(options);
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        assert_int_equal(back->fill, fill);
        kb_model_free(back);
        unlink(path.text);
    }
    kb_context_free(ctx);
}

static void files_without_widths_are_read(void **unused) {
    static const char *const maps[] = {"binning", "fourier"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int m = 0; m < 2; m++) {
        test_path path = original(ctx, maps[m], "minmax", 0);
        parts p = take_apart(path.text);
        kb_model *back;
        cut_out(&p, "width.sigma");
        cut_out(&p, "width.q");
        cut_out(&p, "feature.spread");
        test_path old = put_together(&p);
        assert_ok(ctx, kb_model_read(ctx, old.text, &back));
        assert_null(back->map->widths.width);
        kb_model_free(back);
        parts_free(&p);
        unlink(old.text);
        unlink(path.text);
    }
    kb_context_free(ctx);
}

/* Those of mixtures first. */
static const char *const ARRAYS[] = {"mixture.weight",       "mixture.offset",  "mixture.low",
                                     "mixture.high",         "transform.low",   "transform.high",
                                     "transform.source",     "transform.shift", "transform.factor",
                                     "transform.knot_start", "transform.knot",  "transform.rank",
                                     "width.sigma",          "width.q",         "feature.spread"};

enum { MIXED = 4, ALL = sizeof ARRAYS / sizeof *ARRAYS };

static void every_array_must_be_there_in_its_shape(void **unused) {
    static const char *const maps[] = {"binning", "nystrom", NULL};
    kb_context *ctx = test_context();
    (void)unused;
    for (int m = 0; m < 3; m++) {
        test_path path = maps[m] ? original(ctx, maps[m], "ranks", 0) : original_mixed(ctx);
        for (size_t k = maps[m] ? MIXED : 0; k < ALL; k++)
            for (int damage = 0; damage < 3; damage++) {
                parts p = take_apart(path.text);
                json_t *entry = entry_of(&p, ARRAYS[k]), *shape = json_object_get(entry, "shape");
                const char *type = json_string_value(json_object_get(entry, "dtype"));
                json_int_t items = 1;
                for (size_t i = 0; i < json_array_size(shape); i++)
                    items *= json_integer_value(json_array_get(shape, i));
                if (damage == 0)
                    cut_out(&p, ARRAYS[k]);
                if (damage == 1) /* another rank */
                    json_object_set_new(entry, "shape",
                                        json_array_size(shape) == 1
                                            ? json_pack("[II]", items, (json_int_t)1)
                                            : json_pack("[I]", items));
                if (damage == 2) /* another type */
                    json_object_set_new(entry, "dtype",
                                        json_string(type[0] == 'F' ? "I64" : "F64"));
                refused_parts(ctx, &p, ARRAYS[k], "damaged");
                parts_free(&p);
            }
        unlink(path.text);
    }
    kb_context_free(ctx);
}

/* Three features, of which the first and the third have ranks: columns 0, 2, 0, 2. */
static void numbers_are_not_believed(void **unused) {
    static const struct {
        const char *array;
        size_t at;
        double value;
    } reals[] = {{"transform.low", 0, NAN},
                 {"transform.low", 1, INFINITY},
                 {"transform.low", 2, 1e300},
                 {"transform.high", 0, -1e300},
                 {"transform.high", 1, NAN},
                 {"transform.high", 2, INFINITY},
                 {"transform.shift", 0, NAN},
                 {"transform.shift", 3, INFINITY},
                 {"transform.factor", 0, -1},
                 {"transform.factor", 1, INFINITY},
                 {"transform.factor", 1, NAN},
                 {"transform.knot", 0, NAN},
                 {"transform.knot", 0, 1e300},
                 {"transform.knot", 5, -1e300},
                 {"transform.knot", 7, INFINITY},
                 {"transform.rank", 0, -0.1},
                 {"transform.rank", 0, 0.9},
                 {"transform.rank", 4, NAN},
                 {"transform.rank", 8, 1.5},
                 {"width.sigma", 0, 0},
                 {"width.sigma", 3, -1},
                 {"width.sigma", 2, NAN},
                 {"width.sigma", 2, INFINITY},
                 {"width.q", 0, 1.1},
                 {"width.q", 1, -0.1},
                 {"width.q", 1, NAN},
                 {"feature.spread", 0, -1},
                 {"feature.spread", 3, NAN},
                 {"feature.spread", 3, INFINITY},
                 {"feature.shift", 0, NAN}};
    static const struct {
        const char *array;
        size_t at;
        int64_t value;
    } wholes[] = {{"transform.source", 0, 2},         {"transform.source", 1, 0},
                  {"transform.source", 1, 3},         {"transform.source", 3, -1},
                  {"transform.source", 3, INT64_MAX}, {"transform.source", 2, 2},
                  {"transform.knot_start", 0, 1},     {"transform.knot_start", 1, 5},
                  {"transform.knot_start", 2, 5},     {"transform.knot_start", 3, 1},
                  {"transform.knot_start", 3, 1000},  {"transform.knot_start", 3, -1},
                  {"transform.knot_start", 4, 2},     {"transform.knot_start", 4, INT64_MAX}};
    kb_context *ctx = test_context();
    test_path path = original(ctx, "binning", "ranks", 0);
    (void)unused;
    for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) {
        parts p = take_apart(path.text);
        ((double *)array_of(&p, reals[k].array))[reals[k].at] = reals[k].value;
        refused_parts(ctx, &p, reals[k].array, "damaged");
        parts_free(&p);
    }
    for (size_t k = 0; k < sizeof wholes / sizeof *wholes; k++) {
        parts p = take_apart(path.text);
        int64_t *array = array_of(&p, wholes[k].array);
        if (wholes[k].at == 0 && wholes[k].value == 2)
            assert_true(array[0] == 0 && array[1] == 2 && array[2] == 0 && array[3] == 2);
        array[wholes[k].at] = wholes[k].value;
        refused_parts(ctx, &p, wholes[k].array, "damaged");
        parts_free(&p);
    }
    unlink(path.text);
    kb_context_free(ctx);
}

static void numbers_of_mixtures_are_not_believed(void **unused) {
    static const struct {
        const char *array;
        size_t at;
        double value;
    } reals[] = {{"mixture.weight", 7, NAN},    {"mixture.weight", 0, INFINITY},
                 {"mixture.offset", 0, NAN},    {"mixture.offset", 1, -INFINITY},
                 {"mixture.low", 1, 2},         {"mixture.low", 0, -INFINITY},
                 {"mixture.high", 0, INFINITY}, {"mixture.high", 1, NAN}};
    kb_context *ctx = test_context();
    test_path path = original_mixed(ctx);
    (void)unused;
    for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) {
        parts p = take_apart(path.text);
        ((double *)array_of(&p, reals[k].array))[reals[k].at] = reals[k].value;
        refused_parts(ctx, &p, reals[k].array, "damaged");
        parts_free(&p);
    }
    unlink(path.text);
    kb_context_free(ctx);
}

/* Columns as large as they may be: a mixture of them is clipped, and decisions are numbers. */
static void mixtures_of_huge_columns_are_numbers(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original_mixed(ctx);
    parts p = take_apart(path.text);
    kb_data *test = data_of(ctx, 100, D, REAL);
    kb_model *model;
    (void)unused;
    for (size_t j = 0; j < 2; j++)
        ((double *)array_of(&p, "transform.factor"))[j] *= 1e300;
    for (size_t k = 0; k < 8; k++)
        ((double *)array_of(&p, "mixture.weight"))[k] = k % 2 ? -1e300 : 1e300;
    test_path forged = put_together(&p);
    assert_ok(ctx, kb_model_read(ctx, forged.text, &model));
    double *f = decisions_of(ctx, model, test);
    for (size_t i = 0; i < 100; i++)
        assert_true(isfinite(f[i]));
    free(f);
    kb_model_free(model);
    kb_data_free(test);
    parts_free(&p);
    unlink(forged.text);
    unlink(path.text);
    kb_context_free(ctx);
}

static void reshape(parts *p, const char *name, json_int_t rows, json_int_t columns) {
    json_object_set_new(entry_of(p, name), "shape", json_pack("[II]", rows, columns));
}

/* Arrays without any bytes may have any number of rows: no memory is taken for them. */
static void claims_of_many_mixtures_are_refused(void **unused) {
    static const json_int_t rows[] = {0, 3, 8, INT64_C(1) << 40, INT64_MAX};
    kb_context *ctx = test_context();
    test_path path = original_mixed(ctx);
    (void)unused;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        parts p = take_apart(path.text);
        if (k == 2)
            reshape(&p, "mixture.weight", 8, 1); /* as many numbers */
        else
            reshape(&p, "mixture.weight", rows[k], 4);
        refused_parts(ctx, &p, "rows", "damaged");
        parts_free(&p);
        p = take_apart(path.text);
        static const char *const empty[] = {"mixture.weight",  "transform.source",
                                            "transform.shift", "transform.factor",
                                            "transform.knot",  "transform.rank"};
        for (size_t a = 0; a < sizeof empty / sizeof *empty; a++) {
            cut_out(&p, empty[a]);
            json_int_t end = (json_int_t)p.bytes;
            json_t *shape = a ? json_pack("[i]", 0) : json_pack("[Ii]", rows[k], 0);
            json_object_set_new(p.header, empty[a],
                                json_pack("{s:s, s:o, s:[II]}", "dtype", a == 1 ? "I64" : "F64",
                                          "shape", shape, "data_offsets", end, end));
        }
        refused_parts(ctx, &p, "empty", "damaged");
        parts_free(&p);
    }
    unlink(path.text);
    kb_context_free(ctx);
}

/* A range times a factor beyond the largest double. */
static void values_that_overflow_are_refused(void **unused) {
    kb_context *ctx = test_context();
    test_path path = original(ctx, "binning", "ranks", 0);
    parts p = take_apart(path.text);
    (void)unused;
    ((double *)array_of(&p, "transform.high"))[0] = 1e300;
    ((double *)array_of(&p, "transform.factor"))[0] = 1e300;
    refused_parts(ctx, &p, "overflow", "damaged");
    parts_free(&p);
    unlink(path.text);
    kb_context_free(ctx);
}

static void the_description_must_suit_the_arrays(void **unused) {
    static const json_int_t features[] = {2, 4, INT64_C(1) << 31, INT64_C(1) << 47};
    static const char *const scales[] = {"minmax", "ranks"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int s = 0; s < 2; s++) {
        test_path path = original(ctx, "binning", scales[s], 0);
        parts p = take_apart(path.text);
        for (size_t k = 0; k < sizeof features / sizeof *features; k++) {
            json_object_set_new(p.model, "features", json_integer(features[k]));
            refused_parts(ctx, &p, "features", "damaged");
        }
        json_object_set_new(p.model, "features", json_integer(D));
        json_object_set_new(p.model, "scale", json_string(scales[1 - s]));
        refused_parts(ctx, &p, "scale", "contradict");
        parts_free(&p);
        unlink(path.text);
    }
    test_path path = original(ctx, "fourier", "minmax", 0);
    parts p = take_apart(path.text);
    json_object_set_new(p.model, "fill", json_true());
    refused_parts(ctx, &p, "fill", "fill in");
    parts_free(&p);
    unlink(path.text);
    kb_context_free(ctx);
}

static int read_path(kb_context *ctx, void *path) {
    kb_model *model;
    kb_status status = kb_model_read(ctx, path, &model);
    kb_model_free(model);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int m = 0; m < 2; m++) {
        test_path path = m ? original_mixed(ctx) : original(ctx, "binning", "ranks", 1);
        run_with_allocation_failures(read_path, path.text);
        unlink(path.text);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_with_a_transform_comes_back_to_the_bit),
        cmocka_unit_test(a_model_with_mixtures_comes_back_to_the_bit),
        cmocka_unit_test(filling_in_alone_has_the_third_version_too),
        cmocka_unit_test(files_without_widths_are_read),
        cmocka_unit_test(every_array_must_be_there_in_its_shape),
        cmocka_unit_test(numbers_are_not_believed),
        cmocka_unit_test(numbers_of_mixtures_are_not_believed),
        cmocka_unit_test(mixtures_of_huge_columns_are_numbers),
        cmocka_unit_test(claims_of_many_mixtures_are_refused),
        cmocka_unit_test(values_that_overflow_are_refused),
        cmocka_unit_test(the_description_must_suit_the_arrays),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
