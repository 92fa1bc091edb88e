/* mixing.c - see mixing.h. */
#include "model/mixing.h"
#include "model/better.h"
#include "model/climb.h"
#include "model/linear.h"
#include "model/widths.h"

#include <string.h>

/* The share of the budget after which it is left. */
static const double TIME = 0.2;
/* Standard errors by which equal widths must be better with the mixtures.  More than for widths:
 * what little they do for equal ones, learnt ones may do without them, and better. */
static const double LUCK = 2;

static int may_mix(const kb_tuner *t) {
    size_t columns = t->rows.map->columns;
    return strcmp(kb_options_text(t->options, KB_OPT_LINEAR), "off") != 0 &&
           kb_options_is_auto(t->options, KB_OPT_SIGMA) && t->rows.map->transform && columns > 1 &&
           columns <= KB_LINEAR_COLUMNS && t->rows.pool >= KB_LINEAR_ROWS * columns &&
           t->rows.targets.outputs <= KB_LINEAR_OUTPUTS && !kb_choice_is_late(t->choice, TIME);
}

kb_status kb_mixing_try(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    kb_candidate *c = &t->candidate[KB_EQUAL];
    kb_candidate mixed = {.what = "equal, linear", .sigma = c->sigma};
    kb_mixtures mixtures = {0};
    kb_map *map = NULL;
    kb_sample first = {0};
    if (!may_mix(t))
        goto done;
    TRY(kb_linear_learn(ctx, &t->rows.first, t->rows.pool, t->rows.row, &mixtures));
    TRY(kb_map_mix(ctx, t->rows.map, &mixtures, &map));
    TRY(kb_samples_redraw(ctx, &t->rows, map, &first));
    if (!first.x) /* little memory: no rows to compare on */
        goto done;
    TRY(kb_widths_equal(ctx, map->columns, t->law, c->sigma, &mixed.widths));
    TRY(kb_climb(ctx, t, &first, &mixed, KB_CLIMB_GRIDS, KB_CLIMB_STEPS, 1.5));
    if (kb_is_better(&mixed.climb, &c->climb, LUCK)) {
        kb_samples_change(ctx, &t->rows, &map, &first);
        kb_candidate_exchange(&mixed, c);
        t->choice->mixtures = mixtures;
        mixtures = (kb_mixtures){0};
    }
done:
    kb_candidate_release(ctx, &mixed);
    kb_sample_release(ctx, &first);
    kb_map_free(map);
    kb_mixtures_release(kb_allocator_of(ctx), &mixtures);
    return status;
}
