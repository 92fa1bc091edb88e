/* Sums over bins in whole numbers: every level of CPU against plain loops, number by number. */
#include "features/world.h"

#include "simd/idgroup.h"

enum { MOST = 8, ROWS = 203 };

static const size_t COLUMNS[] = {1, 2, 4, KB_PANEL};
/* The whole range; a part whose ends are no multiples of anything; one row; none. */
static const size_t RANGES[][2] = {{0, ROWS}, {3, 102}, {ROWS - 1, ROWS}, {7, 7}};
enum { RANGE_COUNT = 4 };

/* Four grids, with bin numbers up to the largest that the bits can hold. */
typedef struct four_grids {
    kb_id_group group;
    size_t bins[KB_GROUP];
} four_grids;

static four_grids grids_create(int bits) {
    const size_t most = bits <= 16 ? (size_t)1 << bits : 200000; /* 16 and 17 are set in many */
    four_grids g = {.group.bits = bits, .bins = {most, 1, 3, most - 1}};
    size_t bytes = kb_id_group_bytes(&g.group, ROWS);
    g.group.ids = malloc(bytes); /* of this size: a read past the end shows */
    uint32_t four[KB_GROUP];
    assert_non_null(g.group.ids);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < KB_GROUP; k++) {
            double u = test_uniform(17, i * KB_GROUP + k);
            size_t id = i % 5 == 0 ? g.bins[k] - 1 : (size_t)(u * (double)g.bins[k]);
            four[k] = (uint32_t)id;
            if (k + 1 == KB_GROUP)
                kb_id_put(g.group.ids, bits, i, four);
        }
    return g;
}

/* A whole number in -2^bits .. 2^bits, now and then an end of that range. */
static int64_t whole(uint64_t seed, size_t k, int bits) {
    double u = test_uniform(seed, k), end = ldexp(1, bits) - 1;
    return (int64_t)(u < 0.02 ? -end : u > 0.98 ? end : rint((2 * u - 1) * end));
}

