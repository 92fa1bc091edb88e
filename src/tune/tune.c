/*
 * tune.c - sigma, widths, lambda, steps, loss and grids for random binning.
 *
 *   rows     a validation part, or folds, and some others to learn from
 *   sigma    one for all features: by factors of 2 with few grids and rows, then by 1.5
 *   widths   one for each feature (learn_widths.c), with a common factor found in the same way
 *   columns  more of them, by a linear fit (extra_columns.c), if the kernels are better with them
 *   final    trials of the candidates with more grids and as many steps as help; learned widths
 *            must be better than equal ones by enough standard errors
 *   grids    from how much twice as many brought
 *   loss     for classes the logistic one, if it has clearly fewer errors
 *
 * A validation part takes no part in learning the widths; of K folds only the first does not, so
 * scores of learned widths are then too low, which select_widths.c minds in wide tables.  The fit
 * itself takes all rows, with fresh grids.  The numbers are in trial/rules.h.
 */
#include "tune/scale_search.h"
#include "tune/select_widths.h"
#include "fit/learner.h"
#include "tune/select_loss.h"
#include "fit/sigma.h"
#include "trial/rules.h"
#include "trial/width_vectors.h"

#include <math.h>
#include <string.h>

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ---- the stages -------------------------------------------------------- */

/* *found: whether there was time for a first look. */
static kb_status tune_sigma(kb_context *ctx, kb_tuner *t, int *found) {
    kb_status status;
    kb_candidate *c = &t->candidate[KB_CANDIDATE_EQUAL];
    const char *sigma = kb_options_text(t->options, KB_OPT_SIGMA);
    char *words = NULL;
    c->what = "equal";
    *found = 1;
    if (!kb_options_is_auto(t->options, KB_OPT_SIGMA)) {
        c->what = "given";
        c->widths.features = t->rows.map->columns;
        TRY(kb_sigma_parse(ctx, sigma, t->law, t->rows.map->columns, t->rows.spread,
                           &c->widths.vectors, &c->widths.width, &words));
        c->sigma = c->widths.vectors == 1 ? c->widths.width[0].sigma : 0;
        TRY(kb_tuner_try(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                         &c->search));
        goto done;
    }
    c->sigma = t->rows.spread > 0
                   ? KB_RULE_FIRST_SIGMA * (double)t->rows.map->columns * t->rows.spread
                   : 1;
    TRY(kb_widths_equal(ctx, t->rows.map->columns, t->law, c->sigma, &c->widths));
    TRY(kb_scale_search_first(ctx, t, c));
    *found = !t->cut;
    if (t->cut)
        goto done;
    TRY(kb_progress(ctx, "tune", 0.05));
    TRY(kb_scale_search(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                        KB_RULE_SCALE_FACTOR));
    TRY(kb_progress(ctx, "tune", 0.15));
done:
    kb_release(ctx, words);
    return status;
}

/* With R grids the squared error is above its limit by about c/R, so what the last doubling gained
 * is what all further ones can. */
static size_t enough_grids(const kb_trial *half, const kb_trial *full, double most) {
    double gain = half->square - full->square, target = KB_RULE_GRIDS_GAIN * full->square;
    double grids =
        target > 0 ? fmin(KB_RULE_FIRST_GRIDS * gain / target, most) : KB_RULE_GRIDS_LEAST;
    return (size_t)fmax(ceil(grids / KB_RULE_GRIDS_MULTIPLE) * KB_RULE_GRIDS_MULTIPLE,
                        KB_RULE_GRIDS_LEAST);
}

static kb_status tune_grids(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    kb_candidate *c = &t->candidate[t->best];
    kb_trial more = {.grids = KB_RULE_FIRST_GRIDS,
                     .max_steps = KB_RULE_SCALE_STEPS,
                     .seed = t->seed + KB_RULE_TRIAL_SEED,
                     .given_lambda = t->given_lambda};
    double grids = KB_RULE_GRIDS_LEAST,
           most = fmin(KB_RULE_GRIDS_MOST, KB_RULE_GRIDS_INDICATORS / (double)t->rows.data->rows);
    if (!kb_options_is_auto(t->options, KB_OPT_GRIDS))
        return KB_OK;
    /* A model with the L1 penalty is to be small, and more grids are few weights more. */
    if (kb_learner_is_l1(t->options)) {
        grids = KB_RULE_GRIDS_L1;
    } else if (most > KB_RULE_GRIDS_LEAST) {
        if (t->best == KB_CANDIDATE_BOTH)
            TRY(kb_tuner_try(ctx, t, &t->rows.first, c, KB_RULE_SCALE_GRIDS, KB_RULE_SCALE_STEPS,
                             &c->search));
        /* Not noted: it tells of grids alone, on fewer rows than the final trial had. */
        if (t->rows.large.x)
            TRY(kb_trial_run(ctx, &t->rows.first, &c->widths, &more));
        grids = (double)enough_grids(&c->search, t->rows.large.x ? &more : &c->final, most);
    }
    TRY(kb_choice_set_number(ctx, t->choice, KB_OPT_GRIDS, grids));
done:
    kb_trial_release(ctx, &more);
    return status;
}

