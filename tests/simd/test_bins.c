/* The loops over bins: every level of CPU against a plain loop that calls floor(). */
#include "features/world.h"

#include <float.h>

enum { MOST = 8 };

/* ---- keys -------------------------------------------------------------- */

typedef struct cut {
    kb_law *law;
    kb_grids *grids;
    double *shift, *scale;
} cut;

static cut cut_create(kb_context *ctx, const char *kernel, double sigma, size_t R, size_t d,
                      int scaled) {
    cut c = {.shift = malloc(d * sizeof(double)), .scale = malloc(d * sizeof(double))};
    assert_non_null(c.shift);
    assert_non_null(c.scale);
    assert_ok(ctx, kb_law_parse(ctx, kernel, &c.law));
    c.grids = test_grids(ctx, c.law, sigma, R, d, 31);
    for (size_t j = 0; j < d; j++) {
        c.shift[j] = scaled ? 0.25 * (double)j - 0.3 : 0;
        c.scale[j] = scaled ? 1.7 / (1 + (double)j) : 1;
    }
    return c;
}

static void cut_free(cut *c) {
    kb_grids_free(c->grids);
    kb_law_free(c->law);
    free(c->shift);
    free(c->scale);
}

static kb_bin_block block_of(const cut *c, size_t block) {
    const kb_grids *g = c->grids;
    return (kb_bin_block){
        g->features, c->shift, c->scale, kb_grids_block(g, block), kb_grids_bound(g, block),
        g->factor};
}

/* What one value adds to the hash of grid r, by the definition in grids.h. */
static uint64_t oracle_value(const cut *c, size_t r, size_t j, double x) {
    const double *at = kb_grids_at(c->grids, r, j);
    double most = kb_grids_bound(c->grids, r / KB_LANES)[j];
    double y = fmax(fmin((x - c->shift[j]) * c->scale[j], most), -most);
    double bin = floor(y * at[0] + at[KB_LANES]);
    assert_true(bin >= INT32_MIN && bin <= INT32_MAX);
    return (uint64_t)(int64_t)bin * c->grids->factor[j];
}

static uint64_t oracle_key(const cut *c, size_t r, const double *row) {
    uint64_t sum = 0;
    for (size_t j = 0; j < c->grids->features; j++)
        sum += oracle_value(c, r, j, row[j]);
    return kb_key_mix(sum);
}

/* The keys of N rows in all grids of a block, by every level, dense and sparse. */
static void check_keys(kb_context *ctx, const cut *c, size_t N, const double *x) {
    size_t d = c->grids->features, stride = N + 3;
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    uint64_t *keys = malloc(KB_LANES * stride * sizeof *keys);
    uint64_t *zero = malloc((d + 1) * KB_LANES * sizeof *zero);
    kb_data *data = test_sparse(ctx, N, d, x, NULL);
    for (size_t block = 0; block < kb_grids_blocks(c->grids); block++)
        for (size_t k = 0; k < 2 * levels; k++) {
            const kb_simd *simd = level[k / 2];
            kb_bin_block b = block_of(c, block);
            memset(keys, 0xA5, KB_LANES * stride * sizeof *keys);
            if (k % 2 == 0) {
                simd->bins->keys_dense(&b, N, x, stride, keys);
            } else {
                simd->bins->keys_zero(&b, zero, zero + d * KB_LANES);
                simd->bins->keys_sparse(&b, N, data->row_start, data->column, data->value, zero,
                                        zero + d * KB_LANES, stride, keys);
            }
            for (size_t lane = 0; lane < KB_LANES; lane++) {
                size_t r = block * KB_LANES + lane;
                for (size_t i = 0; i < N; i++) {
                    uint64_t want = r < c->grids->grids ? oracle_key(c, r, x + i * d) : 0;
                    if (keys[lane * stride + i] != want)
                        fail_msg("%s, %s: row %zu, grid %zu", simd->name,
                                 k % 2 ? "sparse" : "dense", i, r);
                }
                for (size_t i = N; i < stride; i++) /* nothing is written beyond the rows */
                    assert_true(keys[lane * stride + i] == UINT64_C(0xA5A5A5A5A5A5A5A5));
            }
        }
    kb_data_free(data);
    free(keys);
    free(zero);
}

