/* tensors.c - see tensors.h.  The file may come from anyone: everything in it is checked. */
#define _DEFAULT_SOURCE /* for memory of mmap without a file */
#include "model/tensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "model files are little endian");

static const char *const TYPE_NAME[] = {"F64", "I64", "F32", "I32", "I16", "I8"};
static const size_t TYPE_SIZE[] = {8, 8, 4, 4, 2, 1};

/* The checksum's place in the header, found by its key; 16 digits follow. */
static const char CHECKSUM_KEY[] = "\"checksum\":\"";
static const char CHECKSUM_ZERO[] = "0000000000000000";
enum { CHECKSUM_DIGITS = 16, ALIGNMENT = 64, LONGEST_HEADER = 100 << 20 };

static size_t tensor_bytes(const kb_tensor *t) {
    return TYPE_SIZE[t->type] * t->shape[0] * (t->rank == 2 ? t->shape[1] : 1);
}

/* ---- writing ----------------------------------------------------------- */

typedef struct growing {
    kb_context *ctx;
    char *text;
    size_t length, capacity;
    kb_status status;
} growing;

static int add_text(const char *bytes, size_t count, void *user) {
    growing *g = user;
    if (g->status == KB_OK)
        g->status = kb_reserve(g->ctx, g->length + count + 1, 1, &g->capacity, &g->text);
    if (g->status != KB_OK)
        return -1;
    memcpy(g->text + g->length, bytes, count);
    g->length += count;
    return 0;
}

kb_status kb_json_dump(kb_context *ctx, const json_t *json, size_t flags, char **out) {
    growing g = {.ctx = ctx};
    int failed = json_dump_callback(json, add_text, &g, flags) != 0 || !g.text;
    *out = g.text;
    if (!failed && g.status == KB_OK) {
        g.text[g.length] = '\0';
        return KB_OK;
    }
    kb_release(ctx, g.text);
    *out = NULL;
    return kb_fail(ctx, KB_ERR_MEMORY, "out of memory: cannot write the model's description");
}

static json_t *header_json(const json_t *metadata, const kb_tensor *tensors, size_t count) {
    json_t *header = json_object(), *texts = json_deep_copy(metadata);
    size_t at = 0;
    int bad =
        !header || !texts || json_object_set_new(texts, "checksum", json_string(CHECKSUM_ZERO));
    bad = bad || json_object_set(header, "__metadata__", texts);
    for (size_t i = 0; !bad && i < count; i++) {
        const kb_tensor *t = &tensors[i];
        json_int_t begin = (json_int_t)at, end = (json_int_t)(at += tensor_bytes(t));
        json_t *shape = t->rank == 1
                            ? json_pack("[I]", (json_int_t)t->shape[0])
                            : json_pack("[II]", (json_int_t)t->shape[0], (json_int_t)t->shape[1]);
        json_t *entry = json_pack("{s:s, s:o, s:[II]}", "dtype", TYPE_NAME[t->type], "shape", shape,
                                  "data_offsets", begin, end);
        bad = !entry || json_object_set_new(header, t->name, entry);
    }
    json_decref(texts);
    if (bad) {
        json_decref(header);
        return NULL;
    }
    return header;
}

static uint64_t checksum(const char *header, size_t length, const kb_tensor *tensors,
                         size_t count) {
    uint64_t sum = XXH3_64bits(header, length);
    for (size_t i = 0; i < count; i++)
        sum = XXH3_64bits_withSeed(tensors[i].bytes, tensor_bytes(&tensors[i]), sum);
    return sum;
}

