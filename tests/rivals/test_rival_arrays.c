/* Rivals as arrays and back: whole ones to the bit, and nothing that does not fit together. */
#include "rivals/maps.h"

enum { N = 60, FEATURES = 3 };

static const rivalry RIVALS[] = {
    {NULL, KB_RIVAL_FOURIER, "laplace", 21, 0, 0},
    {NULL, KB_RIVAL_NYSTROM, "power:1.5", 12, KB_LANDMARKS_UNIFORM, 0},
    {NULL, KB_RIVAL_BLOCKS, "gauss", 15, 0, 0},
    {NULL, KB_RIVAL_EXACT, "triangle", 0, 0, 0},
};
enum { RIVAL_COUNT = sizeof RIVALS / sizeof *RIVALS };

/* A rival and the arrays that make it up, copied so that they can be damaged. */
typedef struct stored {
    rivalry t;
    kb_rival *rival;
    size_t count;
    kb_array array[KB_RIVAL_ARRAYS];
    void *copy[KB_RIVAL_ARRAYS];
} stored;

static size_t items_of(const kb_array *a) {
    return a->rank == 2 ? a->shape[0] * a->shape[1] : a->shape[0];
}

static size_t bytes_in(const kb_array *a) {
    return items_of(a) * (a->type == KB_ARRAY_I32 ? 4 : 8);
}

static stored stored_rival(kb_context *ctx, const cloud *c, int k, int sparse) {
    stored s = {.t = RIVALS[k]};
    s.t.c = c;
    assert_ok(ctx, rival_of(ctx, &s.t, sparse ? c->sparse : c->dense, &s.rival));
    s.count = kb_rival_arrays(s.rival, s.array);
    assert_true(s.count >= 4 && s.count <= KB_RIVAL_ARRAYS);
    for (size_t a = 0; a < s.count; a++) {
        s.copy[a] = malloc(bytes_in(&s.array[a]) + 1);
        assert_non_null(s.copy[a]);
        memcpy(s.copy[a], s.array[a].bytes, bytes_in(&s.array[a]));
        s.array[a].bytes = s.copy[a];
    }
    return s;
}

static void stored_free(stored *s) {
    for (size_t a = 0; a < s->count; a++)
        free(s->copy[a]);
    kb_rival_free(s->rival);
}

static kb_status restore(kb_context *ctx, const stored *s, kb_rival **out) {
    return kb_rival_restore(ctx, s->t.kind, s->t.kernel, FEATURES, s->count, s->array, out);
}

/* The place of an array that must be there. */
static size_t place_of(const stored *s, const char *name) {
    size_t a = 0;
    while (a < s->count && strcmp(s->array[a].name, name) != 0)
        a++;
    assert_true(a < s->count);
    return a;
}

/* Refused, with the name of an array that is to blame. */
static void refused(kb_context *ctx, const stored *s, const char *name) {
    kb_rival *out = s->rival;
    char says[128];
    snprintf(says, sizeof says, "the array %s of the model is missing or does not fit", name);
    assert_fails(ctx, KB_ERR_MODEL, says, restore(ctx, s, &out));
    assert_null(out);
}

/* ---- whole ones -------------------------------------------------------- */

static void arrays_come_back_to_the_bit(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, FEATURES, 5);
    (void)unused;
    for (int k = 0; k < RIVAL_COUNT; k++)
        for (int sparse = 0; sparse < 2; sparse++) {
            stored s = stored_rival(ctx, &c, k, sparse);
            kb_rival *back;
            kb_array again[KB_RIVAL_ARRAYS];
            assert_ok(ctx, restore(ctx, &s, &back));
            assert_int_equal(kb_rival_arrays(back, again), s.count);
            for (size_t a = 0; a < s.count; a++) {
                assert_string_equal(again[a].name, s.array[a].name);
                assert_int_equal(again[a].type, s.array[a].type);
                assert_int_equal(again[a].rank, s.array[a].rank);
                assert_int_equal(bytes_in(&again[a]), bytes_in(&s.array[a]));
                assert_memory_equal(again[a].bytes, s.copy[a], bytes_in(&s.array[a]));
                memset(s.copy[a], 0xA5, bytes_in(&s.array[a])); /* the rival has its own */
            }
            size_t D = s.rival->columns;
            double *w = test_numbers(2, D), f[N], g[N];
            assert_int_equal(back->columns, D);
            assert_ok(ctx, kb_rival_decide(ctx, s.rival, c.dense, 1, w, f));
            assert_ok(ctx, kb_rival_decide(ctx, back, c.sparse, 1, w, g));
            assert_same_bits(f, g, N);
            kb_rival_free(back);
            free(w);
            stored_free(&s);
        }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* What a later version adds is left alone, and the order does not matter. */
