/* sys/wait.h - the end of a child, for Windows; see compat/windows/spawn.h. */
#ifndef KERBIN_COMPAT_WAIT_H
#define KERBIN_COMPAT_WAIT_H

#define waitpid(child, result, options) ((void)(child), *(result) = 1, -1)
#define WIFEXITED(result)               ((result) == 0)
#define WEXITSTATUS(result)             (result)

#endif
