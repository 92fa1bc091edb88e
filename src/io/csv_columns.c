/*
 * csv_columns.c - see csv_columns.h; the rules are in reader.h.
 *
 * A word in the first row makes it a header.  An empty field or an NA does not: the row would be
 * dropped silently, instead of an error about the missing value.
 */
#include "io/csv_columns.h"
#include "core/number.h"
#include "io/weight_file.h"
#include "options/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *kb_field_cut(char **cursor, char delimiter) {
    char *p = *cursor, *field, *end;
    while (*p == ' ')
        p++;
    if (*p != '"') {
        field = p;
        while (*p != delimiter && *p != '\0')
            p++;
        for (end = p; end > field && end[-1] == ' ';)
            end--;
    } else {
        field = end = ++p;
        for (; *p != '\0' && (*p != '"' || p[1] == '"'); p++) {
            p += *p == '"';
            *end++ = *p;
        }
        if (*p++ != '"')
            return NULL;
        while (*p == ' ')
            p++;
        if (*p != delimiter && *p != '\0')
            return NULL;
    }
    *cursor = *p == '\0' ? NULL : p + 1;
    *end = '\0';
    return field;
}

static char find_delimiter(const char *line) {
    char found = ',';
    int quoted = 0;
    for (; *line; line++) {
        quoted ^= *line == '"';
        if (!quoted && *line == '\t')
            return '\t';
        if (!quoted && *line == ';')
            found = ';';
    }
    return found;
}

static kb_status split(kb_context *ctx, kb_input *in, const char *line, kb_csv_columns *c) {
    kb_status status;
    size_t most = 1;
    c->delimiter = find_delimiter(line);
    c->line_number = kb_input_line_number(in);
    for (const char *p = line; *p; p++)
        most += *p == c->delimiter;
    TRY(kb_strdup(ctx, line, &c->line));
    TRY(kb_alloc(ctx, most, sizeof *c->field, &c->field));
    TRY(kb_alloc(ctx, most, sizeof *c->feature, &c->feature));
    for (char *cursor = c->line; cursor;) {
        char *field = kb_field_cut(&cursor, c->delimiter);
        if (!field)
            TRY(kb_input_fail(in, "field %zu: a quote is not closed where the field ends",
                              c->count + 1));
        c->feature[c->count] = KB_NO_COLUMN;
        c->field[c->count++] = field;
    }
done:
    return status;
}

/* ---- names ------------------------------------------------------------- */

typedef struct named {
    const char *name;
    size_t column;
} named;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* The names of the header in alphabetical order; none may come twice. */
static kb_status sort_names(kb_context *ctx, kb_input *in, const kb_csv_columns *c, named **out) {
    kb_status status;
    TRY(kb_alloc(ctx, c->count, sizeof **out, out));
    for (size_t k = 0; k < c->count; k++)
        (*out)[k] = (named){c->field[k], k};
    qsort(*out, c->count, sizeof **out, by_name);
    for (size_t k = 1; k < c->count; k++) {
        const char *name = (*out)[k].name;
        if (strcmp((*out)[k - 1].name, name) == 0)
            TRY(kb_input_fail(in, "two columns are named '%s'", kb_quote(name, strlen(name)).text));
    }
done:
    return status;
}

/* KB_NO_COLUMN if there is none of that name, or no header. */
static size_t column_named(const kb_csv_columns *c, const named *sorted, const char *name) {
    named key = {name, 0};
    const named *found = NULL;
    if (sorted && name)
        found = bsearch(&key, sorted, c->count, sizeof key, by_name);
    return found ? found->column : KB_NO_COLUMN;
}

/* ---- the label, the weight and the group ------------------------------- */

/* The column that the caller wants for a role. */
typedef struct wish {
    enum { NOTHING, BY_NUMBER, BY_NAME } by;
    const char *role, *name;
    long number;
} wish;

static wish wish_for(const char *role, const char *text) {
    wish w = {.by = NOTHING, .role = role, .name = text};
    char *end;
    if (!text)
        return w;
    w.number = strtol(text, &end, 10);
    w.by = end != text && *end == '\0' ? BY_NUMBER : BY_NAME;
    return w;
}

static wish label_wish(const kb_read_spec *spec) {
    const char *text = spec->label ? spec->label : "-1";
    return wish_for("label", strcmp(text, "none") ? text : NULL);
}

static wish weight_wish(const kb_read_spec *spec) {
    return wish_for("weight", kb_weights_column(spec->weights));
}

