/* options.c - sets of options, checked against the table. */
#include "options/options.h"
#include "core/memory.h"
#include "core/number.h"
#include "options/kernel_name.h"
#include "options/say.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kb_options {
    kb_allocator allocator;
    kb_option_value values[KB_OPT_COUNT];
    int nearby; /* ranks that share the memory of the machine */
};

static const kb_option_info *row_of(int id) {
    size_t count;
    return &kb_option_table(&count)[id];
}

static int find(const char *name) {
    for (int id = 0; id < KB_OPT_COUNT; id++)
        if (strcmp(row_of(id)->name, name) == 0)
            return id;
    return -1;
}

const char *kb_split_group(const char *text) {
    static const char prefix[] = "group:";
    size_t length = sizeof prefix - 1;
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

const char *kb_weights_column(const char *weights) {
    static const char prefix[] = "column:";
    size_t length = sizeof prefix - 1;
    return weights && strncmp(weights, prefix, length) == 0 ? weights + length : NULL;
}

/* ---- reading values ------------------------------------------------------ */

static int is_integer(const char *text, int64_t *out) {
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || digits[strspn(digits, "0123456789")])
        return 0;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

/* "500M", "1.5g", "4096": bytes with a binary unit. */
static int is_size(const char *text, double *out) {
    static const char units[] = "KMGTkmgt";
    if (strcmp(text, "auto") == 0)
        return 1;
    const char *end = kb_number_parse(text, out);
    if (!end || !(*out > 0))
        return 0;
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        *out = ldexp(*out, 10 * (int)((unit - units) % 4 + 1));
        end++;
    }
    return !*end && *out < 0x1p63;
}

static int is_sigma(const char *text) {
    double width;
    if (strcmp(text, "default") == 0 || strcmp(text, "auto") == 0)
        return 1;
    if (*text == '@')
        return text[1] != '\0';
    for (const char *at = text;; at++) {
        at = kb_number_parse(at, &width);
        if (!at || !(width > 0))
            return 0;
        if (*at != ',')
            return !*at;
    }
}

/* "60s", "5m", "1.5h", "90": seconds with a unit. */
static int is_time(const char *text, double *out) {
    static const struct {
        char name;
        double seconds;
    } unit[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    *out = INFINITY;
    if (strcmp(text, "none") == 0)
        return 1;
    const char *end = kb_number_parse(text, out);
    if (!end || !(*out > 0))
        return 0;
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++)
        if (*end == unit[i].name && !end[1]) {
            *out *= unit[i].seconds;
            return 1;
        }
    return !*end;
}

/* "auto" is -1 and "off" 0. */
static int is_holdout(const char *text, double *out) {
    *out = strcmp(text, "auto") == 0 ? -1 : 0;
    if (*out < 0 || strcmp(text, "off") == 0)
        return 1;
    return kb_number_read(text, out) && *out > 0 && *out <= 0.9;
}

static int is_split(const char *text) {
    const char *column = kb_split_group(text);
    kb_split_kind kind;
    return column ? *column != '\0' : kb_split_find(text, &kind);
}

/* NAME=TYPE,NAME=TYPE,.. */
static int is_types(const char *text) {
    static const char *const type[] = {"number", "boolean", "date", "category", "auto"};
    if (strcmp(text, "auto") == 0)
        return 1;
    for (const char *item = text, *end; item; item = *end ? end + 1 : NULL) {
        const char *value = NULL;
        int known = 0;
        end = item + strcspn(item, ",");
        for (const char *p = item; p < end; p++)
            value = *p == '=' ? p + 1 : value;
        for (size_t k = 0; value && k < sizeof type / sizeof *type; k++)
            known |= strlen(type[k]) == (size_t)(end - value) &&
                     strncmp(type[k], value, (size_t)(end - value)) == 0;
        if (!known || value == item + 1)
            return 0;
    }
    return 1;
}

/* ---- checking ------------------------------------------------------------ */

/* A number that may be left to the library has the default auto. */
static int may_be_auto(const kb_option_info *row) {
    return strcmp(row->default_value, "auto") == 0;
}

static const char *check_number(kb_option_id id, const char *text, kb_option_value *v,
                                char *must_be) {
    const kb_option_info *row = row_of(id);
    const char *or_auto = may_be_auto(row) ? ", or auto" : "";
    if (may_be_auto(row) && strcmp(text, "auto") == 0)
        return NULL;
    if (id == KB_OPT_DIRECTIONS && strcmp(text, "off") == 0) /* as of linear */
        return NULL;
    int whole = row->type == KB_OPTION_INTEGER;
    int good = whole ? is_integer(text, &v->integer) : kb_number_read(text, &v->real);
    if (good && whole)
        v->real = (double)v->integer;
    if (id == KB_OPT_FOLDS && good && v->integer == 1)
        return "0, for one validation split, 2 or more, or auto";
    if (good && v->real >= row->min && v->real <= row->max)
        return NULL;
    if (whole)
        snprintf(must_be, KB_MUST_BE, "a whole number from %.0f to %.0f%s", row->min, row->max,
                 or_auto);
    else
        snprintf(must_be, KB_MUST_BE, "a number from %g to %g%s", row->min, row->max, or_auto);
    return must_be;
}

