/* map_fit.c - a feature map without a model. */
#include "api/prepare.h"
#include "api/ranked.h"
#include "budget/pilot.h"
#include "fit/map_build.h"
#include "tune/tune.h"

#include <math.h>

kb_status kb_map_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                     kb_map **out) {
    kb_status status;
    kb_map *map = NULL;
    kb_binned binned = {0};
    kb_data *scaled = NULL;
    uint32_t *order = NULL;
    double forecast;
    size_t room;
    int direct = 0;
    kb_config given = kb_config_of(options);
    kb_tuning tuning = {0};
    kb_prepared x;
    kb_budget run = kb_budget_begin(ctx, given.budget),
              *budget = isfinite(given.budget) ? &run : NULL;
    *out = NULL;
    x = (kb_prepared){0};
    TRY(kb_ranked_refuse(ctx, "kb_map_fit"));
    TRY(kb_prepare(ctx, &given, data, &x));
    if (budget && x.data->label)
        TRY(kb_pilot_run(ctx, &given, x.data, budget));
    TRY(kb_tune(ctx, &given, x.data, budget, &tuning));
    kb_prepared_tell(&x, &tuning.plan);
    const kb_config *config = &tuning.plan.config;
    int rival = kb_config_is_rival(config);
    kb_memory_plan memory =
        kb_forecast_map(config, rival ? kb_map_features_bytes(config, x.data) : 0);
    if (rival) {
        TRY(kb_map_build_rival(ctx, config, x.data, &memory, 1, &map, &scaled, &room, &direct,
                               &forecast));
    } else {
        TRY(kb_map_build(ctx, &tuning.plan, x.data, &memory, &map, &binned, &forecast));
        TRY(kb_dictionary_build(ctx, binned.z, &map->dictionary, &order));
    }
    TRY(kb_map_attach(ctx, map, x.encoding));
    *out = map;
done:
    kb_tuning_release(ctx, &tuning);
    kb_prepared_release(ctx, &x);
    kb_data_free(scaled);
    kb_release(ctx, order);
    kb_binned_release(&binned);
    if (status != KB_OK)
        kb_map_free(map);
    return status;
}
