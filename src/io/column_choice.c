/* column_choice.c - see column_choice.h. */
#include "io/column_choice.h"
#include "lines/input.h"
#include "options/say.h"
#include "table/table.h"

#include <string.h>

static kb_status refuse(kb_context *ctx, const kb_column_choice *c, kb_option_id option,
                        const char *item) {
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s%s%s: no column %s '%s'%s", c->file ? c->file : "",
                   c->file ? ": " : "", kb_say(ctx, option).text,
                   c->names->name ? "is named" : "has the number",
                   kb_quote(item, strlen(item)).text, kb_column_names_hint(c->names, item).text);
}

static void leave_out(void *arg, size_t column) {
    ((uint8_t *)arg)[column] = 1;
}

static void take_back(void *arg, size_t column) {
    ((uint8_t *)arg)[column] = 0;
}

static kb_status mark(kb_context *ctx, const kb_column_choice *c, kb_option_id option,
                      const char *list, void (*found)(void *arg, size_t column), uint8_t *ignored) {
    kb_status status = KB_OK;
    char item[KB_ITEM_TEXT];
    while (kb_list_item(&list, item))
        if (*item && kb_columns_match(c->names, c->count, item, found, ignored) == 0)
            TRY(refuse(ctx, c, option, item));
done:
    return status;
}

kb_status kb_choose_columns(kb_context *ctx, const kb_column_choice *c, size_t keep,
                            uint8_t *ignored) {
    kb_status status = KB_OK;
    memset(ignored, c->columns != NULL, c->count);
    TRY(mark(ctx, c, KB_OPT_COLUMNS, c->columns, take_back, ignored));
    if (keep != KB_NO_COLUMN)
        ignored[keep] = 0;
    TRY(mark(ctx, c, KB_OPT_IGNORE, c->ignore, leave_out, ignored));
done:
    return status;
}

typedef struct keeping {
    size_t *place, count;
} keeping;

static void keep_column(void *arg, size_t column) {
    keeping *k = arg;
    if (k->place[column] == KB_NO_COLUMN)
        k->place[column] = k->count++;
}

kb_status kb_choose_kept(kb_context *ctx, const kb_column_choice *c, const char *keep,
                         size_t *place, size_t *kept) {
    kb_status status = KB_OK;
    keeping k = {.place = place};
    char item[KB_ITEM_TEXT];
    for (size_t column = 0; column < c->count; column++)
        place[column] = KB_NO_COLUMN;
    while (kb_list_item(&keep, item))
        if (*item && kb_columns_match(c->names, c->count, item, keep_column, &k) == 0)
            TRY(refuse(ctx, c, KB_OPT_KEEP, item));
    *kept = k.count;
done:
    return status;
}

typedef struct asking {
    kb_column_type *wanted, type;
} asking;

static void ask(void *arg, size_t column) {
    asking *a = arg;
    a->wanted[column] = a->type;
}

kb_status kb_choose_types(kb_context *ctx, const kb_column_choice *c, kb_column_type *wanted) {
    kb_status status = KB_OK;
    asking a = {.wanted = wanted};
    const char *list = c->types;
    char item[KB_ITEM_TEXT];
    while (kb_list_item(&list, item)) {
        char *type = strrchr(item, '=');
        if (!type) /* the options let it pass, so it was cut */
            TRY(refuse(ctx, c, KB_OPT_TYPES, item));
        *type++ = '\0';
        kb_column_type_find(type, strlen(type), &a.type);
        if (kb_columns_match(c->names, c->count, item, ask, &a) == 0)
            TRY(refuse(ctx, c, KB_OPT_TYPES, item));
    }
done:
    return status;
}
