/*
 * checkpoint.h - the state of a solver in a file, from which a later run goes on.
 *
 * It is written between two steps, whole or not at all, when enough time has passed since the last
 * one.  It has a fingerprint of the problem: a run goes on from the file if that is of the same
 * problem, and else begins at the beginning and replaces it.  All numbers are those of the state,
 * so the result has the same bits as without a stop.  The numbers of rows stand in the order of the
 * rows of all ranks: the number of ranks may be another one.
 *
 * A fit may be several solves after each other.  The file has the number of its solve and the
 * fingerprint of the first one.  A run that begins with the same one leaves the file as it is until
 * it comes to that solve, so that what was done is not lost.
 *
 * A solver lists what its state is made of: numbers of rows, and whole arrays, which all ranks have
 * alike.  Then it asks for the file, and after each step offers to write it.
 */
#ifndef KB_RANKS_CHECKPOINT_H
#define KB_RANKS_CHECKPOINT_H

#include "ranks/ranks.h"

enum { KB_CHECKPOINT_PARTS = 24 };

/* Of rows: `bytes` for each. */
typedef struct kb_checkpoint_part {
    void *at;
    size_t bytes;
} kb_checkpoint_part;

typedef struct kb_checkpoint {
    size_t N; /* rows of this rank */
    kb_checkpoint_part row[KB_CHECKPOINT_PARTS], whole[KB_CHECKPOINT_PARTS];
    size_t rows, wholes; /* how many parts there are */
    uint64_t problem;    /* its fingerprint; 0: no file is kept */
    uint64_t stage;      /* the number of the solve */
    int waits;           /* the file is of a later solve of this run */
    double written;      /* when the last one was, or when the run began */
} kb_checkpoint;

/* Parts of no bytes do not count. */
void kb_checkpoint_row(kb_checkpoint *c, void *at, size_t bytes);
void kb_checkpoint_whole(kb_checkpoint *c, void *at, size_t bytes);

/* Whether the caller asked for a file, and this work is of the fit that it is for. */
static inline int kb_wants_checkpoint(const kb_context *ctx) {
    return ctx->checkpoint != NULL && !ctx->checkpoint_paused;
}

/* The hash of some bytes after those that gave h. */
uint64_t kb_checkpoint_hash(uint64_t h, const void *bytes, size_t count);
/* A number for the rows of all ranks and what these parts have for them. */
kb_status kb_checkpoint_hash_rows(kb_context *ctx, size_t N, size_t count,
                                  const kb_checkpoint_part *part, uint64_t *out);

/* Takes the state of the file if that is of this problem; *found tells. */
kb_status kb_checkpoint_resume(kb_context *ctx, kb_checkpoint *c, uint64_t problem, int *found);
/* Fails, for a state that no run of kerbin has. */
kb_status kb_checkpoint_refuse(kb_context *ctx);
/* Writes the state if the time has come. */
kb_status kb_checkpoint_save(kb_context *ctx, kb_checkpoint *c);

#endif
