/*
 * tensors.h - named arrays and text in one file, as safetensors lays them out.
 *
 *     8 bytes   n, the length of the header, little endian
 *     n bytes   JSON: {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets"}}
 *     the rest  the arrays, little endian, one after the other without a gap
 *
 * The header is padded with blanks so that the arrays begin at a multiple of 64, and the
 * arrays of 8-byte numbers come first: all are aligned when the file is mapped into
 * memory.  The metadata's "checksum" covers the header (with zeros in its own place) and all
 * arrays, by XXH3.
 */
#ifndef KB_MODEL_TENSORS_H
#define KB_MODEL_TENSORS_H

#include "core/memory.h"

#include <jansson.h>

typedef enum kb_dtype { KB_F64, KB_I64, KB_F32, KB_I32, KB_I16, KB_I8 } kb_dtype;

typedef struct kb_tensor {
    const char *name;
    kb_dtype type;
    size_t rank; /* 1 or 2 */
    size_t shape[2];
    const void *bytes;
} kb_tensor;

/* Where the bytes of a file go, piece after piece. */
typedef struct kb_sink {
    kb_status (*put)(void *user, const void *bytes, size_t count);
    void *user;
} kb_sink;

/* `metadata` holds text values; the checksum is added. */
kb_status kb_tensors_write(kb_context *ctx, const kb_sink *sink, const json_t *metadata,
                           const kb_tensor *tensors, size_t count);

typedef struct kb_tensor_file {
    const char *path;
    int trusted;
    void *map;
    size_t bytes;
    json_t *header;
    const unsigned char *data; /* where the arrays begin */
} kb_tensor_file;

/* Where there is no path, in messages. */
#define KB_TENSORS_MEMORY "the model's bytes"

/* KB_TENSORS_TRUSTED: the checksum is not looked at.  KB_TENSORS_COPIED: the file is read into
 * memory, so that nobody changes it afterwards. */
typedef enum kb_tensors_how {
    KB_TENSORS_CHECKED,
    KB_TENSORS_TRUSTED,
    KB_TENSORS_COPIED
} kb_tensors_how;

/* Maps the file, or takes a copy of `size` bytes if there are any, and checks its layout and its
 * checksum: KB_ERR_IO if it cannot be read, KB_ERR_MODEL if it is malformed.  `path` is for
 * messages.  `format` and `version` are the values that the metadata "format" and "format_version"
 * must have, the latter at most. */
kb_status kb_tensors_open(kb_context *ctx, const char *path, const void *bytes, size_t size,
                          const char *format, int version, kb_tensors_how how, kb_tensor_file *out);
/* Unmaps unless the map was taken over (set to NULL). */
void kb_tensors_close(kb_tensor_file *file);

/* A text of the metadata, or NULL. */
const char *kb_tensors_text(const kb_tensor_file *file, const char *key);
/* The array `want->name`, which must have the type and shape of `want`; its bytes lie
 * in the map. */
kb_status kb_tensors_find(kb_context *ctx, const kb_tensor_file *file, kb_tensor *want);
/* The array of that name, of any type and shape; 0 if there is none. */
int kb_tensors_get(const kb_tensor_file *file, const char *name, kb_tensor *out);
/* The length of a one-dimensional array, 0 if there is none. */
size_t kb_tensors_length(const kb_tensor_file *file, const char *name);
/* The rows of a two-dimensional one, likewise. */
size_t kb_tensors_rows(const kb_tensor_file *file, const char *name);

/* Parses JSON; the result belongs to the caller, and is NULL where the text is no JSON.
 * KB_ERR_MEMORY if there was too little. */
kb_status kb_json_load(kb_context *ctx, const char *text, size_t length, json_t **out);

/* The text of JSON, with the flags of jansson; it belongs to the caller (kb_release).  json_dumps
 * may lose a part of the text where memory is short, and does not say so. */
kb_status kb_json_dump(kb_context *ctx, const json_t *json, size_t flags, char **out);

#endif
