/* extra_columns.c - see extra_columns.h. */
#include "extra_columns.h"
#include "importance.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>

/* Features of a column that are shown. */
enum { SHOWN = 4 };

static size_t count_of(const kb_model *model) {
    const kb_fit_info *info = kb_model_info(model);
    return info->linear_columns + info->directions;
}

/* The feature of largest share; its place is then taken by 0. */
static size_t take_largest(size_t features, double *share, double *out) {
    size_t best = 0;
    for (size_t j = 1; j < features; j++)
        if (fabs(share[j]) > fabs(share[best]))
            best = j;
    *out = share[best];
    share[best] = 0;
    return best;
}

kb_status extra_columns_print(const kb_model *model) {
    const kb_fit_info *info = kb_model_info(model);
    size_t count = count_of(model);
    char number[FEATURE_NUMBER_LENGTH];
    double *share = count ? malloc(info->features * sizeof *share) : NULL, part;
    if (!count)
        return KB_OK;
    if (!share)
        return KB_ERR_MEMORY;
    puts("extra     columns, and what moves them:");
    for (size_t k = 0; k < count && kb_model_extra_column(model, k, share) == KB_OK; k++) {
        int linear = k < info->linear_columns;
        printf("          %s %zu ", linear ? "linear fit" : "direction",
               1 + (linear ? k : k - info->linear_columns));
        for (size_t i = 0; i < SHOWN && i < info->features; i++) {
            size_t j = take_largest(info->features, share, &part);
            if (part != 0)
                printf(" %+.0f %% %s", 100 * part, feature_name(model, j, number));
        }
        puts("");
    }
    free(share);
    return KB_OK;
}

void extra_columns_add_json(json_t **object, const kb_model *model) {
    size_t count = count_of(model), features = kb_model_info(model)->features;
    double *share = malloc((features + 1) * sizeof *share);
    json_t *list = json_array();
    char number[FEATURE_NUMBER_LENGTH];
    for (size_t k = 0; share && k < count && kb_model_extra_column(model, k, share) == KB_OK; k++) {
        json_t *column = json_object();
        for (size_t j = 0; j < features; j++)
            if (share[j] != 0)
                json_object_set_new(column, feature_name(model, j, number), json_real(share[j]));
        json_array_append_new(list, column);
    }
    free(share);
    report_add(object, "extra_columns", list);
}
