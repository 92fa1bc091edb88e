/* targets.c - see targets.h. */
#include "fit/targets.h"
#include "core/order.h"
#include "features/bintable.h"
#include "ranks/ranks.h"
#include "simd/bins.h"
#include "options/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The different labels, in any order, if they are few: *count is 0 if not.  Sorting millions of
 * labels of a few thousand values would take longer than reading them. */
static kb_status find_few(kb_context *ctx, const kb_data *data, double **values, size_t *count) {
    enum { CHUNK = 1024, FEW = 1 << 16 };
    kb_status status;
    uint64_t key[CHUNK];
    uint32_t id[CHUNK];
    kb_bintable seen = {0};
    *count = 0;
    TRY(kb_bintable_clear(ctx, &seen));
    for (size_t i = 0; i < data->rows && seen.count <= FEW; i += CHUNK) {
        size_t n = data->rows - i < CHUNK ? data->rows - i : CHUNK;
        for (size_t k = 0; k < n; k++) {
            double label = data->label[i + k] + 0.0; /* -0 is 0 */
            memcpy(&key[k], &label, sizeof label);
            key[k] = kb_key_mix(key[k]);
        }
        TRY(kb_bintable_number(ctx, &seen, n, key, 1, id));
    }
    if (seen.count > FEW || seen.count == 0) /* a rank may have no rows */
        goto done;
    TRY(kb_alloc(ctx, seen.count, sizeof(double), values));
    for (*count = 0; *count < seen.count; (*count)++) {
        uint64_t bits = kb_key_unmix(seen.key[*count]);
        memcpy(&(*values)[*count], &bits, sizeof bits);
    }
done:
    kb_bintable_release(ctx, &seen);
    return status;
}

/* Sorts, and leaves each value once. */
static void sort_out(double *values, size_t *count) {
    size_t all = *count;
    qsort(values, *count, sizeof(double), kb_compare_doubles);
    *count = all > 0;
    for (size_t i = 1; i < all; i++)
        if (values[i] != values[*count - 1])
            values[(*count)++] = values[i];
}

static kb_status distinct_here(kb_context *ctx, const kb_data *data, double **values,
                               size_t *count) {
    kb_status status;
    TRY(find_few(ctx, data, values, count));
    if (*count == 0) {
        *count = data->rows;
        TRY(kb_alloc(ctx, data->rows, sizeof(double), values));
        memcpy(*values, data->label, data->rows * sizeof(double));
    }
    sort_out(*values, count);
done:
    return status;
}

/* The values of all ranks.  Where they are numbers of a regression and many, no more than the ends
 * travel and are left, and *different is the sum of the ranks' own counts. */
static kb_status distinct_of_all(kb_context *ctx, int classes, double **values, size_t *count,
                                 size_t *different) {
    enum { MANY = 1 << 18 };
    kb_status status;
    double ends[2] = {-INFINITY, -INFINITY};
    int64_t sum = (int64_t)*count;
    size_t *end = NULL;
    void *all = NULL;
    if (*count > 0) {
        ends[0] = -(*values)[0];
        ends[1] = (*values)[*count - 1];
    }
    TRY(kb_ranks_sum(ctx, &sum, 1));
    if (sum > MANY && !classes) {
        TRY(kb_ranks_most(ctx, ends, 2));
        TRY(kb_ranks_agree(ctx, kb_realloc(ctx, 2, sizeof(double), values)));
        (*values)[0] = -ends[0];
        (*values)[1] = ends[1];
        *count = 2;
        *different = (size_t)sum;
        goto done;
    }
    TRY(kb_ranks_gather(ctx, *values, *count * sizeof(double), &all, &end));
    *count = end[kb_rank_count(ctx) - 1] / sizeof(double);
    kb_release(ctx, *values);
    *values = all;
    sort_out(*values, count);
    *different = *count;
done:
    kb_release(ctx, end);
    return status;
}

/* The different labels in increasing order. */
static kb_status distinct(kb_context *ctx, int classes, const kb_data *data, double **values,
                          size_t *count, size_t *different) {
    kb_status status;
    TRY(kb_ranks_agree(ctx, distinct_here(ctx, data, values, count)));
    *different = *count;
    if (kb_rank_count(ctx) > 1)
        TRY(distinct_of_all(ctx, classes, values, count, different));
done:
    return status;
}

