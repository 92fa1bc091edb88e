/*
 * table.c - the options table.
 *
 * The command line, its help, the man page, the option reference and other languages' keywords are
 * generated from it.  Names, defaults and bounds are written only here, the words of a choice only
 * in choices.h.  The group says which commands take an option.
 */
#include "options/table.h"

#include <string.h>

/* The value of an option left at auto where nothing is tuned. */
#define UNTUNED_SIGMA      "default"
#define UNTUNED_LAMBDA     "0.1"
#define UNTUNED_GRIDS      "256"
#define UNTUNED_WIDTHS     "equal"
#define UNTUNED_LOSS       "square"
#define UNTUNED_SCALE      "minmax"
#define UNTUNED_EARLY_STOP "off"

/* "a|b|c" from a list of choices.h. */
#define CHOICES(list) (list(KB_CHOICE_WORD) + 1)

/* clang-format off */
static const kb_option_info TABLE[KB_OPT_COUNT] = {
    [KB_OPT_FORMAT] = {
        "format", KB_OPTION_CHOICE, "FORMAT", "auto", 0, 0, CHOICES(KB_FORMATS),
        "Format of the data; auto tells it from the file's name and first lines.", "data"},
    [KB_OPT_ZERO_BASED] = {
        "zero-based", KB_OPTION_FLAG, NULL, "off", 0, 0, NULL,
        "The first feature of LIBSVM data has the index 0, not 1.", "data"},
    [KB_OPT_HEADER] = {
        "header", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, CHOICES(KB_HEADERS),
        "Whether the first line of a CSV file holds the names of the columns; auto: as the lines below "
        "it tell.", "data"},
    [KB_OPT_LABEL] = {
        "label", KB_OPTION_TEXT, "COLUMN", "-1", 0, 0, NULL,
        "Label column of a CSV file: its name, its number (1 is the first, -1 the last), "
        "or none. A name comes first, if a column is named like a number.", "data"},
    [KB_OPT_IGNORE] = {
        "ignore", KB_OPTION_TEXT, "LIST", "none", 0, 0, NULL,
        "Columns of a table that are no features: names or numbers, separated by commas; in a "
        "name, * stands for any text and ? for any character.", "data"},
    [KB_OPT_COLUMNS] = {
        "columns", KB_OPTION_TEXT, "LIST", "all", 0, 0, NULL,
        "The columns of a table that are features, in the same form; the others are ignored.",
        "data"},
    [KB_OPT_TYPES] = {
        "types", KB_OPTION_TEXT, "LIST", "auto", 0, 0, NULL,
        "What columns of a table hold, where the cells do not tell: a list like "
        "zip=category,code=number, of number, boolean, date, category or auto.", "data"},
    [KB_OPT_WEIGHTS] = {
        "weights", KB_OPTION_TEXT, "FILE", "none", 0, 0, NULL,
        "Weights of the samples, for the fit and the scores: a file of one number a line, or "
        "column:NAME of a CSV file.", "data"},
    [KB_OPT_SPLIT] = {
        "split", KB_OPTION_TEXT, "HOW", "auto", 0, 0, NULL,
        "How validation rows are chosen: random; stratified, the same share of each class; "
        "group:COLUMN, rows with the same text in a column of a CSV file stay together (group:qid "
        "for LIBSVM text); time, the last rows. auto is stratified for classes, else random.",
        "data"},
    [KB_OPT_KEEP] = {
        "keep", KB_OPTION_TEXT, "LIST", "none", 0, 0, NULL,
        "Columns of a CSV file to predict that are written before the predictions, as they were read: a "
        "list as for --ignore, in whose order they come.", "predict"},

    [KB_OPT_MAP] = {
        "map", KB_OPTION_CHOICE, "MAP", "binning", 0, 0,
        CHOICES(KB_MAPS),
        "Feature map: binning marks the bin of every random grid that a sample falls into. Its "
        "rivals, for comparison: fourier, cosines at random frequencies; nystrom, the kernel to "
        "some landmarks; blocks, the kernel within blocks of samples; exact, the kernel itself.",
        "kernel"},
    [KB_OPT_LANDMARKS] = {
        "landmarks", KB_OPTION_CHOICE, "HOW", "uniform", 0, 0, CHOICES(KB_LANDMARK_RULES),
        "With --map nystrom: landmarks drawn uniformly from the samples, or far from each other by "
        "the k-means++ rule.", "kernel"},
    [KB_OPT_KERNEL] = {
        "kernel", KB_OPTION_TEXT, "KERNEL", "laplace", 0, 0, NULL,
        "Kernel, a product over the features: laplace is exp(-t/sigma), triangle "
        "max(0, 1-t/sigma), power:A (1+t/sigma)^-A, and table:FILE runs straight between the "
        "points `t k(t)` of a file, one a line, convex and falling from 1 to 0. For the rival maps "
        "also the isotropic exponential, exp(-|x-y|/sigma), and gauss, exp(-|x-y|^2/(2 sigma^2)), "
        "with the Euclidean distance.", "kernel"},
    [KB_OPT_SIGMA] = {
        "sigma", KB_OPTION_TEXT, "X", "auto", 0, 0, NULL,
        "Length scale of the kernel after scaling; larger is smoother. X for all features, "
        "X1,X2,.. with one number a feature, @FILE with such a list on each line (the grids take "
        "the lines in turn), default: a rule from the spread of the data, or auto: tuned on "
        "validation rows.", "kernel"},
    [KB_OPT_WIDTHS] = {
        "widths", KB_OPTION_CHOICE, "HOW", "auto", 0, 0, CHOICES(KB_WIDTHS_RULES),
        "With --sigma auto: equal is one sigma for all features; learned gives each feature its "
        "own, found by gradient steps on the error of validation rows (--kernel laplace); auto "
        "takes learned widths where they are clearly better.", "kernel"},
    [KB_OPT_LINEAR] = {
        "linear", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, CHOICES(KB_LINEAR_RULES),
        "With --sigma auto and --scale auto or ranks: extra columns with the predictions of a "
        "linear fit. auto adds them where the error on validation rows is clearly lower; off "
        "never.", "kernel"},
    [KB_OPT_DIRECTIONS] = {
        "directions", KB_OPTION_INTEGER, "K", "auto", 0, 64, NULL,
        "With --sigma auto and --scale auto or ranks: at most K extra columns along the directions "
        "in which the targets change, found by the gradients of a small fit. They are taken where "
        "the error on validation rows is clearly lower. auto: at most 4; 0 or off: none.", "kernel"},
    [KB_OPT_GRIDS] = {
        "grids", KB_OPTION_INTEGER, "R", "auto", 1, 1000000, NULL,
        "Number of random grids. More are better and cost time and memory in proportion; auto: as "
        "many as still help, 512 to 2048 (" UNTUNED_GRIDS " where nothing is tuned). For the rival maps: "
        "cosines, landmarks, or samples in a block.",
        "kernel"},
    [KB_OPT_SCALE] = {
        "scale", KB_OPTION_CHOICE, "HOW", "auto", 0, 0, CHOICES(KB_SCALES),
        "Scaling of each feature, learned on the training data: minmax to [0, 1], maxabs to "
        "[-1, 1] with 0 kept, standard to mean 0 and variance 1, ranks to "
        "[0, 1] within the range of the training data, with the ranks of columns that have long "
        "tails beside them. auto is ranks where sigma is tuned for --map binning, else minmax.",
        "kernel"},

    [KB_OPT_TUNE] = {
        "tune", KB_OPTION_CHOICE, "WHEN", "on", 0, 0, CHOICES(KB_TUNE_RULES),
        "Whether options left at auto are tuned on validation rows. off: --sigma "
        UNTUNED_SIGMA " --lambda " UNTUNED_LAMBDA " --grids " UNTUNED_GRIDS " --widths "
        UNTUNED_WIDTHS " --loss " UNTUNED_LOSS " --scale " UNTUNED_SCALE ", for options that are "
        "not given.", "solver"},
    [KB_OPT_BUDGET] = {
        "budget", KB_OPTION_TEXT, "TIME", "none", 0, 0, NULL,
        "Time for the whole run, such as 0.5s, 60s, 5m or 1h: reading, tuning, the fit and writing. What "
        "there is no time for is left out or made smaller. The result then depends on the speed of the "
        "machine.", "solver"},
    [KB_OPT_METRIC] = {
        "metric", KB_OPTION_CHOICE, "METRIC", "auto", 0, 0, CHOICES(KB_METRICS),
        "What tuning aims at, and which score is told first. For classes: accuracy; balanced, the mean "
        "over the classes of their accuracies; auc; log-loss; brier; or f1. For regression: rmse, mae, "
        "r2, relative-error, and with --loss quantile or poisson also pinball or poisson-deviance. auto is accuracy "
        "or rmse, or what suits the loss: pinball, mae or poisson-deviance. Balanced and f1 are often better with "
        "--class-weight balanced.", "solver"},
    [KB_OPT_TASK] = {
        "task", KB_OPTION_CHOICE, "TASK", "auto", 0, 0, CHOICES(KB_TASKS),
        "What the labels are; auto tells it from them.", "solver"},
    [KB_OPT_LAMBDA] = {
        "lambda", KB_OPTION_REAL, "X", "auto", 1e-12, 1e12, NULL,
        "Regularisation: the weights w minimise lambda times the penalty + the sum of the losses. "
        "Larger is smoother and quicker to solve. auto: tuned on validation rows (with "
        "--lambda-path " UNTUNED_LAMBDA ", where the path ends).", "solver"},
    [KB_OPT_LOSS] = {
        "loss", KB_OPTION_CHOICE, "LOSS", "auto", 0, 0, CHOICES(KB_LOSSES),
        "Loss of a sample with target y and decision f: square is (f-y)^2/2; for classes, y being "
        "-1 and +1, also logistic log(1+exp(-y f)) and squared-hinge max(1-y f, 0)^2. auto: square, or for "
        "classes another where it is clearly better on validation rows. For regression also quantile, "
        "q (y-f) or (1-q) (f-y), with q of --quantile; absolute, |f-y|; and poisson, exp(f)-y f for counts, "
        "whose prediction is exp(f); they need --penalty l2.", "solver"},
    [KB_OPT_QUANTILE] = {
        "quantile", KB_OPTION_REAL, "Q", "0.5", 0.001, 0.999, NULL,
        "With --loss quantile: the share of the targets that should lie below the prediction.", "solver"},
    [KB_OPT_MULTICLASS] = {
        "multiclass", KB_OPTION_CHOICE, "HOW", "ovr", 0, 0, CHOICES(KB_MULTICLASS_RULES),
        "More than two classes: ovr learns each against the rest, softmax all together (with "
        "--loss logistic).", "solver"},
    [KB_OPT_CLASS_WEIGHT] = {
        "class-weight", KB_OPTION_TEXT, "HOW", "none", 0, 0, NULL,
        "Weights of the classes: none, balanced (each class counts the same in all), or a file "
        "with a label and its weight on each line.", "solver"},
    [KB_OPT_PROBABILITY] = {
        "probability", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, CHOICES(KB_PROBABILITY_RULES),
        "Whether the model gives probabilities. auto: for any loss, calibrated on the rows that "
        "--holdout leaves out; without such rows for --loss logistic alone, which has its own. "
        "on: calibrated on the out-of-fold decisions of five folds; takes five more fits.",
        "solver"},
    [KB_OPT_PENALTY] = {
        "penalty", KB_OPTION_CHOICE, "PENALTY", "l2", 0, 0, CHOICES(KB_PENALTIES),
        "Penalty on the weights: l2 is |w|^2/2, l1 the sum of their sizes, which leaves most of "
        "them at zero; a model keeps only the others.", "solver"},
    [KB_OPT_GROUP_GRIDS] = {
        "group-grids", KB_OPTION_FLAG, NULL, "off", 0, 0, NULL,
        "With --penalty l1: the penalty of a grid is sqrt(its bins) times the length of its "
        "weights, so that whole grids are dropped.", "solver"},
    [KB_OPT_LAMBDA_PATH] = {
        "lambda-path", KB_OPTION_INTEGER, "N", "0", 0, 10000, NULL,
        "With --penalty l1: solve for N values of lambda in equal ratios, from the least at which "
        "all weights are zero down to --lambda, each from the result of the one before.",
        "solver"},
    [KB_OPT_FOLDS] = {
        "folds", KB_OPTION_INTEGER, "K", "auto", 0, 100, NULL,
        "With K of 2 or more, tune by K-fold cross-validation; 0: by one validation split. auto: 5 "
        "for up to 1000 rows, or 3000 of classes, that are not split by group or time, and no more "
        "than 50000 rows times outputs, else 0. Rival maps, and lambda of the penalty l1, are tuned by one split.",
        "solver"},
    [KB_OPT_HOLDOUT] = {
        "holdout", KB_OPTION_TEXT, "SHARE", "auto", 0, 0, NULL,
        "Rows that a fit without them is measured on: for the error to expect on new rows, for "
        "probabilities and for intervals. auto: a fifth of the rows, all of them in five folds "
        "where there are at most 1000, or those that tell sweeps when to stop; costs at most one "
        "more fit, or five small ones. SHARE, between 0 and 0.9: this share, set aside before the "
        "tuning. off: none. The model itself is fitted to all rows.", "solver"},
    [KB_OPT_ENSEMBLE] = {
        "ensemble", KB_OPTION_INTEGER, "K", "1", 1, 64, NULL,
        "Tune and fit K times with different random numbers; the model is the mean of the K, with K "
        "times the grids. It has fewer errors where tuning is a matter of chance, and takes K times "
        "the time. With --map binning and --penalty l2, and without --budget.", "solver"},
    [KB_OPT_SOLVER] = {
        "solver", KB_OPTION_CHOICE, "SOLVER", "auto", 0, 0, 
        CHOICES(KB_SOLVERS),
        "For the square loss cg, conjugate gradients in the kernel inner product, or gmres, "
        "restarted GMRES; newton, Newton steps, for the others. sweeps, over slices of grids in "
        "whole numbers, solves every loss with --map binning, but not softmax; cg or newton go on "
        "from there if --tol asks for more. For --penalty l1 grid-cd, coordinate "
        "descent grid by grid on a working set; cd, on columns drawn at random; parallel-cd, the "
        "same by all threads at once without locks, whose result differs from run to run. "
        "cholesky solves the square loss directly with --map blocks or exact. auto is cg, newton, "
        "grid-cd, or cholesky where it fits in memory; where lambda is tuned, cg or sweeps by "
        "validation rows.", "solver"},
    [KB_OPT_TOL] = {
        "tol", KB_OPTION_REAL, "X", "1e-3", 1e-15, 1, NULL,
        "The solver stops when the gradient has fallen to tol times that of w = 0 for every "
        "output; for the square loss this is |Z'(y - f) - lambda w| <= tol * |Z'y|. With --penalty "
        "l1 it stops when the duality gap is at most tol times the objective.", "solver"},
    [KB_OPT_MAX_ITER] = {
        "max-iter", KB_OPTION_INTEGER, "N", "500", 1, 1e9, NULL,
        "The solver stops after N products with the features at the latest, or after N sweeps and "
        "steps of conjugate gradients together; with --penalty l1, after N passes over the weights "
        "that are being moved.", "solver"},
    [KB_OPT_EARLY_STOP] = {
        "early-stop", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, CHOICES(KB_EARLY_STOP_RULES),
        "Whether the solver of the square loss stops after the number of steps that was best on "
        "validation rows, even if --tol is not reached, and that of another loss at a tolerance of "
        "0.003, unless --tol is below 0.001. Sweeps stop when the error of a tenth of the rows, "
        "held out, does not fall any more, and are repeated over all rows. auto: on where lambda "
        "is tuned.", "solver"},
    [KB_OPT_INTERCEPT] = {
        "intercept", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, CHOICES(KB_INTERCEPT_RULES),
        "Whether a constant is added to the decisions; mean: that of the targets, for the square "
        "loss. auto: mean where lambda is tuned, else on for regression and off for "
        "classification. It is free for the square loss and for --penalty l1, and has a penalty "
        "like any weight for the others. A sample that meets no known bin gets the mean of the "
        "targets anyway.", "solver"},

    [KB_OPT_IMPORTANCE] = {
        "importance", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, CHOICES(KB_IMPORTANCE_RULES),
        "Whether to measure how much each feature matters: by how much the score on validation rows "
        "drops when its values are shuffled. auto: where --tune is on.", "solver"},
    [KB_OPT_DEVICE] = {
        "device", KB_OPTION_CHOICE, "DEVICE", "cpu", 0, 0, CHOICES(KB_DEVICES),
        "Where the model is fitted, and where it predicts: cuda is an NVIDIA GPU, for the bins of dense rows, the "
        "sweeps of the square loss, the products of CG, and predictions for dense rows. Predictions and "
        "sweeps are the same to the bit, models by CG up to the last digits. The rest is done on the CPU.", "device"},
    [KB_OPT_SEED] = {
        "seed", KB_OPTION_INTEGER, "N", "1", 0, 9007199254740992.0, NULL,
        "Seed of the random numbers. The same seed gives the same result, for any number of "
        "threads (but for --solver parallel-cd).", "random"},
    [KB_OPT_MAX_MEMORY] = {
        "max-memory", KB_OPTION_TEXT, "SIZE", "auto", 0, 0, NULL,
        "Refuse work whose forecast exceeds SIZE, such as 500M or 8G; auto is what the machine "
        "has available. Of kerbin-mpi SIZE is for each rank, and auto the rank's share of its machine.", "memory"},

    [KB_OPT_ROWS] = {
        "rows", KB_OPTION_INTEGER, "N", "10000", 1, 1e12, NULL,
        "Number of samples.", "synthetic"},
    [KB_OPT_NOISE] = {
        "noise", KB_OPTION_REAL, "X", "0", 0, 1, NULL,
        "Share of flipped labels (classification), or deviation of the noise in units of the "
        "target's own (regression).", "synthetic"},
};
/* clang-format on */

