/*
 * columns.c - see columns.h; the rules are in reader.h.
 *
 * A header is told by a word in the first row.  An empty field or an NA there is no
 * sign of one: taking it so would drop a sample in silence, where an error about
 * the missing value is due.
 */
#include "data/columns.h"
#include "data/number.h"
#include "data/weights.h"

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

static kb_status split(kb_context *ctx, kb_input *in, const char *line, kb_columns *c) {
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
static kb_status sort_names(kb_context *ctx, kb_input *in, const kb_columns *c, named **out) {
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
static size_t column_named(const kb_columns *c, const named *sorted, const char *name) {
    named key = {name, 0};
    const named *found = NULL;
    if (sorted && name)
        found = bsearch(&key, sorted, c->count, sizeof key, by_name);
    return found ? found->column : KB_NO_COLUMN;
}

/* ---- the label and the weight ------------------------------------------ */

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

/* The column of a wish that is not NOTHING; it must be there. */
static kb_status find_column(kb_context *ctx, kb_input *in, const kb_columns *c,
                             const named *sorted, const wish *w, size_t *out) {
    long count = (long)c->count;
    if (w->by == BY_NUMBER) {
        if (w->number == 0 || w->number > count || w->number < -count)
            return kb_fail(ctx, KB_ERR_ARGUMENT,
                           "%s: the %s cannot be column %ld: there are %ld columns, the first is "
                           "1, the last -1",
                           kb_input_name(in), w->role, w->number, count);
        *out = (size_t)(w->number > 0 ? w->number - 1 : count + w->number);
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

/* ---- the features ------------------------------------------------------ */

static int has_word(const kb_columns *c, size_t except) {
    for (size_t k = 0; k < c->count; k++)
        if (k != except && kb_number_check(c->field[k], strlen(c->field[k])) == KB_NUMBER_WORD)
            return 1;
    return 0;
}

/* Every column but the label's and the weight's, in the order of the file. */
static void take_in_order(kb_columns *c) {
    for (size_t k = 0; k < c->count; k++)
        if (k != c->label && k != c->weight)
            c->feature[k] = c->features++;
}

static void warn_of_ignored(kb_context *ctx, kb_input *in, const kb_columns *c) {
    size_t ignored = 0, example = 0;
    for (size_t k = c->count; k-- > 0;)
        if (c->feature[k] == KB_NO_COLUMN && k != c->label && k != c->weight) {
            ignored++;
            example = k;
        }
    if (ignored > 0)
        kb_log(ctx, KB_LOG_WARNING, "%s: %zu column%s unknown to the model %s ignored (%s)",
               kb_input_name(in), ignored, ignored == 1 ? "" : "s", ignored == 1 ? "is" : "are",
               kb_column_in_words(c, example).text);
}

static kb_status take_by_name(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                              kb_columns *c, const named *sorted) {
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

    wish label = label_wish(spec), weight = weight_wish(spec);
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
    warn_of_ignored(ctx, in, c);
done:
    return status;
}

/* Without names, only the number of columns tells which are there.  Where one is left
 * over, a weight by number could as well be the label. */
static kb_status take_by_count(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                               kb_columns *c, const named *sorted) {
    static const char *const also[] = {"", " (and there may be one label)",
                                       " (and there may be one weight)",
                                       " (and there may be one label and one weight)"};
    kb_status status = KB_OK;
    wish label = label_wish(spec), weight = weight_wish(spec);
    size_t features = spec->features, labels = label.by != NOTHING;
    if (weight.by == BY_NAME)
        c->weight = column_named(c, sorted, weight.name);
    if (weight.by == BY_NUMBER && labels && c->count == features + 1)
        TRY(kb_input_fail(in,
                          "%zu columns, but the model has %zu feature%s; whether the other is the "
                          "label or the weight is open (use --label none or --weights none)",
                          c->count, features, features == 1 ? "" : "s"));
    if (weight.by == BY_NUMBER && c->count == features + labels + 1)
        TRY(find_column(ctx, in, c, sorted, &weight, &c->weight));
    size_t others = features + (c->weight != KB_NO_COLUMN);
    if (labels && c->count == others + 1)
        TRY(find_column(ctx, in, c, sorted, &label, &c->label));
    else if (c->count != others)
        TRY(kb_input_fail(in, "%zu columns, but the model has %zu feature%s%s", c->count, features,
                          features == 1 ? "" : "s", also[labels + 2 * (weight.by != NOTHING)]));
    take_in_order(c);
done:
    return status;
}

static kb_status take_to_train(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                               kb_columns *c, const named *sorted) {
    kb_status status = KB_OK;
    wish label = label_wish(spec), weight = weight_wish(spec);
    if (label.by != NOTHING)
        TRY(find_column(ctx, in, c, sorted, &label, &c->label));
    if (weight.by != NOTHING)
        TRY(find_column(ctx, in, c, sorted, &weight, &c->weight));
    take_in_order(c);
done:
    return status;
}

/* ---- all of them ------------------------------------------------------- */

/* The first row is looked at with the label left out, if that is where a number says. */
static kb_status find_header(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                             kb_columns *c) {
    kb_status status = KB_OK;
    wish label = label_wish(spec), weight = weight_wish(spec);
    size_t at = KB_NO_COLUMN;
    int labelled = !spec->to_predict || c->count == spec->features + 1 ||
                   (weight.by != NOTHING && c->count == spec->features + 2);
    if (label.by == BY_NUMBER && labelled)
        TRY(find_column(ctx, in, c, NULL, &label, &at));
    c->header =
        spec->header == KB_HEADER_ON ||
        (spec->header == KB_HEADER_AUTO &&
         ((!spec->to_predict && (label.by == BY_NAME || weight.by == BY_NAME)) || has_word(c, at)));
done:
    return status;
}

static kb_status check_roles(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                             const kb_columns *c) {
    const char *file = kb_input_name(in);
    if (c->weight != KB_NO_COLUMN && c->weight == c->label)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: %s cannot be both the label and the weight (use --label)", file,
                       kb_column_in_words(c, c->label).text);
    if (c->features == 0)
        return kb_fail(ctx, KB_ERR_DATA, "%s: no features: the %s", file,
                       c->weight == KB_NO_COLUMN  ? "label is the only column"
                       : c->label == KB_NO_COLUMN ? "weight is the only column"
                                                  : "label and the weight are the only columns");
    if (kb_weights_column(spec->weights) && c->weight == KB_NO_COLUMN)
        kb_log(ctx, KB_LOG_WARNING, "%s: no column '%s' with weights; every sample counts the same",
               file, kb_weights_column(spec->weights));
    return KB_OK;
}

static kb_status choose(kb_context *ctx, const kb_read_spec *spec, kb_input *in, kb_columns *c) {
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

kb_status kb_columns_build(kb_context *ctx, const kb_read_spec *spec, kb_input *input,
                           const char *line, kb_columns *out) {
    kb_status status;
    *out = (kb_columns){.label = KB_NO_COLUMN, .weight = KB_NO_COLUMN};
    TRY(split(ctx, input, line, out));
    TRY(choose(ctx, spec, input, out));
done:
    return status;
}

void kb_columns_clear(kb_context *ctx, kb_columns *c) {
    kb_release(ctx, c->field);
    kb_release(ctx, c->line);
    kb_release(ctx, c->feature);
    *c = (kb_columns){0};
}

kb_column_text kb_column_in_words(const kb_columns *c, size_t column) {
    kb_column_text out;
    if (c->header && *c->field[column])
        snprintf(out.text, sizeof out.text, "column '%s'",
                 kb_quote(c->field[column], strlen(c->field[column])).text);
    else
        snprintf(out.text, sizeof out.text, "column %zu", column + 1);
    return out;
}
