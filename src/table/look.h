/*
 * look.h - what the texts of a column look like that are read as words: for warnings.
 */
#ifndef KB_TABLE_LOOK_H
#define KB_TABLE_LOOK_H

#include "table/text_ids.h"

typedef enum kb_texts_look {
    KB_LOOK_WORDS,     /* nothing else, as far as is known */
    KB_LOOK_UNITS,     /* numbers, all with one sign or unit: $12.50, 70 kg */
    KB_LOOK_DATES,     /* dates that table/date.h reads */
    KB_LOOK_DAY_FIRST, /* dates with the day before the month: 31/12/2020 */
} kb_texts_look;

/* Of all texts; KB_LOOK_WORDS where there are none. */
kb_texts_look kb_texts_look_of(const kb_text_ids *text);

#endif
