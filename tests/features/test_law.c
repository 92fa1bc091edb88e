/* Width laws: what a width is drawn for is that two points at distance t share a bin with
 * probability k(t), and a grid of width delta keeps them together with max(0, 1 - t/delta). */
#include "support.h"

#include "features/law.h"

#include <math.h>

enum { DRAWS = 400000 };

static kb_law *law_of(kb_context *ctx, const char *text) {
    kb_law *law;
    assert_ok(ctx, kb_law_parse(ctx, text, &law));
    return law;
}

/* "table:PATH" for a file with this text. */
static test_path table_with(const char *text, char *kernel) {
    test_path path = file_with("kernel.txt", text);
    snprintf(kernel, 600, "table:%s", path.text);
    return path;
}

static const char TABLE[] = "# half of a tent on a wide skirt\n"
                            "0 1\n"
                            "0.5,0.4\n"
                            "\n"
                            "  1\t0.2 \r\n"
                            "3 0\n";

/* Mean of max(0, 1 - t/width) over the draws, within 5 standard errors of k(t): a wrong law
 * is off by a hundred of them, a right one by more than 5 once in two million.  Adding up
 * 400,000 terms rounds by 1e-11. */
static void check_mean(const kb_law *law, double t, double k) {
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double width = kb_law_width(law, kb_random_uniform(9, KB_STREAM_WIDTH, i, 3));
        assert_true(width > 0);
        double together = fmax(0, 1 - t / width);
        sum += together;
        squares += together * together;
    }
    double mean = sum / DRAWS, variance = squares / DRAWS - mean * mean;
    if (!(fabs(mean - k) <= 5 * sqrt(fmax(variance, 0) / DRAWS) + 1e-10))
        fail_msg("at %g: mean %.6f, kernel %.6f", t, mean, k);
}

static void widths_make_the_kernel_in_the_mean(void **unused) {
    static const double distance[] = {0, 0.1, 0.5, 1, 2.5};
    kb_context *ctx = test_context();
    char table[600];
    test_path path = table_with(TABLE, table);
    const char *kernels[] = {"laplace", "triangle", "power:1", "power:2.5", "power:0.3", table};
    (void)unused;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        kb_law *law = law_of(ctx, kernels[i]);
        for (size_t k = 0; k < sizeof distance / sizeof *distance; k++)
            check_mean(law, distance[k], kb_law_kernel(law, distance[k]));
        kb_law_free(law);
    }
    unlink(path.text);
    kb_context_free(ctx);
}

static void kernels_are_their_formulas(void **unused) {
    kb_context *ctx = test_context();
    char table[600];
    test_path path = table_with(TABLE, table);
    kb_law *laplace = law_of(ctx, "laplace"), *triangle = law_of(ctx, "triangle");
    kb_law *power = law_of(ctx, "power:2"), *lines = law_of(ctx, table);
    (void)unused;
    assert_true(kb_law_kernel(laplace, 0) == 1);
    assert_true(fabs(kb_law_kernel(laplace, 2) - 0.1353352832366127) < 1e-15);
    assert_true(kb_law_kernel(triangle, 0.25) == 0.75);
    assert_true(kb_law_kernel(triangle, 4) == 0);
    assert_true(fabs(kb_law_kernel(power, 1) - 0.25) < 1e-15);
    /* Straight lines between the knots; a few roundings of numbers below 1. */
    static const double at[][2] = {{0, 1},   {0.25, 0.7}, {0.5, 0.4}, {0.75, 0.3},
                                   {1, 0.2}, {2, 0.1},    {3, 0},     {5, 0}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        assert_true(fabs(kb_law_kernel(lines, at[i][0]) - at[i][1]) < 1e-14);
    kb_law_free(laplace);
    kb_law_free(triangle);
    kb_law_free(power);
    kb_law_free(lines);
    unlink(path.text);
    kb_context_free(ctx);
}

/* Knot t_i has probability t_i times the change of slope there (law.c). */
static void a_table_draws_its_knots_by_the_change_of_slope(void **unused) {
    static const double knot[] = {0.5, 1, 3};
    static const double share[] = {0.5 * (1.2 - 0.4), 1 * (0.4 - 0.1), 3 * 0.1};
    kb_context *ctx = test_context();
    char table[600];
    test_path path = table_with(TABLE, table);
    kb_law *law = law_of(ctx, table);
    double count[3] = {0};
    (void)unused;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double width = kb_law_width(law, kb_random_uniform(1, KB_STREAM_WIDTH, i, 0));
        int found = 0;
        for (int k = 0; k < 3; k++)
            if (width == knot[k])
                found = 1, count[k]++;
        assert_true(found);
    }
    for (int k = 0; k < 3; k++) /* 5 standard errors of a share */
        assert_true(fabs(count[k] / DRAWS - share[k]) <
                    5 * sqrt(share[k] * (1 - share[k]) / DRAWS));
    kb_law_free(law);
    unlink(path.text);
    kb_context_free(ctx);
}

