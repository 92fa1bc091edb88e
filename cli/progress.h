/*
 * progress.h - a progress line on the terminal.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

typedef struct progress {
    int enabled; /* standard error is a terminal, and the user wants to see it */
    int drawn;   /* a line is on the terminal */
    int turn;    /* of the spinner */
    char phase[16];
    double started, drawn_at;
    double furthest; /* a residual may rise again; the bar does not go back */
} progress;

void progress_start(progress *bar, int quiet);
/* `done` from 0 to 1, or negative where the end is not known.  Cheap to call often:
 * draws at most ten times a second, and nothing for a phase that ends at once. */
void progress_update(progress *bar, const char *phase, double done);
/* Erases the line, so that other text can be written. */
void progress_clear(progress *bar);

#endif
