/* Maps built from data: the grids are those of the widths, given or by option. */
#include "model/fitted.h"

#include "fit/map_build.h"

/* WIDE: columns after the transform, which drops one and adds one. */
enum { N = 700, D = 4, WIDE = 4 };

static kb_status fit_with(kb_context *ctx, const kb_options *options, const kb_data *data,
                          const kb_widths *widths, kb_map **map) {
    kb_memory_plan plan = {SIZE_MAX, 0, 0};
    kb_binned binned;
    double forecast;
    kb_plan made = {.config = kb_config_of(options)};
    if (widths)
        made.widths = *widths;
    kb_status status = kb_map_build(ctx, &made, data, &plan, map, &binned, &forecast);
    kb_binned_release(&binned);
    return status;
}

static void given_widths_make_the_grids(void **unused) {
    static const kb_law LAW = {.kind = KB_KERNEL_LAPLACE};
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "scale", "ranks", "grids", "7", "sigma", "3");
    kb_data *data = tailed_data(ctx, N, D, 5, REAL, 1, 0);
    kb_width width[3 * WIDE];
    kb_widths widths = {3, WIDE, width};
    kb_map *map;
    kb_grids *want;
    (void)unused;
    for (size_t k = 0; k < 3 * WIDE; k++)
        width[k] = (kb_width){&LAW, 0.1 * (double)(k + 1), k % 5 == 0 ? 0.4 : 1};
    assert_ok(ctx, fit_with(ctx, options, data, &widths, &map));
    assert_ok(ctx, kb_grids_build(ctx, 1, 0, 7, &widths, &want));
    for (size_t r = 0; r < 7; r++)
        for (size_t j = 0; j < WIDE; j++) {
            assert_true(kb_grids_at(want, r, j)[0] == kb_grids_at(map->grids, r, j)[0]);
            assert_true(kb_grids_at(want, r, j)[KB_LANES] ==
                        kb_grids_at(map->grids, r, j)[KB_LANES]);
        }
    assert_string_equal(map->sigma, "learned");
    assert_int_equal(map->widths.vectors, 3);
    for (size_t k = 0; k < 3 * WIDE; k++) {
        assert_true(map->widths.width[k].sigma == width[k].sigma);
        assert_true(map->widths.width[k].q == width[k].q);
        assert_null(map->widths.width[k].law);
    }
    kb_map_free(map);
    kb_grids_free(want);
    widths.features = 3;
    assert_fails(ctx, KB_ERR_ARGUMENT, "widths of 3 features for 4",
                 fit_with(ctx, options, data, &widths, &map));
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

static void widths_by_option_are_kept(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = tailed_data(ctx, N, D, 5, REAL, 1, 0);
    kb_options *options = OPTIONS(ctx, "grids", "5", "sigma", "1,2,3,4");
    kb_map *map;
    (void)unused;
    assert_ok(ctx, fit_with(ctx, options, data, NULL, &map));
    assert_int_equal(map->widths.vectors, 1);
    for (size_t j = 0; j < D; j++)
        assert_true(map->widths.width[j].sigma == (double)(j + 1) && map->widths.width[j].q == 1);
    kb_map_free(map);
    /* The default mixes eight, of which five grids use five. */
    assert_ok(ctx, kb_options_set(ctx, options, "sigma", "default"));
    assert_ok(ctx, fit_with(ctx, options, data, NULL, &map));
    assert_int_equal(map->widths.vectors, 5);
    kb_map_free(map);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Two samples share a bin of Z where floor() puts them into the same one. */
static void z_holds_the_bins_of_the_grids(void **unused) {
    enum { ROWS = 60, R = 5 };
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "scale", "minmax", "grids", "5", "sigma", "0.4");
    kb_data *data = data_of(ctx, ROWS, 2, REAL);
    kb_memory_plan memory = {SIZE_MAX, 0, 0};
    kb_plan plan = {.config = kb_config_of(options)};
    kb_map *map;
    kb_binned binned;
    double forecast;
    (void)unused;
    assert_ok(ctx, kb_map_build(ctx, &plan, data, &memory, &map, &binned, &forecast));
    for (size_t r = 0; r < R; r++)
        for (size_t a = 0; a < ROWS; a++)
            for (size_t b = 0; b < a; b++) {
                int together = 1;
                for (size_t j = 0; j < 2; j++) {
                    const double *at = kb_grids_at(map->grids, r, j);
                    double bin[2];
                    for (int k = 0; k < 2; k++) {
                        double x = data->dense[(k ? b : a) * 2 + j];
                        bin[k] = floor((x - map->shift[j]) * map->scale[j] * at[0] + at[KB_LANES]);
                    }
                    together &= bin[0] == bin[1];
                }
                assert_int_equal(test_id(binned.z, r, a) == test_id(binned.z, r, b), together);
            }
    kb_binned_release(&binned);
    kb_map_free(map);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_widths_make_the_grids),
        cmocka_unit_test(widths_by_option_are_kept),
        cmocka_unit_test(z_holds_the_bins_of_the_grids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
