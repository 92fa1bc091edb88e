/* importance.c - see importance.h. */
#include "importance.h"
#include "plot.h"
#include "report.h"

#include <stdlib.h>

enum { FEATURES_SHOWN = 15, FEATURES_DRAWN = 30 };

typedef struct place {
    double rank;
    size_t feature;
} place;

/* What is known of the features. */
typedef struct known {
    kb_importance measured; /* without rows: none */
    double *fineness;       /* NULL: not in the file, or all widths are equal */
    place *order;           /* features, the most important first */
    size_t features;
    const char *score; /* "accuracy" */
    int percent;       /* that score is written as a percentage */
} known;

/* The larger first; equal ones in the order of the data. */
static int by_rank(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? 1 : -1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

const char *feature_name(const kb_model *model, size_t feature, char *number) {
    const char *name = kb_model_feature_name(model, feature);
    snprintf(number, FEATURE_NUMBER_LENGTH, "%zu", feature + !kb_model_zero_based(model));
    return name ? name : number;
}

static void forget(known *k) {
    free(k->fineness);
    free(k->order);
}

static kb_status ask(kb_context *ctx, const kb_model *model, known *k) {
    kb_status status = KB_OK;
    const kb_fit_info *info = kb_model_info(model);
    *k = (known){.features = info->features,
                 .score = info->classes ? "accuracy" : "r2",
                 .percent = info->classes > 0};
    k->measured.size = sizeof k->measured;
    if (kb_model_importance(model, &k->measured) != KB_OK)
        k->measured.rows = 0;
    k->order = malloc(k->features * sizeof *k->order);
    k->fineness = malloc(k->features * sizeof *k->fineness);
    if (!k->order || !k->fineness)
        return KB_ERR_MEMORY;
    status = kb_model_fineness(ctx, model, k->fineness);
    if (status == KB_ERR_ARGUMENT || !info->widths_differ) {
        free(k->fineness);
        k->fineness = NULL;
        status = KB_OK;
    }
    for (size_t j = 0; j < k->features; j++)
        k->order[j] = (place){k->measured.rows ? k->measured.drop[j]
                              : k->fineness    ? k->fineness[j]
                                               : 0,
                              j};
    qsort(k->order, k->features, sizeof *k->order, by_rank);
    return status;
}

/* ---- words --------------------------------------------------------------- */

static void print_list(const known *k, const kb_model *model) {
    char number[FEATURE_NUMBER_LENGTH];
    for (size_t i = 0; i < k->features && i < FEATURES_SHOWN; i++) {
        size_t j = k->order[i].feature;
        fputs("          ", stdout);
        if (k->measured.rows && k->percent)
            printf("%6.2f +- %4.2f %%  ", 100 * k->measured.drop[j],
                   100 * k->measured.standard_error[j]);
        else if (k->measured.rows)
            printf("%7.4f +- %6.4f  ", k->measured.drop[j], k->measured.standard_error[j]);
        if (k->fineness)
            printf("%5.1f %%  ", 100 * k->fineness[j]);
        puts(feature_name(model, j, number));
    }
    if (k->features > FEATURES_SHOWN)
        printf("          and %zu more\n", k->features - FEATURES_SHOWN);
}

kb_status importance_print(kb_context *ctx, const kb_model *model) {
    known k;
    kb_status status = ask(ctx, model, &k);
    if (status == KB_OK && k.measured.rows)
        printf("features  by importance: how much %s drops on %zu validation rows if a feature is\n"
               "          shuffled%s\n",
               k.score, k.measured.rows,
               k.fineness ? "; then its share of the grids' splits, which says how finely it is "
                            "split"
                          : "");
    else if (status == KB_OK && k.fineness)
        puts("features  by how finely the grids split them; their importance was not measured");
    if (status == KB_OK && (k.measured.rows || k.fineness))
        print_list(&k, model);
    forget(&k);
    return status;
}

/* ---- figure -------------------------------------------------------------- */

figure *importance_figure(kb_context *ctx, const kb_model *model, const char *title) {
    known k;
    char number[FEATURES_DRAWN][FEATURE_NUMBER_LENGTH], axis[80];
    const char *name[FEATURES_DRAWN];
    double value[FEATURES_DRAWN], spread[FEATURES_DRAWN];
    figure *f = NULL;
    if (ask(ctx, model, &k) == KB_OK && (k.measured.rows || k.fineness))
        f = figure_create(title             ? title
                          : k.measured.rows ? "Feature importance"
                                            : "How finely the grids split the features",
                          1);
    size_t count = k.features < FEATURES_DRAWN ? k.features : FEATURES_DRAWN;
    double unit = k.percent || !k.measured.rows ? 100 : 1;
    for (size_t i = 0; f && i < count; i++) {
        name[i] = feature_name(model, k.order[i].feature, number[i]);
        value[i] = unit * k.order[i].rank;
        spread[i] = k.measured.rows ? unit * k.measured.standard_error[k.order[i].feature] : 0;
    }
    if (k.measured.rows)
        snprintf(axis, sizeof axis, "%s lost if shuffled%s", k.score, k.percent ? ", %" : "");
    else
        snprintf(axis, sizeof axis, "share of the splits, %%");
    if (f) {
        figure_panel(f, (panel){.x = axis});
        figure_bars(f, name, value, k.measured.rows ? spread : NULL, count);
    }
    forget(&k);
    return f;
}

int importance_is_known(const kb_model *model) {
    kb_importance measured = KB_IMPORTANCE_INIT;
    return kb_model_importance(model, &measured) == KB_OK || kb_model_info(model)->widths_differ;
}

kb_status importance_plot(session *s, const kb_model *model, const char *path) {
    if (!importance_is_known(model))
        return session_fail(s, KB_ERR_ARGUMENT,
                            "--plot: the importance of the features was not measured, and their "
                            "widths are equal; train with --importance on");
    figure *f = importance_figure(s->ctx, model, NULL);
    kb_status status = figure_save(s, f, path, NULL);
    figure_free(f);
    return status;
}

size_t importance_top(kb_context *ctx, const kb_model *model, size_t most, size_t *feature) {
    known k;
    size_t count = 0;
    if (ask(ctx, model, &k) == KB_OK)
        for (; count < most && count < k.features; count++)
            feature[count] = k.order[count].feature;
    forget(&k);
    return count;
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *by_name(const kb_model *model, const double *value) {
    char number[FEATURE_NUMBER_LENGTH];
    json_t *object = json_object();
    for (size_t j = 0; j < kb_model_info(model)->features; j++)
        report_add(&object, feature_name(model, j, number), report_number(value[j]));
    return object;
}

void importance_add_json(json_t **object, kb_context *ctx, const kb_model *model) {
    known k;
    json_t *measured = json_null();
    kb_status status = ask(ctx, model, &k);
    if (status == KB_OK && k.measured.rows) {
        measured = json_pack("{s:s, s:I, s:I, s:o}", "score", k.score, "rows",
                             (json_int_t)k.measured.rows, "repeats", (json_int_t)k.measured.repeats,
                             "before", report_number(k.measured.score));
        report_add(&measured, "drop", by_name(model, k.measured.drop));
        report_add(&measured, "standard_error", by_name(model, k.measured.standard_error));
    }
    report_add(object, "importance", measured);
    report_add(object, "fineness", k.fineness ? by_name(model, k.fineness) : json_null());
    forget(&k);
}
