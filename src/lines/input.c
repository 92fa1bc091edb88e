/*
 * input.c - see input.h.
 *
 * What is read goes through two steps, each of which keeps its state from one read to the next:
 * decode.h makes UTF-8 lines of it, and quotes.h joins those of a field in quotes.  A fault found
 * there is kept until all whole lines before it have been given.
 */
#include "lines/input_state.h"
#include "core/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1 << 20, REPORT_BYTES = TEXT_BYTES / 2 };

/* What is wrong behind the text that has been read. */
static kb_status check_text(kb_input *in) {
    const kb_quotes *q = &in->quotes;
    if (in->decoder.fault)
        return kb_input_fail_at(in, in->decoder.lines + 1, "%s", in->decoder.fault);
    if (q->too_long)
        return kb_input_fail_at(in, q->line, "a quote opens a field and is not closed within %s",
                                KB_QUOTED_MAX_TEXT);
    if (in->ended && q->state == KB_FIELD_QUOTED)
        return kb_input_fail_at(in, q->line,
                                "a quote opens a field and is not closed before the file ends");
    return KB_OK;
}

/* Reads `bytes` more of the file, fewer at its end, and adds their text to the block; behind the
 * end the text of the next file.  Text before a fault is added too. */
static kb_status read_more(kb_input *in, size_t bytes, kb_block *block) {
    kb_status status;
    size_t got;
    if (in->ended)
        return kb_input_next_file(in, block);
    if (in->unreported >= REPORT_BYTES) {
        TRY(kb_source_report(in->source));
        in->unreported = 0;
    }
    TRY(kb_reserve(in->ctx, block->length + bytes + 1, 1, &block->capacity, &block->text));
    TRY(kb_source_read(in->source, block->text + block->length, bytes, &got));
    in->unreported += (double)got;
    in->ended = got == 0;
    size_t before = block->length, lines = in->decoder.lines;
    TRY(kb_decode(in->ctx, &in->decoder, got, block));
    if (in->quotes.delimiter)
        kb_quotes_join(&in->quotes, block->text + before, block->length - before, lines);
    TRY(check_text(in));
done:
    return status;
}

/* The last line of a text that has no whole line is too long. */
static kb_status line_too_long(kb_input *in, const char *text, size_t length) {
    size_t line = in->decoder.lines + 1 - kb_count_byte(text, length, KB_JOINT);
    return kb_input_fail_at(in, line, "a line of more than %s: is this text?",
                            kb_size_in_words((double)in->longest).text);
}

/* Moves what is left to the front and reads more behind it.  The buffer has always
 * room for one byte more, the '\0' of a last line without a newline. */
static kb_status fill(kb_input *in) {
    kb_status status;
    kb_block *kept = &in->kept;
    if (in->begin > 0)
        memmove(kept->text, kept->text + in->begin, kept->length - in->begin);
    kept->length -= in->begin;
    in->begin = 0;
    if (kept->length > in->longest)
        TRY(line_too_long(in, kept->text, kept->length));
    TRY(kb_reserve(in->ctx, kept->length + TEXT_BYTES / 2, 1, &kept->capacity, &kept->text));
    TRY(read_more(in, kept->capacity - kept->length - 1, kept));
done:
    return status;
}

kb_status kb_input_open_unread(kb_context *ctx, const char *path, kb_input **out) {
    kb_status status;
    kb_input *in;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *in, &in));
    in->ctx = ctx;
    in->files = in->stop = 1;
    TRY(kb_zalloc(ctx, 1, sizeof *in->file, &in->file));
    TRY(kb_zalloc(ctx, 1, sizeof *in->mark, &in->mark));
    TRY(kb_source_open(ctx, path, &in->source));
    TRY(kb_strdup(ctx, kb_source_name(in->source), &in->name));
    *in->file = (kb_shared_file){.path = in->name, .fd = -1};
    *out = in;
done:
    if (status != KB_OK)
        kb_input_free(in);
    return status;
}

kb_status kb_input_open(kb_context *ctx, const char *path, kb_input **out) {
    kb_status status;
    kb_input *in;
    TRY(kb_input_open_unread(ctx, path, out));
    in = *out;
    TRY(kb_alloc(ctx, TEXT_BYTES, 1, &in->kept.text));
    in->kept.capacity = TEXT_BYTES;
    in->longest = kb_charge_left(ctx) / 2 < KB_LINE_MAX ? kb_charge_left(ctx) / 2 : KB_LINE_MAX;
    in->unreported = REPORT_BYTES;
    in->failed = fill(in);
    if (in->kept.length == 0)
        TRY(in->failed);
    if (in->kept.length == 0 && in->ended)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: the file is empty", in->name));
    if (in->decoder.charset != KB_CHARSET_UTF8)
        kb_log(ctx, KB_LOG_INFO, "%s: UTF-16 text, read as UTF-8", in->name);
done:
    if (status != KB_OK) {
        kb_input_free(*out);
        *out = NULL;
    }
    return status;
}

