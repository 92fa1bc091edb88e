/*
 * team.h - the threads of a context.
 *
 * A small team of POSIX threads instead of OpenMP, for three reasons: threads that wait
 * look around for a moment and then sleep, so that a busy machine is not burnt on waiting
 * (libgomp turns for milliseconds); a program may fork, or use another OpenMP beside; and the
 * thread sanitizer understands it.
 *
 * Work is dealt out by position alone, and no result may depend on who does what.
 */
#ifndef KB_CORE_TEAM_H
#define KB_CORE_TEAM_H

#include "core/context.h"

/* Runs body(arg, me, threads) for me = 0 .. threads - 1 at once, 0 being the caller, and
 * returns when all are done.  There are as many threads as the context has, but at most `most`
 * unless that is 0 (1: the caller alone), and fewer if the machine does not give so many.  The
 * others sleep on.  Bodies must not call it again. */
void kb_team_run(kb_context *ctx, int most, void (*body)(void *arg, int me, int threads),
                 void *arg);

/* Until it is told otherwise, no work is shared by more than so many; 0: by any number.  For when
 * another program has the processors, or the data lie in the caches of some. */
void kb_team_limit(kb_context *ctx, int most);

/* Inside a body: waits until the first `threads` of the run are here, `me` being one of them.
 * Whoever stays away from a meeting stays away from all later ones of the run. */
void kb_team_meet(kb_context *ctx, int me, int threads);

/* Runs body(arg, begin, end) over pieces of 0 .. count, one piece a thread, on so few threads that
 * there are at least `least` items for each. */
void kb_team_for(kb_context *ctx, size_t count, size_t least,
                 void (*body)(void *arg, size_t begin, size_t end), void *arg);

/* Additions for which it pays to wake another thread. */
enum { KB_WORTH_A_THREAD = 16384 };

/* Part `me` of `count` items begins here. */
static inline size_t kb_share(size_t count, int me, int threads) {
    return count / (size_t)threads * (size_t)me +
           count % (size_t)threads * (size_t)me / (size_t)threads;
}

void kb_team_free(kb_context *ctx);

#endif
