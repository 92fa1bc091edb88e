/* importance.c - see importance.h. */
#include "importance.h"
#include "report.h"

#include <stdlib.h>

enum { FEATURES_SHOWN = 15, NUMBER_LENGTH = 24 };

typedef struct share {
    double part;
    size_t feature;
} share;

/* The larger first, then in the order of the data. */
static int by_part(const void *a, const void *b) {
    const share *x = a, *y = b;
    if (x->part != y->part)
        return x->part < y->part ? 1 : -1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Its name, or its number as the data count; `number` is room for the latter. */
static const char *name_of(const kb_model *model, size_t feature, char *number) {
    const char *name = kb_model_feature_name(model, feature);
    snprintf(number, NUMBER_LENGTH, "%zu", feature + !kb_model_zero_based(model));
    return name ? name : number;
}

static kb_status shares_of(kb_context *ctx, const kb_model *model, double **out) {
    *out = malloc(kb_model_info(model)->features * sizeof **out);
    kb_status status = *out ? kb_model_importance(ctx, model, *out) : KB_ERR_MEMORY;
    if (status != KB_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

kb_status importance_print(kb_context *ctx, const kb_model *model) {
    size_t d = kb_model_info(model)->features;
    double *part;
    char number[NUMBER_LENGTH];
    if (!kb_model_info(model)->widths_differ)
        return KB_OK;
    kb_status status = shares_of(ctx, model, &part);
    share *sorted = status == KB_OK ? malloc(d * sizeof *sorted) : NULL;
    if (!sorted) {
        free(part);
        return status == KB_OK ? KB_ERR_MEMORY : status;
    }
    for (size_t j = 0; j < d; j++)
        sorted[j] = (share){part[j], j};
    qsort(sorted, d, sizeof *sorted, by_part);
    puts("features  by importance, as their widths tell");
    for (size_t j = 0; j < d && j < FEATURES_SHOWN; j++)
        printf("          %5.1f %%  %s\n", 100 * sorted[j].part,
               name_of(model, sorted[j].feature, number));
    if (d > FEATURES_SHOWN)
        printf("          and %zu more\n", d - FEATURES_SHOWN);
    free(sorted);
    free(part);
    return KB_OK;
}

json_t *importance_json(kb_context *ctx, const kb_model *model) {
    double *part;
    char number[NUMBER_LENGTH];
    kb_status status = shares_of(ctx, model, &part);
    if (status != KB_OK)
        return status == KB_ERR_ARGUMENT ? json_null() : NULL;
    json_t *object = json_object();
    for (size_t j = 0; j < kb_model_info(model)->features; j++)
        report_add(&object, name_of(model, j, number), report_number(part[j]));
    free(part);
    return object;
}
