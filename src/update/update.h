/*
 * update.h - a fit that goes on from a model: the same grids, lambda and loss, and its weights as
 * the start (solve/refine.h has the objective).
 *
 * New rows come on top of those that the model has learned from: known bins move from where they
 * are, new bins are added, and bins that no new row meets keep their weights.  Before they are
 * learned from, the new rows tell how good the model was: that replaces what rows held out of the
 * first fit said, unless they are few.
 *
 * Again to the same rows, or others in their place: the objective of a fit.  Only the bins of these
 * rows stay.
 */
#ifndef KB_UPDATE_UPDATE_H
#define KB_UPDATE_UPDATE_H

#include "model/model.h"

typedef struct kb_update_spec {
    const kb_model *model;
    const kb_data *data;     /* labelled, with the columns of the model */
    const kb_config *config; /* memory, class weights and steps are taken from it */
    int adds;                /* the rows are new ones */
} kb_update_spec;

/* KB_ERR_ARGUMENT for a model that cannot go on: with penalty l1, softmax, or another map than
 * binning; KB_ERR_DATA for labels that it does not know. */
kb_status kb_update(kb_context *ctx, const kb_update_spec *spec, kb_model **out);

#endif
