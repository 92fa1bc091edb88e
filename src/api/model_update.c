/* model_update.c - a model that goes on: with new rows, or with its own again. */
#include "api/ranked.h"
#include "update/update.h"

static kb_status go_on(kb_context *ctx, const kb_options *options, const kb_model *model,
                       const kb_data *data, int adds, kb_model **out) {
    kb_config config = kb_config_of(options);
    *out = NULL;
    kb_status status = kb_ranked_refuse(ctx, adds ? "kb_model_update" : "kb_model_refit");
    if (status != KB_OK)
        return status;
    kb_update_spec spec = {.model = model, .data = data, .config = &config, .adds = adds};
    return kb_update(ctx, &spec, out);
}

kb_status kb_model_update(kb_context *ctx, const kb_options *options, const kb_model *model,
                          const kb_data *data, kb_model **out) {
    return go_on(ctx, options, model, data, 1, out);
}

kb_status kb_model_refit(kb_context *ctx, const kb_options *options, const kb_model *model,
                         const kb_data *data, kb_model **out) {
    return go_on(ctx, options, model, data, 0, out);
}
