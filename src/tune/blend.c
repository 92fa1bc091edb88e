/* blend.c - see blend.h. */
#include "tune/blend.h"
#include "trial/compare_trials.h"
#include "trial/rules.h"
#include "tune/scale_search.h"
#include "tune/relevance.h"
#include "trial/width_vectors.h"

int kb_is_wide_table(size_t columns, size_t rows) {
    return columns >= KB_RULE_MANY_COLUMNS && rows < KB_RULE_WIDE_ROWS_PER_COLUMN * columns;
}

static int is_wide(const kb_tuner *t) {
    return kb_is_wide_table(t->rows.map->columns, kb_rows_of_all(t->rows.data));
}

kb_status kb_relevance_candidate(kb_context *ctx, kb_tuner *t) {
    kb_status status;
    size_t columns = t->rows.map->columns;
    double *score = NULL;
    kb_candidate *c = &t->candidate[KB_CANDIDATE_RELEVANCE];
    c->what = "screened";
    TRY(kb_alloc(ctx, columns, sizeof *score, &score));
    TRY(kb_relevance_columns(ctx, &t->rows.first, t->rows.pool, t->rows.row, score));
    TRY(kb_relevance_widths(ctx, columns, t->rows.first.x->level, score, t->law,
                            t->candidate[KB_CANDIDATE_EQUAL].sigma, &c->widths));
    if (is_wide(t))
        TRY(kb_scale_search(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                            KB_RULE_SCALE_FACTOR));
done:
    kb_release(ctx, score);
    return status;
}

static kb_status mix(kb_context *ctx, kb_tuner *t, const kb_candidate *c, const kb_candidate *more,
                     kb_candidate *out) {
    kb_status status;
    TRY(kb_widths_join(ctx, &c->widths, &more->widths, &out->widths));
    TRY(kb_tuner_try(ctx, t, &t->rows.first, out, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                     &out->search));
done:
    return status;
}

/* Replaces *best by the kernel joined with another candidate, if that is better. */
static kb_status mix_better(kb_context *ctx, kb_tuner *t, const kb_candidate *c, int which,
                            const char *what, kb_candidate *best) {
    kb_status status;
    kb_candidate other = {.what = what};
    TRY(mix(ctx, t, c, &t->candidate[which], &other));
    if (other.search.score < best->search.score)
        kb_candidate_exchange(&other, best);
done:
    kb_candidate_release(ctx, &other);
    return status;
}

kb_status kb_blend(kb_context *ctx, kb_tuner *t, kb_candidate *c) {
    kb_status status;
    kb_candidate mixed = {.what = "learned and equal"};
    TRY(mix(ctx, t, c, &t->candidate[KB_CANDIDATE_EQUAL], &mixed));
    if (t->candidate[KB_CANDIDATE_SLOPES].search.each)
        TRY(mix_better(ctx, t, c, KB_CANDIDATE_SLOPES, "learned and by slopes", &mixed));
    if (is_wide(t))
        TRY(mix_better(ctx, t, c, KB_CANDIDATE_RELEVANCE, "learned and screened", &mixed));
    if (!kb_is_better(&c->search, &mixed.search, KB_RULE_BLEND_STANDARD_ERRORS))
        kb_candidate_exchange(&mixed, c);
done:
    kb_candidate_release(ctx, &mixed);
    return status;
}
