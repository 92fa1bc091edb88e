/* Synthetic data sets. */
#include "support.h"

#include "data/synthetic.h"

#include <math.h>

static const struct {
    const char *name;
    size_t features, classes;
} known[] = {
    {"checkers", 2, 2}, {"rings", 2, 3}, {"spirals", 2, 2}, {"friedman", 10, 0}, {"steps", 4, 0}};
enum { KNOWN = sizeof known / sizeof *known };

static kb_data *build(kb_context *ctx, const char *name, size_t rows, double noise, uint64_t seed) {
    kb_data *data;
    assert_ok(ctx, kb_synthetic_build(ctx, name, rows, noise, seed, &data));
    return data;
}

static void every_name_builds_its_set(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < KNOWN; k++) {
        assert_non_null(strstr(kb_synthetic_names(), known[k].name));
        kb_data *data = build(ctx, known[k].name, 3000, 0, 1);
        assert_int_equal(data->rows, 3000);
        assert_int_equal(data->features, known[k].features);
        size_t count[3] = {0};
        for (size_t i = 0; i < data->rows && known[k].classes > 0; i++) {
            assert_true(data->label[i] >= 0 && data->label[i] < (double)known[k].classes);
            count[(size_t)data->label[i]]++;
        }
        /* Classes are balanced: a share off by 5 deviations (0.009) would be an error. */
        for (size_t c = 0; c < known[k].classes; c++)
            assert_true(fabs((double)count[c] / 3000 - 1.0 / (double)known[k].classes) < 0.045);
        kb_data_free(data);
    }
    kb_context_free(ctx);
}

static void a_row_depends_on_seed_and_number_alone(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < KNOWN; k++) {
        size_t d = known[k].features;
        kb_data *few = build(ctx, known[k].name, 10, 0.1, 7);
        kb_data *many = build(ctx, known[k].name, 1000, 0.1, 7);
        kb_data *other = build(ctx, known[k].name, 10, 0.1, 8);
        assert_memory_equal(few->dense, many->dense, 10 * d * sizeof(double));
        assert_memory_equal(few->label, many->label, 10 * sizeof(double));
        assert_memory_not_equal(few->dense, other->dense, 10 * d * sizeof(double));
        kb_data_free(few);
        kb_data_free(many);
        kb_data_free(other);
    }
    kb_context_free(ctx);
}

static double variance_of_difference(const kb_data *a, const kb_data *b) {
    double mean = 0, square = 0, N = (double)a->rows;
    for (size_t i = 0; i < a->rows; i++) {
        double x = a->label[i] - (b ? b->label[i] : 0);
        mean += x / N;
        square += x * x / N;
    }
    return square - mean * mean;
}

/* Deviations from 100,000 rows are known to within 1 %. */
static void noise_has_the_size_that_was_asked_for(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < KNOWN; k++) {
        kb_data *clean = build(ctx, known[k].name, 100000, 0, 3);
        kb_data *noisy = build(ctx, known[k].name, 100000, 0.25, 3);
        assert_memory_equal(clean->dense, noisy->dense,
                            clean->rows * clean->features * sizeof(double));
        double flipped = 0;
        for (size_t i = 0; i < clean->rows; i++)
            flipped += clean->label[i] != noisy->label[i];
        if (known[k].classes > 0)
            assert_true(fabs(flipped / 1e5 - 0.25) < 0.01);
        else
            assert_true(fabs(sqrt(variance_of_difference(noisy, clean) /
                                  variance_of_difference(clean, NULL)) -
                             0.25) < 0.0025);
        kb_data_free(clean);
        kb_data_free(noisy);
    }
    kb_context_free(ctx);
}

/* The formulas again, with libm. */
static void targets_follow_their_formulas(void **unused) {
    kb_context *ctx = test_context();
    kb_data *friedman = build(ctx, "friedman", 1000, 0, 5),
            *steps = build(ctx, "steps", 1000, 0, 5);
    kb_data *rings = build(ctx, "rings", 1000, 0, 5);
    const double pi = 3.14159265358979323846;
    (void)unused;
    for (size_t i = 0; i < 1000; i++) {
        const double *x = friedman->dense + 10 * i, *s = steps->dense + 4 * i;
        double y =
            10 * sin(pi * x[0] * x[1]) + 20 * (x[2] - .5) * (x[2] - .5) + 10 * x[3] + 5 * x[4];
        assert_true(fabs(friedman->label[i] - y) < 1e-13);
        y = floor(4 * s[0]) + (s[1] > 0.3 && s[2] < 0.7 ? 2 : 0) + sin(2 * pi * s[3]);
        assert_true(fabs(steps->label[i] - y) < 1e-14);
        const double *r = rings->dense + 2 * i;
        assert_int_equal((int)hypot(r[0], r[1]), (int)rings->label[i]);
    }
    kb_data_free(friedman);
    kb_data_free(steps);
    kb_data_free(rings);
    kb_context_free(ctx);
}

static void invalid_requests_are_refused(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = (kb_data *)ctx;
    (void)unused;
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "no synthetic data are called 'moons'; there are "
                 "checkers|rings|spirals|friedman|steps",
                 kb_synthetic_build(ctx, "moons", 10, 0, 1, &data));
    assert_null(data);
    assert_int_equal(kb_synthetic_build(ctx, "rings", 0, 0, 1, &data), KB_ERR_ARGUMENT);
    assert_int_equal(kb_synthetic_build(ctx, "rings", 10, 1.5, 1, &data), KB_ERR_ARGUMENT);
    assert_int_equal(kb_synthetic_build(ctx, "rings", 10, NAN, 1, &data), KB_ERR_ARGUMENT);
    assert_int_equal(kb_synthetic_build(ctx, "steps", 10, -1, 1, &data), KB_ERR_ARGUMENT);
    assert_int_equal(kb_synthetic_build(ctx, "steps", SIZE_MAX, 0, 1, &data), KB_ERR_DATA);
    assert_null(data);
    kb_context_free(ctx);
}

static int build_one(kb_context *ctx, void *name) {
    kb_data *data;
    kb_status status = kb_synthetic_build(ctx, name, 10, 0.1, 1, &data);
    kb_data_free(data);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    char name[] = "friedman";
    (void)unused;
    run_with_allocation_failures(build_one, name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_builds_its_set),
        cmocka_unit_test(a_row_depends_on_seed_and_number_alone),
        cmocka_unit_test(noise_has_the_size_that_was_asked_for),
        cmocka_unit_test(targets_follow_their_formulas),
        cmocka_unit_test(invalid_requests_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
