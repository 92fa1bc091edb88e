/* bench.c - the harness; see bench.h. */
#include "bench.h"
#include "core/machine.h"
#include "core/team.h"
#include "simd/simd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_row(const char *what, const char *value, const char *rival, const char *verdict) {
    printf("%-44s %18s  %-34s %s\n", what, value, rival, verdict);
    fflush(stdout);
}

static void keep(bench *b, const char *what, double value, const char *unit, const char *rival,
                 double ratio, double bar, int passed) {
    json_t *row = json_pack("{s:s, s:f, s:s}", "what", what, "value", value, "unit", unit);
    if (rival) {
        json_object_set_new(row, "against", json_string(rival));
        json_object_set_new(row, "ratio", json_real(ratio));
    }
    if (bar > 0) {
        json_object_set_new(row, "bar", json_real(bar));
        json_object_set_new(row, "passed", json_boolean(passed));
    }
    json_array_append_new(b->rows, row);
    b->failed += !passed;
}

void bench_row(bench *b, const char *what, double value, const char *unit, const char *rival,
               double ratio, double bar) {
    char number[64], against[96] = "", verdict[64] = "";
    int passed = bar == 0 || ratio >= bar;
    snprintf(number, sizeof number, "%.4g %s", value, unit);
    if (rival)
        snprintf(against, sizeof against, "%.2f x %s", ratio, rival);
    if (bar > 0)
        snprintf(verdict, sizeof verdict, "bar %.3g x: %s", bar, passed ? "met" : "MISSED");
    print_row(what, number, against, verdict);
    keep(b, what, value, unit, rival, ratio, bar, passed);
}

void bench_row_at_most(bench *b, const char *what, double value, const char *unit, double most) {
    char number[64], verdict[64];
    int passed = value <= most;
    snprintf(number, sizeof number, "%.4g %s", value, unit);
    snprintf(verdict, sizeof verdict, "bar %.3g: %s", most, passed ? "met" : "MISSED");
    print_row(what, number, "", verdict);
    keep(b, what, value, unit, NULL, 0, most, passed);
}

void bench_skip(bench *b, const char *what, const char *why) {
    print_row(what, "not measured", why, "");
    json_array_append_new(b->rows, json_pack("{s:s, s:s}", "what", what, "skipped", why));
}

void bench_time(bench_body *first, void *first_arg, bench_body *second, void *second_arg,
                double *first_seconds, double *second_seconds) {
    double began = kb_seconds();
    *first_seconds = INFINITY;
    if (second)
        *second_seconds = INFINITY;
    for (int run = 0; run < 5 || (run < 400 && kb_seconds() - began < 2); run++) {
        double start = kb_seconds();
        first(first_arg);
        *first_seconds = fmin(*first_seconds, kb_seconds() - start);
        if (!second)
            continue;
        start = kb_seconds();
        second(second_arg);
        *second_seconds = fmin(*second_seconds, kb_seconds() - start);
    }
}

kb_data *bench_data(bench *b, const char *name) {
    char path[1024];
    kb_read_spec spec = {0};
    kb_data *data;
    snprintf(path, sizeof path, "%s/%s.xz", b->folder, name);
    return kb_read(b->one, &spec, path, &data) == KB_OK ? data : NULL;
}

static int write_json(const bench *b, const char *path) {
    json_t *all = json_pack("{s:s, s:i, s:s, s:O}", "version", kb_version(), "threads", b->threads,
                            "kernels", kb_simd_best()->name, "rows", b->rows);
    int failed = json_dump_file(all, path, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(all);
    if (failed)
        fprintf(stderr, "kerbin-bench: %s: cannot write\n", path);
    return failed;
}

void bench_open(bench *b) {
    const char *folder = getenv("KERBIN_DATA");
    kb_context_config alone = {.size = sizeof alone, .threads = 1};
    *b = (bench){.folder = folder ? folder : "../shared/data", .rows = json_array()};
    b->threads = kb_processors();
    if (kb_context_create(&alone, &b->one) != KB_OK || kb_context_create(NULL, &b->all) != KB_OK)
        exit(1);
}

int bench_close(bench *b, const char *json) {
    if (b->failed)
        printf("\n%d bar%s missed\n", b->failed, b->failed == 1 ? "" : "s");
    int failed = b->failed > 0 || (json && write_json(b, json));
    kb_context_free(b->one);
    kb_context_free(b->all);
    json_decref(b->rows);
    return failed;
}
