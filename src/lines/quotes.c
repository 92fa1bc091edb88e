/* quotes.c - see quotes.h. */
#include "lines/quotes.h"
#include "lines/decode.h"

#include <string.h>

/* Fields are short, so the first bytes are looked at one by one. */
static const char *find_quote(const char *p, const char *end) {
    enum { NEAR = 16 };
    const char *near = end - p < NEAR ? end : p + NEAR;
    for (; p < near; p++)
        if (*p == '"')
            return p;
    return memchr(p, '"', (size_t)(end - p));
}

/* The state at `end`, where there is no quote since `begin`. */
static kb_quote_state state_at(char delimiter, kb_quote_state state, const char *begin,
                               const char *end) {
    while (end > begin && end[-1] == ' ')
        end--;
    if (end == begin)
        return state;
    return end[-1] == delimiter || end[-1] == '\n' || end[-1] == '\r' ? KB_FIELD_BEGINS
                                                                      : KB_FIELD_PLAIN;
}

kb_quote_state kb_quotes_after(char delimiter, kb_quote_state state, const char *text,
                               size_t length) {
    const char *p = text, *end = text + length, *quote;
    while (p < end)
        switch (state) {
        case KB_FIELD_BEGINS:
        case KB_FIELD_PLAIN:
            quote = find_quote(p, end);
            state = state_at(delimiter, state, p, quote ? quote : end);
            if (quote)
                state = state == KB_FIELD_BEGINS ? KB_FIELD_QUOTED : KB_FIELD_PLAIN;
            p = quote ? quote + 1 : end;
            break;
        case KB_FIELD_QUOTED:
            quote = find_quote(p, end);
            state = quote ? KB_FIELD_AT_QUOTE : KB_FIELD_QUOTED;
            p = quote ? quote + 1 : end;
            break;
        case KB_FIELD_AT_QUOTE:
            state = *p == '"' ? KB_FIELD_QUOTED : KB_FIELD_PLAIN;
            p += *p == '"';
            break;
        }
    return state;
}

/* Counts bytes of a field in quotes; one that is too long goes on for ever. */
static void count_quoted(kb_quotes *q, size_t bytes) {
    q->bytes += bytes;
    if (q->bytes > KB_QUOTED_MAX) {
        q->bytes = KB_QUOTED_MAX;
        q->too_long = 1;
        q->state = KB_FIELD_QUOTED;
    }
}

/* To behind the next quote, or to the end, or to where the field becomes too long. */
static char *pass_quoted(kb_quotes *q, char *p, char *end) {
    char *begin = p;
    size_t most = KB_QUOTED_MAX - q->bytes + 1;
    if (!q->too_long && (size_t)(end - p) > most)
        end = p + most;
    for (; p < end && (*p != '"' || q->too_long); p++)
        if (*p == '\n') {
            *p = KB_JOINT;
            q->any_joint = 1;
        }
    if (p < end) {
        q->state = KB_FIELD_AT_QUOTE;
        p++;
    }
    count_quoted(q, (size_t)(p - begin));
    return p;
}

static size_t lines_in(const char *text, size_t length) {
    return kb_count_byte(text, length, '\n') + kb_count_byte(text, length, KB_JOINT);
}

void kb_quotes_join(kb_quotes *q, char *text, size_t length, size_t lines) {
    char *p = text, *end = text + length, *opened = NULL;
    while (p < end) {
        const char *quote;
        switch (q->state) {
        case KB_FIELD_BEGINS:
        case KB_FIELD_PLAIN:
            quote = find_quote(p, end);
            q->state = state_at(q->delimiter, q->state, p, quote ? quote : end);
            if (quote && q->state == KB_FIELD_BEGINS) {
                q->state = KB_FIELD_QUOTED;
                q->bytes = 0;
                opened = p + (quote - p);
            } else if (quote) {
                q->state = KB_FIELD_PLAIN;
            }
            p = quote ? p + (quote + 1 - p) : end;
            break;
        case KB_FIELD_QUOTED:
            p = pass_quoted(q, p, end);
            break;
        case KB_FIELD_AT_QUOTE:
            if (*p == '"') {
                q->state = KB_FIELD_QUOTED;
                count_quoted(q, 1);
                p++;
            } else {
                q->state = KB_FIELD_PLAIN;
            }
            break;
        }
    }
    if (opened && (q->state == KB_FIELD_QUOTED || q->state == KB_FIELD_AT_QUOTE))
        q->line = lines + 1 + lines_in(text, (size_t)(opened - text));
}
