/* interrupt.c - see interrupt.h. */
#define _XOPEN_SOURCE 700
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOPS = sizeof stops / sizeof *stops };

static volatile sig_atomic_t requested; /* the signal; 0: none */
static double first;                    /* seconds; used by the handler alone */

/* One keystroke or `timeout` may send the signal to the process and to its group: signals within
 * half a second count as one. */
static void request(int signal_number) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (!requested) {
        requested = signal_number;
        first = seconds;
    } else if (seconds - first > 0.5) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
}

void interrupt_install(void) {
    /* No SA_RESTART: a read that waits for the terminal must return. */
    struct sigaction stop = {.sa_handler = request}, ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&stop.sa_mask);
    sigemptyset(&ignore.sa_mask);
    for (size_t i = 0; i < STOPS; i++)
        sigaddset(&stop.sa_mask, stops[i]);
    for (size_t i = 0; i < STOPS; i++) {
        struct sigaction before;
        if (sigaction(stops[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(stops[i], &stop, NULL);
    }
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
}

int interrupt_requested(void) {
    return requested != 0;
}

void interrupt_finish(void) {
    if (!requested)
        return;
    signal(requested, SIG_DFL);
    raise(requested);
}
