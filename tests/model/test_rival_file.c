/* Models of the rival maps through their files: whole ones come back to the bit, all others are
 * refused. */
#include "model/rivals.h"
#include "model/forged.h"

static void check_record(const kb_model *model, int map, const way *w, size_t N) {
    const kb_fit_info *info = kb_model_info(model);
    int direct = map >= BLOCKS;
    assert_int_equal(info->converged, 1);
    assert_string_equal(info->map, MAPS[map]);
    assert_string_equal(info->kernel, map % 2 ? "gauss" : "laplace");
    assert_string_equal(info->loss, w->loss);
    assert_string_equal(info->probability, w->rule);
    assert_string_equal(info->solver, strcmp(w->loss, "square") ? "newton"
                                      : direct                  ? "cholesky"
                                                                : "cg");
    assert_int_equal(info->grids, 40);
    assert_int_equal(info->bins, direct ? N : 40);
    assert_int_equal(info->kept_bins, info->bins);
    assert_true(info->nonzeros > 0 && info->nonzeros <= info->bins * info->outputs);
    assert_true(info->kappa == 0);
    assert_true(info->train_score > (info->classes ? 0.6 : 0.4)); /* smooth, and of low rank */
}

/* The model scores as its info says on the training rows, and the file keeps every bit. */
static void every_loss_comes_through_a_file(void **unused) {
    enum { N = 200 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2 * MAP_COUNT * RIVAL_WAYS; k++) {
        const way *w = &WAYS[k / 2 % RIVAL_WAYS];
        int map = k / 2 / RIVAL_WAYS;
        kb_options *options = rival_options(ctx, map, w, k % 2 ? "on" : "off");
        kb_data *data = data_of(ctx, N, 2, w->kind);
        kb_model *model = model_of(ctx, options, data), *back;
        const kb_fit_info *info = kb_model_info(model);
        size_t C = info->outputs;
        check_record(model, map, w, N);
        test_path path = written(ctx, model);
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        assert_string_equal(kb_model_info(back)->map, MAPS[map]);
        assert_true(kb_model_info(back)->objective == info->objective);
        assert_same_file_again(ctx, back, path.text);
        unlink(path.text);
        double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, back, data);
        assert_same_bits(f, g, N * C);
        kb_score score = KB_SCORE_INIT;
        assert_ok(ctx, kb_model_score(ctx, back, data, f, &score));
        assert_true(fabs(info->train_score - (info->classes ? score.accuracy : score.r2)) < 1e-12);
        if (strcmp(w->rule, "none") != 0) {
            double p[3 * N], q[3 * N];
            assert_ok(ctx, kb_model_probability(ctx, model, N, f, p));
            assert_ok(ctx, kb_model_probability(ctx, back, N, g, q));
            assert_same_bits(p, q, N * info->classes);
            assert_true(score.log_loss <
                        (info->classes == 2 ? 0.65 : 1)); /* chance: log 2, log 3 */
        }
        free(f), free(g);
        kb_model_free(model);
        kb_model_free(back);
        kb_data_free(data);
        kb_options_free(options);
    }
    kb_context_free(ctx);
}

/* A model of a kernel table no longer needs the file of the table. */
static void tables_come_through_a_file(void **unused) {
    kb_context *ctx = test_context();
    kb_data *data = data_of(ctx, 60, 2, REAL);
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++) {
        test_path table;
        kb_options *options = RIVAL(ctx, map, "kernel", kernel_text("table", &table));
        kb_model *model = model_of(ctx, options, data), *back;
        test_path path = written(ctx, model);
        unlink(table.text);
        assert_ok(ctx, kb_model_read(ctx, path.text, &back));
        double *f = decisions_of(ctx, model, data), *g = decisions_of(ctx, back, data);
        assert_same_bits(f, g, 60);
        unlink(path.text);
        free(f), free(g);
        kb_model_free(model);
        kb_model_free(back);
        kb_options_free(options);
    }
    kb_data_free(data);
    kb_context_free(ctx);
}

typedef struct threaded {
    int map, sparse;
    const way *w;
    const char *penalty;
} threaded;

static fit_inputs weighted_rival(kb_context *ctx, const void *arg) {
    static const double weights[] = {0.5, 1.5, 2.5};
    const threaded *t = arg;
    fit_inputs in = {rival_options(ctx, t->map, t->w, "on"), data_of(ctx, 250, 3, t->w->kind)};
    assert_ok(ctx, kb_options_set(ctx, in.options, "penalty", t->penalty));
    if (t->sparse) {
        kb_data *dense = in.data;
        in.data = sparse_of(ctx, dense);
        kb_data_free(dense);
    }
    weigh_rows(ctx, in.data, weights, 3);
    return in;
}

