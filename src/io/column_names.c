/* column_names.c - see column_names.h. */
#include "io/column_names.h"
#include "core/strings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ------------------------------------------------------------- */

typedef struct named {
    const char *name;
    size_t column;
} named;

static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

static kb_status sort_names(kb_context *ctx, kb_column_names *n) {
    kb_status status;
    named *all;
    TRY(kb_alloc(ctx, n->count, sizeof *all, &all));
    for (size_t k = 0; k < n->count; k++)
        all[k] = (named){n->name[k], k};
    qsort(all, n->count, sizeof *all, by_name);
    for (size_t k = 0; k < n->count; k++)
        n->order[k] = all[k].column;
    kb_release(ctx, all);
done:
    return status;
}

/* The first of "name.NUMBER", .. that no column had when the names were sorted. */
static kb_status new_name(kb_context *ctx, const kb_column_names *n, const char *old, size_t number,
                          char **out) {
    kb_status status = KB_OK;
    *out = NULL;
    do {
        kb_release(ctx, *out);
        TRY(kb_format(ctx, out, "%s.%zu", old, number++));
    } while (kb_column_named(n, *out) != KB_NO_COLUMN);
done:
    return status;
}

/* One pass: all but the first of equal names get new ones, which may be equal in turn. */
static kb_status rename_equal(kb_context *ctx, kb_column_names *n, size_t *renamed) {
    kb_status status;
    char **fresh = NULL;
    size_t first = 0;
    *renamed = 0;
    TRY(kb_zalloc(ctx, n->count, sizeof *fresh, &fresh));
    for (size_t k = 1; k < n->count; k++) {
        const char *name = n->name[n->order[k]];
        if (strcmp(n->name[n->order[first]], name) != 0)
            first = k;
        else
            TRY(new_name(ctx, n, name, k - first, &fresh[n->order[k]]));
    }
    for (size_t k = 0; k < n->count; k++)
        if (fresh[k]) {
            kb_release(ctx, n->name[k]);
            n->name[k] = fresh[k];
            fresh[k] = NULL;
            ++*renamed;
        }
done:
    for (size_t k = 0; fresh && k < n->count; k++)
        kb_release(ctx, fresh[k]);
    kb_release(ctx, fresh);
    return status;
}

static kb_status make_unique(kb_context *ctx, kb_column_names *n) {
    kb_status status;
    size_t renamed;
    do {
        TRY(sort_names(ctx, n));
        TRY(rename_equal(ctx, n, &renamed));
    } while (renamed > 0);
done:
    return status;
}

kb_status kb_column_names_build(kb_context *ctx, size_t count, char *const *name,
                                kb_column_names *n, size_t *renamed) {
    kb_status status;
    *n = (kb_column_names){.count = count};
    *renamed = 0;
    TRY(kb_zalloc(ctx, count, sizeof *n->name, &n->name));
    TRY(kb_alloc(ctx, count, sizeof *n->order, &n->order));
    for (size_t k = 0; k < count; k++)
        if (*name[k] == '\0')
            TRY(kb_format(ctx, &n->name[k], "unnamed %zu", k + 1));
        else
            TRY(kb_strdup(ctx, name[k], &n->name[k]));
    TRY(make_unique(ctx, n));
    for (size_t k = 0; k < count; k++)
        *renamed += *name[k] != '\0' && strcmp(n->name[k], name[k]) != 0;
done:
    return status;
}

void kb_column_names_clear(kb_context *ctx, kb_column_names *n) {
    for (size_t k = 0; n->name && k < n->count; k++)
        kb_release(ctx, n->name[k]);
    kb_release(ctx, n->name);
    kb_release(ctx, n->order);
    *n = (kb_column_names){0};
}

