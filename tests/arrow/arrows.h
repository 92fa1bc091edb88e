/*
 * arrows.h - data frames built by hand, as the Arrow C data interface has them.
 */
#ifndef KB_TESTS_ARROWS_H
#define KB_TESTS_ARROWS_H

#include "support.h"

#include "arrow/arrow.h"

enum { ARROW_COLUMNS = 8, ARROW_BUFFERS = 6 };

typedef struct arrow_column {
    struct ArrowSchema schema, dictionary_schema;
    struct ArrowArray array, dictionary;
    const void *buffer[ARROW_BUFFERS], *dictionary_buffer[ARROW_BUFFERS];
} arrow_column;

/* It does not move once it is filled: it points to itself. */
typedef struct arrow_frame {
    size_t columns;
    arrow_column column[ARROW_COLUMNS];
    struct ArrowSchema schema, *child_schema[ARROW_COLUMNS];
    struct ArrowArray batch, *child[ARROW_COLUMNS];
    const void *buffer[1];
    const struct ArrowArray *batches[1];
} arrow_frame;

/* The library must not call these: the caller owns everything. */
static inline void never_release_schema(struct ArrowSchema *schema) {
    (void)schema;
    fail_msg("a schema was released");
}

static inline void never_release_array(struct ArrowArray *array) {
    (void)array;
    fail_msg("an array was released");
}

static inline int64_t arrow_buffers_of(const char *format) {
    return format[0] == 'n' ? 0 : format[0] == 'u' || format[0] == 'U' || format[0] == 'v' ? 3 : 2;
}

static inline void arrow_fill(struct ArrowSchema *schema, struct ArrowArray *array,
                              const void **buffer, const char *name, const char *format,
                              size_t rows, const uint8_t *valid, const void *values,
                              const char *text) {
    *schema = (struct ArrowSchema){.format = format, .name = name, .release = never_release_schema};
    *array = (struct ArrowArray){.length = (int64_t)rows,
                                 .null_count = valid ? -1 : 0,
                                 .n_buffers = arrow_buffers_of(format),
                                 .buffers = buffer,
                                 .release = never_release_array};
    buffer[0] = valid;
    buffer[1] = values;
    buffer[2] = text;
}

/* Adds a column; `text` is the third buffer of strings.  The frame has as many rows as its last
 * column. */
static inline arrow_column *arrow_add(arrow_frame *f, const char *name, const char *format,
                                      size_t rows, const uint8_t *valid, const void *values,
                                      const char *text) {
    assert_true(f->columns < ARROW_COLUMNS);
    arrow_column *c = &f->column[f->columns];
    arrow_fill(&c->schema, &c->array, c->buffer, name, format, rows, valid, values, text);
    f->child_schema[f->columns] = &c->schema;
    f->child[f->columns] = &c->array;
    f->columns++;
    f->schema = (struct ArrowSchema){.format = "+s",
                                     .n_children = (int64_t)f->columns,
                                     .children = f->child_schema,
                                     .release = never_release_schema};
    f->batch = (struct ArrowArray){.length = (int64_t)rows,
                                   .n_buffers = 1,
                                   .n_children = (int64_t)f->columns,
                                   .buffers = f->buffer,
                                   .children = f->child,
                                   .release = never_release_array};
    f->batches[0] = &f->batch;
    return c;
}

/* Makes the values of a column indices of a dictionary. */
static inline void arrow_index(arrow_column *c, const char *format, size_t values,
                               const uint8_t *valid, const void *value, const char *text) {
    arrow_fill(&c->dictionary_schema, &c->dictionary, c->dictionary_buffer, "", format, values,
               valid, value, text);
    c->schema.dictionary = &c->dictionary_schema;
    c->array.dictionary = &c->dictionary;
}

static inline kb_arrow_spec arrow_spec_of(const arrow_frame *f) {
    return (kb_arrow_spec){.schema = &f->schema, .batch = f->batches, .batches = 1};
}

static inline kb_status arrow_read(kb_context *ctx, const kb_arrow_spec *spec, kb_data **out) {
    kb_status status;
    TRY(kb_data_create(ctx, out));
    TRY(kb_arrow_read(ctx, spec, *out));
done:
    if (status != KB_OK) {
        kb_data_free(*out);
        *out = NULL;
    }
    return status;
}

#endif