static void keys_agree_with_floor(void **unused) {
    kb_context *ctx = test_context();
    static const size_t features[] = {1, 2, 3, 8, 17};
    (void)unused;
    for (size_t k = 0; k < sizeof features / sizeof *features; k++)
        for (int scaled = 0; scaled < 2; scaled++) {
            size_t d = features[k], N = 101;
            cut c = cut_create(ctx, "laplace", 0.1, 11, d, scaled);
            double *x = test_values(N, d, 3);
            check_keys(ctx, &c, N, x);
            free(x);
            cut_free(&c);
        }
    kb_context_free(ctx);
}

static void values_far_out_have_a_bin(void **unused) {
    static const double value[] = {0.0,      -0.0,      1e30,     -1e30,        1e300,
                                   -1e300,   DBL_MAX,   -DBL_MAX, DBL_MIN,      -DBL_MIN,
                                   4.9e-324, -4.9e-324, 1e-310,   2147483648.0, -2147483649.0,
                                   1,        -1,        0x1p53,   1e9};
    enum { N = sizeof value / sizeof *value };
    static const char *const kernels[] = {"laplace", "triangle", "power:0.01"};
    static const double sigmas[] = {1e-200, 1e-9, 1, 1e200};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (size_t s = 0; s < sizeof sigmas / sizeof *sigmas; s++)
            for (int scaled = 0; scaled < 2; scaled++) {
                cut c = cut_create(ctx, kernels[k], sigmas[s], 9, 2, scaled);
                double x[2 * N];
                for (size_t i = 0; i < N; i++) {
                    x[2 * i] = value[i];
                    x[2 * i + 1] = value[(i * 5 + 1) % N];
                }
                check_keys(ctx, &c, N, x);
                cut_free(&c);
            }
    kb_context_free(ctx);
}

/* (x - shift) * scale may overflow for data other than the training data: that is the outermost
 * bin too, without undefined behaviour. */
static void scaled_values_that_overflow_have_a_bin(void **unused) {
    kb_context *ctx = test_context();
    cut c = cut_create(ctx, "laplace", 1, 8, 2, 0);
    const double far[] = {DBL_MAX, -DBL_MAX}, near[] = {1e300, -1e300};
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    (void)unused;
    c.shift[0] = -DBL_MAX, c.scale[0] = 1e10;
    c.shift[1] = DBL_MAX, c.scale[1] = 1e10;
    kb_bin_block b = block_of(&c, 0);
    for (size_t k = 0; k < levels; k++) {
        uint64_t a[KB_LANES], e[KB_LANES];
        level[k]->bins->keys_dense(&b, 1, far, 1, a);
        level[k]->bins->keys_dense(&b, 1, near, 1, e);
        assert_same_bits(a, e, KB_LANES);
    }
    cut_free(&c);
    kb_context_free(ctx);
}

/* Widths of 1/4 with known offsets: borders lie where the arithmetic is exact, and a value
 * on a border belongs to the bin above it. */
static void a_value_on_a_border_belongs_to_the_bin_above(void **unused) {
    kb_context *ctx = test_context();
    cut c = cut_create(ctx, "triangle", 0.25, 8, 1, 0);
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    (void)unused;
    for (size_t r = 0; r < 8; r++)
        kb_grids_at(c.grids, r, 0)[KB_LANES] = (double)r / 8;
    for (int step = -40; step <= 40; step++) {
        double on = step / 32.0, x[3] = {on - 0x1p-40, on, on + 0x1p-40};
        check_keys(ctx, &c, 3, x);
        for (size_t k = 0; k < levels; k++) {
            kb_bin_block b = block_of(&c, 0);
            uint64_t keys[KB_LANES * 3];
            level[k]->bins->keys_dense(&b, 3, x, 3, keys);
            for (int r = 0; r < 8; r++) {
                int border = (step + r) % 8 == 0; /* 4 step/32 + r/8 is a whole number */
                assert_int_equal(keys[r * 3] != keys[r * 3 + 1], border);
                assert_true(keys[r * 3 + 1] == keys[r * 3 + 2]);
                int64_t bin = (int64_t)floor((step + r) / 8.0);
                assert_true(keys[r * 3 + 1] == kb_key_mix((uint64_t)bin * c.grids->factor[0]));
            }
        }
    }
    cut_free(&c);
    kb_context_free(ctx);
}

