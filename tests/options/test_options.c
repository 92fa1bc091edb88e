/* The options table and the values that it accepts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "options/config.h"

#include <stdio.h>
#include <string.h>

typedef struct fixture {
    kb_context *ctx;
    kb_options *options;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    kb_context_config config = {.size = sizeof config, .option_style = KB_STYLE_FLAG};
    assert_int_equal(kb_context_create(&config, &f->ctx), KB_OK);
    assert_int_equal(kb_options_create(f->ctx, &f->options), KB_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    kb_options_free(f->options);
    kb_context_free(f->ctx);
    free(f);
    return 0;
}

static void accepts(fixture *f, const char *name, const char *text) {
    kb_status status = kb_options_set(f->ctx, f->options, name, text);
    if (status != KB_OK)
        fail_msg("%s '%s' was refused: %s", name, text, kb_context_message(f->ctx));
    assert_string_equal(kb_options_get(f->options, name), text);
}

/* Refused with `message`, and the value stays as before. */
static void refuses(fixture *f, const char *name, const char *text, const char *message) {
    char before[64];
    strcpy(before, kb_options_get(f->options, name));
    assert_int_equal(kb_options_set(f->ctx, f->options, name, text), KB_ERR_ARGUMENT);
    assert_string_equal(kb_context_message(f->ctx), message);
    assert_string_equal(kb_options_get(f->options, name), before);
}

static void every_row_is_whole_and_its_default_is_in_force(void **state) {
    fixture *f = *state;
    size_t count;
    const kb_option_info *row = kb_option_table(&count);
    assert_int_equal(count, KB_OPT_COUNT);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(row[i].name);
        assert_non_null(row[i].help);
        assert_non_null(row[i].group);
        assert_int_equal(row[i].type == KB_OPTION_CHOICE, row[i].choices != NULL);
        assert_int_equal(row[i].type == KB_OPTION_FLAG, row[i].metavar == NULL);
        assert_string_equal(kb_options_get(f->options, row[i].name), row[i].default_value);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(row[i].name, row[j].name);
    }
}

static void a_config_has_what_was_set(void **state) {
    fixture *f = *state;
    accepts(f, "grids", "1000000");
    assert_int_equal(kb_config_of(f->options).grids, 1000000);
    accepts(f, "grids", "auto");
    assert_int_equal(kb_config_of(f->options).grids, KB_GRIDS_AUTO);
    accepts(f, "seed", "9007199254740992");
    assert_true(kb_config_of(f->options).seed == UINT64_C(1) << 53);
    accepts(f, "lambda", "2.5e-3");
    assert_true(kb_config_of(f->options).lambda == 2.5e-3);
    accepts(f, "task", "classification");
    assert_int_equal(kb_config_of(f->options).task, KB_TASK_CLASSIFICATION);
    accepts(f, "task", "auto");
    assert_int_equal(kb_config_of(f->options).task, KB_TASK_AUTO);
    assert_int_equal(kb_config_of(f->options).zero_based, 0);
    accepts(f, "zero-based", "on");
    assert_int_equal(kb_config_of(f->options).zero_based, 1);
    accepts(f, "label", "price of the house");
    assert_string_equal(kb_config_of(f->options).label, "price of the house");
    assert_true(kb_config_of(f->options).label_given);
}

static void numbers_out_of_bounds_or_form_are_refused(void **state) {
    static const char *const bad[] = {"0",   "1000001", "",  "12x", " 12",
                                      "1.5", "1e3",     "-", "nan", "99999999999999999999"};
    fixture *f = *state;
    char message[128];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        strcpy(message, "--grids ");
        strcat(message, *bad[i] ? bad[i] : "''");
        strcat(message, ": must be a whole number from 1 to 1000000, or auto");
        refuses(f, "grids", bad[i], message);
    }
    refuses(f, "tol", "2", "--tol 2: must be a number from 1e-15 to 1");
    refuses(f, "tol", "nan", "--tol nan: must be a number from 1e-15 to 1");
    refuses(f, "tol", "0x1p-3", "--tol 0x1p-3: must be a number from 1e-15 to 1");
    refuses(f, "tol", "0,5", "--tol 0,5: must be a number from 1e-15 to 1");
    refuses(f, "lambda", "0", "--lambda 0: must be a number from 1e-12 to 1e+12, or auto");
    refuses(f, "lambda", "1e999", "--lambda 1e999: must be a number from 1e-12 to 1e+12, or auto");
}

static void choices_and_flags_take_their_words_only(void **state) {
    fixture *f = *state;
    refuses(f, "task", "foo", "--task foo: must be one of auto, regression, classification");
    refuses(f, "task", "aut", "--task aut: must be one of auto, regression, classification");
    refuses(f, "task", "auto|regression",
            "--task auto|regression: must be one of auto, regression, classification");
    refuses(f, "zero-based", "yes", "--zero-based yes: must be one of off, on");
    refuses(f, "label", "", "--label '': must be some text");
}

static void splits_and_folds_are_checked_for_form(void **state) {
    static const char *const plain[] = {"auto", "random", "stratified", "time"};
    static const char *const bad[] = {"group", "group:", "groups:a", "Random", "random|time"};
    fixture *f = *state;
    char message[128];
    assert_null(kb_config_of(f->options).group);
    accepts(f, "split", "group:patient id");
    assert_string_equal(kb_config_of(f->options).group, "patient id");
    accepts(f, "split", "group:-1");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(message, sizeof message,
                 "--split %s: must be auto, random, stratified, group:COLUMN or time", bad[i]);
        refuses(f, "split", bad[i], message);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        accepts(f, "split", plain[i]);
        assert_null(kb_config_of(f->options).group);
    }
    accepts(f, "folds", "2");
    accepts(f, "folds", "100");
    accepts(f, "folds", "0");
    accepts(f, "folds", "auto");
    refuses(f, "folds", "1", "--folds 1: must be 0, for one validation split, 2 or more, or auto");
    refuses(f, "folds", "101", "--folds 101: must be a whole number from 0 to 100, or auto");
    refuses(f, "folds", "-1", "--folds -1: must be a whole number from 0 to 100, or auto");
}

