/*
 * options.c - the options table, and sets of options checked against it.
 *
 * The command line, its help, the man page, the option reference and other languages'
 * keywords are made from the table: a name, a default or a bound is written here and
 * nowhere else.  The group says which commands take an option.
 */
#include "options/options.h"
#include "core/memory.h"
#include "core/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const kb_option_info table[KB_OPT_COUNT] = {
    [KB_OPT_FORMAT] = {
        "format", KB_OPTION_CHOICE, "FORMAT", "auto", 0, 0, "auto|libsvm|csv",
        "Format of the data; auto tells it from the file's name and first lines.", "data"},
    [KB_OPT_ZERO_BASED] = {
        "zero-based", KB_OPTION_FLAG, NULL, "off", 0, 0, NULL,
        "The first feature of LIBSVM data has the index 0, not 1.", "data"},
    [KB_OPT_HEADER] = {
        "header", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, "auto|on|off",
        "Whether the first line of a CSV file holds the names of the columns; auto: "
        "if one of its fields is not a number.", "data"},
    [KB_OPT_LABEL] = {
        "label", KB_OPTION_TEXT, "COLUMN", "-1", 0, 0, NULL,
        "Label column of a CSV file: its name, its number (1 is the first, -1 the last), "
        "or none.", "data"},
    [KB_OPT_WEIGHTS] = {
        "weights", KB_OPTION_TEXT, "FILE", "none", 0, 0, NULL,
        "Weights of the samples, for the fit and the scores: a file of one number a line, or "
        "column:NAME of a CSV file.", "data"},
    [KB_OPT_SPLIT] = {
        "split", KB_OPTION_TEXT, "HOW", "auto", 0, 0, NULL,
        "How rows are held out to choose by: random; stratified, the same share of each class; "
        "group:COLUMN, rows with the same text in a column of a CSV file stay together (group:qid "
        "for LIBSVM text); time, the last rows. auto is stratified for classes, else random.",
        "data"},

    [KB_OPT_MAP] = {
        "map", KB_OPTION_CHOICE, "MAP", "binning", 0, 0,
        "binning|fourier|nystrom|blocks|exact",
        "Feature map: binning marks the bin of every random grid that a sample falls into. Its "
        "rivals, for comparison: fourier, cosines at random frequencies; nystrom, the kernel to "
        "some landmarks; blocks, the kernel within blocks of samples; exact, the kernel itself.",
        "kernel"},
    [KB_OPT_LANDMARKS] = {
        "landmarks", KB_OPTION_CHOICE, "HOW", "uniform", 0, 0, "uniform|kmeans++",
        "With --map nystrom: landmarks drawn from all samples alike, or far from each other as "
        "k-means++ begins.", "kernel"},
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
        "the lines in turn), default: a rule from the spread of the data, or auto: what is best "
        "on rows that are held out.", "kernel"},
    [KB_OPT_WIDTHS] = {
        "widths", KB_OPTION_CHOICE, "HOW", "auto", 0, 0, "auto|equal|learned",
        "With --sigma auto: equal is one sigma for all features; learned gives each feature its "
        "own, found by steps along the gradient of the error on held-out rows (--kernel laplace); "
        "auto takes what is clearly better.", "kernel"},
    [KB_OPT_LINEAR] = {
        "linear", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, "auto|off",
        "With --sigma auto and --scale auto or ranks: columns more, which say what a linear fit to "
        "the targets says. auto takes them where rows that are held out speak for them clearly; "
        "off never.", "kernel"},
    [KB_OPT_GRIDS] = {
        "grids", KB_OPTION_INTEGER, "R", "auto", 1, 1000000, NULL,
        "Number of random grids. More are better and cost time and memory in proportion; auto: as "
        "many as still help, 512 to 1024 (256 where nothing is tuned). For the rival maps: "
        "cosines, landmarks, or samples in a block.",
        "kernel"},
    [KB_OPT_SCALE] = {
        "scale", KB_OPTION_CHOICE, "HOW", "auto", 0, 0, "auto|minmax|maxabs|standard|none|ranks",
        "Scaling of each feature, learnt on the training data: minmax to [0, 1], maxabs to "
        "[-1, 1] with 0 kept, standard to mean 0 and variance 1, ranks to "
        "[0, 1] within the range of the training data, with the ranks of columns that have long "
        "tails beside them. auto is ranks where sigma is tuned for --map binning, else minmax.",
        "kernel"},

    [KB_OPT_TUNE] = {
        "tune", KB_OPTION_CHOICE, "WHEN", "on", 0, 0, "on|off",
        "Whether what is left at auto is chosen by trials on rows that are held out. off: --sigma "
        "default --lambda 0.1 --grids 256 --widths equal --loss square --scale minmax, for what is "
        "not given.", "solver"},
    [KB_OPT_BUDGET] = {
        "budget", KB_OPTION_TEXT, "TIME", "none", 0, 0, NULL,
        "Time for the trials, such as 60s, 5m or 1h: when it is spent, the best so far is taken. "
        "The result then depends on how fast the machine is.", "solver"},
    [KB_OPT_TASK] = {
        "task", KB_OPTION_CHOICE, "TASK", "auto", 0, 0, "auto|regression|classification",
        "What the labels are; auto tells it from them.", "solver"},
    [KB_OPT_LAMBDA] = {
        "lambda", KB_OPTION_REAL, "X", "auto", 1e-12, 1e12, NULL,
        "Regularisation: the weights w minimise lambda times the penalty + the sum of the losses. "
        "Larger is smoother and quicker to solve. auto: what is best on rows that are held out "
        "(with --lambda-path 0.1, where the path ends).", "solver"},
    [KB_OPT_LOSS] = {
        "loss", KB_OPTION_CHOICE, "LOSS", "auto", 0, 0, "auto|square|logistic|squared-hinge",
        "Loss of a sample with target y and decision f: square is (f-y)^2/2; for classes, y being "
        "-1 and +1, also logistic log(1+exp(-y f)) and squared-hinge max(1-y f, 0)^2. auto: square, or for "
        "classes logistic where it is clearly better on held-out rows.", "solver"},
    [KB_OPT_MULTICLASS] = {
        "multiclass", KB_OPTION_CHOICE, "HOW", "ovr", 0, 0, "ovr|softmax",
        "More than two classes: ovr learns each against the rest, softmax all together (with "
        "--loss logistic).", "solver"},
    [KB_OPT_CLASS_WEIGHT] = {
        "class-weight", KB_OPTION_TEXT, "HOW", "none", 0, 0, NULL,
        "Weights of the classes: none, balanced (each class counts the same in all), or a file "
        "with a label and its weight on each line.", "solver"},
    [KB_OPT_PROBABILITY] = {
        "probability", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, "auto|on|off",
        "Whether the model gives probabilities. auto: those that --loss logistic has of itself. "
        "on: fitted to the decisions of five held-out folds, for any loss; takes five more fits.",
        "solver"},
    [KB_OPT_PENALTY] = {
        "penalty", KB_OPTION_CHOICE, "PENALTY", "l2", 0, 0, "l2|l1",
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
        "With K of 2 or more, choose by K-fold cross-validation; 0: by one validation split. auto: "
        "5 for up to 1000 rows that are not split by group or time, and no more than 50000 rows "
        "times outputs, else 0. Rival maps, and lambda of the penalty l1, are chosen by one split.",
        "solver"},
    [KB_OPT_SOLVER] = {
        "solver", KB_OPTION_CHOICE, "SOLVER", "auto", 0, 0, 
        "auto|cg|gmres|newton|grid-cd|cd|parallel-cd|cholesky",
        "For the square loss cg, conjugate gradients in the kernel inner product, or gmres, "
        "restarted GMRES; newton, Newton steps, for the others. For --penalty l1 grid-cd, coordinate "
        "descent grid by grid on a working set; cd, on columns drawn at random; parallel-cd, the "
        "same by all threads at once without locks, whose result differs from run to run. "
        "cholesky solves the square loss directly with --map blocks or exact. auto is cg, newton, "
        "grid-cd, or cholesky where it fits in memory.", "solver"},
    [KB_OPT_TOL] = {
        "tol", KB_OPTION_REAL, "X", "1e-3", 1e-15, 1, NULL,
        "The solver stops when the gradient has fallen to tol times that of w = 0 for every "
        "output; for the square loss this is |Z'(y - f) - lambda w| <= tol * |Z'y|. With --penalty "
        "l1 it stops when the duality gap is at most tol times the objective.", "solver"},
    [KB_OPT_MAX_ITER] = {
        "max-iter", KB_OPTION_INTEGER, "N", "500", 1, 1e9, NULL,
        "The solver stops after N products with the features at the latest; with --penalty l1, "
        "after N passes over the weights that are being moved.", "solver"},
    [KB_OPT_EARLY_STOP] = {
        "early-stop", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, "auto|on|off",
        "Whether the solver of the square loss stops after as many steps as were best on held-out "
        "rows, even if --tol is not reached, and that of another loss at a tolerance of 0.003, "
        "unless --tol is below 0.001; auto: on where lambda is tuned.", "solver"},
    [KB_OPT_INTERCEPT] = {
        "intercept", KB_OPTION_CHOICE, "WHEN", "auto", 0, 0, "auto|on|off|mean",
        "Whether a constant is added to the decisions; mean: that of the targets, for the square "
        "loss. auto: mean where lambda is tuned, else on for regression and off for "
        "classification. It is free for the square loss and for --penalty l1, and has a penalty "
        "like any weight for the others. A sample that meets no known bin gets the mean of the targets anyway.",
        "solver"},

    [KB_OPT_SEED] = {
        "seed", KB_OPTION_INTEGER, "N", "1", 0, 9007199254740992.0, NULL,
        "Seed of the random numbers. The same seed gives the same result, for any number of "
        "threads (but for --solver parallel-cd).", "random"},
    [KB_OPT_MAX_MEMORY] = {
        "max-memory", KB_OPTION_TEXT, "SIZE", "auto", 0, 0, NULL,
        "Refuse work whose forecast exceeds SIZE, such as 500M or 8G; auto is what the machine "
        "has available.", "memory"},

    [KB_OPT_ROWS] = {
        "rows", KB_OPTION_INTEGER, "N", "10000", 1, 1e12, NULL,
        "Number of samples.", "synthetic"},
    [KB_OPT_NOISE] = {
        "noise", KB_OPTION_REAL, "X", "0", 0, 1, NULL,
        "Share of flipped labels (classification), or deviation of the noise in units of the "
        "target's own (regression).", "synthetic"},
};
/* clang-format on */

