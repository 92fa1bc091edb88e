/*
 * options.h - sets of options, as the library sees them.
 *
 * A row of the table has an id (table.h).  A value is parsed and checked when it is set.  Code that
 * works with options takes them from config.h, as numbers and enums.
 */
#ifndef KB_OPTIONS_OPTIONS_H
#define KB_OPTIONS_OPTIONS_H

#include "options/table.h"

/* The text that was set, and its value. */
typedef struct kb_option_value {
    char *text;
    double real;     /* of a number, of a size in bytes (0: auto) and of a time in seconds */
    int64_t integer; /* of a whole number, of a flag, and of a choice: its enum in choices.h */
} kb_option_value;

const kb_option_value *kb_options_value(const kb_options *options, kb_option_id id);
/* Ranks that share the memory of this machine, of the context that made the options. */
int kb_options_nearby(const kb_options *options);

/* Parses a text.  NULL if it has the right form and bounds, else a description of valid values,
 * which may be stored in `must_be`.  The member `text` is not changed. */
enum { KB_MUST_BE = 256 };
const char *kb_option_parse(kb_option_id id, const char *text, kb_option_value *out,
                            char must_be[KB_MUST_BE]);

/* The text after "group:" in the option split; NULL if it does not start like that. */
const char *kb_split_group(const char *split);
/* The text after "column:" in the option weights; NULL if that is a file, or NULL. */
const char *kb_weights_column(const char *weights);

#endif
