/* forecast.c - see forecast.h. */
#include "fit/forecast.h"
#include "fit/learner.h"
#include "fit/validate.h"
#include "ranks/ranks.h"

/* Memory of a fit for a batch of outputs: targets, decisions, alpha and one more vector for each
 * row, w for each bin; with several outputs the best decision of each row and its output. */
static kb_bytes batch_bytes(size_t batch, size_t outputs) {
    return (kb_bytes){.row = 4 * 8 * (double)batch + (outputs > 1 ? 8 + 4 : 0),
                      .bin = 8 * (double)batch};
}

/* The weights of the samples, and what the square loss multiplies by them (features/operator.c). */
static kb_bytes weight_bytes(size_t batch) {
    return (kb_bytes){.row = 8 * (double)(2 * batch + 1)};
}

/* A bin of the model: its key, its position in two orders, a dictionary entry, its weights. */
static kb_bytes model_bytes(const kb_config *config, size_t outputs) {
    double weights = kb_config_is_rival(config) ? 8 * (double)outputs : 4 * (double)outputs;
    return (kb_bytes){.bin = weights + (kb_config_is_rival(config) ? 0 : 8 + 8 + 4 + 4)};
}

/* A path of lambdas keeps each output's w, from which the next lambda starts. */
static kb_bytes path_bytes(const kb_config *config, size_t outputs) {
    return (kb_bytes){.bin = config->lambda_path > 0 ? 8 * (double)outputs : 0};
}

kb_memory_plan kb_forecast_fit(const kb_context *ctx, const kb_config *config, size_t rows,
                               const kb_targets *targets, int weighted) {
    size_t outputs = targets->outputs, batch = kb_learner_batch(config, outputs);
    /* There may be no stop rows. */
    kb_holding holding = kb_holding_of(config, targets, rows, 0, 0);
    int folds = holding.folds > 0;
    kb_bytes sum = batch_bytes(batch, outputs);
    kb_bytes_add(&sum, kb_learner_bytes(config, outputs, rows, ctx->threads));
    if (kb_config_is_l1(config) && kb_has_ranks(ctx)) /* rounded numbers of rows, and their sums */
        kb_bytes_add(&sum, (kb_bytes){.row = 16, .bin = 16 + 48 / (double)config->grids});
    if (weighted || folds)
        kb_bytes_add(&sum, weight_bytes(batch));
    if (folds)
        kb_bytes_add(&sum, kb_validate_bytes(holding.folds, batch, outputs));
    kb_bytes_add(&sum, model_bytes(config, outputs));
    kb_bytes_add(&sum, path_bytes(config, outputs));
    return (kb_memory_plan){.limit = kb_config_memory(config),
                            .fixed = config->held + sum.fixed + sum.row * (double)rows,
                            .per_bin = sum.bin};
}

kb_memory_plan kb_forecast_map(const kb_config *config, double fixed) {
    return (kb_memory_plan){
        .limit = kb_config_memory(config), .fixed = config->held + fixed, .per_bin = 8 + 12 + 4};
}

kb_memory_plan kb_forecast_with(const kb_memory_plan *plan, kb_bytes part, size_t rows) {
    return (kb_memory_plan){.limit = plan->limit,
                            .fixed = plan->fixed + part.fixed + part.row * (double)rows,
                            .per_bin = plan->per_bin + part.bin};
}

/* ---- trials ------------------------------------------------------------ */

/* Vectors of N rows that a trial takes for each output and fold. */
enum { TRIAL_VECTORS = 15 };

/* The rows; their bins and bin numbers if every row has bins of its own, both those of the best
 * kernel so far and those of the training rows; the vectors of the solver and what its steps keep;
 * the grids. */
double kb_forecast_trial(const kb_trial_size *t) {
    double R = (double)t->grids, C = (double)t->outputs;
    double data = (double)t->copies * 8 * t->entries, bins = (2 * (8 + 2) + 2) * R;
    double vectors = 8 * TRIAL_VECTORS * C * (double)t->folds;
    return (double)t->rows * (data + bins + vectors) + 8 * C * (double)(t->held * t->steps) +
           2 * 8 * R * (double)t->columns;
}
