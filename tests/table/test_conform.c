/* Cells of other rows brought to the types of a table. */
#include "support.h"

#include "core/number.h"
#include "table/cell.h"
#include "table/infer.h"

#include <math.h>

enum { MOST = 5, NONE = -99 };

static char *LEVELS[] = {"7", "red", "True"};

static kb_status fill(kb_context *ctx, const char *const *word, double *cell, kb_text_ids *text) {
    kb_status status = KB_OK;
    for (size_t i = 0; i < MOST; i++) {
        uint32_t number;
        cell[i] = KB_CELL_MISSING;
        if (kb_text_is_missing(word[i], strlen(word[i])) || kb_number_read(word[i], &cell[i]))
            continue;
        TRY(kb_text_ids_number(ctx, text, word[i], strlen(word[i]), &number));
        cell[i] = kb_cell_text(number);
    }
done:
    return status;
}

static void cells_become_what_the_column_holds(void **unused) {
    static const struct {
        kb_column column;
        const char *cell[MOST];
        double want[MOST];
        const char *warning;
    } known[] = {
        {{.type = KB_COLUMN_NUMBER}, {"1", "2.5", "", "-3", "0"}, {1, 2.5, NONE, -3, 0}, ""},
        {{.type = KB_COLUMN_NUMBER},
         {"1", "two", "3", "two", "inf"},
         {1, NONE, 3, NONE, NONE},
         "column 1: 3 cells are no number, such as 'two'; taken as missing\n"},
        {{.type = KB_COLUMN_NUMBER, .style = KB_WRITTEN_THOUSANDS},
         {"1,200", "3.5", "", "1,20", "7"},
         {1200, 3.5, NONE, NONE, 7},
         "column 1: 1 cell is no number, such as '1,20'; taken as missing\n"},
        {{.type = KB_COLUMN_NUMBER, .style = KB_WRITTEN_DECIMAL_COMMA},
         {"1,5", "2.5", "3", "", "0,25"}, /* no dot between thousands */
         {1.5, 2.5, 3, NONE, 0.25},
         ""},
        {{.type = KB_COLUMN_NUMBER, .style = KB_WRITTEN_DECIMAL_COMMA},
         {"1.234,5", "1.001", "4.102", "3", "-2.300"}, /* dots between thousands */
         {1234.5, 1001, 4102, 3, -2300},
         ""},
        {{.type = KB_COLUMN_NUMBER, .style = KB_WRITTEN_PERCENT},
         {"5%", "7.5 %", "", "0%", "-1%"},
         {5, 7.5, NONE, 0, -1},
         ""},
        {{.type = KB_COLUMN_DATE},
         {"2000-01-02", "2000-01-01 12:00", "", "soon", "2020"},
         {1, 0.5, NONE, NONE, NONE},
         "column 1: 2 cells are no date, such as 'soon'; taken as missing\n"},
        {{.type = KB_COLUMN_CATEGORY, .levels = 3, .level = LEVELS},
         {"red", "7", "7.0", "", "true"},
         {1, 0, 0, NONE, 2},
         ""},
        {{.type = KB_COLUMN_CATEGORY, .levels = 3, .level = LEVELS},
         {"Red", "8", "7", "Red", "false"}, /* case counts */
         {KB_CELL_UNSEEN, KB_CELL_UNSEEN, 0, KB_CELL_UNSEEN, KB_CELL_UNSEEN},
         "column 1: 4 cells of a level that the training rows did not have, such as 'Red'; the "
         "model knows nothing of such levels\n"},
    };
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        kb_column column = known[k].column;
        const kb_table table = {.columns = 1, .column = &column};
        double cell[MOST];
        kb_text_ids text = {0};
        kb_cells cells = {.rows = MOST, .columns = 1, .cell = cell, .text = &text};
        assert_ok(ctx, fill(ctx, known[k].cell, cell, &text));
        assert_ok(ctx, kb_table_conform(ctx, &table, &cells));
        for (size_t i = 0; i < MOST; i++)
            if (known[k].want[i] == NONE ? !kb_cell_is_missing(cell[i])
                                         : cell[i] != known[k].want[i])
                fail_msg("case %zu, '%s': %.17g", k, known[k].cell[i], cell[i]);
        assert_string_equal(state.log, known[k].warning);
        kb_text_ids_clear(ctx, &text);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
}

static int conform_once(kb_context *ctx, void *unused) {
    static const char *const word[MOST] = {"red", "8", "blue", "", "true"};
    kb_status status;
    kb_column column = {.type = KB_COLUMN_CATEGORY, .levels = 3, .level = LEVELS};
    const kb_table table = {.columns = 1, .column = &column};
    double cell[MOST];
    kb_text_ids text = {0};
    kb_cells cells = {.rows = MOST, .columns = 1, .cell = cell, .text = &text};
    (void)unused;
    TRY(fill(ctx, word, cell, &text));
    TRY(kb_table_conform(ctx, &table, &cells));
done:
    kb_text_ids_clear(ctx, &text);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(conform_once, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_become_what_the_column_holds),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
