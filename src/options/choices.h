/*
 * choices.h - the values of the options that take one of several words.
 *
 * A line is a value: its name in the code and its word.  The options table (table.c) takes the
 * words from here, and kb_config the names, so a new value is one line here plus its code.  The
 * order of the lines only sets the order in help texts.
 */
#ifndef KB_OPTIONS_CHOICES_H
#define KB_OPTIONS_CHOICES_H

#define KB_FORMATS(_)                                                                              \
    _(KB_FORMAT_AUTO, "auto")                                                                      \
    _(KB_FORMAT_LIBSVM, "libsvm")                                                                  \
    _(KB_FORMAT_CSV, "csv")                                                                        \
    _(KB_FORMAT_NPY, "npy")

#define KB_HEADERS(_)                                                                              \
    _(KB_HEADER_AUTO, "auto")                                                                      \
    _(KB_HEADER_ON, "on")                                                                          \
    _(KB_HEADER_OFF, "off")

/* And "group:COLUMN", KB_SPLIT_GROUP. */
#define KB_SPLITS(_)                                                                               \
    _(KB_SPLIT_AUTO, "auto")                                                                       \
    _(KB_SPLIT_RANDOM, "random")                                                                   \
    _(KB_SPLIT_STRATIFIED, "stratified")                                                           \
    _(KB_SPLIT_TIME, "time")

#define KB_MAPS(_)                                                                                 \
    _(KB_MAP_BINNING, "binning")                                                                   \
    _(KB_MAP_FOURIER, "fourier")                                                                   \
    _(KB_MAP_NYSTROM, "nystrom")                                                                   \
    _(KB_MAP_BLOCKS, "blocks")                                                                     \
    _(KB_MAP_EXACT, "exact")

/* k-means++: landmarks far from each other. */
#define KB_LANDMARK_RULES(_)                                                                       \
    _(KB_LANDMARKS_UNIFORM, "uniform")                                                             \
    _(KB_LANDMARKS_KMEANS, "kmeans++")

#define KB_WIDTHS_RULES(_)                                                                         \
    _(KB_WIDTHS_AUTO, "auto")                                                                      \
    _(KB_WIDTHS_EQUAL, "equal")                                                                    \
    _(KB_WIDTHS_LEARNED, "learned")

#define KB_LINEAR_RULES(_)                                                                         \
    _(KB_LINEAR_AUTO, "auto")                                                                      \
    _(KB_LINEAR_OFF, "off")

#define KB_SCALES(_)                                                                               \
    _(KB_SCALE_AUTO, "auto")                                                                       \
    _(KB_SCALE_MINMAX, "minmax")     /* to [0, 1] */                                               \
    _(KB_SCALE_MAXABS, "maxabs")     /* divided by the largest absolute value */                   \
    _(KB_SCALE_STANDARD, "standard") /* to mean 0 and variance 1 */                                \
    _(KB_SCALE_NONE, "none")                                                                       \
    _(KB_SCALE_RANKS, "ranks") /* data/transform.h */

#define KB_TUNE_RULES(_)                                                                           \
    _(KB_TUNE_ON, "on")                                                                            \
    _(KB_TUNE_OFF, "off")

/* model/metric.c has a row for each but auto, in this order. */
#define KB_METRICS(_)                                                                              \
    _(KB_METRIC_AUTO, "auto")                                                                      \
    _(KB_METRIC_ACCURACY, "accuracy")                                                              \
    _(KB_METRIC_BALANCED, "balanced")                                                              \
    _(KB_METRIC_AUC, "auc")                                                                        \
    _(KB_METRIC_LOG_LOSS, "log-loss")                                                              \
    _(KB_METRIC_BRIER, "brier")                                                                    \
    _(KB_METRIC_F1, "f1")                                                                          \
    _(KB_METRIC_RMSE, "rmse")                                                                      \
    _(KB_METRIC_MAE, "mae")                                                                        \
    _(KB_METRIC_R2, "r2")                                                                          \
    _(KB_METRIC_RELATIVE_ERROR, "relative-error")                                                  \
    _(KB_METRIC_PINBALL, "pinball")                                                                \
    _(KB_METRIC_POISSON, "poisson-deviance")

#define KB_TASKS(_)                                                                                \
    _(KB_TASK_AUTO, "auto")                                                                        \
    _(KB_TASK_REGRESSION, "regression")                                                            \
    _(KB_TASK_CLASSIFICATION, "classification")

#define KB_LOSSES(_)                                                                               \
    _(KB_LOSS_AUTO, "auto")                                                                        \
    _(KB_LOSS_SQUARE, "square")                                                                    \
    _(KB_LOSS_LOGISTIC, "logistic")                                                                \
    _(KB_LOSS_SQUARED_HINGE, "squared-hinge")                                                      \
    _(KB_LOSS_QUANTILE, "quantile")                                                                \
    _(KB_LOSS_ABSOLUTE, "absolute")                                                                \
    _(KB_LOSS_POISSON, "poisson")

