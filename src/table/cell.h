/*
 * cell.h - a cell of a table as one double: a number, a text, or nothing.
 *
 * A text is the number that it has among the texts of its column (text_ids.h), kept in a NaN.  So a
 * column can be read before it is known whether it holds numbers or words.
 */
#ifndef KB_TABLE_CELL_H
#define KB_TABLE_CELL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define KB_CELL_MISSING ((double)NAN)
/* In a column of levels: a level that the training rows did not have. */
#define KB_CELL_UNSEEN (-1.0)

/* A quiet NaN with this bit below its first 16, and the number in its low half. */
#define KB_CELL_TEXT_BITS 0x7ff8000100000000u

static inline double kb_cell_text(uint32_t number) {
    uint64_t bits = KB_CELL_TEXT_BITS | number;
    double cell;
    memcpy(&cell, &bits, sizeof cell);
    return cell;
}

static inline int kb_cell_is_text(double cell) {
    uint64_t bits;
    memcpy(&bits, &cell, sizeof bits);
    return bits >> 32 == KB_CELL_TEXT_BITS >> 32;
}

/* A text that has no number yet: where it begins, in a text that holds many. */
#define KB_CELL_OPEN_BITS 0x7ff8000200000000u

static inline double kb_cell_open(uint32_t place) {
    uint64_t bits = KB_CELL_OPEN_BITS | place;
    double cell;
    memcpy(&cell, &bits, sizeof cell);
    return cell;
}

static inline int kb_cell_is_open(double cell) {
    uint64_t bits;
    memcpy(&bits, &cell, sizeof bits);
    return bits >> 32 == KB_CELL_OPEN_BITS >> 32;
}

/* The number of a text, or the place of an open one. */
static inline uint32_t kb_cell_number(double cell) {
    uint64_t bits;
    memcpy(&bits, &cell, sizeof bits);
    return (uint32_t)bits;
}

static inline int kb_cell_is_missing(double cell) {
    return isnan(cell) && !kb_cell_is_text(cell);
}

/* Whether the text of a cell, without blanks around it, says that there is no value: empty, ?, NA,
 * N/A, #N/A, NaN, null or a dot, in any case. */
int kb_text_is_missing(const char *text, size_t length);

#endif
