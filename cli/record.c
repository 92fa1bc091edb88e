/* record.c - see record.h. */
#define _POSIX_C_SOURCE 200809L
#include "record.h"
#include "command.h"
#include "report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ---- the command ----------------------------------------------------------- */

/* Bare where a shell would not change it, else in single quotes. */
static void put_quoted(FILE *to, const char *word) {
    const char *plain = word;
    while (isalnum((unsigned char)*plain) || (*plain && strchr("-_./,:=+@%", *plain)))
        plain++;
    if (*word && !*plain) {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, to);
    fputc('\'', to);
}

char *typed_command(const cli_args *args) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "kerbin %s", args->command->name);
    for (char *const *word = args->words; *word; word++) {
        fputc(' ', to);
        put_quoted(to, *word);
    }
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- the machine ----------------------------------------------------------- */

/* "model name : ..." of the first CPU; the machine type where there is none. */
static void cpu_name(char *room, size_t size, const char *kind) {
    char line[512];
    FILE *from = fopen("/proc/cpuinfo", "r");
    snprintf(room, size, "%s", kind);
    while (from && fgets(line, sizeof line, from)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(room, size, "%s", colon);
        break;
    }
    if (from)
        fclose(from);
}

#if defined(__clang__)
#define COMPILER "Clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "GCC " __VERSION__
#else
#define COMPILER "another compiler"
#endif

static json_t *machine(void) {
    struct utsname system;
    char cpu[256], name[2 * sizeof system.sysname];
    int known = uname(&system) >= 0;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    cpu_name(cpu, sizeof cpu, known ? system.machine : "unknown");
    snprintf(name, sizeof name, "%s %s", known ? system.sysname : "unknown",
             known ? system.release : "");
    json_t *object = json_pack("{s:o, s:o, s:o, s:s, s:s}", "cpu", report_text(cpu), "cores",
                               json_integer((json_int_t)sysconf(_SC_NPROCESSORS_ONLN)), "system",
                               report_text(name), "kerbin", kb_version(), "compiler", COMPILER);
    if (pages > 0 && page > 0)
        report_add(&object, "memory_bytes", json_integer((json_int_t)pages * (json_int_t)page));
    return object;
}

/* ---- a run ----------------------------------------------------------------- */

json_t *record_run(const cli_args *args) {
    char now[32] = "";
    time_t seconds = time(NULL);
    struct tm utc;
    if (gmtime_r(&seconds, &utc))
        strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc);
    char *typed = typed_command(args);
    json_t *run = typed ? json_pack("{s:o, s:s, s:o}", "typed", report_text(typed), "began", now,
                                    "machine", machine())
                        : NULL;
    free(typed);
    return run;
}

/* Whether the last run of the list was the same command on the same machine. */
static int is_last(const json_t *runs, const json_t *run) {
    size_t count = json_array_size(runs);
    const json_t *last = count > 0 ? json_array_get(runs, count - 1) : NULL;
    return last && json_equal(json_object_get(last, "typed"), json_object_get(run, "typed")) &&
           json_equal(json_object_get(last, "machine"), json_object_get(run, "machine"));
}

json_t *record_runs(const cli_args *args, const json_t *old) {
    const json_t *before = json_object_get(old, "runs");
    json_t *runs = json_is_array(before) ? json_deep_copy(before) : json_array();
    json_t *run = record_run(args);
    if (!run || is_last(runs, run)) {
        json_decref(run);
        return run ? runs : NULL;
    }
    if (json_array_append_new(runs, run) == 0)
        return runs;
    json_decref(runs);
    return NULL;
}
