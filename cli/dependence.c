/* dependence.c - see dependence.h. */
#include "dependence.h"
#include "importance.h"
#include "report.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 256, POINTS_PRINTED = 7, MOST_CURVES = 6, NAME_LENGTH = 80 };

/* ---- finding ------------------------------------------------------------- */

/* About ROWS of the rows, or NULL for all of them. */
static kb_status sample(session *s, const kb_data *data, kb_data **out) {
    double share = ROWS / (double)kb_data_rows(data);
    kb_data *rest = NULL;
    *out = NULL;
    if (share >= 0.9)
        return KB_OK;
    kb_status status = kb_data_split(s->ctx, data, share, 1, &rest, out);
    kb_data_free(rest);
    return status;
}

static kb_status find_one(session *s, dependences *all, const kb_data *all_rows,
                          const kb_data *data, size_t feature, dependence *d) {
    kb_status status;
    kb_column_info column = KB_COLUMN_INFO_INIT;
    d->feature = feature;
    kb_model_column(all->model, feature, &column);
    TRY(kb_data_values(s->ctx, all_rows, feature, DEPENDENCE_POINTS, d->at, &d->points));
    if (column.level) /* those that the model does not know are left out */
        while (d->points > 0 && d->at[d->points - 1] >= (double)column.levels)
            d->points--;
    size_t cells = d->points * all->width;
    d->mean = malloc((cells + 1) * sizeof(double));
    d->spread = malloc((cells + 1) * sizeof(double));
    if (!d->mean || !d->spread)
        TRY(KB_ERR_MEMORY);
    kb_output what = all->probability                     ? KB_OUTPUT_PROBABILITY
                     : kb_model_info(all->model)->classes ? KB_OUTPUT_DECISION
                                                          : KB_OUTPUT_LABEL;
    TRY(kb_model_dependence(s->ctx, all->model, data, feature, d->points, d->at, what, d->mean,
                            d->spread));
done:
    return status;
}

kb_status dependences_find(session *s, const kb_model *model, const kb_data *data, size_t top,
                           dependences *all) {
    kb_status status;
    kb_data *some = NULL;
    size_t feature[DEPENDENCE_FEATURES];
    const kb_fit_info *info = kb_model_info(model);
    *all = (dependences){.model = model};
    all->probability = info->classes && strcmp(info->probability, "none") != 0;
    all->width = all->probability ? info->classes : info->outputs;
    top = importance_top(s->ctx, model, top < DEPENDENCE_FEATURES ? top : DEPENDENCE_FEATURES,
                         feature);
    TRY(sample(s, data, &some));
    all->rows = kb_data_rows(some ? some : data);
    for (size_t k = 0; k < top; k++) {
        all->count++;
        TRY(find_one(s, all, data, some ? some : data, feature[k], &all->of[k]));
    }
done:
    kb_data_free(some);
    return status;
}

void dependences_free(dependences *all) {
    for (size_t k = 0; k < all->count; k++) {
        free(all->of[k].mean);
        free(all->of[k].spread);
    }
    all->count = 0;
}

/* ---- words --------------------------------------------------------------- */

/* "2019-05-02" of days since 2000-01-01, by the civil calendar. */
static void date_in_words(double days, char *text, size_t size) {
    long z = (long)floor(days) + 730425; /* days since 0000-03-01 */
    long era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    long year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    long of_year = of_era - (365 * year + year / 4 - year / 100);
    long month = (5 * of_year + 2) / 153;
    snprintf(text, size, "%04ld-%02ld-%02ld", year + era * 400 + (month >= 10),
             month < 10 ? month + 3 : month - 9, of_year - (153 * month + 2) / 5 + 1);
}

value_words value_in_words(const kb_model *model, size_t feature, double at) {
    kb_column_info column = KB_COLUMN_INFO_INIT;
    value_words words;
    kb_model_column(model, feature, &column);
    if (column.level && at >= 0 && at < (double)column.levels)
        snprintf(words.text, sizeof words.text, "%.24s", column.level[(size_t)at]);
    else if (column.type == KB_COLUMN_DATE)
        date_in_words(at, words.text, sizeof words.text);
    else
        snprintf(words.text, sizeof words.text, "%s", number_in_words(at, 4).text);
    return words;
}

/* The curve that is printed: that of the one output, or of the second of two classes. */
static const char *curve_name(const dependences *all, size_t curve, char *text) {
    const kb_fit_info *info = kb_model_info(all->model);
    const char *label = kb_model_label_name(all->model);
    if (!info->classes)
        snprintf(text, NAME_LENGTH, "mean %.30s", label ? label : "prediction");
    else
        snprintf(text, NAME_LENGTH, "mean %s of %.30s",
                 all->probability ? "probability" : "decision",
                 kb_model_class_name(all->model, info->classes == 2 ? 1 : curve));
    return text;
}

static int is_shown(const dependences *all, size_t curve) {
    size_t classes = kb_model_info(all->model)->classes;
    return !(classes == 2 && all->width == 2 && curve == 0) && curve < MOST_CURVES;
}

