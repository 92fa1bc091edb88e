/* The types of columns from their cells, and other rows brought to them. */
#include "support.h"

#include "core/number.h"
#include "core/strings.h"
#include "table/cell.h"
#include "table/infer.h"

#include <math.h>

enum { ROWS = 6, COLUMNS = 9 };
static const char *const NAME[COLUMNS] = {"age",  "city",  "member", "born", "key",
                                          "same", "price", "share",  "mixed"};
static const char *const CELL[ROWS][COLUMNS] = {
    {"31", "Bonn", "yes", "1990-01-01", "a1", "x", "1,200", "5%", "1"},
    {"?", "Ulm", "no", "1991-05-06", "a2", "x", "900", "7%", "two"},
    {"40", "Bonn", "no", "", "a3", "x", "2,000.5", "NA", "1"},
    {"22", "", "yes", "1999-12-31", "a4", "x", "3", "9 %", "3"},
    {"22", "Bonn", "yes", "1999-12-31", "a5", "x", "3", "1%", "3"},
    {"22", "Kiel", "yes", "1999-12-31", "a6", "x", "3", "1%", "null"},
};

static double cell_of(kb_context *ctx, kb_text_ids *text, const char *word) {
    double x;
    uint32_t number;
    if (kb_text_is_missing(word, strlen(word)))
        return KB_CELL_MISSING;
    if (kb_number_read(word, &x))
        return x;
    assert_ok(ctx, kb_text_ids_number(ctx, text, word, strlen(word), &number));
    return kb_cell_text(number);
}

static void fill(kb_context *ctx, size_t rows, const char *const *word, kb_cells *out) {
    *out = (kb_cells){.rows = rows, .columns = COLUMNS};
    assert_ok(ctx, kb_alloc(ctx, rows * COLUMNS, sizeof(double), &out->cell));
    assert_ok(ctx, kb_zalloc(ctx, COLUMNS, sizeof *out->text, &out->text));
    assert_ok(ctx, kb_strings_copy(ctx, COLUMNS, (char *const *)NAME, &out->name));
    for (size_t k = 0; k < rows * COLUMNS; k++)
        out->cell[k] = cell_of(ctx, &out->text[k % COLUMNS], word[k]);
}

static void clear(kb_context *ctx, kb_cells *cells) {
    for (size_t j = 0; j < COLUMNS; j++)
        kb_text_ids_clear(ctx, &cells->text[j]);
    kb_release(ctx, cells->text);
    kb_release(ctx, cells->cell);
    kb_strings_free(kb_allocator_of(ctx), COLUMNS, cells->name);
}

