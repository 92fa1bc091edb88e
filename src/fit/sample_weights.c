/* sample_weights.c - see sample_weights.h. */
#include "fit/sample_weights.h"
#include "core/memory.h"
#include "core/number.h"
#include "core/order.h"
#include "io/column_names.h"
#include "io/weight_file.h"
#include "ranks/row_sums.h"
#include "options/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20 };

typedef struct class_label {
    char text[KB_NUMBER_TEXT + sizeof(kb_quoted)];
} class_label;

/* "7", or "'cow'" where the labels are words. */
static class_label label_in_words(const kb_data *data, double value) {
    class_label out;
    if (data->class_name) {
        const char *name = data->class_name[(size_t)value];
        snprintf(out.text, sizeof out.text, "'%s'", kb_quote(name, strlen(name)).text);
    } else {
        kb_number_format(value, out.text);
    }
    return out;
}

/* ---- a file of class weights ------------------------------------------- */

static int compare_words(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The class with the given label; targets->classes if there is none.  Where labels are words, a
 * number among them is written as its shortest decimal (io/csv.c). */
static size_t class_called(const kb_data *data, const kb_targets *t, char *label) {
    double value;
    int number = kb_number_read(label, &value);
    if (data->class_name) {
        char decimal[KB_NUMBER_TEXT], *key = label;
        if (number) {
            kb_number_format(value, decimal);
            key = decimal;
        }
        char **word = bsearch(&key, data->class_name, data->class_count, sizeof key, compare_words);
        if (!word)
            return t->classes;
        value = (double)(word - data->class_name);
    } else if (!number) {
        return t->classes;
    }
    const double *at =
        bsearch(&value, t->class_value, t->classes, sizeof value, kb_compare_doubles);
    return at ? (size_t)(at - t->class_value) : t->classes;
}

/* Splits a line in two at its last blanks or comma, since a word may contain either.  NULL if one
 * side is empty. */
static char *cut_weight(char *line) {
    static const char blanks[] = " \t";
    char *weight = line + strlen(line);
    while (weight > line && !strchr(" \t,", weight[-1]))
        weight--;
    char *end = weight;
    while (end > line && strchr(blanks, end[-1]))
        end--;
    if (end > line && end[-1] == ',')
        end--;
    while (end > line && strchr(blanks, end[-1]))
        end--;
    if (end == line || *weight == '\0')
        return NULL;
    *end = '\0';
    return weight;
}

/* weight: that of each class, -1 on entry. */
static kb_status take_line(kb_input *input, const kb_data *data, const kb_targets *t, char *line,
                           double *weight) {
    char *number = cut_weight(line);
    if (!number)
        return kb_input_fail(input, "'%s' is not a label and its weight",
                             kb_quote(line, strlen(line)).text);
    size_t class = class_called(data, t, line);
    if (class == t->classes)
        return kb_input_fail(
            input, "no sample has the label '%s'%s", kb_quote(line, strlen(line)).text,
            kb_names_hint_of("labels", data->class_count, data->class_name, line).text);
    if (weight[class] >= 0)
        return kb_input_fail(input, "the label '%s' comes twice",
                             kb_quote(line, strlen(line)).text);
    return kb_weight_parse(input, number, &weight[class]);
}

typedef struct class_weights {
    const kb_data *data;
    const kb_targets *t;
    double *weight;
} class_weights;

static kb_status read_class_weights(kb_context *ctx, const char *path, void *user) {
    kb_status status;
    const class_weights *w = user;
    const kb_targets *t = w->t;
    kb_input *input = NULL;
    double *weight = w->weight;
    char *line;
    for (size_t c = 0; c < t->classes; c++)
        weight[c] = -1;
    TRY(kb_input_open(ctx, path, &input));
    for (;;) {
        TRY(kb_weights_line(input, &line));
        if (!line)
            break;
        TRY(take_line(input, w->data, t, line, weight));
    }
    for (size_t c = 0; c < t->classes; c++)
        if (weight[c] < 0)
            weight[c] = 1;
done:
    kb_input_free(input);
    return status;
}

/* ---- all weights ------------------------------------------------------- */

typedef struct weighing {
    const kb_targets *t;
    const double *weight;
} weighing;

static void add_weights(void *arg, size_t begin, size_t end, double *total) {
    const weighing *w = arg;
    size_t classes = w->t->classes;
    memset(total, 0, (classes > 0 ? classes : 1) * sizeof *total);
    for (size_t i = begin; i < end; i++)
        total[classes > 0 ? w->t->class_of[i] : 0] += w->weight[i];
}

/* total[c] = sum of the weights of class c, or total[0] for regression. */
static kb_status sum_by_class(kb_context *ctx, const kb_data *data, const kb_targets *t,
                              const double *weight, double *total) {
    weighing w = {t, weight};
    return kb_row_totals(ctx, data->rows, t->classes > 0 ? t->classes : 1, add_weights, &w, total);
}

static kb_status check_totals(kb_context *ctx, const kb_data *data, const kb_targets *t,
                              const double *total) {
    double all = 0;
    for (size_t c = 0; c < t->classes; c++)
        if (total[c] == 0)
            return kb_fail(ctx, KB_ERR_DATA, "all samples of the class %s have weight 0",
                           label_in_words(data, t->class_value[c]).text);
    for (size_t c = 0; c < (t->classes > 0 ? t->classes : 1); c++)
        all += total[c];
    if (all == 0)
        return kb_fail(ctx, KB_ERR_DATA, "all samples have weight 0");
    if (!(all <= KB_WEIGHT_MOST))
        return kb_fail(ctx, KB_ERR_DATA, "weights that sum to %g, beyond %g: scale them", all,
                       KB_WEIGHT_MOST);
    return KB_OK;
}

static kb_status apply_classes(kb_context *ctx, const kb_config *config, const kb_data *data,
                               const kb_targets *t, double *total, double *weight) {
    kb_status status = KB_OK;
    double *factor = NULL, all = 0;
    TRY(kb_alloc(ctx, t->classes, sizeof *factor, &factor));
    if (config->class_weight == KB_CLASS_WEIGHT_BALANCED) {
        for (size_t c = 0; c < t->classes; c++)
            all += total[c];
        for (size_t c = 0; c < t->classes; c++)
            factor[c] = all / ((double)t->classes * total[c]);
    } else {
        class_weights classes = {data, t, factor};
        TRY(kb_ranks_agree(ctx, kb_read_charged(ctx, config->class_weight_file, MOST_BYTES,
                                                "too much for weights of classes",
                                                read_class_weights, &classes)));
    }
    for (size_t i = 0; i < data->rows; i++)
        weight[i] *= factor[t->class_of[i]];
    TRY(sum_by_class(ctx, data, t, weight, total));
    TRY(check_totals(ctx, data, t, total));
done:
    kb_release(ctx, factor);
    return status;
}

kb_status kb_sample_weights_build(kb_context *ctx, const kb_config *config, const kb_data *data,
                                  const kb_targets *t, double **out) {
    kb_status status = KB_OK;
    int by_class = config->class_weight != KB_CLASS_WEIGHT_NONE;
    double *weight = NULL, *total = NULL;
    *out = NULL;
    if (by_class && t->classes == 0)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%s: is for classification",
                    kb_say_value(ctx, KB_OPT_CLASS_WEIGHT,
                                 config->class_weight_file ? config->class_weight_file : "balanced")
                        .text));
    if (!by_class && !data->weight)
        goto done;
    TRY(kb_alloc(ctx, data->rows, sizeof *weight, &weight));
    TRY(kb_alloc(ctx, t->classes > 0 ? t->classes : 1, sizeof *total, &total));
    for (size_t i = 0; i < data->rows; i++)
        weight[i] = kb_weight_of(data->weight, i);
    TRY(sum_by_class(ctx, data, t, weight, total));
    TRY(check_totals(ctx, data, t, total));
    if (by_class)
        TRY(apply_classes(ctx, config, data, t, total, weight));
    *out = weight;
done:
    kb_release(ctx, total);
    if (status != KB_OK)
        kb_release(ctx, weight);
    return status;
}
