/*
 * labels.h - the label column of a CSV file, once all its cells are known: numbers or classes.
 *
 * Numbers, where all cells are, perhaps in one style (table/number_style.h).  Else all are words,
 * numbers too: a number stands as its shortest decimal, so that "1", "1.0" and "+1" are one class.
 */
#ifndef KB_CSV_LABELS_H
#define KB_CSV_LABELS_H

#include "csv/columns.h"
#include "table/text_ids.h"

/* A column with more words than this does not hold class labels. */
#define KB_WORDS_MAX 65536

/* Turns the cells data->label into labels, with class_name in alphabetical order where they are
 * words.  A missing label is NaN; where all are missing there is none at all in rows to predict,
 * and KB_ERR_DATA in those to train on.  Also sets label_name and label_column. */
kb_status kb_csv_labels_finish(kb_context *ctx, const kb_csv_columns *columns, kb_input *in,
                               kb_text_ids *text, int to_predict, kb_data *data);

#endif