/* What was set, and what it means: a number, a choice's place, a flag or bytes. */
typedef struct value {
    char *text;
    double real;
    int64_t integer;
} value;

struct kb_options {
    kb_allocator allocator;
    value values[KB_OPT_COUNT];
};

const kb_option_info *kb_option_table(size_t *count) {
    *count = KB_OPT_COUNT;
    return table;
}

static int find(const char *name) {
    for (int id = 0; id < KB_OPT_COUNT; id++)
        if (strcmp(table[id].name, name) == 0)
            return id;
    return -1;
}

/* What follows "group:"; NULL if that is not how the text begins. */
static const char *group_column(const char *text) {
    static const char prefix[] = "group:";
    size_t length = sizeof prefix - 1;
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* ---- reading values ------------------------------------------------------ */

static int is_real(const char *text, double *out) {
    const char *end = kb_number_parse(text, out);
    return end && !*end;
}

static int is_integer(const char *text, int64_t *out) {
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || digits[strspn(digits, "0123456789")])
        return 0;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

static int is_choice(const char *text, const char *choices, int64_t *out) {
    size_t length = strlen(text);
    *out = 0;
    for (const char *at = choices;; at++, ++*out) {
        size_t one = strcspn(at, "|");
        if (one == length && memcmp(at, text, length) == 0)
            return 1;
        at += one;
        if (!*at)
            return 0;
    }
}

/* "500M", "1.5g", "4096": bytes with a binary unit. */
static int is_size(const char *text, double *out) {
    static const char units[] = "KMGTkmgt";
    if (strcmp(text, "auto") == 0)
        return 1;
    const char *end = kb_number_parse(text, out);
    if (!end || !(*out > 0))
        return 0;
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        *out = ldexp(*out, 10 * (int)((unit - units) % 4 + 1));
        end++;
    }
    return !*end && *out < 0x1p63;
}

