/*
 * report.h - results as text and as JSON: times, sizes, fits.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "kerbin.h"

#include <jansson.h>
#include <stdio.h>

/* Seconds of a clock that never goes back. */
double seconds_now(void);
/* The peak memory of this process so far, in bytes. */
size_t peak_memory(void);
/* Bytes of a file; 0 if it is not there. */
size_t file_size(const char *path);

/* "120 MiB", for printing at once. */
typedef struct size_words {
    char text[24];
} size_words;
size_words size_in_words(size_t bytes);

/* "" for one and "s" for any other number. */
const char *plural(size_t count);

/* A description of a fit, one fact per line: the common part of train, inspect and demo. */
void report_fit(FILE *to, const kb_fit_info *info);
/* Sigma to five digits, where it is one number; else its text. */
typedef struct sigma_words {
    char text[64];
} sigma_words;
sigma_words report_sigma(const kb_fit_info *info);
/* "fit       98.10 % of the training rows right". */
void report_fit_score(FILE *to, const kb_fit_info *info);
/* "expect    about 2.3 % wrong on new rows (95 %: 1.9 to 2.8), by 1000 rows held out", or that
 * nothing is known of new rows. */
void report_expected(FILE *to, const kb_model *model);
/* Digits after the point that tell the ends of an interval apart, two of its width. */
int report_digits(double width);
/* null where no rows were held out. */
json_t *report_expected_json(const kb_model *model);

/* "accuracy 97.13 % of 91701 rows" and the like; `first`, or what suits the loss, comes first. */
void report_score(FILE *to, const kb_fit_info *info, const kb_score *score, size_t rows,
                  const kb_metric_info *first);
/* A metric by its name; NULL for auto. */
const kb_metric_info *report_metric(const char *name);
/* The metric that a fit with this loss aims at. */
const kb_metric_info *report_metric_of_loss(const kb_fit_info *info);

/* The common part of train's and inspect's object.  NULL: out of memory. */
json_t *report_fit_json(const kb_fit_info *info);
json_t *report_score_json(const kb_fit_info *info, const kb_score *score);
/* A number, or null where JSON cannot hold it. */
json_t *report_number(double x);
/* A string, with question marks for what is not UTF-8. */
json_t *report_text(const char *text);
/* Adds `value` and takes it.  Where memory ran out, *object is freed and NULL. */
void report_add(json_t **object, const char *key, json_t *value);
/* Prints the object and a newline, and frees it.  KB_ERR_MEMORY for NULL. */
kb_status report_json(json_t *object);

#endif
