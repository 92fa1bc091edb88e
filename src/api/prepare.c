/* prepare.c - see prepare.h. */
#include "api/prepare.h"
#include "api/ranked.h"
#include "core/order.h"
#include "core/random.h"
#include "core/team.h"
#include "ranks/ranks.h"
#include "fit/sample_weights.h"
#include "options/say.h"

#include <string.h>

/* With ranks, an encoding is learned from at most so many rows. */
enum { ENCODED_ROWS = 1 << 18 };

/* Whether the tuner tries columns of levels: they need widths that it learns, behind a transform.
 */
static int may_use_levels(const kb_config *c) {
    return !kb_config_is_rival(c) && c->tune == KB_TUNE_ON && c->sigma.kind == KB_SIGMA_AUTO &&
           (c->scale == KB_SCALE_AUTO || c->scale == KB_SCALE_RANKS);
}

static kb_status check_memory(kb_context *ctx, kb_config *config, const kb_targets *targets,
                              kb_prepared *p) {
    const kb_data *data = p->source;
    size_t C = kb_least(targets->outputs, KB_ENCODE_OUTPUTS);
    kb_encode_memory need = kb_encode_forecast(data, C, may_use_levels(config), ctx->threads);
    size_t limit = kb_config_memory(config);
    p->bytes = need.taken + (double)data->rows * 8 * (double)(C ? C + 1 : 0);
    if (p->bytes > (double)limit)
        return kb_fail(ctx, KB_ERR_MEMORY,
                       "%zu rows and %zu features as numbers need %s of memory, and %s may be "
                       "taken: use a larger %s",
                       data->rows, data->features, kb_size_in_words(p->bytes).text,
                       kb_size_in_words((double)limit).text, kb_say(ctx, KB_OPT_MAX_MEMORY).text);
    config->held = need.kept;
    return KB_OK;
}

/* Many classes: in each of KB_ENCODE_OUTPUTS outputs a class is +1 or -1 by chance.  They span what
 * the levels do to the classes as well. */
static void fill_signs(const kb_targets *targets, size_t rows, uint64_t seed, double *y) {
    for (size_t i = 0; i < rows; i++) {
        uint32_t bits = kb_random(seed, KB_STREAM_EFFECT, targets->class_of[i], 1).word[0];
        for (size_t k = 0; k < KB_ENCODE_OUTPUTS; k++)
            y[i * KB_ENCODE_OUTPUTS + k] = bits >> k & 1 ? 1 : -1;
    }
}

static kb_status mark_levels(kb_context *ctx, kb_prepared *p) {
    kb_status status = KB_OK;
    const kb_encoding *e = p->encoding;
    size_t levels = 0;
    for (size_t k = 0; k < e->features; k++)
        levels += e->step[k].kind == KB_ENCODE_LEVEL;
    if (levels == 0)
        goto done;
    TRY(kb_alloc(ctx, e->features, 1, &p->level));
    for (size_t k = 0; k < e->features; k++)
        p->level[k] = e->step[k].kind == KB_ENCODE_LEVEL;
done:
    return status;
}

/* Targets and weights for the encoding, where it needs them. */
static kb_status learn(kb_context *ctx, kb_config *config, kb_prepared *p) {
    kb_status status = KB_OK;
    const kb_data *data = p->source;
    kb_targets targets = {0};
    double *y = NULL, *weight = NULL;
    kb_encode_spec spec = {.data = data, .seed = config->seed, .levels = may_use_levels(config)};
    int supervised = data->label && kb_encode_needs_targets(data);
    if (supervised) {
        TRY(kb_targets_build(ctx, config->task, data, &targets));
        config->task = targets.classes ? KB_TASK_CLASSIFICATION : KB_TASK_REGRESSION;
    }
    TRY(check_memory(ctx, config, &targets, p));
    if (supervised) {
        spec.C = kb_least(targets.outputs, KB_ENCODE_OUTPUTS);
        TRY(kb_sample_weights_build(ctx, config, data, &targets, &weight));
        TRY(kb_alloc(ctx, data->rows * spec.C, sizeof *y, &y));
        if (targets.outputs > KB_ENCODE_OUTPUTS)
            fill_signs(&targets, data->rows, config->seed, y);
        else
            kb_targets_fill(&targets, data->rows, 0, targets.outputs, y);
        spec.y = y;
        spec.weight = weight;
    }
    TRY(kb_encode_learn(ctx, &spec, &p->encoding, &p->cells));
done:
    kb_targets_release(ctx, &targets);
    kb_release(ctx, weight);
    kb_release(ctx, y);
    return status;
}

