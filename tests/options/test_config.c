/* Options resolved into numbers and enums. */
#include "support.h"

#include "options/config.h"

#include <math.h>

static kb_config config_with(kb_context *ctx, kb_options *options, const char *name,
                             const char *value) {
    assert_ok(ctx, kb_options_set(ctx, options, name, value));
    return kb_config_of(options);
}

/* Every word of every choice is the one that the enum has: the fields of the config are read back
 * as words. */
static void every_choice_reaches_its_member(void **unused) {
    static const struct {
        kb_option_id id;
        size_t offset;
    } member[] = {
        {KB_OPT_FORMAT, offsetof(kb_config, format)},
        {KB_OPT_HEADER, offsetof(kb_config, header)},
        {KB_OPT_MAP, offsetof(kb_config, map)},
        {KB_OPT_LANDMARKS, offsetof(kb_config, landmarks)},
        {KB_OPT_WIDTHS, offsetof(kb_config, widths)},
        {KB_OPT_LINEAR, offsetof(kb_config, linear)},
        {KB_OPT_SCALE, offsetof(kb_config, scale)},
        {KB_OPT_TUNE, offsetof(kb_config, tune)},
        {KB_OPT_METRIC, offsetof(kb_config, metric)},
        {KB_OPT_TASK, offsetof(kb_config, task)},
        {KB_OPT_LOSS, offsetof(kb_config, loss)},
        {KB_OPT_MULTICLASS, offsetof(kb_config, multiclass)},
        {KB_OPT_PROBABILITY, offsetof(kb_config, probability)},
        {KB_OPT_PENALTY, offsetof(kb_config, penalty)},
        {KB_OPT_SOLVER, offsetof(kb_config, solver)},
        {KB_OPT_EARLY_STOP, offsetof(kb_config, early_stop)},
        {KB_OPT_IMPORTANCE, offsetof(kb_config, importance)},
        {KB_OPT_DEVICE, offsetof(kb_config, device)},
        {KB_OPT_INTERCEPT, offsetof(kb_config, intercept)},
    };
    kb_context *ctx = test_context();
    kb_options *options;
    size_t rows, choices = 0;
    const kb_option_info *table = kb_option_table(&rows);
    (void)unused;
    assert_ok(ctx, kb_options_create(ctx, &options));
    for (size_t i = 0; i < rows; i++)
        choices += table[i].type == KB_OPTION_CHOICE;
    assert_int_equal(choices, sizeof member / sizeof *member);
    for (size_t k = 0; k < choices; k++) {
        const kb_option_info *row = &table[member[k].id];
        char words[200];
        snprintf(words, sizeof words, "%s", row->choices);
        for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|")) {
            kb_config c = config_with(ctx, options, row->name, word);
            int value;
            memcpy(&value, (char *)&c + member[k].offset, sizeof value);
            assert_string_equal(kb_choice_word(member[k].id, value), word);
        }
    }
    kb_options_free(options);
    kb_context_free(ctx);
}

