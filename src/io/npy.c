/*
 * npy.c - see npy.h.
 *
 * The format is that of numpy.lib.format: a magic, the length of a header, the header (a dictionary
 * of Python with the type, the order and the shape), and the bytes of the array.  They are those of
 * the file itself or of a member of a zip file.
 */
#include "io/npy.h"
#include "data/data.h"

#include "packed/zip.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { READ_BYTES = 1 << 16, HEADER_MAX = 1 << 16, PREFIX = 10 };

#define WHAT_TO_DO "save a plain array: numpy.save(file, numpy.asarray(X, dtype=float))"

typedef struct source {
    kb_context *ctx;
    const char *name; /* of the file, for messages */
    kb_source *file;
    kb_zip *zip; /* NULL: the file is one array */
    unsigned char begin[PREFIX];
    size_t left; /* of its first bytes, those that are to be read again */
} source;

/* What the header says. */
typedef struct shape {
    char kind; /* b, i, u or f */
    size_t bytes;
    int fortran;
    size_t dimensions, rows, columns; /* 1 column if there is 1 dimension */
} shape;

/* ---- bytes ------------------------------------------------------------- */

static kb_status read_some(source *s, void *to, size_t room, size_t *got) {
    if (s->zip)
        return kb_zip_read(s->zip, to, room, got);
    if (s->left == 0)
        return kb_source_read(s->file, to, room, got);
    *got = s->left < room ? s->left : room;
    memcpy(to, s->begin + PREFIX - s->left, *got);
    s->left -= *got;
    return KB_OK;
}

/* All of `count` bytes. */
static kb_status take(source *s, void *out, size_t count) {
    kb_status status = KB_OK;
    char *to = out;
    size_t got;
    while (count > 0) {
        TRY(read_some(s, to, count, &got));
        if (got == 0)
            TRY(kb_fail(s->ctx, KB_ERR_DATA, "%s: the file ends within an array", s->name));
        to += got;
        count -= got;
    }
done:
    return status;
}

/* Nothing may follow an array: checksums are compared at the end. */
static kb_status take_end(source *s) {
    char byte;
    size_t got;
    kb_status status = read_some(s, &byte, 1, &got);
    if (status == KB_OK && got > 0)
        return kb_fail(s->ctx, KB_ERR_DATA, "%s: something follows the array", s->name);
    return status;
}

/* The first bytes tell whether it is a zip file. */
static kb_status open_source(source *s, const char *path) {
    kb_status status;
    size_t begun = 0, got;
    TRY(kb_source_open(s->ctx, path, &s->file));
    do {
        TRY(kb_source_read(s->file, s->begin + begun, PREFIX - begun, &got));
        begun += got;
    } while (got > 0 && begun < PREFIX);
    if (begun == 0)
        TRY(kb_fail(s->ctx, KB_ERR_DATA, "%s: the file is empty", s->name));
    if (begun >= 2 && memcmp(s->begin, "PK", 2) == 0)
        TRY(kb_zip_open(s->ctx, s->file, s->begin, begun, &s->zip));
    else if (begun < PREFIX)
        TRY(kb_fail(s->ctx, KB_ERR_DATA, "%s: the file ends within an array", s->name));
    s->left = PREFIX;
done:
    return status;
}

/* ---- the header -------------------------------------------------------- */

static kb_status not_numpy(const source *s) {
    return kb_fail(s->ctx, KB_ERR_DATA, "%s: not an array of NumPy, or a damaged one", s->name);
}

/* The value of a key, behind the blanks; NULL if it is not there. */
static const char *value_of(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != ':')
        return NULL;
    return at + 1 + strspn(at + 1, " ");
}

static kb_status read_type(const source *s, const char *value, shape *out) {
    char order, kind;
    unsigned bytes;
    int end = 0;
    if (value && sscanf(value, "'%c%c%u'%n", &order, &kind, &bytes, &end) == 3 && end > 0 &&
        (order == '<' || (order == '|' && bytes == 1)) &&
        ((kind == 'b' && bytes == 1) || (kind == 'f' && (bytes == 4 || bytes == 8)) ||
         ((kind == 'i' || kind == 'u') &&
          (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)))) {
        out->kind = kind;
        out->bytes = bytes;
        return KB_OK;
    }
    if (!value)
        return not_numpy(s);
    int length = *value == '\'' ? (int)strcspn(value + 1, "'") + 2 : (int)strcspn(value, ",");
    return kb_fail(s->ctx, KB_ERR_DATA, "%s: an array of the type %.*s is not read: " WHAT_TO_DO,
                   s->name, length < 40 ? length : 40, value);
}

