/*
 * ranks.h - the processes that run the program together.
 *
 * kerbin is one process (alone.c).  kerbin-mpi is those that mpirun starts (mpi.c), each with some
 * of the rows; all have the same command line.  Rank 0 prints the results and the warnings and
 * writes the files.
 */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "kerbin.h"

/* At the start, before anything else: 0, or the exit status where the ranks do not go together,
 * which is told. */
int ranks_begin(int *argc, char ***argv);
/* At the end, with the exit status. */
void ranks_finish(int status);

int ranks_me(void);
int ranks_count(void);
/* Ranks on this machine. */
int ranks_nearby(void);
/* For kb_context_config; NULL: this process is alone. */
const kb_ranks *ranks_of_context(void);

/* KB_OK where all ranks are fine; else the status of the first that is not, and *first is that
 * rank.  All ranks must call it. */
kb_status ranks_agree(kb_status status, int *first);

/* *number becomes its sum over the ranks. */
void ranks_add_up(size_t *number);

/* What a rank knows when it ends a command. */
typedef struct rank_end {
    int status;           /* the exit status; 0: all went well */
    int interrupted;      /* by a signal */
    const char *sentence; /* what went wrong, or "" */
} rank_end;

/* Every rank calls it when it ends a command, and gets the exit status of all; *speaks: this one
 * is to print its sentence.  Where others do not come to their end, since they wait for this one,
 * *speaks is set and *lost too: ranks_abort must follow. */
int ranks_meet(const rank_end *end, int *speaks, int *lost);
/* Ends the processes of all ranks. */
void ranks_abort(int status);

#endif
