/* model_fit.c - from labelled data to a model, tuned where the options leave something open. */
#include "fit/fit.h"
#include "trial/rules.h"
#include "tune/plan.h"

/* Whether the number of grids was ours to choose, and may be less. */
static int has_grids_to_spare(const kb_options *options, const kb_choice *choice) {
    return kb_options_is_auto(options, KB_OPT_GRIDS) && choice->count > 0 &&
           kb_options_integer(choice->options, KB_OPT_GRIDS) > KB_RULE_GRIDS_LITTLE_MEMORY;
}

kb_status kb_model_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                       kb_model **out) {
    kb_status status;
    kb_choice choice;
    *out = NULL;
    TRY(kb_choose(ctx, options, data, &choice));
    double chosen = kb_seconds() - choice.began;
    status = kb_fit_chosen(ctx, &choice, data, out);
    while (status == KB_ERR_MEMORY && has_grids_to_spare(options, &choice)) {
        double grids = (double)kb_options_integer(choice.options, KB_OPT_GRIDS) / 2;
        kb_log(ctx, KB_LOG_INFO, "too little memory; trying %.0f grids", grids);
        TRY(kb_choice_set_number(ctx, &choice, KB_OPT_GRIDS, grids));
        status = kb_fit_chosen(ctx, &choice, data, out);
    }
    TRY(status);
    (*out)->info.tune_seconds = choice.count ? chosen : 0;
    (*out)->tried = choice.tried;
    (*out)->tried_count = choice.count;
    choice.tried = NULL;
done:
    kb_choice_release(ctx, &choice);
    return status;
}
