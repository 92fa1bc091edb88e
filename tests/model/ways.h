/*
 * ways.h - the ways to a model that differ in their code: losses, classes, probabilities.
 */
#ifndef KB_TESTS_WAYS_H
#define KB_TESTS_WAYS_H

#include "model/fitted.h"

typedef struct way {
    labels kind;
    const char *loss, *multiclass, *probability;
    const char *rule; /* how the model makes its probabilities */
} way;

/* Those of the rival maps first: their fits take longer, and the others are near to these. */
static const way WAYS[] = {
    {REAL, "square", "ovr", "auto", "none"},
    {TWO, "square", "ovr", "on", "sigmoid"},
    {TWO, "logistic", "ovr", "auto", "sigmoid"},
    {TWO, "squared-hinge", "ovr", "off", "none"},
    {TWO, "squared-hinge", "ovr", "on", "sigmoid"},
    {THREE, "square", "ovr", "off", "none"},
    {WORDS, "square", "ovr", "on", "softmax"},
    {WORDS, "logistic", "ovr", "auto", "sigmoid"},
    {WORDS, "logistic", "softmax", "auto", "softmax"},
    {WORDS, "logistic", "softmax", "on", "softmax"},
    {THREE, "squared-hinge", "ovr", "on", "softmax"},

    {REAL, "square", "ovr", "on", "none"},
    {TWO, "square", "ovr", "auto", "none"},
    {TWO, "logistic", "ovr", "on", "sigmoid"},
    {TWO, "logistic", "softmax", "auto", "sigmoid"},
    {THREE, "logistic", "softmax", "off", "none"},
    {WORDS, "squared-hinge", "ovr", "on", "softmax"},
};
enum { RIVAL_WAYS = 11, WAY_COUNT = sizeof WAYS / sizeof *WAYS };

/* The options of a way, and more of them. */
#define WAY(ctx, w, ...)                                                                           \
    OPTIONS(ctx, "grids", "40", "sigma", "0.8", "lambda", "0.3", "loss", (w)->loss, "multiclass",  \
            (w)->multiclass, "probability", (w)->probability, __VA_ARGS__)

/* A few steps of a small fit, with weights. */
#define TINY_WAY(ctx, w, ...)                                                                      \
    tiny_way(ctx, w,                                                                               \
             WAY(ctx, w, "grids", "9", "max-iter", "3", "intercept", "on", "class-weight",         \
                 (w)->kind == REAL ? "none" : "balanced", __VA_ARGS__))

static inline fit_inputs tiny_way(kb_context *ctx, const way *w, kb_options *options) {
    static const double weights[] = {1, 2};
    fit_inputs in = {options, data_of(ctx, 30, 2, w->kind)};
    weigh_rows(ctx, in.data, weights, 2);
    return in;
}

#endif
