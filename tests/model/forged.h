/*
 * forged.h - model files taken apart and put together again with errors.
 */
#ifndef KB_TESTS_FORGED_H
#define KB_TESTS_FORGED_H

#include "model/fitted.h"

#include "model/tensors.h"

#include <xxhash.h>

/* Refused with a message that names the file. */
static inline void refused_at(kb_context *ctx, const char *path, const char *what, size_t where) {
    kb_model *model = (kb_model *)&where;
    kb_status status = kb_model_read(ctx, path, &model);
    if (status != KB_ERR_MODEL)
        fail_msg("%s %zu: status %d", what, where, (int)status);
    assert_null(model);
    if (strncmp(kb_context_message(ctx), path, strlen(path)) != 0)
        fail_msg("%s %zu: \"%s\"", what, where, kb_context_message(ctx));
}

/* A model file taken apart, to be put together again. */
typedef struct parts {
    json_t *header, *model; /* the header, and the text "model" of its metadata */
    unsigned char *data;
    size_t bytes;
    size_t shift; /* extra blanks in the header: breaks the alignment */
} parts;

static inline parts take_apart(const char *path) {
    parts p = {0};
    size_t count;
    char *bytes = bytes_of(path, &count);
    uint64_t length;
    memcpy(&length, bytes, 8);
    p.header = json_loadb(bytes + 8, length, 0, NULL);
    assert_non_null(p.header);
    p.bytes = count - 8 - length;
    p.data = malloc(p.bytes + 1);
    memcpy(p.data, bytes + 8 + length, p.bytes);
    json_t *metadata = json_object_get(p.header, "__metadata__");
    p.model = json_loads(json_string_value(json_object_get(metadata, "model")), 0, NULL);
    assert_non_null(p.model);
    free(bytes);
    return p;
}

static inline void parts_free(parts *p) {
    json_decref(p->header);
    json_decref(p->model);
    free(p->data);
}

static inline json_t *entry_of(const parts *p, const char *name) {
    json_t *entry = json_object_get(p->header, name);
    assert_non_null(entry);
    return entry;
}

static inline size_t offset_of(const parts *p, const char *name, size_t which) {
    const json_t *at = json_object_get(json_object_get(p->header, name), "data_offsets");
    return (size_t)json_integer_value(json_array_get(at, which));
}

static inline void *array_of(const parts *p, const char *name) {
    entry_of(p, name);
    return p->data + offset_of(p, name, 0);
}

/* Writes the parts as a file with the right checksum. */
static inline test_path put_together(parts *p) {
    json_t *metadata = json_object_get(p->header, "__metadata__");
    if (json_is_object(metadata) && p->model) {
        char *text = json_dumps(p->model, JSON_COMPACT | JSON_REAL_PRECISION(17));
        json_object_set_new(metadata, "model", json_string(text));
        free(text);
    }
    if (json_is_object(metadata) && json_object_get(metadata, "checksum"))
        json_object_set_new(metadata, "checksum", json_string("0000000000000000"));
    char *text = json_dumps(p->header, JSON_COMPACT);
    size_t used = strlen(text);
    uint64_t length = (8 + used + 63) / 64 * 64 - 8 + p->shift;
    char *file = malloc(8 + length + p->bytes);
    memset(file, ' ', 8 + length);
    memcpy(file, &length, 8);
    memcpy(file + 8, text, used);
    memcpy(file + 8 + length, p->data, p->bytes);
    uint64_t sum = XXH3_64bits(file + 8, length);
    const char *key;
    json_t *entry;
    json_object_foreach(p->header, key, entry) {
        size_t begin = offset_of(p, key, 0), end = offset_of(p, key, 1);
        if (strcmp(key, "__metadata__") != 0 && begin <= end && end <= p->bytes)
            sum = XXH3_64bits_withSeed(file + 8 + length + begin, end - begin, sum);
    }
    const char *place = strstr(text, "\"checksum\":\"");
    char digits[17];
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)sum);
    if (place)
        memcpy(file + 8 + (place - text) + 12, digits, 16);
    test_path path = file_with_bytes("forged.kerbin", file, 8 + length + p->bytes);
    free(text);
    free(file);
    return path;
}

/* The forged file must be refused, with a message that contains `says`. */
static inline void refused_parts(kb_context *ctx, parts *p, const char *what, const char *says) {
    test_path path = put_together(p);
    refused_at(ctx, path.text, what, 0);
    if (!strstr(kb_context_message(ctx), says))
        fail_msg("%s: \"%s\" does not say \"%s\"", what, kb_context_message(ctx), says);
    unlink(path.text);
}

/* The format in the header. */
static inline const char *version_of(const parts *p) {
    const json_t *metadata = json_object_get(p->header, "__metadata__");
    return json_string_value(json_object_get(metadata, "format_version"));
}

/* Takes an array and its bytes out; the others move up. */
static inline void cut_out(parts *p, const char *name) {
    size_t begin = offset_of(p, name, 0), end = offset_of(p, name, 1);
    const char *key;
    json_t *entry;
    json_object_del(p->header, name);
    memmove(p->data + begin, p->data + end, p->bytes - end);
    p->bytes -= end - begin;
    json_object_foreach(p->header, key, entry) {
        json_t *at = json_object_get(entry, "data_offsets");
        for (size_t i = 0; at && i < 2; i++) {
            json_int_t x = json_integer_value(json_array_get(at, i));
            if (x > (json_int_t)begin)
                json_array_set_new(at, i, json_integer(x - (json_int_t)(end - begin)));
        }
    }
}

/* How `damage` breaks an array: the first by its entry in the header, the others by numbers,
 * which not every array checks. */
enum { DAMAGED_HEADERS = 6, DAMAGED_NUMBERS = 10 };

/* Breaks one array of the file in one of these ways; 0 if that is not possible. */
static inline int damage(parts *p, const char *name, int how) {
    json_t *entry = entry_of(p, name), *shape = json_object_get(entry, "shape");
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    int wide = strcmp(type + 1, "64") == 0;
    size_t items = (offset_of(p, name, 1) - offset_of(p, name, 0)) / (wide ? 8 : 4);
    void *numbers = array_of(p, name);
    switch (how) {
    case 0:
        cut_out(p, name);
        return 1;
    case 1: /* another rank */
        if (json_array_size(shape) == 1)
            json_array_append_new(shape, json_integer(1));
        else
            json_object_set_new(entry, "shape", json_pack("[I]", (json_int_t)items));
        return 1;
    case 2: /* another type of the same size */
        json_object_set_new(
            entry, "dtype",
            json_string(type[0] == 'F' ? (wide ? "I64" : "I32") : (wide ? "F64" : "F32")));
        return 1;
    case 3: /* fewer items than bytes */
        json_array_set_new(shape, 0,
                           json_integer(json_integer_value(json_array_get(shape, 0)) - 1));
        return 1;
    case 4: /* a type that is none */
        json_object_set_new(entry, "dtype", json_string("BF16"));
        return 1;
    case 5: /* not an array at all */
        json_object_set_new(p->header, name, json_string("gone"));
        return 1;
    case 6:
    case 7:
        if (strcmp(type, "F64") != 0 || items == 0)
            return 0;
        ((double *)numbers)[items - 1] = how == 6 ? NAN : INFINITY;
        return 1;
    default: /* integers out of bounds */
        if (type[0] != 'I' || items == 0)
            return 0;
        if (wide)
            ((int64_t *)numbers)[items - 1] = how == 8 ? -1 : INT64_MAX;
        else
            ((int32_t *)numbers)[items - 1] = how == 8 ? INT32_MIN : INT32_MAX;
        return 1;
    }
}

#endif
