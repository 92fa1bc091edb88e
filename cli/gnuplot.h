/*
 * gnuplot.h - gnuplot as a child process; for plot.c.
 */
#ifndef CLI_GNUPLOT_H
#define CLI_GNUPLOT_H

#include "session.h"

/* Whether there is a program of that name on the PATH. */
int gnuplot_found(void);
/* Runs the script.  *bytes, to be freed, is what it drew, with a 0 behind. */
kb_status gnuplot_run(session *s, const char *script, char **bytes, size_t *size);

#endif