static int32_t *ints_of(uint64_t seed, size_t count, int bits) {
    int32_t *x = malloc((count + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t k = 0; k < count; k++)
        x[k] = (int32_t)whole(seed, k, bits);
    return x;
}

static int64_t *longs_of(uint64_t seed, size_t count, int bits) {
    int64_t *x = malloc((count + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t k = 0; k < count; k++)
        x[k] = whole(seed, k, bits);
    return x;
}

/* ---- sums -------------------------------------------------------------- */

typedef struct sums {
    int64_t *of[KB_GROUP];
} sums;

/* They are added to, not set. */
static sums sums_create(const four_grids *g, size_t columns) {
    sums s;
    for (size_t k = 0; k < KB_GROUP; k++) {
        s.of[k] = malloc(g->bins[k] * columns * sizeof(int64_t));
        assert_non_null(s.of[k]);
        for (size_t e = 0; e < g->bins[k] * columns; e++)
            s.of[k][e] = (int64_t)(e * 12345) - 678;
    }
    return s;
}

static void sums_free(sums *s) {
    for (size_t k = 0; k < KB_GROUP; k++)
        free(s->of[k]);
}

/* By the definition; one of `v` and `longs` is given. */
static void plain_scatter(const four_grids *g, size_t lane, const size_t *range, size_t columns,
                          const int32_t *v, const int64_t *longs, sums *s) {
    for (size_t i = range[0]; i < range[1]; i++)
        for (size_t k = 0; k < KB_GROUP; k++)
            for (size_t c = 0; (lane == KB_GROUP || lane == k) && c < columns; c++)
                s->of[k][kb_id_at(&g->group, i, k) * columns + c] +=
                    v ? v[i * columns + c] : longs[i * columns + c];
}

static void check_scatter(const kb_simd *simd, const four_grids *g, size_t lane,
                          const size_t *range, size_t columns) {
    int32_t *v = ints_of(3, ROWS * columns, 31);
    int64_t *longs = longs_of(4, ROWS * columns, 50);
    for (int wide = 0; wide < 2; wide++) {
        sums got = sums_create(g, columns), want = sums_create(g, columns);
        plain_scatter(g, lane, range, columns, wide ? NULL : v, longs, &want);
        if (wide)
            simd->whole_sums->scatter_sums(&g->group, lane, range[0], range[1], columns, longs,
                                           got.of);
        else
            simd->whole_sums->scatter(&g->group, lane, range[0], range[1], columns, v, got.of);
        for (size_t k = 0; k < KB_GROUP; k++)
            assert_same_bits(got.of[k], want.of[k], g->bins[k] * columns);
        sums_free(&got);
        sums_free(&want);
    }
    free(v), free(longs);
}

/* ---- the way back ------------------------------------------------------ */

static void plain_gather(const four_grids *g, size_t lane, const size_t *range, size_t columns,
                         int32_t *const *step, int first, int32_t *out) {
    for (size_t i = range[0]; i < range[1]; i++)
        for (size_t c = 0; c < columns; c++) {
            int32_t sum = first ? 0 : out[i * columns + c];
            for (size_t k = 0; k < KB_GROUP; k++)
                if (lane == KB_GROUP || lane == k)
                    sum += step[k][kb_id_at(&g->group, i, k) * columns + c];
            out[i * columns + c] = sum;
        }
}

static void check_gather(const kb_simd *simd, const four_grids *g, size_t lane, const size_t *range,
                         size_t columns) {
    int32_t *step[KB_GROUP];
    for (size_t k = 0; k < KB_GROUP; k++) {
        step[k] = malloc(g->bins[k] * columns * sizeof **step);
        assert_non_null(step[k]);
        for (size_t e = 0; e < g->bins[k] * columns; e++)
            step[k][e] = (int32_t)((e + k) * 2654435761u % (1u << 28)) - (1 << 27);
    }
    for (int first = 0; first < 2; first++) {
        int32_t *got = ints_of(9, ROWS * columns, 28), *want = ints_of(9, ROWS * columns, 28);
        plain_gather(g, lane, range, columns, step, first, want);
        simd->whole_sums->gather(&g->group, lane, range[0], range[1], columns,
                                 (const int32_t *const *)step, first, got);
        assert_same_bits(got, want, ROWS * columns);
        free(got), free(want);
    }
    for (size_t k = 0; k < KB_GROUP; k++)
        free(step[k]);
}

/* ---- all of them ------------------------------------------------------- */

typedef void check(const kb_simd *simd, const four_grids *g, size_t lane, const size_t *range,
                   size_t columns);

static void at_all_levels(check *run) {
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    static const int bits[] = {8, 16, 18, 24, 32};
    for (size_t b = 0; b < sizeof bits / sizeof *bits; b++) {
        four_grids g = grids_create(bits[b]);
        for (size_t l = 0; l < levels; l++)
            for (size_t lane = 0; lane <= KB_GROUP; lane++)
                for (size_t p = 0; p<4; p += b> 1 ? 3 : 1) /* large sums take their time */
                    for (size_t r = 0; r < (b > 1 ? 1 : b > 0 ? 2 : RANGE_COUNT); r++)
                        run(level[l], &g, lane, RANGES[r], COLUMNS[p]);
        free(g.group.ids);
    }
}

static void sums_agree_with_a_plain_loop(void **unused) {
    (void)unused;
    at_all_levels(check_scatter);
}

static void the_way_back_agrees_with_a_plain_loop(void **unused) {
    (void)unused;
    at_all_levels(check_gather);
}

/* ---- squares and steps ------------------------------------------------- */

static unsigned __int128 exact(kb_wide_sum s) {
    return ((unsigned __int128)s.high << 32) + s.low;
}

/* Exact for the largest numbers too, and added to what is there. */
static void squares_are_exact(void **unused) {
    static const int bits[] = {1, 20, 31};
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    (void)unused;
    for (size_t l = 0; l < levels; l++)
        for (size_t k = 0; k < 4 * 3; k++)
            for (size_t rows = 0; rows < 40; rows++) {
                size_t columns = COLUMNS[k / 3], n = rows * columns;
                int32_t *x = ints_of(rows, n, bits[k % 3]);
                unsigned __int128 want[KB_PANEL];
                kb_wide_sum sum[KB_PANEL];
                if (n > 0)
                    x[n / 2] = INT32_MIN;
                for (size_t c = 0; c < columns; c++) {
                    sum[c] = (kb_wide_sum){5 + c, 7};
                    want[c] = exact(sum[c]);
                }
                for (size_t e = 0; e < n; e++)
                    want[e % columns] += (unsigned __int128)((int64_t)x[e] * x[e]);
                level[l]->whole_sums->squares(n, columns, x, sum);
                for (size_t c = 0; c < columns; c++) {
                    assert_true(exact(sum[c]) == want[c]);
                    assert_true(kb_wide_value(sum[c]) == (double)want[c] ||
                                fabs(kb_wide_value(sum[c]) / (double)want[c] - 1) < 1e-15);
                }
                free(x);
            }
}

/* Halves go to the even neighbour, as rint() has it. */
static void check_advance(const kb_simd *simd, size_t n, size_t columns, const double *t,
                          const int32_t *h, const int32_t *from) {
    int32_t *got = malloc((n + 1) * sizeof *got);
    uint32_t bits = 0;
    assert_non_null(got);
    memcpy(got, from, n * sizeof *got);
    uint32_t had = simd->whole_sums->advance(n, columns, t, h, got);
    for (size_t e = 0; e < n; e++) {
        int32_t want = from[e] - (int32_t)rint(h[e] * t[e % columns]);
        if (got[e] != want)
            fail_msg("%s: %d - %.17g * %d is %d", simd->name, from[e], t[e % columns], h[e],
                     got[e]);
        bits |= (uint32_t)(want < 0 ? -(want + 1) : want);
    }
    assert_int_equal(had, bits);
    free(got);
}

static void steps_are_rounded_to_the_nearest(void **unused) {
    static const double factor[] = {0, 0.5, -0.5, 1, 0.2, 1e-9, 1.9999, -1.3, 1 / 3.0};
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    (void)unused;
    for (size_t l = 0; l < levels; l++)
        for (size_t p = 0; p < 4; p++)
            for (size_t rows = 0; rows < 40; rows++) {
                size_t columns = COLUMNS[p], n = rows * columns;
                int32_t *h = ints_of(rows + 100, n, rows % 2 ? 29 : 4);
                int32_t *r = ints_of(rows, n, rows % 3 ? 29 : 3);
                double t[KB_PANEL];
                for (size_t c = 0; c < columns; c++)
                    t[c] = factor[(c + rows) % (sizeof factor / sizeof *factor)];
                check_advance(level[l], n, columns, t, h, r);
                free(h), free(r);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_agree_with_a_plain_loop),
        cmocka_unit_test(the_way_back_agrees_with_a_plain_loop),
        cmocka_unit_test(squares_are_exact),
        cmocka_unit_test(steps_are_rounded_to_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