/* ---- the result -------------------------------------------------------- */

/* A fit of more rows needs more steps to get as far: their number goes with the root of the
 * condition, and that with the rows. */
static size_t enough_steps(const kb_tuner *t, const kb_trial *trial) {
    double rows = (double)t->rows.data->rows / (double)trial->fitted;
    return (size_t)ceil((double)trial->steps * sqrt(fmax(rows, 1)));
}

static kb_status conclude(kb_context *ctx, kb_tuner *t) {
    kb_status status = KB_OK;
    kb_choice *out = t->choice;
    kb_candidate *c = &t->candidate[t->best];
    int square = kb_options_is_auto(out->options, KB_OPT_LOSS) ||
                 strcmp(kb_options_text(out->options, KB_OPT_LOSS), "square") == 0;
    /* A sigma is what can be asked for again, and mixtures cannot. */
    int learned = t->best != KB_CANDIDATE_EQUAL || out->mixtures.count > 0;
    if (!learned && kb_options_is_auto(t->options, KB_OPT_SIGMA))
        TRY(kb_choice_set_number(ctx, out, KB_OPT_SIGMA, c->sigma));
    if (learned) {
        out->widths = c->widths;
        out->law = t->law;
        c->widths.width = NULL;
        t->law = NULL;
    }
    if (kb_learner_is_l1(t->options))
        goto done;
    if (kb_options_is_auto(out->options, KB_OPT_LAMBDA))
        TRY(kb_choice_set_number(ctx, out, KB_OPT_LAMBDA, c->final.lambda));
    if (!square)
        TRY(kb_choice_set_number(ctx, out, KB_OPT_TOL, kb_loss_tol(t)));
    if (square && kb_tuner_may_stop(t)) {
        size_t most = (size_t)kb_options_integer(t->options, KB_OPT_MAX_ITER);
        size_t steps = enough_steps(t, &c->final);
        out->early = steps <= most;
        TRY(kb_choice_set_number(ctx, out, KB_OPT_MAX_ITER, (double)least(steps, most)));
        TRY(kb_choice_set_number(ctx, out, KB_OPT_TOL,
                                 fmin(KB_RULE_STEPS_TOL, kb_options_real(t->options, KB_OPT_TOL))));
    }
    if (square && kb_options_is_auto(t->options, KB_OPT_INTERCEPT)) {
        TRY(kb_choice_set(ctx, out, KB_OPT_INTERCEPT, "mean"));
        out->fill = t->rows.targets.classes == 0;
    }
done:
    return status;
}

kb_status kb_tune(kb_context *ctx, const kb_data *data, kb_choice *choice) {
    kb_status status;
    const kb_options *o = choice->given;
    kb_tuner t = {0};
    int found;
    TRY(kb_progress(ctx, "tune", 0));
    if (kb_options_is_auto(o, KB_OPT_SCALE)) /* a given sigma is for the columns as they are */
        TRY(kb_choice_set(ctx, choice, KB_OPT_SCALE,
                          kb_options_is_auto(o, KB_OPT_SIGMA) ? "ranks" : "minmax"));
    TRY(kb_tuner_prepare(ctx, choice, data, &t));
    TRY(tune_sigma(ctx, &t, &found));
    if (!found) {
        kb_log(ctx, KB_LOG_WARNING,
               "--budget: spent before a sigma was found; the values of --tune off are taken");
        TRY(kb_choice_set(ctx, choice, KB_OPT_SCALE, kb_options_text(o, KB_OPT_SCALE)));
        goto done;
    }
    TRY(kb_learn_candidates(ctx, &t));
    TRY(kb_select_widths(ctx, &t));
    TRY(kb_progress(ctx, "tune", 0.85));
    TRY(tune_grids(ctx, &t));
    TRY(kb_select_loss(ctx, &t));
    TRY(kb_progress(ctx, "tune", 0.9));
    TRY(conclude(ctx, &t));
done:
    kb_tuner_release(ctx, &t);
    return status;
}
