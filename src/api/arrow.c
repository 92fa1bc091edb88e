/* arrow.c - data frames of a caller: options and models passed on to src/io. */
#include "arrow/arrow.h"
#include "model/model.h"

kb_status kb_data_from_arrow(kb_context *ctx, const kb_options *options, const kb_arrow *arrow,
                             const kb_model *like, kb_data **out) {
    kb_status status;
    kb_data *data = NULL;
    kb_arrow a;
    kb_config config = {0};
    *out = NULL;
    if (options)
        config = kb_config_of(options);
    TRY(kb_take_struct(ctx, "kb_arrow", arrow, &a, sizeof a));
    kb_arrow_spec spec = {.schema = a.schema,
                          .batch = a.batch,
                          .batches = a.batches,
                          .columns = config.columns,
                          .ignore = config.ignore,
                          .types = config.types};
    kb_arrays about = {.labels = a.labels,
                       .weights = a.weights,
                       .class_names = a.class_names,
                       .classes = a.classes};
    if (like) {
        spec.to_predict = 1;
        spec.features = like->info.features;
        spec.feature_name = like->feature_name;
        spec.table = like->table;
        spec.label_name = like->feature_name ? like->label : NULL;
    }
    TRY(kb_data_create(ctx, &data));
    TRY(kb_arrow_read(ctx, &spec, data));
    TRY(kb_data_attach(ctx, &about, data));
    TRY(kb_data_choose_form(ctx, data));
    *out = data;
done:
    if (status != KB_OK)
        kb_data_free(data);
    return status;
}