void kb_input_free(kb_input *in) {
    if (!in)
        return;
    kb_source_free(in->source);
    kb_decoder_clear(in->ctx, &in->decoder);
    kb_release(in->ctx, in->joint);
    kb_release(in->ctx, in->kept.text);
    kb_release(in->ctx, in->name);
    kb_release(in->ctx, in->file);
    kb_release(in->ctx, in->mark);
    kb_release(in->ctx, in);
}

void kb_input_set_longest_line(kb_input *in, size_t bytes) {
    in->longest = bytes;
}

void kb_input_set_quotes(kb_input *in, char delimiter) {
    char *text = in->kept.text + in->begin;
    size_t length = in->kept.length - in->begin;
    for (size_t i = 0; in->quotes.any_joint && i < length; i++)
        if (text[i] == KB_JOINT)
            text[i] = '\n';
    if (in->failed == KB_ERR_DATA) /* the fault may be one of quotes, which is no more */
        in->failed = KB_OK;
    in->quotes = (kb_quotes){.delimiter = delimiter};
    if (delimiter)
        kb_quotes_join(&in->quotes, text, length, in->lines_given);
    if (in->failed == KB_OK)
        in->failed = check_text(in);
}

/* Of a share the ranks tell it together, in kb_input_tell_all. */
void kb_input_tell(kb_input *in) {
    if (in->told || in->shared)
        return;
    const char *name = in->file[in->foreign_file].path;
    size_t line = in->foreign_line;
    if (line == 0) {
        line = in->decoder.foreign;
        name = line > 0 ? kb_input_place(in, &line) : name;
    }
    if (line > 0)
        kb_log(in->ctx, KB_LOG_WARNING,
               "%s: not all of it is UTF-8; other bytes, the first on line %zu, are read as "
               "Windows-1252 (Latin-1)",
               name, line);
    in->told = 1;
}

/* ---- lines ------------------------------------------------------------- */

/* The line ends in quotes become blanks, and their places are kept. */
static kb_status open_joints(kb_input *in) {
    kb_status status = KB_OK;
    char *p = in->line, *end = p + in->length;
    in->joints = 0;
    if (!in->quotes.any_joint)
        return KB_OK;
    for (; (p = memchr(p, KB_JOINT, (size_t)(end - p))); p++) {
        TRY(kb_reserve(in->ctx, in->joints + 1, sizeof *in->joint, &in->joint_capacity,
                       &in->joint));
        in->joint[in->joints++] = (size_t)(p - in->line);
        *p = ' ';
    }
done:
    return status;
}

kb_status kb_input_line(kb_input *in, char **text, size_t *length) {
    kb_status status = KB_OK;
    kb_block *kept = &in->kept;
    char *newline = NULL;
    size_t seen = 0; /* a pipe gives little at a time, and a line may be long */
    in->line = NULL;
    in->length = 0;
    while (
        !(newline = memchr(kept->text + in->begin + seen, '\n', kept->length - in->begin - seen)) &&
        (in->failed != KB_OK || !in->ended || kb_input_has_next(in))) {
        TRY(in->failed);
        seen = kept->length - in->begin;
        in->failed = fill(in);
    }
    if (!newline && in->begin == kept->length) {
        kb_input_tell(in);
        goto done;
    }
    in->line = kept->text + in->begin;
    in->length = (size_t)((newline ? newline : kept->text + kept->length) - in->line);
    in->begin += in->length + (newline != NULL);
    in->line_number = in->lines_given + 1;
    TRY(open_joints(in));
    in->lines_given = in->line_number + in->joints;
    in->cut = in->line[in->length];
    in->line[in->length] = '\0';
done:
    *text = status == KB_OK ? in->line : NULL;
    *length = in->length;
    return status;
}

void kb_input_again(kb_input *in) {
    in->line[in->length] = in->cut;
    for (size_t k = 0; k < in->joints; k++)
        in->line[in->joint[k]] = KB_JOINT;
    in->begin = (size_t)(in->line - in->kept.text);
    in->lines_given = --in->line_number;
}

const char *kb_input_peek(const kb_input *in, size_t *length) {
    *length = in->kept.length - in->begin;
    return in->kept.text + in->begin;
}