static wish group_wish(const kb_read_spec *spec) {
    return wish_for("group", spec->group);
}

/* Column number 1 .. count, or -1 .. -count from the end; KB_NO_COLUMN for others. */
static size_t column_numbered(const kb_csv_columns *c, long number) {
    long count = (long)c->count;
    if (number == 0 || number > count || number < -count)
        return KB_NO_COLUMN;
    return (size_t)(number > 0 ? number - 1 : count + number);
}

/* The column of a wish that is not NOTHING; it must be there. */
static kb_status find_column(kb_context *ctx, kb_input *in, const kb_csv_columns *c,
                             const named *sorted, const wish *w, size_t *out) {
    if (w->by == BY_NUMBER) {
        *out = column_numbered(c, w->number);
        if (*out == KB_NO_COLUMN)
            return kb_fail(ctx, KB_ERR_ARGUMENT,
                           "%s: the %s cannot be column %ld: there are %zu columns, the first is "
                           "1, the last -1",
                           kb_input_name(in), w->role, w->number, c->count);
        return KB_OK;
    }
    *out = column_named(c, sorted, w->name);
    if (*out != KB_NO_COLUMN)
        return KB_OK;
    if (sorted)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: no column is named '%s', so it cannot be the %s",
                       kb_input_name(in), w->name, w->role);
    return kb_fail(ctx, KB_ERR_ARGUMENT,
                   "%s: the file has no header, so the %s cannot be named '%s'", kb_input_name(in),
                   w->role, w->name);
}

/* The group in a file to predict, where the column is only skipped: KB_NO_COLUMN if it is
 * missing, or if another column has its number. */
static size_t find_group_to_skip(const kb_csv_columns *c, const named *sorted, const wish *w) {
    size_t at =
        w->by == BY_NUMBER ? column_numbered(c, w->number) : column_named(c, sorted, w->name);
    if (at == KB_NO_COLUMN || c->feature[at] != KB_NO_COLUMN || at == c->label || at == c->weight)
        return KB_NO_COLUMN;
    return at;
}

/* "the label, the weight and the group", with those of them that are asked for. */
typedef struct role_text {
    char text[64];
} role_text;

static role_text list_roles(const char *article, int label, int weight, int group) {
    const int is_there[] = {label, weight, group};
    static const char *const name[] = {"label", "weight", "group"};
    role_text out = {""};
    size_t used = 0;
    for (int k = 0, left = label + weight + group; k < 3; k++)
        if (is_there[k]) {
            const char *join = used == 0 ? "" : left == 1 ? " and " : ", ";
            used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%s %s", join,
                                     article, name[k]);
            left--;
        }
    return out;
}

/* ---- the features ------------------------------------------------------ */

static int has_word(const kb_csv_columns *c, size_t label, size_t group) {
    for (size_t k = 0; k < c->count; k++)
        if (k != label && k != group &&
            kb_number_check(c->field[k], strlen(c->field[k])) == KB_NUMBER_WORD)
            return 1;
    return 0;
}

/* Every column but those with another role, in the order of the file. */
static void take_in_order(kb_csv_columns *c) {
    for (size_t k = 0; k < c->count; k++)
        if (k != c->label && k != c->weight && k != c->group)
            c->feature[k] = c->features++;
}

static void warn_of_ignored(kb_context *ctx, kb_input *in, const kb_csv_columns *c) {
    size_t ignored = 0, example = 0;
    for (size_t k = c->count; k-- > 0;)
        if (c->feature[k] == KB_NO_COLUMN && k != c->label && k != c->weight && k != c->group) {
            ignored++;
            example = k;
        }
    if (ignored > 0)
        kb_log(ctx, KB_LOG_WARNING, "%s: %zu column%s unknown to the model %s ignored (%s)",
               kb_input_name(in), ignored, ignored == 1 ? "" : "s", ignored == 1 ? "is" : "are",
               kb_column_in_words(c, example).text);
}

