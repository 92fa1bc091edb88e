/*
 * unistd.h - files for Windows, as POSIX has them; see compat/posix_on_windows.c.  Not in what is
 * included before every file, since kerbin has functions of its own called open and tell.
 */
#ifndef KERBIN_COMPAT_UNISTD_H
#define KERBIN_COMPAT_UNISTD_H

#define tell tell_of_io_h
#include <direct.h>
#include <errno.h>
#include_next <fcntl.h>
#include <io.h>
#include <limits.h>
#include <sys/stat.h>
#include_next <unistd.h>
#undef tell

/* ---- files: as bytes, replaced and removed while they are open ------------ */

#define O_CLOEXEC       (_O_NOINHERIT | _O_BINARY)
#define O_NOFOLLOW      0
#define O_NONBLOCK      0
#define O_NOCTTY        0
#define O_DIRECTORY     0x1000000 /* of no meaning to Windows: folders cannot be opened */
#define F_DUPFD_CLOEXEC 0
#define LOCK_EX         0
#define LOCK_NB         0
typedef int uid_t;
typedef int gid_t;

#define open(...)                       kb_windows_open(__VA_ARGS__)
#define fcntl(fd, what, least)          _dup(fd)
#define fsync(fd)                       _commit(fd)
#define flock(fd, how)                  kb_windows_lock(fd)
#define pread(fd, bytes, count, offset) kb_windows_pread(fd, bytes, count, offset)
#define pwrite(fd, from, count, offset) kb_windows_pwrite(fd, from, count, offset)
int kb_windows_open(const char *path, int flags, ...);
int kb_windows_lock(int fd);
ssize_t kb_windows_pread(int fd, void *bytes, size_t count, long long offset);
ssize_t kb_windows_pwrite(int fd, const void *from, size_t count, long long offset);

/* There are no links, owners, groups and rights to execute. */
#undef fstat
#undef access
#define S_ISLNK(mode)                ((void)(mode), 0)
#define access(path, mode)           _access(path, (mode)&6)
#define readlink(path, buffer, size) ((void)(buffer), -1)
#define fchown(fd, user, group)      ((void)(user), (void)(group), 0)
#define fchmod(fd, mode)             ((void)(mode), 0)
#define lstat(path, info)            kb_windows_stat(path, info)
#define stat(path, info)             kb_windows_stat(path, info)
#define fstat(fd, info)              kb_windows_fstat(fd, info)
int kb_windows_stat(const char *path, struct stat *info);
int kb_windows_fstat(int fd, struct stat *info);

#define _SC_NPROCESSORS_ONLN 1
#define _SC_PAGESIZE         2
#define _SC_PHYS_PAGES       3
#define sysconf(name)        kb_windows_sysconf(name)
long kb_windows_sysconf(int name);

#endif
