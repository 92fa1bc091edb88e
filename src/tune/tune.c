/* tune.c - see tune.h. */
#include "tune/tune.h"
#include "budget/pilot.h"
#include "fit/fit.h"
#include "options/say.h"
#include "trial/rules.h"
#include "tune/fit_search.h"
#include "tune/tune_binning.h"

/* Grids and loss are tuned along with sigma and lambda, not on their own. */
static int wants_tuning(const kb_config *c, const kb_data *data) {
    return c->tune == KB_TUNE_ON && data->label && data->rows >= KB_RULE_TUNED_ROWS &&
           (c->sigma.kind == KB_SIGMA_AUTO ||
            (c->lambda == KB_LAMBDA_AUTO && c->lambda_path == 0) ||
            c->early_stop == KB_EARLY_STOP_ON);
}

static int needs_search(const kb_config *c) {
    return kb_config_is_rival(c) ||
           (kb_config_is_l1(c) && c->lambda == KB_LAMBDA_AUTO && c->lambda_path == 0);
}

static kb_status check_widths(kb_context *ctx, const kb_config *c) {
    kb_said learned = kb_say_value(ctx, KB_OPT_WIDTHS, "learned");
    if (c->widths != KB_WIDTHS_LEARNED)
        return KB_OK;
    if (c->sigma.kind != KB_SIGMA_AUTO || c->tune != KB_TUNE_ON)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: needs %s and %s", learned.text,
                       kb_say_value(ctx, KB_OPT_SIGMA, "auto").text,
                       kb_say_value(ctx, KB_OPT_TUNE, "on").text);
    if (kb_config_is_rival(c) || c->kernel.id != KB_KERNEL_LAPLACE)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: needs %s and %s", learned.text,
                       kb_say_value(ctx, KB_OPT_MAP, "binning").text,
                       kb_say_value(ctx, KB_OPT_KERNEL, "laplace").text);
    return KB_OK;
}

/* Reports the errors of a fit before the trials, by the values without tuning. */
static kb_status check(kb_context *ctx, const kb_config *given, const kb_data *data) {
    kb_status status;
    kb_plan untuned = {.config = *given};
    TRY(kb_map_check_kernel(ctx, given));
    kb_config_set_untuned(&untuned.config);
    TRY(kb_fit_check(ctx, &untuned, data));
done:
    return status;
}

/* What the fit will cost, and so how long the trials may take. */
static kb_status plan_time(kb_context *ctx, const kb_data *data, kb_tuning *tuning) {
    kb_status status;
    kb_targets targets = {0};
    kb_plan plan = {.config = *tuning->given};
    kb_config_set_untuned(&plan.config);
    TRY(kb_targets_build(ctx, tuning->given->task, data, &targets));
    if (kb_config_is_rival(tuning->given))
        tuning->budget->costs.fixed = KB_RULE_BUDGET_RIVAL * kb_budget_left(tuning->budget);
    tuning->began = kb_now(ctx);
    kb_tuning_reserve(tuning, &plan, &targets, data->rows);
done:
    kb_targets_release(ctx, &targets);
    return status;
}

static kb_status make_trials(kb_context *ctx, const kb_data *data, kb_tuning *tuning) {
    kb_status status;
    TRY(check(ctx, tuning->given, data));
    if (tuning->budget)
        TRY(plan_time(ctx, data, tuning));
    if (!kb_config_is_rival(tuning->given))
        TRY(kb_tune_binning(ctx, data, tuning));
    if (needs_search(tuning->given))
        TRY(kb_fit_search(ctx, data, tuning));
done:
    return status;
}

kb_status kb_tune(kb_context *ctx, const kb_config *given, const kb_data *data, kb_budget *budget,
                  kb_tuning *out) {
    kb_status status;
    *out = kb_tuning_begin(given);
    out->clock = ctx->clock;
    out->began = kb_now(ctx);
    out->budget = budget;
    ctx->checkpoint_paused++;
    TRY(check_widths(ctx, given));
    if (wants_tuning(given, data)) {
        kb_progress_outer(ctx, "tune");
        status = make_trials(ctx, data, out);
        if (status == KB_OK)
            status = kb_progress(ctx, "tune", 1);
        kb_progress_outer(ctx, NULL);
        TRY(status);
    }
    kb_config_set_untuned(&out->plan.config);
done:
    ctx->checkpoint_paused--;
    return status;
}
