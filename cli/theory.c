/* theory.c - see theory.h. */
#include "theory.h"
#include "report.h"

#include <string.h>

double theory_speedup(double threads, size_t grids, size_t bins) {
    double D = (double)bins, R = (double)grids;
    return threads / (1 + (D > 1 ? (R - 1) * (threads - 1) / (D - 1) : 0));
}

/* The rivals have no bins. */
static int applies(const kb_fit_info *info) {
    return strcmp(info->map, "binning") == 0 && info->grids > 0;
}

static double mean_bins(const kb_fit_info *info) {
    return (double)info->bins / (double)info->grids;
}

static double rate(const kb_fit_info *info) {
    return 1 / (info->kappa * (double)info->grids);
}

void theory_print(FILE *to, const kb_fit_info *info, int threads) {
    if (!applies(info))
        return;
    fprintf(to, "theory    kappa-bar = D/R = %.4g; ", mean_bins(info));
    if (info->kappa > 0)
        fprintf(to, "rate 1/(kappa R) = %.3g; ", rate(info));
    fprintf(to, "predicted speed-up of %d thread%s %.3f\n", threads, plural((size_t)threads),
            theory_speedup(threads, info->grids, info->bins));
}

void theory_add_json(json_t **object, const kb_fit_info *info, int threads) {
    if (!applies(info))
        return;
    json_t *theory = json_pack("{s:f}", "kappa_bar", mean_bins(info));
    if (info->kappa > 0)
        report_add(&theory, "rate", report_number(rate(info)));
    report_add(&theory, "threads", json_integer(threads));
    report_add(&theory, "predicted_speedup",
               report_number(theory_speedup(threads, info->grids, info->bins)));
    report_add(object, "theory", theory);
}
