/*
 * magic.h - files that are not text, by their first and last bytes.
 */
#ifndef KB_IO_MAGIC_H
#define KB_IO_MAGIC_H

typedef enum kb_magic {
    KB_MAGIC_NONE = 0, /* or not a regular file, or one that cannot be read */
    KB_MAGIC_NPY,
    KB_MAGIC_ZIP, /* .npz among them */
    KB_MAGIC_PARQUET,
    KB_MAGIC_ARROW, /* Arrow IPC file, Feather */
} kb_magic;

kb_magic kb_magic_of(const char *path);

#endif
