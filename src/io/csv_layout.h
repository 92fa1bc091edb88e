/*
 * csv_layout.h - the columns of a CSV file, decided from its first lines and the options.
 */
#ifndef KB_IO_CSV_LAYOUT_H
#define KB_IO_CSV_LAYOUT_H

#include "io/csv_columns.h"

/* `line` is the line that `input` gave last.  Clear *out also after a failure. */
kb_status kb_csv_columns_build(kb_context *ctx, const kb_read_spec *spec, kb_input *input,
                               const char *line, kb_csv_columns *out);

#endif