static const struct {
    kb_option_id id;
    const char *text;
} UNTUNED[] = {{KB_OPT_SIGMA, UNTUNED_SIGMA},
               {KB_OPT_LAMBDA, UNTUNED_LAMBDA},
               {KB_OPT_GRIDS, UNTUNED_GRIDS},
               {KB_OPT_WIDTHS, UNTUNED_WIDTHS},
               {KB_OPT_LOSS, UNTUNED_LOSS},
               {KB_OPT_SCALE, UNTUNED_SCALE},
               {KB_OPT_EARLY_STOP, UNTUNED_EARLY_STOP}};

const kb_option_info *kb_option_table(size_t *count) {
    *count = KB_OPT_COUNT;
    return TABLE;
}

const char *kb_option_untuned(kb_option_id id) {
    for (size_t i = 0; i < sizeof UNTUNED / sizeof *UNTUNED; i++)
        if (UNTUNED[i].id == id)
            return UNTUNED[i].text;
    return NULL;
}

/* ---- words ------------------------------------------------------------- */

#define ITEM(name, word) word,
#define WORDS(list)                                                                                \
    (const char *const[]) {                                                                        \
        list(ITEM) NULL                                                                            \
    }

/* A flag is a choice between off and on. */
static const char *const FLAG[] = {"off", "on", NULL};

