/*
 * contributions.h - what each feature adds to the decisions of rows, as CSV.
 */
#ifndef CLI_CONTRIBUTIONS_H
#define CLI_CONTRIBUTIONS_H

#include "session.h"

/* A line for each row of the data: [class,]decision,base and a column for each feature, which add
 * up to decision - base; a note tells their standard errors.  With three classes or more they are
 * those of the class predicted. */
kb_status contributions_write(session *s, const kb_model *model, const kb_data *data,
                              const kb_data *background, size_t samples, const char *path);

#endif
