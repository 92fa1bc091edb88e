/*
 * dictionary.h - what the columns of a table hold, for people and as JSON.
 */
#ifndef CLI_DICTIONARY_H
#define CLI_DICTIONARY_H

#include "kerbin.h"

#include <jansson.h>
#include <stdio.h>

/* Two lines, before the work begins: the label, and how many columns there are of each type. */
void dictionary_print_data(FILE *to, const kb_data *data);

/* A line for each column of the training data that is not a number without missing values, and for
 * those that were left out. */
void dictionary_print_model(FILE *to, const kb_model *model);

/* Adds label, the name of its column or null, and columns and left_out, lists of objects with name,
 * type, missing and levels. */
void dictionary_add_json(json_t **object, const kb_model *model);

#endif