static void a_table_of_a_straight_line_is_the_triangle(void **unused) {
    kb_context *ctx = test_context();
    char table[600];
    /* The knot in the middle changes no slope, but for the rounding of its decimals. */
    test_path path = table_with("0 1\n0.3 0.7\n1 0\n", table);
    kb_law *law = law_of(ctx, table);
    (void)unused;
    for (uint64_t i = 0; i < 10000; i++)
        assert_true(kb_law_width(law, kb_random_uniform(1, KB_STREAM_WIDTH, i, 0)) == 1);
    kb_law_free(law);
    unlink(path.text);
    kb_context_free(ctx);
}

/* The smallest and largest uniform numbers give widths that can be used. */
static void the_outermost_draws_are_finite_and_positive(void **unused) {
    static const char *const kernels[] = {"laplace", "triangle", "power:0.01", "power:1000"};
    static const double edge[] = {0x1p-53, 1 - 0x1p-53};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        kb_law *law = law_of(ctx, kernels[k]);
        for (int u = 0; u < 2; u++)
            for (int v = 0; v < 2; v++) {
                double width = kb_law_width(law, (kb_uniform2){edge[u], edge[v]});
                assert_true(isfinite(width) && width > 0);
            }
        kb_law_free(law);
    }
    kb_context_free(ctx);
}

static void refused(kb_context *ctx, const char *text, kb_status status, const char *message) {
    kb_law *law = (kb_law *)&status;
    assert_fails(ctx, status, message, kb_law_parse(ctx, text, &law));
    assert_null(law);
}

static void unknown_kernels_are_refused(void **unused) {
    static const char *const names[] = {"gauss",   "laplacex", "",        "power",
                                        "Laplace", "table",    "power:",  "power:x",
                                        "power:0", "power:-1", "power:1 "};
    static const char *const powers[] = {"power:0.009", "power:1001"};
    kb_context *ctx = test_context();
    char message[200];
    (void)unused;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(message, sizeof message,
                 "--kernel %s: must be laplace, triangle, power:A or table:FILE",
                 *names[i] ? names[i] : "''");
        refused(ctx, names[i], KB_ERR_ARGUMENT, message);
    }
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        snprintf(message, sizeof message, "--kernel %s: A must be from 0.01 to 1000", powers[i]);
        refused(ctx, powers[i], KB_ERR_ARGUMENT, message);
    }
    refused(ctx, "table:/nowhere/k.txt", KB_ERR_IO,
            "/nowhere/k.txt: cannot open: No such file or directory");
    kb_context_free(ctx);
}

