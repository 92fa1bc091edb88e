/* The bins of one row: every level of CPU against keys by the loops for many rows, and a search of
 * all lines. */
#include "features/world.h"

#include "features/binkeys.h"
#include "simd/simd.h"

enum { MOST = 8, LINES = 7, MORE = 2 };

/* Lines for `lanes` grids with the keys of a row in some of them: in the first place, in the last
 * one, in a line that goes on, or nowhere, by the number of the grid. */
static kb_key_line *lines_for(size_t lanes, const uint64_t *keys) {
    size_t each = LINES + MORE, bytes = (lanes * each + 1) * sizeof(kb_key_line);
    kb_key_line *line = aligned_alloc(64, bytes);
    assert_non_null(line);
    memset(line, 0, bytes);
    for (size_t r = 0; r < lanes; r++) {
        size_t first = r * each + 1; /* line 0 goes on nowhere */
        kb_key_line *at = &line[first + kb_line_of(keys[r], LINES)];
        for (size_t k = 0; k < each; k++)
            for (size_t i = 0; i < KB_LINE_KEYS; i++)
                line[first + k].key[i] = ~keys[r] ^ (k * 8 + i);
        at->more = (uint32_t)(first + LINES);
        line[first + LINES].more = (uint32_t)(first + LINES + 1);
        if (r % 4 == 3)
            continue;
        at = r % 4 == 2 ? &line[first + LINES + 1] : at;
        at->key[r % 4 ? KB_LINE_KEYS - 1 : 0] = keys[r];
        float w = (float)(r + 1) / 3;
        memcpy(&at->value[r % 4 ? KB_LINE_KEYS - 1 : 0], &w, sizeof w);
    }
    return line;
}

static void check_row(const kb_simd *simd, const world *w, const double *x) {
    kb_binning binning = {w->grids, w->shift, w->scale, simd};
    kb_data row = {.rows = 1, .features = w->d, .dense = (double *)x};
    size_t blocks = kb_grids_blocks(w->grids), lanes = blocks * KB_LANES, known = 0;
    uint64_t want[64], keys[64], first[64], count[64];
    uint32_t value[64];
    double sum = 0, total;
    assert_true(lanes <= 64);
    for (size_t b = 0; b < blocks; b++)
        kb_bin_keys_compute(&binning, &row, b, 0, 1, NULL, 1, want + b * KB_LANES);
    kb_key_line *line = lines_for(lanes, want);
    for (size_t r = 0; r < lanes; r++) {
        first[r] = r * (LINES + MORE) + 1;
        count[r] = LINES;
    }
    kb_one_row all = {.blocks = blocks,
                      .features = w->d,
                      .parameter = w->grids->parameter,
                      .factor = w->grids->factor,
                      .line = line,
                      .first = first,
                      .count = count};
    for (int given = 0; given < 2; given++) {
        memcpy(keys, want, sizeof keys);
        if (!given)
            memset(keys, 0, sizeof keys);
        size_t found = simd->one_row->find(&all, given ? NULL : x, keys, value);
        assert_memory_equal(keys, want, lanes * sizeof *keys);
        sum = 0, known = 0;
        for (size_t r = 0; r < lanes; r++) {
            float v = (float)(r + 1) / 3;
            if (r % 4 == 3) {
                assert_int_equal(value[r], UINT32_MAX);
                continue;
            }
            assert_memory_equal(&value[r], &v, sizeof v);
            known++;
            sum += v;
        }
        assert_int_equal(found, known);
        assert_int_equal(simd->one_row->sum(&all, given ? NULL : x, keys, &total), known);
        assert_true(total == sum);
    }
    free(line);
}

static void every_level_finds_the_bins_of_a_row(void **unused) {
    static const size_t grids[] = {1, 8, 9, 40, 64};
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (size_t d = 1; d < 6; d += 2) {
            world w = world_build(ctx, 30, d, grids[g], 0.3); /* scaled by 1, moved by 0 */
            for (size_t k = 0; k < levels; k++)
                for (size_t i = 0; i < w.N; i++)
                    check_row(level[k], &w, w.x + i * d);
            world_free(&w);
        }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_finds_the_bins_of_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