kb_status kb_tensors_write(kb_context *ctx, const kb_sink *sink, const json_t *metadata,
                           const kb_tensor *tensors, size_t count) {
    kb_status status;
    char *text = NULL, *header = NULL, digits[CHECKSUM_DIGITS + 1];
    json_t *json = header_json(metadata, tensors, count);
    if (!json)
        TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: cannot write the model's header"));
    TRY(kb_json_dump(ctx, json, JSON_COMPACT, &text));
    size_t used = strlen(text);
    uint64_t length = (8 + used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - 8;
    TRY(kb_alloc(ctx, length, 1, &header));
    memset(header, ' ', length);
    memcpy(header, text, used);
    char *place = strstr(text, CHECKSUM_KEY) + strlen(CHECKSUM_KEY);
    snprintf(digits, sizeof digits, "%016llx",
             (unsigned long long)checksum(header, length, tensors, count));
    memcpy(header + (place - text), digits, CHECKSUM_DIGITS);
    TRY(sink->put(sink->user, &length, sizeof length));
    TRY(sink->put(sink->user, header, length));
    for (size_t i = 0; i < count; i++) {
        TRY(sink->put(sink->user, tensors[i].bytes, tensor_bytes(&tensors[i])));
        TRY(kb_progress(ctx, "write", (double)(i + 1) / (double)count));
    }
done:
    kb_release(ctx, header);
    kb_release(ctx, text);
    json_decref(json);
    return status;
}

/* ---- reading ----------------------------------------------------------- */

/* Memory that is unmapped as a file is. */
static kb_status room_of(kb_context *ctx, kb_tensor_file *out) {
    void *map = mmap(NULL, out->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return kb_fail(ctx, KB_ERR_MEMORY, "out of memory: cannot get %s",
                       kb_size_in_words((double)out->bytes).text);
    out->map = map;
    return KB_OK;
}

/* The checks that follow are of a copy that nobody else can change. */
static kb_status copy_file(kb_context *ctx, int fd, kb_tensor_file *out) {
    kb_status status;
    TRY(room_of(ctx, out));
    for (size_t have = 0; have < out->bytes;) {
        ssize_t more = pread(fd, (char *)out->map + have, out->bytes - have, (off_t)have);
        if (more < 0 && errno != EINTR)
            TRY(kb_fail(ctx, KB_ERR_IO, "%s: cannot read: %s", out->path, strerror(errno)));
        if (more == 0)
            TRY(kb_fail(ctx, KB_ERR_MODEL, "%s: truncated while it was read", out->path));
        have += more > 0 ? (size_t)more : 0;
        TRY(kb_progress(ctx, "read", (double)have / (double)out->bytes));
    }
done:
    return status;
}

static kb_status map_file(kb_context *ctx, const char *path, int copy, kb_tensor_file *out) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        kb_status status = kb_fail(ctx, KB_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (!S_ISREG(info.st_mode) || info.st_size < 8) {
        close(fd);
        return kb_fail(ctx, KB_ERR_MODEL, "%s: not a kerbin model", path);
    }
    out->bytes = (size_t)info.st_size;
    if (copy) {
        kb_status status = copy_file(ctx, fd, out);
        close(fd);
        return status;
    }
    out->map = mmap(NULL, out->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (out->map == MAP_FAILED) {
        out->map = NULL;
        return kb_fail(ctx, KB_ERR_IO, "%s: cannot map: %s", path, strerror(errno));
    }
    return KB_OK;
}

/* A copy. */
static kb_status map_bytes(kb_context *ctx, const void *bytes, size_t size, kb_tensor_file *out) {
    kb_status status;
    if (size < 8)
        return kb_fail(ctx, KB_ERR_MODEL, "%s: not a kerbin model", out->path);
    out->bytes = size;
    TRY(room_of(ctx, out));
    memcpy(out->map, bytes, size);
done:
    return status;
}

/* The entry of a header as a tensor; 0 if it is malformed or leaves the file. */
static int read_entry(const kb_tensor_file *file, const json_t *entry, kb_tensor *t) {
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    size_t room = file->bytes - (size_t)(file->data - (unsigned char *)file->map), bytes;
    json_int_t begin = json_integer_value(json_array_get(offsets, 0));
    json_int_t end = json_integer_value(json_array_get(offsets, 1));
    if (!type || (json_array_size(shape) != 1 && json_array_size(shape) != 2) || begin < 0 ||
        end < begin || (size_t)end > room)
        return 0;
    for (t->type = 0; strcmp(TYPE_NAME[t->type], type) != 0; t->type++)
        if (t->type == KB_I8)
            return 0;
    t->rank = json_array_size(shape);
    bytes = TYPE_SIZE[t->type];
    for (size_t i = 0; i < t->rank; i++) {
        json_int_t n = json_integer_value(json_array_get(shape, i));
        if (n < 0 || __builtin_mul_overflow(bytes, (size_t)n, &bytes))
            return 0;
        t->shape[i] = (size_t)n;
    }
    t->bytes = file->data + begin;
    return bytes == (size_t)(end - begin) && begin % (json_int_t)TYPE_SIZE[t->type] == 0;
}

/* Checks that the arrays, in order, fill the file, and that the checksum is right. */
static kb_status check_content(kb_context *ctx, kb_tensor_file *file, char *header, size_t length) {
    const char *key;
    json_t *entry;
    const unsigned char *end = file->data;
    char *place = strstr(header, CHECKSUM_KEY);
    if (!place || strlen(place) < strlen(CHECKSUM_KEY) + CHECKSUM_DIGITS)
        return kb_fail(ctx, KB_ERR_MODEL, "%s: damaged: no checksum", file->path);
    place += strlen(CHECKSUM_KEY);
    char want[CHECKSUM_DIGITS + 1] = {0}, is[CHECKSUM_DIGITS + 1];
    memcpy(want, place, CHECKSUM_DIGITS);
    memcpy(place, CHECKSUM_ZERO, CHECKSUM_DIGITS);
    uint64_t sum = XXH3_64bits(header, length);
    json_object_foreach(file->header, key, entry) {
        kb_tensor t;
        if (strcmp(key, "__metadata__") == 0)
            continue;
        if (!read_entry(file, entry, &t) || t.bytes != end)
            return kb_fail(ctx, KB_ERR_MODEL, "%s: truncated or damaged (array '%.40s')",
                           file->path, key);
        if (!file->trusted)
            sum = XXH3_64bits_withSeed(t.bytes, tensor_bytes(&t), sum);
        end += tensor_bytes(&t);
    }
    if (end != (unsigned char *)file->map + file->bytes)
        return kb_fail(ctx, KB_ERR_MODEL, "%s: damaged: %zu bytes too many", file->path,
                       (size_t)((unsigned char *)file->map + file->bytes - end));
    snprintf(is, sizeof is, "%016llx", (unsigned long long)sum);
    if (!file->trusted && strcmp(is, want) != 0)
        return kb_fail(ctx, KB_ERR_MODEL, "%s: damaged: the checksum does not match", file->path);
    return KB_OK;
}

const char *kb_tensors_text(const kb_tensor_file *file, const char *key) {
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

static kb_status check_format(kb_context *ctx, const kb_tensor_file *file, const char *format,
                              int version) {
    const char *is = kb_tensors_text(file, "format"),
               *made = kb_tensors_text(file, "format_version");
    if (!is || strcmp(is, format) != 0 || !made)
        return kb_fail(ctx, KB_ERR_MODEL, "%s: not a kerbin model", file->path);
    if (strtol(made, NULL, 10) > version || strtol(made, NULL, 10) < 1)
        return kb_fail(ctx, KB_ERR_MODEL,
                       "%s: has model format %.12s, this kerbin knows up to %d: use a newer kerbin",
                       file->path, made, version);
    return KB_OK;
}

/* Jansson says what is wrong with a text, and nothing where it got no memory. */
kb_status kb_json_load(kb_context *ctx, const char *text, size_t length, json_t **out) {
    json_error_t error;
    *out = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!*out && error.text[0] == '\0')
        return kb_fail(ctx, KB_ERR_MEMORY, "out of memory: cannot read the model's description");
    return KB_OK;
}

kb_status kb_tensors_open(kb_context *ctx, const char *path, const void *bytes, size_t size,
                          const char *format, int version, kb_tensors_how how,
                          kb_tensor_file *out) {
    kb_status status;
    char *header = NULL;
    uint64_t length;
    *out = (kb_tensor_file){.path = path, .trusted = how == KB_TENSORS_TRUSTED};
    TRY(bytes ? map_bytes(ctx, bytes, size, out)
              : map_file(ctx, path, how == KB_TENSORS_COPIED, out));
    memcpy(&length, out->map, sizeof length);
    if (length > LONGEST_HEADER || out->bytes == 8 || ((const char *)out->map)[8] != '{')
        TRY(kb_fail(ctx, KB_ERR_MODEL, "%s: not a kerbin model", path));
    if (length > out->bytes - 8)
        TRY(kb_fail(ctx, KB_ERR_MODEL, "%s: truncated", path));
    if (length % 8 != 0) /* the arrays are used in place */
        TRY(kb_fail(ctx, KB_ERR_MODEL, "%s: damaged: its arrays are not aligned", path));
    TRY(kb_alloc(ctx, length + 1, 1, &header));
    memcpy(header, (const char *)out->map + 8, length);
    header[length] = '\0';
    out->data = (const unsigned char *)out->map + 8 + length;
    TRY(kb_json_load(ctx, header, length, &out->header));
    if (!json_is_object(out->header))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "%s: not a kerbin model, or damaged", path));
    TRY(check_format(ctx, out, format, version));
    TRY(check_content(ctx, out, header, length));
done:
    kb_release(ctx, header);
    if (status != KB_OK)
        kb_tensors_close(out);
    return status;
}

void kb_tensors_close(kb_tensor_file *file) {
    if (file->map)
        munmap(file->map, file->bytes);
    json_decref(file->header);
    memset(file, 0, sizeof *file);
}

kb_status kb_tensors_find(kb_context *ctx, const kb_tensor_file *file, kb_tensor *want) {
    kb_tensor t;
    json_t *entry = json_object_get(file->header, want->name);
    if (!entry || !read_entry(file, entry, &t) || t.type != want->type || t.rank != want->rank ||
        t.shape[0] != want->shape[0] || (t.rank == 2 && t.shape[1] != want->shape[1]))
        return kb_fail(ctx, KB_ERR_MODEL, "%s: damaged: the array '%s' is not as it should be",
                       file->path, want->name);
    want->bytes = t.bytes;
    return KB_OK;
}

size_t kb_tensors_length(const kb_tensor_file *file, const char *name) {
    kb_tensor t;
    return kb_tensors_get(file, name, &t) && t.rank == 1 ? t.shape[0] : 0;
}

size_t kb_tensors_rows(const kb_tensor_file *file, const char *name) {
    kb_tensor t;
    return kb_tensors_get(file, name, &t) && t.rank == 2 ? t.shape[0] : 0;
}

int kb_tensors_get(const kb_tensor_file *file, const char *name, kb_tensor *out) {
    json_t *entry = json_object_get(file->header, name);
    if (!entry || !read_entry(file, entry, out))
        return 0;
    out->name = name;
    return 1;
}
