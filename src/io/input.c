/*
 * input.c - see input.h.
 *
 * What is read goes through two steps, each of which keeps its state from one read to the next:
 * decode.h makes UTF-8 lines of it, and quotes.h joins those of a field in quotes.  A fault found
 * there is kept until all whole lines before it have been given.
 */
#include "io/input.h"
#include "core/memory.h"
#include "io/quotes.h"
#include "io/share.h"
#include "packed/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1 << 20, REPORT_BYTES = TEXT_BYTES / 2 };

struct kb_input {
    kb_context *ctx;
    kb_source *source;
    const char *name; /* of the source */

    kb_decoder decoder;
    kb_quotes quotes;
    size_t longest; /* a line may have so many bytes */

    kb_block kept; /* text, of which that from `begin` on is not yet given out */
    size_t begin;
    int ended; /* nothing follows in the file */

    char *line;
    size_t length;
    size_t line_number, lines_given; /* of the last line, and up to its end */
    char cut;                        /* what the '\0' behind the line replaces */
    size_t *joint;                   /* places in the line where another begins */
    size_t joints, joint_capacity;

    double unreported; /* bytes of text read since the last report */
    kb_status failed;  /* of a read behind the text that is kept */
    int told;          /* the message about foreign bytes is out */

    int shared;          /* this is the share of a rank, */
    off_t first_byte;    /* from here on; lines are counted from there */
    size_t head_foreign; /* the line of the first byte that is not UTF-8 above; 0: none */
};

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

/* Reads `bytes` more of the file, fewer at its end, and adds their text to the block.  Text before
 * a fault is added too. */
static kb_status read_more(kb_input *in, size_t bytes, kb_block *block) {
    kb_status status;
    size_t got;
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
    TRY(kb_source_open(ctx, path, &in->source));
    in->name = kb_source_name(in->source);
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

/* Lines of the file before those that are counted. */
static size_t lines_before(const kb_input *in) {
    off_t size;
    if (!in->shared)
        return 0;
    return kb_share_lines(kb_source_file(in->source, &size), in->first_byte);
}

/* Of a share the ranks tell it together, in kb_input_tell_all. */
void kb_input_tell(kb_input *in) {
    if (in->decoder.foreign > 0 && !in->told && !in->shared)
        kb_log(in->ctx, KB_LOG_WARNING,
               "%s: not all of it is UTF-8; other bytes, the first on line %zu, are read as "
               "Windows-1252 (Latin-1)",
               in->name, in->decoder.foreign);
    in->told = 1;
}

kb_status kb_input_tell_all(kb_input *in) {
    kb_status status;
    size_t line = in->decoder.foreign > 0 ? in->decoder.foreign + lines_before(in) : 0;
    void *all = NULL;
    if (!in->shared)
        return KB_OK;
    TRY(kb_ranks_gather(in->ctx, &line, sizeof line, &all, NULL));
    line = in->head_foreign;
    for (int k = 0; line == 0 && k < kb_rank_count(in->ctx); k++)
        line = ((size_t *)all)[k];
    in->shared = in->told = 0;
    in->decoder.foreign = line;
    kb_input_tell(in);
done:
    kb_release(in->ctx, all);
    return status;
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
    in->line = NULL;
    in->length = 0;
    while (!(newline = memchr(kept->text + in->begin, '\n', kept->length - in->begin)) &&
           (in->failed != KB_OK || !in->ended)) {
        TRY(in->failed);
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
    while (!in->ended && in->failed == KB_OK && (whole == 0 || block->length / chunk < chunks)) {
        size_t seen = block->length, found;
        in->failed = whole == 0 && seen > in->longest ? line_too_long(in, block->text, seen)
                                                      : read_more(in, chunk, block);
        found = whole_lines(block, seen);
        whole = found > seen ? found : whole;
    }
    if (in->failed != KB_OK && whole == 0)
        TRY(in->failed);
    TRY(keep_rest(in, block, in->failed == KB_OK && in->ended ? block->length : whole));
done:
    block->joined = in->quotes.any_joint;
    if (status != KB_OK)
        block->length = 0;
    return status;
}

/* ---- shares ------------------------------------------------------------ */

int kb_input_is_plain(const kb_input *in) {
    return kb_source_is_plain(in->source) && in->decoder.charset == KB_CHARSET_UTF8;
}

kb_status kb_input_compare(kb_input *in) {
    kb_shared_file file = {.name = in->name};
    if (kb_rank_count(in->ctx) == 1)
        return KB_OK;
    file.fd = kb_source_file(in->source, &file.size);
    return kb_share_compare(in->ctx, &file);
}

kb_status kb_input_share(kb_input *in) {
    kb_status status;
    off_t end;
    kb_shared_file file = {
        .name = in->name, .given = in->lines_given, .delimiter = in->quotes.delimiter};
    if (kb_rank_count(in->ctx) == 1)
        return KB_OK;
    file.fd = kb_source_file(in->source, &file.size);
    TRY(kb_share_find(in->ctx, &file, &in->first_byte, &end));
    TRY(kb_ranks_agree(in->ctx, kb_source_narrow(in->source, in->first_byte, end)));
    if (in->decoder.foreign <= in->lines_given)
        in->head_foreign = in->decoder.foreign;
    kb_decoder_clear(in->ctx, &in->decoder);
    in->decoder = (kb_decoder){.started = 1};
    in->quotes = (kb_quotes){.delimiter = in->quotes.delimiter};
    in->shared = 1;
    in->begin = in->kept.length = 0;
    in->line_number = in->lines_given = 0;
    in->ended = in->told = 0;
    in->failed = KB_OK;
done:
    return status;
}

int kb_input_ended(const kb_input *in) {
    return in->ended && in->begin == in->kept.length;
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
    vsnprintf(sentence, sizeof sentence, format, args);
    if (line == 0)
        return kb_fail(in->ctx, KB_ERR_DATA, "%s: %s", in->name, sentence);
    return kb_fail(in->ctx, KB_ERR_DATA, "%s:%zu: %s", in->name, lines_before(in) + line, sentence);
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
