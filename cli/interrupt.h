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

#endif
