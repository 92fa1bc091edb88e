/* sys/utsname.h - the name of the system, for Windows; see compat/. */
#ifndef KERBIN_COMPAT_UTSNAME_H
#define KERBIN_COMPAT_UTSNAME_H

struct utsname {
    char sysname[64], release[64], machine[64];
};
#define uname(system) kb_windows_name(system)
int kb_windows_name(struct utsname *system);

#endif
