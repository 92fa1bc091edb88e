/* Known bins: every key is found at its place, no other key is found at all. */
#include "features/world.h"

#include "features/dictionary.h"

/* Copies of the keys, which kb_dictionary_build takes out of z. */
static uint64_t **keys_of(const kb_binmat *z) {
    uint64_t **key = malloc(z->grids * sizeof *key);
    assert_non_null(key);
    for (size_t r = 0; r < z->grids; r++) {
        size_t bytes = kb_binmat_bins_of(z, r) * sizeof(uint64_t);
        key[r] = malloc(bytes);
        assert_non_null(key[r]);
        memcpy(key[r], z->key[r], bytes);
    }
    return key;
}

static void keys_free(uint64_t **key, size_t R) {
    for (size_t r = 0; r < R; r++)
        free(key[r]);
    free(key);
}

static int knows(const uint64_t *keys, size_t count, uint64_t key) {
    for (size_t b = 0; b < count; b++)
        if (keys[b] == key)
            return 1;
    return 0;
}

/* Finds all that is there, and nothing near it. */
static void check(kb_context *ctx, kb_binmat *z) {
    kb_dictionary d;
    uint32_t *order;
    size_t R = z->grids;
    uint64_t **key = keys_of(z);
    assert_ok(ctx, kb_dictionary_build(ctx, z, &d, &order));
    assert_int_equal(d.grids, R);
    assert_int_equal(d.bins, z->bins);
    assert_true(kb_dictionary_is_sound(&d, (size_t)d.bucket_start[R]));
    for (size_t r = 0; r < R; r++) {
        size_t bins = kb_binmat_bins_of(z, r);
        unsigned char *seen = calloc(bins, 1);
        assert_int_equal(d.start[r], z->start[r]);
        assert_null(z->key[r]);
        for (size_t i = 0; i < bins; i++) {
            size_t at = z->start[r] + i, b = order[at];
            assert_true(b < bins && !seen[b]); /* a permutation */
            seen[b] = 1;
            assert_true(d.key[at] == key[r][b]);
            assert_true(i == 0 || d.key[at] > d.key[at - 1]);
            assert_int_equal(kb_dictionary_find(&d, r, key[r][b]), at);
            if (!knows(key[r], bins, key[r][b] + 1))
                assert_int_equal(kb_dictionary_find(&d, r, key[r][b] + 1), -1);
        }
        const uint64_t others[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, 12345};
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            if (!knows(key[r], bins, others[k]))
                assert_int_equal(kb_dictionary_find(&d, r, others[k]), -1);
        free(seen);
    }
    kb_release(ctx, order);
    kb_dictionary_release(kb_allocator_of(ctx), &d);
    assert_null(d.key);
    keys_free(key, R);
}

static void every_bin_is_found_at_its_place(void **unused) {
    static const size_t shapes[][3] = {{1, 1, 1}, {500, 2, 9}, {300, 1, 4}, {50, 3, 30}};
    static const double sigmas[] = {1e-3, 0.3, 100};
    (void)unused;
    for (int threads = 1; threads <= 3; threads += 2)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            for (size_t s = 0; s < sizeof sigmas / sizeof *sigmas; s++) {
                test_state state = {0};
                kb_context *ctx = test_context_with(&state, threads);
                world w = world_build(ctx, shapes[k][0], shapes[k][1], shapes[k][2], sigmas[s]);
                check(ctx, w.z);
                world_free(&w);
                kb_context_free(ctx);
                assert_int_equal(state.live, 0);
            }
}

/* Keys that crowd in the first or the last bucket, and the outermost keys. */
static void crowded_keys_are_found_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < 3; kind++) {
        world w = world_build(ctx, 200, 1, 2, 1e-3);
        for (size_t r = 0; r < 2; r++)
            for (size_t b = 0; b < kb_binmat_bins_of(w.z, r); b++)
                w.z->key[r][b] = kind == 0   ? 1000 - b
                                 : kind == 1 ? UINT64_MAX - 7 * b
                                             : (uint64_t)b << 63 | b;
        check(ctx, w.z);
        world_free(&w);
    }
    kb_context_free(ctx);
}

