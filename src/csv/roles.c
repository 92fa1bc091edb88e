/* roles.c - see roles.h; the rules are in reader.h. */
#include "csv/roles.h"
#include "core/number.h"
#include "io/weight_file.h"
#include "options/options.h"
#include "options/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the label, the weight and the group ------------------------------- */

/* The column that the caller wants for a role. */
typedef struct wish {
    enum { NOTHING, BY_NUMBER, BY_NAME } by;
    const char *role, *name;
} wish;

static int is_number(const char *text) {
    char *end;
    strtol(text, &end, 10);
    return end != text && *end == '\0';
}

static wish wish_for(const char *role, const char *text) {
    wish w = {.by = NOTHING, .role = role, .name = text};
    if (text)
        w.by = is_number(text) ? BY_NUMBER : BY_NAME;
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

/* The column of a wish that is not NOTHING: a name first, even one that looks like a number. */
static size_t look_up(const kb_csv_columns *c, const wish *w) {
    size_t column = kb_column_named(&c->names, w->name);
    return column == KB_NO_COLUMN && w->by == BY_NUMBER ? kb_column_numbered(c->count, w->name)
                                                        : column;
}

/* "price,rent", each of them a column. */
static int names_several(const kb_csv_columns *c, const wish *w) {
    char item[KB_ITEM_TEXT];
    const char *list = w->name;
    size_t count = 0;
    for (; kb_list_item(&list, item); count++)
        if (kb_column_named(&c->names, item) == KB_NO_COLUMN)
            return 0;
    return count > 1;
}

/* It must be there. */
static kb_status find_column(kb_context *ctx, kb_input *in, const kb_csv_columns *c, const wish *w,
                             size_t *out) {
    const char *file = kb_input_name(in);
    *out = look_up(c, w);
    if (*out != KB_NO_COLUMN)
        return KB_OK;
    if (w->by == BY_NUMBER)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: the %s cannot be column %s: there are %zu columns, the first is "
                       "1, the last -1",
                       file, w->role, w->name, c->count);
    if (names_several(c, w))
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: '%s' are several columns, and there is one %s in a model: make a model "
                       "for each, and keep the others out by %s",
                       file, kb_quote(w->name, strlen(w->name)).text, w->role,
                       kb_say(ctx, KB_OPT_IGNORE).text);
    if (c->header)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: no column is named '%s', so it cannot be the %s%s", file,
                       kb_quote(w->name, strlen(w->name)).text, w->role,
                       kb_column_names_hint(&c->names, w->name).text);
    return kb_fail(ctx, KB_ERR_ARGUMENT,
                   "%s: the file has no header, so the %s cannot be named '%s'", file, w->role,
                   w->name);
}

/* The group in a file to predict, where the column is only skipped: KB_NO_COLUMN if it is
 * missing, or if another column has its number. */
static size_t find_group_to_skip(const kb_csv_columns *c, const wish *w) {
    size_t at = w->by == NOTHING ? KB_NO_COLUMN : look_up(c, w);
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

/* Every column but those with another role, in the order of the file. */
static void take_in_order(kb_csv_columns *c) {
    for (size_t k = 0; k < c->count; k++)
        if (k != c->label && k != c->weight && k != c->group && !c->ignored[k]) {
            c->source[c->features] = k;
            c->feature[k] = c->features++;
        }
}

static int is_left_out(const kb_read_spec *spec, const char *name) {
    return spec->table && kb_table_leaves_out(spec->table, name);
}

static int is_kept(const kb_csv_columns *c, size_t column) {
    return c->keep && c->keep[column] != KB_NO_COLUMN;
}

static void warn_of_ignored(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                            const kb_csv_columns *c) {
    size_t ignored = 0, example = 0;
    for (size_t k = c->count; k-- > 0;)
        if (c->feature[k] == KB_NO_COLUMN && k != c->label && k != c->weight && k != c->group &&
            !is_left_out(spec, c->names.name[k]) && !is_kept(c, k)) {
            ignored++;
            example = k;
        }
    if (ignored > 0)
        kb_log(ctx, KB_LOG_WARNING, "%s: %zu column%s unknown to the model %s ignored (%s)",
               kb_input_name(in), ignored, ignored == 1 ? "" : "s", ignored == 1 ? "is" : "are",
               kb_column_in_words(c, example).text);
}

/* All names that are missing, as far as there is room. */
static kb_status refuse_missing(const kb_read_spec *spec, kb_input *in, const kb_csv_columns *c,
                                const char *first) {
    char text[300];
    size_t used = 0, missing = 0;
    for (size_t j = 0; j < spec->features; j++)
        if (kb_column_named(&c->names, spec->feature_name[j]) == KB_NO_COLUMN) {
            const char *name = spec->feature_name[j];
            if (used < sizeof text - 60)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s'%s'",
                                         used > 0 ? ", " : "", kb_quote(name, strlen(name)).text);
            missing++;
        }
    return kb_input_fail(in, "%zu feature%s of the model %s: no column is named %s%s", missing,
                         missing == 1 ? "" : "s", missing == 1 ? "is missing" : "are missing", text,
                         kb_column_names_hint(&c->names, first).text);
}

