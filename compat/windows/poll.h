/* poll.h - Windows does not tell whether the reader of a pipe has left. */
#ifndef KERBIN_COMPAT_POLL_H
#define KERBIN_COMPAT_POLL_H

struct pollfd {
    int fd;
    short events, revents;
};
#define POLLOUT                       4
#define POLLERR                       8
#define poll(files, count, wait_time) ((void)(files), 0)

#endif
