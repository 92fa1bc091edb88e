/* trace.c - see trace.h. */
#include "trace.h"
#include "report.h"

#include <math.h>
#include <string.h>

/* Whether trial i is the best with its widths and loss, among those with the most grids; of equal
 * ones the last. */
static int is_last(const kb_trial_info *tried, size_t count, size_t i) {
    for (size_t k = 0; k < count; k++)
        if (k != i && strcmp(tried[k].widths, tried[i].widths) == 0 &&
            strcmp(tried[k].loss, tried[i].loss) == 0 &&
            (tried[k].grids > tried[i].grids ||
             (tried[k].grids == tried[i].grids &&
              (tried[k].error < tried[i].error || (tried[k].error == tried[i].error && k > i)))))
            return 0;
    return 1;
}

void trace_print(FILE *to, const kb_model *model) {
    const kb_fit_info *info = kb_model_info(model);
    size_t count;
    const kb_trial_info *tried = kb_model_trials(model, &count);
    for (size_t i = 0; i < count; i++) {
        char name[64];
        if (!is_last(tried, count, i))
            continue;
        snprintf(name, sizeof name, "%s widths, %s loss", tried[i].widths, tried[i].loss);
        fprintf(to, "tried     %-38s lambda %-7.3g ", name, tried[i].lambda);
        if (info->classes)
            fprintf(to, "%.2f %% wrong", 100 * tried[i].error);
        else
            fprintf(to, "rmse %.6g", sqrt(tried[i].error));
        fprintf(to, " with %zu grids\n", tried[i].grids);
    }
    if (count > 0)
        fprintf(to, "tuned     with %zu trials on validation rows in %.2f s\n", count,
                kb_model_cost(model)->tune_seconds);
}

json_t *trace_json(const kb_model *model) {
    size_t count;
    const kb_trial_info *tried = kb_model_trials(model, &count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:o, s:I, s:I, s:o, s:f}", "widths", tried[i].widths,
                            "loss", tried[i].loss, "sigma",
                            tried[i].sigma > 0 ? report_number(tried[i].sigma) : json_null(),
                            "lambda", report_number(tried[i].lambda), "grids",
                            (json_int_t)tried[i].grids, "steps", (json_int_t)tried[i].steps,
                            "error", report_number(tried[i].error), "seconds", tried[i].seconds));
    return list;
}
