/* Z by columns: against the matrix, the order of the rows, octets, sizes and failures. */
#include "features/world.h"
#include "meter.h"

#include "l1/zcolumns.h"

/* The matrix of the columns in the samples' order, N x D. */
static double *matrix_of(const kb_zcolumns *c) {
    double *Z = calloc(c->rows * c->columns + 1, sizeof *Z);
    assert_non_null(Z);
    for (size_t j = 0; j < c->columns; j++)
        for (kb_nonzero z = kb_nonzeros(c, j); kb_nonzero_next(c, &z);)
            Z[c->order[z.row] * c->columns + j] += z.value;
    return Z;
}

static void check_columns(const kb_zcolumns *c, const double *Z) {
    double *mine = matrix_of(c);
    assert_close(mine, Z, c->rows * c->columns, 0);
    free(mine);
}

static void columns_are_those_of_the_matrix(void **unused) {
    (void)unused;
    static const size_t sizes[][3] = {{1, 1, 1}, {7, 2, 3}, {200, 3, 5}, {500, 2, 17}};
    for (int threads = 1; threads <= 3; threads++)
        for (size_t t = 0; t < 4; t++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, threads);
            world w = world_build(ctx, sizes[t][0], sizes[t][1], sizes[t][2], 1);
            double *Z = test_matrix(w.z);
            kb_zcolumns *c;
            assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
            assert_int_equal(c->columns, w.z->bins);
            assert_int_equal(c->blocks, sizes[t][2]);
            check_columns(c, Z);
            kb_zcolumns_free(c);
            free(Z);
            world_free(&w);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
}

/* A nonzero is 1/sqrt(R) of all grids, however few of them are here. */
static void columns_of_a_range_are_divided_by_all_grids(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 60, 2, 12, 1);
    kb_zcolumns *c;
    (void)unused;
    w.z->R = 31;
    double *Z = test_matrix(w.z);
    assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
    assert_true(c->value == 1 / sqrt(31));
    check_columns(c, Z);
    kb_zcolumns_free(c);
    free(Z);
    world_free(&w);
    kb_context_free(ctx);
}

/* The same numbers in more bits each. */
static void widen(kb_context *ctx, kb_id_group *g, size_t count, int bits) {
    kb_id_group wider = {.bits = bits};
    assert_ok(ctx, kb_alloc(ctx, count, kb_id_row_bytes(bits), &wider.ids));
    for (size_t i = 0; i < count; i++) {
        uint32_t id[KB_GROUP];
        for (size_t lane = 0; lane < KB_GROUP; lane++)
            id[lane] = (uint32_t)kb_id_at(g, i, lane);
        kb_id_put(wider.ids, bits, i, id);
    }
    kb_release(ctx, g->ids);
    *g = wider;
}