static void both_zeros_share_a_bin(void **unused) {
    kb_context *ctx = test_context();
    cut c = cut_create(ctx, "laplace", 0.5, 8, 1, 0);
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    const double x[2] = {0.0, -0.0};
    (void)unused;
    for (size_t k = 0; k < levels; k++) {
        kb_bin_block b = block_of(&c, 0);
        uint64_t keys[KB_LANES * 2];
        level[k]->bins->keys_dense(&b, 2, x, 2, keys);
        for (int lane = 0; lane < KB_LANES; lane++)
            assert_true(keys[2 * lane] == keys[2 * lane + 1]);
    }
    cut_free(&c);
    kb_context_free(ctx);
}

static void mixing_a_key_loses_nothing(void **unused) {
    (void)unused;
    uint64_t inverse = 1; /* of the odd factor, by Newton's iteration */
    for (int i = 0; i < 6; i++)
        inverse *= 2 - KB_KEY_FACTOR * inverse;
    for (uint64_t i = 0; i < 1000; i++) {
        kb_random4 draw = kb_random(1, KB_STREAM_SYNTHETIC, i, 0);
        uint64_t sum = (uint64_t)draw.word[0] << 32 | draw.word[1], mixed = kb_key_mix(sum);
        uint64_t folded = mixed * inverse;
        assert_true((folded ^ folded >> 32) == sum);
    }
}

/* ---- sums -------------------------------------------------------------- */

typedef struct grids4 {
    size_t rows, bins[KB_GROUP];
    uint32_t *id; /* rows x KB_GROUP */
    kb_id_group group;
} grids4;

static const int BITS_OF_NUMBERS[] = {8, 16, 18, 24, 32};

/* Bin numbers up to the largest that the bits can hold, or some more than 18 bits can. */
static grids4 grids4_create(size_t rows, int bits_of_id) {
    grids4 g = {.rows = rows, .group.bits = bits_of_id};
    const size_t most = (size_t)1 << (bits_of_id < 24 ? bits_of_id : 19);
    const size_t few[KB_GROUP] = {most, 1, 3, most / 2};
    const size_t many[KB_GROUP] = {most, most - 1, most - 2, most - 3};
    const size_t *bins =
        bits_of_id % 16 ? many : few; /* each lane of it is cut out in its own way */
    g.id = malloc(rows * KB_GROUP * sizeof *g.id);
    g.group.ids = malloc(kb_id_group_bytes(&g.group, rows));
    assert_non_null(g.id);
    assert_non_null(g.group.ids);
    for (size_t k = 0; k < rows * KB_GROUP; k++) {
        size_t lane = k % KB_GROUP;
        g.bins[lane] = bins[lane];
        g.id[k] = k < KB_GROUP ? (uint32_t)bins[lane] - 1
                               : (uint32_t)(test_uniform(3, k) * (double)bins[lane]);
        if (lane + 1 == KB_GROUP)
            kb_id_put(g.group.ids, bits_of_id, k / KB_GROUP, &g.id[k + 1 - KB_GROUP]);
    }
    return g;
}

static void grids4_free(grids4 *g) {
    free(g->id);
    free(g->group.ids);
}

