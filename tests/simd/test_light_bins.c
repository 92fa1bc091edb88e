/* Keys of bins for trials: every level of CPU against plain loops, key by key. */
#include "features/world.h"

#include "simd/simd.h"

enum { MOST = 8, ROWS = 2 * KB_LIGHT_ROWS, APART = ROWS + 16, FEATURES = 5 };

static uint32_t key_of(size_t cuts, const kb_light_cut *cut, const float *x, size_t i) {
    uint32_t sum = 0;
    for (size_t k = 0; k < cuts; k++) {
        float product = x[cut[k].feature * APART + i] * cut[k].inverse;
        float t = product + cut[k].offset;
        sum += (uint32_t)(int32_t)floorf(t) * cut[k].factor;
    }
    return (sum ^ sum >> 16) * UINT32_C(0x9E3779B1);
}

/* Values on both sides of zero, on edges of bins, and far out. */
static void keys_are_those_of_the_definition(void **unused) {
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    float x[FEATURES * APART];
    kb_light_cut cut[FEATURES];
    uint32_t got[ROWS];
    (void)unused;
    for (size_t k = 0; k < FEATURES * APART; k++) {
        double u = 2 * test_uniform(3, k) - 1;
        x[k] = k % 7 == 0 ? (float)rint(8 * u) : k % 11 == 0 ? (float)(1e6 * u) : (float)u;
    }
    for (uint32_t j = 0; j < FEATURES; j++)
        cut[j] = (kb_light_cut){.inverse = j == 2 ? 1 : (float)(0.1 + 9 * test_uniform(4, j)),
                                .offset = j == 2 ? 0 : (float)test_uniform(5, j),
                                .factor = (uint32_t)(4e9 * test_uniform(6, j)) | 1,
                                .feature = FEATURES - 1 - j};
    for (size_t l = 0; l < levels; l++)
        for (size_t cuts = 0; cuts <= FEATURES; cuts++) {
            level[l]->light->keys(cuts, cut, ROWS, x, APART, got);
            for (size_t i = 0; i < ROWS; i++)
                if (got[i] != key_of(cuts, cut, x, i))
                    fail_msg("%s: key %zu of %zu features is wrong", level[l]->name, i, cuts);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
