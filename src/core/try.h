/* try.h - the one error path, of the library and of the program. */
#ifndef KB_CORE_TRY_H
#define KB_CORE_TRY_H

/* On failure go to the clean-up at `done:`. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != KB_OK)                                                                       \
            goto done;                                                                             \
    } while (0)

#endif
