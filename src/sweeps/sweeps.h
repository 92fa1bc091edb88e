/*
 * sweeps.h - ridge regression by sweeps over slices of grids.
 *
 *     min over w, b   1/2 sum_i s_i (y_i - w'z_i - b)^2 + lambda/2 |w|^2
 *
 * Within one grid the bins are disjoint, so with the residual given the best change of all its
 * weights has a closed form.  A slice of grids is changed at once: each bin's own best change, then
 * one exact line search for all of them.  The next slice sees the new residual.  A sweep visits all
 * slices, and ends with the best combination of its move and the last one.
 *
 * A sweep reads every bin number twice, like a product K v.  On large and noisy tables 2 to 8
 * sweeps predict as well as 50 to 150 steps of CG.  To solve to many digits, CG is faster from
 * where the first sweeps end (primal_cg.h).  With lambda near 0 the first slices interpolate the
 * targets: sweeps then end at a solution that fits, but not at the one of least norm to which CG
 * goes.
 *
 * Residuals and steps are whole numbers (simd/whole_sums.h), so the result is the same for any
 * number of threads.
 */
#ifndef KB_SWEEPS_SWEEPS_H
#define KB_SWEEPS_SWEEPS_H

#include "core/bytes.h"
#include "sweeps/sweep_problem.h"

kb_status kb_sweeps_run(kb_context *ctx, kb_sweeps *problem);

/* Memory beside the caller's arrays, for a batch of C outputs and R grids. */
kb_bytes kb_sweeps_bytes(size_t C, size_t R);

#endif
