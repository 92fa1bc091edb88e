/* say.c - see say.h. */
#include "options/say.h"
#include "core/number.h"

#include <stdio.h>
#include <string.h>

static void write_name(const kb_context *ctx, kb_option_id id, kb_said *out) {
    size_t count;
    kb_option_style style = ctx->config.option_style;
    snprintf(out->text, sizeof out->text, "%s%s", style == KB_STYLE_FLAG ? "--" : "",
             kb_option_table(&count)[id].name);
    for (char *at = out->text; style == KB_STYLE_KEYWORD && *at; at++)
        if (*at == '-')
            *at = '_';
    if (style == KB_STYLE_KEYWORD && id == KB_OPT_LAMBDA)
        strcat(out->text, "_"); /* Python has the word for itself */
}

kb_said kb_say(const kb_context *ctx, kb_option_id id) {
    kb_said said;
    write_name(ctx, id, &said);
    return said;
}

kb_said kb_say_value(const kb_context *ctx, kb_option_id id, const char *value) {
    static const char *const between[] = {"=%s", " %s", "='%s'"};
    kb_option_style style = ctx->config.option_style;
    kb_said said, name;
    char tail[sizeof said.text];
    double number;
    const char *end = kb_number_parse(value, &number);
    if (style == KB_STYLE_KEYWORD && end && !*end)
        style = KB_STYLE_NAME; /* a number has no quotes */
    write_name(ctx, id, &name);
    snprintf(tail, sizeof tail, between[style], value);
    snprintf(said.text, sizeof said.text, "%.60s%.190s", name.text, tail);
    return said;
}
