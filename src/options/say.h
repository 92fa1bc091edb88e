/*
 * say.h - how a message names an option.
 *
 * The library knows an option by its id.  kb_context_config says how the caller's users write
 * options: --max-memory on a command line, max_memory in Python.
 *
 * kb_fail(ctx, KB_ERR_MEMORY, "..: use a larger %s", kb_say(ctx, KB_OPT_MAX_MEMORY).text)
 */
#ifndef KB_OPTIONS_SAY_H
#define KB_OPTIONS_SAY_H

#include "options/table.h"

typedef struct kb_said {
    char text[256];
} kb_said;

/* "--grids", "grids". */
kb_said kb_say(const kb_context *ctx, kb_option_id id);
/* With a value: "--widths learned", "widths=learned", "widths='learned'".  A long value is cut. */
kb_said kb_say_value(const kb_context *ctx, kb_option_id id, const char *value);
/* A value alone: "learned", in Python with quotes unless it is a number. */
kb_said kb_say_word(const kb_context *ctx, const char *value);

#endif