/* Sums begin at a cache line, as products.c has them. */
static double *sums_create(const grids4 *g, size_t columns, uint64_t seed, double **sums) {
    size_t count = 0, bytes;
    for (size_t lane = 0; lane < KB_GROUP; lane++)
        count += g->bins[lane] * columns;
    bytes = (count * sizeof(double) + 63) / 64 * 64;
    double *all = aligned_alloc(64, bytes);
    assert_non_null(all);
    for (size_t k = 0; k < count; k++)
        all[k] = seed ? test_uniform(seed, k) : 0;
    sums[0] = all;
    for (size_t lane = 1; lane < KB_GROUP; lane++)
        sums[lane] = sums[lane - 1] + g->bins[lane - 1] * columns;
    return all;
}

static size_t sums_count(const grids4 *g, size_t columns) {
    return (g->bins[0] + g->bins[1] + g->bins[2] + g->bins[3]) * columns;
}

static void scatter_is_a_plain_loop(const grids4 *g, const kb_simd *simd, size_t columns,
                                    size_t ld) {
    double *sums[KB_GROUP], *want[KB_GROUP];
    double *all = sums_create(g, columns, 4, sums), *plain = sums_create(g, columns, 4, want);
    double *v = test_numbers(8, g->rows * ld);
    /* In two pieces, the second up to a row before the last. */
    size_t middle = g->rows / 3, end = g->rows - 1;
    simd->bins->scatter(&g->group, 0, middle, columns, v, ld, sums);
    simd->bins->scatter(&g->group, middle, end, columns, v, ld, sums);
    for (size_t i = 0; i < end; i++)
        for (size_t lane = 0; lane < KB_GROUP; lane++)
            for (size_t c = 0; c < columns; c++)
                want[lane][g->id[i * KB_GROUP + lane] * columns + c] += v[i * ld + c];
    assert_same_bits(all, plain, sums_count(g, columns));
    free(all);
    free(plain);
    free(v);
}

static void gather_is_a_plain_loop(const grids4 *g, const kb_simd *simd, size_t columns,
                                   size_t ld) {
    double *s[KB_GROUP];
    double *all = sums_create(g, columns, 4, s);
    double *out = test_numbers(8, g->rows * ld), *want = test_numbers(8, g->rows * ld);
    size_t middle = g->rows / 3, end = g->rows - 1;
    simd->bins->gather(&g->group, 0, middle, columns, (const double *const *)s, 1, out, ld);
    simd->bins->gather(&g->group, middle, end, columns, (const double *const *)s, 0, out, ld);
    for (size_t i = 0; i < end; i++)
        for (size_t c = 0; c < columns; c++) {
            const uint32_t *id = g->id + i * KB_GROUP;
            double sum = (s[0][id[0] * columns + c] + s[1][id[1] * columns + c]) +
                         (s[2][id[2] * columns + c] + s[3][id[3] * columns + c]);
            want[i * ld + c] = i < middle ? sum : want[i * ld + c] + sum;
        }
    assert_same_bits(out, want, g->rows * ld); /* other columns and the last row untouched */
    free(all);
    free(out);
    free(want);
}

static void sums_are_plain_loops_to_the_bit(void **unused) {
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    (void)unused;
    for (size_t b = 0; b < sizeof BITS_OF_NUMBERS / sizeof *BITS_OF_NUMBERS; b++) {
        grids4 g = grids4_create(1003, BITS_OF_NUMBERS[b]);
        for (size_t columns = 1; columns <= KB_PANEL; columns *= 2)
            for (size_t more = 0; more < 4; more += 3)
                for (size_t k = 0; k < levels; k++) {
                    scatter_is_a_plain_loop(&g, level[k], columns, columns + more);
                    gather_is_a_plain_loop(&g, level[k], columns, columns + more);
                }
        grids4_free(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_agree_with_floor),
        cmocka_unit_test(values_far_out_have_a_bin),
        cmocka_unit_test(scaled_values_that_overflow_have_a_bin),
        cmocka_unit_test(a_value_on_a_border_belongs_to_the_bin_above),
        cmocka_unit_test(both_zeros_share_a_bin),
        cmocka_unit_test(mixing_a_key_loses_nothing),
        cmocka_unit_test(sums_are_plain_loops_to_the_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