static void other_arrays_are_left_alone(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, FEATURES, 5);
    (void)unused;
    for (int k = 0; k < RIVAL_COUNT; k++) {
        stored s = stored_rival(ctx, &c, k, 0);
        kb_array turned[KB_RIVAL_ARRAYS + 1] = {{"mood", KB_ARRAY_F64, 1, {0, 0}, "good"}};
        kb_rival *back;
        for (size_t a = 0; a < s.count; a++)
            turned[s.count - a] = s.array[a];
        assert_ok(
            ctx, kb_rival_restore(ctx, s.t.kind, s.t.kernel, FEATURES, s.count + 1, turned, &back));
        kb_rival_free(back);
        stored_free(&s);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* ---- damaged ones ------------------------------------------------------ */

static void what_is_missing_or_not_finite_is_refused(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, FEATURES, 5);
    (void)unused;
    for (int k = 0; k < RIVAL_COUNT; k++)
        for (int sparse = 0; sparse < 2; sparse++) {
            stored s = stored_rival(ctx, &c, k, sparse);
            size_t count = s.count;
            for (s.count = 0; s.count < count; s.count++) {
                kb_rival *out;
                assert_int_equal(restore(ctx, &s, &out), KB_ERR_MODEL);
                assert_null(out);
            }
            for (size_t a = 0; a < count; a++) {
                size_t items = items_of(&s.array[a]);
                double *number = s.copy[a];
                if (s.array[a].type != KB_ARRAY_F64 || items == 0)
                    continue;
                for (int bad = 0; bad < 3; bad++) {
                    size_t at = bad == 2 ? 0 : items - 1;
                    double keep = number[at];
                    number[at] = bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY;
                    refused(ctx, &s, s.array[a].name);
                    number[at] = keep;
                }
            }
            stored_free(&s);
        }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* The arrays must agree on how many there are of everything.  (That an array has as many bytes as
 * its shape says is for the reader of the file to see.) */
static void sizes_must_agree(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, FEATURES, 5);
    (void)unused;
    for (int k = 0; k < RIVAL_COUNT; k++)
        for (int sparse = 0; sparse < 2; sparse++) {
            stored s = stored_rival(ctx, &c, k, sparse);
            for (size_t a = 0; a < s.count; a++) {
                kb_array whole = s.array[a];
                const size_t shapes[][2] = {{0, whole.shape[1]},
                                            {whole.shape[0] / 2, whole.shape[1]},
                                            {whole.shape[0], whole.shape[1] / 2},
                                            {items_of(&whole), whole.rank == 2}};
                for (size_t m = 0; m < sizeof shapes / sizeof *shapes; m++) {
                    kb_rival *out;
                    memcpy(s.array[a].shape, shapes[m], sizeof shapes[m]);
                    if (shapes[m][0] != whole.shape[0] ||
                        (whole.rank == 2 && shapes[m][1] != whole.shape[1])) {
                        assert_int_equal(restore(ctx, &s, &out), KB_ERR_MODEL);
                        assert_null(out);
                    }
                }
                s.array[a] = whole;
                s.array[a].rank = 3 - whole.rank;
                refused(ctx, &s, whole.name);
                s.array[a] = whole;
            }
            stored_free(&s);
        }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Numbers that point somewhere must point into the arrays. */
enum { LAST = 1 << 20 };

static void places_outside_are_refused(void **unused) {
    static const struct {
        int rival, sparse;
        const char *name;
        size_t at;
        int64_t value;
    } cases[] = {
        {1, 1, "point.start", 0, 1},
        {1, 1, "point.start", 12, 0},
        {1, 1, "point.start", 3, INT64_MAX},
        {1, 1, "point.start", 3, -1},
        {1, 1, "point.column", LAST, FEATURES},
        {1, 1, "point.column", 0, -1},
        {1, 1, "point.column", 1, 0},
        {3, 1, "point.column", 0, INT32_MAX},
        {2, 0, "block.start", 0, 1},
        {2, 0, "block.start", 1, N + 1},
        {2, 0, "block.start", 1, -1},
        {3, 0, "block.start", 1, N - 1},
        {3, 0, "block.start", 1, N + 1},
        {2, 0, "split.child", 0, 0},
        {2, 0, "split.child", 1, INT32_MAX},
        {2, 0, "split.child", 1, INT32_MIN},
        {2, 0, "split.child", 2, 1},
        {2, 1, "split.child", 2, 0},
        {2, 0, "split.child", 3, ~INT32_MAX},
    };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, FEATURES, 5);
    (void)unused;
    for (size_t i = 0; i < N; i++) /* rows of at least two entries each */
        c.x[i * FEATURES] = c.x[i * FEATURES + 1] = 0.1 + test_uniform(3, i);
    kb_data_free(c.sparse);
    c.sparse = test_sparse(ctx, N, FEATURES, c.x, NULL);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stored s = stored_rival(ctx, &c, cases[k].rival, cases[k].sparse);
        size_t a = place_of(&s, cases[k].name);
        size_t at = cases[k].at == LAST ? items_of(&s.array[a]) - 1 : cases[k].at;
        assert_true(at < items_of(&s.array[a]));
        if (s.array[a].type == KB_ARRAY_I64)
            ((int64_t *)s.copy[a])[at] = cases[k].value;
        else
            ((int32_t *)s.copy[a])[at] = (int32_t)cases[k].value;
        refused(ctx, &s, cases[k].name);
        stored_free(&s);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

static void kernels_and_kinds_must_suit(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, FEATURES, 5);
    kb_rival *out;
    (void)unused;
    for (int k = 1; k < RIVAL_COUNT; k++) {
        stored s = stored_rival(ctx, &c, k, 0);
        static const char *const names[] = {"sinc", "power:-1", "", "table:gone"};
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            s.t.kernel = names[n];
            assert_int_not_equal(restore(ctx, &s, &out), KB_OK);
            assert_null(out);
        }
        stored_free(&s);
    }
    for (int k = 0; k < RIVAL_COUNT; k++)
        for (int other = 0; other < RIVAL_COUNT; other++) {
            stored s = stored_rival(ctx, &c, k, 0);
            s.t.kind = RIVALS[other].kind;
            s.t.kernel = "laplace";
            /* One block is as good as none. */
            int suits = k == other || (k == 3 && other == 2);
            assert_int_equal(restore(ctx, &s, &out), suits ? KB_OK : KB_ERR_MODEL);
            assert_int_equal(out != NULL, suits);
            kb_rival_free(out);
            stored_free(&s);
        }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* Any bit may be wrong: either it is refused, or predictions are wrong but do not crash. */
