/*
 * kerbin.h - kernel machines at the cost of linear ones, by random binning.
 *
 * The whole public C interface.  A program makes a context, reads data, sets
 * options by name, fits a model, and predicts:
 *
 *     kb_context *ctx;  kb_options *options;  kb_data *data;  kb_model *model;
 *     kb_context_create(NULL, &ctx);
 *     kb_options_create(ctx, &options);
 *     kb_options_set(ctx, options, "sigma", "0.75");
 *     kb_data_read(ctx, options, "train.libsvm", NULL, &data);
 *     kb_model_fit(ctx, options, data, &model);
 *     kb_model_write(ctx, model, "train.kerbin");
 *
 * Conventions.  What can fail returns a kb_status and puts its result last,
 * NULL on failure; kb_context_message() then holds one sentence for people.
 * Whoever gets a handle frees it with its kb_..._free, which takes NULL too.
 * A struct that the caller makes begins with its own size, so that a library that
 * knows more members than the program was built with leaves those alone: set it by
 * the initializer (kb_arrays a = KB_ARRAYS_INIT;) or to sizeof the struct.  A size
 * of 0, or beyond what the library knows, is KB_ERR_ARGUMENT.
 * The library prints nothing, never exits, keeps no globals and catches no
 * signals.  A context serves one thread at a time (it uses several inside);
 * a finished model or data set may be shared by any number of them.
 */
#ifndef KERBIN_H
#define KERBIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header: here alone, from where CMake and Python read it too. */
#define KB_VERSION_MAJOR 0
#define KB_VERSION_MINOR 2
#define KB_VERSION_PATCH 0
#define KB_TEXT_OF_(x)   #x
#define KB_TEXT_OF(x)    KB_TEXT_OF_(x)
#define KB_VERSION                                                                                 \
    KB_TEXT_OF(KB_VERSION_MAJOR)                                                                   \
    "." KB_TEXT_OF(KB_VERSION_MINOR) "." KB_TEXT_OF(KB_VERSION_PATCH)

#if defined(__GNUC__)
#define KB_API __attribute__((visibility("default")))
#else
#define KB_API
#endif

/* ---- status ------------------------------------------------------------ */

/* The numbers are fixed for good. */
typedef enum kb_status {
    KB_OK = 0,
    KB_ERR_ARGUMENT = 1,  /* an option or an argument is wrong */
    KB_ERR_MEMORY = 2,    /* out of memory, or the forecast exceeds the limit */
    KB_ERR_IO = 3,        /* a file cannot be opened, read or written */
    KB_ERR_DATA = 4,      /* data are malformed or do not fit the task */
    KB_ERR_MODEL = 5,     /* a model file is damaged, not a kerbin model, or from a newer kerbin */
    KB_ERR_CANCELLED = 6, /* the progress callback asked to stop */
} kb_status;

/* "KB_ERR_DATA" for KB_ERR_DATA, and so on; "unknown status" for any other number.  Never freed. */
KB_API const char *kb_status_name(kb_status status);

/* The version of the library in use, such as "0.2.0", which may differ from KB_VERSION. */
KB_API const char *kb_version(void);

/* ---- context ----------------------------------------------------------- */

typedef struct kb_context kb_context;

typedef enum kb_log_level { KB_LOG_INFO = 0, KB_LOG_WARNING = 1 } kb_log_level;

/* How messages write an option: as the caller's users do. */
typedef enum kb_option_style {
    KB_STYLE_NAME = 0,    /* max-memory, widths=learned */
    KB_STYLE_FLAG = 1,    /* --max-memory, --widths learned: for command lines */
    KB_STYLE_KEYWORD = 2, /* max_memory, widths='learned': for Python */
} kb_option_style;

/* Processes that work as one, such as those of MPI: each has a context and some of the rows of the
 * data, and all make the same calls with the same options in the same order.  kerbin opens no
 * connections; what the processes exchange goes through these functions.  They are called by the
 * caller's thread, in the same order on all ranks, and return 0, or another number if they failed.
 */
typedef struct kb_ranks {
    size_t size;     /* sizeof(kb_ranks) */
    int rank, ranks; /* this process, from 0, and how many there are */
    void *user;      /* handed to the functions */
    /* Every number becomes its sum over the ranks (modulo 2^64), on all ranks. */
    int (*sum)(void *user, int64_t *numbers, size_t count);
    /* `all` becomes the bytes of all ranks, one after the other, on all ranks.  Rank k has
     * bytes_of[k]. */
    int (*gather)(void *user, const void *mine, void *all, const size_t *bytes_of);
    /* Rank k gets to_bytes[k] bytes, and gives from_bytes[k]; in `to` and `from` the bytes of the
     * ranks stand one after the other. */
    int (*exchange)(void *user, const void *to, const size_t *to_bytes, void *from,
                    const size_t *from_bytes);
    /* Every rank writes its bytes to a file that is there, from byte `at` on; 0 once they are on
     * disk, else 1 and, if known, errno.  NULL: kerbin opens the file on each rank. */
    int (*write)(void *user, const char *path, const void *bytes, size_t count, size_t at);
    /* Ranks on this machine, which share what memory is available (max-memory auto); 0: 1. */
    int nearby;
} kb_ranks;
#define KB_RANKS_INIT                                                                              \
    { sizeof(kb_ranks), 0, 1, 0, 0, 0, 0, 0, 1 }

/* Any member but the size may be zero, which selects the stated default. */
typedef struct kb_context_config {
    size_t size; /* sizeof(kb_context_config) */
    /* Handed to every callback. */
    void *user;
    /* realloc's contract, and frees when bytes is 0.  May be called from one
     * thread at a time only.  Default: realloc and free. */
    void *(*reallocate)(void *user, void *block, size_t bytes);
    /* One line without a newline.  Default: dropped. */
    void (*log)(void *user, kb_log_level level, const char *line);
    /* `done` runs from 0 to 1 within a phase ("generate", "read", "tune", "shuffle", "bin",
     * "solve", "write", "predict", "explain"), or is negative where the end is not known.  A result
     * other than 0 stops the work with KB_ERR_CANCELLED.  Default: none. */
    int (*progress)(void *user, const char *phase, double done);
    /* Threads for the work inside a call; 0: as many as the machine offers.
     * No result depends on it. */
    int threads;
    kb_option_style option_style;
    /* The processes that share the work; copied.  NULL: this one alone. */
    const kb_ranks *ranks;
} kb_context_config;
#define KB_CONTEXT_CONFIG_INIT                                                                     \
    { sizeof(kb_context_config), 0, 0, 0, 0, 0, KB_STYLE_NAME, 0 }

