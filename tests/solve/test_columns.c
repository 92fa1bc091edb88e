/* Z by columns: against the matrix, the order of the rows, the split, sizes and failures. */
#include "features/world.h"

#include "solve/columns.h"

/* The matrix of the columns in the samples' order, N x D. */
static double *matrix_of(const kb_columns *c) {
    double *Z = calloc(c->rows * c->columns + 1, sizeof *Z);
    assert_non_null(Z);
    for (size_t j = 0; j < c->columns; j++)
        for (size_t e = 0; e < kb_column_count(c, j); e++) {
            size_t k = c->row ? c->row[kb_column_begin(c, j) + e] : e;
            Z[c->order[k] * c->columns + j] +=
                c->row ? c->value : c->dense[kb_column_begin(c, j) + e];
        }
    return Z;
}

static void check_columns(const kb_columns *c, const double *Z) {
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
            kb_columns *c;
            assert_ok(ctx, kb_columns_from_binmat(ctx, w.z, NULL, &c));
            assert_int_equal(c->columns, w.z->bins);
            assert_int_equal(c->blocks, sizes[t][2]);
            check_columns(c, Z);
            kb_columns_free(c);
            free(Z);
            world_free(&w);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
}

static void columns_of_a_block_have_disjoint_rows(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    world w = world_build(ctx, 300, 2, 6, 0.5);
    kb_columns *c;
    assert_ok(ctx, kb_columns_from_binmat(ctx, w.z, NULL, &c));
    for (size_t g = 0; g < c->blocks; g++) {
        int met[300] = {0};
        for (size_t e = kb_column_begin(c, c->block_start[g]);
             e < kb_column_begin(c, c->block_start[g + 1]); e++)
            assert_int_equal(met[c->row[e]]++, 0);
    }
    kb_columns_free(c);
    world_free(&w);
    kb_context_free(ctx);
}

/* In every part the rows of the widest bins lie side by side. */
static void close_samples_get_close_rows(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    world w = world_build(ctx, 400, 2, 9, 0.5);
    kb_columns *c;
    size_t coarse = 0;
    assert_ok(ctx, kb_columns_from_binmat(ctx, w.z, NULL, &c));
    for (size_t r = 1; r < 9; r++)
        if (kb_binmat_bins_of(w.z, r) < kb_binmat_bins_of(w.z, coarse))
            coarse = r;
    for (size_t p = 0; p < KB_PARTS; p++)
        for (size_t k = c->part[p]; k + 1 < c->part[p + 1]; k++)
            assert_true(test_id(w.z, coarse, c->order[k]) <= test_id(w.z, coarse, c->order[k + 1]));
    kb_columns_free(c);
    world_free(&w);
    kb_context_free(ctx);
}

static void check_split(const kb_columns *c, const double *y) {
    for (size_t q = 0; q < c->columns * KB_PARTS; q++) {
        size_t count = c->start[q + 1] - c->start[q];
        assert_true(c->positive[q] <= count);
        for (size_t e = 0; e < count; e++) {
            const uint32_t *row = c->row + c->start[q] + e;
            assert_int_equal(y[*row] > 0, e < c->positive[q]);
            if (e > 0 && e != c->positive[q])
                assert_true(row[-1] < row[0]);
        }
    }
}

/* A column's parts have the rows of those parts, which are of about one size. */
static void parts_are_those_of_the_rows(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    static const size_t rows[] = {1, 3, 300, 2000};
    for (size_t t = 0; t < 4; t++) {
        world w = world_build(ctx, rows[t], 2, 5, 0.7);
        kb_columns *c;
        assert_ok(ctx, kb_columns_from_binmat(ctx, w.z, NULL, &c));
        assert_int_equal(c->part[0], 0);
        assert_int_equal(c->part[KB_PARTS], rows[t]);
        for (size_t q = 0; q < c->columns * KB_PARTS; q++)
            for (size_t e = c->start[q]; e < c->start[q + 1]; e++) {
                assert_true(c->row[e] >= c->part[q % KB_PARTS]);
                assert_true(c->row[e] < c->part[q % KB_PARTS + 1]);
            }
        for (size_t p = 0; p < KB_PARTS; p++)
            assert_true(c->part[p + 1] - c->part[p] <= rows[t] / KB_PARTS + 64);
        kb_columns_free(c);
        world_free(&w);
    }
    kb_context_free(ctx);
}

