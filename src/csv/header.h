/*
 * header.h - whether the first line of a CSV file holds names or values, judged by the lines
 * below it.
 *
 * Names, if a word stands above nothing but numbers, or if all fields are words, all different, and
 * none comes again below.  Also the numbers 0, 1, 2, .. or 1, 2, 3, .. over all columns, as data
 * frames without names are written.
 */
#ifndef KB_CSV_HEADER_H
#define KB_CSV_HEADER_H

#include "core/memory.h"

/* Lines below the first that are looked at. */
enum { KB_HEADER_ROWS = 100 };

/* What stands below a field of the first line. */
typedef struct kb_below {
    size_t numbers, words, missing;
    int again; /* one of the words is that of the first line */
} kb_below;

typedef struct kb_csv_sample {
    size_t rows;
    kb_below *below; /* of each column */
} kb_csv_sample;

/* Looks at the lines in `text`, which begins below the first line and ends where it was cut.
 * Clear it also after a failure. */
kb_status kb_csv_sample_build(kb_context *ctx, char delimiter, size_t columns, char *const *field,
                              const char *text, size_t length, kb_csv_sample *out);
void kb_csv_sample_clear(kb_context *ctx, kb_csv_sample *sample);

/* Whether the fields are 0, 1, 2, .. or 1, 2, 3, .., behind an empty one if there is an index. */
int kb_header_counts(size_t columns, char *const *field);
/* Whether they are names that count.  With fewer than four columns they could as well be values,
 * unless words stand below. */
int kb_header_is_counted(const kb_csv_sample *sample, size_t columns, char *const *field);

/* Whether they are names by the rules above.  The columns `skip` may hold words in any line. */
int kb_header_is_named(const kb_csv_sample *sample, size_t columns, char *const *field,
                       const size_t skip[2]);

#endif
