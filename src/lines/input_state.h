/*
 * input_state.h - what a kb_input is made of, for input.c and input_parts.c.
 *
 * Lines are counted from the first one that is read: in a rank's share from where that begins, and
 * of several files over all of them, without the heads of all but the first.  A mark for each file
 * tells how a number among those becomes one of the file.
 */
#ifndef KB_LINES_INPUT_STATE_H
#define KB_LINES_INPUT_STATE_H

#include "lines/input.h"
#include "lines/quotes.h"
#include "lines/share.h"
#include "packed/source.h"

/* Where a file begins among the lines that are counted. */
typedef struct kb_line_mark {
    size_t lines;     /* counted before it */
    size_t above;     /* of it, that are not counted */
    off_t first_byte; /* if it is not 0, those above are the ones before this byte */
} kb_line_mark;

struct kb_input {
    kb_context *ctx;
    kb_source *source;
    char *name; /* the path, or "standard input" */

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

    int shared;          /* this is the share of a rank */
    size_t head_foreign; /* the line of the first byte that is not UTF-8 above; 0: none */

    kb_shared_file *file;    /* those that are read as one; one of them: the only one */
    kb_line_mark *mark;      /* of each */
    size_t files, now, stop; /* how many, the one being read, and the first that is not read */
    int goes_on;             /* to the next file, where one ends */
    int cut_out;             /* of each file only the bytes that it is to give, as they are */
    kb_input_head *head;     /* takes the head off a file */
    void *head_arg;
    size_t foreign_file, foreign_line; /* the first byte that is not UTF-8 in the files before */
};

/* Whether another file follows. */
static inline int kb_input_has_next(const kb_input *in) {
    return in->goes_on && in->now + 1 < in->stop;
}
/* The text of the next file goes behind that of the block, which is all that the input has. */
kb_status kb_input_next_file(kb_input *in, kb_block *block);
/* The file and its line that a line has; line 0: the path alone. */
const char *kb_input_place(const kb_input *in, size_t *line);

#endif
