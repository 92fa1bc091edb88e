/*
 * machine.c - see machine.h.
 *
 * A process that takes more than its group may is killed, and one with more threads than its
 * group has processors waits for all of them; so both are asked for.  The files of a group are at
 * the path that /proc/self/cgroup tells, or at the top where the container shows nothing else.
 */
#define _GNU_SOURCE
#include "core/machine.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* The names of one version of control groups. */
typedef struct group_kind {
    const char *limit, *used, *reclaimable;
} group_kind;

static const group_kind V2 = {"memory.max", "memory.current", "inactive_file "};
static const group_kind V1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                              "total_inactive_file "};

/* The first number after `key` in a small file of the kernel; SIZE_MAX if none. */
static size_t number_in(const char *path, const char *key) {
    char line[256];
    size_t found = SIZE_MAX;
    FILE *file = fopen(path, "r");
    if (!file)
        return found;
    while (found == SIZE_MAX && fgets(line, sizeof line, file)) {
        unsigned long long value;
        const char *at = line + strlen(key);
        if (strncmp(line, key, strlen(key)) == 0 && *at != '-' && sscanf(at, "%llu", &value) == 1)
            found = (size_t)value;
    }
    fclose(file);
    return found;
}

static size_t number_below(const char *folder, const char *file, const char *key) {
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    return length < (int)sizeof path ? number_in(path, key) : SIZE_MAX;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ---- control groups ---------------------------------------------------- */

/* The path of the process in the hierarchy of that controller, "" of version 2.  0: there is none.
 */
static int group_of(const char *root, const char *controller, char *path) {
    char name[PATH_BYTES], line[PATH_BYTES];
    int found = 0;
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    FILE *file = fopen(name, "r");
    if (!file)
        return 0;
    while (!found && fgets(line, sizeof line, file)) {
        char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
        if (!at)
            continue;
        *at++ = '\0';
        at[strcspn(at, "\n")] = '\0';
        for (char *word = ++list, *end; !found && word; word = end) {
            end = strchr(word, ',');
            if (end)
                *end++ = '\0';
            found = strcmp(word, controller) == 0;
        }
        if (found)
            strcpy(path, strcmp(at, "/") ? at : "");
    }
    fclose(file);
    return found;
}

/* Calls `look` for the group of the process and for all above it. */
typedef void (*group_look)(const char *folder, const void *kind, size_t *least_so_far);

static void each_group(const char *root, const char *controller, const char *top, group_look look,
                       const void *kind, size_t *result) {
    char path[PATH_BYTES], folder[2 * PATH_BYTES];
    if (!group_of(root, controller, path))
        return;
    if (strstr(path, "/..")) /* outside of what the container shows */
        path[0] = '\0';
    for (;;) {
        snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s%s", root, *top ? "/" : "", top, path);
        look(folder, kind, result);
        char *slash = strrchr(path, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Pages of files that nobody has looked at twice are given back when memory is short. */
static void look_at_memory(const char *folder, const void *kind, size_t *result) {
    const group_kind *k = kind;
    size_t limit = number_below(folder, k->limit, ""), used = number_below(folder, k->used, "");
    size_t reclaimable = number_below(folder, "memory.stat", k->reclaimable);
    if (limit == SIZE_MAX || used == SIZE_MAX)
        return;
    if (reclaimable != SIZE_MAX)
        used -= least(reclaimable, used);
    *result = least(*result, limit > used ? limit - used : 0);
}

/* Microseconds of a period that all threads may run. */
static void look_at_quota(const char *folder, const void *kind, size_t *result) {
    (void)kind;
    char path[2 * PATH_BYTES], text[64] = "";
    unsigned long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *file = fopen(path, "r");
    if (file) {
        if (!fgets(text, sizeof text, file))
            text[0] = '\0';
        fclose(file);
    } else {
        size_t of_v1 = number_below(folder, "cpu.cfs_quota_us", "");
        if (of_v1 != SIZE_MAX)
            snprintf(text, sizeof text, "%zu %zu", of_v1,
                     number_below(folder, "cpu.cfs_period_us", ""));
    }
    if (sscanf(text, "%llu %llu", &quota, &period) == 2 && quota > 0 && period > 0)
        *result = least(*result, (size_t)(quota / period + (quota % period > 0)));
}

/* ---- processors -------------------------------------------------------- */

int kb_processors_under(const char *root, int allowed) {
    size_t count = allowed > 0 ? (size_t)allowed : 1;
    each_group(root, "", "", look_at_quota, NULL, &count);
    each_group(root, "cpu", "cpu", look_at_quota, NULL, &count);
    each_group(root, "cpu", "cpu,cpuacct", look_at_quota, NULL, &count);
    return (int)count;
}

int kb_processors(void) {
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int allowed = online > 0 ? (int)online : 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        allowed = CPU_COUNT(&set);
    return kb_processors_under("", allowed);
}

/* ---- memory ------------------------------------------------------------ */

/* What `ulimit -v` leaves. */
static size_t address_space_left(const char *root) {
    struct rlimit space;
    size_t pages = number_below(root, "proc/self/statm", "");
    long page = sysconf(_SC_PAGESIZE);
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    size_t limit = (size_t)space.rlim_cur;
    size_t used = pages != SIZE_MAX && page > 0 ? pages * (size_t)page : 0;
    return limit > used ? limit - used : 0;
}

size_t kb_memory_under(const char *root) {
    size_t kib = number_below(root, "proc/meminfo", "MemAvailable:");
    size_t available = kib != SIZE_MAX ? kib * 1024 : SIZE_MAX;
    each_group(root, "", "", look_at_memory, &V2, &available);
    each_group(root, "memory", "memory", look_at_memory, &V1, &available);
    return least(available, address_space_left(root));
}

size_t kb_memory_available(void) {
    return kb_memory_under("");
}