static kb_status take_by_name(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                              kb_csv_columns *c, const named *sorted) {
    kb_status status = KB_OK;
    for (size_t j = 0; j < spec->features; j++) {
        const char *name = spec->feature_name[j];
        size_t column = column_named(c, sorted, name);
        if (column == KB_NO_COLUMN)
            TRY(kb_input_fail(in, "no column is named '%s', a feature of the model",
                              kb_quote(name, strlen(name)).text));
        c->feature[column] = j;
    }
    c->features = spec->features;

    wish label = label_wish(spec), weight = weight_wish(spec), group = group_wish(spec);
    size_t at = KB_NO_COLUMN;
    if (label.by == BY_NAME)
        at = column_named(c, sorted, label.name);
    if (label.by != NOTHING && at == KB_NO_COLUMN)
        at = column_named(c, sorted, spec->label_name);
    if (at != KB_NO_COLUMN && c->feature[at] == KB_NO_COLUMN)
        c->label = at;

    if (weight.by == BY_NUMBER)
        TRY(find_column(ctx, in, c, sorted, &weight, &c->weight));
    else
        c->weight = column_named(c, sorted, weight.name);
    if (c->weight != KB_NO_COLUMN && c->feature[c->weight] != KB_NO_COLUMN)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                    "%s: %s is a feature of the model, so it cannot be the weight",
                    kb_input_name(in), kb_column_in_words(c, c->weight).text));
    c->group = find_group_to_skip(c, sorted, &group);
    warn_of_ignored(ctx, in, c);
done:
    return status;
}

static kb_status refuse_count(kb_input *in, const kb_csv_columns *c, size_t features, int label,
                              int weight, int group) {
    int any = label || weight || group;
    return kb_input_fail(in, "%zu columns, but the model has %zu feature%s%s%s%s", c->count,
                         features, features == 1 ? "" : "s", any ? " (and there may be " : "",
                         list_roles("one", label, weight, group).text, any ? ")" : "");
}

static kb_status refuse_open(kb_context *ctx, kb_input *in, const kb_csv_columns *c,
                             size_t features, int group) {
    return kb_input_fail(
        in, "%zu columns, but the model has %zu feature%s; %s is open (use %s%s %s%s%s)", c->count,
        features, features == 1 ? "" : "s",
        group ? "which of the label, the weight and the group are there"
              : "whether the other is the label or the weight",
        kb_say_value(ctx, KB_OPT_LABEL, "none").text, group ? "," : " or",
        kb_say_value(ctx, KB_OPT_WEIGHTS, "none").text, group ? " or another " : "",
        group ? kb_say(ctx, KB_OPT_SPLIT).text : "");
}

/* Without names, only the number of columns tells which are there.  Those given by number must
 * then all be there or none: where some are left over, each could as well be another. */
static kb_status take_by_count(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                               kb_csv_columns *c, const named *sorted) {
    kb_status status = KB_OK;
    wish label = label_wish(spec), weight = weight_wish(spec), group = group_wish(spec);
    int labelled = label.by != NOTHING, by_number = group.by == BY_NUMBER;
    size_t open = (size_t)(labelled + (weight.by == BY_NUMBER) + by_number);
    if (weight.by == BY_NAME)
        c->weight = column_named(c, sorted, weight.name);
    if (group.by == BY_NAME)
        c->group = column_named(c, sorted, group.name);
    size_t known = spec->features + (c->weight != KB_NO_COLUMN) + (c->group != KB_NO_COLUMN);
    if (c->count < known || c->count - known > open)
        TRY(refuse_count(in, c, spec->features, labelled, weight.by != NOTHING,
                         group.by != NOTHING));
    if (c->count > known && c->count - known < open)
        TRY(refuse_open(ctx, in, c, spec->features, by_number));
    if (c->count > known) {
        if (labelled)
            TRY(find_column(ctx, in, c, sorted, &label, &c->label));
        if (weight.by == BY_NUMBER)
            TRY(find_column(ctx, in, c, sorted, &weight, &c->weight));
        if (by_number)
            TRY(find_column(ctx, in, c, sorted, &group, &c->group));
    }
    take_in_order(c);
done:
    return status;
}

static kb_status take_to_train(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                               kb_csv_columns *c, const named *sorted) {
    kb_status status = KB_OK;
    wish label = label_wish(spec), weight = weight_wish(spec), group = group_wish(spec);
    if (label.by != NOTHING)
        TRY(find_column(ctx, in, c, sorted, &label, &c->label));
    if (weight.by != NOTHING)
        TRY(find_column(ctx, in, c, sorted, &weight, &c->weight));
    if (group.by != NOTHING)
        TRY(find_column(ctx, in, c, sorted, &group, &c->group));
    take_in_order(c);
done:
    return status;
}

/* ---- all of them ------------------------------------------------------- */

