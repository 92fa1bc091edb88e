/* arrow_column.c - see arrow_column.h. */
#include "arrow/arrow_column.h"
#include "core/number.h"
#include "table/cell.h"

#include <stdlib.h>

enum { DAYS_TO_2000 = 10957 /* from 1970-01-01 */, LONGEST_NUMBER = 400, INLINE_TEXT = 12 };

/* ---- checks ------------------------------------------------------------ */

kb_status kb_arrow_check(kb_context *ctx, const char *name, const struct ArrowArray *array,
                         int64_t least_buffers, size_t rows) {
    if (!array || !array->release)
        return kb_fail(ctx, KB_ERR_DATA, "%s: its Arrow array was released", name);
    if (array->length < 0 || array->offset < 0 || array->offset > INT64_MAX / 16 - array->length)
        return kb_fail(ctx, KB_ERR_DATA, "%s: its Arrow array has length %lld and offset %lld",
                       name, (long long)array->length, (long long)array->offset);
    if ((uint64_t)array->length < rows)
        return kb_fail(ctx, KB_ERR_DATA, "%s: its Arrow array has %lld rows, not %zu", name,
                       (long long)array->length, rows);
    if (array->n_buffers < least_buffers || (least_buffers > 0 && !array->buffers))
        return kb_fail(ctx, KB_ERR_DATA, "%s: its Arrow array has %lld buffers, not %lld", name,
                       (long long)array->n_buffers, (long long)least_buffers);
    if (least_buffers > 0 && !array->buffers[0] && array->null_count > 0)
        return kb_fail(ctx, KB_ERR_DATA, "%s: its Arrow array has nulls but does not say where",
                       name);
    return KB_OK;
}

static int64_t buffers_of(char layout) {
    return layout == 'n' ? 0 : layout == 'u' || layout == 'U' || layout == 'v' ? 3 : 2;
}

static kb_status check_array(kb_context *ctx, const kb_arrow_column *c, char layout, size_t rows) {
    kb_status status;
    const struct ArrowArray *array = c->array;
    TRY(kb_arrow_check(ctx, c->name, array, buffers_of(layout), rows));
    int64_t last = layout == 'v' ? array->n_buffers - 1 : 1;
    if (layout == 'v' && array->n_buffers == 3)
        last = 1; /* no text lies outside: sizes of none */
    if (array->length > 0 && layout != 'n')
        for (int64_t k = 1; k <= last; k++)
            if (!array->buffers[k])
                TRY(kb_fail(ctx, KB_ERR_DATA, "%s: buffer %lld of its Arrow array is not there",
                            c->name, (long long)k));
done:
    return status;
}

/* ---- texts ------------------------------------------------------------- */

/* The cell that these bytes would be in a CSV file. */
static kb_status text_cell(kb_context *ctx, const kb_arrow_column *c, const char *text,
                           size_t length, double *out) {
    kb_status status = KB_OK;
    char number[LONGEST_NUMBER + 1];
    uint32_t id;
    while (length > 0 && *text == ' ')
        text++, length--;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    *out = KB_CELL_MISSING;
    if (kb_text_is_missing(text, length))
        goto done;
    if (length <= LONGEST_NUMBER && (kb_is_digit(*text) || strchr("+-.", *text))) {
        memcpy(number, text, length);
        number[length] = '\0';
        if (strlen(number) == length && kb_number_read(number, out))
            goto done;
    }
    if (memchr(text, '\0', length))
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: a string has a zero byte in it", c->name));
    TRY(kb_text_ids_number(ctx, c->text, text, length, &id));
    *out = kb_cell_text(id);
done:
    return status;
}

static int64_t offset_at(const kb_arrow_column *c, size_t i) {
    const char *buffer = c->array->buffers[1];
    int32_t small;
    int64_t large;
    if (c->type.layout == 'U') {
        memcpy(&large, buffer + i * sizeof large, sizeof large);
        return large;
    }
    memcpy(&small, buffer + i * sizeof small, sizeof small);
    return small;
}

/* Where the bytes of string i are; 0 if its offsets cannot be right. */
static int find_string(const kb_arrow_column *c, size_t i, const char **text, size_t *length) {
    const struct ArrowArray *a = c->array;
    int64_t begin = offset_at(c, i), end = offset_at(c, i + 1);
    int64_t last = offset_at(c, (size_t)(a->offset + a->length));
    if (begin < 0 || end < begin || end > last || (end > begin && !a->buffers[2]))
        return 0;
    *text = end > begin ? (const char *)a->buffers[2] + begin : "";
    *length = (size_t)(end - begin);
    return 1;
}

/* The same for a view: 4 bytes of length, then the bytes of up to 12, or 4 bytes of the text, the
 * number of a buffer and the place in it. */
