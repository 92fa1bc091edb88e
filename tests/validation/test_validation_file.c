/* What a model file keeps of rows that were held out. */
#include "support.h"

#include "validation/validation_file.h"

static void what_is_written_is_read(void **unused) {
    kb_expected e = KB_EXPECTED_NONE, back;
    (void)unused;
    e.rows = 120;
    e.learned = 480;
    e.folds = 1;
    e.error = 0.25;
    e.error_low = 0.2;
    e.error_high = 0.3;
    json_t *json = kb_expected_describe(&e);
    assert_non_null(json);
    assert_null(json_object_get(json, "rmse"));
    assert_true(kb_expected_read(json, 1, &back));
    assert_int_equal(back.rows, 120);
    assert_int_equal(back.learned, 480);
    assert_true(back.error == 0.25 && back.error_low == 0.2 && back.error_high == 0.3);
    assert_true(isnan(back.log_loss) && isnan(back.rmse));
    json_decref(json);
}

static void older_files_say_nothing(void **unused) {
    kb_expected back;
    (void)unused;
    assert_true(kb_expected_read(NULL, 1, &back));
    assert_int_equal(back.rows, 0);
    assert_true(isnan(back.error));
}

static void unsound_numbers_are_refused(void **unused) {
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "{\"rows\": 0, \"error\": 0.1}",
                                        "{\"rows\": -1, \"error\": 0.1}",
                                        "{\"rows\": 5}",
                                        "{\"rows\": 5, \"error\": 1.5}",
                                        "{\"rows\": 5, \"rmse\": 1}"};
    kb_expected back;
    (void)unused;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        json_t *json = json_loads(texts[k], 0, NULL);
        assert_false(kb_expected_read(json, 1, &back));
        json_decref(json);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(older_files_say_nothing),
        cmocka_unit_test(unsound_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
