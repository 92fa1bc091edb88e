/*
 * pieces.c - see pieces.h.
 *
 * Room for a piece is made by what a first pass counts: lines, and colons for compressed rows.  A
 * text of rows and nothing else fills that room.  Empty lines, comments and qid:N leave gaps, which
 * are closed when the pieces are joined.
 *
 * While pieces are parsed nothing is allocated, so that a thread cannot run out of memory, and only
 * the caller's thread writes a message into the context.
 */
#include "io/pieces.h"
#include "core/memory.h"
#include "core/team.h"
#include "lines/quotes.h"
#include "table/joined_texts.h"

#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Of a block, for each thread: so that those that are late can leave some to others. */
enum { PIECES_OF_A_THREAD = 2 };

typedef struct reading {
    kb_context *ctx;
    kb_input *in;
    const kb_piece_format *format;
    kb_data *data;
    size_t piece_bytes, chunks;

    kb_block block, ahead; /* the text being parsed, and the next */
    int is_ahead;          /* the next has been read, */
    kb_status read_status; /* and how that went */

    kb_piece *piece;
    size_t pieces, piece_capacity;
    atomic_size_t turn; /* the next piece to be parsed */

    kb_text_ids groups;
    kb_open_text *open_group; /* of the rows of the block */
    size_t open_group_capacity;
    kb_kept_text *kept; /* likewise */
    size_t kept_capacity;

    size_t lines, entries; /* joined so far */
    size_t label_capacity, weight_capacity, group_capacity;
    size_t start_capacity, column_capacity, value_capacity;
} reading;

/* ---- what a format does with a piece ----------------------------------- */

/* Line ends within quotes become blanks. */
static size_t open_joints(char *p, const char *end) {
    size_t joints = 0;
    for (; (p = memchr(p, KB_JOINT, (size_t)(end - p))); joints++)
        *p++ = ' ';
    return joints;
}

char *kb_piece_line(kb_piece *p) {
    char *line = p->next;
    p->line += p->joints;
    p->joints = 0;
    if (line == p->end)
        return NULL;
    char *newline = memchr(line, '\n', (size_t)(p->end - line)), *end = newline ? newline : p->end;
    p->next = end + (newline != NULL);
    p->line++;
    if (p->joined)
        p->joints = open_joints(line, end);
    *end = '\0';
    return line;
}

void kb_piece_end_row(kb_piece *p, size_t entries) {
    if (p->row_start)
        p->row_start[p->rows] = p->first_entry + p->entries;
    p->entries += entries;
    p->rows++;
}

void kb_piece_set_group(kb_piece *p, const char *text, size_t length) {
    uint32_t number = kb_text_ids_find(p->known_groups, text, length);
    p->group[p->rows] = number;
    if (number == KB_TEXT_UNKNOWN)
        p->open_group[p->open_groups++] = (kb_open_text){p->rows, text, length};
}

kb_status kb_piece_fail(kb_piece *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->sentence, sizeof p->sentence, format, args);
    va_end(args);
    return p->status = KB_ERR_DATA;
}

/* ---- cutting and counting ---------------------------------------------- */

static kb_status cut_block(reading *r) {
    kb_status status = KB_OK;
    char *begin = r->block.text, *end = begin + r->block.length;
    r->pieces = 0;
    while (begin < end) {
        size_t left = (size_t)(end - begin), least = r->piece_bytes;
        char *newline = left > least ? memchr(begin + least - 1, '\n', left - least + 1) : NULL;
        char *border = newline ? newline + 1 : end;
        TRY(kb_reserve(r->ctx, r->pieces + 1, sizeof *r->piece, &r->piece_capacity, &r->piece));
        r->piece[r->pieces++] = (kb_piece){.next = begin,
                                           .end = border,
                                           .text = begin,
                                           .joined = r->block.joined,
                                           .known_groups = &r->groups};
        begin = border;
    }
done:
    return status;
}

/* Lines and colons.  The inner loop is one of vectors, because its sums fit in a byte. */
static void count_in(const char *text, size_t length, size_t *lines, size_t *colons) {
    size_t step;
    *lines = *colons = 0;
    for (; length > 0; text += step, length -= step) {
        uint8_t newline = 0, colon = 0;
        step = length < 240 ? length : 240;
        for (size_t i = 0; i < step; i++) {
            newline = (uint8_t)(newline + (text[i] == '\n'));
            colon = (uint8_t)(colon + (text[i] == ':'));
        }
        *lines += newline;
        *colons += colon;
    }
}

