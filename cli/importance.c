/* importance.c - see importance.h. */
#include "importance.h"
#include "plot.h"
#include "report.h"

#include <stdlib.h>

enum { FEATURES_SHOWN = 15, FEATURES_DRAWN = 30, NUMBER_LENGTH = 24 };

typedef struct share {
    double part;
    size_t feature;
} share;

/* The larger first; equal ones in the order of the data. */
static int by_part(const void *a, const void *b) {
    const share *x = a, *y = b;
    if (x->part != y->part)
        return x->part < y->part ? 1 : -1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Its name, or its number as in the data; `number` is a buffer for the latter. */
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

/* All features, the most important first; to be freed. */
static kb_status sorted_shares(kb_context *ctx, const kb_model *model, share **out) {
    size_t d = kb_model_info(model)->features;
    double *part;
    kb_status status = shares_of(ctx, model, &part);
    *out = status == KB_OK ? malloc(d * sizeof **out) : NULL;
    if (status == KB_OK && !*out)
        status = KB_ERR_MEMORY;
    for (size_t j = 0; *out && j < d; j++)
        (*out)[j] = (share){part[j], j};
    if (*out)
        qsort(*out, d, sizeof **out, by_part);
    free(part);
    return status;
}

kb_status importance_print(kb_context *ctx, const kb_model *model) {
    size_t d = kb_model_info(model)->features;
    char number[NUMBER_LENGTH];
    share *sorted;
    if (!kb_model_info(model)->widths_differ)
        return KB_OK;
    kb_status status = sorted_shares(ctx, model, &sorted);
    if (status != KB_OK)
        return status;
    puts("features  by importance, from their widths");
    for (size_t j = 0; j < d && j < FEATURES_SHOWN; j++)
        printf("          %5.1f %%  %s\n", 100 * sorted[j].part,
               name_of(model, sorted[j].feature, number));
    if (d > FEATURES_SHOWN)
        printf("          and %zu more\n", d - FEATURES_SHOWN);
    free(sorted);
    return KB_OK;
}

kb_status importance_plot(session *s, const kb_model *model, const char *path) {
    kb_status status;
    size_t d = kb_model_info(model)->features, count = d < FEATURES_DRAWN ? d : FEATURES_DRAWN;
    char number[FEATURES_DRAWN][NUMBER_LENGTH];
    const char *name[FEATURES_DRAWN];
    double value[FEATURES_DRAWN];
    share *sorted = NULL;
    figure *f = figure_create("Feature importance", 1);
    TRY(sorted_shares(s->ctx, model, &sorted));
    for (size_t j = 0; j < count; j++) {
        name[j] = name_of(model, sorted[j].feature, number[j]);
        value[j] = 100 * sorted[j].part;
    }
    figure_panel(f, (panel){.x = "importance, %"});
    figure_bars(f, name, value, count);
    TRY(figure_save(s, f, path, NULL));
done:
    figure_free(f);
    free(sorted);
    return status;
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
