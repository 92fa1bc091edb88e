/* header.c - see header.h. */
#include "csv/header.h"
#include "core/number.h"
#include "csv/fields.h"
#include "table/cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_COLUMNS = 4 };

static void look(const char *name, const char *field, kb_below *below) {
    double number;
    if (kb_number_read(field, &number)) {
        below->numbers++;
    } else if (kb_text_is_missing(field, strlen(field))) {
        below->missing++;
    } else {
        below->words++;
        below->again |= strcmp(name, field) == 0;
    }
}

static void look_at_line(char *line, char delimiter, size_t columns, char *const *name,
                         kb_csv_sample *s) {
    size_t column = 0;
    for (char *cursor = line; cursor; column++) {
        char *field = kb_field_cut(&cursor, delimiter);
        if (!field)
            return;
        if (column < columns)
            look(name[column], field, &s->below[column]);
    }
    s->rows++;
}

kb_status kb_csv_sample_build(kb_context *ctx, char delimiter, size_t columns, char *const *field,
                              const char *text, size_t length, kb_csv_sample *out) {
    kb_status status;
    char *copy = NULL;
    *out = (kb_csv_sample){0};
    TRY(kb_zalloc(ctx, columns, sizeof *out->below, &out->below));
    TRY(kb_alloc(ctx, length + 1, 1, &copy));
    memcpy(copy, text, length);
    copy[length] = '\0';
    for (char *line = copy, *next; line && out->rows < KB_HEADER_ROWS; line = next) {
        size_t size = strcspn(line, "\r\n");
        next = line[size] == '\0' ? NULL : line + size + 1;
        if (!next && out->rows > 0) /* perhaps cut */
            break;
        line[size] = '\0';
        if (size > 0)
            look_at_line(line, delimiter, columns, field, out);
    }
done:
    kb_release(ctx, copy);
    return status;
}

void kb_csv_sample_clear(kb_context *ctx, kb_csv_sample *s) {
    kb_release(ctx, s->below);
    *s = (kb_csv_sample){0};
}

static int counts_from(size_t begin, size_t columns, char *const *field, size_t first) {
    char number[24];
    for (size_t k = begin; k < columns; k++) {
        snprintf(number, sizeof number, "%zu", first + k - begin);
        if (strcmp(number, field[k]) != 0)
            return 0;
    }
    return 1;
}

int kb_header_counts(size_t columns, char *const *field) {
    size_t begin = columns > 1 && *field[0] == '\0';
    return counts_from(begin, columns, field, 0) || counts_from(begin, columns, field, 1);
}

int kb_header_is_counted(const kb_csv_sample *s, size_t columns, char *const *field) {
    size_t words = 0;
    if (s->rows == 0 || !kb_header_counts(columns, field))
        return 0;
    for (size_t k = 0; k < columns; k++)
        words += s->below[k].words > 0 && s->below[k].numbers == 0;
    return *field[0] == '\0' || words > 0 || columns >= FEW_COLUMNS;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Two equal fields make it unlikely that they are names; the first some hundred tell. */
static int all_differ(size_t columns, char *const *field) {
    enum { MOST = 300 };
    const char *sorted[MOST];
    size_t count = columns < MOST ? columns : MOST;
    for (size_t k = 0; k < count; k++)
        sorted[k] = field[k];
    qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t k = 1; k < count; k++)
        if (strcmp(sorted[k - 1], sorted[k]) == 0)
            return 0;
    return 1;
}

static int is_word(const char *field) {
    return kb_number_check(field, strlen(field)) == KB_NUMBER_WORD;
}

int kb_header_is_named(const kb_csv_sample *s, size_t columns, char *const *field,
                       const size_t skip[2]) {
    size_t words = 0, again = 0, others = 0;
    for (size_t k = 0; k < columns; k++) {
        const kb_below *below = &s->below[k];
        int word = is_word(field[k]);
        if (word && below->numbers > 0 && below->words == 0)
            return 1;
        if (k != skip[0] && k != skip[1]) {
            words += (size_t)word;
            others += !word && *field[k] != '\0';
        }
        again += (size_t)below->again;
    }
    if (s->rows == 0)
        return words > 0;
    return words > 0 && others == 0 && again == 0 && all_differ(columns, field);
}