static int find_view(const kb_arrow_column *c, size_t i, const char **text, size_t *length) {
    const struct ArrowArray *a = c->array;
    const char *view = (const char *)a->buffers[1] + 16 * i;
    int32_t bytes, buffer, place;
    int64_t size;
    memcpy(&bytes, view, sizeof bytes);
    if (bytes < 0)
        return 0;
    *length = (size_t)bytes;
    *text = view + 4;
    if (bytes <= INLINE_TEXT)
        return 1;
    memcpy(&buffer, view + 8, sizeof buffer);
    memcpy(&place, view + 12, sizeof place);
    if (buffer < 0 || buffer >= a->n_buffers - 3 || place < 0)
        return 0;
    memcpy(&size, (const char *)a->buffers[a->n_buffers - 1] + (size_t)buffer * sizeof size,
           sizeof size);
    if (size < place || size - place < bytes)
        return 0;
    *text = (const char *)a->buffers[2 + buffer] + place;
    return 1;
}

static kb_status fill_texts(kb_context *ctx, kb_arrow_column *c, size_t first, size_t count,
                            size_t step, double *cell) {
    kb_status status = KB_OK;
    const char *text;
    size_t length;
    for (size_t i = 0; i < count; i++) {
        cell[i * step] = KB_CELL_MISSING;
        if (!kb_arrow_is_valid(c->valid, first + i))
            continue;
        if (!(c->type.layout == 'v' ? find_view : find_string)(c, first + i, &text, &length))
            TRY(kb_fail(ctx, KB_ERR_DATA, "%s: the offsets of its strings are wrong", c->name));
        TRY(text_cell(ctx, c, text, length, &cell[i * step]));
    }
done:
    return status;
}

/* ---- numbers ----------------------------------------------------------- */