typedef struct encoding_rows {
    const kb_encoding *e;
    const kb_data *data;
    double *out;
} encoding_rows;

static void encode_rows(void *arg, size_t begin, size_t end) {
    const encoding_rows *a = arg;
    kb_encoding_rows(a->e, a->data, begin, end - begin, a->out + begin * a->e->features);
}

/* The cells of this rank's rows, by what was learned from a sample: if that is all rows, they are
 * there, and codes of a row may be those of the other rows. */
static kb_status encode(kb_context *ctx, const kb_data *sample, const kb_prepared *of_sample,
                        kb_prepared *p) {
    kb_status status = KB_OK;
    const kb_data *data = p->source;
    size_t d = p->encoding->features, rows = data->rows;
    encoding_rows all = {.e = p->encoding, .data = data};
    if (!kb_encoding_is_needed(p->encoding, data))
        goto done;
    TRY(kb_alloc(ctx, rows * d, sizeof *p->cells, &p->cells));
    all.out = p->cells;
    if (of_sample->cells && sample->rows == kb_rows_of_all(data))
        memcpy(p->cells, of_sample->cells + data->first_row * d, rows * d * sizeof *p->cells);
    else
        kb_team_for(ctx, rows, KB_WORTH_A_THREAD / d + 1, encode_rows, &all);
done:
    return status;
}

/* The same on every rank, from rows of all. */
static kb_status learn_from_all(kb_context *ctx, kb_config *config, kb_prepared *p) {
    kb_status status;
    kb_data *sample = NULL;
    kb_prepared of_sample = {0};
    TRY(kb_ranked_sample(ctx, p->source, ENCODED_ROWS, &sample));
    of_sample.source = of_sample.data = sample;
    kb_ranks ranks = kb_ranks_leave(ctx);
    status = learn(ctx, config, &of_sample);
    kb_ranks_return(ctx, ranks);
    TRY(kb_ranks_agree(ctx, status));
    p->encoding = of_sample.encoding;
    of_sample.encoding = NULL;
    p->bytes = of_sample.bytes;
    TRY(kb_ranks_agree(ctx, encode(ctx, sample, &of_sample, p)));
    config->held = p->cells ? 8 * (double)p->source->rows * (double)p->encoding->features : 0;
done:
    kb_prepared_release(ctx, &of_sample);
    kb_data_free(sample);
    return status;
}

kb_status kb_prepare(kb_context *ctx, kb_config *config, const kb_data *source, kb_prepared *out) {
    kb_status status = KB_OK;
    *out = (kb_prepared){.source = source, .data = source};
    if (!source->dense)
        return KB_OK;
    TRY(kb_has_ranks(ctx) ? learn_from_all(ctx, config, out) : learn(ctx, config, out));
    if (!out->cells)
        goto done;
    out->view = *source;
    out->view.dense = out->cells;
    out->view.features = out->encoding->features;
    out->view.feature_name = NULL;
    out->view.table = NULL;
    out->view.missing = 0;
    TRY(mark_levels(ctx, out));
    out->view.level = out->level;
    out->data = &out->view;
done:
    return status;
}

void kb_prepared_release(kb_context *ctx, kb_prepared *p) {
    kb_encoding_free(p->encoding);
    kb_release(ctx, p->cells);
    kb_release(ctx, p->level);
    *p = (kb_prepared){0};
}

static void drop_levels(kb_prepared *p) {
    size_t d = p->view.features, at = 0;
    for (size_t i = 0; i < p->view.rows; i++)
        for (size_t j = 0; j < d; j++)
            if (!p->level[j])
                p->cells[at++] = p->cells[i * d + j];
    kb_encoding_drop_levels(p->encoding);
    p->view.features = p->encoding->features;
    p->view.level = NULL;
}

void kb_prepared_tell(kb_prepared *p, kb_plan *plan) {
    if (p->view.level && !plan->levels)
        drop_levels(p);
    plan->source = p->source;
    plan->encoding = p->encoding;
}
