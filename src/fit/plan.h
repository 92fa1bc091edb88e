/*
 * plan.h - all that a fit is made from: the options, resolved, and what tuning found beside them.
 */
#ifndef KB_FIT_PLAN_H
#define KB_FIT_PLAN_H

#include "data/mixtures.h"
#include "features/grids.h"
#include "options/config.h"

typedef struct kb_plan {
    kb_config config;     /* without the auto that kb_config_set_untuned replaces */
    kb_widths widths;     /* instead of the config's kernel and sigma, if there are vectors */
    kb_law *law;          /* of the widths */
    kb_mixtures mixtures; /* extra columns, where there is a transform */
    /* The rows that the transform is learned on, while a fit takes others; else NULL. */
    const kb_data *transform_on;
    int fill;  /* the model shall fill in for unknown bins */
    int early; /* config.max_iter is where to stop, not where to give up */
} kb_plan;

/* What the config has no members for. */
static inline void kb_plan_release(kb_context *ctx, kb_plan *plan) {
    kb_release(ctx, plan->widths.width);
    kb_law_free(plan->law);
    kb_mixtures_release(kb_allocator_of(ctx), &plan->mixtures);
    *plan = (kb_plan){0};
}

#endif
