/* From --sigma to the widths of every feature. */
#include "features/world.h"

#include "core/number.h"
#include "fit/sigma.h"

typedef struct parsed {
    size_t vectors;
    kb_width *widths;
    char *words;
} parsed;

static kb_law LAW = {.kind = KB_KERNEL_LAPLACE};

/* The widths of an option's text, which is not checked as kb_options_set does. */
static kb_status parse_widths(kb_context *ctx, const char *text, const kb_law *law, size_t d,
                              double spread, size_t *vectors, kb_width **widths, char **words) {
    kb_sigma sigma = {.kind = KB_SIGMA_LIST, .text = text};
    if (strcmp(text, "default") == 0)
        sigma.kind = KB_SIGMA_DEFAULT;
    else if (*text == '@')
        sigma = (kb_sigma){.kind = KB_SIGMA_FILE, .text = text + 1};
    else if (!strchr(text, ',') && kb_number_parse(text, &sigma.value))
        sigma.kind = text[strspn(text, "0123456789.e-")] ? KB_SIGMA_LIST : KB_SIGMA_NUMBER;
    return kb_sigma_widths(ctx, &sigma, law, d, spread, vectors, widths, words);
}

static void check(kb_context *ctx, const char *text, size_t d, size_t vectors, const double *sigma,
                  const char *words) {
    parsed p;
    assert_ok(ctx, parse_widths(ctx, text, &LAW, d, 0.25, &p.vectors, &p.widths, &p.words));
    assert_int_equal(p.vectors, vectors);
    for (size_t k = 0; k < vectors * d; k++) {
        assert_true(p.widths[k].sigma == sigma[k]);
        assert_true(p.widths[k].q == 1);
        assert_ptr_equal(p.widths[k].law, &LAW);
    }
    assert_string_equal(p.words, words);
    kb_release(ctx, p.widths);
    kb_release(ctx, p.words);
}

static void one_number_is_for_all_features(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    check(ctx, "0.75", 3, 1, (const double[]){0.75, 0.75, 0.75}, "0.75");
    check(ctx, "1e-200", 1, 1, (const double[]){1e-200}, "1e-200");
    check(ctx, "0.10", 1, 1, (const double[]){0.1}, "0.1");
    kb_context_free(ctx);
}

static void a_list_has_one_number_a_feature(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    check(ctx, "1,2.5,3e2", 3, 1, (const double[]){1, 2.5, 300}, "1,2.5,3e2");
    kb_context_free(ctx);
}

static void check_file(const char *text, size_t d, size_t vectors, const double *sigma) {
    kb_context *ctx = test_context();
    test_path path = file_with("sigma.txt", text);
    char option[600];
    snprintf(option, sizeof option, "@%s", path.text);
    check(ctx, option, d, vectors, sigma, option);
    unlink(path.text);
    kb_context_free(ctx);
}

static void a_file_has_a_vector_on_each_line(void **unused) {
    (void)unused;
    check_file("1 2 3\n", 3, 1, (const double[]){1, 2, 3});
    check_file("1,2,3", 3, 1, (const double[]){1, 2, 3});
    check_file("1 2\n\n 3\t4 \r\n5, 6\n", 2, 3, (const double[]){1, 2, 3, 4, 5, 6});
    check_file("7\n", 3, 1, (const double[]){7, 7, 7});
    check_file("1\n2\n", 3, 2, (const double[]){1, 1, 1, 2, 2, 2}); /* each for all features */
}

static void one_column_is_one_vector(void **unused) {
    (void)unused;
    check_file("1\n2\n3\n", 3, 1, (const double[]){1, 2, 3});
    check_file("1\n", 1, 1, (const double[]){1});
}

/* Half the mean deviation times d, times 2^(-7/4), 2^(-5/4), .. 2^(7/4) in some order. */
static void the_default_spans_a_range_around_the_spread(void **unused) {
    kb_context *ctx = test_context();
    static const double spreads[] = {0.25, 0};
    (void)unused;
    for (int k = 0; k < 2; k++) {
        parsed p;
        double sum = 0, least = INFINITY, most = 0, middle = k == 0 ? 0.5 : 1;
        assert_ok(ctx, parse_widths(ctx, "default", &LAW, 4, spreads[k], &p.vectors, &p.widths,
                                    &p.words));
        assert_int_equal(p.vectors, 8);
        for (size_t v = 0; v < 8; v++) {
            double sigma = p.widths[v * 4].sigma;
            for (size_t j = 1; j < 4; j++)
                assert_true(p.widths[v * 4 + j].sigma == sigma);
            sum += log2(sigma / middle);
            least = fmin(least, log2(sigma / middle));
            most = fmax(most, log2(sigma / middle));
        }
        assert_true(fabs(sum) < 1e-12 && fabs(least + 1.75) < 1e-12 && fabs(most - 1.75) < 1e-12);
        char words[40];
        snprintf(words, sizeof words, "default(%.4g)", middle);
        assert_string_equal(p.words, words);
        kb_release(ctx, p.widths);
        kb_release(ctx, p.words);
    }
    kb_context_free(ctx);
}