static void auto_stays_open(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options;
    (void)unused;
    assert_ok(ctx, kb_options_create(ctx, &options));
    kb_config c = kb_config_of(options);
    assert_int_equal(c.grids, KB_GRIDS_AUTO);
    assert_true(c.lambda == KB_LAMBDA_AUTO);
    assert_true(c.folds == KB_FOLDS_AUTO);
    assert_true(c.holdout == KB_HOLDOUT_AUTO);
    assert_true(config_with(ctx, options, "holdout", "off").holdout == 0);
    assert_true(config_with(ctx, options, "holdout", "0.25").holdout == 0.25);
    assert_int_equal(c.sigma.kind, KB_SIGMA_AUTO);
    assert_int_equal(c.split, KB_SPLIT_AUTO);
    assert_true(c.budget == INFINITY);
    assert_null(c.group);
    assert_null(c.weights);
    assert_false(c.label_given);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Nothing that is given is touched, and nothing is left open. */
static void the_values_without_tuning_close_what_is_open(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options, *given;
    (void)unused;
    assert_ok(ctx, kb_options_create(ctx, &options));
    assert_ok(ctx, kb_options_create(ctx, &given));
    kb_config c = kb_config_of(options);
    kb_config_set_untuned(&c);
    assert_int_equal(c.sigma.kind, KB_SIGMA_DEFAULT);
    assert_true(c.lambda == 0.1);
    assert_int_equal(c.grids, 256);
    assert_int_equal(c.widths, KB_WIDTHS_EQUAL);
    assert_int_equal(c.loss, KB_LOSS_SQUARE);
    assert_int_equal(c.scale, KB_SCALE_MINMAX);
    assert_int_equal(c.early_stop, KB_EARLY_STOP_OFF);
    config_with(ctx, given, "sigma", "3");
    config_with(ctx, given, "lambda", "7");
    config_with(ctx, given, "grids", "5");
    config_with(ctx, given, "loss", "logistic");
    c = config_with(ctx, given, "scale", "ranks");
    kb_config_set_untuned(&c);
    assert_true(c.sigma.kind == KB_SIGMA_NUMBER && c.sigma.value == 3);
    assert_true(c.lambda == 7 && c.grids == 5);
    assert_int_equal(c.loss, KB_LOSS_LOGISTIC);
    assert_int_equal(c.scale, KB_SCALE_RANKS);
    /* The help says the same. */
    size_t rows;
    const char *help = kb_option_table(&rows)[KB_OPT_TUNE].help;
    assert_non_null(strstr(help, "--sigma default --lambda 0.1 --grids 256 --widths equal "
                                 "--loss square --scale minmax"));
    kb_options_free(options);
    kb_options_free(given);
    kb_context_free(ctx);
}

static void texts_become_kinds(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options;
    kb_config c;
    (void)unused;
    assert_ok(ctx, kb_options_create(ctx, &options));
    c = config_with(ctx, options, "sigma", "default");
    assert_int_equal(c.sigma.kind, KB_SIGMA_DEFAULT);
    c = config_with(ctx, options, "sigma", "1,2");
    assert_int_equal(c.sigma.kind, KB_SIGMA_LIST);
    assert_string_equal(c.sigma.text, "1,2");
    c = config_with(ctx, options, "sigma", "@widths, all.txt");
    assert_int_equal(c.sigma.kind, KB_SIGMA_FILE);
    assert_string_equal(c.sigma.text, "widths, all.txt");
    c = config_with(ctx, options, "class-weight", "balanced");
    assert_int_equal(c.class_weight, KB_CLASS_WEIGHT_BALANCED);
    assert_null(c.class_weight_file);
    c = config_with(ctx, options, "class-weight", "weights.txt");
    assert_int_equal(c.class_weight, KB_CLASS_WEIGHT_FILE);
    assert_string_equal(c.class_weight_file, "weights.txt");
    c = config_with(ctx, options, "split", "group:patient");
    assert_int_equal(c.split, KB_SPLIT_GROUP);
    assert_string_equal(c.group, "patient");
    c = config_with(ctx, options, "split", "time");
    assert_int_equal(c.split, KB_SPLIT_TIME);
    assert_null(c.group);
    c = config_with(ctx, options, "weights", "column:w");
    assert_string_equal(c.weights, "column:w");
    c = config_with(ctx, options, "folds", "0");
    assert_int_equal(c.folds, 0);
    c = config_with(ctx, options, "budget", "2m");
    assert_true(c.budget == 120);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* What is available changes meanwhile, so no share is exact. */
static void ranks_of_a_machine_share_what_it_has_available(void **state) {
    kb_ranks ranks = KB_RANKS_INIT;
    kb_context_config given = KB_CONTEXT_CONFIG_INIT;
    kb_context *ctx;
    kb_options *options;
    (void)state;
    given.ranks = &ranks;
    ranks.nearby = 8;
    assert_int_equal(kb_context_create(&given, &ctx), KB_OK);
    assert_ok(ctx, kb_options_create(ctx, &options));
    kb_config c = config_with(ctx, options, "max-memory", "auto"), alone = c;
    alone.nearby = 0;
    assert_int_equal(c.nearby, 8);
    assert_true(kb_config_memory(&c) < kb_config_memory(&alone) / 4);
    assert_true(kb_config_memory(&c) > kb_config_memory(&alone) / 16);
    c = config_with(ctx, options, "max-memory", "1M");
    assert_int_equal(kb_config_memory(&c), 1 << 20);
    kb_options_free(options);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_reaches_its_member),
        cmocka_unit_test(auto_stays_open),
        cmocka_unit_test(the_values_without_tuning_close_what_is_open),
        cmocka_unit_test(texts_become_kinds),
        cmocka_unit_test(ranks_of_a_machine_share_what_it_has_available),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
