/* data.c - the public readers: options and models translated for the data room. */
#include "io/reader.h"
#include "data/synthetic.h"
#include "model/model.h"

#include <string.h>

kb_status kb_data_read(kb_context *ctx, const kb_options *options, const char *path,
                       const kb_model *like, kb_data **out) {
    static const kb_file_format formats[] = {KB_FORMAT_AUTO, KB_FORMAT_LIBSVM, KB_FORMAT_CSV};
    static const kb_header headers[] = {KB_HEADER_AUTO, KB_HEADER_ON, KB_HEADER_OFF};
    size_t count;
    const char *untouched = kb_option_table(&count)[KB_OPT_LABEL].default_value;
    const char *weights = kb_options_text(options, KB_OPT_WEIGHTS);
    kb_read_spec spec = {
        .format = formats[kb_options_choice(options, KB_OPT_FORMAT)],
        .zero_based = kb_options_flag(options, KB_OPT_ZERO_BASED),
        .header = headers[kb_options_choice(options, KB_OPT_HEADER)],
        .label = kb_options_text(options, KB_OPT_LABEL),
        .weights = strcmp(weights, "none") ? weights : NULL,
        .group = kb_options_group(options),
    };
    if (like) {
        spec.to_predict = 1;
        spec.zero_based |= like->zero_based;
        spec.features = like->info.features;
        spec.feature_name = like->feature_name;
        spec.label_name = like->feature_name ? like->label : NULL;
        if (!like->feature_name && strcmp(spec.label, untouched) == 0)
            spec.label = like->label; /* the column that the model was trained with */
    }
    return kb_read(ctx, &spec, path, out);
}

kb_status kb_data_generate(kb_context *ctx, const kb_options *options, const char *name,
                           kb_data **out) {
    return kb_synthetic_build(ctx, name, (size_t)kb_options_integer(options, KB_OPT_ROWS),
                              kb_options_real(options, KB_OPT_NOISE),
                              (uint64_t)kb_options_integer(options, KB_OPT_SEED), out);
}
