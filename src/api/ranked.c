/* ranked.c - see ranked.h. */
#include "api/ranked.h"
#include "deal/collect.h"
#include "fit/targets.h"
#include "options/say.h"
#include "trial/importance_trial.h"

#include <math.h>

/* Cells of a sample: 256 MiB of doubles. */
enum { MOST_CELLS = 1 << 25, LEAST_ROWS = 20000 };

kb_status kb_ranked_refuse(kb_context *ctx, const char *what) {
    if (kb_rank_count(ctx) == 1)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: works in one process, and there are %d ranks", what,
                   kb_rank_count(ctx));
}

static kb_status refuse_option(kb_context *ctx, kb_option_id id, const char *value) {
    return kb_ranked_refuse(ctx, value ? kb_say_value(ctx, id, value).text : kb_say(ctx, id).text);
}

/* Options whose work is not shared out. */
static kb_status check_options(kb_context *ctx, const kb_config *c) {
    if (kb_config_is_rival(c))
        return refuse_option(ctx, KB_OPT_MAP, kb_choice_word(KB_OPT_MAP, (int)c->map));
    if (c->solver == KB_SOLVER_CD || c->solver == KB_SOLVER_PARALLEL_CD)
        return refuse_option(ctx, KB_OPT_SOLVER, kb_choice_word(KB_OPT_SOLVER, (int)c->solver));
    if (isfinite(c->budget))
        return refuse_option(ctx, KB_OPT_BUDGET, NULL);
    if (c->holdout > 0)
        return refuse_option(ctx, KB_OPT_HOLDOUT, NULL);
    if (c->ensemble > 1)
        return refuse_option(ctx, KB_OPT_ENSEMBLE, NULL);
    return KB_OK;
}

/* All labels tell it, and not those of a sample. */
static kb_status settle_task(kb_context *ctx, kb_config *config, const kb_data *data) {
    kb_status status = KB_OK;
    kb_targets targets = {0};
    if (!data->label)
        goto done;
    TRY(kb_targets_build(ctx, config->task, data, &targets));
    config->task = targets.classes ? KB_TASK_CLASSIFICATION : KB_TASK_REGRESSION;
done:
    kb_targets_release(ctx, &targets);
    return status;
}

/* The model is the same without it. */
static void leave_device(kb_context *ctx, kb_config *config) {
    if (config->device == KB_DEVICE_CPU)
        return;
    kb_log(
        ctx, KB_LOG_WARNING, "%s: rows on ranks are binned and solved on the CPU",
        kb_say_value(ctx, KB_OPT_DEVICE, kb_choice_word(KB_OPT_DEVICE, (int)config->device)).text);
    config->device = KB_DEVICE_CPU;
}

kb_status kb_ranked_check(kb_context *ctx, kb_config *config, const kb_data *data) {
    kb_status status = KB_OK;
    if (!kb_has_ranks(ctx))
        return KB_OK;
    status = kb_deal_check(ctx, data);
    if (status == KB_OK)
        status = check_options(ctx, config);
    TRY(kb_ranks_agree(ctx, status));
    TRY(kb_ranks_agree(ctx, settle_task(ctx, config, data)));
    leave_device(ctx, config);
done:
    return status;
}

kb_status kb_ranked_sample(kb_context *ctx, const kb_data *data, size_t most, kb_data **out) {
    size_t room = MOST_CELLS / data->features;
    room = room > LEAST_ROWS ? room : LEAST_ROWS;
    *out = NULL;
    if (!kb_has_ranks(ctx))
        return KB_OK;
    return kb_collect_evenly(ctx, data, most < room ? most : room, out);
}

/* The memory that all ranks have, and what is held of it: how many rows trials take may depend on
 * both.  And the threads, by which trials are shared out. */
static kb_status settle_memory(kb_context *ctx, kb_config *given) {
    kb_status status;
    double most[3] = {-(double)kb_config_memory(given), given->held, -(double)ctx->threads};
    if (kb_rank_count(ctx) == 1)
        return KB_OK;
    TRY(kb_ranks_most(ctx, most, 3));
    ctx->least_threads = (int)-most[2];
    given->max_memory = (size_t)-most[0];
    given->held = most[1];
done:
    return status;
}

kb_status kb_ranked_tune(kb_context *ctx, kb_config *given, const kb_data *data, kb_budget *budget,
                         size_t most, kb_tuning *tuning) {
    kb_status status;
    kb_data *sample = NULL;
    const kb_data *rows = data;
    *tuning = (kb_tuning){0};
    TRY(settle_memory(ctx, given));
    if (given->tune == KB_TUNE_ON && data->label)
        TRY(kb_ranked_sample(ctx, data, most, &sample));
    if (sample) {
        sample->all_rows = kb_rows_of_all(data);
        rows = sample;
    }
    kb_ranks ranks = kb_ranks_leave(ctx);
    status = kb_tune(ctx, given, rows, budget, tuning);
    kb_ranks_return(ctx, ranks);
    status = kb_ranks_agree(ctx, status);
done:
    kb_data_free(sample);
    return status;
}

kb_status kb_ranked_importance(kb_context *ctx, int wanted, kb_plan *plan, const kb_data *data,
                               size_t most, kb_importance *out) {
    kb_status status = KB_OK;
    kb_data *sample = NULL;
    int tuned = plan->config.tune == KB_TUNE_ON;
    *out = (kb_importance){0};
    if (!kb_has_ranks(ctx) || (!wanted && !tuned))
        return KB_OK;
    TRY(kb_ranked_sample(ctx, data, most, &sample));
    kb_ranks ranks = kb_ranks_leave(ctx);
    if (wanted)
        status = kb_importance_trial(ctx, plan, sample, out);
    if (status == KB_OK && tuned && plan->config.scale == KB_SCALE_RANKS &&
        sample->rows < kb_rows_of_all(data))
        status = kb_transform_learn_from(ctx, sample, sample, plan->levels, &plan->transform);
    kb_ranks_return(ctx, ranks);
    status = kb_ranks_agree(ctx, status);
done:
    kb_data_free(sample);
    return status;
}
