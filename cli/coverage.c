/* coverage.c - see coverage.h. */
#include "coverage.h"

#include <math.h>
#include <stdlib.h>

static const double asked[COVERAGES] = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95};

/* Whether the label of row i is inside, and how large the interval or set is; -1: it has none. */
static int is_inside(const evaluation *e, size_t i, const double *row, double *size) {
    size_t classes = e->info->classes;
    *size = 0;
    if (!classes) {
        *size = row[2] - row[1];
        return isnan(e->label[i]) ? -1 : row[1] <= e->label[i] && e->label[i] <= row[2];
    }
    for (size_t c = 0; c < classes; c++)
        *size += row[c];
    return e->class_of[i] < 0 ? -1 : row[e->class_of[i]] > 0;
}

static coverage measure(const evaluation *e, double share, const double *all, size_t numbers) {
    coverage out = {.asked = share};
    double rows = 0;
    for (size_t i = 0; i < e->rows; i++) {
        double size;
        int inside = is_inside(e, i, all + i * numbers, &size);
        if (inside < 0)
            continue;
        rows++;
        out.inside += inside;
        out.size += size;
    }
    out.inside /= rows;
    out.size /= rows;
    out.spread = sqrt(out.inside * (1 - out.inside) / rows);
    return out;
}

kb_status coverages_measure(session *s, const evaluation *e, const kb_data *data,
                            coverage out[COVERAGES], size_t *count) {
    kb_status status;
    kb_request request = KB_REQUEST_INIT;
    size_t numbers = e->info->classes ? e->info->classes : 3;
    double *all = malloc((e->rows * numbers + 1) * sizeof *all);
    request.what = e->info->classes ? KB_OUTPUT_SET : KB_OUTPUT_INTERVAL;
    *count = 0;
    if (!all)
        TRY(KB_ERR_MEMORY);
    status = KB_OK;
    if (e->labelled == 0 || kb_request_check(s->ctx, e->model, &request) != KB_OK)
        goto done;
    for (size_t k = 0; k < COVERAGES; k++) {
        request.coverage = asked[k];
        TRY(kb_model_predict_as(s->ctx, e->model, data, &request, all));
        out[k] = measure(e, asked[k], all, numbers);
        *count = k + 1;
    }
done:
    free(all);
    return status;
}

figure *coverage_figure(const coverage *of, size_t count) {
    if (count == 0)
        return NULL;
    figure *f = figure_create(NULL, 1);
    figure_panel(
        f, (panel){.x = "share asked for", .y = "share of labels inside", .title = "Coverage"});
    figure_series(f, "test rows, with a standard error", PLOT_CURVE, 0);
    for (size_t k = 0; k < count; k++)
        figure_point(f, of[k].asked, of[k].inside, of[k].spread);
    figure_series(f, "perfect", PLOT_LINE, 6);
    figure_point(f, of[0].asked, of[0].asked, 0);
    figure_point(f, of[count - 1].asked, of[count - 1].asked, 0);
    return f;
}

figure *coverage_size_figure(const evaluation *e, const coverage *of, size_t count) {
    if (count == 0)
        return NULL;
    int classes = e->info->classes > 0;
    figure *f = figure_create(NULL, 1);
    figure_panel(f, (panel){.x = "share asked for",
                            .y = classes ? "mean number of classes" : "mean width",
                            .title = classes ? "Classes in a set" : "Width of the intervals"});
    figure_series(f, NULL, PLOT_CURVE, 0);
    for (size_t k = 0; k < count; k++)
        figure_point(f, of[k].asked, of[k].size, 0);
    return f;
}