static kb_status read_shape(const source *s, const char *value, shape *out) {
    unsigned long long size[3] = {0, 1, 0};
    int end = 0;
    if (!value || *value++ != '(')
        return not_numpy(s);
    while (out->dimensions < 3 && sscanf(value, " %llu%n", &size[out->dimensions], &end) == 1) {
        out->dimensions++;
        value += end;
        value += strspn(value, " ,");
    }
    if (*value != ')' || out->dimensions == 0 || out->dimensions > 2)
        return kb_fail(s->ctx, KB_ERR_DATA,
                       "%s: an array must have 2 dimensions, samples and features", s->name);
    if (size[0] > KB_ROWS_MAX)
        return kb_fail(s->ctx, KB_ERR_DATA, "%s: " KB_ROWS_TOO_MANY, s->name);
    if (size[1] >= KB_FEATURES_MAX)
        return kb_fail(s->ctx, KB_ERR_DATA, "%s: the data have too many columns", s->name);
    out->rows = (size_t)size[0];
    out->columns = (size_t)size[1];
    return KB_OK;
}

static kb_status read_header(source *s, shape *out) {
    kb_status status;
    unsigned char prefix[PREFIX + 2];
    char *header = NULL;
    *out = (shape){0};
    TRY(take(s, prefix, PREFIX));
    if (memcmp(prefix, "\x93NUMPY", 6) != 0)
        TRY(not_numpy(s));
    size_t length = prefix[8] + ((size_t)prefix[9] << 8);
    if (prefix[6] > 1) { /* the length has 4 bytes from version 2 on */
        TRY(take(s, prefix + PREFIX, 2));
        length += ((size_t)prefix[10] << 16) + ((size_t)prefix[11] << 24);
    }
    if (length > HEADER_MAX)
        TRY(not_numpy(s));
    TRY(kb_zalloc(s->ctx, length + 1, 1, &header));
    TRY(take(s, header, length));
    TRY(read_type(s, value_of(header, "'descr'"), out));
    TRY(read_shape(s, value_of(header, "'shape'"), out));
    const char *fortran = value_of(header, "'fortran_order'");
    out->fortran = fortran && strncmp(fortran, "True", 4) == 0;
done:
    kb_release(s->ctx, header);
    return status;
}

/* ---- the values -------------------------------------------------------- */

#define AS(type)                                                                                   \
    do {                                                                                           \
        type x;                                                                                    \
        memcpy(&x, at, sizeof x);                                                                  \
        return (double)x;                                                                          \
    } while (0)

static double value_at(const shape *h, const unsigned char *at) {
    if (h->kind == 'b')
        return *at != 0;
    if (h->kind == 'f' && h->bytes == 4)
        AS(float);
    if (h->kind == 'f')
        AS(double);
    switch (h->bytes) {
    case 1:
        return h->kind == 'i' ? (double)(int8_t)*at : (double)*at;
    case 2:
        if (h->kind == 'i')
            AS(int16_t);
        AS(uint16_t);
    case 4:
        if (h->kind == 'i')
            AS(int32_t);
        AS(uint32_t);
    default:
        if (h->kind == 'i')
            AS(int64_t);
        AS(uint64_t);
    }
}

/* Into rows x columns cells. */
static kb_status read_values(source *s, const shape *h, double *cell) {
    kb_status status = KB_OK;
    unsigned char bytes[READ_BYTES];
    size_t count = h->rows * h->columns, inner = h->fortran ? h->rows : h->columns;
    size_t at_once = READ_BYTES / h->bytes;
    for (size_t first = 0; first < count; first += at_once) {
        size_t n = count - first < at_once ? count - first : at_once;
        TRY(kb_progress(s->ctx, "read", (double)first / (double)count));
        TRY(take(s, bytes, n * h->bytes));
        for (size_t k = 0; k < n; k++) {
            size_t outer = (first + k) / inner, within = (first + k) % inner;
            size_t i = h->fortran ? within : outer, j = h->fortran ? outer : within;
            double x = value_at(h, bytes + k * h->bytes);
            if (isinf(x))
                TRY(kb_fail(s->ctx, KB_ERR_DATA, "%s: row %zu, column %zu: the value is infinite",
                            s->name, i + 1, j + 1));
            cell[i * h->columns + j] = isnan(x) ? (double)NAN : x; /* of one form: see cell.h */
        }
    }
done:
    return status;
}

