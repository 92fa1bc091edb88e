/*
 * importance_trial.h - the permutation importance of the features, measured before a fit.
 *
 * A model of the same plan is fitted to at most some thousand rows, with few grids, and scored on
 * validation rows that it has not seen; these are the tuner's.  Without validation rows, what a
 * model has learned by heart would look important.  Takes less memory than the fit of the plan,
 * and a bounded number of steps however many rows and columns there are.
 */
#ifndef KB_TRIAL_IMPORTANCE_TRIAL_H
#define KB_TRIAL_IMPORTANCE_TRIAL_H

#include "fit/plan.h"

/* data: encoded, as the fit takes them.  out->drop is NULL where nothing could be measured: too few
 * rows, too many columns, one group; the log says why.  Else it belongs to the caller
 * (kb_release). */
kb_status kb_importance_trial(kb_context *ctx, const kb_plan *plan, const kb_data *data,
                              kb_importance *out);

#endif
