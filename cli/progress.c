/* progress.c - see progress.h. */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELLS = 30 };

void progress_start(progress *bar, int quiet) {
    const char *terminal = getenv("TERM");
    memset(bar, 0, sizeof *bar);
    bar->enabled = !quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

void progress_clear(progress *bar) {
    if (bar->drawn)
        fputs("\r\033[K", stderr);
    bar->drawn = 0;
}

/* 75 s -> "1:15". */
static void print_clock(double seconds) {
    long s = seconds < 360000 ? (long)(seconds + 0.5) : 360000;
    if (s >= 3600)
        fprintf(stderr, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        fprintf(stderr, "%ld:%02ld", s / 60, s % 60);
}

static void draw_bar(const char *phase, double done, double elapsed) {
    char cells[CELLS + 1];
    int full = (int)(done * CELLS);
    memset(cells, '.', CELLS);
    memset(cells, '#', (size_t)full);
    cells[CELLS] = '\0';
    fprintf(stderr, "\r%-8s[%s] %3d %%  ", phase, cells, (int)(100 * done));
    if (done > 0.01) {
        print_clock(elapsed * (1 - done) / done);
        fputs(" left", stderr);
    }
    fputs("\033[K", stderr);
}

void progress_update(progress *bar, const char *phase, double done) {
    if (!bar->enabled)
        return;
    double now = seconds_now();
    if (strcmp(bar->phase, phase) != 0) {
        progress_clear(bar);
        snprintf(bar->phase, sizeof bar->phase, "%s", phase);
        bar->started = now;
        bar->furthest = 0;
        bar->drawn_at = now + 0.1; /* the first line after 0.2 s */
    }
    if (done >= 1) {
        progress_clear(bar);
        bar->phase[0] = '\0';
        return;
    }
    if (done > bar->furthest)
        bar->furthest = done;
    if (now - bar->drawn_at < 0.1)
        return;
    bar->drawn_at = now;
    bar->drawn = 1;
    if (done >= 0) {
        draw_bar(phase, bar->furthest, now - bar->started);
    } else {
        fprintf(stderr, "\r%-8s%c  ", phase, "|/-\\"[bar->turn++ % 4]);
        print_clock(now - bar->started);
        fputs("\033[K", stderr);
    }
    fflush(stderr);
}
