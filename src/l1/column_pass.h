/*
 * column_pass.h - columns visited block by block, the columns of a block by all threads at once.
 *
 * Columns of a block touch disjoint rows, so their order does not matter.  A thread works on some
 * parts of the rows, in all columns, and no other thread touches them: they stay in its cache.
 * What a step must know of a whole column comes from sums by parts, at a barrier; the result is the
 * same for any number of threads.
 *
 * A barrier costs less than a microsecond where every thread has a processor of its own, and may
 * cost milliseconds where another program uses it.  So a pass that is slower than one thread would
 * be, by more than earlier passes have saved, is finished by one thread, which also does the next
 * passes for a while.
 */
#ifndef KB_L1_COLUMN_PASS_H
#define KB_L1_COLUMN_PASS_H

#include "l1/zcolumns.h"

/* Some of the columns, block by block. */
typedef struct kb_set {
    size_t count;   /* places */
    size_t *start;  /* blocks + 1: the first place of each block */
    size_t *column; /* of a place */
    size_t *work;   /* places + 1: nonzeros before each, and some more for every column */
} kb_set;

kb_status kb_set_create(kb_context *ctx, const kb_zcolumns *c, kb_set *set);
void kb_set_release(kb_context *ctx, kb_set *set);
/* To fill one: set->count = 0; then block after block its columns, and its end. */
void kb_set_add(kb_set *set, const kb_zcolumns *c, size_t j);
void kb_set_end_block(kb_set *set, size_t block);

/* What is known of the speed of a kind of pass. */
typedef struct kb_pace {
    double alone;   /* seconds for a unit of work on one thread; 0: not known */
    int rest, wait; /* passes that are still left to one thread, and how many were last time */
    int since;      /* passes since `alone` was measured */
    int steady;     /* passes wait for others too, so their time tells nothing */
    double credit;  /* seconds that the team has saved recently */
} kb_pace;

/* What a thread is to do: the places begin up to end, some or all of `block`, on the rows of some
 * parts. */
typedef struct kb_turn {
    size_t block, begin, end;
    size_t part, part_end;
    int me, threads;
    int odd; /* alternates from turn to turn: a thread may begin the next while others still read
                what it wrote for this one */
} kb_turn;

typedef void kb_visit(void *arg, const kb_turn *turn);
/* Returns whether it touched any rows; all threads must say the same. */
typedef int kb_amend(void *arg, const kb_turn *turn);

enum { KB_PHASES = 4 };

typedef struct kb_column_pass {
    const kb_zcolumns *columns;
    const kb_set *set;
    const size_t *order;        /* of the blocks; NULL: as they are */
    kb_visit *visit[KB_PHASES]; /* two to four; each after all threads are done with the last */
    kb_amend *amend; /* NULL, or what to do when all threads are done; usually nothing, so that the
                        next turn does not wait for it */
    int whole;       /* a column needs the others of its block */
    void *arg;
    kb_pace *pace;
} kb_column_pass;

void kb_column_pass_run(kb_context *ctx, const kb_column_pass *sweep);

/* Before the first pass and after the last: the context remembers whether the processors were
 * busy. */
void kb_pace_begin(kb_context *ctx, kb_pace *pace);
void kb_pace_end(kb_context *ctx, const kb_pace *pace);

/* u += the set's columns times a, on the rows of part p. */
void kb_set_add_part(const kb_zcolumns *c, const kb_set *set, const double *a, size_t p, double *u);
/* u = the sum of the set's columns times a. */
void kb_set_sum(kb_context *ctx, const kb_zcolumns *c, const kb_set *set, const double *a,
                double *u);

#endif
