/*
 * csv_types.h - what the columns of a CSV file hold, once all its cells are known.
 */
#ifndef KB_IO_CSV_TYPES_H
#define KB_IO_CSV_TYPES_H

#include "io/csv_columns.h"
#include "table/text_ids.h"

/* Turns the cells data->dense into values: types found from the cells and by spec->types, or those
 * of spec->table in rows to predict.  Columns that hold nothing to learn from go.  Sets features,
 * feature_name, table and missing. */
kb_status kb_csv_types_finish(kb_context *ctx, const kb_read_spec *spec,
                              const kb_csv_columns *columns, kb_input *in, kb_text_ids *text,
                              kb_data *data);

#endif