static void count_pieces(void *arg, size_t begin, size_t end) {
    reading *r = arg;
    size_t features = r->format->shape.features;
    for (size_t k = begin; k < end; k++) {
        kb_piece *p = &r->piece[k];
        count_in(p->next, (size_t)(p->end - p->next), &p->most_rows, &p->most_entries);
        p->most_rows += p->end[-1] != '\n';
        if (features > 0)
            p->most_entries = p->most_rows * features;
    }
}

/* The arrays of the data get room for so many rows and entries in all. */
static kb_status make_room(reading *r, size_t rows, size_t entries) {
    kb_status status = KB_OK;
    kb_context *ctx = r->ctx;
    kb_data *data = r->data;
    const kb_row_shape *shape = &r->format->shape;
    double **value = shape->features > 0 ? &data->dense : &data->value;
    entries = entries > 0 ? entries : 1; /* pieces point into the arrays, so they must be there */
    if (shape->label)
        TRY(kb_reserve(ctx, rows, sizeof *data->label, &r->label_capacity, &data->label));
    if (shape->weight)
        TRY(kb_reserve(ctx, rows, sizeof *data->weight, &r->weight_capacity, &data->weight));
    if (shape->group)
        TRY(kb_reserve(ctx, rows, sizeof *data->group, &r->group_capacity, &data->group));
    if (shape->features == 0) {
        TRY(kb_reserve(ctx, rows + 1, sizeof *data->row_start, &r->start_capacity,
                       &data->row_start));
        TRY(kb_reserve(ctx, entries, sizeof *data->column, &r->column_capacity, &data->column));
    }
    TRY(kb_reserve(ctx, entries, sizeof **value, &r->value_capacity, value));
done:
    return status;
}

/* Points the piece at its places in the data. */
static void place(reading *r, kb_piece *p, size_t rows, size_t entries) {
    const kb_row_shape *shape = &r->format->shape;
    kb_data *data = r->data;
    p->first_row = rows;
    p->first_entry = entries;
    p->label = shape->label ? data->label + rows : NULL;
    p->weight = shape->weight ? data->weight + rows : NULL;
    p->group = shape->group ? data->group + rows : NULL;
    p->row_start = shape->features == 0 ? data->row_start + rows : NULL;
    p->column = shape->features == 0 ? data->column + entries : NULL;
    p->value = (shape->features == 0 ? data->value : data->dense) + entries;
}

static kb_status place_pieces(reading *r) {
    kb_status status;
    size_t rows = 0, entries = 0;
    for (size_t k = 0; k < r->pieces; k++) {
        rows += r->piece[k].most_rows;
        entries += r->piece[k].most_entries;
    }
    TRY(make_room(r, r->data->rows + rows, r->entries + entries));
    if (r->format->shape.group)
        TRY(kb_reserve(r->ctx, rows, sizeof *r->open_group, &r->open_group_capacity,
                       &r->open_group));
    if (r->format->shape.kept > 0)
        TRY(kb_reserve(r->ctx, rows * r->format->shape.kept, sizeof *r->kept, &r->kept_capacity,
                       &r->kept));
    rows = entries = 0;
    for (size_t k = 0; k < r->pieces; k++) {
        kb_piece *p = &r->piece[k];
        place(r, p, r->data->rows + rows, r->entries + entries);
        p->open_group = p->group ? r->open_group + rows : NULL;
        p->kept = r->kept ? r->kept + rows * r->format->shape.kept : NULL;
        rows += p->most_rows;
        entries += p->most_entries;
    }
done:
    return status;
}

/* ---- parsing ----------------------------------------------------------- */

/* The first thread reads, because it is the caller's, which reports the progress. */
static void parse_pieces(void *arg, int me, int threads) {
    reading *r = arg;
    if (me == 0 && threads > 1 && !kb_input_ended(r->in)) {
        r->read_status = kb_input_block(r->in, r->piece_bytes, r->chunks, &r->ahead);
        r->is_ahead = 1;
    }
    for (size_t k; (k = atomic_fetch_add(&r->turn, 1)) < r->pieces;)
        r->format->parse(r->format->arg, &r->piece[k]);
}

static kb_status next_block(reading *r) {
    if (!r->is_ahead)
        return kb_input_block(r->in, r->piece_bytes, r->chunks, &r->block);
    kb_block parsed = r->block;
    r->block = r->ahead;
    r->ahead = parsed;
    r->is_ahead = 0;
    return r->read_status;
}

/* ---- joining ----------------------------------------------------------- */

static void move(void *to, const void *from, size_t count, size_t size) {
    if (from && count > 0)
        memmove(to, from, count * size);
}

