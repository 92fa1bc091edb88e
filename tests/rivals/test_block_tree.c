/* Blocks of close samples: a tree that parts the samples, and finds the block of each again. */
#include "rivals/maps.h"

static void blocks_part_the_samples(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 1000, 7, 5);
    (void)unused;
    for (size_t rank = 16; rank < 2000; rank *= 3) {
        rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", rank, 0, 0.5};
        kb_rival *r;
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
        size_t *block = block_of_samples(r);
        assert_int_equal(r->start[r->blocks], c.N);
        for (size_t b = 0; b < r->blocks; b++) {
            size_t size = r->start[b + 1] - r->start[b];
            assert_true(size <= rank);
            assert_true(r->blocks == 1 || size >= rank / 3); /* up to equal samples */
        }
        /* A training sample, in either form, finds its own block again. */
        kb_metric metric = cloud_metric(&c);
        const kb_data *forms[] = {c.dense, c.sparse};
        for (int f = 0; f < 2; f++) {
            kb_points *p;
            assert_ok(ctx, kb_points_build(ctx, &metric, forms[f], 0, c.N, NULL, &p));
            for (size_t i = 0; i < c.N; i++)
                assert_int_equal(kb_block_tree_find(r, p, i), block[i]);
            kb_points_free(p);
        }
        for (size_t i = 5; i < c.N; i += 5)
            assert_int_equal(block[i], block[i - 3]); /* equal samples stay together */
        free(block);
        kb_rival_free(r);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Without equal samples there are no more blocks than their size asks for. */
static void blocks_are_nearly_full(void **unused) {
    static const size_t rows[] = {11, 100, 513, 1000, 1025};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        cloud c = cloud_build(ctx, rows[k], 3, 5);
        double *x = test_numbers(6, 3 * c.N);
        kb_data_free(c.dense);
        assert_ok(ctx, data_from_dense(ctx, c.N, 3, x, NULL, &c.dense));
        for (size_t rank = 3; rank < 700; rank = 2 * rank + 1) {
            rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", rank, 0, 0.5};
            kb_rival *r;
            assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
            assert_int_equal(r->blocks, (c.N + rank - 1) / rank);
            for (size_t b = 0; b < r->blocks; b++)
                assert_true(r->start[b + 1] - r->start[b] <= rank);
            kb_rival_free(r);
        }
        free(x);
        cloud_free(&c);
    }
    kb_context_free(ctx);
}

static void equal_samples_stay_whole(void **unused) {
    enum { N = 100 };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, 2, 5);
    (void)unused;
    for (size_t i = 0; i < 2 * N; i++)
        c.x[i] = i % 2 ? 2 : 1;
    kb_data_free(c.dense);
    assert_ok(ctx, data_from_dense(ctx, N, 2, c.x, NULL, &c.dense));
    rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", 10, 0, 0.5};
    kb_rival *r;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    assert_int_equal(r->blocks, 1);
    assert_int_equal(r->splits.count, 0);
    kb_rival_free(r);
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Its arrays belong to the map. */
static int build_a_tree(kb_context *ctx, void *arg) {
    const kb_points *all = arg;
    kb_status status;
    kb_rival r = {.features = all->features, .columns = all->rows};
    status = kb_block_tree_build(ctx, 7, 10, all, &r);
    kb_release(ctx, r.splits.direction);
    kb_release(ctx, r.splits.threshold);
    kb_release(ctx, r.splits.child);
    kb_release(ctx, r.start);
    kb_release(ctx, r.order);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 100, 3, 5);
    kb_metric metric = cloud_metric(&c);
    kb_points *all;
    (void)unused;
    assert_ok(ctx, kb_points_build(ctx, &metric, c.dense, 0, c.N, NULL, &all));
    run_with_allocation_failures(build_a_tree, all);
    kb_points_free(all);
    cloud_free(&c);
    kb_context_free(ctx);
}

static void a_tree_that_never_ends_or_leads_nowhere_is_refused(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 60, 3, 5);
    rivalry t = {&c, KB_RIVAL_BLOCKS, "laplace", 10, 0, 1};
    kb_rival *r, *copy;
    kb_array arrays[KB_RIVAL_ARRAYS];
    (void)unused;
    assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
    size_t n = kb_rival_arrays(r, arrays);
    for (size_t k = 0; k < 2 * r->splits.count; k++) {
        static const int32_t wrong[] = {0, INT32_MAX, INT32_MIN};
        int32_t keep = r->splits.child[k];
        for (int w = 0; w < 3; w++) {
            r->splits.child[k] = wrong[w];
            assert_int_equal(kb_rival_restore(ctx, t.kind, t.kernel, 3, n, arrays, &copy),
                             KB_ERR_MODEL);
        }
        r->splits.child[k] = keep;
    }
    kb_rival_free(r);
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_part_the_samples),
        cmocka_unit_test(blocks_are_nearly_full),
        cmocka_unit_test(equal_samples_stay_whole),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_tree_that_never_ends_or_leads_nowhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
