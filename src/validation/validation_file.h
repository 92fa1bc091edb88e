/*
 * validation_file.h - what a model file keeps of the rows that were held out.
 */
#ifndef KB_VALIDATION_VALIDATION_FILE_H
#define KB_VALIDATION_VALIDATION_FILE_H

#include "validation/validation.h"

#include <jansson.h>

/* NULL: out of memory. */
json_t *kb_expected_describe(const kb_expected *e);
/* json NULL: nothing is known, which is sound.  0 if the numbers cannot be. */
int kb_expected_read(const json_t *json, int classes, kb_expected *out);

#endif
