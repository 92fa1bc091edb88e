/* trial_rows.c - see trial_rows.h. */
#include "trial/trial_rows.h"
#include "core/order.h"
#include "data/scaling.h"
#include "fit/forecast.h"
#include "options/say.h"
#include "trial/rules.h"

size_t kb_trial_rows_steps(const kb_trial_rows *s) {
    size_t outputs = s->targets.outputs;
    return outputs == 1                      ? KB_RULE_STEPS_ONE_OUTPUT
           : outputs < KB_RULE_STEPS_OUTPUTS ? KB_RULE_STEPS_FEW_OUTPUTS
                                             : KB_RULE_STEPS_MANY_OUTPUTS;
}

/* Groups may be few, and a split by time has little to learn from for its first folds: folds of
 * these must be asked for. */
static size_t folds_of(const kb_trial_rows *s) {
    if (s->config->folds != KB_FOLDS_AUTO)
        return s->config->folds;
    size_t most = s->targets.classes > 0 ? KB_RULE_FOLDS_ROWS_CLASSES : KB_RULE_FOLDS_ROWS;
    return s->data->rows <= most && s->data->rows * s->targets.outputs <= KB_RULE_FOLDS_CELLS &&
                   s->split != KB_SPLIT_GROUP && s->split != KB_SPLIT_TIME
               ? KB_RULE_FOLDS
               : 0;
}

static kb_status scale_all(kb_context *ctx, kb_trial_rows *s) {
    kb_status status;
    kb_data *scaled = NULL;
    TRY(kb_map_begin(ctx, s->config, 0, s->data, &s->map));
    if (!s->map->transform)
        TRY(kb_map_scale(ctx, s->config, s->data, s->map, &scaled));
done:
    kb_data_free(scaled);
    return status;
}

/* How many validation rows and other rows a draw gives, which may be fewer than it asks for.  With
 * folds every drawn row is a validation row once, except the first ones of a split by time. */
static size_t rows_drawn(const kb_trial_rows *s, size_t pool, size_t held) {
    size_t inside = 0, all = s->data->rows;
    for (size_t i = 0; i < all; i++)
        inside += s->held.fold[i] != KB_FOLD_NONE;
    return kb_least(s->folds ? pool + held : held, inside) + kb_least(pool, all - inside);
}

static kb_trial_size size_of(const kb_trial_rows *s, size_t rows, size_t held, size_t grids) {
    const kb_data *data = s->data;
    size_t mixed = kb_map_mixtures(s->map), levels = kb_map_levels(s->map);
    kb_trial_size size = {.rows = rows,
                          .held = held,
                          .grids = grids,
                          .columns = s->map->columns,
                          /* those without extra columns are kept until it is decided */
                          .copies = mixed + levels > 0 ? 3 : 2,
                          .outputs = s->targets.outputs,
                          .folds = s->folds ? s->folds : 1,
                          .steps = kb_trial_rows_steps(s)};
    size.entries = data->dense ? (double)s->map->columns
                               : 1.5 * (double)data->row_start[data->rows] / (double)data->rows +
                                     (double)mixed;
    return size;
}

static double trial_bytes(const kb_trial_rows *s, size_t pool, size_t held, size_t grids) {
    kb_trial_size size = size_of(s, rows_drawn(s, pool, held), held, grids);
    kb_metric_kind metric =
        kb_metric_of_kernel(s->config->metric, s->targets.classes > 0, s->config->loss);
    return s->config->held + kb_forecast_trial(&size) +
           (double)size.held * kb_metric_room_bytes(metric);
}

/* How many training and validation rows a sample takes: fewer where there is little memory. */
typedef struct extent {
    size_t pool, held;
    double bytes; /* of a trial */
} extent;

static size_t limit_of(const kb_trial_rows *s) {
    return kb_config_memory(s->config);
}

static extent extent_of(const kb_trial_rows *s, size_t pool, size_t held, size_t grids) {
    double limit = (double)limit_of(s);
    size_t columns = s->targets.outputs * (s->folds ? s->folds : 1);
    pool = kb_least(pool, KB_RULE_SAMPLE_CELLS / columns);
    pool = kb_least(pool > KB_RULE_SAMPLE_ROWS ? pool : KB_RULE_SAMPLE_ROWS, s->data->rows);
    pool = kb_least(pool, s->most);
    held = kb_least(kb_least(held, pool / KB_RULE_OTHERS_PER_VALIDATION_ROW),
                    KB_RULE_KEPT_CELLS / (s->targets.outputs * kb_trial_rows_steps(s)) + 1);
    while (trial_bytes(s, pool, held, grids) > limit && pool > KB_RULE_LITTLE_MEMORY_ROWS) {
        pool = pool / 2;
        held = held / 2 + 1;
    }
    return (extent){pool, held, trial_bytes(s, pool, held, grids)};
}

size_t kb_trial_rows_abreast(const kb_trial_rows *s, const kb_subsample *sample, size_t grids) {
    enum { MANY = 64 };
    size_t held = 0;
    for (size_t i = 0; i < sample->folds.rows; i++)
        held += sample->folds.fold[i] < sample->folds.folds;
    kb_trial_size size = size_of(s, sample->x->rows, held, grids);
    double rest = (double)limit_of(s) - s->config->held - kb_forecast_trial(&size);
    size.copies = 0; /* they are shared */
    double more = rest / kb_forecast_trial(&size);
    return more < 0 ? 1 : 1 + (size_t)(more < MANY ? more : MANY);
}