#define KB_MULTICLASS_RULES(_)                                                                     \
    _(KB_MULTICLASS_OVR, "ovr")                                                                    \
    _(KB_MULTICLASS_SOFTMAX, "softmax")

#define KB_PROBABILITY_RULES(_)                                                                    \
    _(KB_PROBABILITY_AUTO, "auto")                                                                 \
    _(KB_PROBABILITY_ON, "on")                                                                     \
    _(KB_PROBABILITY_OFF, "off")

#define KB_PENALTIES(_)                                                                            \
    _(KB_PENALTY_L2, "l2")                                                                         \
    _(KB_PENALTY_L1, "l1")

#define KB_SOLVERS(_)                                                                              \
    _(KB_SOLVER_AUTO, "auto")                                                                      \
    _(KB_SOLVER_CG, "cg")                                                                          \
    _(KB_SOLVER_GMRES, "gmres")                                                                    \
    _(KB_SOLVER_SWEEPS, "sweeps")                                                                  \
    _(KB_SOLVER_NEWTON, "newton")                                                                  \
    _(KB_SOLVER_GRID_CD, "grid-cd")                                                                \
    _(KB_SOLVER_CD, "cd")                                                                          \
    _(KB_SOLVER_PARALLEL_CD, "parallel-cd")                                                        \
    _(KB_SOLVER_CHOLESKY, "cholesky")

#define KB_EARLY_STOP_RULES(_)                                                                     \
    _(KB_EARLY_STOP_AUTO, "auto")                                                                  \
    _(KB_EARLY_STOP_ON, "on")                                                                      \
    _(KB_EARLY_STOP_OFF, "off")

#define KB_INTERCEPT_RULES(_)                                                                      \
    _(KB_INTERCEPT_AUTO, "auto")                                                                   \
    _(KB_INTERCEPT_ON, "on")                                                                       \
    _(KB_INTERCEPT_OFF, "off")                                                                     \
    _(KB_INTERCEPT_MEAN, "mean")

#define KB_IMPORTANCE_RULES(_)                                                                     \
    _(KB_IMPORTANCE_AUTO, "auto")                                                                  \
    _(KB_IMPORTANCE_ON, "on")                                                                      \
    _(KB_IMPORTANCE_OFF, "off")

#define KB_DEVICES(_)                                                                              \
    _(KB_DEVICE_CPU, "cpu")                                                                        \
    _(KB_DEVICE_CUDA, "cuda")

/* A list as enum members, and as the text "a|b|c" with a leading bar. */
#define KB_CHOICE_NAME(name, word) name,
#define KB_CHOICE_WORD(name, word) "|" word

typedef enum kb_file_format { KB_FORMATS(KB_CHOICE_NAME) } kb_file_format;
typedef enum kb_header { KB_HEADERS(KB_CHOICE_NAME) } kb_header;
typedef enum kb_split_kind { KB_SPLITS(KB_CHOICE_NAME) KB_SPLIT_GROUP } kb_split_kind;
typedef enum kb_map_kind { KB_MAPS(KB_CHOICE_NAME) } kb_map_kind;
typedef enum kb_landmarks { KB_LANDMARK_RULES(KB_CHOICE_NAME) } kb_landmarks;
typedef enum kb_widths_rule { KB_WIDTHS_RULES(KB_CHOICE_NAME) } kb_widths_rule;
typedef enum kb_linear_rule { KB_LINEAR_RULES(KB_CHOICE_NAME) } kb_linear_rule;
typedef enum kb_scale_kind { KB_SCALES(KB_CHOICE_NAME) } kb_scale_kind;
typedef enum kb_tune_rule { KB_TUNE_RULES(KB_CHOICE_NAME) } kb_tune_rule;
typedef enum kb_metric_kind { KB_METRICS(KB_CHOICE_NAME) } kb_metric_kind;
typedef enum kb_task { KB_TASKS(KB_CHOICE_NAME) } kb_task;
typedef enum kb_loss_kind { KB_LOSSES(KB_CHOICE_NAME) } kb_loss_kind;
typedef enum kb_multiclass { KB_MULTICLASS_RULES(KB_CHOICE_NAME) } kb_multiclass;
typedef enum kb_probability_rule { KB_PROBABILITY_RULES(KB_CHOICE_NAME) } kb_probability_rule;
typedef enum kb_penalty { KB_PENALTIES(KB_CHOICE_NAME) } kb_penalty;
typedef enum kb_solver_kind { KB_SOLVERS(KB_CHOICE_NAME) } kb_solver_kind;
typedef enum kb_early_stop { KB_EARLY_STOP_RULES(KB_CHOICE_NAME) } kb_early_stop;
typedef enum kb_intercept_rule { KB_INTERCEPT_RULES(KB_CHOICE_NAME) } kb_intercept_rule;
typedef enum kb_importance_rule { KB_IMPORTANCE_RULES(KB_CHOICE_NAME) } kb_importance_rule;
typedef enum kb_device_kind { KB_DEVICES(KB_CHOICE_NAME) } kb_device_kind;

#endif
