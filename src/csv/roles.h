/*
 * roles.h - which column of a CSV file is the label, the weight, the group, a feature or
 * ignored; part of columns.h.
 */
#ifndef KB_CSV_ROLES_H
#define KB_CSV_ROLES_H

#include "csv/columns.h"

/* Before it is known whether there is a header: the columns of label and group, where a number says
 * which they are, for they may hold words in any line, else KB_NO_COLUMN; and whether the label,
 * the weight or the group is given by a name. */
kb_status kb_csv_word_columns(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                              const kb_csv_columns *c, size_t skip[2], int *by_name);

/* Whether it can only be a name: no number, or one that is beyond the columns and a field of the
 * first line. */
int kb_csv_is_name(const kb_csv_columns *c, const char *text);

/* Fills in label, weight, group, ignored, feature and source. */
kb_status kb_csv_roles_find(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                            kb_csv_columns *c);

#endif