/* The first row is looked at with the label and the group left out, if a number says where they
 * are: they may be words in any row. */
static kb_status find_header(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                             kb_csv_columns *c) {
    kb_status status = KB_OK;
    wish label = label_wish(spec), weight = weight_wish(spec), group = group_wish(spec);
    size_t at = KB_NO_COLUMN, group_at = KB_NO_COLUMN;
    size_t most = spec->features + 1 + (weight.by != NOTHING) + (group.by != NOTHING);
    int labelled = !spec->to_predict || (c->count > spec->features && c->count <= most);
    int by_name = label.by == BY_NAME || weight.by == BY_NAME || group.by == BY_NAME;
    if (label.by == BY_NUMBER && labelled)
        TRY(find_column(ctx, in, c, NULL, &label, &at));
    if (group.by == BY_NUMBER && labelled)
        group_at = column_numbered(c, group.number);
    c->header = spec->header == KB_HEADER_ON ||
                (spec->header == KB_HEADER_AUTO &&
                 ((!spec->to_predict && by_name) || has_word(c, at, group_at)));
done:
    return status;
}

static kb_status check_group(kb_context *ctx, const char *file, const kb_csv_columns *c) {
    if (c->group == KB_NO_COLUMN || (c->group != c->label && c->group != c->weight))
        return KB_OK;
    if (c->group == c->label)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: %s cannot be both the label and the group (use %s)", file,
                       kb_column_in_words(c, c->group).text, kb_say(ctx, KB_OPT_LABEL).text);
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: %s cannot be both the weight and the group", file,
                   kb_column_in_words(c, c->group).text);
}

static kb_status check_roles(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                             const kb_csv_columns *c) {
    const char *file = kb_input_name(in);
    if (c->weight != KB_NO_COLUMN && c->weight == c->label)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: %s cannot be both the label and the weight (use %s)", file,
                       kb_column_in_words(c, c->label).text, kb_say(ctx, KB_OPT_LABEL).text);
    kb_status status = check_group(ctx, file, c);
    if (status != KB_OK)
        return status;
    if (c->features == 0)
        return kb_fail(ctx, KB_ERR_DATA, "%s: no features: %s %s", file,
                       list_roles("the", c->label != KB_NO_COLUMN, c->weight != KB_NO_COLUMN,
                                  c->group != KB_NO_COLUMN)
                           .text,
                       c->count == 1 ? "is the only column" : "are the only columns");
    if (kb_weights_column(spec->weights) && c->weight == KB_NO_COLUMN)
        kb_log(ctx, KB_LOG_WARNING, "%s: no column '%s' with weights; every sample counts the same",
               file, kb_weights_column(spec->weights));
    return KB_OK;
}

static kb_status choose(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                        kb_csv_columns *c) {
    kb_status status;
    named *sorted = NULL;
    TRY(find_header(ctx, spec, in, c));
    if (c->header)
        TRY(sort_names(ctx, in, c, &sorted));
    if (spec->to_predict && c->header && spec->feature_name)
        TRY(take_by_name(ctx, spec, in, c, sorted));
    else if (spec->to_predict)
        TRY(take_by_count(ctx, spec, in, c, sorted));
    else
        TRY(take_to_train(ctx, spec, in, c, sorted));
    TRY(check_roles(ctx, spec, in, c));
done:
    kb_release(ctx, sorted);
    return status;
}

kb_status kb_csv_columns_build(kb_context *ctx, const kb_read_spec *spec, kb_input *input,
                               const char *line, kb_csv_columns *out) {
    kb_status status;
    *out = (kb_csv_columns){.label = KB_NO_COLUMN, .weight = KB_NO_COLUMN, .group = KB_NO_COLUMN};
    TRY(split(ctx, input, line, out));
    TRY(choose(ctx, spec, input, out));
done:
    return status;
}

void kb_csv_columns_clear(kb_context *ctx, kb_csv_columns *c) {
    kb_release(ctx, c->field);
    kb_release(ctx, c->line);
    kb_release(ctx, c->feature);
    *c = (kb_csv_columns){0};
}

kb_column_text kb_column_in_words(const kb_csv_columns *c, size_t column) {
    kb_column_text out;
    if (c->header && *c->field[column])
        snprintf(out.text, sizeof out.text, "column '%s'",
                 kb_quote(c->field[column], strlen(c->field[column])).text);
    else
        snprintf(out.text, sizeof out.text, "column %zu", column + 1);
    return out;
}
