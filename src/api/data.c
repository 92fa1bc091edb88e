/* data.c - the public readers: options and models passed on to src/data and src/io. */
#include "core/memory.h"
#include "data/synthetic.h"
#include "io/reader.h"
#include "model/model.h"
#include "options/say.h"

#include <stdio.h>

typedef struct reading {
    const kb_read_spec *spec;
    kb_data **out;
} reading;

static kb_status read_data(kb_context *ctx, const char *path, void *user) {
    const reading *r = user;
    return kb_read(ctx, r->spec, path, r->out);
}

kb_status kb_data_read(kb_context *ctx, const kb_options *options, const char *path,
                       const kb_model *like, kb_data **out) {
    kb_config config = kb_config_of(options);
    kb_read_spec spec = {
        .format = config.format,
        .zero_based = config.zero_based,
        .header = config.header,
        .label = config.label,
        .ignore = config.ignore,
        .columns = config.columns,
        .types = config.types,
        .weights = config.weights,
        .group = config.group,
    };
    if (like) {
        spec.to_predict = 1;
        spec.keep = config.keep;
        spec.zero_based |= like->zero_based;
        spec.features = like->info.features;
        spec.feature_name = like->feature_name;
        spec.table = like->table;
        spec.label_name = like->feature_name ? like->label : NULL;
        if (!like->feature_name && !config.label_given)
            spec.label = like->label; /* the column that the model was trained with */
    }
    char advice[320];
    snprintf(advice, sizeof advice, "use fewer rows or a larger %s",
             kb_say(ctx, KB_OPT_MAX_MEMORY).text);
    return kb_read_charged(ctx, path, kb_config_memory(&config), advice, read_data,
                           &(reading){&spec, out});
}

kb_status kb_data_files(kb_context *ctx, const char *path,
                        kb_status (*each)(void *user, const char *file), void *user) {
    kb_status status;
    kb_parts parts;
    TRY(kb_parts_find(ctx, path, &parts));
    if (parts.count == 0)
        status = each(user, path);
    for (size_t k = 0; k < parts.count && status == KB_OK; k++)
        status = each(user, parts.path[k]);
done:
    kb_parts_clear(ctx, &parts);
    return status;
}

kb_status kb_data_generate(kb_context *ctx, const kb_options *options, const char *name,
                           kb_data **out) {
    kb_config config = kb_config_of(options);
    return kb_synthetic_build(ctx, name, config.rows, config.noise, config.seed, out);
}
