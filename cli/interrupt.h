/*
 * interrupt.h - signals: Ctrl-C asks once and kills the second time.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

/* The first SIGINT, SIGTERM or SIGHUP is kept for interrupt_requested(), a later one ends
 * the process at once.  One that was ignored from the start (nohup) stays so.  A closed pipe or a
 * file-size limit becomes a failed write. */
void interrupt_install(void);
int interrupt_requested(void);
/* Dies of the signal that was requested, if any: a shell that runs the program in a loop then ends
 * the loop.  Call it once all is cleaned up. */
void interrupt_finish(void);

#endif
