/* sys/resource.h - limits and use of the process, for Windows; see compat/. */
#ifndef KERBIN_COMPAT_RESOURCE_H
#define KERBIN_COMPAT_RESOURCE_H

struct rlimit {
    unsigned long long rlim_cur;
};
#define RLIMIT_AS              0
#define RLIM_INFINITY          (~0ull)
#define getrlimit(what, limit) ((limit)->rlim_cur = RLIM_INFINITY, 0)

struct rusage {
    long ru_maxrss; /* KiB */
};
#define RUSAGE_SELF           0
#define getrusage(who, usage) kb_windows_usage(usage)
int kb_windows_usage(struct rusage *usage); /* of the program: program_on_windows.c */

#endif
