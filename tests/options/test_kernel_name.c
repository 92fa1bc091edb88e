/* Kernels by name. */
#include "support.h"

#include "options/kernel_name.h"

static void every_kernel_is_known_by_its_name(void **unused) {
    static const struct {
        const char *text;
        kb_kernel_id id;
        int isotropic;
    } known[] = {{"laplace", KB_KERNEL_LAPLACE, 0},         {"triangle", KB_KERNEL_TRIANGLE, 0},
                 {"power:2.5", KB_KERNEL_POWER, 0},         {"table:k.txt", KB_KERNEL_TABLE, 0},
                 {"exponential", KB_KERNEL_EXPONENTIAL, 1}, {"gauss", KB_KERNEL_GAUSS, 1}};
    kb_kernel_name name;
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(kb_kernel_name_parse(known[i].text, &name));
        assert_int_equal(name.id, known[i].id);
        assert_int_equal(name.isotropic, known[i].isotropic);
        assert_ptr_equal(name.text, known[i].text);
    }
}

static void a_name_may_hold_a_number_or_a_path(void **unused) {
    kb_kernel_name name;
    (void)unused;
    assert_true(kb_kernel_name_parse("power:2.5", &name) && name.a == 2.5);
    assert_true(kb_kernel_name_parse("table:a: b.txt", &name));
    assert_string_equal(name.file, "a: b.txt");
}

static void other_names_are_refused(void **unused) {
    static const char *const bad[] = {"",        "Laplace",  "laplace ", "power",  "power:",
                                      "power:0", "power:-1", "power:2x", "table:", "gaussian"};
    kb_kernel_name name;
    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (kb_kernel_name_parse(bad[i], &name))
            fail_msg("'%s' is taken for a kernel", bad[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_is_known_by_its_name),
        cmocka_unit_test(a_name_may_hold_a_number_or_a_path),
        cmocka_unit_test(other_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