static void a_search_looks_at_few_keys(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 20000, 1, 4, 1e-4);
    kb_dictionary d;
    uint32_t *order;
    double looks = 0, bins = 0;
    (void)unused;
    assert_ok(ctx, kb_dictionary_build(ctx, w.z, &d, &order));
    for (size_t r = 0; r < 4; r++)
        for (size_t b = d.start[r]; b < d.start[r + 1]; b++, bins++) {
            const uint32_t *bucket =
                d.bucket + d.bucket_start[r] + kb_bucket_of(d.key[b], kb_dictionary_buckets(&d, r));
            looks += (double)(b - d.start[r]) - bucket[0] + 1;
        }
    assert_true(looks / bins < 2.5); /* at most two bins a bucket, evenly: 1.5 to 2 */
    kb_release(ctx, order);
    kb_dictionary_release(kb_allocator_of(ctx), &d);
    world_free(&w);
    kb_context_free(ctx);
}

/* ---- some of the bins -------------------------------------------------- */

typedef enum choice { ALL, ONE, EVERY_THIRD, WHOLE_GRIDS, LAST_OF_EACH } choice;
enum { CHOICES = LAST_OF_EACH + 1 };

static int is_chosen(const kb_dictionary *d, choice kind, size_t r, size_t b) {
    switch (kind) {
    case ALL:
        return 1;
    case ONE:
        return b == d->bins / 2;
    case EVERY_THIRD:
        return b % 3 == 0;
    case WHOLE_GRIDS:
        return r % 2 == 1;
    default:
        return b + 1 == d->start[r + 1];
    }
}

/* The bins that stay, and the grids that have some. */
static size_t choose(const kb_dictionary *d, choice kind, unsigned char *stays, size_t *grid) {
    size_t grids = 0;
    for (size_t r = 0; r < d->grids; r++) {
        int any = 0;
        for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
            stays[b] = (unsigned char)is_chosen(d, kind, r, b);
            any |= stays[b];
        }
        if (any)
            grid[grids++] = r;
    }
    return grids;
}

/* What stays is found in its old order, what goes is not found. */
static void check_selection(kb_context *ctx, const kb_dictionary *d, choice kind) {
    kb_dictionary less;
    unsigned char *stays = malloc(d->bins);
    size_t *grid = malloc(d->grids * sizeof *grid), at = 0, grids = choose(d, kind, stays, grid);
    assert_ok(ctx, kb_dictionary_select(ctx, d, grids, grid, stays, &less));
    assert_int_equal(less.grids, grids);
    assert_true(kb_dictionary_is_sound(&less, (size_t)less.bucket_start[grids]));
    for (size_t r = 0; r < grids; r++) {
        assert_int_equal(less.start[r], at);
        for (size_t b = d->start[grid[r]]; b < d->start[grid[r] + 1]; b++) {
            if (stays[b])
                assert_true(less.key[at] == d->key[b]);
            assert_int_equal(kb_dictionary_find(&less, r, d->key[b]),
                             stays[b] ? (int64_t)at : INT64_C(-1));
            at += stays[b];
        }
    }
    assert_int_equal(less.bins, at);
    assert_int_equal(less.start[grids], at);
    if (kind == ALL) { /* the same arrays again */
        assert_same_bits(less.start, d->start, grids + 1);
        assert_same_bits(less.bucket_start, d->bucket_start, grids + 1);
        assert_same_bits(less.bucket, d->bucket, (size_t)d->bucket_start[grids]);
    }
    kb_dictionary_release(kb_allocator_of(ctx), &less);
    free(stays), free(grid);
}

