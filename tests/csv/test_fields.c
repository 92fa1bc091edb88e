/* Lines of CSV cut into fields. */
#include "support.h"

#include "csv/fields.h"

/* Cuts `line` and compares with `want`, whose fields end in '|'; "!" where a quote is wrong. */
static void check_fields(const char *line, char delimiter, const char *want) {
    char copy[100], got[200] = "", *cursor = copy;
    snprintf(copy, sizeof copy, "%s", line);
    while (cursor) {
        char *field = kb_field_cut(&cursor, delimiter);
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%s|", field ? field : "!");
        if (!field)
            break;
    }
    assert_string_equal(got, want);
}

static void a_line_is_cut_into_fields(void **unused) {
    (void)unused;
    check_fields("a,b", ',', "a|b|");
    check_fields("", ',', "|");
    check_fields(",", ',', "||");
    check_fields(" a b ,  c", ',', "a b|c|");
    check_fields("a;b,c", ';', "a|b,c|");
    check_fields("1\t\t2", '\t', "1||2|");
    check_fields("\"a,b\", \" c \"", ',', "a,b| c |");
    check_fields("\"say \"\"no\"\"\" ,x", ',', "say \"no\"|x|");
    check_fields("\"\",x", ',', "|x|");
    check_fields("a,\"b", ',', "a|!|");
    check_fields("\"a\"b,c", ',', "!|");
}

static void the_line_tells_its_delimiter(void **unused) {
    static const struct {
        const char *line;
        char want;
    } known[] = {
        {"a,b", ','},        {"a;b,c", ';'},
        {"a,b;c\td", '\t'},  {"a|b", '|'},
        {"a|b,c", ','},      {"a|b;c", ';'},
        {"abc", ','},        {"", ','},
        {"\"a;b\",c", ','},                                /* not in quotes */
        {"\"a\tb\"|c", '|'}, {"\"a \"\";\"\" b\",c", ','}, /* quotes in quotes */
        {"\"a;b\"", ','},
    };
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        assert_int_equal(kb_field_delimiter(known[k].line), known[k].want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_cut_into_fields),
        cmocka_unit_test(the_line_tells_its_delimiter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