static int is_sigma(const char *text) {
    double width;
    if (strcmp(text, "default") == 0 || strcmp(text, "auto") == 0)
        return 1;
    if (*text == '@')
        return text[1] != '\0';
    for (const char *at = text;; at++) {
        at = kb_number_parse(at, &width);
        if (!at || !(width > 0))
            return 0;
        if (*at != ',')
            return !*at;
    }
}

static int is_kernel(const char *text) {
    double power;
    if (strcmp(text, "laplace") == 0 || strcmp(text, "triangle") == 0 ||
        strcmp(text, "exponential") == 0 || strcmp(text, "gauss") == 0)
        return 1;
    if (strncmp(text, "power:", 6) == 0)
        return is_real(text + 6, &power) && power > 0;
    return strncmp(text, "table:", 6) == 0 && text[6];
}

/* "60s", "5m", "1.5h", "90": seconds with a unit. */
static int is_time(const char *text, double *out) {
    static const struct {
        char name;
        double seconds;
    } unit[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    *out = INFINITY;
    if (strcmp(text, "none") == 0)
        return 1;
    const char *end = kb_number_parse(text, out);
    if (!end || !(*out > 0))
        return 0;
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++)
        if (*end == unit[i].name && !end[1]) {
            *out *= unit[i].seconds;
            return 1;
        }
    return !*end;
}