static void selected_bins_are_found_and_no_others(void **unused) {
    static const double sigmas[] = {1e-3, 0.1, 100};
    (void)unused;
    for (size_t s = 0; s < sizeof sigmas / sizeof *sigmas; s++)
        for (int kind = 0; kind < CHOICES; kind++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, 1);
            world w = world_build(ctx, 300, 2, 9, sigmas[s]);
            kb_dictionary d;
            uint32_t *order;
            assert_ok(ctx, kb_dictionary_build(ctx, w.z, &d, &order));
            check_selection(ctx, &d, (choice)kind);
            kb_release(ctx, order);
            kb_dictionary_release(kb_allocator_of(ctx), &d);
            world_free(&w);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
}

/* All keys in one bucket, and the outermost ones. */
static void crowded_keys_can_be_selected_too(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int far = 0; far < 2; far++) {
        world w = world_build(ctx, 200, 1, 2, 1e-3);
        kb_dictionary d;
        uint32_t *order;
        for (size_t r = 0; r < 2; r++)
            for (size_t b = 0; b < kb_binmat_bins_of(w.z, r); b++)
                w.z->key[r][b] = far ? UINT64_MAX - 7 * b : b;
        assert_ok(ctx, kb_dictionary_build(ctx, w.z, &d, &order));
        for (int kind = 0; kind < CHOICES; kind++)
            check_selection(ctx, &d, (choice)kind);
        kb_release(ctx, order);
        kb_dictionary_release(kb_allocator_of(ctx), &d);
        world_free(&w);
    }
    kb_context_free(ctx);
}

/* ---- arrays from a file ------------------------------------------------ */

typedef struct copy {
    kb_dictionary d;
    uint64_t start[4], bucket_start[4];
    uint32_t *bucket;
} copy;

static copy copy_of(const kb_dictionary *from) {
    copy c = {.d = *from};
    size_t buckets = (size_t)from->bucket_start[3];
    memcpy(c.start, from->start, sizeof c.start);
    memcpy(c.bucket_start, from->bucket_start, sizeof c.bucket_start);
    c.bucket = malloc(buckets * sizeof *c.bucket);
    assert_non_null(c.bucket);
    memcpy(c.bucket, from->bucket, buckets * sizeof *c.bucket);
    return c;
}

static int is_sound(copy *c, size_t buckets) {
    c->d.start = c->start;
    c->d.bucket_start = c->bucket_start;
    c->d.bucket = c->bucket;
    return kb_dictionary_is_sound(&c->d, buckets);
}

static void each_kind_of_damage_is_seen(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 100, 1, 3, 0.02);
    kb_dictionary d;
    uint32_t *order;
    (void)unused;
    assert_ok(ctx, kb_dictionary_build(ctx, w.z, &d, &order));
    size_t buckets = (size_t)d.bucket_start[3];
    assert_true(kb_dictionary_buckets(&d, 0) >= 4);
    for (int damage = 0; damage <= 16; damage++) {
        copy c = copy_of(&d);
        uint32_t *last = c.bucket + c.bucket_start[1] - 1; /* end of grid 0 */
        size_t count = buckets;
        switch (damage) {
        case 1:
            c.start[0] = 1;
            break;
        case 2:
            c.start[3]++;
            break;
        case 3:
            c.start[1] = c.start[2] + 1;
            break;
        case 4:
            c.start[2] = UINT64_MAX;
            break;
        case 5:
            c.bucket_start[0] = 1;
            break;
        case 6:
            count++;
            break;
        case 7:
            c.bucket_start[1] = 0;
            break;
        case 8:
            c.bucket_start[1] = 1; /* an end without a bucket */
            break;
        case 9:
            c.bucket_start[2] = UINT64_MAX;
            break;
        case 10:
            c.bucket_start[1] = UINT64_MAX - 1; /* + 2 wraps round */
            break;
        case 11:
            c.bucket_start[1]++; /* no power of two */
            break;
        case 12:
            c.bucket[0] = 1;
            break;
        case 13:
            c.bucket[2] = c.bucket[1] + 1000;
            break;
        case 14:
            ++*last;
            break;
        case 15:
            --*last;
            break;
        case 16:
            c.bucket[c.bucket_start[2] + 1] = UINT32_MAX;
            break;
        }
        if (is_sound(&c, count) != (damage == 0))
            fail_msg("damage %d", damage);
        free(c.bucket);
    }
    kb_release(ctx, order);
    kb_dictionary_release(kb_allocator_of(ctx), &d);
    world_free(&w);
    kb_context_free(ctx);
}

