/* Rows of Z of the rival maps, in memory and in files. */
#include "model/rivals.h"

static void a_map_writes_its_features(void **unused) {
    enum { N = 30, R = 7 };
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, N, 2, REAL), *back;
    test_path path = path_of("z.libsvm");
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++) {
        kb_options *options = RIVAL(ctx, map, "grids", "7", "solver", "auto");
        kb_map *m;
        int64_t columns[N * R];
        assert_ok(ctx, kb_map_fit(ctx, options, data, &m));
        assert_int_equal(kb_map_grids(m), R);
        assert_int_equal(kb_map_bins(m), map >= BLOCKS ? N : R);
        assert_fails(ctx, KB_ERR_ARGUMENT, "only --map binning has bins",
                     kb_map_apply(ctx, m, data, columns));
        if (map >= BLOCKS) {
            assert_fails(ctx, KB_ERR_ARGUMENT, "--map blocks and exact have no features to write",
                         kb_map_write_features(ctx, m, data, path.text));
            assert_false(file_exists(path.text));
            assert_fails(ctx, KB_ERR_ARGUMENT, "--map blocks and exact have no features to write",
                         kb_map_apply_dense(ctx, m, data, data->dense));
        } else {
            double unit[R * R] = {0}, z[N * R], product[N * R], dense[N * R] = {0};
            for (size_t k = 0; k < R; k++)
                unit[k * R + k] = 1;
            assert_ok(ctx, kb_map_apply_dense(ctx, m, data, z));
            /* Two ways round L^-1, whose numbers are below 1e4 here. */
            assert_ok(ctx, kb_rival_decide(ctx, m->rival, data, R, unit, product));
            for (size_t k = 0; k < N * R; k++)
                assert_true(fabs(z[k] - product[k]) < 1e-10);
            assert_ok(ctx, kb_map_write_features(ctx, m, data, path.text));
            assert_ok(ctx, kb_data_read(ctx, options, path.text, NULL, &back));
            assert_int_equal(back->rows, N);
            assert_same_bits(back->label, data->label, N);
            for (size_t i = 0; i < N; i++)
                for (size_t e = back->row_start ? back->row_start[i] : 0;
                     back->row_start && e < back->row_start[i + 1]; e++)
                    dense[i * R + back->column[e]] = back->value[e];
            assert_same_bits(back->dense ? back->dense : dense, z, N * R);
            kb_data_free(back);
            unlink(path.text);
        }
        kb_map_free(m);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

/* More rows than are made at a time: the rows are still all there, and in order. */
static void many_features_are_written_in_pieces(void **unused) {
    enum { ROWS = 8300, R = 20 };
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, ROWS, 2, REAL), *back;
    kb_options *options = RIVAL(ctx, FOURIER, "grids", "20");
    test_path path = path_of("z.libsvm");
    double *z = malloc(sizeof *z * ROWS * R);
    kb_map *map;
    (void)unused;
    assert_non_null(z);
    assert_ok(ctx, kb_map_fit(ctx, options, data, &map));
    assert_ok(ctx, kb_rival_features(ctx, map->rival, data, z));
    assert_ok(ctx, kb_map_write_features(ctx, map, data, path.text));
    assert_ok(ctx, kb_data_read(ctx, options, path.text, NULL, &back));
    assert_int_equal(back->rows, ROWS);
    assert_same_bits(back->label, data->label, ROWS);
    assert_same_bits(back->dense, z, ROWS * R);
    unlink(path.text);
    free(z);
    kb_data_free(back);
    kb_map_free(map);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_writes_its_features),
        cmocka_unit_test(many_features_are_written_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
