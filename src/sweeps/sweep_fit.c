/* sweep_fit.c - see sweep_fit.h. */
#include "sweeps/sweep_fit.h"
#include "core/weights.h"
#include "ranks/row_sums.h"
#include "sweeps/primal_cg.h"

#include <math.h>
#include <string.h>

/* A sweep helps if it lowers the error of the stop rows by this share. */
static const double STOP_GAIN = 1e-3;
/* Odd and even sweeps go in opposite directions and may err to opposite sides. */
enum { PATIENCE = 2 };
/* But the error of so many stop rows has little noise. */
enum { MANY = 10000 };
/* Sweeps of a fit that stops early, at most. */
enum { MOST_SWEEPS = 30 };
/* A share of rows for the stop that may be missing from the fit. */
static const double FEW = 0.02;
/* Sweeps before conjugate gradients take over. */
enum { FIRST_SWEEPS = 10 };

/* ---- stopping ---------------------------------------------------------- */

typedef struct best_sweep {
    double error;
    size_t at;
} best_sweep;

typedef struct stop {
    const kb_sweep_fit *fit;
    size_t rows; /* of all ranks */
    const double *f;
    best_sweep best;
} stop;

/* The first stop row from row i on. */
static size_t stop_row_from(const kb_sweep_fit *fit, size_t i) {
    size_t low = 0, high = fit->stop_rows;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (fit->stop_row[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The weighted squared error of the stop rows among the rows begin up to end. */
static void add_errors(void *arg, size_t begin, size_t end, double *sum) {
    const stop *s = arg;
    const kb_sweep_fit *fit = s->fit;
    *sum = 0;
    for (size_t h = stop_row_from(fit, begin); h < fit->stop_rows && fit->stop_row[h] < end; h++) {
        size_t i = fit->stop_row[h];
        for (size_t c = 0; c < fit->C; c++) {
            double e = s->f[h * fit->C + c] - fit->y[i * fit->C + c];
            *sum += kb_weight_of(fit->s, i) * e * e;
        }
    }
}

static kb_status error_of(kb_context *ctx, stop *s, double *error) {
    if (kb_has_ranks(ctx))
        return kb_row_sums_by(ctx, s->fit->z->rows, 1, add_errors, s, error);
    add_errors(s, 0, s->fit->z->rows, error);
    return KB_OK;
}

/* Stops when PATIENCE sweeps have not helped. */
static kb_status look(kb_context *ctx, void *arg, size_t sweep, kb_watch_answer *answer) {
    stop *s = arg;
    double error;
    kb_status status = error_of(ctx, s, &error);
    if (status != KB_OK)
        return status;
    if (sweep == 1 || error < (1 - STOP_GAIN) * s->best.error) {
        s->best.error = error;
        s->best.at = sweep;
        if (s->fit->stop_f)
            memcpy(s->fit->stop_f, s->f, s->fit->stop_rows * s->fit->C * sizeof *s->f);
        *answer = KB_WATCH_KEEP;
        return KB_OK;
    }
    size_t patience = s->rows < MANY ? PATIENCE : 1;
    *answer = sweep < s->best.at + patience ? KB_WATCH_ON : KB_WATCH_STOP;
    return KB_OK;
}

/* The decisions of the best sweep, which an earlier run has made. */
static void take_best(void *arg) {
    const stop *s = arg;
    if (s->fit->stop_f)
        memcpy(s->fit->stop_f, s->f, s->fit->stop_rows * s->fit->C * sizeof *s->f);
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Over all rows but the stop rows, until their error is lowest. */
static kb_status sweep_until_best(kb_context *ctx, kb_sweep_fit *fit, size_t stop_rows,
                                  kb_sweeps *sweeps) {
    kb_status status;
    size_t N = fit->z->rows;
    double *weight = NULL, *f = NULL;
    stop s = {.fit = fit, .rows = stop_rows};
    double until = kb_stop_at(ctx, INFINITY);
    kb_watch watch = {.rows = fit->stop_rows,
                      .row = fit->stop_row,
                      .look = look,
                      .arg = &s,
                      .state = &s.best,
                      .state_bytes = sizeof s.best,
                      .restore = take_best};
    status = kb_alloc(ctx, N, sizeof *weight, &weight);
    if (status == KB_OK)
        status = kb_alloc(ctx, fit->stop_rows * fit->C, sizeof *f, &f);
    TRY(kb_ranks_agree(ctx, status));
    for (size_t i = 0; i < N; i++)
        weight[i] = kb_weight_of(fit->s, i);
    for (size_t h = 0; h < fit->stop_rows; h++)
        weight[fit->stop_row[h]] = 0;
    s.f = watch.f = f;
    sweeps->s = weight;
    sweeps->watch = &watch;
    sweeps->max_sweeps = least(fit->max_steps, MOST_SWEEPS);
    if (isfinite(until)) /* as much time again for all rows */
        kb_stop_at(ctx, (kb_now(ctx) + until) / 2);
    TRY(kb_sweeps_run(ctx, sweeps));
    fit->steps += sweeps->sweeps;
done:
    kb_stop_at(ctx, until);
    kb_release(ctx, weight);
    kb_release(ctx, f);
    return status;
}

/* As many again over all rows, from the start: rows that come in late have larger residuals than
 * the others, and the slices that meet them first would make too much of them. */
static kb_status sweep_all_rows(kb_context *ctx, kb_sweep_fit *fit, kb_sweeps *sweeps) {
    kb_status status;
    sweeps->s = fit->s;
    sweeps->watch = NULL;
    sweeps->max_sweeps = sweeps->sweeps;
    TRY(kb_sweeps_run(ctx, sweeps));
    fit->steps += sweeps->sweeps;
done:
    return status;
}

/* ---- to a tolerance ---------------------------------------------------- */

static kb_status polish(kb_context *ctx, kb_sweep_fit *fit) {
    kb_status status;
    kb_primal problem = {.op = fit->op,
                         .lambda = fit->lambda,
                         .tol = fit->tol,
                         .max_steps = fit->max_steps - fit->steps,
                         .C = fit->C,
                         .y = fit->target,
                         .w = fit->w};
    TRY(kb_primal_cg(ctx, &problem));
    fit->steps += problem.steps;
    fit->converged = problem.converged;
done:
    return status;
}

kb_bytes kb_sweep_fit_bytes(size_t C, size_t R) {
    kb_bytes sweeps = kb_sweeps_bytes(C, R), cg = kb_primal_cg_bytes(C);
    return (kb_bytes){.row = fmax(sweeps.row + 8, cg.row), .bin = fmax(sweeps.bin, cg.bin)};
}

kb_status kb_sweep_fit_run(kb_context *ctx, kb_sweep_fit *fit) {
    kb_status status;
    kb_sweeps sweeps = {.z = fit->z,
                        .lambda = fit->lambda,
                        .C = fit->C,
                        .y = fit->y,
                        .s = fit->s,
                        .intercept = fit->intercept,
                        .w = fit->w,
                        .b = fit->b,
                        .f = fit->f};
    int64_t rows[2] = {(int64_t)fit->z->rows, (int64_t)fit->stop_rows}; /* of all ranks */
    fit->steps = 0;
    fit->stopped = 0;
    TRY(kb_ranks_sum(ctx, rows, 2));
    if (rows[1] > 0) {
        TRY(sweep_until_best(ctx, fit, (size_t)rows[1], &sweeps));
        if (!sweeps.too_wide && (double)rows[1] > FEW * (double)rows[0] && !kb_is_late(ctx))
            TRY(sweep_all_rows(ctx, fit, &sweeps));
        fit->converged = fit->stopped = !sweeps.too_wide;
    } else {
        sweeps.tol = fit->tol;
        sweeps.max_sweeps = least(fit->max_steps, FIRST_SWEEPS);
        TRY(kb_sweeps_run(ctx, &sweeps));
        fit->steps = sweeps.sweeps;
        fit->converged = sweeps.converged && !sweeps.too_wide;
    }
    if (sweeps.too_wide)
        memset(fit->w, 0, fit->z->bins * fit->C * sizeof(double));
    if (!fit->converged && fit->steps < fit->max_steps && !(fit->steps > 0 && kb_is_late(ctx)))
        TRY(polish(ctx, fit));
done:
    return status;
}
