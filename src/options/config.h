/*
 * config.h - a set of options resolved into numbers and enums.
 *
 * kb_config_of is called once, at the start of a public call; everything after it uses the config.
 * What is left at auto stays auto here: KB_.._AUTO, or the number that the member names.  The tuner
 * (tune/) and the fit replace it.
 */
#ifndef KB_OPTIONS_CONFIG_H
#define KB_OPTIONS_CONFIG_H

#include "options/choices.h"
#include "options/kernel_name.h"
#include "options/options.h"

typedef enum kb_sigma_kind {
    KB_SIGMA_AUTO,
    KB_SIGMA_DEFAULT, /* a rule from the spread of the data */
    KB_SIGMA_NUMBER,  /* the same for all features */
    KB_SIGMA_LIST,    /* one a feature */
    KB_SIGMA_FILE,    /* one such list per line */
} kb_sigma_kind;

typedef struct kb_sigma {
    kb_sigma_kind kind;
    double value;     /* NUMBER */
    const char *text; /* LIST and NUMBER: as given, NULL if the tuner set it; FILE: its path */
} kb_sigma;

typedef enum kb_class_weight {
    KB_CLASS_WEIGHT_NONE,
    KB_CLASS_WEIGHT_BALANCED,
    KB_CLASS_WEIGHT_FILE,
} kb_class_weight;

enum { KB_GRIDS_AUTO = 0 };
#define KB_LAMBDA_AUTO     0.0
#define KB_FOLDS_AUTO      SIZE_MAX
#define KB_HOLDOUT_AUTO    (-1.0)
#define KB_DIRECTIONS_AUTO SIZE_MAX

/* Texts belong to the options, which must outlive the config. */
typedef struct kb_config {
    /* Data. */
    kb_file_format format;
    int zero_based;
    kb_header header;
    const char *label;
    int label_given;     /* whether the label differs from the default */
    const char *ignore;  /* lists of columns; NULL: none */
    const char *keep;    /* likewise, of files to predict */
    const char *columns; /* NULL: all */
    const char *types;   /* NULL: found from the cells */
    const char *weights; /* a file, or column:NAME; NULL: none */
    kb_split_kind split;
    const char *group; /* the column of a split by group, else NULL */

    /* Kernel. */
    kb_map_kind map;
    kb_landmarks landmarks;
    kb_kernel_name kernel;
    kb_sigma sigma;
    kb_widths_rule widths;
    kb_linear_rule linear;
    size_t directions; /* KB_DIRECTIONS_AUTO */
    size_t grids;      /* KB_GRIDS_AUTO */
    kb_scale_kind scale;

    /* Solver. */
    kb_tune_rule tune;
    double budget; /* seconds; INFINITY: none */
    kb_metric_kind metric;
    kb_task task;
    double lambda; /* KB_LAMBDA_AUTO */
    kb_loss_kind loss;
    double quantile;
    kb_multiclass multiclass;
    kb_class_weight class_weight;
    const char *class_weight_file;
    kb_probability_rule probability;
    kb_penalty penalty;
    int group_grids;
    size_t lambda_path;
    size_t folds;   /* KB_FOLDS_AUTO */
    double holdout; /* KB_HOLDOUT_AUTO; 0: off */
    size_t ensemble;
    kb_solver_kind solver;
    double tol;
    size_t max_iter;
    kb_early_stop early_stop;
    kb_intercept_rule intercept;
    kb_importance_rule importance;
    kb_device_kind device;

    uint64_t seed;
    size_t max_memory; /* bytes; 0: what the machine has available */
    int nearby;        /* ranks that share what the machine has available; 0: 1 */
    double held;       /* bytes taken already that count in every forecast: the encoded data */

    /* Synthetic data. */
    size_t rows;
    double noise;
} kb_config;

/* Cannot fail: every value was checked when it was set. */
kb_config kb_config_of(const kb_options *options);

/* Gives every member that is auto, and that tuning would set, its value without tuning. */
void kb_config_set_untuned(kb_config *config);

/* Bytes that this process may use: max_memory, or its share of what the machine has available now,
 * and what is held. */
size_t kb_config_memory(const kb_config *config);

static inline int kb_config_is_rival(const kb_config *config) {
    return config->map != KB_MAP_BINNING;
}

/* Whether the loss is one of numbers, other than the square one. */
static inline int kb_config_is_of_numbers(const kb_config *config) {
    return config->loss == KB_LOSS_QUANTILE || config->loss == KB_LOSS_ABSOLUTE ||
           config->loss == KB_LOSS_POISSON;
}

static inline int kb_config_is_l1(const kb_config *config) {
    return config->penalty == KB_PENALTY_L1;
}

#endif