static int is_split(const char *text) {
    int64_t place;
    const char *column = group_column(text);
    return column ? *column != '\0' : is_choice(text, "auto|random|stratified|time", &place);
}

/* ---- checking ------------------------------------------------------------ */

static kb_status refuse(kb_context *ctx, const kb_option_info *row, const char *text,
                        const char *must_be) {
    return kb_fail(ctx, KB_ERR_ARGUMENT, "--%s %s: must be %s", row->name, *text ? text : "''",
                   must_be);
}

/* A number that may be left to the library has the default auto. */
static int may_be_auto(const kb_option_info *row) {
    return strcmp(row->default_value, "auto") == 0;
}

static kb_status check_number(kb_context *ctx, const kb_option_info *row, value *v) {
    char must_be[96];
    const char *or_auto = may_be_auto(row) ? ", or auto" : "";
    if (may_be_auto(row) && strcmp(v->text, "auto") == 0)
        return KB_OK;
    int whole = row->type == KB_OPTION_INTEGER;
    int good = whole ? is_integer(v->text, &v->integer) : is_real(v->text, &v->real);
    if (good && whole)
        v->real = (double)v->integer;
    if (row == &table[KB_OPT_FOLDS] && good && v->integer == 1)
        return refuse(ctx, row, v->text, "0, for one validation split, 2 or more, or auto");
    if (good && v->real >= row->min && v->real <= row->max)
        return KB_OK;
    if (whole)
        snprintf(must_be, sizeof must_be, "a whole number from %.0f to %.0f%s", row->min, row->max,
                 or_auto);
    else
        snprintf(must_be, sizeof must_be, "a number from %g to %g%s", row->min, row->max, or_auto);
    return refuse(ctx, row, v->text, must_be);
}

