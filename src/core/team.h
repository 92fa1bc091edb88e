/*
 * team.h - the threads of a context.
 *
 * A small team of POSIX threads instead of OpenMP, for three reasons: threads that wait spin for a
 * moment and then sleep, so that waiting does not load the machine (libgomp spins for
 * milliseconds); a program may fork, or use another OpenMP beside; and the thread sanitizer
 * understands it.
 *
 * Work is distributed by position alone, and no result may depend on which thread does what.
 */
#ifndef KB_CORE_TEAM_H
#define KB_CORE_TEAM_H

#include "core/context.h"

/* Runs body(arg, me, threads) for me = 0 .. threads - 1 at once, 0 being the caller, and returns
 * when all are done.  There are as many threads as the context has, but at most `most` unless
 * that is 0 (1: the caller alone), and fewer if the machine does not provide so many.  The
 * others stay asleep.  Bodies must not call it again. */
void kb_team_run(kb_context *ctx, int most, void (*body)(void *arg, int me, int threads),
                 void *arg);

/* Splits the threads into `lanes` parts, or into as many as there are threads if those are fewer,
 * and runs body(arg, part, lane) on all at once; lane 0 is the caller's.  A part is a context with
 * threads of its own, which may be split again, and with the same heap: what is made with it stays.
 * It has a message of its own and does not log; kb_progress of a part calls back in lane 0 only,
 * and ends all parts if the caller wants to stop.  Without memory for it, or where the caller's
 * allocator may not be shared, body(arg, ctx, 0) alone is run. */
void kb_team_split(kb_context *ctx, int lanes, void (*body)(void *arg, kb_context *part, int lane),
                   void *arg);

/* From now on work runs on at most so many threads; 0: no limit.  For when another program has
 * the processors, or the data are in the caches of some. */
void kb_team_limit(kb_context *ctx, int most);

/* Inside a body: a barrier for the first `threads` threads of the run, `me` being one of them.
 * A thread that skips a barrier must skip all later ones of the run. */
void kb_team_meet(kb_context *ctx, int me, int threads);

/* Runs body(arg, begin, end) over pieces of 0 .. count, one piece a thread, on so few threads that
 * there are at least `least` items for each. */
void kb_team_for(kb_context *ctx, size_t count, size_t least,
                 void (*body)(void *arg, size_t begin, size_t end), void *arg);

/* For bodies that take long: whether the caller wants to stop.  kb_interrupt_asked asks it in the
 * body of the caller's thread, me = 0, and at most every 20 ms; the others hear of it.  A body that
 * has stopped leaves its work undone but still meets the others.  kb_interrupt_status:
 * KB_ERR_CANCELLED if it was so.  It begins as {ctx}. */
typedef struct kb_interrupt {
    kb_context *ctx;
    atomic_int stopped;
    double asked;
} kb_interrupt;
int kb_interrupt_asked(kb_interrupt *interrupt, int me);
kb_status kb_interrupt_status(const kb_interrupt *interrupt);

/* Additions for which it pays to wake another thread. */
enum { KB_WORTH_A_THREAD = 16384 };

/* Part `me` of `count` items begins here. */
static inline size_t kb_share(size_t count, int me, int threads) {
    return count / (size_t)threads * (size_t)me +
           count % (size_t)threads * (size_t)me / (size_t)threads;
}

void kb_team_free(kb_context *ctx);

#endif