static kb_status read_array(source *s, shape *h, double **out) {
    kb_status status;
    size_t count;
    TRY(read_header(s, h));
    if (__builtin_mul_overflow(h->rows, h->columns, &count))
        TRY(kb_fail(s->ctx, KB_ERR_MEMORY, "%s: out of memory", s->name));
    TRY(kb_alloc(s->ctx, count, sizeof **out, out));
    TRY(read_values(s, h, *out));
    TRY(take_end(s));
done:
    return status;
}

/* ---- the members of a .npz --------------------------------------------- */

typedef struct arrays {
    shape of_x, of_y;
    double *x, *y;
} arrays;

static int is_array(const char *name) {
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".npy") == 0;
}

static int is_one_of(const char *name, const char *const *words) {
    for (; *words; words++) {
        size_t length = strlen(*words);
        if (strncmp(name, *words, length) == 0 && strcmp(name + length, ".npy") == 0)
            return 1;
    }
    return 0;
}

static kb_status read_member(source *s, size_t member, arrays *a) {
    static const char *const FEATURES[] = {"X", "x", "data", "arr_0", NULL};
    static const char *const LABELS[] = {"y", "label", "labels", "target", NULL};
    const char *name = kb_zip_member_at(s->zip, member)->name;
    int as_x = is_one_of(name, FEATURES) && !a->x, as_y = is_one_of(name, LABELS) && !a->y;
    kb_status status = KB_OK;
    if (as_x || as_y)
        status = kb_zip_begin(s->zip, member);
    else if (is_array(name))
        kb_log(s->ctx, KB_LOG_WARNING, "%s: the array '%.*s' is not used", s->name,
               (int)(strlen(name) < 84 ? strlen(name) - 4 : 80), name);
    if (status == KB_OK && as_x)
        return read_array(s, &a->of_x, &a->x);
    if (status == KB_OK && as_y)
        return read_array(s, &a->of_y, &a->y);
    return status;
}

static kb_status read_members(source *s, arrays *a) {
    kb_status status = KB_OK;
    if (!s->zip)
        return read_array(s, &a->of_x, &a->x);
    for (size_t i = 0; i < kb_zip_count(s->zip); i++)
        TRY(read_member(s, i, a));
    if (!a->x)
        TRY(kb_fail(s->ctx, KB_ERR_DATA,
                    "%s: a zip file without an array X (numpy.savez(file, X=X, y=y) writes one); "
                    "unpack others first, and save spreadsheets as CSV",
                    s->name));
done:
    return status;
}

/* Puts the labels behind the features. */
static kb_status join(const source *s, const arrays *a, kb_npy *out) {
    kb_status status = KB_OK;
    size_t d = a->of_x.columns, count;
    if (a->of_x.dimensions != 2)
        TRY(kb_fail(s->ctx, KB_ERR_DATA,
                    "%s: an array must have 2 dimensions, samples and features", s->name));
    if (a->of_x.rows == 0 || d == 0)
        TRY(kb_fail(s->ctx, KB_ERR_DATA, "%s: no samples: the array is empty", s->name));
    if (a->y && (a->of_y.columns != 1 || a->of_y.rows != a->of_x.rows))
        TRY(kb_fail(s->ctx, KB_ERR_DATA, "%s: %zu samples, but the labels have %zu rows of %zu",
                    s->name, a->of_x.rows, a->of_y.rows, a->of_y.columns));
    out->rows = a->of_x.rows;
    out->columns = d + (a->y != NULL);
    if (__builtin_mul_overflow(out->rows, out->columns, &count))
        TRY(kb_fail(s->ctx, KB_ERR_MEMORY, "%s: out of memory", s->name));
    TRY(kb_alloc(s->ctx, count, sizeof *out->cell, &out->cell));
    for (size_t i = 0; i < out->rows; i++) {
        memcpy(out->cell + i * out->columns, a->x + i * d, d * sizeof *a->x);
        if (a->y)
            out->cell[i * out->columns + d] = a->y[i];
    }
done:
    return status;
}

kb_status kb_npy_read(kb_context *ctx, const char *path, kb_npy *out) {
    kb_status status;
    source s = {.ctx = ctx, .name = strcmp(path, "-") ? path : "standard input"};
    arrays a = {0};
    *out = (kb_npy){0};
    TRY(open_source(&s, path));
    TRY(read_members(&s, &a));
    TRY(join(&s, &a, out));
done:
    kb_zip_free(s.zip);
    kb_source_free(s.file);
    kb_release(ctx, a.x);
    kb_release(ctx, a.y);
    return status;
}

void kb_npy_clear(kb_context *ctx, kb_npy *npy) {
    kb_release(ctx, npy->cell);
    *npy = (kb_npy){0};
}
