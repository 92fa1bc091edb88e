/* map_fit.c - a feature map without a model. */
#include "fit/map_build.h"
#include "tune/plan.h"

kb_status kb_map_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                     kb_map **out) {
    kb_status status;
    kb_map *map = NULL;
    kb_binmat *z = NULL;
    kb_data *scaled = NULL;
    uint32_t *order = NULL;
    double forecast;
    kb_memory_plan plan = {kb_options_bytes(options, KB_OPT_MAX_MEMORY), 0, 8 + 12 + 4};
    size_t room;
    int direct = 0;
    kb_choice choice;
    *out = NULL;
    TRY(kb_choose(ctx, options, data, &choice));
    options = choice.options;
    if (kb_map_is_rival(options)) {
        plan.fixed = kb_map_features_bytes(options, data);
        TRY(kb_map_build_rival(ctx, options, data, &plan, 1, &map, &scaled, &room, &direct,
                               &forecast));
    } else {
        kb_found found = kb_choice_found(&choice);
        TRY(kb_map_build(ctx, options, data, &found, &plan, &map, &z, &forecast));
        TRY(kb_dictionary_build(ctx, z, &map->dictionary, &order));
    }
    *out = map;
done:
    kb_choice_release(ctx, &choice);
    kb_data_free(scaled);
    kb_release(ctx, order);
    kb_binmat_free(z);
    if (status != KB_OK)
        kb_map_free(map);
    return status;
}
