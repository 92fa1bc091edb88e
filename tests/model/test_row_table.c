/* The known bins for single rows: the same answers as the dictionary gives. */
#include "features/world.h"

#include "model/row_table.h"

#include <string.h>

/* The value of a key of grid r by a walk along its lines; 0 if there is none. */
static int find(const kb_row_table *t, size_t r, uint64_t key, uint32_t *value) {
    const kb_key_line *line = t->line + t->first[r] + kb_line_of(key, t->count[r]);
    for (;; line = t->line + line->more) {
        for (int k = 0; k < KB_LINE_KEYS; k++)
            if (line->key[k] == key) {
                *value = line->value[k];
                return 1;
            }
        if (!line->more)
            return 0;
    }
}

static void check_key(const kb_row_table *t, const kb_dictionary *d, size_t r, uint64_t key,
                      const float *weight) {
    int64_t bin = kb_dictionary_find(d, r, key);
    uint32_t value;
    assert_int_equal(find(t, r, key, &value), bin >= 0);
    if (bin < 0)
        return;
    if (weight)
        assert_memory_equal(&value, &weight[bin], sizeof(float));
    else
        assert_int_equal(value, (uint64_t)bin - d->start[r]);
}

static void check(kb_context *ctx, const kb_dictionary *d, const float *weight) {
    kb_row_table *t;
    assert_ok(ctx, kb_row_table_build(ctx, d, weight, &t));
    assert_int_equal((uintptr_t)t->line % sizeof *t->line, 0);
    for (size_t r = 0; r < d->grids; r++) {
        for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
            check_key(t, d, r, d->key[b], weight);
            check_key(t, d, r, d->key[b] + 1, weight);
        }
        for (uint64_t k = 0; k < 64; k++) {
            check_key(t, d, r, UINT64_C(1) << k, weight);
            check_key(t, d, r, UINT64_MAX >> k, weight);
        }
        check_key(t, d, r, 0, weight);
    }
    uint32_t value; /* of lanes past the last grid */
    for (size_t r = d->grids; r % KB_LANES != 0; r++)
        assert_false(find(t, r, 0, &value));
    assert_ptr_equal(kb_row_table_share(t), t);
    kb_row_table_leave(t);
    kb_row_table_leave(t);
}

static void every_bin_is_found(void **unused) {
    static const size_t shapes[][3] = {{1, 1, 1}, {500, 2, 9}, {300, 1, 4}, {50, 3, 30}};
    static const double sigmas[] = {1e-3, 0.3, 100};
    (void)unused;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (size_t s = 0; s < sizeof sigmas / sizeof *sigmas; s++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, 1);
            world w = world_build(ctx, shapes[k][0], shapes[k][1], shapes[k][2], sigmas[s]);
            kb_dictionary d;
            uint32_t *order;
            assert_ok(ctx, kb_dictionary_build(ctx, w.z, &d, &order));
            float *weight = malloc(d.bins * sizeof *weight);
            assert_non_null(weight);
            for (size_t b = 0; b < d.bins; b++)
                weight[b] = (float)test_uniform(3, b);
            check(ctx, &d, weight);
            check(ctx, &d, NULL);
            free(weight);
            kb_release(ctx, order);
            kb_dictionary_release(kb_allocator_of(ctx), &d);
            world_free(&w);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
}

/* All keys in one line, none, and those at both ends. */
static void awkward_keys_are_found(void **unused) {
    enum { BINS = 23 };
    uint64_t key[BINS], start[] = {0, 0, BINS - 2, BINS}, bucket_start[] = {0, 2, 4, 6};
    uint32_t bucket[] = {0, 0, 0, BINS - 2, 0, 2};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t b = 0; b < BINS - 2; b++)
        key[b] = b;
    key[BINS - 2] = 0;
    key[BINS - 1] = UINT64_MAX;
    kb_dictionary d = {3, BINS, start, bucket_start, bucket, key, NULL, NULL};
    check(ctx, &d, NULL);
    kb_context_free(ctx);
}

static int build_once(kb_context *ctx, void *dictionary) {
    kb_row_table *t;
    kb_status status = kb_row_table_build(ctx, dictionary, NULL, &t);
    if (status != KB_OK)
        assert_null(t);
    kb_row_table_leave(t);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    uint64_t key[] = {5}, start[] = {0, 1}, bucket_start[] = {0, 2};
    uint32_t bucket[] = {0, 1};
    (void)unused;
    run_with_allocation_failures(
        build_once, &(kb_dictionary){1, 1, start, bucket_start, bucket, key, NULL, NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bin_is_found),
        cmocka_unit_test(awkward_keys_are_found),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