static kb_status check_choice(kb_context *ctx, const kb_option_info *row, value *v) {
    const char *choices = row->type == KB_OPTION_FLAG ? "off|on" : row->choices;
    if (is_choice(v->text, choices, &v->integer))
        return KB_OK;
    char must_be[256] = "one of ";
    size_t used = strlen(must_be);
    for (; *choices && used + 3 < sizeof must_be; choices++) {
        must_be[used++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            must_be[used++] = ' ';
    }
    must_be[used] = '\0';
    return refuse(ctx, row, v->text, must_be);
}

/* The form only: what a file holds, or whether a list fits the data, is seen later. */
static kb_status check_text(kb_context *ctx, int id, value *v) {
    const kb_option_info *row = &table[id];
    switch (id) {
    case KB_OPT_SIGMA:
        return is_sigma(v->text)
                   ? KB_OK
                   : refuse(ctx, row, v->text,
                            "a number above 0, a list of them (X1,X2,..), @FILE, default or auto");
    case KB_OPT_KERNEL:
        return is_kernel(v->text)
                   ? KB_OK
                   : refuse(ctx, row, v->text,
                            "laplace, triangle, power:A with A > 0, table:FILE, exponential or "
                            "gauss");
    case KB_OPT_SPLIT:
        return is_split(v->text)
                   ? KB_OK
                   : refuse(ctx, row, v->text, "auto, random, stratified, group:COLUMN or time");
    case KB_OPT_BUDGET:
        return is_time(v->text, &v->real)
                   ? KB_OK
                   : refuse(ctx, row, v->text, "a time like 60s, 5m or 1h, or none");
    case KB_OPT_MAX_MEMORY:
        return is_size(v->text, &v->real)
                   ? KB_OK
                   : refuse(ctx, row, v->text, "a size like 500M or 8G, or auto");
    default:
        return *v->text ? KB_OK : refuse(ctx, row, v->text, "some text");
    }
}

static kb_status check(kb_context *ctx, int id, value *v) {
    switch (table[id].type) {
    case KB_OPTION_INTEGER:
    case KB_OPTION_REAL:
        return check_number(ctx, &table[id], v);
    case KB_OPTION_CHOICE:
    case KB_OPTION_FLAG:
        return check_choice(ctx, &table[id], v);
    default:
        return check_text(ctx, id, v);
    }
}

/* ---- a set of options ---------------------------------------------------- */

static kb_status set(kb_context *ctx, kb_options *options, int id, const char *text) {
    kb_status status;
    value v = {0};
    TRY(kb_strdup(ctx, text, &v.text));
    TRY(check(ctx, id, &v));
    kb_allocator_release(options->allocator, options->values[id].text);
    options->values[id] = v;
    v.text = NULL;
done:
    kb_release(ctx, v.text);
    return status;
}

kb_status kb_options_create(kb_context *ctx, kb_options **out) {
    kb_status status;
    kb_options *options;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *options, &options));
    options->allocator = kb_allocator_of(ctx);
    for (int id = 0; id < KB_OPT_COUNT; id++)
        TRY(set(ctx, options, id, table[id].default_value));
    *out = options;
    options = NULL;
done:
    kb_options_free(options);
    return status;
}

void kb_options_free(kb_options *options) {
    if (!options)
        return;
    for (int id = 0; id < KB_OPT_COUNT; id++)
        kb_allocator_release(options->allocator, options->values[id].text);
    kb_allocator_release(options->allocator, options);
}

kb_status kb_options_set(kb_context *ctx, kb_options *options, const char *name, const char *text) {
    int id = find(name);
    if (id < 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "unknown option '%s'", name);
    return set(ctx, options, id, text);
}

const char *kb_options_get(const kb_options *options, const char *name) {
    int id = find(name);
    return id < 0 ? NULL : options->values[id].text;
}

int64_t kb_options_integer(const kb_options *options, kb_option_id id) {
    return options->values[id].integer;
}

double kb_options_real(const kb_options *options, kb_option_id id) {
    return options->values[id].real;
}

int kb_options_choice(const kb_options *options, kb_option_id id) {
    return (int)options->values[id].integer;
}

int kb_options_flag(const kb_options *options, kb_option_id id) {
    return (int)options->values[id].integer;
}

int kb_options_is_auto(const kb_options *options, kb_option_id id) {
    return strcmp(options->values[id].text, "auto") == 0;
}

double kb_options_seconds(const kb_options *options, kb_option_id id) {
    return options->values[id].real;
}

kb_status kb_options_copy(kb_context *ctx, const kb_options *options, kb_options **out) {
    kb_status status = kb_options_create(ctx, out);
    for (int id = 0; id < KB_OPT_COUNT && status == KB_OK; id++)
        status = set(ctx, *out, id, options->values[id].text);
    if (status != KB_OK) {
        kb_options_free(*out);
        *out = NULL;
    }
    return status;
}

const char *kb_options_text(const kb_options *options, kb_option_id id) {
    return options->values[id].text;
}

const char *kb_options_group(const kb_options *options) {
    return group_column(options->values[KB_OPT_SPLIT].text);
}

size_t kb_options_bytes(const kb_options *options, kb_option_id id) {
    double bytes = options->values[id].real;
    return bytes > 0 ? (size_t)bytes : kb_memory_available();
}