/* `config` may be NULL. */
KB_API kb_status kb_context_create(const kb_context_config *config, kb_context **out);
KB_API void kb_context_free(kb_context *ctx);

/* What went wrong in the last call that failed; "" before any.  Valid until the
 * next call with this context. */
KB_API const char *kb_context_message(const kb_context *ctx);
/* The option budget of the next kb_model_fit or kb_path_fit counts from this call on instead of
 * from the fit, so that reading the data counts too. */
KB_API void kb_context_start_clock(kb_context *ctx);
/* A fit by sweeps, CG or Newton's method keeps its state in this file, once the seconds have passed
 * since the last time, at the end of a sweep or step, whole or not at all.  A fit of the same data
 * with the same options that finds the file goes on from there, to the same bits; with ranks their
 * number may be another one. The file stays.  KB_ERR_DATA where it is there and is something else.
 * NULL: none. */
KB_API kb_status kb_context_set_checkpoint(kb_context *ctx, const char *path, double seconds);
/* Where predictions are made from now on: "cpu", or "cuda" for an NVIDIA GPU, which gives the same
 * bits; rows that it cannot take are predicted on the CPU, and a warning says why.  A fit with the
 * option device at cuda has the same effect.  KB_ERR_ARGUMENT where there is no GPU. */
KB_API kb_status kb_context_set_device(kb_context *ctx, const char *device);
/* Bytes that this rank has given to others so far; those of a sweep or a step, the mean of the last
 * run of sweeps or CG for the square loss; and what docs/scaling.md foresees for it. */
KB_API void kb_context_sent(const kb_context *ctx, double *all, double *pass, double *foreseen);
/* The threads that it works with: those of the config, or what the machine offers. */
KB_API int kb_context_threads(const kb_context *ctx);

/* Writes a file whole or not at all: to a temporary file beside it, which takes the name `path`
 * once all bytes are on disk.  "-" is standard output; it, pipes and devices are written directly.
 * A symbolic link stays, and the file behind it is written.  KB_ERR_IO on failure; a file that was
 * there before then stays as it was. */
KB_API kb_status kb_file_write(kb_context *ctx, const char *path, const void *bytes, size_t count);
/* Whether a file could be written there, as far as can be told before: for long work. */
KB_API kb_status kb_file_check(kb_context *ctx, const char *path);

/* ---- options ----------------------------------------------------------- */

typedef struct kb_options kb_options;

typedef enum kb_option_type {
    KB_OPTION_INTEGER = 0,
    KB_OPTION_REAL = 1,
    KB_OPTION_CHOICE = 2, /* one of `choices` */
    KB_OPTION_TEXT = 3,   /* free form, explained by `help` */
    KB_OPTION_FLAG = 4,   /* on or off */
} kb_option_type;

/* One row of the options table: the only place where a name, a default, a bound
 * or a help text is written down. */
typedef struct kb_option_info {
    const char *name;
    kb_option_type type;
    const char *metavar;       /* "X", "R", .. for help texts */
    const char *default_value; /* as kb_options_set takes it */
    double min, max;           /* INTEGER and REAL: inclusive; `auto` is a value as well where it
                                  is the default */
    const char *choices;       /* CHOICE: "a|b|c", else NULL */
    const char *help;          /* one or two plain sentences */
    const char *group;         /* "data", "predict", "kernel", "solver", "random", "memory",
                                  "synthetic" */
} kb_option_info;

/* The whole table. */
KB_API const kb_option_info *kb_option_table(size_t *count);

/* A set of options at their defaults. */
KB_API kb_status kb_options_create(kb_context *ctx, kb_options **out);
KB_API void kb_options_free(kb_options *options);
/* Checks the value's form and bounds; the options stay as they were on failure. */
KB_API kb_status kb_options_set(kb_context *ctx, kb_options *options, const char *name,
                                const char *value);
/* The value as text, owned by `options` until it is set again; NULL for an
 * unknown name. */
KB_API const char *kb_options_get(const kb_options *options, const char *name);

/* The file that the value of an option names, as that of sigma=@FILE; NULL where it names none.
 * Owned by `options`, as the value is. */
KB_API const char *kb_options_file(const kb_options *options, const char *name);

/* ---- data -------------------------------------------------------------- */

typedef struct kb_data kb_data;
typedef struct kb_model kb_model;

/* What a column of a table holds. */
typedef enum kb_column_type {
    KB_COLUMN_AUTO = 0, /* to be found from the cells */
    KB_COLUMN_NUMBER = 1,
    KB_COLUMN_BOOLEAN = 2,  /* two levels; a missing cell may be one of them */
    KB_COLUMN_DATE = 3,     /* days since 2000-01-01, with the time of day as a fraction */
    KB_COLUMN_CATEGORY = 4, /* levels */
    /* Columns that are no features. */
    KB_COLUMN_ID = 5,       /* nearly every row has a level of its own */
    KB_COLUMN_CONSTANT = 6, /* all rows have the same value, or none has any */
    KB_COLUMN_IGNORED = 7,  /* by the options */
} kb_column_type;

/* "number", "category", ..; "?" for any other number.  Never freed. */
KB_API const char *kb_column_type_name(kb_column_type type);

