/*
 * validation_file.h - what a model file keeps of the rows that were held out.
 */
#ifndef KB_VALIDATION_VALIDATION_FILE_H
#define KB_VALIDATION_VALIDATION_FILE_H

#include "validation/conformal.h"

#include <jansson.h>

/* NULL: out of memory. */
json_t *kb_expected_describe(const kb_expected *e);
/* json NULL: nothing is known, which is sound.  0 if the numbers cannot be. */
int kb_expected_read(const json_t *json, int classes, kb_expected *out);

/* The curve of probabilities and the quantiles likewise.  Reading gives 0 if they are not sound. */
json_t *kb_curve_describe(const kb_curve *c);
int kb_curve_read(const json_t *json, kb_curve *out);
json_t *kb_conformal_describe(const kb_conformal *c);
int kb_conformal_read(const json_t *json, int classes, kb_conformal *out);

#endif