/* Consistent but for one thing: three buckets are no power of two. */
static void buckets_come_in_powers_of_two(void **unused) {
    static const uint64_t start[] = {0, 2}, three[] = {0, 4}, four[] = {0, 5}, key[] = {1, 2};
    static const uint32_t bucket[] = {0, 1, 1, 2, 2};
    const kb_dictionary bad = {1, 2, start, three, bucket, key, NULL, NULL};
    const kb_dictionary good = {1, 2, start, four, bucket, key, NULL, NULL};
    (void)unused;
    assert_false(kb_dictionary_is_sound(&bad, 4));
    assert_true(kb_dictionary_is_sound(&good, 5));
    assert_true(kb_dictionary_starts_are_sound(&bad, 4)); /* does not look there, */
    assert_false(kb_dictionary_starts_are_sound(&good, 4));
}

/* ---- compact ------------------------------------------------------------ */

/* What a compact dictionary keeps of a key. */
static uint64_t kept_of(const kb_dictionary *cut, size_t r, uint64_t key) {
    return key & kb_dictionary_mask(cut, r);
}

/* Every key is found at its place or that of its twin, and others as their kept bits say.  Returns
 * how many have a twin before them. */
static size_t check_cut(kb_context *ctx, const kb_dictionary *d) {
    kb_dictionary cut;
    uint32_t *order;
    size_t twins = 0;
    uint64_t *room = malloc(kb_dictionary_most_bins(d) * sizeof *room);
    assert_non_null(room);
    assert_ok(ctx, kb_dictionary_cut(ctx, d, &cut, &order));
    assert_true(kb_dictionary_is_sound(&cut, (size_t)cut.bucket_start[d->grids]));
    assert_int_equal(cut.bins, d->bins);
    for (size_t r = 0; r < d->grids; r++) {
        const uint64_t *keys = kb_dictionary_keys(&cut, r, room), *whole = d->key + d->start[r];
        size_t bins = d->start[r + 1] - d->start[r];
        assert_ptr_equal(kb_dictionary_keys(d, r, NULL), whole);
        assert_true(kb_dictionary_mask(d, r) == UINT64_MAX);
        for (size_t b = 0; b < bins; b++) {
            int64_t at = kb_dictionary_find(&cut, r, whole[order[cut.start[r] + b]]);
            int twin = b > 0 && keys[b] == keys[b - 1];
            assert_true(keys[b] == kept_of(&cut, r, whole[order[cut.start[r] + b]]));
            assert_true(b == 0 || keys[b] >= keys[b - 1]);
            if (!twin)
                assert_int_equal(at, cut.start[r] + b);
            else
                assert_true(keys[at - (int64_t)cut.start[r]] == keys[b]);
            twins += (size_t)twin;
        }
        for (uint64_t k = 0; k < 200; k++) {
            uint64_t key = whole[k % bins] ^ UINT64_C(1) << k % 64;
            assert_int_equal(kb_dictionary_find(&cut, r, key) >= 0,
                             knows(keys, bins, kept_of(&cut, r, key)));
        }
    }
    free(room);
    kb_release(ctx, order);
    kb_dictionary_release(kb_allocator_of(ctx), &cut);
    return twins;
}