static void flipped_bits_do_no_harm(void **unused) {
    enum { FLIPS = 400 };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    cloud c = cloud_build(ctx, N, FEATURES, 5);
    int seen = 0, taken = 0;
    (void)unused;
    for (int k = 0; k < RIVAL_COUNT; k++)
        for (int sparse = 0; sparse < 2; sparse++) {
            stored s = stored_rival(ctx, &c, k, sparse);
            double *w = test_numbers(2, N), f[N];
            for (uint64_t flip = 0; flip < FLIPS; flip++) {
                size_t a = (size_t)(test_uniform(1, flip) * (double)s.count);
                size_t bytes = bytes_in(&s.array[a]);
                size_t at = (size_t)(test_uniform(2, flip) * (double)bytes);
                unsigned char *byte = (unsigned char *)s.copy[a] + at;
                unsigned char bit = (unsigned char)(1u << (int)(test_uniform(3, flip) * 8));
                kb_rival *out;
                if (bytes == 0)
                    continue;
                *byte ^= bit;
                kb_status status = restore(ctx, &s, &out);
                if (status == KB_OK) {
                    taken++;
                    assert_ok(ctx, kb_rival_decide(ctx, out, c.dense, 1, w, f));
                } else {
                    seen++;
                    assert_int_equal(status, KB_ERR_MODEL);
                    assert_null(out);
                }
                kb_rival_free(out);
                *byte ^= bit;
            }
            free(w);
            stored_free(&s);
        }
    assert_true(seen > 50 && taken > 50);
    cloud_free(&c);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static int restore_once(kb_context *ctx, void *arg) {
    kb_rival *out;
    kb_status status = restore(ctx, arg, &out);
    assert_int_equal(out == NULL, status != KB_OK);
    kb_rival_free(out);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, FEATURES, 5);
    (void)unused;
    for (int k = 0; k < RIVAL_COUNT; k++)
        for (int sparse = 0; sparse < 2; sparse++) {
            stored s = stored_rival(ctx, &c, k, sparse);
            run_with_allocation_failures(restore_once, &s);
            stored_free(&s);
        }
    cloud_free(&c);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_come_back_to_the_bit),
        cmocka_unit_test(other_arrays_are_left_alone),
        cmocka_unit_test(what_is_missing_or_not_finite_is_refused),
        cmocka_unit_test(sizes_must_agree),
        cmocka_unit_test(places_outside_are_refused),
        cmocka_unit_test(kernels_and_kinds_must_suit),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