static void numbers_of_all_widths_are_read(void **unused) {
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    world w = world_build(ctx, 300, 1, 7, 2);
    double *Z = test_matrix(w.z);
    assert_non_null(w.z->bundle[0].ids);
    static const int bits[] = {8, 16, 18, 24, 32};
    for (size_t b = 0; b < 5; b++) {
        kb_zcolumns *c;
        assert_int_equal(w.z->bundle[0].bits, bits[b]);
        assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
        check_columns(c, Z);
        kb_zcolumns_free(c);
        if (b < 4)
            widen(ctx, &w.z->bundle[0], w.z->rows, bits[b + 1]);
        for (size_t q = 0; b < 4 && q < w.z->groups; q++)
            widen(ctx, &w.z->group[q], w.z->tuples[q], bits[b + 1]);
    }
    free(Z);
    world_free(&w);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void columns_of_a_block_have_disjoint_rows(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    world w = world_build(ctx, 300, 2, 6, 0.5);
    kb_zcolumns *c;
    assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
    for (size_t g = 0; g < c->blocks; g++) {
        int met[300] = {0};
        for (size_t j = c->block_start[g]; j < c->block_start[g + 1]; j++)
            for (kb_nonzero z = kb_nonzeros(c, j); kb_nonzero_next(c, &z);)
                assert_int_equal(met[z.row]++, 0);
    }
    kb_zcolumns_free(c);
    world_free(&w);
    kb_context_free(ctx);
}

/* In every part the rows of the widest bins lie side by side. */
static void close_samples_get_close_rows(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    world w = world_build(ctx, 400, 2, 9, 0.5);
    kb_zcolumns *c;
    size_t coarse = 0;
    assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
    for (size_t r = 1; r < 9; r++)
        if (kb_binmat_bins_of(w.z, r) < kb_binmat_bins_of(w.z, coarse))
            coarse = r;
    for (size_t p = 0; p < c->parts; p++)
        for (size_t k = c->part[p]; k + 1 < c->part[p + 1]; k++)
            assert_true(test_id(w.z, coarse, c->order[k]) <= test_id(w.z, coarse, c->order[k + 1]));
    kb_zcolumns_free(c);
    world_free(&w);
    kb_context_free(ctx);
}

/* Every octet once, in order, and as many bits as rows. */
static void octets_are_whole(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    world w = world_build(ctx, 700, 2, 9, 0.5);
    kb_zcolumns *c;
    assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
    for (size_t j = 0; j < c->columns; j++) {
        size_t bits = 0;
        for (size_t e = c->start[j * c->parts]; e < c->start[(j + 1) * c->parts]; e++) {
            assert_true(e == c->start[j * c->parts] || c->octet[e - 1] >> 8 < c->octet[e] >> 8);
            assert_int_not_equal(c->octet[e] & 255, 0);
            bits += (size_t)__builtin_popcount(c->octet[e] & 255);
        }
        assert_int_equal(bits, kb_column_count(c, j));
    }
    kb_zcolumns_free(c);
    world_free(&w);
    kb_context_free(ctx);
}

/* A column's parts have the rows of those parts, which are of about one size. */
static void parts_are_those_of_the_rows(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    static const size_t rows[] = {1, 3, 300, 2000, 131072, 270001}, parts[] = {2, 2, 2, 2, 4, 8};
    for (size_t t = 0; t < 6; t++) {
        world w = world_build(ctx, rows[t], 2, 5, 0.7);
        kb_zcolumns *c;
        assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
        assert_int_equal(c->parts, parts[t]);
        assert_int_equal(c->part[0], 0);
        assert_int_equal(c->part[c->parts], rows[t]);
        for (size_t q = 0; q < c->columns * c->parts; q++)
            for (size_t e = c->start[q]; e < c->start[q + 1]; e++) {
                size_t row = (size_t)(c->octet[e] >> 8) * KB_OCTET;
                assert_true(row >= c->part[q % c->parts]);
                assert_true(row < c->part[q % c->parts + 1]);
            }
        for (size_t p = 0; p < c->parts; p++) {
            assert_int_equal(c->part[p] % KB_OCTET, 0);
            assert_true(c->part[p + 1] - c->part[p] <= rows[t] / c->parts + 64);
        }
        kb_zcolumns_free(c);
        world_free(&w);
    }
    kb_context_free(ctx);
}

static void dense_columns_are_the_matrix(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    double *Z = test_numbers(8, 11 * 5);
    kb_zcolumns *c;
    assert_ok(ctx, kb_zcolumns_from_dense(ctx, 11, 5, Z, &c));
    assert_int_equal(c->blocks, 5);
    assert_null(c->octet);
    check_columns(c, Z);
    kb_zcolumns_free(c);
    free(Z);
    kb_context_free(ctx);
}

static void bytes_are_told_in_advance(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    world w = world_build(ctx, 50, 2, 4, 1);
    kb_zcolumns *c;
    assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
    double taken = 50 * 4 * sizeof *c->octet + 8 +
                   (double)(c->columns * (c->parts * sizeof *c->start + sizeof *c->count)) +
                   50 * sizeof *c->order + 5 * sizeof *c->block_start;
    double told = kb_zcolumns_bytes(50, 4, c->columns);
    assert_true(fabs(told - taken) <= 64);
    kb_zcolumns_free(c);
    world_free(&w);
    kb_context_free(ctx);
}

/* Threads for which there are no grids take none. */
static void building_takes_memory_for_those_who_work(void **unused) {
    (void)unused;
    size_t peak[2];
    for (int k = 0; k < 2; k++) {
        meter m = {0};
        kb_context *ctx = metered_context(&m);
        world w = world_build(ctx, 500, 2, 7, 0.5);
        kb_zcolumns *c;
        ctx->threads = k ? 64 : 2; /* for two groups of grids */
        size_t before = m.peak = m.now;
        assert_ok(ctx, kb_zcolumns_from_binmat(ctx, w.z, &c));
        peak[k] = m.peak - before;
        double told =
            kb_zcolumns_bytes(500, 7, c->columns) + kb_zcolumns_scratch_bytes(500, 7, ctx->threads);
        assert_true((double)peak[k] <= told + 32.0 * (double)(2 * c->columns) + 4096);
        kb_zcolumns_free(c);
        world_free(&w);
        kb_context_free(ctx);
    }
    assert_int_equal(peak[0], peak[1]);
}

/* An octet's number has 24 bits, and the last of them is not for rows. */
static void too_many_rows_are_refused(void **unused) {
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    size_t start[] = {0, 1};
    kb_binmat z = {.rows = ((size_t)1 << 27) - 7,
                   .simd = kb_simd_best(),
                   .grids = 1,
                   .bins = 1,
                   .start = start};
    kb_zcolumns *c;
    state.fail_at = state.allocations + 3; /* before the rows would be looked at */
    assert_fails(ctx, KB_ERR_DATA, "134217721 rows are too many for the L1 penalty",
                 kb_zcolumns_from_binmat(ctx, &z, &c));
    z.rows--;
    assert_int_equal(kb_zcolumns_from_binmat(ctx, &z, &c), KB_ERR_MEMORY);
    assert_null(c);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int build(kb_context *ctx, void *arg) {
    const world *w = arg;
    kb_status status;
    kb_zcolumns *c = NULL, *dense = NULL;
    TRY(kb_zcolumns_from_binmat(ctx, w->z, &c));
    TRY(kb_zcolumns_from_dense(ctx, w->N, w->d, w->x, &dense));
done:
    kb_zcolumns_free(c);
    kb_zcolumns_free(dense);
    return status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    world w = world_build(ctx, 40, 2, 3, 1);
    run_with_allocation_failures(build, &w);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_of_the_matrix),
        cmocka_unit_test(columns_of_a_range_are_divided_by_all_grids),
        cmocka_unit_test(numbers_of_all_widths_are_read),
        cmocka_unit_test(columns_of_a_block_have_disjoint_rows),
        cmocka_unit_test(close_samples_get_close_rows),
        cmocka_unit_test(parts_are_those_of_the_rows),
        cmocka_unit_test(octets_are_whole),
        cmocka_unit_test(dense_columns_are_the_matrix),
        cmocka_unit_test(bytes_are_told_in_advance),
        cmocka_unit_test(building_takes_memory_for_those_who_work),
        cmocka_unit_test(too_many_rows_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
