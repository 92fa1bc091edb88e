/* trace.c - see trace.h. */
#include "trace.h"
#include "report.h"

#include <math.h>
#include <string.h>

int trace_is_best(const kb_trial_info *tried, size_t count, size_t i) {
    for (size_t k = 0; k < count; k++)
        if (k != i && strcmp(tried[k].widths, tried[i].widths) == 0 &&
            strcmp(tried[k].loss, tried[i].loss) == 0 &&
            (tried[k].grids > tried[i].grids ||
             (tried[k].grids == tried[i].grids &&
              (tried[k].error < tried[i].error || (tried[k].error == tried[i].error && k > i)))))
            return 0;
    return 1;
}

typedef struct trial_name {
    char text[64];
} trial_name;

/* "learned widths, square loss" */
static trial_name name_of(const kb_trial_info *t) {
    trial_name name;
    snprintf(name.text, sizeof name.text, "%s widths, %s loss", t->widths, t->loss);
    return name;
}

/* The name takes `width` columns, so that the numbers stand below each other. */
static void print_trial(FILE *to, const char *what, const kb_trial_info *t, int width,
                        int classes) {
    fprintf(to, "%-10s%-*s  lambda %-7.3g ", what, width, name_of(t).text, t->lambda);
    if (classes)
        fprintf(to, "%.2f %% wrong", 100 * t->error);
    else
        fprintf(to, "rmse %.6g", sqrt(t->error));
    fprintf(to, " with %zu grids\n", t->grids);
}

void trace_print(FILE *to, const kb_model *model) {
    const kb_fit_info *info = kb_model_info(model);
    size_t count;
    const kb_trial_info *tried = kb_model_trials(model, &count);
    int width = 0;
    for (size_t i = 0; i < count; i++) {
        int length = (int)strlen(name_of(&tried[i]).text);
        if (length > width)
            width = length;
    }
    for (size_t i = 0; i < count; i++)
        if (trace_is_best(tried, count, i))
            print_trial(to, "tried", &tried[i], width, info->classes > 0);
    if (count > 0)
        print_trial(to, "chosen", &tried[kb_model_chosen_trial(model)], width, info->classes > 0);
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
            list,
            json_pack("{s:s, s:s, s:o, s:o, s:I, s:I, s:o, s:f, s:b}", "widths", tried[i].widths,
                      "loss", tried[i].loss, "sigma",
                      tried[i].sigma > 0 ? report_number(tried[i].sigma) : json_null(), "lambda",
                      report_number(tried[i].lambda), "grids", (json_int_t)tried[i].grids, "steps",
                      (json_int_t)tried[i].steps, "error", report_number(tried[i].error), "seconds",
                      tried[i].seconds, "chosen", i == kb_model_chosen_trial(model)));
    return list;
}

figure *trace_figure(const kb_model *model) {
    const kb_fit_info *info = kb_model_info(model);
    size_t count, chosen = kb_model_chosen_trial(model);
    const kb_trial_info *tried = kb_model_trials(model, &count);
    if (count == 0)
        return NULL;
    figure *f = figure_create(NULL, 1);
    figure_panel(f, (panel){.x = "trial", .y = info->classes ? "share wrong" : "rmse"});
    figure_series(f, "trials", PLOT_POINTS, 0);
    for (size_t i = 0; i < count; i++)
        figure_point(f, (double)(i + 1), info->classes ? tried[i].error : sqrt(tried[i].error), 0);
    figure_series(f, "chosen", PLOT_BEST, 1);
    if (chosen < count)
        figure_point(f, (double)(chosen + 1),
                     info->classes ? tried[chosen].error : sqrt(tried[chosen].error), 0);
    return f;
}
