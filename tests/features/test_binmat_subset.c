/* Z for some of its rows: bin by bin against the whole. */
#include "features/matrix.h"

/* `part` has the bins of z, and of its rows those that are listed. */
static void check_subset(const kb_binmat *z, size_t count, const uint32_t *rows,
                         const kb_binmat *part) {
    assert_int_equal(part->rows, count);
    assert_int_equal(part->grids, z->grids);
    assert_int_equal(part->R, z->R);
    assert_int_equal(part->bins, z->bins);
    assert_same_bits(part->start, z->start, z->grids + 1);
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < z->grids; r++)
            assert_int_equal(kb_binmat_id(part, i, r), kb_binmat_id(z, rows[i], r));
}

/* With tuples that pay, that no longer do, and without any; numbers of one, two and four bytes. */
static void a_subset_has_the_bins_of_its_rows(void **unused) {
    kb_context *ctx = test_context();
    const struct {
        size_t N, R;
        double sigma;
    } cases[] = {{3000, 21, 4}, {3000, 17, 0.9},   {3000, 17, 0.5}, {400, 16, 0.05},
                 {70000, 5, 3}, {110000, 2, 1e-6}, {1, 1, 1}};
    int kept = 0, dropped = 0;
    uint64_t bits = 0;
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        world w = world_build(ctx, cases[k].N, 2, cases[k].R, cases[k].sigma);
        uint32_t *rows = malloc(w.z->rows * sizeof *rows);
        assert_non_null(rows);
        for (size_t every = 1; every < 80; every *= 3) {
            size_t count = 0;
            kb_binmat *part;
            for (size_t i = every / 2; i < w.z->rows; i += every)
                rows[count++] = (uint32_t)i;
            assert_ok(ctx, kb_binmat_subset(ctx, w.z, count, rows, &part));
            check_subset(w.z, count, rows, part);
            for (size_t b = 0; b < w.z->bundles; b++) {
                kept += part->bundle[b].ids != NULL;
                dropped += w.z->bundle[b].ids && !part->bundle[b].ids;
            }
            kb_binmat_free(part);
        }
        for (size_t q = 0; q < w.z->groups; q++)
            bits |= UINT64_C(1) << w.z->group[q].bits;
        free(rows);
        world_free(&w);
    }
    assert_int_equal(bits, 1 << 8 | 1 << 16 | 1 << 18);
    if (!(kept > 0 && dropped > 0))
        fail_msg("%d bundles kept their tuples, %d dropped them", kept, dropped);
    kb_context_free(ctx);
}

/* Rows in any order and more than once, and a subset of a subset. */
static void rows_may_come_in_any_order(void **unused) {
    enum { N = 500, COUNT = 900, FEWER = 7 };
    kb_context *ctx = test_context();
    uint32_t rows[COUNT], fewer[FEWER], both[FEWER];
    (void)unused;
    for (size_t i = 0; i < COUNT; i++)
        rows[i] = (uint32_t)(N - 1 - i * i % N);
    for (size_t i = 0; i < FEWER; i++) {
        fewer[i] = (uint32_t)(i * 131 % COUNT);
        both[i] = rows[fewer[i]];
    }
    for (double sigma = 0.01; sigma < 20; sigma *= 30) {
        world w = world_build(ctx, N, 2, 9, sigma);
        kb_binmat *part, *last;
        assert_ok(ctx, kb_binmat_subset(ctx, w.z, COUNT, rows, &part));
        check_subset(w.z, COUNT, rows, part);
        assert_ok(ctx, kb_binmat_subset(ctx, part, FEWER, fewer, &last));
        check_subset(w.z, FEWER, both, last);
        kb_binmat_free(part);
        kb_binmat_free(last);
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* Numbers in wider forms, which only many bins would need. */
static void every_width_of_numbers_is_copied(void **unused) {
    static const int bits[] = {16, 18, 24, 32};
    static const uint32_t rows[] = {49, 0, 7, 7, 31};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof bits / sizeof *bits; k++) {
        world w = world_build(ctx, 50, 2, 9, 5), wide = world_build(ctx, 50, 2, 9, 5);
        kb_binmat *part;
        for (size_t q = 0; q < w.z->groups; q++) {
            kb_id_group *g = &wide.z->group[q];
            size_t count = w.z->bundle[q / KB_GROUP].ids ? w.z->tuples[q] : w.z->rows;
            void *ids;
            assert_ok(ctx, kb_zalloc(ctx, count, kb_id_row_bytes(bits[k]), &ids));
            for (size_t i = 0; i < count; i++) {
                uint32_t id[KB_GROUP];
                for (size_t lane = 0; lane < KB_GROUP; lane++)
                    id[lane] = (uint32_t)kb_id_at(&w.z->group[q], i, lane);
                kb_id_put(ids, bits[k], i, id);
            }
            kb_release(ctx, g->ids);
            g->ids = ids;
            g->bits = bits[k];
        }
        assert_ok(ctx, kb_binmat_subset(ctx, wide.z, 5, rows, &part));
        check_subset(w.z, 5, rows, part);
        kb_binmat_free(part);
        world_free(&w), world_free(&wide);
    }
    kb_context_free(ctx);
}

static void no_rows_are_a_subset_too(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 50, 2, 9, 5);
    kb_binmat *part;
    (void)unused;
    assert_ok(ctx, kb_binmat_subset(ctx, w.z, 0, NULL, &part));
    check_subset(w.z, 0, NULL, part);
    kb_binmat_free(part);
    world_free(&w);
    kb_context_free(ctx);
}

/* What solvers do with it: the products of the rows of Z. */
static void its_products_are_those_of_its_rows(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (double sigma = 0.05; sigma < 20; sigma *= 10) {
        world w = world_build(ctx, 200, 2, 21, sigma);
        size_t D = w.z->bins, count = 0;
        uint32_t rows[200];
        kb_operator *op, *part;
        double *Z = test_matrix(w.z), *some = malloc(200 * D * sizeof *some);
        assert_non_null(some);
        for (size_t i = 1; i < 200; i += 1 + i % 3) {
            memcpy(some + count * D, Z + i * D, D * sizeof *some);
            rows[count++] = (uint32_t)i;
        }
        assert_ok(ctx, kb_operator_binmat(ctx, w.z, &op));
        assert_ok(ctx, op->subset(op, ctx, count, rows, &part));
        assert_int_equal(part->rows, count);
        double *v = test_numbers(2, count * 3);
        check_operator(ctx, part, some, 3, v, TOLERANCE);
        kb_operator_free(part);
        kb_operator_free(op);
        free(Z), free(some), free(v);
        world_free(&w);
    }
    kb_context_free(ctx);
}

static int take_some(kb_context *ctx, void *z) {
    static const uint32_t rows[] = {7, 7, 0, 99};
    kb_binmat *part = z;
    kb_status status = kb_binmat_subset(ctx, z, 4, rows, &part);
    assert_int_equal(part == NULL, status != KB_OK);
    kb_binmat_free(part);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (double sigma = 0.01; sigma < 20; sigma *= 1000) {
        world w = world_build(ctx, 100, 2, 21, sigma);
        run_with_allocation_failures(take_some, w.z);
        world_free(&w);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subset_has_the_bins_of_its_rows),
        cmocka_unit_test(rows_may_come_in_any_order),
        cmocka_unit_test(every_width_of_numbers_is_copied),
        cmocka_unit_test(no_rows_are_a_subset_too),
        cmocka_unit_test(its_products_are_those_of_its_rows),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