static void a_split_puts_positive_rows_first_whatever_was_before(void **unused) {
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    world w = world_build(ctx, 900, 2, 24, 0.7);
    double *Z = test_matrix(w.z), *y = test_numbers(3, 900), *other = test_numbers(4, 900);
    kb_columns *c, *fresh;
    assert_ok(ctx, kb_columns_from_binmat(ctx, w.z, NULL, &c));
    assert_ok(ctx, kb_columns_from_binmat(ctx, w.z, NULL, &fresh));
    assert_ok(ctx, kb_columns_split(ctx, c, other));
    check_split(c, other);
    assert_ok(ctx, kb_columns_split(ctx, c, y));
    assert_ok(ctx, kb_columns_split(ctx, fresh, y));
    check_split(c, y);
    check_columns(c, Z);
    assert_same_bits(c->row, fresh->row, 900 * 24);
    kb_columns_free(c);
    kb_columns_free(fresh);
    free(Z), free(y), free(other);
    world_free(&w);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void rows_of_class_one_come_first_in_every_part(void **unused) {
    (void)unused;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 2);
    world w = world_build(ctx, 900, 2, 24, 0.7);
    uint32_t class_of[900];
    double y[900], opposite[900], *Z = test_matrix(w.z);
    kb_columns *c;
    for (size_t i = 0; i < 900; i++)
        class_of[i] = i % 7 < 3;
    assert_ok(ctx, kb_columns_from_binmat(ctx, w.z, class_of, &c));
    for (size_t p = 0; p < KB_PARTS; p++)
        for (size_t k = c->part[p]; k < c->part[p + 1]; k++) {
            uint32_t class = class_of[c->order[k]];
            assert_true(k == c->part[p] || class <= class_of[c->order[k - 1]]);
            y[k] = class ? 1 : -1;
            opposite[k] = -y[k];
        }
    check_columns(c, Z);
    /* Found quickly, dealt anew, and dealt back. */
    const double *split[] = {y, opposite, y};
    for (size_t k = 0; k < 3; k++) {
        assert_ok(ctx, kb_columns_split(ctx, c, split[k]));
        assert_int_equal(c->dealt, k > 0);
        check_split(c, split[k]);
        check_columns(c, Z);
    }
    kb_columns_free(c);
    free(Z);
    world_free(&w);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void dense_columns_are_the_matrix(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    double *Z = test_numbers(8, 11 * 5);
    kb_columns *c;
    assert_ok(ctx, kb_columns_from_dense(ctx, 11, 5, Z, &c));
    assert_int_equal(c->blocks, 5);
    assert_null(c->row);
    check_columns(c, Z);
    assert_ok(ctx, kb_columns_split(ctx, c, Z));
    check_columns(c, Z);
    kb_columns_free(c);
    free(Z);
    kb_context_free(ctx);
}

static void bytes_are_told_in_advance(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    world w = world_build(ctx, 50, 2, 4, 1);
    kb_columns *c;
    assert_ok(ctx, kb_columns_from_binmat(ctx, w.z, NULL, &c));
    double taken = 50 * 4 * sizeof *c->row + 8 +
                   (double)c->columns * KB_PARTS * (sizeof *c->start + sizeof *c->positive) +
                   50 * sizeof *c->order + 5 * sizeof *c->block_start;
    double told = kb_columns_bytes(50, 4, c->columns);
    assert_true(fabs(told - taken) <= 64);
    kb_columns_free(c);
    world_free(&w);
    kb_context_free(ctx);
}

static int build_and_split(kb_context *ctx, void *arg) {
    const world *w = arg;
    kb_status status;
    kb_columns *c = NULL, *dense = NULL;
    double *y = test_numbers(1, w->N);
    TRY(kb_columns_from_binmat(ctx, w->z, NULL, &c));
    TRY(kb_columns_split(ctx, c, y));
    TRY(kb_columns_from_dense(ctx, w->N, w->d, w->x, &dense));
done:
    free(y);
    kb_columns_free(c);
    kb_columns_free(dense);
    return status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    kb_context *ctx = test_context();
    world w = world_build(ctx, 40, 2, 3, 1);
    run_with_allocation_failures(build_and_split, &w);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_of_the_matrix),
        cmocka_unit_test(columns_of_a_block_have_disjoint_rows),
        cmocka_unit_test(close_samples_get_close_rows),
        cmocka_unit_test(parts_are_those_of_the_rows),
        cmocka_unit_test(a_split_puts_positive_rows_first_whatever_was_before),
        cmocka_unit_test(rows_of_class_one_come_first_in_every_part),
        cmocka_unit_test(dense_columns_are_the_matrix),
        cmocka_unit_test(bytes_are_told_in_advance),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
