/*
 * score.h - the scores of decisions, as they are made.
 *
 * A scorer takes the decisions in the order of the rows, any number at a time, and keeps of them
 * what the score needs: counts, and the decisions themselves for scores that need all of them at
 * once (AUC, and the standard error of the error): 8 bytes each, of several outputs up to
 * KB_SCORE_KEPT of them.
 */
#ifndef KB_MODEL_SCORE_H
#define KB_MODEL_SCORE_H

#include "model/model.h"

#include <math.h>

/* Nothing is known. */
#define KB_SCORE_NONE                                                                              \
    ((kb_score){sizeof(kb_score), NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN})

/* Fills a caller's score, as far as its size goes.  KB_ERR_ARGUMENT if that cannot be right. */
kb_status kb_score_fill(kb_context *ctx, const kb_score *from, kb_score *out);

/* The class of the model that each label means, words by their name and numbers by value; the
 * number of classes for a label that it does not know, and one more where there is none.  *out
 * belongs to the caller, also after a failure. */
kb_status kb_find_classes(kb_context *ctx, const kb_model *model, const kb_data *data,
                          size_t **out);

#define KB_SCORE_KEPT ((size_t)1 << 21)

typedef struct kb_scorer {
    const kb_model *model;
    const kb_data *data;
    size_t *class_of;       /* rows: the class of each label; NULL for numbers */
    double *right, *total;  /* classes + 1: weights; the last is of labels that are not known */
    double *said;           /* classes + 1: weights by the predicted class */
    double *probability;    /* classes, scratch */
    double log_loss, brier; /* sums */
    double
        *kept; /* rows x outputs: the decisions; NULL if there are several and too many of them */
} kb_scorer;

/* KB_ERR_DATA if the data have no labels, or not those of the model's task.  Release it also
 * after a failure; data and model must outlive it. */
kb_status kb_scorer_begin(kb_context *ctx, const kb_model *model, const kb_data *data,
                          kb_scorer *out);
/* The decisions of the rows begin .. begin + rows, after those of all rows before. */
void kb_scorer_add(kb_scorer *scorer, size_t begin, size_t rows, const double *decision);
/* Once all are there, into a score whose size is right. */
kb_status kb_scorer_end(kb_context *ctx, const kb_scorer *scorer, kb_score *out);
/* The same for the rows of all ranks, on all of them.  Rank 0 gets the labels, weights and
 * decisions of the others, and scores them as one process does, so that the score has the same bits
 * for any number of ranks; it takes 16 to 24 bytes for each row of all.  Where a scorer keeps no
 * decisions the sums of the ranks are added instead, in their order. */
kb_status kb_scorer_end_of_all(kb_context *ctx, kb_scorer *scorer, kb_score *out);
void kb_scorer_release(kb_context *ctx, kb_scorer *scorer);

#endif