static kb_status take_by_name(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                              kb_csv_columns *c) {
    kb_status status = KB_OK;
    for (size_t j = 0; j < spec->features; j++) {
        size_t column = kb_column_named(&c->names, spec->feature_name[j]);
        if (column == KB_NO_COLUMN)
            TRY(refuse_missing(spec, in, c, spec->feature_name[j]));
        c->feature[column] = j;
        c->source[j] = column;
    }
    c->features = spec->features;

    wish label = label_wish(spec), weight = weight_wish(spec), group = group_wish(spec);
    size_t at = KB_NO_COLUMN;
    if (label.by == BY_NAME)
        at = kb_column_named(&c->names, label.name);
    if (label.by == BY_NAME && at == KB_NO_COLUMN &&
        !(spec->label_name && strcmp(label.name, spec->label_name) == 0))
        kb_log(ctx, KB_LOG_WARNING, "%s: no column is named '%s', so it cannot be the label%s",
               kb_input_name(in), kb_quote(label.name, strlen(label.name)).text,
               kb_column_names_hint(&c->names, label.name).text);
    if (label.by != NOTHING && at == KB_NO_COLUMN)
        at = kb_column_named(&c->names, spec->label_name);
    if (at != KB_NO_COLUMN && c->feature[at] == KB_NO_COLUMN)
        c->label = at;

    if (weight.by == BY_NUMBER)
        TRY(find_column(ctx, in, c, &weight, &c->weight));
    else
        c->weight = kb_column_named(&c->names, weight.name);
    if (c->weight != KB_NO_COLUMN && c->feature[c->weight] != KB_NO_COLUMN)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                    "%s: %s is a feature of the model, so it cannot be the weight",
                    kb_input_name(in), kb_column_in_words(c, c->weight).text));
    c->group = find_group_to_skip(c, &group);
    warn_of_ignored(ctx, spec, in, c);
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
                               kb_csv_columns *c) {
    kb_status status = KB_OK;
    wish label = label_wish(spec), weight = weight_wish(spec), group = group_wish(spec);
    int labelled = label.by != NOTHING, by_number = group.by == BY_NUMBER;
    size_t open = (size_t)(labelled + (weight.by == BY_NUMBER) + by_number);
    if (weight.by == BY_NAME)
        c->weight = kb_column_named(&c->names, weight.name);
    if (group.by == BY_NAME)
        c->group = kb_column_named(&c->names, group.name);
    size_t left_out = spec->table ? spec->table->left_out : 0;
    size_t known =
        spec->features + left_out + (c->weight != KB_NO_COLUMN) + (c->group != KB_NO_COLUMN);
    if (c->count < known || c->count - known > open)
        TRY(refuse_count(in, c, spec->features + left_out, labelled, weight.by != NOTHING,
                         group.by != NOTHING));
    if (c->count > known && c->count - known < open)
        TRY(refuse_open(ctx, in, c, spec->features + left_out, by_number));
    if (c->count > known) {
        if (labelled)
            TRY(find_column(ctx, in, c, &label, &c->label));
        if (weight.by == BY_NUMBER)
            TRY(find_column(ctx, in, c, &weight, &c->weight));
        if (by_number)
            TRY(find_column(ctx, in, c, &group, &c->group));
    }
    for (size_t k = 0; k < c->count && left_out > 0; k++)
        c->ignored[k] = k != c->label && k != c->weight && k != c->group &&
                        kb_table_leaves_out_place(spec->table, kb_csv_place(c, k));
    take_in_order(c);
done:
    return status;
}

