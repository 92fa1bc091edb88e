/*
 * fit.h - the stages of a fit, for one lambda (fit.c) and for a path of them (api/path.c).
 */
#ifndef KB_FIT_FIT_H
#define KB_FIT_FIT_H

#include "fit/learner.h"
#include "fit/map_build.h"
#include "fit/validate.h"
#include "model/model.h"

typedef struct kb_fit {
    const kb_plan *plan;
    const kb_data *data;
    kb_targets targets;
    kb_data *scaled;      /* the data after the transform of a rival map, or NULL */
    kb_binmat *z;         /* NULL for a rival map */
    size_t columns_of_z;  /* D */
    kb_zcolumns *columns; /* of Z, for the L1 penalty */
    uint32_t *order;      /* bins of z in the order of the dictionary */
    kb_operator *op;
    double *sample_weight; /* N, or NULL for ones */
    double total_weight;
    kb_learner learner;
    size_t batch;         /* outputs solved at once */
    double *y, *f;        /* N x batch */
    double *alpha;        /* N x batch, unless the solver gives weights */
    double *w;            /* D x batch */
    float *weight;        /* D x outputs, the model's */
    double *rival_weight; /* the same for a rival map */
    /* Scores on the training rows. */
    double right, squared_error;
    double *best; /* N: the best decision so far */
    uint32_t *winner;
    uint32_t *stop_row; /* the learner's, like both below */
    double *stop_f, *stop_batch;
    kb_holding holding;
    kb_fit_info info;
    kb_fit_cost cost;
    double grid_seconds; /* of the bins, which grow with the grids */
    int late;            /* a solver stopped because there was no more time */
} kb_fit;

/* Whether a fit would be refused: the checks that need no work. */
kb_status kb_fit_check(kb_context *ctx, const kb_plan *plan, const kb_data *data);

/* Map, targets and memory.  Call kb_fit_release on success and on failure. */
kb_status kb_fit_prepare(kb_context *ctx, kb_fit *fit, kb_model *model);
void kb_fit_release(kb_context *ctx, kb_fit *fit);

/* Outputs first .. first + C: the decisions of the training rows, and the weights, written to their
 * place in the model.  For the L1 penalty w, D, and the model's intercept are the start values. */
kb_status kb_fit_outputs(kb_context *ctx, kb_fit *fit, kb_model *model, size_t first, size_t C,
                         double *w);

/* Parts of it, for a solve of another kind between them: the targets, in fit->y, and the prior; the
 * weights w and the decisions in fit->f to where they belong. */
kb_status kb_fit_targets(kb_context *ctx, kb_fit *fit, kb_model *model, size_t first, size_t C);
kb_status kb_fit_keep(kb_context *ctx, kb_fit *fit, kb_model *model, size_t first, size_t C,
                      const double *w);

/* Probabilities, fit info and names.  The model fills in for unknown bins if asked to and able to:
 * a rival has no bins, and with the L1 penalty an unknown bin is one without a weight. */
kb_status kb_fit_finish(kb_context *ctx, kb_fit *fit, kb_model *model);

/* Fits a model by the plan. */
kb_status kb_fit_plan(kb_context *ctx, const kb_plan *plan, const kb_data *data, kb_model **out);

#endif
