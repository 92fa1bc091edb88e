/*
 * sweep_saver.h - the state of sweeps as a checkpoint (ranks/checkpoint.h), at the end of a sweep.
 * Sweeps on a GPU keep none.
 */
#ifndef KB_SWEEPS_SWEEP_SAVER_H
#define KB_SWEEPS_SWEEP_SAVER_H

#include "ranks/checkpoint.h"
#include "sweeps/sweep_state.h"

/* Numbers that are no arrays of rows or bins. */
typedef struct kb_sweep_numbers {
    uint64_t sweeps, kept;
    int64_t backward, finished, converged;
    double b[KB_PANEL], kept_b[KB_PANEL];
    double start[KB_PANEL], residual[KB_PANEL];
    double watch[4];
} kb_sweep_numbers;

typedef struct kb_sweep_saver {
    kb_checkpoint state;
    kb_sweep_numbers numbers;
} kb_sweep_saver;

/* Once targets and weights are known.  *found: the state is that of the file, and p->sweeps sweeps
 * are done; *finished: no other may follow. */
kb_status kb_sweep_resume(kb_context *ctx, kb_sweep_state *s, kb_sweep_saver *saver, int *found,
                          int *finished);
/* After a sweep; `finished`: it was the last. */
kb_status kb_sweep_save(kb_context *ctx, const kb_sweep_state *s, kb_sweep_saver *saver,
                        int finished);

#endif
