/*
 * holdout.h - rows that are set aside before the tuning (option holdout with a share), and measured
 * by a fit of the others.
 */
#ifndef KB_API_HOLDOUT_H
#define KB_API_HOLDOUT_H

#include "fit/plan.h"

typedef struct kb_aside {
    uint32_t *rest, *held; /* numbers of the rows */
    size_t rests, helds;
    kb_data *others; /* the rows `rest`; NULL where none are set aside */
} kb_aside;

/* Sets rows aside if the config asks for it; KB_ERR_DATA where the rows cannot be split so.  Call
 * kb_aside_release on success and on failure. */
kb_status kb_aside_take(kb_context *ctx, const kb_config *config, const kb_data *data,
                        kb_aside *out);
void kb_aside_release(kb_context *ctx, kb_aside *aside);

/* Fits the others by the plan that was made with them, and decides on the rows set aside.  `data`:
 * all rows as the fit will take them.  Release *out also after a failure. */
kb_status kb_aside_measure(kb_context *ctx, const kb_aside *aside, const kb_plan *plan,
                           const kb_data *data, kb_validation *out);

#endif