static int whole_numbers(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (values[i] != floor(values[i]))
            return 0;
    return 1;
}

/* Weights are kept as float, with some margin for lambda and R.  `values` is sorted. */
static kb_status check_size(kb_context *ctx, const double *values, size_t count) {
    double largest = fmax(-values[0], values[count - 1]), spread = values[count - 1] - values[0];
    if (largest > KB_LABEL_MOST)
        return kb_fail(ctx, KB_ERR_DATA, "labels up to %g, beyond %g: scale them", largest,
                       KB_LABEL_MOST);
    if (spread > 0 && spread < KB_SPREAD_LEAST)
        return kb_fail(ctx, KB_ERR_DATA, "labels that differ by %g, less than %g: scale them",
                       spread, KB_SPREAD_LEAST);
    return KB_OK;
}

static kb_status number_classes(kb_context *ctx, const kb_data *data, kb_targets *t) {
    kb_status status = kb_alloc(ctx, data->rows, sizeof *t->class_of, &t->class_of);
    if (status != KB_OK)
        return status;
    for (size_t i = 0; i < data->rows; i++) {
        const double *at = bsearch(&data->label[i], t->class_value, t->classes, sizeof(double),
                                   kb_compare_doubles);
        t->class_of[i] = (uint32_t)(at - t->class_value);
    }
    return KB_OK;
}

kb_status kb_targets_build(kb_context *ctx, kb_task task, const kb_data *data, kb_targets *t) {
    kb_status status;
    double *values = NULL;
    size_t count, different;
    memset(t, 0, sizeof *t);
    if (!data->label)
        TRY(kb_fail(ctx, KB_ERR_DATA, "the data have no labels to learn from"));
    int classes = task == KB_TASK_CLASSIFICATION || data->class_name;
    TRY(distinct(ctx, classes, data, &values, &count, &different));
    if (task == KB_TASK_REGRESSION && data->class_name)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: the label '%s' is a word",
                    kb_say_value(ctx, KB_OPT_TASK, "regression").text, data->class_name[0]));
    if (task == KB_TASK_AUTO) {
        classes =
            data->class_name || (different <= KB_AUTO_CLASSES && whole_numbers(values, count));
        task = classes ? KB_TASK_CLASSIFICATION : KB_TASK_REGRESSION;
        kb_log(ctx, KB_LOG_INFO, "task: %s (%zu different labels)",
               classes ? "classification" : "regression", different);
    }
    t->outputs = 1;
    t->rows = data->rows;
    t->label = data->label;
    if (task == KB_TASK_REGRESSION)
        TRY(check_size(ctx, values, count));
    if (task == KB_TASK_CLASSIFICATION) {
        if (count < 2)
            TRY(kb_fail(ctx, KB_ERR_DATA,
                        "all %zu labels are the same: classification needs two classes or more",
                        kb_rows_of_all(data)));
        if (count > UINT32_MAX)
            TRY(kb_fail(ctx, KB_ERR_DATA, "too many classes"));
        TRY(kb_realloc(ctx, count, sizeof(double), &values));
        t->classes = count;
        t->outputs = count > 2 ? count : 1;
        t->class_value = values;
        values = NULL;
        TRY(number_classes(ctx, data, t));
    }
done:
    kb_release(ctx, values);
    if (status != KB_OK)
        kb_targets_release(ctx, t);
    return status;
}

void kb_targets_release(kb_context *ctx, kb_targets *t) {
    kb_release(ctx, t->class_value);
    kb_release(ctx, t->class_of);
    memset(t, 0, sizeof *t);
}

void kb_targets_fill(const kb_targets *t, size_t rows, size_t first, size_t columns, double *y) {
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < columns; c++) {
            size_t positive = t->outputs == 1 ? 1 : first + c;
            y[i * columns + c] = t->classes == 0              ? t->label[i]
                                 : t->class_of[i] == positive ? 1
                                                              : -1;
        }
}
