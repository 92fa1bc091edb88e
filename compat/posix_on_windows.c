/* posix_on_windows.c - see posix_on_windows.h. */
#include "posix_on_windows.h"

#include <sys/mman.h>
#include <unistd.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* ---- files ------------------------------------------------------------- */

/* errno for what Windows complains of. */
static int told(DWORD error) {
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
        return ENOENT;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        return EEXIST;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
        return EACCES;
    case ERROR_LOCK_VIOLATION:
        return EWOULDBLOCK;
    case ERROR_DISK_FULL:
        return ENOSPC;
    case ERROR_NOT_ENOUGH_MEMORY:
        return ENOMEM;
    default:
        return EIO;
    }
}

/* Others may read, write and remove the file meanwhile, as on POSIX. */
int kb_windows_open(const char *path, int flags, ...) {
    DWORD access = flags & O_RDWR     ? GENERIC_READ | GENERIC_WRITE
                   : flags & O_WRONLY ? GENERIC_WRITE
                                      : GENERIC_READ;
    DWORD how = !(flags & O_CREAT) ? OPEN_EXISTING : flags & O_EXCL ? CREATE_NEW : OPEN_ALWAYS;
    if (flags & O_DIRECTORY) {
        errno = EACCES;
        return -1;
    }
    HANDLE file = CreateFileA(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                              NULL, how, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        errno = told(GetLastError());
        return -1;
    }
    int fd = _open_osfhandle((intptr_t)file, flags & (O_RDONLY | O_WRONLY | O_RDWR | _O_BINARY));
    if (fd < 0)
        CloseHandle(file);
    return fd;
}

/* A byte that no file has: a lock on Windows keeps others from what is locked. */
int kb_windows_lock(int fd) {
    OVERLAPPED at = {.Offset = 0, .OffsetHigh = 0x7FFFFFFF};
    if (LockFileEx((HANDLE)_get_osfhandle(fd), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY,
                   0, 1, 0, &at))
        return 0;
    errno = EWOULDBLOCK;
    return -1;
}

/* The C library numbers no files; Windows does, by more digits than st_ino has. */
#undef stat
#undef fstat
static void set_numbers(HANDLE file, struct stat *info) {
    BY_HANDLE_FILE_INFORMATION told_of = {0};
    GetFileInformationByHandle(file, &told_of);
    info->st_dev = (_dev_t)(told_of.nFileIndexLow ^ told_of.dwVolumeSerialNumber);
    info->st_ino = (_ino_t)(told_of.nFileIndexLow >> 16 ^ told_of.nFileIndexHigh);
}

int kb_windows_stat(const char *path, struct stat *info) {
    if (stat(path, info) != 0)
        return -1;
    HANDLE file = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    set_numbers(file, info);
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return 0;
}

int kb_windows_fstat(int fd, struct stat *info) {
    if (fstat(fd, info) != 0)
        return -1;
    set_numbers((HANDLE)_get_osfhandle(fd), info);
    return 0;
}

int kb_windows_rename(const char *from, const char *to) {
    if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING))
        return 0;
    errno = told(GetLastError());
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

ssize_t kb_windows_pwrite(int fd, const void *from, size_t count, long long offset) {
    OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
    DWORD most = count < 0x40000000 ? (DWORD)count : 0x40000000, put = 0;
    if (WriteFile((HANDLE)_get_osfhandle(fd), from, most, &put, &at))
        return (ssize_t)put;
    errno = told(GetLastError());
    return -1;
}

/* ---- processors and memory ----------------------------------------------- */

long kb_windows_sysconf(int name) {
    SYSTEM_INFO info;
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    GetSystemInfo(&info);
    if (name == _SC_NPROCESSORS_ONLN)
        return (long)info.dwNumberOfProcessors;
    if (name == _SC_PAGESIZE)
        return (long)info.dwPageSize;
    if (!GlobalMemoryStatusEx(&memory))
        return -1;
    return (long)(memory.ullTotalPhys / info.dwPageSize);
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
