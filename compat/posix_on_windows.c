/* posix_on_windows.c - see posix_on_windows.h. */
#include "posix_on_windows.h"

#include <errno.h>
#include <sys/mman.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

int kb_windows_rename(const char *from, const char *to) {
    if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING))
        return 0;
    errno = EACCES;
    return -1;
}

ssize_t kb_windows_pread(int fd, void *bytes, size_t count, long long offset) {
    OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
    DWORD got = 0;
    if (ReadFile((HANDLE)_get_osfhandle(fd), bytes, (DWORD)count, &got, &at))
        return (ssize_t)got;
    if (GetLastError() == ERROR_HANDLE_EOF)
        return 0;
    errno = EIO;
    return -1;
}

long kb_windows_processors(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (long)info.dwNumberOfProcessors;
}

/* A file is mapped to be read; memory without a file comes from the same calls, so that one call
 * undoes both. */
void *kb_windows_map(size_t length, int protection, int flags, int fd) {
    int anonymous = flags & MAP_ANONYMOUS;
    HANDLE file = anonymous ? INVALID_HANDLE_VALUE : (HANDLE)_get_osfhandle(fd);
    DWORD page = protection & PROT_WRITE ? PAGE_READWRITE : PAGE_READONLY;
    DWORD low = anonymous ? (DWORD)length : 0;
    DWORD high = anonymous ? (DWORD)((unsigned long long)length >> 32) : 0;
    HANDLE mapping = CreateFileMappingA(file, NULL, page, high, low, NULL);
    if (!mapping) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    DWORD access = protection & PROT_WRITE ? FILE_MAP_WRITE : FILE_MAP_READ;
    void *map = MapViewOfFile(mapping, access, 0, 0, length);
    CloseHandle(mapping); /* the view keeps it */
    if (!map)
        errno = ENOMEM;
    return map ? map : MAP_FAILED;
}

int kb_windows_unmap(void *map) {
    return UnmapViewOfFile(map) ? 0 : -1;
}
