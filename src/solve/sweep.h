/*
 * sweep.h - columns visited block by block, the columns of a block by all threads at once.
 *
 * Columns of a block touch disjoint rows, so what is done to one does not depend on another's
 * turn, and the threads meet after every block: the result is the same for any number of them.
 *
 * A meeting costs a microsecond where every thread has a processor of its own, and may cost
 * milliseconds where another program has it.  So a sweep that is not as fast as one thread is
 * finished by one, and the next ones are left to one for a while.
 */
#ifndef KB_SOLVE_SWEEP_H
#define KB_SOLVE_SWEEP_H

#include "solve/columns.h"

/* Some of the columns, block by block. */
typedef struct kb_set {
    size_t count;   /* places */
    size_t *start;  /* blocks + 1: the first place of each block */
    size_t *column; /* of a place */
    size_t *work;   /* places + 1: nonzeros before each, and some more for every column */
} kb_set;

kb_status kb_set_create(kb_context *ctx, const kb_columns *c, kb_set *set);
void kb_set_release(kb_context *ctx, kb_set *set);
/* To fill one: set->count = 0; then block after block its columns, and its end. */
void kb_set_add(kb_set *set, const kb_columns *c, size_t j);
void kb_set_end_block(kb_set *set, size_t block);

/* What is known of the speed of a kind of sweep. */
typedef struct kb_pace {
    double alone;   /* seconds for a unit of work on one thread; 0: not known */
    int rest, wait; /* sweeps that one thread still does, and how many it was given last */
    int since;      /* sweeps since `alone` was measured */
} kb_pace;

/* Does something to the places begin up to end, all of `block`. */
typedef void kb_visit(void *arg, size_t block, size_t begin, size_t end);

typedef struct kb_sweep {
    const kb_columns *columns;
    const kb_set *set;
    const size_t *order; /* of the blocks; NULL: as they are */
    kb_visit *visit[2];  /* the second, unless NULL, after the first is done with the block */
    void *arg;
    kb_pace *pace;
} kb_sweep;

void kb_sweep_run(kb_context *ctx, const kb_sweep *sweep);

/* u = the sum of the set's columns times a.  Every thread has its own rows, and each row takes the
 * columns in order. */
void kb_set_sum(kb_context *ctx, const kb_columns *c, const kb_set *set, const double *a,
                double *u);

#endif
