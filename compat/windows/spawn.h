/*
 * spawn.h - there are no children on Windows yet: no figures, which need gnuplot.  It is looked for
 * in a PATH with colons, so that it is not found, and the program says so.
 */
#ifndef KERBIN_COMPAT_SPAWN_H
#define KERBIN_COMPAT_SPAWN_H

typedef int posix_spawn_file_actions_t;
typedef int posix_spawnattr_t;
#define POSIX_SPAWN_SETSIGDEF                               0
#define posix_spawn_file_actions_init(actions)              (*(actions) = 0)
#define posix_spawn_file_actions_destroy(actions)           ((void)(actions))
#define posix_spawn_file_actions_adddup2(actions, from, to) ((void)(from), (void)(to), 0)
#define posix_spawnattr_init(attributes)                    (*(attributes) = 0)
#define posix_spawnattr_destroy(attributes)                 ((void)(attributes))
#define posix_spawnattr_setsigdefault(attributes, set)      ((void)(set))
#define posix_spawnattr_setflags(attributes, flags)         ((void)(flags), 0)
#define posix_spawnp(child, name, actions, attributes, words, environment)                         \
    (*(child) = 0, (void)(words), ENOSYS)

#endif
