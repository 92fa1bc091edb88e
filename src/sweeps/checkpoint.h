/*
 * checkpoint.h - the state of sweeps in a file, from which a later run goes on.
 *
 * It is written at the end of a sweep, whole or not at all, when enough time has passed since the
 * last one.  It has a fingerprint of the problem: a run goes on from the file if that is of the
 * same rows, bins, targets and settings, and else begins at the beginning.  All numbers are those
 * of the state, so the result has the same bits as without a stop.  The numbers of rows stand in
 * the order of the rows of all ranks: the number of ranks may be another one.  Sweeps on a GPU keep
 * none.
 */
#ifndef KB_SWEEPS_CHECKPOINT_H
#define KB_SWEEPS_CHECKPOINT_H

#include "sweeps/sweep_state.h"

typedef struct kb_sweep_saver {
    uint64_t problem; /* its fingerprint; 0: no file was asked for */
    double written;   /* when the last one was, or when the run began */
} kb_sweep_saver;

/* Once targets and weights are known.  *found: the state is that of the file, and p->sweeps sweeps
 * are done; *finished: no other may follow. */
kb_status kb_sweep_resume(kb_context *ctx, kb_sweep_state *s, kb_sweep_saver *saver, int *found,
                          int *finished);
/* After a sweep; `finished`: it was the last. */
kb_status kb_sweep_save(kb_context *ctx, const kb_sweep_state *s, kb_sweep_saver *saver,
                        int finished);

#endif