/* A column of data or of a model.  Its texts belong to those. */
typedef struct kb_column_info {
    size_t size;      /* sizeof(kb_column_info), set by the caller: no more bytes are written */
    const char *name; /* NULL where there are no names */
    kb_column_type type;
    size_t missing; /* rows without a value; of a model, training rows */
    size_t levels;
    const char *const *level; /* the names of the levels; NULL where there are none */
    size_t place; /* among the columns of the source that are no label, weight or group, from 0 */
} kb_column_info;
#define KB_COLUMN_INFO_INIT                                                                        \
    { sizeof(kb_column_info), 0, KB_COLUMN_AUTO, 0, 0, 0, 0 }

/* Reads LIBSVM text or CSV, plain or compressed (.gz .bz2 .xz .zst), from a file
 * or, for "-", from standard input.  With `like`, the columns are those of that
 * model: a CSV is matched to it by name where both have names.  A feature that the
 * model does not know is left out with a warning, one that it misses in a CSV is an
 * error, and labels may be missing.
 * A path that names no file and has * or ? in its last part means all files of that folder whose
 * names match, in the order of their bytes; they are read as one file.  If the first of them has a
 * header, each must have the same. */
KB_API kb_status kb_data_read(kb_context *ctx, const kb_options *options, const char *path,
                              const kb_model *like, kb_data **out);
/* Calls `each` with every file that kb_data_read would open for `path`, which is one unless it is a
 * pattern; a status other than KB_OK ends it. */
KB_API kb_status kb_data_files(kb_context *ctx, const char *path,
                               kb_status (*each)(void *user, const char *file), void *user);

typedef enum kb_value_type { KB_VALUE_DOUBLE = 0, KB_VALUE_FLOAT = 1 } kb_value_type;

