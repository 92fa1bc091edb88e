/* sweep_fit.c - see sweep_fit.h. */
#include "sweeps/sweep_fit.h"
#include "core/weights.h"
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
    const double *f;
    best_sweep best;
} stop;

/* The weighted squared error of the stop rows. */
static double error_of(const stop *s) {
    const kb_sweep_fit *fit = s->fit;
    double sum = 0;
    for (size_t h = 0; h < fit->stop_rows; h++) {
        size_t i = fit->stop_row[h];
        for (size_t c = 0; c < fit->C; c++) {
            double e = s->f[h * fit->C + c] - fit->y[i * fit->C + c];
            sum += kb_weight_of(fit->s, i) * e * e;
        }
    }
    return sum;
}

/* Stops when PATIENCE sweeps have not helped. */
static kb_watch_answer look(void *arg, size_t sweep) {
    stop *s = arg;
    double error = error_of(s);
    if (sweep == 1 || error < (1 - STOP_GAIN) * s->best.error) {
        s->best.error = error;
        s->best.at = sweep;
        if (s->fit->stop_f)
            memcpy(s->fit->stop_f, s->f, s->fit->stop_rows * s->fit->C * sizeof *s->f);
        return KB_WATCH_KEEP;
    }
    size_t patience = s->fit->stop_rows < MANY ? PATIENCE : 1;
    return sweep < s->best.at + patience ? KB_WATCH_ON : KB_WATCH_STOP;
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
static kb_status sweep_until_best(kb_context *ctx, kb_sweep_fit *fit, kb_sweeps *sweeps) {
    kb_status status;
    size_t N = fit->z->rows;
    double *weight = NULL, *f = NULL;
    stop s = {.fit = fit};
    double until = kb_stop_at(ctx, INFINITY);
    kb_watch watch = {.rows = fit->stop_rows,
                      .row = fit->stop_row,
                      .look = look,
                      .arg = &s,
                      .state = &s.best,
                      .state_bytes = sizeof s.best,
                      .restore = take_best};
    TRY(kb_alloc(ctx, N, sizeof *weight, &weight));
    TRY(kb_alloc(ctx, fit->stop_rows * fit->C, sizeof *f, &f));
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
    fit->steps = 0;
    fit->stopped = 0;
    if (fit->stop_rows > 0) {
        TRY(sweep_until_best(ctx, fit, &sweeps));
        if (!sweeps.too_wide && (double)fit->stop_rows > FEW * (double)fit->z->rows &&
            !kb_is_late(ctx))
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