static void a_compact_dictionary_finds_every_bin(void **unused) {
    static const size_t shapes[][3] = {{1, 1, 1}, {500, 2, 9}, {20000, 1, 4}, {50, 3, 30}};
    static const double sigmas[] = {1e-4, 0.3, 100};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (size_t s = 0; s < sizeof sigmas / sizeof *sigmas; s++) {
            world w = world_build(ctx, shapes[k][0], shapes[k][1], shapes[k][2], sigmas[s]);
            kb_dictionary d;
            uint32_t *order;
            assert_ok(ctx, kb_dictionary_build(ctx, w.z, &d, &order));
            assert_int_equal(check_cut(ctx, &d), 0);
            kb_release(ctx, order);
            kb_dictionary_release(kb_allocator_of(ctx), &d);
            world_free(&w);
        }
    kb_context_free(ctx);
}

/* Pairs that differ in one bit: only a tail with that bit keeps them apart. */
static void tails_lie_where_they_keep_bins_apart(void **unused) {
    static const uint64_t start[] = {0, 4}, bucket_start[] = {0, 3};
    static const uint32_t bucket[] = {0, 2, 4};
    static const int bits[][2] = {{60, 60}, {44, 50}, {47, 38}, {60, 40}, {0, 1}};
    static const size_t twins[] = {0, 0, 0, 1, 2}; /* the last are below all tails that are tried */
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof bits / sizeof *bits; k++) {
        uint64_t one = UINT64_C(0x1234500000000000) & ~(UINT64_C(1) << bits[k][0]);
        uint64_t two = UINT64_C(0xA987600000000000) & ~(UINT64_C(1) << bits[k][1]);
        const uint64_t key[] = {one, one | UINT64_C(1) << bits[k][0], two,
                                two | UINT64_C(1) << bits[k][1]};
        assert_int_equal(
            check_cut(ctx, &(kb_dictionary){1, 4, start, bucket_start, bucket, key, NULL, NULL}),
            twins[k]);
    }
    kb_context_free(ctx);
}

static int build(kb_context *ctx, void *arg) {
    const world *from = arg;
    kb_status status;
    kb_binmat *z = NULL;
    kb_dictionary d = {0};
    uint32_t *order = NULL;
    kb_binning binning = world_binning(from);
    TRY(kb_binmat_build(ctx, &binning, from->data, from->R, NULL, &z));
    TRY(kb_dictionary_build(ctx, z, &d, &order));
done:
    kb_dictionary_release(kb_allocator_of(ctx), &d);
    kb_release(ctx, order);
    kb_binmat_free(z);
    return (int)status;
}

static int select_some(kb_context *ctx, void *arg) {
    const kb_dictionary *d = arg;
    kb_dictionary less;
    unsigned char stays[1000];
    size_t grid[5], grids = choose(d, EVERY_THIRD, stays, grid);
    kb_status status = kb_dictionary_select(ctx, d, grids, grid, stays, &less);
    if (status != KB_OK)
        assert_null(less.key);
    kb_dictionary_release(kb_allocator_of(ctx), &less);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    world w = world_build(ctx, 50, 2, 5, 0.5);
    kb_dictionary d;
    uint32_t *order;
    (void)unused;
    run_with_allocation_failures(build, &w);
    assert_ok(ctx, kb_dictionary_build(ctx, w.z, &d, &order));
    assert_true(d.bins <= 1000);
    run_with_allocation_failures(select_some, &d);
    kb_release(ctx, order);
    kb_dictionary_release(kb_allocator_of(ctx), &d);
    world_free(&w);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bin_is_found_at_its_place),
        cmocka_unit_test(crowded_keys_are_found_too),
        cmocka_unit_test(a_search_looks_at_few_keys),
        cmocka_unit_test(selected_bins_are_found_and_no_others),
        cmocka_unit_test(crowded_keys_can_be_selected_too),
        cmocka_unit_test(each_kind_of_damage_is_seen),
        cmocka_unit_test(buckets_come_in_powers_of_two),
        cmocka_unit_test(a_compact_dictionary_finds_every_bin),
        cmocka_unit_test(tails_lie_where_they_keep_bins_apart),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
