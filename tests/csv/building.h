/* building.h - the columns of texts read as CSV files, for the tests of csv/. */
#ifndef KB_TESTS_CSV_BUILDING_H
#define KB_TESTS_CSV_BUILDING_H

#include "support.h"

#include "csv/layout.h"

/* Clear *out also after a failure. */
static kb_status build(kb_context *ctx, const kb_read_spec *spec, const char *text,
                       kb_csv_columns *out) {
    kb_input *input;
    char *line;
    size_t length;
    test_path path = file_with("columns.csv", text);
    memset(out, 0, sizeof *out);
    kb_status status = kb_input_open(ctx, path.text, &input);
    if (status == KB_OK)
        status = kb_input_line(input, &line, &length);
    if (status == KB_OK)
        status = kb_csv_columns_build(ctx, spec, input, line, out);
    kb_input_free(input);
    remove(path.text);
    return status;
}

#endif
