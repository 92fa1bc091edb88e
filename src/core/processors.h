/* processors.h - how many the machine offers. */
#ifndef KB_CORE_PROCESSORS_H
#define KB_CORE_PROCESSORS_H

/* Processors that this process may use. */
int kb_processors(void);

#endif
