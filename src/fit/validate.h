/*
 * validate.h - holds rows out of a fit, for the validation record of the model.
 *
 *   stop rows   rows that told sweeps when to stop: their decisions come from the fit itself
 *   one part    a fifth of the rows, and one more fit without them
 *   folds       all rows, a fifth at a time, where there are few, or where the option probability
 *               is on
 *
 * The fits without them share the bins of the model, and differ from it in these rows alone.
 */
#ifndef KB_FIT_VALIDATE_H
#define KB_FIT_VALIDATE_H

#include "fit/learner.h"
#include "validation/validation.h"

/* How rows are held out; all 0: they are not. */
typedef struct kb_holding {
    size_t folds; /* fits in addition to that of the model */
    int stop;     /* the stop rows are taken */
} kb_holding;

/* given: there is a record already. */
kb_holding kb_holding_of(const kb_config *config, const kb_targets *targets, size_t rows,
                         size_t stop_rows, int given);

/* Memory in addition to the learner, for these many more fits. */
kb_bytes kb_validate_bytes(size_t folds, size_t batch, size_t outputs);

/* What is validated. */
typedef struct kb_validate_spec {
    const kb_learner *learner; /* as it was for the fit of all rows; not changed */
    const kb_data *data;
    kb_holding holding;
    int fill;                /* the model fills in for unknown bins */
    const double *intercept; /* of the model */
} kb_validate_spec;

/* Without rows where they cannot be held out, such as those of a single group.  Release *out also
 * after a failure (kb_validation_release). */
kb_status kb_validate(kb_context *ctx, const kb_validate_spec *spec, kb_validation *out);

#endif
