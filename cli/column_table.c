/* column_table.c - see column_table.h. */
#include "column_table.h"
#include "dependence.h"
#include "html.h"
#include "importance.h"

enum { ROWS = 20000, LEVELS_SHOWN = 5 };

static size_t shown(const kb_model *model) {
    size_t features = kb_model_info(model)->features;
    return features < COLUMN_TABLE_MOST ? features : COLUMN_TABLE_MOST;
}

kb_status column_table_make(session *s, const kb_model *model, const kb_data *data,
                            column_table *out) {
    kb_status status = KB_OK;
    kb_data *rest = NULL, *some = NULL;
    double share = ROWS / (double)kb_data_rows(data);
    *out = (column_table){0};
    if (share < 0.9)
        TRY(kb_data_split(s->ctx, data, share, 1, &rest, &some));
    data = some ? some : data;
    out->rows = kb_data_rows(data);
    for (size_t j = 0; j < shown(model); j++) {
        double ends[2];
        size_t count;
        TRY(kb_data_values(s->ctx, data, j, 2, ends, &count));
        out->known[j] = count > 0;
        out->low[j] = count > 0 ? ends[0] : 0;
        out->high[j] = count > 0 ? ends[count - 1] : 0;
    }
done:
    kb_data_free(rest);
    kb_data_free(some);
    return status;
}

static void put_values(FILE *to, const kb_model *model, size_t j, const kb_column_info *c,
                       const column_table *table) {
    for (size_t k = 0; k < c->levels && k < LEVELS_SHOWN; k++) {
        fputs(k ? ", " : "", to);
        html_text(to, c->level[k]);
    }
    if (c->levels > LEVELS_SHOWN)
        fprintf(to, " and %zu more", c->levels - LEVELS_SHOWN);
    if (c->levels > 0 || !table->known[j])
        return;
    html_text(to, value_in_words(model, j, table->low[j]).text);
    fputs(" to ", to);
    html_text(to, value_in_words(model, j, table->high[j]).text);
}

static void put_left_out(FILE *to, const kb_model *model) {
    for (size_t k = 0; k < kb_model_left_out(model); k++) {
        kb_column_info c = KB_COLUMN_INFO_INIT;
        kb_model_left_out_column(model, k, &c);
        fputs("<tr><td>", to);
        html_text(to, c.name);
        fprintf(to, "</td><td>%s, left out</td><td></td><td></td></tr>\n",
                kb_column_type_name(c.type));
    }
}

void column_table_put(FILE *to, const kb_model *model, const column_table *table) {
    char number[FEATURE_NUMBER_LENGTH];
    size_t features = kb_model_info(model)->features;
    fprintf(to,
            "<h2>Columns</h2>\n<p>Missing cells are those of the training rows, ranges those of "
            "%zu test rows.</p>\n<div class=\"wide\"><table class=\"columns\">\n<thead><tr>"
            "<th>column</th><th>type</th><th>missing</th><th>values</th></tr></thead>\n<tbody>\n",
            table->rows);
    for (size_t j = 0; j < shown(model); j++) {
        kb_column_info c = KB_COLUMN_INFO_INIT;
        kb_model_column(model, j, &c);
        fputs("<tr><td>", to);
        html_text(to, feature_name(model, j, number));
        fprintf(to, "</td><td>%s</td><td>%zu</td><td>", kb_column_type_name(c.type), c.missing);
        put_values(to, model, j, &c, table);
        fputs("</td></tr>\n", to);
    }
    put_left_out(to, model);
    fputs("</tbody></table></div>\n", to);
    if (features > COLUMN_TABLE_MOST)
        fprintf(to, "<p>and %zu more</p>\n", features - COLUMN_TABLE_MOST);
}
