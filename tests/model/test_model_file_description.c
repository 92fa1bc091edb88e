/* A description that contradicts itself or the arrays of the file is refused. */
#include "model/originals.h"

static void sizes_are_not_believed(void **unused) {
    static const char *const keys[] = {"features", "grids", "bins", "outputs", "classes"};
    static const json_int_t sizes[] = {
        0, -1, 1, 4, 6, INT64_C(1) << 31, INT64_C(1) << 48, INT64_C(1) << 60, INT64_MAX, INT64_MIN};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++) {
        test_path path = original(ctx, kind);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                parts p = take_apart(path.text);
                json_int_t is = json_integer_value(json_object_get(p.model, keys[k]));
                /* A size out of range counts as 0. */
                int same =
                    is == sizes[s] || (is == 0 && (sizes[s] < 0 || sizes[s] > INT64_C(1) << 48));
                json_object_set_new(p.model, keys[k], json_integer(sizes[s]));
                if (!same)
                    refused_parts(ctx, &p, keys[k], "damaged");
                parts_free(&p);
            }
        unlink(path.text);
    }
    kb_context_free(ctx);
}

static void kept_sizes_are_not_believed(void **unused) {
    static const char *const keys[] = {"kept_grids", "kept_bins"};
    static const json_int_t sizes[] = {
        0, -1, 1, 4, INT64_C(1) << 31, INT64_C(1) << 48, INT64_C(1) << 60, INT64_MAX, INT64_MIN};
    kb_context *ctx = test_context();
    (void)unused;
    for (labels kind = REAL; kind <= WORDS; kind++)
        for (int pruned = 0; pruned < 2; pruned++) {
            test_path path = pruned ? original_pruned(ctx, kind) : original(ctx, kind);
            for (size_t k = 0; k < 2; k++) {
                parts p = take_apart(path.text);
                json_int_t is = json_integer_value(json_object_get(p.model, keys[k]));
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes + 2; s++) {
                    size_t listed = sizeof sizes / sizeof *sizes;
                    json_int_t size = s < listed ? sizes[s] : s == listed ? is - 1 : is + 1;
                    json_object_set_new(p.model, keys[k], json_integer(size));
                    if (size != is)
                        refused_parts(ctx, &p, keys[k], "damaged");
                }
                json_object_set_new(p.model, keys[k], json_string("5"));
                refused_parts(ctx, &p, keys[k], "incomplete");
                if (pruned) { /* without it, all bins should be there */
                    json_object_del(p.model, keys[k]);
                    refused_parts(ctx, &p, keys[k], "damaged");
                }
                parts_free(&p);
            }
            if (pruned) { /* what only the L1 penalty does */
                parts p = take_apart(path.text);
                json_object_set_new(p.model, "penalty", json_string("l2"));
                refused_parts(ctx, &p, "penalty", "incomplete");
                parts_free(&p);
            }
            unlink(path.text);
        }
    kb_context_free(ctx);
}

/* Probabilities of a regression would be written beyond their array; those that fall with the
 * decision would contradict the label. */
static void probabilities_must_suit_the_model(void **unused) {
    static const struct {
        labels kind;
        const char *probability;
        double slope;
    } cases[] = {{REAL, "sigmoid", 1},  {REAL, "softmax", 1}, {TWO, "sigmoid", 0},
                 {TWO, "sigmoid", -1},  {TWO, "odds", 1},     {THREE, "softmax", -1e-9},
                 {THREE, "isotonic", 1}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        test_path path = original(ctx, cases[k].kind);
        parts p = take_apart(path.text);
        json_object_set_new(p.model, "probability", json_string(cases[k].probability));
        json_object_set_new(p.model, "probability_slope", json_real(cases[k].slope));
        refused_parts(ctx, &p, "probability", "incomplete");
        parts_free(&p);
        unlink(path.text);
    }
    kb_context_free(ctx);
}

