/* What texts look like that are read as words. */
#include "support.h"

#include "table/look.h"

enum { MOST = 4 };

static void texts_look_like_words_numbers_or_dates(void **unused) {
    static const struct {
        const char *text[MOST];
        kb_texts_look want;
    } known[] = {
        {{NULL}, KB_LOOK_WORDS},
        {{"red", "blue"}, KB_LOOK_WORDS},
        {{"$12.50", "$7", "$1,200"}, KB_LOOK_UNITS},
        {{"70 kg", "82.5 kg"}, KB_LOOK_UNITS},
        {{"70kg", "82 kg"}, KB_LOOK_WORDS}, /* not one unit */
        {{"70 kg", "82 lb"}, KB_LOOK_WORDS},
        {{"$5", "7"}, KB_LOOK_WORDS},
        {{"12.5%", "3%"}, KB_LOOK_UNITS},
        {{"12 km/h", "30 km/h"}, KB_LOOK_UNITS},
        {{"\xe2\x82\xac 5", "\xe2\x82\xac 1.200,50"}, KB_LOOK_UNITS}, /* euros */
        {{"5 \xe2\x82\xac", "6 \xe2\x82\xac"}, KB_LOOK_UNITS},
        {{"A12", "A13"}, KB_LOOK_WORDS},                   /* codes */
        {{"12", "13"}, KB_LOOK_WORDS},                     /* neither sign nor unit */
        {{"5 kilometers", "6 kilometers"}, KB_LOOK_WORDS}, /* too long for a unit */
        {{"5-6 kg", "7-8 kg"}, KB_LOOK_WORDS},
        {{"kg", "kg "}, KB_LOOK_WORDS},
        {{"$"}, KB_LOOK_WORDS},
        {{"2020-01-31", "2021-02-28"}, KB_LOOK_DATES},
        {{"1/31/2020"}, KB_LOOK_DATES},
        {{"1/2/2020"}, KB_LOOK_DATES}, /* the month first, where both are possible */
        {{"1/2/2020", "31/12/2020"}, KB_LOOK_DAY_FIRST},
        {{"31/12/2020", "30/11/2020 12:30"}, KB_LOOK_DAY_FIRST},
        {{"31/12/2020", "12/31/2020"}, KB_LOOK_WORDS}, /* no order fits both */
        {{"31/12/2020", "soon"}, KB_LOOK_WORDS},
        {{"2020-01-31", "soon"}, KB_LOOK_WORDS},
        {{"32/1/2020", "31/1/2020"}, KB_LOOK_WORDS},
        {{"31/12/2020 and many more letters than a date has"}, KB_LOOK_WORDS},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        kb_text_ids text = {0};
        uint32_t number;
        for (size_t j = 0; j < MOST && known[k].text[j]; j++)
            assert_ok(ctx, kb_text_ids_number(ctx, &text, known[k].text[j],
                                              strlen(known[k].text[j]), &number));
        kb_texts_look got = kb_texts_look_of(&text);
        if (got != known[k].want)
            fail_msg("case %zu, '%s' ..: %d", k, known[k].text[0], (int)got);
        kb_text_ids_clear(ctx, &text);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_look_like_words_numbers_or_dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