size_t kb_column_named(const kb_column_names *n, const char *name) {
    size_t low = 0, high = n->name && name ? n->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(name, n->name[n->order[middle]]);
        if (order == 0)
            return n->order[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return KB_NO_COLUMN;
}

size_t kb_column_numbered(size_t count, const char *text) {
    char *end;
    long number = strtol(text, &end, 10), most = (long)count;
    if (end == text || *end != '\0' || number == 0 || number > most || number < -most)
        return KB_NO_COLUMN;
    return (size_t)(number > 0 ? number - 1 : most + number);
}

/* ---- lists ------------------------------------------------------------- */

size_t kb_columns_match(const kb_column_names *n, size_t count, const char *item,
                        void (*found)(void *arg, size_t column), void *arg) {
    size_t column = kb_column_named(n, item), matches = 0;
    int has_wildcard = item[strcspn(item, "*?")] != '\0';
    if (column == KB_NO_COLUMN && (!has_wildcard || !n->name))
        column = kb_column_numbered(count, item);
    if (column != KB_NO_COLUMN) {
        found(arg, column);
        return 1;
    }
    for (size_t k = 0; n->name && has_wildcard && k < n->count; k++)
        if (kb_matches(item, n->name[k])) {
            found(arg, k);
            matches++;
        }
    return matches;
}

int kb_list_item(const char **list, char item[KB_ITEM_TEXT]) {
    const char *begin = *list, *end;
    if (!begin)
        return 0;
    end = begin + strcspn(begin, ",");
    *list = *end == ',' ? end + 1 : NULL;
    while (begin < end && *begin == ' ')
        begin++;
    while (end > begin && end[-1] == ' ')
        end--;
    snprintf(item, KB_ITEM_TEXT, "%.*s",
             (int)(end - begin < KB_ITEM_TEXT ? end - begin : KB_ITEM_TEXT - 1), begin);
    return 1;
}

/* ---- what may have been meant ------------------------------------------ */

enum { LONGEST = 64 };

static int same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Changes of one letter from a to b, in any case; SIZE_MAX for names that are too long. */
static size_t edit_distance(const char *a, const char *b) {
    size_t rows = strlen(a), columns = strlen(b), above[LONGEST + 1];
    if (rows > LONGEST || columns > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= columns; j++)
        above[j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t corner = above[0];
        above[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t change = corner + !same_letter(a[i - 1], b[j - 1]);
            size_t insert = above[j - 1] + 1, leave = above[j] + 1;
            corner = above[j];
            above[j] = change < insert ? change : insert;
            above[j] = above[j] < leave ? above[j] : leave;
        }
    }
    return above[columns];
}

static const char *nearest(size_t count, char *const *name, const char *wanted) {
    size_t length = strlen(wanted), at = KB_NO_COLUMN;
    size_t best = length < 2 ? 0 : (length + 2) / 3; /* another letter is no misprint of one */
    for (size_t k = 0; k < count; k++) {
        size_t distance = edit_distance(wanted, name[k]);
        if (distance < best || (distance == best && at == KB_NO_COLUMN)) {
            best = distance;
            at = k;
        }
    }
    return at == KB_NO_COLUMN ? NULL : name[at];
}

kb_names_hint kb_names_hint_of(const char *what, size_t count, char *const *name,
                               const char *wanted) {
    kb_names_hint out = {""};
    size_t used = 0, room = sizeof out.text - 6;
    if (!name || count == 0)
        return out;
    const char *guess = nearest(count, name, wanted);
    if (guess)
        used = (size_t)snprintf(out.text, room, "; did you mean '%.80s'?", guess);
    used += (size_t)snprintf(out.text + used, room - used, "%s %s are ", guess ? " The" : "; the",
                             what);
    for (size_t k = 0; k < count; k++) {
        size_t length = strlen(name[k]);
        if (used + length + 2 > room) {
            snprintf(out.text + used, sizeof out.text - used, "..");
            return out;
        }
        used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%s", name[k],
                                 k + 1 < count ? ", " : "");
    }
    return out;
}

kb_names_hint kb_column_names_hint(const kb_column_names *n, const char *wanted) {
    return kb_names_hint_of("columns", n->count, n->name, wanted);
}
