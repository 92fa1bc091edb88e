/*
 * dictionary.h - what the columns of a table hold, for people and as JSON.
 */
#ifndef CLI_DICTIONARY_H
#define CLI_DICTIONARY_H

#include "kerbin.h"

#include <jansson.h>
#include <stdio.h>

/* "label: price (last column); 61 numbers, 17 categories, 2 dates; left out: key (id)" */
typedef struct dictionary_line {
    char text[512];
} dictionary_line;
dictionary_line dictionary_of_data(const kb_data *data);

/* A line for each column of the training data that is not a number without missing values, and for
 * those that were left out. */
void dictionary_print_model(FILE *to, const kb_model *model);

/* Adds label, the name of its column or null, and columns and left_out, lists of objects with name,
 * type, missing and levels. */
void dictionary_add_json(json_t **object, const kb_model *model);

#endif