static kb_status leave_out_columns(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                                   kb_csv_columns *c) {
    kb_status status;
    kb_column_choice choice = kb_csv_choice(spec, in, c);
    TRY(kb_choose_columns(ctx, &choice, c->label, c->ignored));
    if (c->label != KB_NO_COLUMN && c->ignored[c->label])
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                    "%s: %s is the label, so it cannot be ignored (name the label by %s)",
                    kb_input_name(in), kb_column_in_words(c, c->label).text,
                    kb_say(ctx, KB_OPT_LABEL).text));
done:
    return status;
}

static kb_status take_to_train(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                               kb_csv_columns *c) {
    kb_status status = KB_OK;
    wish label = label_wish(spec), weight = weight_wish(spec), group = group_wish(spec);
    if (label.by != NOTHING)
        TRY(find_column(ctx, in, c, &label, &c->label));
    if (weight.by != NOTHING)
        TRY(find_column(ctx, in, c, &weight, &c->weight));
    if (group.by != NOTHING)
        TRY(find_column(ctx, in, c, &group, &c->group));
    TRY(leave_out_columns(ctx, spec, in, c));
    take_in_order(c);
done:
    return status;
}

/* ---- all of them ------------------------------------------------------- */

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
    if (c->features == 0 && memchr(c->ignored, 1, c->count))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: no features: %s and %s leave none", file,
                       kb_say(ctx, KB_OPT_COLUMNS).text, kb_say(ctx, KB_OPT_IGNORE).text);
    if (c->features == 0)
        return kb_fail(ctx, KB_ERR_DATA, "%s: no features: %s %s", file,
                       list_roles("the", c->label != KB_NO_COLUMN, c->weight != KB_NO_COLUMN,
                                  c->group != KB_NO_COLUMN)
                           .text,
                       c->count == 1 ? "is the only column (columns stand between commas, "
                                       "semicolons, tabs or |)"
                                     : "are the only columns");
    if (kb_weights_column(spec->weights) && c->weight == KB_NO_COLUMN)
        kb_log(ctx, KB_LOG_WARNING,
               "%s: no column '%s' with weights; every sample counts the same%s", file,
               kb_weights_column(spec->weights),
               kb_column_names_hint(&c->names, kb_weights_column(spec->weights)).text);
    return KB_OK;
}

int kb_csv_is_name(const kb_csv_columns *c, const char *text) {
    if (!is_number(text))
        return *text != '\0';
    if (kb_column_numbered(c->count, text) != KB_NO_COLUMN)
        return 0;
    for (size_t k = 0; k < c->count; k++)
        if (strcmp(c->field[k], text) == 0)
            return 1;
    return 0;
}

static int is_name(const kb_csv_columns *c, const wish *w) {
    return w->by != NOTHING && kb_csv_is_name(c, w->name);
}

kb_status kb_csv_word_columns(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                              const kb_csv_columns *c, size_t skip[2], int *by_name) {
    kb_status status = KB_OK;
    wish label = label_wish(spec), weight = weight_wish(spec), group = group_wish(spec);
    size_t least = spec->features + (spec->table ? spec->table->left_out : 0);
    size_t most = least + 1 + (weight.by != NOTHING) + (group.by != NOTHING);
    int labelled = !spec->to_predict || (c->count > least && c->count <= most);
    *by_name = is_name(c, &label) || is_name(c, &weight) || is_name(c, &group);
    skip[0] = skip[1] = KB_NO_COLUMN;
    if (label.by == BY_NUMBER && labelled && !is_name(c, &label))
        TRY(find_column(ctx, in, c, &label, &skip[0]));
    if (group.by == BY_NUMBER && labelled)
        skip[1] = look_up(c, &group);
done:
    return status;
}

kb_status kb_csv_roles_find(kb_context *ctx, const kb_read_spec *spec, kb_input *in,
                            kb_csv_columns *c) {
    kb_status status;
    if (spec->to_predict && c->header && spec->feature_name)
        TRY(take_by_name(ctx, spec, in, c));
    else if (spec->to_predict)
        TRY(take_by_count(ctx, spec, in, c));
    else
        TRY(take_to_train(ctx, spec, in, c));
    TRY(check_roles(ctx, spec, in, c));
done:
    return status;
}