static const char *check_choice(kb_option_id id, const char *text, kb_option_value *v,
                                char *must_be) {
    int value;
    if (kb_choice_find(id, text, &value)) {
        v->integer = value;
        return NULL;
    }
    const char *choices = row_of(id)->type == KB_OPTION_FLAG ? "off|on" : row_of(id)->choices;
    size_t used = (size_t)snprintf(must_be, KB_MUST_BE, "one of ");
    for (; *choices && used + 3 < KB_MUST_BE; choices++) {
        must_be[used++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            must_be[used++] = ' ';
    }
    must_be[used] = '\0';
    return must_be;
}

/* Checks the form only: the contents of a file, or the length of a list, are checked later. */
static const char *check_text(kb_option_id id, const char *text, kb_option_value *v) {
    kb_kernel_name kernel;
    switch (id) {
    case KB_OPT_SIGMA:
        return is_sigma(text)
                   ? NULL
                   : "a number above 0, a list of them (X1,X2,..), @FILE, default or auto";
    case KB_OPT_KERNEL:
        return kb_kernel_name_parse(text, &kernel) ? NULL : KB_KERNEL_NAMES;
    case KB_OPT_SPLIT:
        return is_split(text) ? NULL : "auto, random, stratified, group:COLUMN or time";
    case KB_OPT_TYPES:
        return is_types(text) ? NULL
                              : "a list like zip=category,code=number, of number, boolean, date, "
                                "category or auto";
    case KB_OPT_BUDGET:
        return is_time(text, &v->real) ? NULL : "a time like 60s, 5m or 1h, or none";
    case KB_OPT_HOLDOUT:
        return is_holdout(text, &v->real) ? NULL : "auto, off, or a share above 0 and up to 0.9";
    case KB_OPT_MAX_MEMORY:
        return is_size(text, &v->real) ? NULL : "a size like 500M or 8G, or auto";
    default:
        return *text ? NULL : "some text";
    }
}

const char *kb_option_parse(kb_option_id id, const char *text, kb_option_value *out,
                            char must_be[KB_MUST_BE]) {
    switch (row_of(id)->type) {
    case KB_OPTION_INTEGER:
    case KB_OPTION_REAL:
        return check_number(id, text, out, must_be);
    case KB_OPTION_CHOICE:
    case KB_OPTION_FLAG:
        return check_choice(id, text, out, must_be);
    default:
        return check_text(id, text, out);
    }
}

/* ---- a set of options ---------------------------------------------------- */

static kb_status set(kb_context *ctx, kb_options *options, kb_option_id id, const char *text) {
    kb_status status;
    kb_option_value v = {0};
    char must_be[KB_MUST_BE];
    const char *wrong = kb_option_parse(id, text, &v, must_be);
    if (wrong)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: must be %s", kb_say_value(ctx, id, text).text,
                       wrong);
    TRY(kb_strdup(ctx, text, &v.text));
    kb_allocator_release(options->allocator, options->values[id].text);
    options->values[id] = v;
done:
    return status;
}

kb_status kb_options_create(kb_context *ctx, kb_options **out) {
    kb_status status;
    kb_options *options;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *options, &options));
    options->allocator = kb_allocator_of(ctx);
    options->nearby = ctx->ranks.nearby > 1 ? ctx->ranks.nearby : 1;
    for (int id = 0; id < KB_OPT_COUNT; id++)
        TRY(set(ctx, options, (kb_option_id)id, row_of(id)->default_value));
    *out = options;
    options = NULL;
done:
    kb_options_free(options);
    return status;
}

void kb_options_free(kb_options *options) {
    if (!options)
        return;
    for (int id = 0; id < KB_OPT_COUNT; id++)
        kb_allocator_release(options->allocator, options->values[id].text);
    kb_allocator_release(options->allocator, options);
}

kb_status kb_options_set(kb_context *ctx, kb_options *options, const char *name, const char *text) {
    int id = find(name);
    if (id < 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "unknown option '%s'", name);
    return set(ctx, options, (kb_option_id)id, text);
}

const char *kb_options_get(const kb_options *options, const char *name) {
    int id = find(name);
    return id < 0 ? NULL : options->values[id].text;
}

const kb_option_value *kb_options_value(const kb_options *options, kb_option_id id) {
    return &options->values[id];
}

int kb_options_nearby(const kb_options *options) {
    return options->nearby;
}