void dependences_print(const dependences *all) {
    char text[NAME_LENGTH], number[FEATURE_NUMBER_LENGTH];
    printf("partial dependence: the prediction over %zu row%s, on average, if a feature had the "
           "same value in all\n",
           all->rows, plural(all->rows));
    for (size_t k = 0; k < all->count; k++) {
        const dependence *d = &all->of[k];
        size_t shown = d->points < POINTS_PRINTED ? d->points : POINTS_PRINTED;
        printf("\n%-28s", feature_name(all->model, d->feature, number));
        for (size_t i = 0; i < shown; i++) {
            double at = d->at[shown > 1 ? i * (d->points - 1) / (shown - 1) : 0];
            printf(" %10.10s", value_in_words(all->model, d->feature, at).text);
        }
        putchar('\n');
        for (size_t c = 0; c < all->width; c++) {
            if (!is_shown(all, c))
                continue;
            printf("  %-26.26s", curve_name(all, c, text));
            for (size_t i = 0; i < shown; i++) {
                size_t at = shown > 1 ? i * (d->points - 1) / (shown - 1) : 0;
                printf(" %10s", number_in_words(d->mean[at * all->width + c], 4).text);
            }
            putchar('\n');
        }
    }
}

/* ---- figure -------------------------------------------------------------- */

static void add_panel(figure *f, const dependences *all, const dependence *d) {
    char number[FEATURE_NUMBER_LENGTH], title[NAME_LENGTH];
    static const char years[] = "year";
    kb_column_info column = KB_COLUMN_INFO_INIT;
    const char *name = feature_name(all->model, d->feature, number);
    char numbered[FEATURE_NUMBER_LENGTH + 8];
    snprintf(numbered, sizeof numbered, "feature %s", number);
    name = name == number ? numbered : name;
    kb_model_column(all->model, d->feature, &column);
    int dates = column.type == KB_COLUMN_DATE, several = all->width > 2;
    int named = dates || column.level; /* by a title: names may fill the room below the axis */
    figure_panel(f, (panel){.title = named ? name : NULL,
                            .x = dates   ? years
                                 : named ? NULL
                                         : name,
                            .y = several ? (all->probability ? "mean probability" : "mean decision")
                                         : curve_name(all, all->width - 1, title)});
    if (column.level) {
        const char *names[DEPENDENCE_POINTS];
        for (size_t i = 0; i < d->points; i++)
            names[i] = column.level[(size_t)d->at[i]];
        figure_names(f, names, d->points);
    }
    for (size_t c = 0; c < all->width; c++) {
        if (!is_shown(all, c))
            continue;
        figure_series(f, several ? kb_model_class_name(all->model, c) : NULL,
                      column.level ? PLOT_POINTS : PLOT_CURVE, several ? (int)c : 0);
        for (size_t i = 0; i < d->points; i++)
            figure_point(f,
                         column.level ? (double)i
                         : dates      ? 2000 + d->at[i] / 365.2425
                                      : d->at[i],
                         d->mean[i * all->width + c], 0);
    }
}

figure *dependences_figure(const dependences *all, const char *title, int columns) {
    figure *f = figure_create(title, columns);
    for (size_t k = 0; k < all->count; k++)
        add_panel(f, all, &all->of[k]);
    return f;
}

figure *dependence_figure(const dependences *all, size_t k) {
    figure *f = figure_create(NULL, 1);
    add_panel(f, all, &all->of[k]);
    return f;
}

/* ---- JSON ---------------------------------------------------------------- */

/* One list for one curve, else a list of lists. */
static json_t *table(const dependences *all, const dependence *d, const double *x) {
    json_t *list = json_array();
    for (size_t i = 0; i < d->points; i++) {
        json_t *line = all->width == 1 ? report_number(x[i]) : json_array();
        for (size_t c = 0; c < all->width && all->width > 1; c++)
            json_array_append_new(line, report_number(x[i * all->width + c]));
        json_array_append_new(list, line);
    }
    return list;
}

json_t *dependences_json(const dependences *all) {
    json_t *list = json_array();
    for (size_t k = 0; k < all->count; k++) {
        const dependence *d = &all->of[k];
        char number[FEATURE_NUMBER_LENGTH];
        kb_column_info column = KB_COLUMN_INFO_INIT;
        json_t *at = json_array();
        kb_model_column(all->model, d->feature, &column);
        for (size_t i = 0; i < d->points; i++) {
            value_words words = value_in_words(all->model, d->feature, d->at[i]);
            json_array_append_new(at, column.level || column.type == KB_COLUMN_DATE
                                          ? report_text(words.text)
                                          : report_number(d->at[i]));
        }
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:o, s:o}", "feature",
                                        report_text(feature_name(all->model, d->feature, number)),
                                        "at", at, "mean", table(all, d, d->mean), "standard_error",
                                        table(all, d, d->spread)));
    }
    return list;
}
