/* sys/mman.h - mapped files and memory for Windows; see compat/posix_on_windows.c. */
#ifndef KERBIN_COMPAT_MMAN_H
#define KERBIN_COMPAT_MMAN_H

#include <stddef.h>
#include <sys/types.h>

#define PROT_READ     1
#define PROT_WRITE    2
#define MAP_PRIVATE   2
#define MAP_ANONYMOUS 32
#define MAP_FAILED    ((void *)-1)

void *kb_windows_map(size_t length, int protection, int flags, int fd);
int kb_windows_unmap(void *map);
#define mmap(at, length, protection, flags, fd, offset)                                            \
    kb_windows_map(length, protection, flags, fd)
#define munmap(map, length) ((void)(length), kb_windows_unmap(map))

#endif