static void each_column_has_its_type(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_cells cells;
    kb_table *table;
    kb_infer_spec spec = {0};
    (void)unused;
    fill(ctx, ROWS, &CELL[0][0], &cells);
    assert_ok(ctx, kb_table_infer(ctx, &spec, &cells, &table));
    static const kb_column_type want[] = {KB_COLUMN_NUMBER,  KB_COLUMN_CATEGORY, KB_COLUMN_BOOLEAN,
                                          KB_COLUMN_DATE,    KB_COLUMN_NUMBER,   KB_COLUMN_NUMBER,
                                          KB_COLUMN_CATEGORY};
    static const char *const left[] = {"age", "city", "member", "born", "price", "share", "mixed"};
    assert_int_equal(table->columns, 7);
    assert_int_equal(cells.columns, 7);
    for (size_t j = 0; j < 7; j++) {
        assert_int_equal(table->column[j].type, want[j]);
        assert_string_equal(cells.name[j], left[j]);
    }
    assert_int_equal(table->left_out, 2);
    assert_string_equal(table->out[0].name, "key");
    assert_int_equal(table->out[0].type, KB_COLUMN_ID);
    assert_int_equal(table->out[1].type, KB_COLUMN_CONSTANT);
    assert_true(kb_table_leaves_out(table, "same"));
    assert_false(kb_table_leaves_out(table, "age"));
    /* The second row: ? Ulm no 1991-05-06 900 7% two */
    const double *row = cells.cell + 7;
    assert_true(isnan(row[0]));
    assert_true(row[1] == 1 && row[2] == 1 && row[4] == 900 && row[5] == 7 && row[6] == 1);
    assert_true(cells.cell[14 + 4] == 2000.5);
    assert_true(isnan(cells.cell[14 + 3]) && isnan(cells.cell[21 + 1]));
    assert_string_equal(table->column[6].level[2], "3");
    assert_int_equal(table->column[5].missing, 1);
    assert_false(kb_table_is_plain(table));
    kb_table_free(table);
    clear(ctx, &cells);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void other_rows_follow_the_table(void **unused) {
    static const char *const other[] = {"old", "Rom",   "maybe", "today", "a1",
                                        "x",   "1,2,3", "7%",    "9"};
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    kb_cells cells, more;
    kb_table *table;
    kb_infer_spec spec = {0};
    (void)unused;
    fill(ctx, ROWS, &CELL[0][0], &cells);
    assert_ok(ctx, kb_table_infer(ctx, &spec, &cells, &table));
    fill(ctx, 1, other, &more);
    /* As a reader does: the columns that are left out are not read. */
    for (size_t j = 4; j < 7; j++) {
        kb_text_ids text = more.text[j];
        more.cell[j] = more.cell[j + 2];
        more.text[j] = more.text[j + 2];
        more.text[j + 2] = text;
    }
    more.columns = 7;
    assert_ok(ctx, kb_table_conform(ctx, table, &more));
    assert_true(isnan(more.cell[0]) && isnan(more.cell[3]) && isnan(more.cell[4]));
    assert_true(more.cell[1] == KB_CELL_UNSEEN && more.cell[2] == KB_CELL_UNSEEN);
    assert_true(more.cell[5] == 7 && more.cell[6] == KB_CELL_UNSEEN);
    assert_non_null(strstr(state.log, "column 'age': 1 cell is no number, such as 'old'"));
    assert_non_null(strstr(state.log, "column 'city': 1 cell of a level"));
    assert_non_null(strstr(state.log, "column 'born': 1 cell is no date, such as 'today'"));
    kb_table_free(table);
    clear(ctx, &cells);
    clear(ctx, &more);
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void a_wanted_type_is_taken(void **unused) {
    kb_context *ctx = test_context();
    kb_cells cells;
    kb_table *table, *copy;
    kb_column_type wanted[COLUMNS] = {KB_COLUMN_CATEGORY, KB_COLUMN_IGNORED, KB_COLUMN_AUTO,
                                      KB_COLUMN_AUTO, KB_COLUMN_CATEGORY};
    kb_infer_spec spec = {.wanted = wanted};
    (void)unused;
    fill(ctx, ROWS, &CELL[0][0], &cells);
    assert_ok(ctx, kb_table_infer(ctx, &spec, &cells, &table));
    assert_int_equal(table->column[0].type, KB_COLUMN_CATEGORY);
    assert_string_equal(table->column[0].level[1], "40");
    assert_string_equal(cells.name[1], "member");
    assert_int_equal(table->column[3].levels, 6);
    assert_ok(ctx, kb_table_copy(ctx, table, &copy));
    assert_string_equal(copy->column[3].level[5], "a6");
    assert_int_equal(copy->left_out, 2);
    kb_table_free(copy);
    kb_table_free(table);
    clear(ctx, &cells);
    fill(ctx, ROWS, &CELL[0][0], &cells);
    wanted[0] = KB_COLUMN_BOOLEAN;
    assert_int_equal(kb_table_infer(ctx, &spec, &cells, &table), KB_ERR_DATA);
    assert_null(table);
    clear(ctx, &cells);
    kb_context_free(ctx);
}

static void a_dot_may_stand_between_thousands(void **unused) {
    static const char *const cell[] = {"1.234,5", "1.234", "12", "3,5"};
    kb_context *ctx = test_context();
    kb_text_ids text = {0};
    double x[4];
    kb_cells cells = {.rows = 4, .columns = 1, .cell = x, .text = &text};
    kb_infer_spec spec = {.comma_decimal = 1};
    kb_table *table;
    (void)unused;
    for (size_t i = 0; i < 4; i++)
        x[i] = cell_of(ctx, &text, cell[i]);
    assert_ok(ctx, kb_table_infer(ctx, &spec, &cells, &table));
    assert_true(x[0] == 1234.5 && x[1] == 1234 && x[2] == 12 && x[3] == 3.5);
    kb_table_free(table);
    kb_text_ids_clear(ctx, &text);
    kb_context_free(ctx);
}

static int infer_some(kb_context *ctx, void *unused) {
    kb_status status = KB_OK;
    kb_cells cells = {.rows = ROWS, .columns = COLUMNS};
    kb_table *table = NULL, *copy = NULL;
    kb_infer_spec spec = {0};
    (void)unused;
    TRY(kb_alloc(ctx, ROWS * COLUMNS, sizeof(double), &cells.cell));
    TRY(kb_zalloc(ctx, COLUMNS, sizeof *cells.text, &cells.text));
    TRY(kb_strings_copy(ctx, COLUMNS, (char *const *)NAME, &cells.name));
    for (size_t k = 0; k < ROWS * COLUMNS; k++) {
        const char *word = CELL[k / COLUMNS][k % COLUMNS];
        uint32_t number;
        cells.cell[k] = KB_CELL_MISSING;
        if (kb_text_is_missing(word, strlen(word)) || kb_number_read(word, &cells.cell[k]))
            continue;
        TRY(kb_text_ids_number(ctx, &cells.text[k % COLUMNS], word, strlen(word), &number));
        cells.cell[k] = kb_cell_text(number);
    }
    TRY(kb_table_infer(ctx, &spec, &cells, &table));
    TRY(kb_table_copy(ctx, table, &copy));
done:
    for (size_t j = 0; cells.text && j < COLUMNS; j++)
        kb_text_ids_clear(ctx, &cells.text[j]);
    kb_release(ctx, cells.text);
    kb_release(ctx, cells.cell);
    kb_strings_free(kb_allocator_of(ctx), COLUMNS, cells.name);
    kb_table_free(table);
    kb_table_free(copy);
    return (int)status;
}

/* One program writes True, another true or TRUE. */
static void truth_has_any_case(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    static const char *const WORDS[] = {"true", "False", "TRUE", "FALSE", "truth"};
    char *levels[] = {"False", "True"};
    kb_column column = {.type = KB_COLUMN_BOOLEAN, .levels = 2, .level = levels};
    kb_table table = {.columns = 1, .column = &column};
    double cell[5];
    kb_text_ids text = {0};
    kb_cells cells = {.rows = 5, .columns = 1, .cell = cell, .text = &text};
    (void)unused;
    for (size_t i = 0; i < 5; i++)
        cell[i] = cell_of(ctx, &text, WORDS[i]);
    assert_ok(ctx, kb_table_conform(ctx, &table, &cells));
    static const double want[] = {1, 0, 1, 0, KB_CELL_UNSEEN};
    for (size_t i = 0; i < 5; i++)
        assert_true(cell[i] == want[i]);
    assert_non_null(strstr(state.log, "column 1: 1 cell of a level"));
    kb_text_ids_clear(ctx, &text);
    kb_context_free(ctx);
}

/* Days that are days already stay as they are, also behind a column that is left out. */
static void days_need_no_text(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    double cell[] = {1, 5, 1, 7.5, 1, NAN};
    kb_text_ids text[2] = {{0}};
    uint8_t is_days[] = {0, 1};
    const kb_column_type wanted[] = {KB_COLUMN_AUTO, KB_COLUMN_DATE};
    kb_cells cells = {.rows = 3, .columns = 2, .cell = cell, .text = text, .is_days = is_days};
    kb_infer_spec spec = {.wanted = wanted};
    kb_table *table;
    (void)unused;
    assert_ok(ctx, kb_table_infer(ctx, &spec, &cells, &table));
    assert_int_equal(cells.columns, 1);
    assert_int_equal(table->column[0].type, KB_COLUMN_DATE);
    assert_int_equal(table->column[0].missing, 1);
    assert_true(cell[0] == 5 && cell[1] == 7.5 && isnan(cell[2]));
    assert_string_equal(state.log, "");
    is_days[0] = 0; /* numbers are no dates */
    assert_ok(ctx, kb_table_conform(ctx, table, &cells));
    assert_true(isnan(cell[0]) && isnan(cell[1]));
    kb_table_free(table);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(infer_some, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_column_has_its_type),
        cmocka_unit_test(other_rows_follow_the_table),
        cmocka_unit_test(a_wanted_type_is_taken),
        cmocka_unit_test(a_dot_may_stand_between_thousands),
        cmocka_unit_test(truth_has_any_case),
        cmocka_unit_test(days_need_no_text),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
