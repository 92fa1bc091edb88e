/*
 * table.h - what a module for another device offers: one table of functions, found by its version.
 *
 * The library loads the module at run time (device.c), so that it runs where there is no such
 * device.  Both sides include this header; there is nothing of the device in it, and nothing of the
 * library beyond sizes.  A change of any kind is a new version.
 *
 * All functions that can fail return a kb_device_result; `fault` then has the sentence.  Arrays of
 * the caller are read or written before a function returns.  One thread at a time may call.
 */
#ifndef KB_DEVICE_TABLE_H
#define KB_DEVICE_TABLE_H

#include "simd/find_bin.h"

enum { KB_DEVICE_VERSION = 2 };

/* Grids that are binned together, as KB_BUNDLE, and their groups, as KB_GROUP. */
enum { KB_DEVICE_BUNDLE = 16, KB_DEVICE_GROUP = 4, KB_DEVICE_PANEL = 8 };

typedef enum kb_device_result {
    KB_DEVICE_OK,
    KB_DEVICE_MEMORY, /* it has too little memory */
    KB_DEVICE_FAILED,
} kb_device_result;

typedef struct kb_gpu kb_gpu;               /* a device in use */
typedef struct kb_gpu_bins kb_gpu_bins;     /* rows of data there, and their bin numbers */
typedef struct kb_gpu_sweeps kb_gpu_sweeps; /* a run of sweeps over them */
typedef struct kb_gpu_rule kb_gpu_rule;     /* what decisions are made by */

/* Dense rows and how they are scaled, as kb_binning has them. */
typedef struct kb_gpu_rows {
    size_t rows, features, grids;
    const double *x;       /* rows x features */
    const uint32_t *place; /* of each row there (kb_binmat), or NULL */
    const double *shift, *scale;
    const double *parameter; /* as kb_grids */
    const double *bound;
    const uint64_t *factor;
} kb_gpu_rows;

/* What a bundle of grids became. */
typedef struct kb_gpu_bundle {
    uint32_t bins[KB_DEVICE_BUNDLE]; /* of each grid */
    uint64_t most[KB_DEVICE_BUNDLE]; /* rows of the fullest of them */
    int has_tuples;                  /* whether tuples were looked for and pay */
    uint32_t tuples[KB_DEVICE_GROUP];
} kb_gpu_bundle;

/* A run of sweeps: kb_sweep_state. */
typedef struct kb_gpu_problem {
    size_t columns; /* 1, 2, 4 or KB_DEVICE_PANEL */
    double Lambda, whole;
    int equal;
    const int32_t *share; /* rows; or NULL */
    size_t watched;
    const uint32_t *watch; /* rows that are watched */
    int keeps;             /* whether states are kept */
} kb_gpu_problem;

/* What the decisions of a model are made by; model/predict.c has the formula. */
typedef struct kb_gpu_model {
    size_t features, outputs;
    size_t drawn; /* grids that there were */
    int fill;     /* the sum over the known bins stands for all grids */
    const double *shift, *scale;
    const double *parameter; /* as kb_grids */
    const double *bound;
    const uint64_t *factor;
    const kb_dictionary *dictionary;
    const float *weight;             /* bins x outputs */
    const double *intercept, *prior; /* outputs */
} kb_gpu_model;

/* Time that work of a kind took on the device, since kb_device_table.profile. */
typedef struct kb_gpu_measure {
    const char *what;
    double seconds;
    size_t times;
} kb_gpu_measure;

