/*
 * plan.h - what the options leave open, chosen for the data at hand.
 *
 * plan.c knows what is open and who closes it: plain values where nothing is to be tuned,
 * tune.c for random binning with the L2 penalty, fit_search.c by whole fits for all else.
 */
#ifndef KB_TUNE_PLAN_H
#define KB_TUNE_PLAN_H

#include "data/folds.h"
#include "fit/map_build.h"

typedef struct kb_choice {
    const kb_options *given;
    kb_options *options;  /* a copy without any auto that a fit could not resolve itself */
    kb_widths widths;     /* instead of the options kernel and sigma, if there are vectors */
    kb_law *law;          /* of the widths */
    kb_mixtures mixtures; /* columns more */
    const kb_data *like;  /* the rows they were found for, while a fit takes others; else NULL */
    int fill;             /* the model shall fill in for unknown bins */
    int early;            /* the option max-iter is where to stop, not where to give up */
    kb_trial_info *tried;
    size_t count, room;
    double began, budget; /* seconds */
} kb_choice;

/* kb_choice_release either way. */
kb_status kb_choose(kb_context *ctx, const kb_options *options, const kb_data *data,
                    kb_choice *out);
void kb_choice_release(kb_context *ctx, kb_choice *choice);

/* For the two that make the trials. */
kb_status kb_tune(kb_context *ctx, const kb_data *data, kb_choice *choice);
kb_status kb_fit_search(kb_context *ctx, const kb_data *data, kb_choice *choice);

/* For kb_map_build. */
kb_found kb_choice_found(const kb_choice *choice);

/* Plain values for all that is still open. */
kb_status kb_choice_set_plain(kb_context *ctx, kb_choice *choice);
kb_status kb_choice_set(kb_context *ctx, kb_choice *choice, kb_option_id id, const char *text);
kb_status kb_choice_set_number(kb_context *ctx, kb_choice *choice, kb_option_id id, double x);
/* Notes a trial, whose texts must not go. */
kb_status kb_choice_note(kb_context *ctx, kb_choice *choice, const kb_trial_info *tried);
/* --split, where auto is stratified for classes, unless each may have one row only. */
kb_split_kind kb_split_of(const kb_options *options, size_t classes, size_t rows);
/* Whether `share` of the budget is spent. */
int kb_choice_is_late(const kb_choice *choice, double share);

#endif
