/*
 * pieces.h - text parsed by all threads, in pieces of whole lines.
 *
 * A block of the file is cut into pieces.  The lines of each are counted, so that there is a place
 * for its rows behind those of the pieces before; then whichever thread is free parses it, right
 * into the arrays of the data.  At the end the pieces are joined in their order, so that the
 * result does not depend on the threads, nor on where the text was cut.  With several threads the
 * next block is read, and decompressed, while this one is parsed.  So there are two blocks of text
 * in memory, of half a MB for each thread, and one with one thread.
 */
#ifndef KB_IO_PIECES_H
#define KB_IO_PIECES_H

#include "data/data.h"
#include "lines/input.h"
#include "table/text_ids.h"

/* What a row has. */
typedef struct kb_row_shape {
    int label, weight, group; /* whether there is one */
    size_t features;          /* of dense rows; 0: compressed rows, a colon for each entry */
    size_t kept;              /* texts of a row that are kept */
} kb_row_shape;

/* A group that cannot be numbered before all rows above it are: its text is new. */
typedef struct kb_open_text {
    size_t row;       /* within the piece */
    const char *text; /* in the text of the piece */
    size_t length;
} kb_open_text;

/* A text that is kept, in that of the piece. */
typedef struct kb_kept_text {
    const char *text;
    size_t length;
} kb_kept_text;

typedef struct kb_piece {
    char *next, *end;   /* lines that are not parsed yet */
    const char *text;   /* where its first line begins */
    size_t line;        /* lines given so far, to the first of the last row */
    int joined;         /* rows may go on over several lines, */
    size_t joints;      /* and the last one has so many more */
    kb_status status;   /* of the line that was given last, */
    char sentence[512]; /* and what is wrong with it */

    /* Its rows so far, in the arrays of the data.  There is room for a row on each line, and for
     * an entry at each colon. */
    size_t rows, entries;
    double *label, *weight; /* those that the shape has; else NULL */
    uint32_t *group;
    size_t *row_start; /* of compressed rows, counted from the first of the data */
    uint32_t *column;  /* likewise */
    double *value;

    kb_open_text *open_group; /* in the order of the rows; room for all */
    size_t open_groups;
    kb_kept_text *kept; /* rows x kept; they are there until the piece is joined */

    /* For the formats. */
    uint64_t widest; /* features of the widest row */
    size_t rows_cut; /* rows with a column left out */
    size_t missing;  /* values that are NaN */
    int has_open;    /* some cells are texts that came for the first time */

    size_t most_rows, most_entries;  /* by the count of lines and colons */
    size_t first_row, first_entry;   /* places in the data */
    size_t lines_before;             /* of the file; known when the piece is joined */
    const kb_text_ids *known_groups; /* of the blocks before */
} kb_piece;

/* The next line, as kb_input_line gives it; NULL after the last. */
char *kb_piece_line(kb_piece *piece);
/* Ends a row whose `entries` stand behind those before. */
void kb_piece_end_row(kb_piece *piece, size_t entries);
/* Sets the group of the row, or leaves it open. */
void kb_piece_set_group(kb_piece *piece, const char *text, size_t length);
/* KB_ERR_DATA, with the sentence kept for the line that was given last.  The first of the file
 * becomes the message of the context. */
kb_status kb_piece_fail(kb_piece *piece, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

typedef struct kb_piece_format {
    kb_row_shape shape;
    size_t piece_bytes; /* 0: KB_PIECE_BYTES */
    void *arg;
    /* Parses all lines, up to the first bad one.  On any thread; may not change `arg`. */
    void (*parse)(const void *arg, kb_piece *piece);
    /* On the caller's thread, for the pieces in their order: numbers the open cells, and keeps
     * what the format wants to know of the piece.  data->rows are those before it. */
    kb_status (*join)(void *arg, kb_piece *piece);
} kb_piece_format;

/* Small enough for the cache of a core. */
#define KB_PIECE_BYTES ((size_t)1 << 18)

/* Parses what is left of the input into `data`, which has no rows yet. */
kb_status kb_pieces_read(kb_context *ctx, kb_input *input, const kb_piece_format *format,
                         kb_data *data);

#endif