/* Samples in the caller's memory: a dense array, or compressed rows.  Zero what is not there. */
typedef struct kb_arrays {
    size_t size; /* sizeof(kb_arrays) */
    size_t rows, features;
    kb_value_type type; /* of `values` */
    const void *values; /* the first cell, or the entries of compressed rows; NaN: missing */
    /* Dense: bytes from a cell to the one below and to the one on its right.  Both 0: rows x
     * features numbers row after row. */
    ptrdiff_t row_step, column_step;
    /* Compressed rows; NULL for dense.  Row i holds the entries row_start[i] up to row_start[i+1],
     * their columns (from 0) strictly increasing.  An index is unsigned, or signed and not
     * negative, of 4 or 8 bytes. */
    const void *row_start, *columns;
    size_t row_start_bytes, column_bytes;
    const double *labels;  /* rows; may be NULL */
    const double *weights; /* rows, finite and not negative; NULL: all 1 */
    /* features names in UTF-8, or NULL; words behind the labels 0, 1, .. in the order of strcmp,
     * or NULL where labels are numbers. */
    const char *const *feature_names, *const *class_names;
    size_t classes; /* of class_names */
    /* Not 0: the data may go on using `values` where they lie, and they must neither go nor change
     * before kb_data_free.  Doubles row after row are then not copied, nor doubles of compressed
     * rows. */
    int borrow;
    /* Compressed rows.  Not 0: `values` and `columns` hold `entries` numbers each, and a row_start
     * beyond them is KB_ERR_ARGUMENT. */
    int counted;
    size_t entries;
} kb_arrays;
#define KB_ARRAYS_INIT                                                                             \
    { sizeof(kb_arrays), 0, 0, KB_VALUE_DOUBLE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Data from memory, copied unless `borrow` says otherwise.  The same data as kb_data_read would
 * make of a file that holds these numbers: they become compressed rows where few of them are not 0,
 * and dense where many are stored. */
KB_API kb_status kb_data_from_arrays(kb_context *ctx, const kb_arrays *arrays, kb_data **out);

/* The structures of the Arrow C data interface, as its specification has them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

/* A data frame in the caller's memory: record batches with the same columns, one after the
 * other.  Zero what is not there. */
typedef struct kb_arrow {
    size_t size;                           /* sizeof(kb_arrow) */
    const struct ArrowSchema *schema;      /* of a struct, with a child for each column */
    const struct ArrowArray *const *batch; /* batches */
    size_t batches;
    const double *labels, *weights; /* rows, as in kb_arrays */
    const char *const *class_names; /* likewise */
    size_t classes;
} kb_arrow;
#define KB_ARROW_INIT                                                                              \
    { sizeof(kb_arrow), 0, 0, 0, 0, 0, 0, 0 }

/* Data from a data frame, all of it copied: nothing is released, and schema and batches stay the
 * caller's.  Integers, floats, decimals, times and durations (both in seconds) are numbers; dates
 * and timestamps are dates, as stored (in UTC if they have a time zone); booleans and dictionaries
 * are categories, or booleans if they have two levels, a missing value counted as one; strings are
 * what they would be in a CSV file.  Columns that are constant or ids are left out.  The options
 * columns, ignore and types act as for a CSV file; `options` may be NULL.  Equal names become
 * name, name.1, .. with a warning.  With `like`, the columns are those of that model, as in
 * kb_data_read: they are found by name, in any order, or by place where the frame or the model has
 * no names; the options are then not looked at.
 * KB_ERR_DATA, with the name of the column, for nested and binary columns, and for what is wrong
 * with the structures as far as it can be seen. */
KB_API kb_status kb_data_from_arrow(kb_context *ctx, const kb_options *options,
                                    const kb_arrow *arrow, const kb_model *like, kb_data **out);
/* A synthetic set; `name` is one of kb_synthetic_names().  Takes the options
 * rows, noise and seed. */
KB_API kb_status kb_data_generate(kb_context *ctx, const kb_options *options, const char *name,
                                  kb_data **out);
/* "checkers|rings|.." */
KB_API const char *kb_synthetic_names(void);
/* Writes LIBSVM text, or CSV with the label last if the path ends in .csv; "-" is
 * standard output. */
KB_API kb_status kb_data_write(kb_context *ctx, const kb_data *data, const char *path);
/* Two new sets of the rows of `data`, in their order, assigned at random: about `share` of them,
 * between 0 and 1, go to the second.  Where a row goes depends only on the seed and its number; if
 * a set would be empty, one row is moved there.  Names of classes and features are those of
 * `data`.  KB_ERR_DATA for fewer than 2 rows. */
KB_API kb_status kb_data_split(kb_context *ctx, const kb_data *data, double share, uint64_t seed,
                               kb_data **first, kb_data **second);
/* The weight of each row in a fit and in scores: rows numbers, copied; NULL: all 1.  They must be
 * finite, not negative and not all 0. */
KB_API kb_status kb_data_set_weights(kb_context *ctx, kb_data *data, const double *weight);
/* Rows with the same number, such as those of one patient, stay in the same part when the option
 * split makes validation rows or folds: rows numbers, from 0 and below the number of rows, copied;
 * NULL: none.  The text after "group:" then has no effect. */
KB_API kb_status kb_data_set_groups(kb_context *ctx, kb_data *data, const uint32_t *group);
/* With a context that has ranks, before a fit; called on all ranks.  Each rank comes with its part
 * of the rows, the first ones on rank 0, and maybe with none.  Rows move between ranks, so that
 * each has about as many, and the words of classes and levels, the number of features of compressed
 * rows, and the form become the same on all.  Columns must be of the same types.  Numbers of groups
 * are those of all ranks already.  Takes the memory of the largest array beside the data. */
KB_API kb_status kb_data_deal(kb_context *ctx, kb_data *data);
/* The rows of all ranks, and the number of this rank's first among them, from 0.  Of data that were
 * not dealt out: kb_data_rows, and 0. */
KB_API size_t kb_data_rows_of_all(const kb_data *data);
KB_API size_t kb_data_first_row(const kb_data *data);
KB_API void kb_data_free(kb_data *data);

KB_API size_t kb_data_rows(const kb_data *data);
KB_API size_t kb_data_features(const kb_data *data);
KB_API int kb_data_is_sparse(const kb_data *data);
/* One label per row, or NULL.  Where the labels were words, the position of the word in
 * alphabetical order.  NaN in rows to predict that lack one, which no score counts. */
KB_API const double *kb_data_labels(const kb_data *data);
/* The word behind label i; NULL where labels are numbers, or there is no such word. */
KB_API const char *kb_data_class_name(const kb_data *data, size_t i);
/* The name of the label's column, or NULL; and its place in the file, counted from 1, or 0 where
 * there is none. */
KB_API const char *kb_data_label_name(const kb_data *data);
KB_API size_t kb_data_label_column(const kb_data *data);
/* Feature j < features.  KB_ERR_ARGUMENT, without a message, if there is none or the size is
 * wrong. */
KB_API kb_status kb_data_column(const kb_data *data, size_t j, kb_column_info *out);
/* The columns of the source that are no features, because of their type: how many, and number k of
 * them.  They have a name, or their number in the source (from 1) as one, and a type. */
KB_API size_t kb_data_left_out(const kb_data *data);
KB_API kb_status kb_data_left_out_column(const kb_data *data, size_t k, kb_column_info *out);
/* The columns that the option keep names, in a CSV that was read with `like`: how many, the name of
 * number k, "column 3" in a file without names, and the text of a cell as it was read, without its
 * quotes.  NULL where there is none. */
KB_API size_t kb_data_kept(const kb_data *data);
KB_API const char *kb_data_kept_name(const kb_data *data, size_t k);
KB_API const char *kb_data_kept_cell(const kb_data *data, size_t row, size_t k);

/* ---- models ------------------------------------------------------------ */

/* What a fit did; all of it is in the model file.  The library fills it in.  New members are added
 * at the end. */
typedef struct kb_fit_info {
    /* As chosen. */
    const char *task, *loss, *penalty, *map, *kernel, *solver, *scale;
    const char *probability; /* none, sigmoid or softmax: how decisions become probabilities */
    /* Where the widths come from: "equal" (one sigma, given or tuned), "default" (the default
     * rule), "list" (one for each feature), "file" or "learned". */
    const char *sigma_rule;
    double sigma;           /* of "equal"; of "default" the middle value, to four digits; else 0 */
    const char *sigma_text; /* to display: "0.75", "default(0.3682)", the list or @file as given */
    double lambda;
    uint64_t seed;
    int intercept;
    int widths_differ;              /* between features; see kb_model_importance */
    size_t rows, features, classes; /* classes: 0 for regression */
    size_t outputs;                 /* columns of a decision: classes, or 1 for two classes */
    size_t linear_columns;          /* extra columns: predictions of a linear fit, option linear */
    size_t grids, bins;             /* R and D */
    size_t kept_grids, kept_bins;   /* in the model; with penalty l1 those with a weight */
    size_t nonzeros;                /* weights other than 0 */
    double kappa;                   /* mean over the grids of 1 / share of the fullest bin */
    size_t steps;                   /* of the slowest output */
    int converged;
    double objective;   /* lambda Omega(w) + sum of the losses, over all outputs */
    double gap;         /* penalty l1: the duality gap, a bound on objective - minimum */
    double train_score; /* accuracy, or r2 for regression */
    size_t directions;  /* extra columns along which the targets change, option directions */
    double quantile;    /* of the loss quantile; 0 for others */
    size_t models;      /* that it is the mean of, option ensemble; 1 for a plain one */
} kb_fit_info;

/* Time and memory of a fit.  Not in the model file: all zero in a model that was read.  New members
 * are added at the end. */
typedef struct kb_fit_cost {
    double tune_seconds; /* tuning of what was left at auto */
    double bin_seconds, solve_seconds;
    size_t id_bytes;       /* of the bin numbers of Z */
    size_t forecast_bytes; /* memory forecast of the fit */
    double encode_seconds; /* learning how categories, dates and missing values become numbers */
    double importance_seconds; /* measuring the importance of the features */
    /* With ranks: bytes that this one gave to others, in all and while solving. */
    double sent_bytes, solve_sent_bytes;
} kb_fit_cost;

/* Learns scaling, grids, bins and weights from labelled data, with the option lambda (for
 * lambda-path use kb_path_fit).  With ranks: from the rows of all, which kb_data_deal has dealt
 * out; every rank gets the whole model, whose bytes do not depend on the number of ranks.  Several
 * ranks do not work with penalty l1, rival maps, the losses quantile, absolute and poisson, a
 * budget, and a share of rows for holdout; nor do kb_model_update, kb_model_refit, kb_path_fit,
 * kb_cross_validate and kb_map_fit: KB_ERR_ARGUMENT.  All other calls are for a rank's own rows. */
KB_API kb_status kb_model_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                              kb_model **out);

