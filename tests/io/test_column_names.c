/* The names of columns: made different, found, listed and guessed at. */
#include "support.h"

#include "core/strings.h"
#include "io/column_choice.h"

enum { MOST = 8 };

static size_t count_of(const char *const *name) {
    size_t count = 0;
    while (count < MOST && name[count])
        count++;
    return count;
}

static kb_column_names names_of(kb_context *ctx, const char *const *name) {
    kb_column_names n;
    size_t renamed;
    assert_ok(ctx, kb_column_names_build(ctx, count_of(name), (char *const *)name, &n, &renamed));
    return n;
}

/* ---- names ------------------------------------------------------------- */

static void all_names_become_different(void **unused) {
    static const struct {
        const char *name[MOST], *want[MOST];
        size_t renamed;
    } known[] = {
        {{"b", "a"}, {"b", "a"}, 0},
        {{"", "a", ""}, {"unnamed 1", "a", "unnamed 3"}, 0},
        {{"a", "a", "b", "a"}, {"a", "a.1", "b", "a.2"}, 2},
        {{"a", "a.1", "a"}, {"a", "a.1", "a.2"}, 1},
        {{"a", "A"}, {"a", "A"}, 0},
        {{"", "unnamed 1"}, {"unnamed 1", "unnamed 1.1"}, 1},
        {{"unnamed 2", ""}, {"unnamed 2", "unnamed 2.1"}, 0}, /* that was empty */
        {{"a", "a", "a.1", "a"}, {"a", "a.2", "a.1", "a.2.1"}, 2},
        {{NULL}, {NULL}, 0},
    };
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_column_names n;
        size_t renamed, count = count_of(known[k].name);
        assert_ok(ctx,
                  kb_column_names_build(ctx, count, (char *const *)known[k].name, &n, &renamed));
        assert_int_equal(renamed, known[k].renamed);
        assert_int_equal(n.count, count);
        for (size_t j = 0; j < count; j++) {
            assert_string_equal(n.name[j], known[k].want[j]);
            assert_int_equal(kb_column_named(&n, n.name[j]), j);
            if (j > 0)
                assert_true(strcmp(n.name[n.order[j - 1]], n.name[n.order[j]]) < 0);
        }
        kb_column_names_clear(ctx, &n);
    }
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void a_column_has_a_name_and_a_number(void **unused) {
    static const char *const name[MOST] = {"id", "price", "2"};
    kb_context *ctx = test_context();
    kb_column_names n = names_of(ctx, name), none = {0};
    (void)unused;
    assert_true(kb_column_named(&n, "Price") == KB_NO_COLUMN);
    assert_true(kb_column_named(&n, "pric") == KB_NO_COLUMN);
    assert_true(kb_column_named(&n, "") == KB_NO_COLUMN);
    assert_true(kb_column_named(&n, NULL) == KB_NO_COLUMN);
    assert_true(kb_column_named(&none, "id") == KB_NO_COLUMN);
    assert_int_equal(kb_column_numbered(3, "1"), 0);
    assert_int_equal(kb_column_numbered(3, "3"), 2);
    assert_int_equal(kb_column_numbered(3, "-1"), 2);
    assert_int_equal(kb_column_numbered(3, "-3"), 0);
    static const char *const bad[] = {
        "0", "4", "-4", "", "x", "1x", "1.0", "99999999999999999999", "-99999999999999999999"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_true(kb_column_numbered(3, bad[k]) == KB_NO_COLUMN);
    kb_column_names_clear(ctx, &n);
    kb_context_free(ctx);
}

/* ---- lists ------------------------------------------------------------- */

static void patterns_match_whole_texts(void **unused) {
    static const struct {
        const char *pattern, *text;
        int want;
    } known[] = {
        {"", "", 1},           {"", "a", 0},
        {"a", "", 0},          {"abc", "abc", 1},
        {"abc", "abcd", 0},    {"abc", "aBc", 0},
        {"*", "", 1},          {"*", "any", 1},
        {"?", "", 0},          {"?", "x", 1},
        {"?", "xy", 0},        {"tmp_*", "tmp_", 1},
        {"tmp_*", "tmp", 0},   {"*_id", "a_id_id", 1},
        {"*_id", "a_idx", 0},  {"a*b*c", "aXbYbZc", 1},
        {"a*b*c", "aXcYb", 0}, {"*a?", "aaab", 1},
        {"**", "x", 1},        {"?*?", "x", 0},
    };
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (kb_matches(known[k].pattern, known[k].text) != known[k].want)
            fail_msg("'%s' on '%s'", known[k].pattern, known[k].text);
}

/* The columns that were found, as "0 2 ". */
static void note(void *arg, size_t column) {
    char *text = arg;
    size_t used = strlen(text);
    snprintf(text + used, 64 - used, "%zu ", column);
}

static void an_item_means_names_numbers_or_patterns(void **unused) {
    static const char *const name[MOST] = {"id", "tmp_a", "2", "tmp_b", "odd*"};
    static const struct {
        const char *item, *want, *without_names;
    } known[] = {
        {"id", "0 ", ""},  {"tmp_*", "1 3 ", ""},   {"tmp_?", "1 3 ", ""}, {"odd*", "4 ", ""},
        {"2", "2 ", "1 "}, /* the name goes first */
        {"3", "2 ", "2 "}, {"-1", "4 ", "4 "},      {"-5", "0 ", "0 "},    {"6", "", ""},
        {"0", "", ""},     {"*", "0 1 2 3 4 ", ""}, {"no*", "", ""},       {"ID", "", ""},
    };
    kb_context *ctx = test_context();
    kb_column_names n = names_of(ctx, name), none = {0};
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        char got[64] = "", bare[64] = "";
        size_t found = kb_columns_match(&n, 5, known[k].item, note, got);
        assert_string_equal(got, known[k].want);
        assert_int_equal(found, strlen(got) / 2);
        found = kb_columns_match(&none, 5, known[k].item, note, bare);
        assert_string_equal(bare, known[k].without_names);
        assert_int_equal(found, strlen(bare) / 2);
    }
    kb_column_names_clear(ctx, &n);
    kb_context_free(ctx);
}

