/* processors.c - see processors.h. */
#define _GNU_SOURCE
#include "core/processors.h"

#include <sched.h>
#include <unistd.h>

int kb_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