/* A new model that has learned from the labelled rows of `data` too: with the grids, lambda, loss
 * and all other settings of `model`, known bins moved from where they are and new bins added.
 * `data` has the model's columns (kb_data_read and kb_data_from_arrow with `like`), and labels of
 * classes that the model knows, not of all of them.  Of the options, class-weight, tol, max-iter
 * and max-memory have an effect.  Rows in the info is the sum, and the train score that on the new
 * rows. What to expect on new rows is measured anew, by the decisions of `model` for these, where
 * they are not fewer than were held out before or 2000.  KB_ERR_ARGUMENT for models with penalty
 * l1, multiclass softmax, or another map than binning. */
KB_API kb_status kb_model_update(kb_context *ctx, const kb_options *options, const kb_model *model,
                                 const kb_data *data, kb_model **out);
/* A fit to the rows of `data` alone, with the grids and settings of `model` and without tuning,
 * which begins at the weights of `model`: for nearly the same rows it takes fewer steps.  The
 * result is that of a fit from the beginning, up to the option tol.  The options lambda, loss,
 * holdout and probability have an effect too.  Takes data as kb_model_update does.  A model that
 * sweeps were stopped early for is fitted from the beginning. */
KB_API kb_status kb_model_refit(kb_context *ctx, const kb_options *options, const kb_model *model,
                                const kb_data *data, kb_model **out);

/* Models with penalty l1 for several lambdas, as many as the option lambda-path says: from the
 * smallest lambda at which all weights are zero down to the option lambda. */
typedef struct kb_path kb_path;

/* `tell`, unless NULL, is called with the model of each lambda, which is valid during that call
 * only; a status other than KB_OK stops the work.  `options`, `data` and `ctx` must outlive the
 * path. */
KB_API kb_status kb_path_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                             kb_status (*tell)(void *user, const kb_model *model), void *user,
                             kb_path **out);
KB_API size_t kb_path_count(const kb_path *path);
/* The fit with lambda number k < count; owned by the path, with its texts.  All grids and bins
 * count as kept: only a model that is taken drops any. */
KB_API const kb_fit_info *kb_path_info(const kb_path *path, size_t k);
KB_API const kb_fit_cost *kb_path_cost(const kb_path *path, size_t k);
/* Moves the model of lambda number k < count to the caller.  Works once: a path gives one model. */
KB_API kb_status kb_path_take(kb_path *path, size_t k, kb_model **out);
KB_API void kb_path_free(kb_path *path);

/* The trials of the tuner, scored on validation rows; none where nothing was left at auto.  With
 * folds, the rows of all folds but the first were also used to learn widths, so the errors of
 * learned widths are too low. */
typedef struct kb_trial_info {
    const char *widths; /* "equal", "screened", "learned", "learned and equal", .. */
    const char *loss;   /* both texts are static */
    double sigma;       /* of equal widths; else a common factor; 0: not known */
    double lambda;
    size_t grids, steps;
    double error;   /* share of wrong rows, or mean squared error */
    double seconds; /* since the beginning; NAN in a model that was read */
} kb_trial_info;

/* In the order of the trials; owned by the model. */
KB_API const kb_trial_info *kb_model_trials(const kb_model *model, size_t *count);
/* The number of the trial that won, whose settings the fit took; 0 where there are none. */
KB_API size_t kb_model_chosen_trial(const kb_model *model);

/* What the option budget left no time for, or had to be made smaller, such as "learned widths" or
 * "grids": `count` texts, which are static; none in a model that was read. */
KB_API const char *const *kb_model_shortened(const kb_model *model, size_t *count);

/* What to expect on new rows, by rows that were held out of a fit (option holdout); in the model
 * file.  NAN: not available.  Low and high: a 95 % interval, for rows that are drawn like the
 * training rows. */
