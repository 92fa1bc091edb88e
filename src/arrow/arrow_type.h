/*
 * arrow_type.h - what a column of a data frame in the Arrow C data interface holds.
 */
#ifndef KB_ARROW_ARROW_TYPE_H
#define KB_ARROW_ARROW_TYPE_H

#include "core/context.h"

typedef enum kb_arrow_kind {
    KB_ARROW_NUMBERS,
    KB_ARROW_BOOLEANS,
    KB_ARROW_DATES,
    KB_ARROW_TEXTS,
    KB_ARROW_NOTHING, /* no value in any row */
} kb_arrow_kind;

typedef struct kb_arrow_type {
    kb_arrow_kind kind;
    char layout; /* how a value lies: the letter of an Arrow number type, or b, u, U, v, d, n */
    int64_t per_unit; /* dates: of a day; times: of a second; else 1 */
    int digits;       /* decimals: behind the point, may be negative */
    int bits;         /* decimals */
    char index;       /* of a dictionary: the layout of its indices, else 0 */
} kb_arrow_type;

/* Of a column, by its schema.  KB_ERR_DATA, with the column's name and what to do, for types that
 * kerbin does not take. */
kb_status kb_arrow_type_read(kb_context *ctx, const struct ArrowSchema *schema, const char *name,
                             kb_arrow_type *out);

#endif
