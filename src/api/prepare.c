/* prepare.c - see prepare.h. */
#include "api/prepare.h"
#include "fit/sample_weights.h"

/* Targets and weights for the encoding, where it needs them. */
static kb_status learn(kb_context *ctx, const kb_config *config, kb_prepared *p) {
    kb_status status = KB_OK;
    const kb_data *data = p->source;
    kb_targets targets = {0};
    double *y = NULL, *weight = NULL;
    kb_encode_spec spec = {.data = data, .seed = config->seed};
    if (data->label && kb_encode_needs_targets(data)) {
        TRY(kb_targets_build(ctx, config->task, data, &targets));
        TRY(kb_sample_weights_build(ctx, config, data, &targets, &weight));
        TRY(kb_alloc(ctx, data->rows * targets.outputs, sizeof *y, &y));
        kb_targets_fill(&targets, data->rows, 0, targets.outputs, y);
        spec.C = targets.outputs;
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

kb_status kb_prepare(kb_context *ctx, const kb_config *config, const kb_data *source,
                     kb_prepared *out) {
    kb_status status = KB_OK;
    *out = (kb_prepared){.source = source, .data = source};
    if (!source->dense)
        return KB_OK;
    TRY(learn(ctx, config, out));
    if (!out->cells)
        goto done;
    out->view = *source;
    out->view.dense = out->cells;
    out->view.features = out->encoding->features;
    out->view.feature_name = NULL;
    out->view.table = NULL;
    out->view.missing = 0;
    out->data = &out->view;
done:
    return status;
}

void kb_prepared_release(kb_context *ctx, kb_prepared *p) {
    kb_encoding_free(p->encoding);
    kb_release(ctx, p->cells);
    *p = (kb_prepared){0};
}

void kb_prepared_tell(const kb_prepared *p, kb_plan *plan) {
    plan->source = p->source;
    plan->encoding = p->encoding;
}
