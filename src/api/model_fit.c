/* model_fit.c - from labelled data to a model; options left at auto are tuned. */
#include "api/prepare.h"
#include "fit/fit.h"
#include "trial/rules.h"
#include "tune/tune.h"

/* Whether the number of grids was tuned, so that it may be lowered. */
static int has_grids_to_spare(const kb_config *given, const kb_tuning *tuning) {
    return given->grids == KB_GRIDS_AUTO && tuning->count > 0 &&
           tuning->plan.config.grids > KB_RULE_GRIDS_LITTLE_MEMORY;
}

kb_status kb_model_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                       kb_model **out) {
    kb_status status;
    kb_config given = kb_config_of(options);
    kb_tuning tuning = {0};
    kb_prepared x;
    *out = NULL;
    double began = kb_seconds();
    TRY(kb_prepare(ctx, &given, data, &x));
    double encoded = kb_seconds() - began;
    TRY(kb_tune(ctx, &given, x.data, &tuning));
    kb_prepared_tell(&x, &tuning.plan);
    double tuned = kb_seconds() - tuning.began;
    status = kb_fit_plan(ctx, &tuning.plan, x.data, out);
    while (status == KB_ERR_MEMORY && has_grids_to_spare(&given, &tuning)) {
        tuning.plan.config.grids /= 2;
        kb_log(ctx, KB_LOG_INFO, "too little memory; trying %zu grids", tuning.plan.config.grids);
        status = kb_fit_plan(ctx, &tuning.plan, x.data, out);
    }
    TRY(status);
    if (x.bytes > (double)(*out)->cost.forecast_bytes)
        (*out)->cost.forecast_bytes = (size_t)x.bytes;
    (*out)->cost.encode_seconds = encoded;
    (*out)->cost.tune_seconds = tuning.count ? tuned : 0;
    (*out)->tried = tuning.trial;
    (*out)->tried_count = tuning.count;
    tuning.trial = NULL;
done:
    kb_tuning_release(ctx, &tuning);
    kb_prepared_release(ctx, &x);
    return status;
}