kb_status kb_input_check(kb_input *in) {
    return in->decoder.fault ? check_text(in) : KB_OK;
}

/* ---- blocks ------------------------------------------------------------ */

/* How many bytes of the block are whole lines, of which `known` are. */
static size_t whole_lines(const kb_block *block, size_t known) {
    size_t end = block->length;
    while (end > known && block->text[end - 1] != '\n')
        end--;
    return end;
}

/* The lines that the input keeps go to the block: all, or `enough` bytes of them.  A block without
 * memory takes that of the input where it takes all. */
static kb_status take_kept(kb_input *in, size_t enough, kb_block *block) {
    kb_status status = KB_OK;
    char *from = in->kept.text + in->begin, *newline = NULL;
    size_t kept = in->kept.length - in->begin;
    if (kept > enough)
        newline = memchr(from + enough - 1, '\n', kept - enough + 1);
    size_t taken = newline ? (size_t)(newline + 1 - from) : kept;
    if (taken == kept && !block->text) {
        *block = (kb_block){.text = in->kept.text, .capacity = in->kept.capacity};
        in->kept.text = NULL;
        in->kept.capacity = 0;
    }
    TRY(kb_reserve(in->ctx, taken + 1, 1, &block->capacity, &block->text));
    memmove(block->text, from, taken);
    block->length = taken;
    in->begin += taken;
done:
    return status;
}

/* What follows the whole lines goes back to the input, which has nothing else. */
static kb_status keep_rest(kb_input *in, kb_block *block, size_t whole) {
    size_t rest = block->length - whole;
    kb_status status = kb_reserve(in->ctx, rest + 1, 1, &in->kept.capacity, &in->kept.text);
    if (status != KB_OK)
        return status;
    memcpy(in->kept.text, block->text + whole, rest);
    in->begin = 0;
    in->kept.length = rest;
    block->length = whole;
    return KB_OK;
}

kb_status kb_input_block(kb_input *in, size_t chunk, size_t chunks, kb_block *block) {
    kb_status status;
    block->length = 0;
    TRY(take_kept(in, chunk * chunks, block));
    if (in->begin < in->kept.length)
        goto done;
    size_t whole = whole_lines(block, 0);
    while ((!in->ended || kb_input_has_next(in)) && in->failed == KB_OK &&
           (whole == 0 || block->length / chunk < chunks)) {
        size_t seen = block->length, found;
        in->failed = whole == 0 && seen > in->longest ? line_too_long(in, block->text, seen)
                                                      : read_more(in, chunk, block);
        found = whole_lines(block, seen);
        whole = found > seen ? found : whole;
    }
    if (in->failed != KB_OK && whole == 0)
        TRY(in->failed);
    TRY(keep_rest(in, block,
                  in->failed == KB_OK && in->ended && !kb_input_has_next(in) ? block->length
                                                                             : whole));
done:
    block->joined = in->quotes.any_joint;
    if (status != KB_OK)
        block->length = 0;
    return status;
}

/* ---- what was given ---------------------------------------------------- */

int kb_input_ended(const kb_input *in) {
    return in->ended && !kb_input_has_next(in) && in->begin == in->kept.length;
}

const char *kb_input_name(const kb_input *in) {
    return in->name;
}

size_t kb_input_line_number(const kb_input *in) {
    return in->line_number;
}

size_t kb_input_lines_given(const kb_input *in) {
    return in->lines_given;
}

static kb_status fail_at(kb_input *in, size_t line, const char *format, va_list args) {
    char sentence[512];
    const char *name = kb_input_place(in, &line);
    vsnprintf(sentence, sizeof sentence, format, args);
    if (line == 0)
        return kb_fail(in->ctx, KB_ERR_DATA, "%s: %s", name, sentence);
    return kb_fail(in->ctx, KB_ERR_DATA, "%s:%zu: %s", name, line, sentence);
}

kb_status kb_input_fail(kb_input *in, const char *format, ...) {
    va_list args;
    va_start(args, format);
    kb_status status = fail_at(in, in->line_number, format, args);
    va_end(args);
    return status;
}

kb_status kb_input_fail_at(kb_input *in, size_t line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    kb_status status = fail_at(in, line, format, args);
    va_end(args);
    return status;
}

kb_quoted kb_quote(const char *text, size_t length) {
    kb_quoted out;
    size_t most = sizeof out.text - 4, shown = length < most ? length : most;
    while (shown > 0 && shown < length && ((unsigned char)text[shown] & 0xC0) == 0x80)
        shown--;
    for (size_t i = 0; i < shown; i++)
        out.text[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    strcpy(out.text + shown, shown < length ? "..." : "");
    return out;
}
