/* dictionary.c - see dictionary.h. */
#include "dictionary.h"
#include "report.h"

#include <stdarg.h>
#include <string.h>

enum { LINES_SHOWN = 60, LEFT_OUT_SHOWN = 6 };

/* The columns of data or of a model. */
typedef struct table {
    const kb_data *data;
    const kb_model *model; /* where there are no data */
    size_t features, left_out;
} table;

static table table_of_data(const kb_data *data) {
    return (table){data, NULL, kb_data_features(data), kb_data_left_out(data)};
}

static table table_of_model(const kb_model *model) {
    return (table){NULL, model, kb_model_info(model)->features, kb_model_left_out(model)};
}

static kb_column_info column_at(const table *t, size_t j) {
    kb_column_info c = KB_COLUMN_INFO_INIT;
    if (t->data)
        kb_data_column(t->data, j, &c);
    else
        kb_model_column(t->model, j, &c);
    return c;
}

static kb_column_info left_out_at(const table *t, size_t k) {
    kb_column_info c = KB_COLUMN_INFO_INIT;
    if (t->data)
        kb_data_left_out_column(t->data, k, &c);
    else
        kb_model_left_out_column(t->model, k, &c);
    return c;
}

/* ---- in a line --------------------------------------------------------- */

/* A text that is cut where its room ends. */
static void append(dictionary_line *line, const char *format, ...) {
    size_t used = strlen(line->text);
    va_list args;
    va_start(args, format);
    vsnprintf(line->text + used, sizeof line->text - used, format, args);
    va_end(args);
}

/* "17 categories" */
static void append_count(dictionary_line *line, size_t count, kb_column_type type, int *printed) {
    static const char *const many[] = {[KB_COLUMN_NUMBER] = "numbers",
                                       [KB_COLUMN_BOOLEAN] = "booleans",
                                       [KB_COLUMN_DATE] = "dates",
                                       [KB_COLUMN_CATEGORY] = "categories"};
    if (count > 0)
        append(line, "%s%zu %s", (*printed)++ ? ", " : "", count,
               count == 1 ? kb_column_type_name(type) : many[type]);
}

/* "61 numbers, 17 categories, 2 dates; left out: key (id)" */
static void append_types(dictionary_line *line, const table *t) {
    size_t count[KB_COLUMN_IGNORED + 1] = {0}, missing = 0;
    int printed = 0;
    for (size_t j = 0; j < t->features; j++) {
        kb_column_info c = column_at(t, j);
        count[c.type]++;
        missing += c.missing > 0;
    }
    for (int type = KB_COLUMN_NUMBER; type <= KB_COLUMN_CATEGORY; type++)
        append_count(line, count[type], (kb_column_type)type, &printed);
    if (missing > 0)
        append(line, "; %zu with missing values", missing);
    for (size_t k = 0; k < t->left_out && k < LEFT_OUT_SHOWN; k++) {
        kb_column_info c = left_out_at(t, k);
        append(line, "%s %.40s (%s)", k ? "," : "; left out:", c.name,
               kb_column_type_name(c.type));
    }
    if (t->left_out > LEFT_OUT_SHOWN)
        append(line, " and %zu more", t->left_out - LEFT_OUT_SHOWN);
}

dictionary_line dictionary_of_data(const kb_data *data) {
    table t = table_of_data(data);
    dictionary_line line = {""};
    const char *name = kb_data_label_name(data);
    size_t column = kb_data_label_column(data);
    int last = column == t.features + t.left_out + 1;
    if (column > 0 && name)
        append(&line, "label: %.60s (%scolumn%s", name, last ? "last " : "", last ? "); " : " ");
    else if (column > 0)
        append(&line, "label: %scolumn%s", last ? "the last " : "", last ? "; " : " ");
    if (column > 0 && !last)
        append(&line, "%zu%s; ", column, name ? ")" : "");
    append_types(&line, &t);
    return line;
}

/* ---- a model ----------------------------------------------------------- */

static void print_line(FILE *to, const char *name, size_t number, const kb_column_info *c) {
    if (name)
        fprintf(to, "  %-24s %s", name, kb_column_type_name(c->type));
    else
        fprintf(to, "  %-24zu %s", number, kb_column_type_name(c->type));
    if (c->level)
        fprintf(to, ", %zu level%s", c->levels, plural(c->levels));
    for (size_t k = 0; k < c->levels && k < 4; k++)
        fprintf(to, "%s %.20s", k ? "," : ":", c->level[k]);
    if (c->levels > 4)
        fprintf(to, ", ..");
    if (c->missing > 0)
        fprintf(to, "; %zu missing", c->missing);
    fputc('\n', to);
}

static int is_plain(const kb_column_info *c) {
    return c->type == KB_COLUMN_NUMBER && c->missing == 0;
}

void dictionary_print_model(FILE *to, const kb_model *model) {
    table t = table_of_model(model);
    size_t lines = 0;
    dictionary_line line = {""};
    append_types(&line, &t);
    fprintf(to, "columns   %s\n", line.text);
    for (size_t j = 0; j < t.features; j++) {
        kb_column_info c = column_at(&t, j);
        if (!is_plain(&c) && lines++ < LINES_SHOWN)
            print_line(to, c.name, j + 1, &c);
    }
    if (lines > LINES_SHOWN)
        fprintf(to, "  and %zu more\n", lines - LINES_SHOWN);
}

/* ---- JSON -------------------------------------------------------------- */

static json_t *column_json(const kb_column_info *c, size_t number) {
    json_t *object = json_object();
    report_add(&object, "name", c->name ? report_text(c->name) : json_integer((json_int_t)number));
    report_add(&object, "type", json_string(kb_column_type_name(c->type)));
    return object;
}

void dictionary_add_json(json_t **object, const kb_model *model) {
    table t = table_of_model(model);
    json_t *columns = json_array(), *left_out = json_array();
    for (size_t j = 0; j < t.features; j++) {
        kb_column_info c = column_at(&t, j);
        json_t *each = column_json(&c, j + 1);
        report_add(&each, "missing", json_integer((json_int_t)c.missing));
        if (c.level)
            report_add(&each, "levels", json_integer((json_int_t)c.levels));
        json_array_append_new(columns, each);
    }
    for (size_t k = 0; k < t.left_out; k++) {
        kb_column_info c = left_out_at(&t, k);
        json_array_append_new(left_out, column_json(&c, 0));
    }
    report_add(object, "label",
               kb_model_label_name(model) ? report_text(kb_model_label_name(model)) : json_null());
    report_add(object, "columns", columns);
    report_add(object, "left_out", left_out);
}