static void refused(kb_context *ctx, const char *text, size_t d, kb_status status,
                    const char *message) {
    parsed p = {.widths = (kb_width *)&p};
    assert_fails(ctx, status, message,
                 parse_widths(ctx, text, &LAW, d, 1, &p.vectors, &p.widths, &p.words));
    assert_null(p.widths);
    assert_null(p.words);
}

static void sigmas_that_do_not_fit_are_refused(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    refused(ctx, "1,2", 3, KB_ERR_ARGUMENT, "--sigma: 2 numbers for 3 features");
    refused(ctx, "1,2,3,4", 3, KB_ERR_ARGUMENT, "--sigma: 4 numbers for 3 features");
    refused(ctx, "0", 3, KB_ERR_ARGUMENT, "--sigma: '0' is not a positive number");
    refused(ctx, "1,-2,3", 3, KB_ERR_ARGUMENT, "--sigma: '-2' is not a positive number");
    refused(ctx, "1,x,3", 3, KB_ERR_ARGUMENT, "--sigma: 'x' is not a positive number");
    refused(ctx, "1e-300", 1, KB_ERR_ARGUMENT, "--sigma: '1e-300' is not within 1e-200 to 1e200");
    refused(ctx, "1x", 1, KB_ERR_ARGUMENT, "--sigma: '1x' is not a positive number");
    refused(ctx, "@/nowhere/s.txt", 3, KB_ERR_IO,
            "/nowhere/s.txt: cannot open: No such file or directory");
    kb_context_free(ctx);
}

static void bad_files_are_refused_with_their_place(void **unused) {
    static const struct {
        const char *text, *message; /* the message goes on after the path */
    } cases[] = {
        {"\n", ": no numbers in it"},
        {"\n \n", ": no numbers in it"},
        {"1 2\n3 4\nfive 6\n", ":3: 'five' is not a positive number"},
        {"1 2\n3 -4\n", ":2: '-4' is not a positive number"},
        {"1 2\n\n3\n", ":3: lines of 2 and of 1 numbers"},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_path path = file_with("sigma.txt", cases[i].text);
        char option[600], message[700];
        snprintf(option, sizeof option, "@%s", path.text);
        snprintf(message, sizeof message, "%s%s", path.text, cases[i].message);
        refused(ctx, option, 2, KB_ERR_ARGUMENT, message);
        unlink(path.text);
    }
    test_path path = file_with("sigma.txt", "1 2 3\n4 5 6\n");
    char option[600];
    snprintf(option, sizeof option, "@%s", path.text);
    refused(ctx, option, 2, KB_ERR_ARGUMENT, "--sigma: 3 numbers for 2 features");
    unlink(path.text);
    kb_context_free(ctx);
}

static int parse(kb_context *ctx, void *arg) {
    parsed p;
    kb_status status = parse_widths(ctx, arg, &LAW, 2, 1, &p.vectors, &p.widths, &p.words);
    kb_release(ctx, p.widths);
    kb_release(ctx, p.words);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    char text[2000] = "", option[600];
    (void)unused;
    for (int i = 1; i <= 60; i++)
        snprintf(text + strlen(text), 30, "%d %d\n", i, i);
    test_path path = file_with("sigma.txt", text);
    snprintf(option, sizeof option, "@%s", path.text);
    run_with_allocation_failures(parse, "0.5");
    run_with_allocation_failures(parse, "1,2");
    run_with_allocation_failures(parse, "default");
    run_with_allocation_failures(parse, option);
    unlink(path.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number_is_for_all_features),
        cmocka_unit_test(a_list_has_one_number_a_feature),
        cmocka_unit_test(a_file_has_a_vector_on_each_line),
        cmocka_unit_test(one_column_is_one_vector),
        cmocka_unit_test(the_default_spans_a_range_around_the_spread),
        cmocka_unit_test(sigmas_that_do_not_fit_are_refused),
        cmocka_unit_test(bad_files_are_refused_with_their_place),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