/* IEEE 754 binary16. */
static double half_of(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 0    ? ldexp(fraction, -24)
                  : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                   : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

/* The double nearest to a whole number times 10^-digits: by its decimal text. */
static double decimal_of(const char *from, int bits, int digits) {
    __int128 whole;
    char text[64], *at = text + sizeof text;
    int32_t small;
    int64_t large;
    double out = 0;
    if (bits == 32)
        whole = (memcpy(&small, from, sizeof small), small);
    else if (bits == 64)
        whole = (memcpy(&large, from, sizeof large), large);
    else
        memcpy(&whole, from, sizeof whole);
    int negative = whole < 0;
    unsigned __int128 size = negative ? -(unsigned __int128)whole : (unsigned __int128)whole;
    int exponent = -digits;
    *--at = '\0';
    for (int k = 0, left = abs(exponent); k == 0 || left > 0; k++, left /= 10)
        *--at = (char)('0' + left % 10);
    if (exponent < 0)
        *--at = '-';
    *--at = 'e';
    do {
        *--at = (char)('0' + (int)(size % 10));
        size /= 10;
    } while (size > 0);
    if (negative)
        *--at = '-';
    kb_number_read(at, &out);
    return out;
}

/* A value of `type` after the other, as numbers; unaligned buffers are allowed. */
#define FILL(type)                                                                                 \
    do {                                                                                           \
        type v_;                                                                                   \
        for (size_t i = 0; i < count; i++) {                                                       \
            memcpy(&v_, from + (first + i) * sizeof v_, sizeof v_);                                \
            cell[i * step] = (double)v_;                                                           \
        }                                                                                          \
    } while (0)

static void fill_numbers(const kb_arrow_column *c, char layout, size_t first, size_t count,
                         size_t step, double *cell) {
    const char *from = c->array->buffers[1];
    uint16_t half;
    switch (layout) {
    case 'c':
        FILL(int8_t);
        break;
    case 'C':
        FILL(uint8_t);
        break;
    case 's':
        FILL(int16_t);
        break;
    case 'S':
        FILL(uint16_t);
        break;
    case 'i':
        FILL(int32_t);
        break;
    case 'I':
        FILL(uint32_t);
        break;
    case 'l':
        FILL(int64_t);
        break;
    case 'L':
        FILL(uint64_t);
        break;
    case 'f':
        FILL(float);
        break;
    case 'g':
        FILL(double);
        break;
    case 'e':
        for (size_t i = 0; i < count; i++) {
            memcpy(&half, from + (first + i) * sizeof half, sizeof half);
            cell[i * step] = half_of(half);
        }
        break;
    case 'd': {
        size_t bytes = (size_t)c->type.bits / 8;
        for (size_t i = 0; i < count; i++)
            cell[i * step] = decimal_of(from + (first + i) * bytes, c->type.bits, c->type.digits);
        break;
    }
    default:
        break;
    }
}

/* Whole numbers of units since 1970 as days since 2000.  The day and its part are divided apart, so
 * that a time has the bits that its text would have. */
static void fill_days(const kb_arrow_column *c, size_t first, size_t count, size_t step,
                      double *cell) {
    const char *from = c->array->buffers[1];
    int64_t units = c->type.per_unit, large;
    int32_t small;
    for (size_t i = 0; i < count; i++) {
        if (c->type.layout == 'i') {
            memcpy(&small, from + (first + i) * sizeof small, sizeof small);
            large = small;
        } else {
            memcpy(&large, from + (first + i) * sizeof large, sizeof large);
        }
        int64_t rest = (large % units + units) % units, day = large / units - (large % units < 0);
        cell[i * step] = (double)(day - DAYS_TO_2000) + (double)rest / (double)units;
    }
}

static void fill_booleans(const kb_arrow_column *c, size_t first, size_t count, size_t step,
                          double *cell) {
    for (size_t i = 0; i < count; i++)
        cell[i * step] = c->word[kb_arrow_is_valid(c->array->buffers[1], first + i)];
}

/* Nulls and NaN are missing, and nothing is infinite. */
static kb_status finish_numbers(kb_context *ctx, const kb_arrow_column *c, size_t first,
                                size_t count, size_t row, size_t step, double *cell) {
    int numbers = c->type.kind == KB_ARROW_NUMBERS;
    double units = numbers ? (double)c->type.per_unit : 1;
    for (size_t i = 0; i < count; i++) {
        double *x = &cell[i * step];
        if (!kb_arrow_is_valid(c->valid, first + i) || (numbers && isnan(*x)))
            *x = KB_CELL_MISSING; /* not the bits of some other NaN, which could be a text */
        else if (isinf(*x))
            return kb_fail(ctx, KB_ERR_DATA, "%s, row %zu (counted from 0): the value is infinite",
                           c->name, row + i);
        else if (units != 1)
            *x /= units;
    }
    return KB_OK;
}

static kb_status fill_values(kb_context *ctx, kb_arrow_column *c, size_t begin, size_t count,
                             size_t row, size_t step, double *cell) {
    size_t first = (size_t)c->array->offset + begin;
    switch (c->type.kind) {
    case KB_ARROW_TEXTS:
        return fill_texts(ctx, c, first, count, step, cell);
    case KB_ARROW_NOTHING:
        for (size_t i = 0; i < count; i++)
            cell[i * step] = KB_CELL_MISSING;
        return KB_OK;
    case KB_ARROW_NUMBERS:
        fill_numbers(c, c->type.layout, first, count, step, cell);
        break;
    case KB_ARROW_DATES:
        fill_days(c, first, count, step, cell);
        break;
    case KB_ARROW_BOOLEANS:
        fill_booleans(c, first, count, step, cell);
        break;
    }
    return finish_numbers(ctx, c, first, count, row, step, cell);
}

/* ---- dictionaries ------------------------------------------------------ */

/* The cells of all values: each is looked at once, however many rows have it. */
static kb_status open_dictionary(kb_context *ctx, kb_arrow_column *c) {
    kb_status status;
    kb_arrow_column values = *c;
    values.array = c->array->dictionary;
    if (!values.array)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: its Arrow array has no dictionary", c->name));
    TRY(check_array(ctx, &values, c->type.layout, 0));
    values.valid = c->type.layout == 'n' ? NULL : values.array->buffers[0];
    c->values = (size_t)values.array->length;
    TRY(kb_alloc(ctx, c->values, sizeof *c->value, &c->value));
    TRY(fill_values(ctx, &values, 0, c->values, 0, 1, c->value));
done:
    return status;
}

static kb_status fill_indexed(kb_context *ctx, const kb_arrow_column *c, size_t begin, size_t count,
                              size_t step, double *cell) {
    size_t first = (size_t)c->array->offset + begin;
    fill_numbers(c, c->type.index, first, count, step, cell);
    for (size_t i = 0; i < count; i++) {
        double *x = &cell[i * step];
        if (!kb_arrow_is_valid(c->valid, first + i))
            *x = KB_CELL_MISSING;
        else if (*x >= 0 && *x < (double)c->values)
            *x = c->value[(size_t)*x];
        else
            return kb_fail(ctx, KB_ERR_DATA,
                           "%s: the index %.0f of its dictionary is not below %zu", c->name, *x,
                           c->values);
    }
    return KB_OK;
}

/* ---- the column -------------------------------------------------------- */

kb_status kb_arrow_column_open(kb_context *ctx, const kb_arrow_type *type, const char *name,
                               const struct ArrowArray *array, size_t rows, int words,
                               kb_text_ids *text, kb_arrow_column *out) {
    kb_status status;
    static const char *const WORD[] = {"False", "True"};
    *out = (kb_arrow_column){
        .type = *type, .name = name, .array = array, .text = text, .word = {0, 1}};
    char layout = type->index ? type->index : type->layout;
    TRY(check_array(ctx, out, layout, rows));
    out->valid = layout == 'n' ? NULL : array->buffers[0];
    for (int k = 0; words && type->kind == KB_ARROW_BOOLEANS && k < 2; k++) {
        uint32_t number;
        TRY(kb_text_ids_number(ctx, text, WORD[k], strlen(WORD[k]), &number));
        out->word[k] = kb_cell_text(number);
    }
    if (type->index)
        TRY(open_dictionary(ctx, out));
done:
    return status;
}

void kb_arrow_column_close(kb_context *ctx, kb_arrow_column *column) {
    kb_release(ctx, column->value);
    column->value = NULL;
}

kb_status kb_arrow_column_fill(kb_context *ctx, kb_arrow_column *column, size_t begin, size_t count,
                               size_t row, size_t step, double *cell) {
    return column->value ? fill_indexed(ctx, column, begin, count, step, cell)
                         : fill_values(ctx, column, begin, count, row, step, cell);
}
