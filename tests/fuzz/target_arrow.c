/*
 * target_arrow.c - data frames in the Arrow C data interface.
 *
 * Its structures do not tell how long a buffer is, so these are as long as the specification wants
 * for the length, offset and format that the input gives; what is in them is the input's too.  A
 * byte string: rows, columns, then for each column its format up to a '\0', flags, and the buffers.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 6, MOST_ROWS = 40, BUFFERS = 5 };

typedef struct source {
    const uint8_t *at, *end;
} source;

static unsigned byte_of(source *s) {
    return s->at < s->end ? *s->at++ : 0;
}

/* Bytes of the input in memory of their own, zeros where it has ended. */
static void *bytes_of(source *s, size_t count) {
    uint8_t *out = calloc(count ? count : 1, 1);
    fuzz_check(out);
    size_t left = (size_t)(s->end - s->at), some = left < count ? left : count;
    if (some) {
        memcpy(out, s->at, some);
        s->at += some;
    }
    return out;
}

typedef struct values {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *buffer[BUFFERS];
    char format[24];
} values;

static _Noreturn void never_schema(struct ArrowSchema *schema) {
    (void)schema;
    fuzz_failed("a schema was released", __FILE__, __LINE__);
}

static _Noreturn void never_array(struct ArrowArray *array) {
    (void)array;
    fuzz_failed("an array was released", __FILE__, __LINE__);
}

/* Bytes of a value of the format; 0: strings or unknown. */
static size_t width_of(const char *format) {
    switch (format[0]) {
    case 'c':
    case 'C':
        return 1;
    case 's':
    case 'S':
    case 'e':
        return 2;
    case 'i':
    case 'I':
    case 'f':
        return 4;
    case 'd':
    case 'v':
        return 16;
    default:
        return 8;
    }
}

/* The offsets of strings must not leave their text: that is the producer's promise. */
static void fill_strings(source *s, values *v, size_t count) {
    int large = v->format[0] == 'U';
    size_t text = byte_of(s) % 64;
    int32_t *small = calloc(count + 1, sizeof *small);
    int64_t *wide = calloc(count + 1, sizeof *wide);
    fuzz_check(small && wide);
    for (size_t i = 0; i <= count; i++) {
        small[i] = (int32_t)(byte_of(s) % 80) - 8;
        if (i == count)
            small[i] = (int32_t)text; /* the last one is what others are compared with */
        wide[i] = small[i];
    }
    v->buffer[1] = large ? (void *)wide : (void *)small;
    free(large ? (void *)small : (void *)wide);
    v->buffer[2] = bytes_of(s, text);
    v->array.n_buffers = 3;
}

static void fill_views(source *s, values *v, size_t count) {
    size_t text = byte_of(s) % 64;
    int64_t size = (int64_t)text;
    uint8_t *sizes = malloc(sizeof size);
    fuzz_check(sizes);
    memcpy(sizes, &size, sizeof size);
    v->buffer[1] = bytes_of(s, 16 * count);
    v->buffer[2] = bytes_of(s, text);
    v->buffer[3] = sizes;
    v->array.n_buffers = 4;
}

/* A column, or the values of a dictionary. */
static void fill(source *s, values *v, size_t rows, const char *name) {
    for (size_t k = 0; k + 1 < sizeof v->format && (v->format[k] = (char)byte_of(s)); k++) {
    }
    unsigned flags = byte_of(s);
    size_t offset = flags >> 5, count = rows + offset;
    v->schema = (struct ArrowSchema){.format = v->format, .name = name, .release = never_schema};
    v->array = (struct ArrowArray){.length = (int64_t)rows,
                                   .offset = (int64_t)offset,
                                   .null_count = flags & 1 ? -1 : 0,
                                   .n_buffers = 2,
                                   .buffers = v->buffer,
                                   .release = never_array};
    if (flags & 1)
        v->buffer[0] = bytes_of(s, (count + 7) / 8);
    if (v->format[0] == 'u' || v->format[0] == 'U')
        fill_strings(s, v, count);
    else if (v->format[0] == 'v')
        fill_views(s, v, count);
    else
        v->buffer[1] = bytes_of(s, count * width_of(v->format));
    if (flags & 2)
        v->array.n_buffers = byte_of(s) % (unsigned)(v->array.n_buffers + 1);
    if (flags & 4)
        v->array.null_count = (int64_t)byte_of(s);
}

static void empty(values *v) {
    for (int k = 0; k < BUFFERS; k++)
        free((void *)v->buffer[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const NAMES[] = {"a", "b", "a", "", "e", "f"};
    source s = {data, data + size};
    kb_context *ctx = fuzz_context();
    kb_data *out;
    values *column = calloc(2 * MOST_COLUMNS, sizeof *column);
    struct ArrowSchema *child_schema[MOST_COLUMNS];
    struct ArrowArray *child[MOST_COLUMNS];
    const void *none[1] = {NULL};
    double labels[MOST_ROWS];
    size_t rows = byte_of(&s) % MOST_ROWS, columns = byte_of(&s) % (MOST_COLUMNS + 1);
    fuzz_check(column);
    for (size_t j = 0; j < columns; j++) {
        values *v = &column[2 * j], *words = v + 1;
        fill(&s, v, rows, NAMES[j]);
        if (byte_of(&s) % 3 == 1) {
            fill(&s, words, byte_of(&s) % 12, "");
            v->schema.dictionary = &words->schema;
            v->array.dictionary = &words->array;
        }
        child_schema[j] = &v->schema;
        child[j] = &v->array;
    }
    for (size_t i = 0; i < MOST_ROWS; i++)
        labels[i] = (double)(i % 3);
    struct ArrowSchema schema = {.format = "+s",
                                 .n_children = (int64_t)columns,
                                 .children = child_schema,
                                 .release = never_schema};
    struct ArrowArray batch = {.length = (int64_t)rows,
                               .n_buffers = 1,
                               .n_children = (int64_t)columns,
                               .buffers = none,
                               .children = child,
                               .release = never_array};
    const struct ArrowArray *batches[] = {&batch, &batch};
    kb_arrow arrow = KB_ARROW_INIT;
    arrow.schema = &schema;
    arrow.batch = batches;
    arrow.batches = 1 + byte_of(&s) % 2;
    arrow.labels = arrow.batches == 1 ? labels : NULL;
    kb_status status = fuzz_status(ctx, kb_data_from_arrow(ctx, NULL, &arrow, NULL, &out));
    fuzz_check((status == KB_OK) == (out != NULL));
    kb_data_free(out);
    for (size_t j = 0; j < 2 * MOST_COLUMNS; j++)
        empty(&column[j]);
    free(column);
    fuzz_context_end(ctx);
    return 0;
}