static kb_status draw(kb_context *ctx, const kb_trial_rows *s, extent e, kb_subsample *out) {
    size_t limit = limit_of(s);
    kb_subsample_source from = {s->config, s->data, &s->targets, s->map, &s->held, s->seed};
    if (e.bytes > (double)limit)
        return kb_fail(
            ctx, KB_ERR_MEMORY,
            "trials of %zu rows may need %s of memory, and %s may be taken: use a larger %s, or %s",
            rows_drawn(s, e.pool, e.held), kb_size_in_words(e.bytes).text,
            kb_size_in_words((double)limit).text, kb_say(ctx, KB_OPT_MAX_MEMORY).text,
            kb_say_value(ctx, KB_OPT_TUNE, "off").text);
    return kb_subsample_draw(ctx, &from, s->folds ? e.pool + e.held : e.held, e.pool, out);
}

static extent first_extent(const kb_trial_rows *s) {
    return extent_of(s, KB_RULE_FIRST_OTHER_ROWS, KB_RULE_FIRST_VALIDATION_ROWS,
                     KB_RULE_FIRST_GRIDS);
}

static kb_status fill_pool(kb_context *ctx, kb_trial_rows *s) {
    kb_status status;
    kb_folds *f = &s->first.folds;
    TRY(kb_alloc(ctx, f->rows, sizeof *s->row, &s->row));
    for (size_t i = 0; i < f->rows; i++)
        if (kb_folds_fits(f, i, 0))
            s->row[s->pool++] = (uint32_t)i;
done:
    return status;
}

kb_status kb_trial_rows_prepare(kb_context *ctx, const kb_config *config, const kb_data *data,
                                kb_trial_rows *s) {
    kb_status status;
    double *spread = NULL;
    *s = (kb_trial_rows){.config = config, .data = data, .seed = config->seed, .most = SIZE_MAX};
    TRY(kb_targets_build(ctx, config->task, data, &s->targets));
    s->split = kb_split_resolve(config->split, s->targets.classes, data->rows);
    s->folds = folds_of(s);
    TRY(kb_folds_build(ctx, s->split, s->folds, KB_RULE_VALIDATION_SHARE,
                       KB_RULE_LARGE_VALIDATION_ROWS, s->seed, data->rows, s->targets.class_of,
                       data->group, &s->held));
    TRY(scale_all(ctx, s));
    TRY(draw(ctx, s, first_extent(s), &s->first));
    TRY(kb_alloc(ctx, s->map->columns, sizeof *spread, &spread));
    TRY(kb_scaling_deviations(ctx, s->first.x, s->first.shift, s->first.scale, spread));
    s->spread = kb_scaling_mean(spread, s->map->columns);
    TRY(fill_pool(ctx, s));
done:
    kb_release(ctx, spread);
    return status;
}

kb_status kb_trial_rows_shrink(kb_context *ctx, kb_trial_rows *s, size_t most) {
    kb_status status;
    s->most = most;
    kb_subsample_release(ctx, &s->first);
    kb_release(ctx, s->row);
    s->row = NULL;
    s->pool = 0;
    TRY(draw(ctx, s, first_extent(s), &s->first));
    TRY(fill_pool(ctx, s));
done:
    return status;
}

kb_status kb_trial_rows_redraw(kb_context *ctx, const kb_trial_rows *s, kb_map *map,
                               kb_subsample *first) {
    kb_trial_rows other = *s;
    other.map = map;
    extent old = first_extent(s), e = first_extent(&other);
    *first = (kb_subsample){0};
    if (e.pool != old.pool || e.held != old.held || e.bytes > (double)limit_of(s))
        return KB_OK;
    return draw(ctx, &other, e, first);
}

void kb_trial_rows_exchange(kb_trial_rows *s, kb_map **map, kb_subsample *first) {
    kb_map *old_map = s->map;
    kb_subsample old = s->first;
    s->map = *map;
    s->first = *first;
    *map = old_map;
    *first = old;
}

kb_status kb_trial_rows_draw_large(kb_context *ctx, kb_trial_rows *s) {
    kb_status status;
    double enough = KB_RULE_LARGE_RATIO * (double)s->first.x->rows;
    if ((double)s->data->rows < enough || s->most < SIZE_MAX)
        return KB_OK;
    TRY(draw(
        ctx, s,
        extent_of(s, KB_RULE_LARGE_OTHER_ROWS, KB_RULE_LARGE_VALIDATION_ROWS, KB_RULE_LARGE_GRIDS),
        &s->large));
    if ((double)s->large.x->rows < enough)
        kb_subsample_release(ctx, &s->large);
done:
    return status;
}

kb_status kb_trial_rows_draw_more(kb_context *ctx, const kb_trial_rows *s, size_t pool,
                                  kb_subsample *out) {
    *out = (kb_subsample){0};
    return draw(ctx, s, extent_of(s, pool, KB_RULE_LARGE_VALIDATION_ROWS, KB_RULE_LARGE_GRIDS),
                out);
}

void kb_trial_rows_release(kb_context *ctx, kb_trial_rows *s) {
    kb_targets_release(ctx, &s->targets);
    kb_subsample_release(ctx, &s->first);
    kb_subsample_release(ctx, &s->large);
    kb_folds_release(ctx, &s->held);
    kb_map_free(s->map);
    kb_release(ctx, s->row);
}
