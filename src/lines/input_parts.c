/*
 * input_parts.c - several files as one text, and the share of a rank; see input.h.
 *
 * The next file is opened as an input of its own, whose head the format takes off.  Its source, its
 * decoder and its text then become those of the input.
 */
#include "core/memory.h"
#include "lines/input_state.h"

#include <string.h>
#include <sys/stat.h>

/* ---- several files ----------------------------------------------------- */

kb_status kb_input_open_parts(kb_context *ctx, const char *pattern, const kb_parts *parts,
                              kb_input **out) {
    kb_status status;
    kb_input *in = NULL;
    *out = NULL;
    TRY(kb_input_open(ctx, parts->path[0], &in));
    if (parts->count == 1)
        goto done;
    kb_release(ctx, in->name);
    in->name = NULL;
    TRY(kb_strdup(ctx, pattern, &in->name));
    TRY(kb_realloc(ctx, parts->count, sizeof *in->file, &in->file));
    TRY(kb_realloc(ctx, parts->count, sizeof *in->mark, &in->mark));
    memset(in->mark, 0, parts->count * sizeof *in->mark);
    for (size_t k = 0; k < parts->count; k++)
        in->file[k] = (kb_shared_file){.path = parts->path[k], .fd = -1};
    in->files = in->stop = parts->count;
done:
    if (status != KB_OK)
        kb_input_free(in);
    else
        *out = in;
    return status;
}

void kb_input_go_on(kb_input *in, kb_input_head *head, void *arg) {
    in->goes_on = 1;
    in->head = head;
    in->head_arg = arg;
}

/* Opened, with the head off.  Its encoding is not told: which rank opens it is no news. */
static kb_status open_next(kb_input *in, size_t k, kb_input **out) {
    void (*log)(void *, kb_log_level, const char *) = in->ctx->config.log;
    in->ctx->config.log = NULL;
    kb_status status = kb_input_open(in->ctx, in->file[k].path, out);
    in->ctx->config.log = log;
    TRY(status);
    (*out)->longest = in->longest;
    kb_input_set_quotes(*out, in->quotes.delimiter);
    if (in->head)
        TRY(in->head(in->head_arg, *out));
done:
    if (status != KB_OK) {
        kb_input_free(*out);
        *out = NULL;
    }
    return status;
}

/* What is left of a file that has ended becomes a line. */
static void end_line(kb_input *in, kb_block *block) {
    if (block->length > 0 && block->text[block->length - 1] != '\n') {
        block->text[block->length++] = '\n';
        in->decoder.lines++;
    }
}

static void keep_foreign(kb_input *in) {
    size_t line = in->decoder.foreign;
    if (line > 0 && in->foreign_line == 0 && !in->shared) {
        kb_input_place(in, &line);
        in->foreign_file = in->now;
        in->foreign_line = line;
        in->decoder.foreign = 0;
    }
}

/* `file` becomes the one that is read. */
static kb_status take_over(kb_input *in, kb_input *file, kb_block *block) {
    kb_status status;
    size_t above = file->lines_given, rest = file->kept.length - file->begin;
    size_t before = in->decoder.lines, foreign = in->decoder.foreign;
    kb_source *ended = in->source;
    TRY(kb_reserve(in->ctx, block->length + rest + 1, 1, &block->capacity, &block->text));
    memcpy(block->text + block->length, file->kept.text + file->begin, rest);
    block->length += rest;
    if (file->decoder.foreign > 0 && file->decoder.foreign <= above && foreign == 0 &&
        in->foreign_line == 0) { /* in its head */
        in->foreign_file = in->now;
        in->foreign_line = file->decoder.foreign;
    }
    kb_decoder_clear(in->ctx, &in->decoder);
    in->decoder = file->decoder;
    in->decoder.lines += before - above;
    in->decoder.foreign = foreign > 0                     ? foreign
                          : file->decoder.foreign > above ? file->decoder.foreign + before - above
                                                          : 0;
    file->decoder = (kb_decoder){0};
    in->mark[in->now] = (kb_line_mark){.lines = before, .above = above};
    file->quotes.line += before - above;
    file->quotes.any_joint |= in->quotes.any_joint;
    in->quotes = file->quotes;
    in->source = file->source;
    file->source = ended;
    in->ended = file->ended;
    status = file->failed;
done:
    return status;
}

/* The bytes of the next file that belong to the share. */
static kb_status cut_out(kb_input *in) {
    kb_status status;
    const kb_shared_file *file = &in->file[in->now];
    kb_source *next = NULL;
    TRY(kb_source_open(in->ctx, file->path, &next));
    TRY(kb_source_narrow(next, file->begin, file->end));
    kb_source_free(in->source);
    in->source = next;
    next = NULL;
    in->mark[in->now] = (kb_line_mark){.lines = in->decoder.lines, .first_byte = file->begin};
    in->decoder.left_count = 0;
    in->decoder.after_cr = 0;
    in->quotes.state = KB_FIELD_BEGINS;
    in->ended = 0;
done:
    kb_source_free(next);
    return status;
}

kb_status kb_input_next_file(kb_input *in, kb_block *block) {
    kb_status status = KB_OK;
    kb_input *file = NULL;
    end_line(in, block);
    keep_foreign(in);
    in->now++;
    if (in->cut_out)
        return cut_out(in);
    TRY(open_next(in, in->now, &file));
    TRY(take_over(in, file, block));
done:
    kb_input_free(file);
    return status;
}