typedef struct kb_expected {
    size_t size;                          /* sizeof(kb_expected), set by the caller */
    size_t rows;                          /* that were held out; 0: none were */
    size_t learned;                       /* rows that the (first) fit without them learned from */
    size_t folds;                         /* such fits */
    double error, error_low, error_high;  /* classification: share of wrong rows */
    double log_loss;                      /* of a model with probabilities */
    double rmse, rmse_low, rmse_high, r2; /* regression */
} kb_expected;
#define KB_EXPECTED_INIT                                                                           \
    { sizeof(kb_expected), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* KB_ERR_ARGUMENT, without a message, if the size is wrong; for kb_model_validation too. */
KB_API kb_status kb_model_expected(const kb_model *model, kb_expected *out);

/* The rows that were held out, and their decisions by the fit without them.  Owned by the model.
 * Not in the model file: none in a model that was read. */
typedef struct kb_validation_info {
    size_t size; /* sizeof(kb_validation_info), set by the caller */
    size_t rows;
    const uint32_t *row;    /* their numbers in the training data, from 0, increasing */
    const double *decision; /* rows x outputs */
    const double *label;    /* the number of the class, or the value */
    const double *weight;   /* NULL: ones */
    const double *known;    /* share of the grids in which a row meets a known bin, or NULL */
} kb_validation_info;
#define KB_VALIDATION_INFO_INIT                                                                    \
    { sizeof(kb_validation_info), 0, 0, 0, 0, 0, 0 }

KB_API kb_status kb_model_validation(const kb_model *model, kb_validation_info *out);

/* What kb_model_compact did to the decisions; in the model file.  The largest of all outputs, in
 * the units of the decisions. */
typedef struct kb_compaction {
    size_t size;    /* sizeof(kb_compaction), set by the caller */
    int compact;    /* 0: the model is not compact, and the rest is 0 */
    double typical; /* root of the mean square by which decisions move, by the bins of the model */
    double most;    /* no decision moves by more, unless an unknown bin is taken for a known one */
    size_t dropped; /* bins whose weights were dropped */
} kb_compaction;
#define KB_COMPACTION_INIT                                                                         \
    { sizeof(kb_compaction), 0, 0, 0, 0 }

/* Makes the model smaller, about a fourth for one output and less for more: weights as whole
 * numbers of 8 bits, with a unit for each grid and output, and 16 bits of each key in place of 64.
 * All that a model can do a compact one can do.  An unknown bin is taken for a known one of its
 * grid with a chance of at most 1 in 8,192 on average. drop: bins with small weights lose them, up
 * to this share of the sum of squares of all weights, at least 0 and below 1.  They stay known
 * bins. The model cannot be made plain again: kb_model_write_bytes and kb_model_read_bytes copy it
 * first. KB_ERR_ARGUMENT if it is compact already, or its map is not binning.  O(D outputs) time,
 * and O(D log D) to drop; on failure the model is as it was. */
KB_API kb_status kb_model_compact(kb_context *ctx, kb_model *model, double drop);
/* KB_ERR_ARGUMENT, without a message, if the size is wrong. */
KB_API kb_status kb_model_compaction(const kb_model *model, kb_compaction *out);

/* A model file appears whole or not at all. */
KB_API kb_status kb_model_write(kb_context *ctx, const kb_model *model, const char *path);
/* Maps the file into memory and checks all of it.  The model uses the file until kb_model_free: it
 * must not be overwritten in place or cut short (which kb_model_write never does: a new file takes
 * its name).  Else predictions are wrong, or the system ends the program with SIGBUS. */
KB_API kb_status kb_model_read(kb_context *ctx, const char *path, kb_model **out);
/* The same from a copy in memory, which is checked: whatever becomes of the file, the model stays
 * as it was.  Takes the bytes of the file, and the time to read them. */
KB_API kb_status kb_model_read_copied(kb_context *ctx, const char *path, kb_model **out);
/* The same for a file that was checked before and has not changed since: in time that does not grow
 * with its bins, it checks the layout but neither the checksum nor the bins.  With a file that is
 * damaged, predicting may crash. */
KB_API kb_status kb_model_read_trusted(kb_context *ctx, const char *path, kb_model **out);
/* The bytes of the model file, passed to `put` in pieces, in order; a status other than KB_OK stops
 * the work and is returned. */
KB_API kb_status kb_model_write_bytes(kb_context *ctx, const kb_model *model,
                                      kb_status (*put)(void *user, const void *bytes, size_t count),
                                      void *user);
/* Reads a model from such bytes, which are copied. */
KB_API kb_status kb_model_read_bytes(kb_context *ctx, const void *bytes, size_t count,
                                     kb_model **out);
KB_API void kb_model_free(kb_model *model);

/* Owned by the model. */
KB_API const kb_fit_info *kb_model_info(const kb_model *model);
KB_API const kb_fit_cost *kb_model_cost(const kb_model *model);
/* The label and the name of class i, in the order of the decision's columns. */
KB_API double kb_model_class(const kb_model *model, size_t i);
KB_API const char *kb_model_class_name(const kb_model *model, size_t i);
/* The name of feature i, or NULL where the data had none.  Such features are numbered from 1, or
 * from 0 if the training data were read with the option zero-based. */
KB_API const char *kb_model_feature_name(const kb_model *model, size_t i);
KB_API int kb_model_zero_based(const kb_model *model);
/* The name of the label's column in the training data, or NULL where they had no names. */
KB_API const char *kb_model_label_name(const kb_model *model);
/* The columns of the training data: as kb_data_column and the two calls after it. */
KB_API kb_status kb_model_column(const kb_model *model, size_t j, kb_column_info *out);
KB_API size_t kb_model_left_out(const kb_model *model);
KB_API kb_status kb_model_left_out_column(const kb_model *model, size_t k, kb_column_info *out);

/* Permutation importance: by how much the score drops, accuracy or r2, when the cells of a feature
 * are shuffled among the rows.  It is measured during the fit (option importance) on validation
 * rows, with a model of the same options that was fitted without them, to at most some thousand of
 * the other rows and with fewer grids.  A negative drop is noise. */
typedef struct kb_importance {
    size_t size;          /* sizeof(kb_importance), set by the caller: no more bytes are written */
    size_t rows, repeats; /* validation rows, and how often each feature was shuffled */
    double score;         /* of the rows as they are */
    const double *drop;   /* features; both arrays are owned by the model */
    const double *standard_error; /* of the drop: its standard deviation over samples of rows */
} kb_importance;
#define KB_IMPORTANCE_INIT                                                                         \
    { sizeof(kb_importance), 0, 0, 0, 0, 0 }

/* KB_ERR_ARGUMENT, without a message, if it was not measured or the size is wrong. */
KB_API kb_status kb_model_importance(const kb_model *model, kb_importance *out);

/* How finely the grids split each feature: the share of the grids that separate two samples as far
 * apart as the feature's spread in the training data.  out: one number per feature, none negative,
 * with sum 1.  A feature may be split finely and matter little.  KB_ERR_ARGUMENT for a model of an
 * older kerbin, which does not store its widths. */
KB_API kb_status kb_model_fineness(kb_context *ctx, const kb_model *model, double *out);

/* What an extra column is made of: the predictions of a linear fit come first (linear_columns of
 * kb_fit_info), then the directions.  out: one number per feature, the share of the column's moves
 * that it makes, with its sign; their sizes add up to 1, or less where values and ranks of a
 * feature work against each other.  KB_ERR_ARGUMENT, without a message, if there is no such column.
 */
KB_API kb_status kb_model_extra_column(const kb_model *model, size_t k, double *out);

typedef enum kb_output {
    KB_OUTPUT_LABEL = 0,
    KB_OUTPUT_DECISION = 1,
    KB_OUTPUT_PROBABILITY = 2,
    KB_OUTPUT_INTERVAL = 3, /* regression: the value, and the ends of its interval */
    KB_OUTPUT_SET = 4,      /* classes: 1 for those that are in the prediction set, else 0 */
    /* The share of grids in which the row meets a known bin, and the share of the rows held out
     * that meet more: near 1 for a row that is unlike the training rows. */
    KB_OUTPUT_NOVELTY = 5,
} kb_output;

/* What is asked for each row. */
typedef struct kb_request {
    size_t size; /* sizeof(kb_request) */
    kb_output what;
    double coverage; /* of intervals and sets: the share of new rows whose label is inside */
} kb_request;
#define KB_REQUEST_INIT                                                                            \
    { sizeof(kb_request), KB_OUTPUT_LABEL, 0.9 }

/* Predictions into the caller's array: rows labels (for words the position in the class names; for
 * regression the value), rows x outputs decisions, or rows x classes probabilities.  Uses some MiB
 * beside `out`, whatever the number of rows.  KB_ERR_ARGUMENT for probabilities if the model has
 * none, KB_ERR_DATA if the data have other features. */
KB_API kb_status kb_model_predict(kb_context *ctx, const kb_model *model, const kb_data *data,
                                  kb_output what, double *out);

/* Whether the model can give it: the checks of the two calls below. */
KB_API kb_status kb_request_check(kb_context *ctx, const kb_model *model,
                                  const kb_request *request);
/* The same with a request: rows x 3 numbers for intervals, rows x classes for sets, rows x 2 for
 * novelty.  KB_ERR_ARGUMENT where the model cannot give them: intervals, sets and novelty need rows
 * that were held out of its fit (option holdout). */
KB_API kb_status kb_model_predict_as(kb_context *ctx, const kb_model *model, const kb_data *data,
                                     const kb_request *request, double *out);

/* The decisions alone.
 *
 * decision: rows x outputs.  Regression: the value.  Two classes: positive for the
 * second.  More: one column a class, the largest wins. */
KB_API kb_status kb_model_decide(kb_context *ctx, const kb_model *model, const kb_data *data,
                                 double *decision);
/* Turns decisions into labels (regression: the values themselves). */
KB_API void kb_model_label(const kb_model *model, size_t rows, const double *decision,
                           double *labels);

/* probability: rows x classes, from decisions.  KB_ERR_ARGUMENT if the model has none. */
KB_API kb_status kb_model_probability(kb_context *ctx, const kb_model *model, size_t rows,
                                      const double *decision, double *probability);

/* Weighted where the data have weights.  NAN: not available. */
typedef struct kb_score {
    size_t size; /* sizeof(kb_score), set by the caller: no more bytes are written */
    /* Classification. */
    double accuracy;
    double balanced_accuracy; /* mean of the classes' own accuracies */
    double auc; /* area under the ROC curve of the decisions; with several classes the mean over
                   each against the rest, for up to 2 million decisions */
    double log_loss; /* of a model with probabilities */
    /* Regression. */
    double rmse, relative_error, r2; /* relative_error = |f - y| / |y| */
    /* Of accuracy, or of the mean squared error: its standard deviation over samples of rows. */
    double standard_error;
    /* Classification. */
    double f1; /* of the second of two classes; with several the mean over the classes */
    double
        brier; /* of a model with probabilities: their squared error, summed over classes, halved */
    /* Regression. */
    double mae;
    double pinball; /* of the loss quantile: the mean of q (y-f) above, (1-q) (f-y) below */
    double
        poisson_deviance; /* of the loss poisson: the mean of 2 (y log(y/m) - y + m), m = exp(f) */
} kb_score;
#define KB_SCORE_INIT                                                                              \
    { sizeof(kb_score), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* One row of the table of metrics: the only place where their names and words are written down. */
typedef struct kb_metric_info {
    const char *name;  /* as the option metric takes it: "log-loss" */
    const char *key;   /* the member of kb_score, and the key in JSON: "log_loss" */
    const char *words; /* for people: "log loss" */
    const char *help;
    int classes;       /* for classification, not regression */
    int larger;        /* larger is better */
    int probabilities; /* of a model with probabilities only */
    int percent;       /* printed as a percentage */
    int in_units;      /* of the labels */
} kb_metric_info;

/* The whole table. */
KB_API const kb_metric_info *kb_metric_table(size_t *count);
/* The value of a metric, by its name; NAN: not available. */
KB_API double kb_score_get(const kb_score *score, const char *metric);

/* The class of each row by its label: class_of[i] < classes, or -1 where there is no label or the
 * model does not know it.  KB_ERR_DATA for data without labels, KB_ERR_ARGUMENT for regression. */
KB_API kb_status kb_model_classes_of(kb_context *ctx, const kb_model *model, const kb_data *data,
                                     int64_t *class_of);

/* How good the decisions are for the labels of `data`. */
KB_API kb_status kb_model_score(kb_context *ctx, const kb_model *model, const kb_data *data,
                                const double *decision, kb_score *out);

/* A fold of a cross-validation: the rows that its model has not seen, and how good it is there. */
typedef struct kb_fold {
    size_t size;          /* sizeof(kb_fold) of the library */
    size_t number, folds; /* from 0; of so many */
    const kb_model *model;
    size_t learned;         /* rows that the model learned from */
    size_t rows;            /* rows held out, */
    const uint32_t *row;    /* their numbers in the data, increasing, */
    const double *decision; /* and their decisions: rows x outputs */
    kb_score score;
} kb_fold;
typedef kb_status kb_fold_teller(void *user, const kb_fold *fold);

/* Fits `folds` models, each to the rows outside of a fold, and scores it on the fold.  Every fit is
 * tuned on its own rows alone.  The option split says how rows are dealt: the classes evenly,
 * groups together, and by time each fold after the rows that it is learned from.  The option budget
 * is for all folds together; folds, holdout and importance have no effect.  `tell` is called after
 * each fold, whose pointers are valid during that call only; a status other than KB_OK stops the
 * work. Takes a copy of the data beside a fit. */
KB_API kb_status kb_cross_validate(kb_context *ctx, const kb_options *options, const kb_data *data,
                                   size_t folds, kb_fold_teller *tell, void *user);

/* Writes one line per row: the label, the decision, or the probability of each class.  One number
 * or label a row stands alone on its line; several are CSV with a header.  "-" is standard output;
 * a file appears whole or not at all. */
KB_API kb_status kb_model_write_predictions(kb_context *ctx, const kb_model *model, size_t rows,
                                            const double *decision, kb_output what,
                                            const char *path);

/* kb_model_decide, kb_model_score and kb_model_write_predictions in one, some rows at a time:
 * beside the data it takes the decisions of the rows under way, a million or some thousands a
 * thread, and for the score 16 bytes a row, or of several classes up to 16 MiB of decisions.  path
 * NULL: nothing is written.  score NULL: no labels are looked at; else KB_ERR_DATA where there are
 * none. */
KB_API kb_status kb_model_predict_file(kb_context *ctx, const kb_model *model, const kb_data *data,
                                       kb_output what, const char *path, kb_score *score);

/* The same with a request.  The columns that the data keep (kb_data_kept) come first, and the
 * predictions after them: `prediction`, `decision`, or as without them.  A warning is logged where
 * many of the rows are unlike the training rows. */
KB_API kb_status kb_model_predict_file_as(kb_context *ctx, const kb_model *model,
                                          const kb_data *data, const kb_request *request,
                                          const char *path, kb_score *score);

/* What each feature adds to the decisions of the rows of `data`: Shapley values against rows of
 * `background` (NULL: of `data`), of which `samples` are chosen at random (0: 64).
 * contribution: rows x features x outputs.  Those of a row add up to its decision minus the base,
 * up to rounding; a feature that is equal in a row and in the whole background has 0.  Orders of
 * the features are sampled, two for each row of the background; standard_error, of the same shape
 * or NULL, tells the error of that and of the choice of the background.  base: outputs numbers, the
 * mean decision of the background.  Takes 2 x samples decisions for each row and feature.
 * KB_ERR_DATA if the background has fewer than two rows. */
KB_API kb_status kb_model_explain(kb_context *ctx, const kb_model *model, const kb_data *data,
                                  const kb_data *background, size_t samples, uint64_t seed,
                                  double *contribution, double *standard_error, double *base);

/* Values of a feature for kb_model_dependence: all different ones in increasing order if there are
 * at most `most`, else the smallest, the largest and those between at equal shares of the rows,
 * where rows of one value count as one share at most.  out: room for `most` numbers; *count: how
 * many there are.  A level is its place among the levels, a date is days since 2000-01-01; missing
 * values are left out. */
KB_API kb_status kb_data_values(kb_context *ctx, const kb_data *data, size_t feature, size_t most,
                                double *out, size_t *count);
/* Partial dependence: the mean decision (KB_OUTPUT_DECISION), probability, or for regression
 * predicted number (KB_OUTPUT_LABEL) of all rows of `data` if the feature had the value at[k] in
 * all of them.  mean: points x outputs, or x classes; standard_error: the same, over samples of
 * rows, or NULL.  Takes rows x points decisions.  A NaN is a missing value. */
KB_API kb_status kb_model_dependence(kb_context *ctx, const kb_model *model, const kb_data *data,
                                     size_t feature, size_t points, const double *at,
                                     kb_output what, double *mean, double *standard_error);

/* Decides single rows, without allocating, locking or starting threads.  It has memory of its own
 * for one row, so each thread needs its own; the model must outlive it, the context need not. */
typedef struct kb_predictor kb_predictor;

/* Lays out the bins for single rows: O(D) time, and about 26 bytes a bin.  For maps other than
 * binning it keeps a copy of the weights instead. */
KB_API kb_status kb_predictor_create(kb_context *ctx, const kb_model *model, kb_predictor **out);
/* Another one of the same model, for another thread.  They share that memory for binning. */
KB_API kb_status kb_predictor_copy(kb_context *ctx, const kb_predictor *from, kb_predictor **out);
/* x: features numbers, whatever the form of the training data.  decision: outputs numbers, the same
 * bits as kb_model_decide gives for a dense row.  A NaN is a missing value; a date is
 * days since 2000-01-01, a level its place among the model's levels, or -1.  KB_ERR_DATA, without a
 * message, if one of x is infinite.  O(R d) time for random binning. */
KB_API kb_status kb_predictor_row(kb_predictor *predictor, const double *x, double *decision);
KB_API void kb_predictor_free(kb_predictor *predictor);

/* ---- features ---------------------------------------------------------- */

/* The map from a sample to its row of Z: scaling, grids and known bins. */
typedef struct kb_map kb_map;

/* The map that kb_model_fit with the same options and data would use. */
KB_API kb_status kb_map_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                            kb_map **out);
KB_API void kb_map_free(kb_map *map);
/* A model's own map; it lives as long as the model. */
KB_API const kb_map *kb_model_map(const kb_model *model);
/* R and D. */
KB_API size_t kb_map_grids(const kb_map *map);
KB_API size_t kb_map_bins(const kb_map *map);
/* columns: rows x R, the column of Z (from 0) that is 1/sqrt(R), or -1 where the
 * sample meets no known bin.  Increasing along a row but for the -1. */
KB_API kb_status kb_map_apply(kb_context *ctx, const kb_map *map, const kb_data *data,
                              int64_t *columns);
/* features: rows x D, all of Z.  For the maps fourier and nystrom; KB_ERR_ARGUMENT for others. */
KB_API kb_status kb_map_apply_dense(kb_context *ctx, const kb_map *map, const kb_data *data,
                                    double *features);
/* Writes Z and the labels as LIBSVM text; "-" is standard output. */
KB_API kb_status kb_map_write_features(kb_context *ctx, const kb_map *map, const kb_data *data,
                                       const char *path);

#ifdef __cplusplus
}
#endif
#endif
