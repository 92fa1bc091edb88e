/* Numbering keys by first appearance. */
#include "features/world.h"

#include "features/bintable.h"

/* Keys of `distinct` different kinds, in a random order. */
static uint64_t *keys_of(size_t count, size_t distinct, uint64_t (*kind)(uint64_t)) {
    uint64_t *keys = malloc((count + 1) * sizeof *keys);
    assert_non_null(keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = kind((uint64_t)(test_uniform(4, i) * (double)distinct));
    return keys;
}

static uint64_t mixed(uint64_t k) {
    return kb_key_mix(k * UINT64_C(0x123456789ABCDEF1));
}

/* All in the same first slots: the worst case of a search. */
static uint64_t crowded(uint64_t k) {
    return k;
}

static uint64_t crowded_at_the_end(uint64_t k) {
    return UINT64_MAX - k;
}

/* Against a search through all keys so far. */
static void check(kb_context *ctx, kb_bintable *table, size_t count, const uint64_t *keys,
                  size_t stride) {
    uint32_t *ids = malloc((count * stride + 1) * sizeof *ids), next = 0;
    uint64_t *known = malloc((count + 1) * sizeof *known);
    assert_non_null(ids);
    assert_non_null(known);
    memset(ids, 0xFF, (count * stride + 1) * sizeof *ids);
    assert_ok(ctx, kb_bintable_clear(ctx, table));
    assert_int_equal(table->count, 0);
    /* In pieces, as binning does. */
    for (size_t begin = 0, piece; begin < count; begin += piece) {
        piece = count - begin < 77 ? count - begin : 77;
        assert_ok(
            ctx, kb_bintable_number(ctx, table, piece, keys + begin, stride, ids + begin * stride));
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t want = 0;
        while (want < next && known[want] != keys[i])
            want++;
        if (want == next)
            known[next++] = keys[i];
        assert_int_equal(ids[i * stride], want);
        for (size_t gap = 1; gap < stride; gap++)
            assert_int_equal(ids[i * stride + gap], UINT32_MAX);
    }
    assert_int_equal(table->count, next);
    assert_same_bits(table->key, known, next);
    free(ids);
    free(known);
}

static void ids_are_the_order_of_first_appearance(void **unused) {
    static const size_t distinct[] = {1, 2, 100, 128, 129, 1000, 3000};
    uint64_t (*const kinds[])(uint64_t) = {mixed, crowded, crowded_at_the_end};
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_bintable table = {0};
    (void)unused;
    for (size_t k = 0; k < 3; k++)
        for (size_t m = 0; m < sizeof distinct / sizeof *distinct; m++)
            for (size_t stride = 1; stride <= KB_GROUP; stride += 3) {
                /* The same table again and again: what a clear leaves must not be seen. */
                uint64_t *keys = keys_of(5000, distinct[m], kinds[k]);
                check(ctx, &table, 5000, keys, stride);
                free(keys);
            }
    kb_bintable_release(ctx, &table);
    assert_null(table.key);
    assert_null(table.slot);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

/* 300,000 bins: the table grows beyond the cache, and slots are prefetched. */
static void a_large_table_keeps_every_key(void **unused) {
    enum { COUNT = 300000 };
    kb_context *ctx = test_context();
    kb_bintable table = {0};
    uint64_t *keys = malloc(COUNT * sizeof *keys);
    uint32_t *ids = malloc(COUNT * sizeof *ids);
    (void)unused;
    for (uint64_t i = 0; i < COUNT; i++)
        keys[i] = mixed(i);
    assert_ok(ctx, kb_bintable_clear(ctx, &table));
    for (int again = 0; again < 2; again++) {
        assert_ok(ctx, kb_bintable_number(ctx, &table, COUNT, keys, 1, ids));
        assert_int_equal(table.count, COUNT);
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(ids[i], i);
    }
    kb_bintable_release(ctx, &table);
    free(keys);
    free(ids);
    kb_context_free(ctx);
}

static void no_keys_are_no_bins(void **unused) {
    kb_context *ctx = test_context();
    kb_bintable table = {0};
    (void)unused;
    kb_bintable_release(ctx, &table); /* a table of zeros is one */
    assert_ok(ctx, kb_bintable_clear(ctx, &table));
    assert_ok(ctx, kb_bintable_number(ctx, &table, 0, NULL, 1, NULL));
    assert_int_equal(table.count, 0);
    kb_bintable_release(ctx, &table);
    kb_context_free(ctx);
}

static int number_many(kb_context *ctx, void *arg) {
    kb_bintable table = {0};
    uint32_t ids[2000];
    kb_status status;
    TRY(kb_bintable_clear(ctx, &table));
    TRY(kb_bintable_number(ctx, &table, 2000, arg, 1, ids));
done:
    kb_bintable_release(ctx, &table);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    uint64_t *keys = keys_of(2000, 1500, mixed);
    (void)unused;
    run_with_allocation_failures(number_many, keys);
    free(keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_the_order_of_first_appearance),
        cmocka_unit_test(a_large_table_keeps_every_key),
        cmocka_unit_test(no_keys_are_no_bins),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
