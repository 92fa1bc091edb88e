/*
 * dependence.h - partial dependence of the most important features, as text, figure and JSON.
 */
#ifndef CLI_DEPENDENCE_H
#define CLI_DEPENDENCE_H

#include "plot.h"
#include "session.h"

#include <jansson.h>

enum { DEPENDENCE_POINTS = 20, DEPENDENCE_FEATURES = 24 };

/* One feature. */
typedef struct dependence {
    size_t feature, points;
    double at[DEPENDENCE_POINTS];
    double *mean, *spread; /* points x width; spread: standard errors over rows */
} dependence;

typedef struct dependences {
    const kb_model *model;
    size_t rows; /* that the means are over */
    size_t count;
    size_t width;    /* curves: one, or one for each class */
    int probability; /* of classes; else decisions */
    dependence of[DEPENDENCE_FEATURES];
} dependences;

/* A value of a feature as people write it: a number, a date or a level. */
typedef struct value_words {
    char text[80];
} value_words;
value_words value_in_words(const kb_model *model, size_t feature, double at);

/* Of the `top` most important features, over some rows of the data.  Call dependences_free on
 * success and on failure. */
kb_status dependences_find(session *s, const kb_model *model, const kb_data *data, size_t top,
                           dependences *out);
void dependences_free(dependences *d);

void dependences_print(const dependences *d);
/* One panel for each feature, so many beside each other. */
figure *dependences_figure(const dependences *d, const char *title, int columns);
/* Feature k alone. */
figure *dependence_figure(const dependences *d, size_t k);
/* [{"feature": name, "at": [..], "mean": [[..], ..], "standard_error": ..}, ..] */
json_t *dependences_json(const dependences *d);

#endif
