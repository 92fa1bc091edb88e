/* Whether the first line of a CSV file holds names, judged by the lines below it. */
#include "support.h"

#include "csv/fields.h"
#include "csv/header.h"

enum { MOST = 8, NO = -1 };

/* A first line, and a sample of what stands below. */
typedef struct first {
    char line[100];
    char *field[MOST];
    size_t columns;
    kb_csv_sample sample;
} first;

static void look(kb_context *ctx, const char *line, const char *below, first *out) {
    *out = (first){0};
    snprintf(out->line, sizeof out->line, "%s", line);
    for (char *cursor = out->line; cursor;)
        out->field[out->columns++] = kb_field_cut(&cursor, ',');
    assert_ok(ctx, kb_csv_sample_build(ctx, ',', out->columns, out->field, below, strlen(below),
                                       &out->sample));
}

static void check_below(const kb_below *b, size_t numbers, size_t words, size_t missing,
                        int again) {
    assert_int_equal(b->numbers, numbers);
    assert_int_equal(b->words, words);
    assert_int_equal(b->missing, missing);
    assert_int_equal(b->again, again);
}

static void the_lines_below_are_counted(void **unused) {
    kb_context *ctx = test_context();
    first f;
    (void)unused;
    look(ctx, "a,b,c", "1,b,\r\n\n2,x,?\n3,1,z\n9,9", &f); /* the last is cut */
    assert_int_equal(f.sample.rows, 3);
    check_below(&f.sample.below[0], 3, 0, 0, 0);
    check_below(&f.sample.below[1], 1, 2, 0, 1);
    check_below(&f.sample.below[2], 0, 1, 2, 0);
    kb_csv_sample_clear(ctx, &f.sample);
    look(ctx, "a,b", "1,\"2,5\"", &f); /* the only line is taken as whole */
    assert_int_equal(f.sample.rows, 1);
    check_below(&f.sample.below[1], 0, 1, 0, 0);
    kb_csv_sample_clear(ctx, &f.sample);
    look(ctx, "a,b", "", &f);
    assert_int_equal(f.sample.rows, 0);
    check_below(&f.sample.below[0], 0, 0, 0, 0);
    kb_csv_sample_clear(ctx, &f.sample);
    look(ctx, "a", "1,2,3\n4\n5\n", &f); /* fields beyond the first line's are not looked at */
    assert_int_equal(f.sample.rows, 3);
    check_below(&f.sample.below[0], 3, 0, 0, 0);
    kb_csv_sample_clear(ctx, &f.sample);
    kb_context_free(ctx);
}

static void a_sample_has_so_many_rows(void **unused) {
    kb_context *ctx = test_context();
    char below[2 * (KB_HEADER_ROWS + 20) + 1] = "";
    first f;
    (void)unused;
    for (size_t i = 0; i < KB_HEADER_ROWS + 20; i++)
        memcpy(below + 2 * i, i < KB_HEADER_ROWS ? "7\n" : "x\n", 3);
    look(ctx, "a", below, &f);
    assert_int_equal(f.sample.rows, KB_HEADER_ROWS);
    check_below(&f.sample.below[0], KB_HEADER_ROWS, 0, 0, 0);
    kb_csv_sample_clear(ctx, &f.sample);
    kb_context_free(ctx);
}

static void headers_may_count(void **unused) {
    static const struct {
        const char *line, *below;
        int counts, is_counted;
    } known[] = {
        {"0,1,2,3", "5,6,7,8\n", 1, 1},
        {"1,2,3,4", "5,6,7,8\n", 1, 1},
        {",0,1", "0,6,7\n", 1, 1},    /* an index before them */
        {"0,1,2", "5,6,7\n", 1, 0},   /* as well a row */
        {"0,1,2", "5,red,7\n", 1, 1}, /* but no row like these */
        {"0,1,2", "5,red,7\n5,6,7\n", 1, 0},
        {"0,1,2,3", "", 1, 0}, /* all there is */
        {"2,3,4,5", "5,6,7,8\n", 0, 0},
        {"0,1,2,4", "5,6,7,8\n", 0, 0},
        {"0,1,2.0,3", "5,6,7,8\n", 0, 0},
        {"0,,1,2", "5,6,7,8\n", 0, 0},
        {"a,b", "5,6\n", 0, 0},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        first f;
        look(ctx, known[k].line, known[k].below, &f);
        assert_int_equal(kb_header_counts(f.columns, f.field), known[k].counts);
        if (kb_header_is_counted(&f.sample, f.columns, f.field) != known[k].is_counted)
            fail_msg("%s above %s", known[k].line, known[k].below);
        kb_csv_sample_clear(ctx, &f.sample);
    }
    kb_context_free(ctx);
}

static void headers_may_be_names(void **unused) {
    static const struct {
        const char *line, *below;
        int skip[2], want;
    } known[] = {
        {"a,b", "1,2\n", {NO, NO}, 1},
        {"a,2020", "1,2\n", {NO, NO}, 1}, /* one word above numbers is enough */
        {"a,b", "1,x\n", {NO, NO}, 1},
        {"a,b", "1,\n", {NO, NO}, 1},
        {"a,b", "x,y\nz,y\n", {NO, NO}, 1}, /* all words, none comes again */
        {"x,b", "x,y\nz,y\n", {NO, NO}, 0}, /* one does */
        {"a,a", "x,y\nz,y\n", {NO, NO}, 0}, /* not all different */
        {"a,5", "x,6\nz,7\n", {NO, NO}, 0}, /* a word above words, beside a number */
        {"a,", "x,6\nz,7\n", {NO, NO}, 1},  /* an empty name is no value */
        {"1,2", "3,4\n", {NO, NO}, 0},
        {"1,2", "x,y\n", {NO, NO}, 0},
        {"a,b", "1,x\n2,y\nu,v\n", {NO, NO}, 1},
        {"a,5", "1,6\nu,7\n", {NO, NO}, 0}, /* numbers and words below */
        {"a,b", "", {NO, NO}, 1},
        {"a,5", "", {NO, NO}, 1},
        {"4,5", "", {NO, NO}, 0},
        {"1,2,cat", "3,4,dog\n", {2, NO}, 0}, /* the label may be a word anywhere */
        {"1,2,cat", "", {2, NO}, 0},
        {"1,g1,cat", "", {2, 1}, 0},
        {"1,g1,cat", "", {2, NO}, 1},
        {"a,b,y", "3,4,dog\n", {2, NO}, 1},
        {"1,2,y", "3,4,5\n", {2, NO}, 1}, /* but not above numbers */
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const size_t skip[2] = {(size_t)known[k].skip[0], (size_t)known[k].skip[1]};
        first f;
        look(ctx, known[k].line, known[k].below, &f);
        if (kb_header_is_named(&f.sample, f.columns, f.field, skip) != known[k].want)
            fail_msg("%s above %s", known[k].line, known[k].below);
        kb_csv_sample_clear(ctx, &f.sample);
    }
    kb_context_free(ctx);
}

static int sample_once(kb_context *ctx, void *unused) {
    static char *const field[] = {"a", "b"};
    kb_csv_sample sample;
    (void)unused;
    kb_status status = kb_csv_sample_build(ctx, ',', 2, field, "1,2\n3,4\n", 8, &sample);
    kb_csv_sample_clear(ctx, &sample);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(sample_once, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lines_below_are_counted), cmocka_unit_test(a_sample_has_so_many_rows),
        cmocka_unit_test(headers_may_count),           cmocka_unit_test(headers_may_be_names),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
