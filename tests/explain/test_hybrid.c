/* Rows with columns of others, in all forms, and their decisions. */
#include "model/fitted.h"

#include "explain/hybrid.h"

enum { N = 7, D = 5 };

static kb_data *rows_of(kb_context *ctx, int sparse, uint64_t seed) {
    double *x = test_values(N, D, seed);
    kb_data *data;
    if (sparse)
        data = compressed(ctx, N, D, x, NULL, 3);
    else
        assert_ok(ctx, data_from_dense(ctx, N, D, x, NULL, &data));
    free(x);
    return data;
}

static void they_have_the_cells_of_both(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "5");
    kb_data *train = data_of(ctx, 60, D, THREE);
    kb_model *model = model_of(ctx, options, train);
    (void)unused;
    for (int forms = 0; forms < 4; forms++) {
        kb_data *x = rows_of(ctx, forms & 1, 1), *z = rows_of(ctx, forms >> 1, 2);
        kb_hybrids h;
        assert_ok(ctx, kb_hybrids_create(ctx, model, x, z, N * N, &h));
        assert_int_equal(h.room, N * N);
        assert_int_equal(h.rows->dense == NULL, forms == 3);
        for (size_t mask = 0; mask < 1u << D; mask++) {
            unsigned char from_z[D];
            for (size_t j = 0; j < D; j++)
                from_z[j] = mask >> j & 1;
            for (size_t k = 0; k < N * N; k++) {
                assert_false(kb_hybrids_full(&h));
                kb_hybrids_add(&h, x, k / N, z, k % N, from_z);
            }
            assert_true(kb_hybrids_full(&h));
            for (size_t k = 0; k < N * N; k++)
                for (size_t j = 0; j < D; j++)
                    assert_true(cell(h.rows, k, j) ==
                                (from_z[j] ? cell(z, k % N, j) : cell(x, k / N, j)));
            assert_ok(ctx, kb_hybrids_decide(ctx, &h));
            double *want = decisions_of(ctx, model, h.rows);
            assert_same_bits(h.decision, want, N * N * 3);
            free(want);
            kb_hybrids_clear(&h);
        }
        kb_hybrids_release(ctx, &h);
        kb_data_free(x);
        kb_data_free(z);
    }
    kb_model_free(model);
    kb_data_free(train);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void room_is_limited(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "5");
    kb_data *train = data_of(ctx, 60, D, TWO);
    kb_model *model = model_of(ctx, options, train);
    kb_hybrids h;
    (void)unused;
    assert_ok(ctx, kb_hybrids_create(ctx, model, train, train, SIZE_MAX, &h));
    assert_true(h.room > 1000 && h.room < 100000);
    kb_hybrids_release(ctx, &h);
    assert_ok(ctx, kb_hybrids_create(ctx, model, train, train, 0, &h));
    assert_int_equal(h.room, 1);
    kb_hybrids_release(ctx, &h);
    kb_model_free(model);
    kb_data_free(train);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_have_the_cells_of_both),
        cmocka_unit_test(room_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
