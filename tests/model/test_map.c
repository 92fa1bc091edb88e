/* From a sample to its row of Z. */
#include "model/fitted.h"

#include <sys/stat.h>

static void refused_path(kb_context *ctx, const kb_map *map, const kb_data *data) {
    assert_int_equal(kb_map_write_features(ctx, map, data, "/nowhere/z.txt"), KB_ERR_IO);
    assert_non_null(strstr(kb_context_message(ctx), "/nowhere/z.txt"));
}

/* Against the bin numbers of the same data: a column for a bin, and bins in their grid. */
static void check_columns(kb_context *ctx, const kb_map *map, const kb_data *data) {
    size_t N = kb_data_rows(data), R = kb_map_grids(map), D = kb_map_bins(map);
    kb_binning binning = kb_map_binning(map);
    kb_binmat *z;
    int64_t *column = columns_of(ctx, map, data);
    int64_t *of_bin = malloc(D * sizeof *of_bin);
    assert_ok(ctx, kb_binmat_build(ctx, &binning, data, R, NULL, &z));
    assert_int_equal(z->bins, D);
    for (size_t b = 0; b < D; b++)
        of_bin[b] = -1;
    for (size_t i = 0; i < N; i++)
        for (size_t r = 0; r < R; r++) {
            int64_t c = column[i * R + r], *same = &of_bin[z->start[r] + test_id(z, r, i)];
            assert_true(c >= (int64_t)z->start[r] && c < (int64_t)z->start[r + 1]);
            assert_true(*same == -1 || *same == c);
            *same = c;
        }
    for (size_t b = 0; b < D; b++) /* all columns are used, so none is used twice */
        assert_true(of_bin[b] >= 0);
    kb_binmat_free(z);
    free(column);
    free(of_bin);
}

static void columns_are_the_bins_of_the_training_data(void **unused) {
    static const char *const scales[] = {"none", "minmax", "maxabs", "standard", "auto"};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        /* More rows than are looked up at a time. */
        kb_data *data = data_of(ctx, 1500, 3, REAL);
        kb_options *options = OPTIONS(ctx, "grids", "13", "sigma", "0.8", "scale", scales[k]);
        kb_map *map = map_of(ctx, options, data);
        assert_int_equal(kb_map_grids(map), 13);
        check_columns(ctx, map, data);
        kb_map_free(map);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void sparse_samples_get_the_same_columns(void **unused) {
    enum { N = 1200, D = 4, R = 9 };
    kb_context *ctx = test_context();
    double *x = test_values(N, D, 3);
    kb_data *dense, *sparse = test_sparse(ctx, N, D, x, NULL);
    kb_options *options = OPTIONS(ctx, "grids", "9", "sigma", "0.8", "scale", "standard");
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, N, D, x, NULL, &dense));
    kb_map *a = map_of(ctx, options, dense), *b = map_of(ctx, options, sparse);
    int64_t *column[] = {columns_of(ctx, a, dense), columns_of(ctx, a, sparse),
                         columns_of(ctx, b, dense), columns_of(ctx, b, sparse)};
    assert_true(kb_data_is_sparse(sparse) && !kb_data_is_sparse(dense));
    for (int k = 1; k < 4; k++)
        assert_same_bits(column[k], column[0], N * R);
    for (int k = 0; k < 4; k++)
        free(column[k]);
    kb_map_free(a);
    kb_map_free(b);
    kb_data_free(dense);
    kb_data_free(sparse);
    kb_options_free(options);
    free(x);
    kb_context_free(ctx);
}

static void new_samples_meet_known_bins_or_none(void **unused) {
    enum { R = 7 };
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "7", "sigma", "0.5", "scale", "none");
    kb_data *train = data_of(ctx, 200, 2, REAL), *test;
    kb_map *map = map_of(ctx, options, train);
    double x[2 * 3];
    (void)unused;
    x[0] = train->dense[10], x[1] = train->dense[11]; /* a sample of the training */
    x[2] = 1e30, x[3] = -1e30;                        /* far from all of them */
    x[4] = -1e9, x[5] = train->dense[1];
    assert_ok(ctx, data_from_dense(ctx, 3, 2, x, NULL, &test));
    int64_t *seen = columns_of(ctx, map, train), *column = columns_of(ctx, map, test);
    assert_same_bits(column, seen + 5 * R, R);
    for (size_t r = 0; r < 2 * R; r++)
        assert_int_equal(column[R + r], -1);
    free(seen);
    free(column);
    kb_map_free(map);
    kb_data_free(train);
    kb_data_free(test);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Enough rows for several rounds of every thread. */
static void columns_do_not_depend_on_the_threads(void **unused) {
    enum { N = 20000, R = 3 };
    test_state state = {0};
    kb_context *one = test_context_with(&state, 1), *three = test_context_with(&state, 3);
    kb_options *options = OPTIONS(one, "grids", "3", "sigma", "0.2");
    kb_data *data = data_of(one, N, 2, REAL);
    kb_map *map = map_of(one, options, data);
    int64_t *a = columns_of(one, map, data), *b = columns_of(three, map, data);
    (void)unused;
    assert_same_bits(a, b, N * R);
    state.cancel_after = state.progress + 2;
    assert_int_equal(kb_map_apply(three, map, data, b), KB_ERR_CANCELLED);
    double dense;
    assert_fails(one, KB_ERR_ARGUMENT, "--map binning has bins: too many to be dense",
                 kb_map_apply_dense(one, map, data, &dense));
    free(a), free(b);
    kb_map_free(map);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(one);
    kb_context_free(three);
    assert_int_equal(state.live, 0);
}

