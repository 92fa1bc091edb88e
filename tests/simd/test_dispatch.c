/* Which inner loops this machine runs. */
#include "support.h"

#include "simd/simd.h"

enum { ROOM = 8 };

static void the_list_begins_with_plain_and_is_cut_to_its_room(void **unused) {
    const kb_simd *all[ROOM], *some[ROOM];
    size_t levels = kb_simd_list(all, ROOM);
    (void)unused;
    assert_true(levels >= 1 && levels < ROOM);
    for (size_t room = 0; room <= levels; room++) {
        memset(some, 0, sizeof some);
        assert_int_equal(kb_simd_list(some, room), room);
        assert_memory_equal(some, all, room * sizeof *some);
        assert_null(some[room]);
    }
    assert_string_equal(all[0]->name, "plain"); /* on every machine */
    assert_ptr_equal(kb_simd_best(), all[levels - 1]);
}

/* A table of loops has no empty place. */
static void assert_whole(const void *table, size_t bytes) {
    void (*loop[16])(void);
    assert_true(bytes > 0 && bytes <= sizeof loop);
    memcpy(loop, table, bytes);
    for (size_t k = 0; k < bytes / sizeof *loop; k++)
        assert_non_null(loop[k]);
}

/* Every level is whole, and is another one than those before: no loop is shared. */
static void every_level_has_all_its_loops(void **unused) {
    const kb_simd *all[ROOM];
    size_t levels = kb_simd_list(all, ROOM);
    (void)unused;
    for (size_t l = 0; l < levels; l++) {
        assert_whole(all[l]->bins, sizeof *all[l]->bins);
        assert_whole(all[l]->losses, sizeof *all[l]->losses);
        assert_whole(all[l]->tiles, sizeof *all[l]->tiles);
        assert_whole(all[l]->masked_rows, sizeof *all[l]->masked_rows);
        for (size_t before = 0; before < l; before++) {
            assert_true(all[l]->bins->scatter != all[before]->bins->scatter);
            assert_true(all[l]->bins->gather != all[before]->bins->gather);
            assert_true(all[l]->losses->logistic != all[before]->losses->logistic);
            assert_true(all[l]->tiles->tile != all[before]->tiles->tile);
            assert_true(all[l]->tiles->times != all[before]->tiles->times);
            assert_true(all[l]->masked_rows->sum != all[before]->masked_rows->sum);
        }
    }
}

#if defined(__x86_64__) && defined(__linux__)
/* Whether the system says that the processor has it. */
static int has(const char *flags, const char *name) {
    char word[32];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(flags, word) != NULL;
}

/* No level is run that the processor has not, and none is left out that it has. */
static void the_levels_are_those_of_the_processor(void **unused) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[8192], *end;
    const kb_simd *all[ROOM];
    (void)unused;
    if (!file)
        skip();
    do {
        if (!fgets(line, sizeof line - 1, file)) {
            fclose(file);
            skip();
        }
    } while (strncmp(line, "flags", 5) != 0);
    fclose(file);
    end = strchr(line, '\n');
    assert_non_null(end);
    memcpy(end, " ", 2);
    int avx2 = has(line, "avx2") && has(line, "fma");
    int avx512 = has(line, "avx512f") && has(line, "avx512dq") && has(line, "avx512vl") &&
                 has(line, "avx512bw");
    assert_int_equal(kb_simd_list(all, ROOM), 1 + avx2 + avx512);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_begins_with_plain_and_is_cut_to_its_room),
        cmocka_unit_test(every_level_has_all_its_loops),
#if defined(__x86_64__) && defined(__linux__)
        cmocka_unit_test(the_levels_are_those_of_the_processor),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