static void sigmas_and_kernels_are_checked_for_form(void **state) {
    static const char *const good[] = {"default", "1", "0.5,1e-3,7", "@widths.txt", "auto"};
    static const char *const bad[] = {"",     "0",   "-1", "1,",    ",1",
                                      "1,,2", "1 2", "@",  "autos", "inf"};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        accepts(f, "sigma", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(kb_options_set(f->ctx, f->options, "sigma", bad[i]), KB_ERR_ARGUMENT);

    accepts(f, "kernel", "triangle");
    accepts(f, "kernel", "power:2.5");
    accepts(f, "kernel", "table:points.txt");
    refuses(f, "kernel", "power:0",
            "--kernel power:0: must be laplace, triangle, power:A with A > 0, table:FILE, "
            "exponential or gauss");
    refuses(f, "kernel", "rbf",
            "--kernel rbf: must be laplace, triangle, power:A with A > 0, table:FILE, "
            "exponential or gauss");
    refuses(f, "kernel", "table:",
            "--kernel table:: must be laplace, triangle, power:A with A > 0, table:FILE, "
            "exponential or gauss");
}

static void sizes_have_binary_units(void **state) {
    fixture *f = *state;
    kb_config config = kb_config_of(f->options);
    assert_int_equal(config.max_memory, 0); /* what the machine has */
    assert_true(kb_config_memory(&config) > 0);
    accepts(f, "max-memory", "4096");
    assert_true(kb_config_of(f->options).max_memory == 4096);
    accepts(f, "max-memory", "500M");
    assert_true(kb_config_of(f->options).max_memory == (size_t)500 << 20);
    accepts(f, "max-memory", "1.5g");
    assert_true(kb_config_of(f->options).max_memory == (size_t)3 << 29);
    refuses(f, "max-memory", "8Q", "--max-memory 8Q: must be a size like 500M or 8G, or auto");
    refuses(f, "max-memory", "0", "--max-memory 0: must be a size like 500M or 8G, or auto");
    refuses(f, "max-memory", "8GB", "--max-memory 8GB: must be a size like 500M or 8G, or auto");
    refuses(f, "max-memory", "1 ", "--max-memory 1 : must be a size like 500M or 8G, or auto");
    refuses(f, "max-memory", "1e300T",
            "--max-memory 1e300T: must be a size like 500M or 8G, or auto");
}

static void files_are_told(void **state) {
    static const char *const of[][3] = {
        {"weights", "w.txt", "w.txt"},
        {"weights", "column:w", NULL},
        {"weights", "none", NULL},
        {"class-weight", "c.txt", "c.txt"},
        {"class-weight", "balanced", NULL},
        {"sigma", "@s.txt", "s.txt"},
        {"sigma", "1,2", NULL},
        {"sigma", "auto", NULL},
        {"kernel", "table:k.txt", "k.txt"},
        {"kernel", "power:2", NULL},
        {"label", "l", NULL},
    };
    fixture *f = *state;
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        accepts(f, of[k][0], of[k][1]);
        const char *file = kb_options_file(f->options, of[k][0]);
        assert_true(of[k][2] ? file && strcmp(file, of[k][2]) == 0 : file == NULL);
    }
    assert_null(kb_options_file(f->options, "foo"));
}

static void unknown_names_are_told(void **state) {
    fixture *f = *state;
    assert_int_equal(kb_options_set(f->ctx, f->options, "foo", "1"), KB_ERR_ARGUMENT);
    assert_string_equal(kb_context_message(f->ctx), "unknown option 'foo'");
    assert_null(kb_options_get(f->options, "foo"));
}

/* Fails the k-th allocation and counts those that are still to be freed. */
typedef struct shaky_heap {
    int until_failure, blocks;
} shaky_heap;

static void *shaky_reallocate(void *user, void *block, size_t bytes) {
    shaky_heap *heap = user;
    if (bytes == 0) {
        heap->blocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (heap->until_failure-- == 0)
        return NULL;
    heap->blocks += block == NULL;
    return realloc(block, bytes);
}

static void any_failed_allocation_leaves_nothing_behind(void **state) {
    (void)state;
    int failures = 0;
    for (int k = 0;; k++) {
        shaky_heap heap = {k, 0};
        kb_context_config config = {
            .size = sizeof config, .user = &heap, .reallocate = shaky_reallocate};
        kb_context *ctx;
        kb_options *options = NULL;
        kb_status status = kb_context_create(&config, &ctx);
        if (status == KB_OK)
            status = kb_options_create(ctx, &options);
        if (status == KB_OK)
            status = kb_options_set(ctx, options, "sigma", "2");
        kb_options_free(options);
        kb_context_free(ctx);
        assert_int_equal(heap.blocks, 0);
        if (status == KB_OK)
            break;
        assert_int_equal(status, KB_ERR_MEMORY);
        failures++;
    }
    assert_int_equal(failures, KB_OPT_COUNT + 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_row_is_whole_and_its_default_is_in_force, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_config_has_what_was_set, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_out_of_bounds_or_form_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(choices_and_flags_take_their_words_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(splits_and_folds_are_checked_for_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sigmas_and_kernels_are_checked_for_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_have_binary_units, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_names_are_told, set_up, tear_down),
        cmocka_unit_test(any_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
