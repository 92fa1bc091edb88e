/*
 * machine.h - what the machine offers to this process: processors and memory.
 *
 * Limits of a container or a service are those of all its control groups, of version 1 or 2, from
 * that of the process up to the root; of the process itself, the processors that it may run on and
 * its address space (ulimit -v).
 */
#ifndef KB_CORE_MACHINE_H
#define KB_CORE_MACHINE_H

#include <stddef.h>

/* Processors that this process may use; a part of one counts as one. */
int kb_processors(void);

/* Bytes that the machine can still give to this process; SIZE_MAX if unknown. */
size_t kb_memory_available(void);

/* The same where `root` stands for /: for the tests.  `allowed`: processors without the groups. */
int kb_processors_under(const char *root, int allowed);
size_t kb_memory_under(const char *root);

#endif
