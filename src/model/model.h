/*
 * model.h - a fitted model: the map, the weights of its bins, and what the labels mean.
 */
#ifndef KB_MODEL_MODEL_H
#define KB_MODEL_MODEL_H

#include "validation/conformal.h"
#include "model/map.h"
#include "options/config.h"

enum { KB_SHORTENED_MOST = 32 };

struct kb_model {
    kb_allocator allocator;
    kb_fit_info info; /* its texts are owned by `text`, but for sigma_rule */
    kb_fit_cost cost;
    char *text[9];
    kb_map *map;
    double *intercept;   /* outputs */
    double *prior;       /* outputs: the decision for a sample without a known bin */
    const float *weight; /* D x outputs, in the order of the map's dictionary; NULL if compact */
    const int8_t *level; /* of a compact model, bins x outputs: the weight is level x unit */
    const float *unit;   /* grids x outputs; else both are NULL */
    /* Which bins have levels, as bits, and how many have some before the bins of each word of 64;
     * NULL where all have.  The others are known bins whose weights are 0. */
    const uint64_t *kept;
    const uint32_t *kept_before;
    kb_compaction compaction;
    double *rival_weight; /* D x outputs, instead for a rival map */
    int log_link;         /* of the loss poisson: a prediction is exp of the decision */
    int fill;             /* the sum over the known bins stands for all grids: see predict.c */
    int softmax;          /* learned with the option multiclass softmax */
    kb_calibration calibration;
    kb_validation validation; /* empty in a model that was read */
    kb_expected expected;
    kb_conformal conformal;
    double *class_value;      /* classes */
    char **class_name;        /* classes, or NULL where the labels are numbers */
    char **number_name;       /* the class values as text, for kb_model_class_name */
    char **feature_name;      /* features, or NULL */
    kb_table *table;          /* what the features hold, or NULL: numbers */
    char *label;              /* the option label that the training data were read with */
    int zero_based;           /* the option zero-based, likewise */
    kb_importance importance; /* drop is NULL where it was not measured */
    kb_trial_info *tried;
    size_t tried_count, chosen;
    const char *shortened[KB_SHORTENED_MOST]; /* what the option budget cut; static */
    size_t shortened_count;
    int stopped;       /* solvers stopped for want of time */
    char **tried_text; /* 2 x tried_count: their texts, in a model that was read; else NULL */
    void *file;        /* the mapped file that `weight` lies in, or NULL */
    size_t file_bytes;
};

/* The levels of a bin of a compact model, or NULL. */
static inline const int8_t *kb_model_levels(const kb_model *model, size_t bin) {
    size_t at = bin;
    if (model->kept) {
        uint64_t word = model->kept[bin / 64], bit = UINT64_C(1) << bin % 64;
        if (!(word & bit))
            return NULL;
        at = model->kept_before[bin / 64] + (size_t)__builtin_popcountll(word & (bit - 1));
    }
    return model->level + at * model->info.outputs;
}

/* Where the weights of a bin lie. */
static inline const void *kb_model_weights_at(const kb_model *model, size_t bin) {
    return model->level ? (const void *)kb_model_levels(model, bin)
                        : (const void *)(model->weight + bin * model->info.outputs);
}

/* A weight of a compact model, rounded to a float as all weights are. */
static inline float kb_level_weight(int8_t level, float unit) {
    return (float)level * unit;
}

/* Adds the weights of a bin, which is of grid r, to the sums of the outputs. */
static inline void kb_model_add_bin(const kb_model *model, size_t r, size_t bin, double *sum) {
    size_t C = model->info.outputs;
    if (model->level) {
        const int8_t *level = kb_model_levels(model, bin);
        const float *unit = model->unit + r * C;
        for (size_t c = 0; level && c < C; c++)
            sum[c] += kb_level_weight(level[c], unit[c]);
        return;
    }
    const float *w = model->weight + bin * C;
    for (size_t c = 0; c < C; c++)
        sum[c] += w[c];
}

kb_status kb_model_create(kb_context *ctx, kb_model **out);

/* Sets what `info` tells of sigma by its text, as sigma.c makes it and a model file keeps it; the
 * text itself is not copied. */
void kb_fit_info_set_sigma(kb_fit_info *info, const char *text);

/* Copies the texts of `info` into the model. */
kb_status kb_model_set_info(kb_context *ctx, kb_model *model, const kb_fit_info *info);

/* Another rule for probabilities, with its name in the info. */
kb_status kb_model_set_calibration(kb_context *ctx, kb_model *model, const kb_calibration *rule);

/* Fills number_name once class_value is there. */
kb_status kb_model_name_classes(kb_context *ctx, kb_model *model);

/* What is wrong with its numbers, as a clause, or NULL.  A model that was fitted passes it before
 * anyone gets it, and every model before it is written or after it was read.  all: weights too, in
 * O(D outputs) time. */
const char *kb_model_fault(const kb_model *model, int all);

/* KB_ERR_DATA if a name could not be stored in a model file; called before the fit. */
kb_status kb_model_check_names(kb_context *ctx, const kb_config *config, const kb_data *data);

/* Decisions, and the share of grids in which a row meets a known bin (1 for rival maps); known may
 * be NULL. */
kb_status kb_model_decide_known(kb_context *ctx, const kb_model *model, const kb_data *data,
                                double *decision, double *known);

/* What is asked of a model, checked against it; how many numbers of a row it is; and these numbers,
 * from the decisions and the known share of the row. */
kb_status kb_request_take(kb_context *ctx, const kb_model *model, const kb_request *from,
                          kb_request *out);
size_t kb_request_numbers(const kb_model *model, const kb_request *request);
void kb_request_fill(const kb_model *model, const kb_request *request, const double *decision,
                     double known, double *out);

/* Rows of which the decisions are made at a time, where not all are kept; no more than `rows`. */
size_t kb_model_rows_at_once(const kb_context *ctx, const kb_model *model, size_t rows);

/* What a decision of regression predicts: itself, or its exp. */
double kb_model_mean(const kb_model *model, double decision);

/* kb_winner with the outputs of the model. */
size_t kb_model_winner(const kb_model *model, const double *decision);

#endif
