/*
 * say.c - see say.h.
 *
 * Python has its own names for two options: lambda is a reserved word, and random_state is what
 * scikit-learn calls a seed.
 */
#include "options/say.h"
#include "core/number.h"

#include <stdio.h>
#include <string.h>

static const char *keyword_of(kb_option_id id, const char *name) {
    return id == KB_OPT_LAMBDA ? "lambda_" : id == KB_OPT_SEED ? "random_state" : name;
}

kb_said kb_say(const kb_context *ctx, kb_option_id id) {
    kb_said said;
    size_t count;
    const char *name = kb_option_table(&count)[id].name;
    kb_option_style style = ctx->config.option_style;
    snprintf(said.text, sizeof said.text, "%s%s", style == KB_STYLE_FLAG ? "--" : "",
             style == KB_STYLE_KEYWORD ? keyword_of(id, name) : name);
    for (char *at = said.text; style == KB_STYLE_KEYWORD && *at; at++)
        if (*at == '-')
            *at = '_';
    return said;
}

/* A long value is cut, and two dots say so; with its quotes, a name and what is between it fits. */
enum { SAID_NAME = 40, SAID_VALUE = 190 };
_Static_assert(SAID_NAME + 1 + SAID_VALUE + 4 < sizeof(kb_said), "a name and a value fit");

kb_said kb_say_word(const kb_context *ctx, const char *value) {
    kb_said said;
    double number;
    int python = ctx->config.option_style == KB_STYLE_KEYWORD;
    int quoted = !*value || (python && !kb_number_read(value, &number));
    const char *quote = quoted ? "'" : "";
    const char *cut = strlen(value) > SAID_VALUE ? ".." : "";
    snprintf(said.text, sizeof said.text, "%s%.*s%s%s", quote, SAID_VALUE, value, cut, quote);
    return said;
}

kb_said kb_say_value(const kb_context *ctx, kb_option_id id, const char *value) {
    kb_said said;
    const char *between = ctx->config.option_style == KB_STYLE_FLAG ? " " : "=";
    snprintf(said.text, sizeof said.text, "%.*s%s%.*s", SAID_NAME, kb_say(ctx, id).text, between,
             SAID_VALUE + 4, kb_say_word(ctx, value).text);
    return said;
}