static void threads_change_no_byte_of_the_model_file(void **unused) {
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int k = 0; k < RIVAL_WAYS; k++)
            for (int l1 = 0; l1 <= takes_l1(map, &WAYS[k]); l1++) {
                threaded t = {map, k % 2, &WAYS[k], l1 ? "l1" : "l2"};
                if (!is_long(&WAYS[k]))
                    assert_same_file_for_threads(weighted_rival, &t);
            }
}

/* ---- hostile files ----------------------------------------------------- */

static test_path original(kb_context *ctx, int map, int sparse) {
    test_path table;
    kb_options *options = RIVAL(ctx, map, "grids", "9", "kernel", kernel_text("table", &table));
    kb_data *dense = data_of(ctx, 40, 2, THREE), *other = sparse_of(ctx, dense);
    kb_model *model = model_of(ctx, options, sparse ? other : dense);
    test_path path = written(ctx, model);
    unlink(table.text);
    kb_model_free(model);
    kb_data_free(dense);
    kb_data_free(other);
    kb_options_free(options);
    return path;
}

/* The names of all arrays of a file; the texts belong to the header. */
static size_t names_of(const parts *p, const char **name) {
    size_t count = 0;
    const char *key;
    json_t *entry;
    json_object_foreach(p->header, key, entry) if (strcmp(key, "__metadata__") != 0) name[count++] =
        key;
    assert_true(count >= 5 && count <= 32);
    return count;
}

static void every_array_must_be_there_and_sound(void **unused) {
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, 1);
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++)
        for (int sparse = 0; sparse < 2; sparse++) {
            test_path path = original(ctx, map, sparse);
            const char *name[32];
            parts whole = take_apart(path.text);
            size_t count = names_of(&whole, name);
            for (size_t k = 0; k < count; k++)
                for (int how = 0; how < DAMAGED_NUMBERS; how++) {
                    parts p = take_apart(path.text);
                    if (damage(&p, name[k], how)) {
                        char what[128];
                        snprintf(what, sizeof what, "%s: %s, damage %d", MAPS[map], name[k], how);
                        refused_parts(ctx, &p, what, "damaged");
                    }
                    parts_free(&p);
                }
            parts_free(&whole);
            unlink(path.text);
        }
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void descriptions_that_do_not_fit_are_refused(void **unused) {
    static const char *const keys[] = {"features", "bins", "outputs", "classes"};
    static const json_int_t sizes[] = {0, -1, 1, 5, INT64_C(1) << 31, INT64_C(1) << 48, INT64_MAX};
    kb_context *ctx = test_context();
    (void)unused;
    for (int map = 0; map < MAP_COUNT; map++) {
        test_path path = original(ctx, map, map % 2);
        parts p = take_apart(path.text);
        assert_string_equal(version_of(&p), map % 2 ? "2" : "5");
        parts_free(&p);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                p = take_apart(path.text);
                json_object_set_new(p.model, keys[k], json_integer(sizes[s]));
                refused_parts(ctx, &p, keys[k], "damaged");
                parts_free(&p);
            }
        for (int other = -2; other < MAP_COUNT; other++) { /* a map of other arrays, or none */
            p = take_apart(path.text);
            json_object_set_new(p.model, "map",
                                json_string(other == -2   ? "wavelet"
                                            : other == -1 ? "binning"
                                                          : MAPS[other]));
            if (other == -2)
                refused_parts(ctx, &p, "map", "the map 'wavelet' is not known");
            else if (other < BLOCKS && other != map)
                refused_parts(ctx, &p, "map", "damaged");
            else if (map == BLOCKS && other == EXACT)
                refused_parts(ctx, &p, "map", "damaged"); /* several blocks */
            parts_free(&p);
        }
        if (map != FOURIER)
            for (int k = 0; k < 2; k++) {
                p = take_apart(path.text);
                json_object_set_new(p.model, "kernel", json_string(k ? "power:-1" : "sinc"));
                refused_parts(ctx, &p, "kernel", "damaged");
                parts_free(&p);
            }
        unlink(path.text);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loss_comes_through_a_file),
        cmocka_unit_test(tables_come_through_a_file),
        cmocka_unit_test(threads_change_no_byte_of_the_model_file),
        cmocka_unit_test(every_array_must_be_there_and_sound),
        cmocka_unit_test(descriptions_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
