/*
 * stop_rows.h - rows that a fit keeps out of its sums to learn from them when to stop.
 */
#ifndef KB_DATA_STOP_ROWS_H
#define KB_DATA_STOP_ROWS_H

#include "data/data.h"
#include "options/config.h"

/* A share of all rows at random; where there are groups, of the groups; where the order of the rows
 * is time, the last ones.  May be none, but never all.  With ranks each gets those among its rows.
 * *rows belongs to the caller (kb_release). */
kb_status kb_stop_rows(kb_context *ctx, const kb_config *config, const kb_data *data, size_t *count,
                       uint32_t **rows);

#endif
