/* plan.c - see plan.h. */
#include "tune/plan.h"
#include "core/number.h"
#include "fit/fit.h"
#include "trial/rules.h"

#include <math.h>
#include <string.h>

/* What stands for auto where nothing is tuned. */
static const struct {
    kb_option_id id;
    const char *plain;
} PLAIN[] = {{KB_OPT_SIGMA, "default"}, {KB_OPT_LAMBDA, "0.1"},  {KB_OPT_GRIDS, "256"},
             {KB_OPT_WIDTHS, "equal"},  {KB_OPT_LOSS, "square"}, {KB_OPT_SCALE, "minmax"},
             {KB_OPT_EARLY_STOP, "off"}};

kb_status kb_choice_set(kb_context *ctx, kb_choice *choice, kb_option_id id, const char *text) {
    size_t count;
    return kb_options_set(ctx, choice->options, kb_option_table(&count)[id].name, text);
}

kb_status kb_choice_set_number(kb_context *ctx, kb_choice *choice, kb_option_id id, double x) {
    char text[KB_NUMBER_TEXT];
    text[kb_number_format(x, text)] = '\0';
    return kb_choice_set(ctx, choice, id, text);
}

kb_status kb_choice_note(kb_context *ctx, kb_choice *choice, const kb_trial_info *tried) {
    kb_status status;
    TRY(kb_reserve(ctx, choice->count + 1, sizeof *tried, &choice->room, &choice->tried));
    choice->tried[choice->count] = *tried;
    choice->tried[choice->count++].seconds = kb_seconds() - choice->began;
done:
    return status;
}

int kb_choice_is_late(const kb_choice *choice, double share) {
    return kb_seconds() - choice->began > share * choice->budget;
}

kb_status kb_choice_set_plain(kb_context *ctx, kb_choice *choice) {
    kb_status status = KB_OK;
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
        if (kb_options_is_auto(choice->options, PLAIN[i].id))
            TRY(kb_choice_set(ctx, choice, PLAIN[i].id, PLAIN[i].plain));
done:
    return status;
}

/* Grids and loss are tuned along with sigma and lambda, not for their own sake. */
static int wants_tuning(const kb_options *o, const kb_data *data) {
    return strcmp(kb_options_text(o, KB_OPT_TUNE), "on") == 0 && data->label &&
           data->rows >= KB_RULE_TUNED_ROWS &&
           (kb_options_is_auto(o, KB_OPT_SIGMA) ||
            (kb_options_is_auto(o, KB_OPT_LAMBDA) &&
             kb_options_integer(o, KB_OPT_LAMBDA_PATH) == 0) ||
            strcmp(kb_options_text(o, KB_OPT_EARLY_STOP), "on") == 0);
}

static int needs_search(const kb_options *o) {
    return kb_map_is_rival(o) || (kb_learner_is_l1(o) && kb_options_is_auto(o, KB_OPT_LAMBDA) &&
                                  kb_options_integer(o, KB_OPT_LAMBDA_PATH) == 0);
}

kb_split_kind kb_split_of(const kb_options *o, size_t classes, size_t rows) {
    const char *text = kb_options_text(o, KB_OPT_SPLIT);
    if (kb_options_group(o))
        return KB_SPLIT_GROUP;
    if (strcmp(text, "auto") == 0)
        return classes && rows > classes ? KB_SPLIT_STRATIFIED : KB_SPLIT_RANDOM;
    return strcmp(text, "stratified") == 0 ? KB_SPLIT_STRATIFIED
           : strcmp(text, "time") == 0     ? KB_SPLIT_TIME
                                           : KB_SPLIT_RANDOM;
}

static kb_status check_widths(kb_context *ctx, const kb_options *o) {
    if (strcmp(kb_options_text(o, KB_OPT_WIDTHS), "learned") != 0)
        return KB_OK;
    if (!kb_options_is_auto(o, KB_OPT_SIGMA) || strcmp(kb_options_text(o, KB_OPT_TUNE), "on") != 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "--widths learned: needs --sigma auto and --tune on");
    if (kb_map_is_rival(o) || strcmp(kb_options_text(o, KB_OPT_KERNEL), "laplace") != 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "--widths learned: needs --map binning and --kernel laplace");
    return KB_OK;
}

/* What a fit would complain about is told before the trials, by the plain values. */
static kb_status check(kb_context *ctx, const kb_options *options, const kb_data *data) {
    kb_status status;
    kb_choice plain = {.given = options};
    TRY(kb_map_check_kernel(ctx, options));
    TRY(kb_options_copy(ctx, options, &plain.options));
    TRY(kb_choice_set_plain(ctx, &plain));
    TRY(kb_fit_check(ctx, plain.options, data));
done:
    kb_choice_release(ctx, &plain);
    return status;
}

static kb_status make_trials(kb_context *ctx, const kb_data *data, kb_choice *choice) {
    kb_status status;
    TRY(check(ctx, choice->given, data));
    if (!kb_map_is_rival(choice->given))
        TRY(kb_tune(ctx, data, choice));
    if (needs_search(choice->given))
        TRY(kb_fit_search(ctx, data, choice));
done:
    return status;
}

kb_status kb_choose(kb_context *ctx, const kb_options *options, const kb_data *data,
                    kb_choice *out) {
    kb_status status;
    *out = (kb_choice){.given = options,
                       .began = kb_seconds(),
                       .budget = kb_options_seconds(options, KB_OPT_BUDGET)};
    TRY(kb_options_copy(ctx, options, &out->options));
    TRY(check_widths(ctx, options));
    if (wants_tuning(options, data)) {
        kb_progress_outer(ctx, "tune");
        status = make_trials(ctx, data, out);
        if (status == KB_OK)
            status = kb_progress(ctx, "tune", 1);
        kb_progress_outer(ctx, NULL);
        TRY(status);
    }
    TRY(kb_choice_set_plain(ctx, out));
done:
    return status;
}

kb_found kb_choice_found(const kb_choice *choice) {
    return (kb_found){.widths = choice->widths.vectors ? &choice->widths : NULL,
                      .mixtures = choice->mixtures.count ? &choice->mixtures : NULL,
                      .like = choice->like};
}

void kb_choice_release(kb_context *ctx, kb_choice *choice) {
    kb_options_free(choice->options);
    kb_release(ctx, choice->widths.width);
    kb_law_free(choice->law);
    kb_mixtures_release(kb_allocator_of(ctx), &choice->mixtures);
    kb_release(ctx, choice->tried);
    *choice = (kb_choice){0};
}