/* Moves the rows of a piece down to those before, if there is a gap. */
static void close_gap(reading *r, kb_piece *p) {
    kb_piece old = *p;
    size_t gap = p->first_entry - r->entries;
    if (p->first_row == r->data->rows && gap == 0)
        return;
    place(r, p, r->data->rows, r->entries);
    move(p->label, old.label, p->rows, sizeof *p->label);
    move(p->weight, old.weight, p->rows, sizeof *p->weight);
    move(p->group, old.group, p->rows, sizeof *p->group);
    move(p->row_start, old.row_start, p->rows, sizeof *p->row_start);
    move(p->column, old.column, p->entries, sizeof *p->column);
    move(p->value, old.value, p->entries, sizeof *p->value);
    for (size_t i = 0; p->row_start && i < p->rows; i++)
        p->row_start[i] -= gap;
}

static kb_status number_groups(reading *r, const kb_piece *p) {
    kb_status status = KB_OK;
    for (size_t k = 0; k < p->open_groups; k++) {
        const kb_open_text *open = &p->open_group[k];
        /* The last may be one of a bad line, which is no row. */
        if (open->row < p->rows)
            TRY(kb_text_ids_number(r->ctx, &r->groups, open->text, open->length,
                                   &p->group[open->row]));
    }
done:
    return status;
}

/* The rows come before the bad line that may follow them. */
static kb_status join_piece(reading *r, kb_piece *p) {
    kb_status status;
    kb_data *data = r->data;
    p->lines_before = r->lines;
    close_gap(r, p);
    if (p->rows > KB_ROWS_MAX - data->rows)
        TRY(kb_fail(r->ctx, KB_ERR_DATA, "%s: " KB_ROWS_TOO_MANY, kb_input_name(r->in)));
    TRY(r->format->join(r->format->arg, p));
    TRY(number_groups(r, p));
    if (p->status != KB_OK)
        TRY(kb_input_fail_at(r->in, r->lines + p->line, "%s", p->sentence));
    r->lines += p->line;
    r->entries += p->entries;
    data->rows += p->rows;
done:
    return status;
}

static kb_status join_pieces(reading *r) {
    kb_status status = KB_OK;
    for (size_t k = 0; k < r->pieces; k++)
        TRY(join_piece(r, &r->piece[k]));
    if (r->data->row_start)
        r->data->row_start[r->data->rows] = r->entries;
done:
    return status;
}

/* ---- the file ---------------------------------------------------------- */

static kb_status read_blocks(reading *r) {
    kb_status status;
    for (;;) {
        TRY(next_block(r));
        if (r->block.length == 0)
            break;
        TRY(cut_block(r));
        kb_team_for(r->ctx, r->pieces, 1, count_pieces, r);
        TRY(place_pieces(r));
        size_t busy = r->pieces + !kb_input_ended(r->in);
        atomic_store(&r->turn, 0);
        kb_team_run(r->ctx, busy < INT_MAX ? (int)busy : INT_MAX, parse_pieces, r);
        TRY(join_pieces(r));
    }
done:
    return status;
}

/* Groups of all ranks, numbered as in one file. */
static kb_status join_groups(reading *r) {
    kb_status status;
    uint32_t *place = NULL;
    TRY(kb_texts_join(r->ctx, &r->groups, &place));
    for (size_t i = 0; place && i < r->data->rows; i++)
        r->data->group[i] = place[r->data->group[i]];
done:
    kb_release(r->ctx, place);
    return status;
}

kb_status kb_pieces_read(kb_context *ctx, kb_input *input, const kb_piece_format *format,
                         kb_data *data) {
    reading r = {.ctx = ctx, .in = input, .format = format, .data = data};
    r.piece_bytes = format->piece_bytes > 0 ? format->piece_bytes : KB_PIECE_BYTES;
    r.chunks = ctx->threads > 1 ? PIECES_OF_A_THREAD * (size_t)ctx->threads : 1;
    r.lines = kb_input_lines_given(input);
    kb_status status = read_blocks(&r);
    if (status == KB_OK && data->rows == 0) /* a share without rows has arrays too */
        status = make_room(&r, 1, 1);
    if (status == KB_OK && data->rows == 0 && data->row_start)
        data->row_start[0] = 0;
    status = kb_ranks_agree(ctx, status);
    if (status == KB_OK && format->shape.group)
        status = join_groups(&r);
    if (status == KB_OK)
        kb_input_tell(input);
    if (status == KB_OK)
        status = kb_input_tell_all(input);
    kb_release(ctx, r.open_group);
    kb_release(ctx, r.kept);
    kb_release(ctx, r.piece);
    kb_release(ctx, r.block.text);
    kb_release(ctx, r.ahead.text);
    kb_text_ids_clear(ctx, &r.groups);
    return status;
}
