/*
 * plan.h - the input of a fit: the resolved options and the results of tuning.
 */
#ifndef KB_FIT_PLAN_H
#define KB_FIT_PLAN_H

#include "data/mixtures.h"
#include "features/grids.h"
#include "encode/encoding.h"
#include "fit/targets.h"
#include "model/map.h"
#include "validation/validation.h"
#include "options/config.h"

typedef struct kb_plan {
    kb_config config;     /* without any auto that kb_config_set_untuned replaces */
    kb_widths widths;     /* replace the config's kernel and sigma, if there are vectors */
    kb_law *law;          /* of the widths */
    kb_mixtures mixtures; /* extra columns, where there is a transform */
    int levels; /* columns of levels are used, by these widths; else a transform drops them */
    /* The rows that the transform is learned on, if the fit takes others; else NULL. */
    const kb_data *transform_on;
    /* With ranks: the transform itself, where the tuner had a sample of the rows of all. */
    kb_transform *transform;
    /* Where the fit takes encoded data: the data as they were given, and the encoding, which the
     * model gets.  Both belong to the caller. */
    const kb_data *source;
    const kb_encoding *encoding;
    /* Decisions for rows that were set aside; without rows: the fit holds some out, by the option
     * holdout.  It takes the record over. */
    kb_validation *validation;
    int fill;  /* the model fills in for unknown bins */
    int early; /* config.max_iter is a planned stop, not a failure to converge */
    /* Where a fit goes on from a model (update/): its map, with the grids, and what the labels mean
     * there, both of which the fit takes over; what it takes beside a fit; and whether the rows
     * come on top of those that the model has learned from. */
    kb_map *map;
    kb_targets *targets;
    kb_bytes more;
    int adds;
} kb_plan;

/* Values that the config has no members for. */
static inline void kb_plan_release(kb_context *ctx, kb_plan *plan) {
    kb_release(ctx, plan->widths.width);
    kb_law_free(plan->law);
    kb_mixtures_release(kb_allocator_of(ctx), &plan->mixtures);
    kb_transform_free(plan->transform);
    *plan = (kb_plan){0};
}

#endif