static void bad_tables_are_refused_with_their_place(void **unused) {
    static const struct {
        const char *text, *message; /* the message goes on after the path */
    } cases[] = {
        {"0 1\n0.5 x\n1 0\n", ":2: want two numbers, a distance and the kernel there"},
        {"# k\n\n0 1\n1\n", ":4: want two numbers, a distance and the kernel there"},
        {"0 1\n1 0 3\n", ":2: want two numbers, a distance and the kernel there"},
        {"0 1\n1 inf\n", ":2: want two numbers, a distance and the kernel there"},
        {"0 1\n1 nan\n", ":2: want two numbers, a distance and the kernel there"},
        {"", ": the file is empty"},
        {"\n", ": a kernel table runs from '0 1' to '.. 0'"},
        {"0 1\n", ": a kernel table runs from '0 1' to '.. 0'"},
        {"0 2\n1 0\n", ": a kernel table runs from '0 1' to '.. 0'"},
        {"0.1 1\n1 0\n", ": a kernel table runs from '0 1' to '.. 0'"},
        {"0 1\n1 0.5\n", ": a kernel table runs from '0 1' to '.. 0'"},
        {"0 1\n1 0.5\n1 0\n", ": distances must increase (1 after 1)"},
        {"0 1\n2 0.5\n1 0\n", ": distances must increase (1 after 2)"},
        {"0 1\n1 0.9\n2 0\n", ": the kernel must be convex and decreasing (at 1)"},
        {"0 1\n1 1.1\n2 0\n", ": the kernel must be convex and decreasing (at 1)"},
        {"0 1\n1 -0.1\n2 0\n", ": the kernel must be convex and decreasing (at 2)"},
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char table[600], message[700];
        test_path path = table_with(cases[i].text, table);
        snprintf(message, sizeof message, "%s%s", path.text, cases[i].message);
        refused(ctx, table, KB_ERR_DATA, message);
        unlink(path.text);
    }
    kb_context_free(ctx);
}

static void a_long_comment_is_one_line(void **unused) {
    kb_context *ctx = test_context();
    char text[1500], table[600], message[700];
    memset(text, 'x', 1000);
    text[0] = '#';
    strcpy(text + 1000, "\n0 1\n1 0\n");
    test_path path = table_with(text, table);
    (void)unused;
    kb_law_free(law_of(ctx, table));
    strcpy(text + 1000, "\n0 1\n1 zero\n");
    path = table_with(text, table);
    snprintf(message, sizeof message, "%s:3: want two numbers, a distance and the kernel there",
             path.text);
    refused(ctx, table, KB_ERR_DATA, message);
    unlink(path.text);
    kb_context_free(ctx);
}

static void knots_too_close_for_their_slope_are_refused(void **unused) {
    kb_context *ctx = test_context();
    char table[600];
    test_path path = table_with("0 1\n1e-320 0\n", table);
    kb_law *law;
    (void)unused;
    assert_int_equal(kb_law_parse(ctx, table, &law), KB_ERR_DATA);
    assert_non_null(strstr(kb_context_message(ctx), path.text));
    unlink(path.text);
    kb_context_free(ctx);
}

static int parse(kb_context *ctx, void *arg) {
    kb_law *law;
    kb_status status = kb_law_parse(ctx, arg, &law);
    kb_law_free(law);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    char table[600], text[2000] = "";
    for (int i = 0; i < 50; i++) /* more than the first growth of the lists */
        snprintf(text + strlen(text), 100, "%d %.17g\n", i, (49 - i) * (49 - i) / 2401.0);
    test_path path = table_with(text, table);
    (void)unused;
    run_with_allocation_failures(parse, "laplace");
    run_with_allocation_failures(parse, table);
    unlink(path.text);
}

/* 1 - exp(-1/sigma), within rounding; 1 - exp loses digits where sigma is large. */
static void levels_are_cut_as_laplace_parts_points_at_distance_1(void **unused) {
    static const double sigma[] = {1e-3, 0.1, 0.7, 1, 3, 40, 1e6, 1e200};
    (void)unused;
    assert_true(kb_law_levels()->levels);
    for (size_t k = 0; k < sizeof sigma / sizeof *sigma; k++) {
        double cut = kb_levels_cut(sigma[k]);
        assert_true(cut >= 0 && cut <= 1);
        assert_true(fabs(cut + expm1(-1 / sigma[k])) < 1e-15);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_make_the_kernel_in_the_mean),
        cmocka_unit_test(kernels_are_their_formulas),
        cmocka_unit_test(a_table_draws_its_knots_by_the_change_of_slope),
        cmocka_unit_test(a_table_of_a_straight_line_is_the_triangle),
        cmocka_unit_test(the_outermost_draws_are_finite_and_positive),
        cmocka_unit_test(unknown_kernels_are_refused),
        cmocka_unit_test(bad_tables_are_refused_with_their_place),
        cmocka_unit_test(a_long_comment_is_one_line),
        cmocka_unit_test(knots_too_close_for_their_slope_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(levels_are_cut_as_laplace_parts_points_at_distance_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
