/* progress.c - see progress.h. */
#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE
#include "progress.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The width of the bar, the least that is worth drawing, and the columns next to it. */
enum { CELLS = 30, FEW_CELLS = 5, OTHERS = 34 };

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

/* "1:15" for 75 s. */
typedef struct clock_words {
    char text[16];
} clock_words;

static clock_words clock_of(double seconds) {
    clock_words words;
    int s = seconds < 360000 ? (int)(seconds + 0.5) : 360000;
    if (s >= 3600)
        snprintf(words.text, sizeof words.text, "%d:%02d:%02d", s / 3600 % 1000, s / 60 % 60,
                 s % 60);
    else
        snprintf(words.text, sizeof words.text, "%d:%02d", s / 60, s % 60);
    return words;
}

static int terminal_columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* A line that wraps could not be erased, so it stays off the last column. */
static void draw(const char *line, int columns) {
    fprintf(stderr, "\r%.*s\033[K", columns - 1, line);
    fflush(stderr);
}

static void draw_bar(const char *phase, double done, double elapsed) {
    char cells[CELLS + 4] = "", left[32] = "", line[128];
    int columns = terminal_columns(), room = columns - OTHERS;
    if (room > CELLS)
        room = CELLS;
    if (room >= FEW_CELLS) {
        int full = (int)(done * room);
        memset(cells + 1, '.', (size_t)room);
        memset(cells + 1, '#', (size_t)full);
        cells[0] = '[';
        strcpy(cells + 1 + room, "] ");
    }
    if (done > 0.01)
        snprintf(left, sizeof left, "%s left", clock_of(elapsed * (1 - done) / done).text);
    snprintf(line, sizeof line, "%-9s%s%3d %%  %s", phase, cells, (int)(100 * done), left);
    draw(line, columns);
}

static void draw_spinner(const char *phase, char hand, double elapsed) {
    char line[64];
    snprintf(line, sizeof line, "%-9s%c  %s", phase, hand, clock_of(elapsed).text);
    draw(line, terminal_columns());
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
    if (done >= 0)
        draw_bar(phase, bar->furthest, now - bar->started);
    else
        draw_spinner(phase, "|/-\\"[bar->turn++ % 4], now - bar->started);
}