static void another_number_of_features_is_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "3");
    kb_data *two = data_of(ctx, 20, 2, REAL), *three = data_of(ctx, 20, 3, REAL);
    kb_map *map = map_of(ctx, options, two);
    int64_t column[20 * 3];
    test_path path = path_of("z.txt");
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "the data have 3 features, the model 2",
                 kb_map_apply(ctx, map, three, column));
    assert_fails(ctx, KB_ERR_DATA, "the data have 3 features, the model 2",
                 kb_map_write_features(ctx, map, three, path.text));
    assert_false(file_exists(path.text));
    kb_map_free(map);
    kb_data_free(two);
    kb_data_free(three);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- Z as text --------------------------------------------------------- */

static void written_features_read_back_as_z(void **unused) {
    kb_context *ctx = test_context();
    static const size_t rows[] = {1, 50, 1100};
    (void)unused;
    for (int k = 0; k < 3; k++) {
        kb_options *options = OPTIONS(ctx, "grids", "10", "sigma", "1", "format", "libsvm");
        kb_data *data = data_of(ctx, rows[k], 2, REAL), *back;
        kb_map *map = map_of(ctx, options, data);
        test_path path = path_of("z.txt");
        int64_t *column = columns_of(ctx, map, data);
        assert_ok(ctx, kb_map_write_features(ctx, map, data, path.text));
        assert_ok(ctx, kb_data_read(ctx, options, path.text, NULL, &back));
        assert_int_equal(kb_data_rows(back), rows[k]);
        assert_int_equal(kb_data_features(back), kb_map_bins(map));
        for (size_t i = 0; i < rows[k]; i++) {
            kb_row row = kb_data_row(back, i);
            size_t r = 0;
            assert_true(kb_data_labels(back)[i] == kb_data_labels(data)[i]);
            for (size_t e = 0; e < row.count; e++) {
                if (row.value[e] == 0) /* a dense form */
                    continue;
                assert_true(row.value[e] == 1 / sqrt(10));
                assert_int_equal(row.column ? row.column[e] : e, column[i * 10 + r]);
                r++;
            }
            assert_int_equal(r, 10);
        }
        unlink(path.text);
        free(column);
        kb_data_free(back);
        kb_map_free(map);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

static void unknown_bins_and_missing_labels_are_written_too(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4", "sigma", "1", "scale", "none");
    kb_data *train, *test;
    const double one[] = {0.5}, two[] = {0.5, 1e20};
    test_path path = path_of("z.txt");
    (void)unused;
    assert_ok(ctx, data_from_dense(ctx, 1, 1, one, NULL, &train));
    assert_ok(ctx, data_from_dense(ctx, 2, 1, two, NULL, &test));
    kb_map *map = map_of(ctx, options, train);
    assert_ok(ctx, kb_map_write_features(ctx, map, test, path.text));
    char *text = bytes_of(path.text, NULL);
    assert_string_equal(text, "0 1:0.5 2:0.5 3:0.5 4:0.5\n0\n");
    free(text);
    refused_path(ctx, map, test);
    unlink(path.text);
    kb_map_free(map);
    kb_data_free(train);
    kb_data_free(test);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void a_cancelled_write_leaves_no_file(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "4");
    kb_data *data = data_of(ctx, 3000, 1, REAL);
    kb_map *map = map_of(ctx, options, data);
    test_path path = path_of("z.txt");
    (void)unused;
    for (long k = 1; k <= 3; k++) {
        test_state state = {.cancel_after = k};
        kb_context *mine = test_context_with(&state, 1);
        assert_int_equal(kb_map_write_features(mine, map, data, path.text), KB_ERR_CANCELLED);
        assert_false(file_exists(path.text));
        kb_context_free(mine);
        assert_int_equal(state.live, 0);
    }
    kb_map_free(map);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* ---- when things go wrong ---------------------------------------------- */

typedef struct inputs {
    kb_options *options;
    kb_data *data;
    test_path path;
} inputs;

static int fit_apply_write(kb_context *ctx, void *arg) {
    inputs *in = arg;
    kb_map *map;
    int64_t column[40 * 5];
    kb_status status;
    TRY(kb_map_fit(ctx, in->options, in->data, &map));
    TRY(kb_map_apply(ctx, map, in->data, column));
    TRY(kb_map_write_features(ctx, map, in->data, in->path.text));
done:
    kb_map_free(map);
    assert_int_equal(file_exists(in->path.text), status == KB_OK);
    unlink(in->path.text);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    inputs in = {OPTIONS(ctx, "grids", "5", "sigma", "default"), data_of(ctx, 40, 2, REAL),
                 path_of("z.txt")};
    run_with_allocation_failures(fit_apply_write, &in);
    kb_data_free(in.data);
    kb_options_free(in.options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_the_bins_of_the_training_data),
        cmocka_unit_test(sparse_samples_get_the_same_columns),
        cmocka_unit_test(new_samples_meet_known_bins_or_none),
        cmocka_unit_test(columns_do_not_depend_on_the_threads),
        cmocka_unit_test(another_number_of_features_is_refused),
        cmocka_unit_test(written_features_read_back_as_z),
        cmocka_unit_test(unknown_bins_and_missing_labels_are_written_too),
        cmocka_unit_test(a_cancelled_write_leaves_no_file),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
