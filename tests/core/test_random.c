/* Counter-based random numbers. */
#include "support.h"

#include "core/random.h"

#include <math.h>

/* Random123's published known answers (its tests/kat_vectors). */
static void philox_gives_the_published_answers(void **unused) {
    kb_random4 zero = kb_random(0, (kb_stream)0, 0, 0);
    kb_random4 ones = kb_random(UINT64_MAX, (kb_stream)UINT32_MAX, UINT64_MAX, UINT32_MAX);
    (void)unused;
    const uint32_t for_zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const uint32_t for_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    assert_memory_equal(zero.word, for_zero, sizeof for_zero);
    assert_memory_equal(ones.word, for_ones, sizeof for_ones);
}

static void a_draw_depends_on_every_part_of_its_place(void **unused) {
    kb_random4 base = kb_random(1, KB_STREAM_SYNTHETIC, 2, 3);
    (void)unused;
    kb_random4 other[] = {kb_random(2, KB_STREAM_SYNTHETIC, 2, 3),
                          kb_random(1, KB_STREAM_HASH, 2, 3),
                          kb_random(1, KB_STREAM_SYNTHETIC, 3, 3),
                          kb_random(1, KB_STREAM_SYNTHETIC, 2, 4),
                          kb_random(1 + (1ull << 40), KB_STREAM_SYNTHETIC, 2, 3),
                          kb_random(1, KB_STREAM_SYNTHETIC, 2 + (1ull << 40), 3)};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_memory_not_equal(base.word, other[i].word, sizeof base.word);
}

/* 16 x 16 cells, 256,000 pairs: chi-square with 255 degrees of freedom has mean 255 and
 * deviation 22.6; six deviations are not chance. */
static void pairs_are_uniform_on_the_unit_square(void **unused) {
    enum { N = 256000, CELLS = 256 };
    static int count[CELLS];
    double chi2 = 0;
    (void)unused;
    for (uint64_t i = 0; i < N; i++) {
        kb_uniform2 p = kb_random_uniform(42, KB_STREAM_SYNTHETIC, i, 7);
        assert_true(p.u > 0 && p.u < 1 && p.v > 0 && p.v < 1);
        count[16 * (int)(16 * p.u) + (int)(16 * p.v)]++;
    }
    for (int c = 0; c < CELLS; c++)
        chi2 += (count[c] - N / CELLS) * (double)(count[c] - N / CELLS) / (N / CELLS);
    assert_true(fabs(chi2 - 255) < 6 * 22.6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_answers),
        cmocka_unit_test(a_draw_depends_on_every_part_of_its_place),
        cmocka_unit_test(pairs_are_uniform_on_the_unit_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
