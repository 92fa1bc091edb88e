/* hedge.c - see hedge.h. */
#include "model/hedge.h"
#include "model/better.h"
#include "model/climb.h"
#include "model/screen.h"
#include "model/widths.h"

enum { FEW_ROWS_A_COLUMN = 25 };

int kb_hedge_is_wide(size_t columns, size_t rows) {
    return columns >= KB_MANY_COLUMNS && rows < FEW_ROWS_A_COLUMN * columns;
}

static int is_wide(const kb_tuner *t) {
    return kb_hedge_is_wide(t->rows.map->columns, t->rows.data->rows);
}

kb_status kb_hedge_screen(kb_context *ctx, kb_tuner *t) {
    kb_status status;
    size_t columns = t->rows.map->columns;
    double *score = NULL;
    kb_candidate *c = &t->candidate[KB_SCREENED];
    c->what = "screened";
    TRY(kb_alloc(ctx, columns, sizeof *score, &score));
    TRY(kb_screen_columns(ctx, &t->rows.first, t->rows.pool, t->rows.row, score));
    TRY(kb_screen_widths(ctx, columns, score, t->law, t->candidate[KB_EQUAL].sigma, &c->widths));
    if (is_wide(t))
        TRY(kb_climb(ctx, t, &t->rows.first, c, KB_CLIMB_GRIDS, KB_CLIMB_STEPS, 1.5));
done:
    kb_release(ctx, score);
    return status;
}

static kb_status mix(kb_context *ctx, kb_tuner *t, const kb_candidate *c, const kb_candidate *more,
                     kb_candidate *out) {
    kb_status status;
    TRY(kb_widths_join(ctx, &c->widths, &more->widths, &out->widths));
    TRY(kb_tuner_try(ctx, t, &t->rows.first, out, KB_CLIMB_GRIDS, KB_CLIMB_STEPS, &out->climb));
done:
    return status;
}

kb_status kb_hedge(kb_context *ctx, kb_tuner *t, kb_candidate *c) {
    kb_status status;
    kb_candidate mixed = {.what = "learned and equal"}, other = {.what = "learned and screened"};
    TRY(mix(ctx, t, c, &t->candidate[KB_EQUAL], &mixed));
    if (is_wide(t)) {
        TRY(mix(ctx, t, c, &t->candidate[KB_SCREENED], &other));
        if (other.climb.score < mixed.climb.score)
            kb_candidate_exchange(&other, &mixed);
    }
    if (!kb_is_better(&c->climb, &mixed.climb, KB_FAR_BEHIND))
        kb_candidate_exchange(&mixed, c);
done:
    kb_candidate_release(ctx, &mixed);
    kb_candidate_release(ctx, &other);
    return status;
}
