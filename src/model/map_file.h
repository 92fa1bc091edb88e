/*
 * map_file.h - what any map has in a model file: its transform, and the widths and the spread of
 * its columns.
 */
#ifndef KB_MODEL_MAP_FILE_H
#define KB_MODEL_MAP_FILE_H

#include "model/map.h"
#include "model/tensors.h"

enum { KB_MAP_TENSORS = 22 };

/* The arrays, all of 8-byte numbers; those that the map lacks are left out. */
typedef struct kb_map_tensors {
    size_t count;
    kb_tensor tensor[KB_MAP_TENSORS];
    double *sigma, *q;                     /* memory of two of them, */
    int64_t *kind, *source, *part, *codes; /* and of the steps of the encoding */
    double *fill;
} kb_map_tensors;

/* Clear it also after a failure. */
kb_status kb_map_tensors_build(kb_context *ctx, const kb_map *map, kb_map_tensors *out);
void kb_map_tensors_clear(kb_context *ctx, kb_map_tensors *tensors);

/* Whether an array is one of these, by its name. */
int kb_map_has_tensor(const char *name);

/* A map with what the file says of these; `shift` names an array of the file that has one number
 * for each of its columns.  KB_ERR_MODEL if anything is wrong. */
kb_status kb_map_read(kb_context *ctx, const kb_tensor_file *file, const kb_fit_info *info,
                      const char *shift, kb_map **out);

#endif