const char *kb_input_place(const kb_input *in, size_t *line) {
    size_t k = in->now < in->files ? in->now : 0;
    if (*line == 0)
        return in->name;
    while (k > 0 && *line <= in->mark[k].lines)
        k--;
    const kb_line_mark *mark = &in->mark[k];
    *line += mark->above - mark->lines;
    if (mark->first_byte > 0)
        *line += kb_share_lines(&in->file[k], mark->first_byte);
    return in->file[k].path;
}

/* ---- shares ------------------------------------------------------------ */

static int is_plain_file(const kb_input *in) {
    return kb_source_is_plain(in->source) && in->decoder.charset == KB_CHARSET_UTF8;
}

int kb_input_is_plain(const kb_input *in) {
    return in->files > 1 || is_plain_file(in);
}

kb_status kb_input_compare(kb_input *in) {
    kb_shared_file file = {.path = in->file->path};
    if (kb_rank_count(in->ctx) == 1)
        return KB_OK;
    file.fd = kb_source_file(in->source, &file.end);
    return kb_share_compare(in->ctx, &file);
}

/* One line, as kb_input_tell has it. */
kb_status kb_input_tell_all(kb_input *in) {
    kb_status status;
    struct first {
        size_t file, line;
    } mine = {.line = in->decoder.foreign}, *first;
    void *all = NULL;
    if (!in->shared)
        return KB_OK;
    if (in->foreign_line > 0)
        mine = (struct first){in->foreign_file, in->foreign_line};
    else if (mine.line > 0) {
        const char *path = kb_input_place(in, &mine.line);
        while (in->file[mine.file].path != path)
            mine.file++;
    }
    TRY(kb_ranks_gather(in->ctx, &mine, sizeof mine, &all, NULL));
    first = all;
    for (int k = 0; k + 1 < kb_rank_count(in->ctx) && first->line == 0; k++)
        first++;
    in->shared = in->told = 0;
    in->decoder.foreign = 0;
    in->foreign_file = in->head_foreign > 0 ? 0 : first->file;
    in->foreign_line = in->head_foreign > 0 ? in->head_foreign : first->line;
    kb_input_tell(in);
done:
    kb_release(in->ctx, all);
    return status;
}

/* What the ranks must know of a file. */
typedef struct survey {
    int64_t begin, end; /* of what follows its head */
    int64_t packed;     /* parts of it cannot be read */
} survey;

static kb_status look_at_file(kb_input *in, size_t k, survey *out) {
    kb_status status = KB_OK;
    kb_input *file = NULL;
    kb_shared_file all = in->file[k];
    off_t body;
    if (k > 0)
        TRY(open_next(in, k, &file));
    kb_input *of = k > 0 ? file : in;
    all.fd = kb_source_file(of->source, &all.end);
    out->packed = !is_plain_file(of);
    out->end = all.end;
    if (out->packed)
        goto done;
    TRY(kb_share_body(in->ctx, &all, of->lines_given, &body));
    out->begin = body;
done:
    kb_input_free(file);
    return status;
}

/* Every rank looks at some of the files, and all hear of all. */
static kb_status look_at_files(kb_input *in, int *packed) {
    kb_status status;
    survey *s = NULL;
    size_t ranks = (size_t)kb_rank_count(in->ctx);
    status = kb_zalloc(in->ctx, in->files, sizeof *s, &s);
    for (size_t k = (size_t)kb_rank(in->ctx); k < in->files && status == KB_OK; k += ranks)
        status = look_at_file(in, k, &s[k]);
    TRY(kb_ranks_agree(in->ctx, status));
    TRY(kb_ranks_sum(in->ctx, &s->begin, in->files * sizeof *s / sizeof s->begin));
    *packed = 0;
    for (size_t k = 0; k < in->files; k++)
        *packed |= s[k].packed > 0;
    for (size_t k = 0; k < in->files; k++) {
        in->file[k].begin = *packed ? 0 : (off_t)s[k].begin;
        in->file[k].end = (off_t)s[k].end;
    }
done:
    kb_release(in->ctx, s);
    return status;
}

/* Nothing of what was read is given. */
static void forget_text(kb_input *in) {
    kb_decoder_clear(in->ctx, &in->decoder);
    in->decoder = (kb_decoder){.started = 1};
    in->quotes = (kb_quotes){.delimiter = in->quotes.delimiter};
    in->begin = in->kept.length = 0;
    in->line_number = in->lines_given = 0;
    in->failed = KB_OK;
}

kb_status kb_input_share(kb_input *in) {
    kb_status status;
    int packed;
    kb_share_place begin, end;
    if (kb_rank_count(in->ctx) == 1)
        return KB_OK;
    TRY(look_at_files(in, &packed));
    TRY(kb_share_find(in->ctx, in->file, in->files, in->quotes.delimiter, packed, &begin, &end));
    if (in->decoder.foreign <= in->lines_given)
        in->head_foreign = in->decoder.foreign;
    in->shared = 1;
    in->goes_on = 1;
    in->told = 0;
    in->cut_out = !packed;
    int empty = begin.file == end.file && begin.byte == end.byte;
    in->stop = empty ? begin.file : end.file + 1;
    if (packed && begin.file == 0 && !empty)
        goto done; /* it goes on where it is */
    forget_text(in);
    in->file[begin.file].begin = begin.byte;
    in->file[end.file].end = end.byte;
    in->ended = 1;
    in->now = begin.file - 1; /* the next is the first */
done:
    return status;
}