typedef struct kb_device_table {
    unsigned version;

    /* The first device.  On failure *out is NULL, and the sentence is in `message`. */
    kb_device_result (*open)(kb_gpu **out, char *message, size_t room);
    void (*close)(kb_gpu *gpu);
    const char *(*fault)(const kb_gpu *gpu);
    const char *(*name)(const kb_gpu *gpu);
    /* Bytes that are free there now, and that rows and a run of sweeps take: at least, since the
     * numbers of the bins are not known before. */
    double (*memory_free)(const kb_gpu *gpu);
    double (*bins_bytes)(size_t rows, size_t features, size_t grids);
    double (*sweeps_bytes)(size_t rows, size_t bins, size_t columns);

    /* From now on work is measured, or not: each piece of it is waited for.  Then how many kinds of
     * work there were, and the one with this number. */
    kb_device_result (*profile)(kb_gpu *gpu, int on);
    size_t (*measures)(const kb_gpu *gpu);
    kb_gpu_measure (*measure)(const kb_gpu *gpu, size_t number);
    /* Seconds of a copy of so many bytes within the device, the best of `times`. */
    kb_device_result (*copy_seconds)(kb_gpu *gpu, size_t bytes, int times, double *seconds);

    /* Copies the rows to the device and scales them there. */
    kb_device_result (*bins_create)(kb_gpu *gpu, const kb_gpu_rows *rows, kb_gpu_bins **out);
    void (*bins_free)(kb_gpu_bins *bins);
    /* Bins all rows in the next bundle of grids.  Bins and tuples are numbered in the order of the
     * rows.  `tuples`: whether to look for them. */
    kb_device_result (*bins_bundle)(kb_gpu_bins *bins, int tuples, kb_gpu_bundle *out);
    /* Of the last bundle: the keys of the bins of a grid, by number. */
    kb_device_result (*bundle_keys)(kb_gpu_bins *bins, size_t grid, uint64_t *out);
    /* After the last one: the rows themselves, and memory to work with, are no longer needed. */
    void (*bins_finish)(kb_gpu_bins *bins);
    /* A bundle for its numbers, with the tuples that it had; then the rows of a group of it, or its
     * tuples if it has them, and the tuples of the rows; both as idgroup.h stores them.  Then
     * bins_finish again. */
    kb_device_result (*bins_again)(kb_gpu_bins *bins, size_t bundle, int has_tuples);
    kb_device_result (*bundle_group)(kb_gpu_bins *bins, size_t group, int bits, void *out);
    kb_device_result (*bundle_tuples)(kb_gpu_bins *bins, int bits, void *out);
    /* out = Z W, rows x columns from bins x columns, each nonzero of Z being `value`; the sums are
     * those of features/products.c. */
    kb_device_result (*times)(kb_gpu_bins *bins, size_t columns, double value, const double *w,
                              double *out);
    /* Z'V and Z Z'V in whole numbers, as joined/joined_operator.c: columns first .. first + used of
     * v, rows x columns, of which at most KB_DEVICE_PANEL / 2.  Each of the others may be NULL:
     * gram, rows x columns; bins, bins x columns; squares, columns: |Z'v|^2. */
    kb_device_result (*whole_products)(kb_gpu_bins *bins, size_t columns, size_t first, size_t used,
                                       double value, const double *v, double *gram, double *of_bins,
                                       double *squares);
    /* known[h] = in how many grids row[h] has a bin of a row for which fits[i] is not 0. */
    kb_device_result (*count_known)(kb_gpu_bins *bins, const uint8_t *fits, size_t count,
                                    const uint32_t *row, uint32_t *known);

    /* The steps of a run, as kb_sweep_steps.  u may be NULL: as it is. */
    kb_device_result (*sweeps_create)(kb_gpu_bins *bins, const kb_gpu_problem *problem,
                                      kb_gpu_sweeps **out);
    void (*sweeps_free)(kb_gpu_sweeps *sweeps);
    kb_device_result (*load)(kb_gpu_sweeps *sweeps, const int32_t *r, const double *u);
    /* Sums of parts of KB_SUM_ROWS rows, parts x columns. */
    kb_device_result (*sum)(kb_gpu_sweeps *sweeps, double *parts);
    kb_device_result (*shift)(kb_gpu_sweeps *sweeps, const int32_t *by);
    /* *bits: of all residuals since the run began. */
    kb_device_result (*sweep)(kb_gpu_sweeps *sweeps, int backward, double *gradient,
                              uint32_t *bits);
    kb_device_result (*slopes)(kb_gpu_sweeps *sweeps, double *gradient);
    /* Sums of parts of KB_SUM_ROWS rows, and bins, parts x columns x KB_SPAN_SUMS. */
    kb_device_result (*span)(kb_gpu_sweeps *sweeps, double *row_parts, double *bin_parts);
    kb_device_result (*combine)(kb_gpu_sweeps *sweeps, const double *of_move, const double *of_last,
                                uint32_t *bits);
    kb_device_result (*watched)(kb_gpu_sweeps *sweeps, int32_t *r);
    kb_device_result (*keep)(kb_gpu_sweeps *sweeps);
    kb_device_result (*go_back)(kb_gpu_sweeps *sweeps);
    kb_device_result (*fetch)(kb_gpu_sweeps *sweeps, int32_t *r, double *u);

    /* Copies the model to the device, with memory to decide so many rows at a time, or fewer, as
     * there is room for. */
    kb_device_result (*rule_create)(kb_gpu *gpu, const kb_gpu_model *model, size_t rows,
                                    kb_gpu_rule **out);
    void (*rule_free)(kb_gpu_rule *rule);
    /* Decisions of dense rows, rows x outputs, and for each row the share of grids in which it has
     * a known bin.  Rows are copied while others are worked on. */
    kb_device_result (*decide)(kb_gpu_rule *rule, size_t rows, const double *x, double *decision,
                               double *known);
} kb_device_table;

/* What a module exports: the table of this version, or NULL if it has another. */
typedef const kb_device_table *kb_device_table_function(unsigned version);
#define KB_DEVICE_SYMBOL "kb_device_table_of"

#endif