/* More outputs than classes would make a winner without a name. */
static void classes_must_suit_the_outputs(void **unused) {
    static const struct {
        labels kind;
        int classes;
    } cases[] = {{THREE, 2}, {THREE, 4}, {THREE, 0}, {REAL, 1}, {REAL, 3}, {TWO, 1}};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        test_path path = original(ctx, cases[k].kind);
        parts p = take_apart(path.text);
        json_t *values = json_array();
        for (int c = 0; c < cases[k].classes; c++)
            json_array_append_new(values, json_real(c));
        json_object_set_new(p.model, "classes", json_integer(cases[k].classes));
        json_object_set_new(p.model, "class_values", values);
        refused_parts(ctx, &p, "classes", "incomplete");
        parts_free(&p);
        unlink(path.text);
    }
    kb_context_free(ctx);
}

static void a_description_must_be_whole(void **unused) {
    static const char *const keys[] = {"task",  "loss",    "penalty", "map",         "kernel",
                                       "sigma", "solver",  "scale",   "features",    "grids",
                                       "bins",  "outputs", "label",   "class_values"};
    kb_context *ctx = test_context();
    test_path path = original(ctx, WORDS);
    (void)unused;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (int damage = 0; damage < 2; damage++) {
            parts p = take_apart(path.text);
            if (damage == 0)
                json_object_del(p.model, keys[k]);
            else
                json_object_set_new(p.model, keys[k], json_object());
            refused_parts(ctx, &p, keys[k], "damaged");
            parts_free(&p);
        }
    static const char *const lists[] = {"class_values", "class_names", "feature_names"};
    for (size_t k = 0; k < 3; k++)
        for (int size = 0; size < 5; size++) {
            if (size == (k < 2 ? 3 : 2)) /* classes, features */
                continue;
            parts p = take_apart(path.text);
            json_t *list = json_array();
            for (int i = 0; i < size; i++)
                json_array_append_new(list, k ? json_string("x") : json_real(i));
            json_object_set_new(p.model, lists[k], list);
            refused_parts(ctx, &p, lists[k], "damaged");
            parts_free(&p);
        }
    static const char *const texts[] = {"", "{", "[]", "null", "3", "{\"task\":1,\"task\":2}"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        parts p = take_apart(path.text);
        json_decref(p.model);
        p.model = NULL;
        json_object_set_new(json_object_get(p.header, "__metadata__"), "model",
                            json_string(texts[k]));
        refused_parts(ctx, &p, texts[k], "damaged");
        parts_free(&p);
    }
    char deep[100001]; /* brackets that would overturn a stack */
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    parts p = take_apart(path.text);
    json_decref(p.model);
    p.model = NULL;
    json_object_set_new(json_object_get(p.header, "__metadata__"), "model", json_string(deep));
    refused_parts(ctx, &p, "brackets", "damaged");
    parts_free(&p);
    unlink(path.text);
    kb_context_free(ctx);
}

static void sigma_is_a_number_and_a_rule(void **unused) {
    static const struct {
        const char *text, *rule;
        double sigma;
    } all[] = {{"0.75", "equal", 0.75},
               {"1e-200", "equal", 1e-200},
               {"default(0.3682)", "default", 0.3682},
               {"1,0.5,2", "list", 0},
               {"1 0.5 2", "list", 0},
               {"0.5,", "list", 0},
               {"@widths.txt", "file", 0},
               {"learned", "learned", 0}};
    (void)unused;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        kb_fit_info info = {.sigma = 7};
        kb_fit_info_set_sigma(&info, all[k].text);
        assert_ptr_equal(info.sigma_text, all[k].text);
        assert_string_equal(info.sigma_rule, all[k].rule);
        assert_true(info.sigma == all[k].sigma);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigma_is_a_number_and_a_rule),
        cmocka_unit_test(sizes_are_not_believed),
        cmocka_unit_test(kept_sizes_are_not_believed),
        cmocka_unit_test(probabilities_must_suit_the_model),
        cmocka_unit_test(classes_must_suit_the_outputs),
        cmocka_unit_test(a_description_must_be_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