/* The words of each choice, in the order of its enum. */
static const char *const *const WORD[KB_OPT_COUNT] = {
    [KB_OPT_FORMAT] = WORDS(KB_FORMATS),
    [KB_OPT_HEADER] = WORDS(KB_HEADERS),
    [KB_OPT_MAP] = WORDS(KB_MAPS),
    [KB_OPT_LANDMARKS] = WORDS(KB_LANDMARK_RULES),
    [KB_OPT_WIDTHS] = WORDS(KB_WIDTHS_RULES),
    [KB_OPT_LINEAR] = WORDS(KB_LINEAR_RULES),
    [KB_OPT_SCALE] = WORDS(KB_SCALES),
    [KB_OPT_TUNE] = WORDS(KB_TUNE_RULES),
    [KB_OPT_METRIC] = WORDS(KB_METRICS),
    [KB_OPT_TASK] = WORDS(KB_TASKS),
    [KB_OPT_LOSS] = WORDS(KB_LOSSES),
    [KB_OPT_MULTICLASS] = WORDS(KB_MULTICLASS_RULES),
    [KB_OPT_PROBABILITY] = WORDS(KB_PROBABILITY_RULES),
    [KB_OPT_PENALTY] = WORDS(KB_PENALTIES),
    [KB_OPT_SOLVER] = WORDS(KB_SOLVERS),
    [KB_OPT_EARLY_STOP] = WORDS(KB_EARLY_STOP_RULES),
    [KB_OPT_INTERCEPT] = WORDS(KB_INTERCEPT_RULES),
    [KB_OPT_IMPORTANCE] = WORDS(KB_IMPORTANCE_RULES),
    [KB_OPT_DEVICE] = WORDS(KB_DEVICES),
};

static const char *const *words_of(kb_option_id id) {
    return TABLE[id].type == KB_OPTION_FLAG ? FLAG : WORD[id];
}

int kb_choice_find(kb_option_id id, const char *word, int *value) {
    const char *const *words = words_of(id);
    for (*value = 0; words[*value]; ++*value)
        if (strcmp(words[*value], word) == 0)
            return 1;
    return 0;
}

const char *kb_choice_word(kb_option_id id, int value) {
    return words_of(id)[value];
}

int kb_split_find(const char *word, kb_split_kind *out) {
    static const struct {
        kb_split_kind kind;
        const char *word;
    } all[] = {
#define PAIR(name, text) {name, text},
        KB_SPLITS(PAIR)
#undef PAIR
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].word, word) == 0) {
            *out = all[i].kind;
            return 1;
        }
    return 0;
}
