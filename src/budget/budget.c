/* budget.c - see budget.h. */
#include "budget/budget.h"

#include <math.h>

/* The tuner leaves at most this share of what is left when it begins.  With more grids and less
 * tuning the errors on training splits were larger. */
static const double MOST_RESERVED = 0.35;
/* And at most this one, if that is not even enough for a small fit. */
static const double MOST_FOR_LEAST = 0.6;
/* A fit with fewer grids or passes is not worth much. */
enum { LEAST_GRIDS = 32, FEW_GRIDS = 128, LEAST_PASSES = 6, MULTIPLE = 16 };
/* Forecasts are made for quiet machines, and the costs are those of other grids. */
static const double SAFETY = 1.05;
/* Of a pass over 16 grids this share does not depend on the grids. */
static const double PASS_SHARE = 0.4;

const char *kb_cutback_name(kb_cutback what) {
    static const char *const name[KB_CUTBACKS] = {
        [KB_CUT_TUNING] = "tuning",
        [KB_CUT_TRIAL_ROWS] = "rows of trials",
        [KB_CUT_SIGMA] = "search for sigma",
        [KB_CUT_SLOPES] = "slopes",
        [KB_CUT_LEARNED] = "learned widths",
        [KB_CUT_LEARNING_STEPS] = "steps of learning",
        [KB_CUT_LEVELS] = "levels",
        [KB_CUT_MIXTURES] = "extra columns",
        [KB_CUT_SPARSE] = "sparse widths",
        [KB_CUT_FINAL] = "final trials",
        [KB_CUT_MORE_ROWS] = "trials of more rows",
        [KB_CUT_LOSSES] = "losses",
        [KB_CUT_IMPORTANCE] = "importance",
        [KB_CUT_HOLDOUT] = "rows held out",
        [KB_CUT_GRIDS] = "grids",
        [KB_CUT_STEPS] = "solver steps",
    };
    return name[what];
}

/* The straight line through (x1, y1) and (x2, y2), at 0 and how steep it is; neither is negative.
 * Without a second point: by the usual share of y1 at 0. */
static void draw_line(double x1, double y1, double x2, double y2, double share, double *at_0,
                      double *slope) {
    if (x2 > x1) {
        *slope = fmin(fmax((y2 - y1) / (x2 - x1), 0), y2 / x2);
        *at_0 = y2 - *slope * x2;
    } else {
        *slope = (1 - share) * y1 / x1;
        *at_0 = share * y1;
    }
}

kb_costs kb_costs_of(const kb_sample_cost *few, const kb_sample_cost *many) {
    kb_costs out;
    double bins, before = many->grids > 0 ? fmin(few->before, many->before) : few->before;
    draw_line(few->grids, few->grid, many->grids, many->grid, 0, &bins, &out.grid);
    draw_line(few->grids, few->pass, many->grids, many->pass, PASS_SHARE, &out.pass,
              &out.grid_pass);
    out.fixed = before + bins;
    out.grid += many->grids > 0 ? many->write : few->write;
    return out;
}

kb_budget kb_budget_begin(kb_context *ctx, double seconds) {
    kb_budget b = {.clock = ctx->clock,
                   .began = isnan(ctx->started) ? kb_now(ctx) : ctx->started,
                   .seconds = seconds};
    ctx->started = NAN;
    return b;
}

double kb_budget_end(const kb_budget *b) {
    return b->began + b->seconds;
}

double kb_budget_left(const kb_budget *b) {
    return kb_budget_end(b) - kb_clock_now(&b->clock);
}

void kb_budget_cut(kb_budget *b, kb_cutback what) {
    if (b)
        b->cut |= 1u << what;
}

int kb_budget_has_cut(const kb_budget *b, kb_cutback what) {
    return b && (b->cut >> what & 1);
}

double kb_budget_fit(const kb_budget *b, size_t grids, double passes, double fits) {
    const kb_costs *c = &b->costs;
    double pass = c->pass + (double)grids * c->grid_pass;
    return SAFETY * (c->fixed + (double)grids * c->grid + passes * fits * pass);
}

double kb_budget_reserve(const kb_budget *b, size_t grids, double passes, double fits) {
    double wanted = kb_budget_fit(b, grids, passes, fits), left = kb_budget_left(b);
    double least = kb_budget_fit(b, grids < FEW_GRIDS ? grids : FEW_GRIDS, LEAST_PASSES, 1);
    return fmin(wanted, fmax(fmin(least, MOST_FOR_LEAST * left), MOST_RESERVED * left));
}

/* Without a limit; may be negative. */
static double grids_of(const kb_budget *b, double passes, double seconds) {
    const kb_costs *c = &b->costs;
    double each = c->grid + passes * c->grid_pass;
    return each > 0 ? (seconds / SAFETY - c->fixed - passes * c->pass) / each : INFINITY;
}

size_t kb_budget_grids(const kb_budget *b, size_t most, double passes, double seconds) {
    double grids = grids_of(b, passes, seconds), wanted = fmin((double)most, FEW_GRIDS);
    if (grids >= (double)most)
        return most;
    while (grids < wanted && passes > LEAST_PASSES) {
        passes = fmax(passes / 1.25, LEAST_PASSES);
        grids = fmin(grids_of(b, passes, seconds), wanted);
    }
    size_t least = most < LEAST_GRIDS ? most : LEAST_GRIDS;
    grids = floor(grids / MULTIPLE) * MULTIPLE;
    return grids > (double)least ? (size_t)grids : least;
}