static void check_list(const char *list, const char *want) {
    char item[KB_ITEM_TEXT], got[2 * KB_ITEM_TEXT] = "";
    while (kb_list_item(&list, item)) {
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%.40s|", item);
    }
    assert_string_equal(got, want);
}

static void a_list_is_cut_into_items(void **unused) {
    char item[KB_ITEM_TEXT], list[400];
    const char *cursor = list;
    (void)unused;
    check_list(NULL, "");
    check_list("", "|");
    check_list("a", "a|");
    check_list("a,b c , -2", "a|b c|-2|");
    check_list(" , a,", "|a||");
    memset(list, 'x', 300);
    memcpy(list + 300, ",y", 3);
    assert_true(kb_list_item(&cursor, item)); /* cut, and the next is whole */
    assert_int_equal(strlen(item), KB_ITEM_TEXT - 1);
    assert_true(kb_list_item(&cursor, item));
    assert_string_equal(item, "y");
    assert_false(kb_list_item(&cursor, item));
}

/* ---- hints ------------------------------------------------------------- */

static void a_hint_names_the_nearest_column(void **unused) {
    static const char *const name[MOST] = {"id", "price", "rooms"};
    static const struct {
        const char *wanted, *want;
    } known[] = {
        {"prise", "; did you mean 'price'? The columns are id, price, rooms"},
        {"PRICE", "; did you mean 'price'? The columns are id, price, rooms"},
        {"room", "; did you mean 'rooms'? The columns are id, price, rooms"},
        {"di", "; the columns are id, price, rooms"}, /* two changes of two letters */
        {"x", "; the columns are id, price, rooms"},
        {"garden", "; the columns are id, price, rooms"},
    };
    kb_context *ctx = test_context();
    kb_column_names n = names_of(ctx, name), none = {0};
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        assert_string_equal(kb_column_names_hint(&n, known[k].wanted).text, known[k].want);
    assert_string_equal(kb_column_names_hint(&none, "id").text, "");
    kb_column_names_clear(ctx, &n);
    kb_context_free(ctx);
}

static void a_hint_has_room_for_names_of_any_length(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t length = 1; length < 400; length++) {
        char longest[400], other[400];
        const char *name[MOST] = {longest, other, "last"};
        memset(longest, 'a', length);
        memset(other, 'b', length);
        longest[length] = other[length] = '\0';
        kb_column_names n = names_of(ctx, name);
        kb_names_hint hint = kb_column_names_hint(&n, longest);
        size_t used = strlen(hint.text);
        assert_true(used < sizeof hint.text);
        int whole = strcmp(hint.text + used - 6, ", last") == 0;
        assert_true(whole || strcmp(hint.text + used - 2, "..") == 0);
        if (length <= 70)
            assert_true(whole);
        if (length >= 300)
            assert_string_equal(hint.text, "; the columns are ..");
        kb_column_names_clear(ctx, &n);
    }
    kb_context_free(ctx);
}

static int build_once(kb_context *ctx, void *unused) {
    static const char *const name[] = {"a", "", "a", "a.1", "a"};
    kb_column_names n;
    size_t renamed;
    (void)unused;
    kb_status status = kb_column_names_build(ctx, 5, (char *const *)name, &n, &renamed);
    kb_column_names_clear(ctx, &n);
    return (int)status;
}

/* In the order of the list; a pattern names them in that of the table, and none twice. */
static void kept_columns_are_in_the_order_of_their_list(void **unused) {
    static const struct {
        const char *keep;
        size_t place[4], kept;
    } known[] = {
        {"c,ab", {KB_NO_COLUMN, 1, 0, KB_NO_COLUMN}, 2},
        {"c,ab,c,3", {KB_NO_COLUMN, 1, 0, KB_NO_COLUMN}, 2},
        {"c,a*,-1", {1, 2, 0, 3}, 4},
        {"", {KB_NO_COLUMN, KB_NO_COLUMN, KB_NO_COLUMN, KB_NO_COLUMN}, 0},
    };
    kb_context *ctx = test_context();
    kb_column_names names = names_of(ctx, (const char *const[MOST]){"a", "ab", "c", "d"});
    kb_column_choice choice = {.names = &names, .count = 4};
    size_t place[4], kept;
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        assert_ok(ctx, kb_choose_kept(ctx, &choice, known[k].keep, place, &kept));
        assert_int_equal(kept, known[k].kept);
        for (size_t j = 0; j < 4; j++)
            assert_true(place[j] == known[k].place[j]);
    }
    assert_int_equal(kb_choose_kept(ctx, &choice, "a,e", place, &kept), KB_ERR_ARGUMENT);
    kb_column_names_clear(ctx, &names);
    kb_context_free(ctx);
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    run_with_allocation_failures(build_once, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_names_become_different),
        cmocka_unit_test(a_column_has_a_name_and_a_number),
        cmocka_unit_test(patterns_match_whole_texts),
        cmocka_unit_test(an_item_means_names_numbers_or_patterns),
        cmocka_unit_test(a_list_is_cut_into_items),
        cmocka_unit_test(a_hint_names_the_nearest_column),
        cmocka_unit_test(a_hint_has_room_for_names_of_any_length),
        cmocka_unit_test(kept_columns_are_in_the_order_of_their_list),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
