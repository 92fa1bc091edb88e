/*
 * sweep_span.c - what follows the slices of a sweep: the span of two moves, and the intercept; see
 * sweep_state.h.
 */
#include "sweeps/sweep_state.h"
#include "core/team.h"
#include "ranks/row_sums.h"

#include <string.h>

/* Sums that the span needs: this move with itself, with the last and with the start; the last one
 * with itself and with the start; the start with itself. */
enum { MOVE_MOVE, MOVE_LAST, MOVE_START, LAST_LAST, LAST_START, START_START, SPAN_SUMS };

/* ---- the span of two moves --------------------------------------------- */

static void sum_rows(void *arg, size_t begin, size_t end, double *sum) {
    const kb_sweep_state *s = arg;
    size_t P = s->P;
    const double whole = 1 / (double)(1 << KB_SHARE_BITS);
    memset(sum, 0, P * SPAN_SUMS * sizeof *sum);
    for (size_t i = begin; i < end; i++) {
        double weight = s->share ? s->share[i] * whole : 1;
        for (size_t c = 0, e = i * P; c < P; c++, e++) {
            double start = s->before[e], move = start - s->r[e], last = s->last[e];
            double *out = sum + c * SPAN_SUMS;
            out[MOVE_MOVE] += weight * move * move;
            out[MOVE_LAST] += weight * move * last;
            out[MOVE_START] += weight * move * start;
            out[LAST_LAST] += weight * last * last;
            out[LAST_START] += weight * last * start;
            out[START_START] += weight * start * start;
        }
    }
}

static void sum_bins(void *arg, size_t begin, size_t end, double *sum) {
    const kb_sweep_state *s = arg;
    size_t P = s->P;
    memset(sum, 0, P * SPAN_SUMS * sizeof *sum);
    for (size_t b = begin; b < end; b++)
        for (size_t c = 0, e = b * P; c < P; c++, e++) {
            double start = s->u[e], move = (double)s->d[e], last = (double)s->u_last[e];
            double *out = sum + c * SPAN_SUMS;
            out[MOVE_MOVE] += s->Lambda * move * move;
            out[MOVE_LAST] += s->Lambda * move * last;
            out[MOVE_START] -= s->Lambda * move * start;
            out[LAST_LAST] += s->Lambda * last * last;
            out[LAST_START] -= s->Lambda * last * start;
        }
}

typedef struct combination {
    kb_sweep_state *s;
    double of_move[KB_PANEL], of_last[KB_PANEL];
} combination;

static void combine_rows(void *arg, size_t begin, size_t end) {
    combination *a = arg;
    kb_sweep_state *s = a->s;
    uint32_t bits = 0;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->P; c < s->P; c++, e++) {
            s->last[e] = kb_sweep_nearest(a->of_move[c] * (s->before[e] - s->r[e]) +
                                          a->of_last[c] * s->last[e]);
            s->r[e] = s->before[e] - s->last[e];
            s->before[e] = s->r[e];
            bits |= (uint32_t)(s->r[e] < 0 ? -s->r[e] : s->r[e]);
        }
    atomic_fetch_or(&s->ended, bits);
    kb_sweep_weigh(s, begin, end);
}

static void combine_bins(void *arg, size_t begin, size_t end) {
    combination *a = arg;
    kb_sweep_state *s = a->s;
    for (size_t b = begin; b < end; b++)
        for (size_t c = 0, e = b * s->P; c < s->P; c++, e++) {
            s->u_last[e] =
                (float)(a->of_move[c] * (double)s->d[e] + a->of_last[c] * (double)s->u_last[e]);
            s->u[e] += (double)s->u_last[e];
            s->d[e] = 0;
        }
}

/* The minimum over the two moves; over the first alone where they point the same way.  Each slice
 * rounds a row of its move by up to half a unit, and rows of one bin alike.  Slopes below what that
 * may add up to are not known: such a move stays as it is, and along the last one the slope is then
 * zero, since it was minimised over. */
static void solve_span(const kb_sweep_state *s, const double *row, const double *bin,
                       double *of_move, double *of_last) {
    double a[SPAN_SUMS], off = 0.5 * (double)kb_slices_count(s->slices) * sqrt(s->total);
    for (int k = 0; k < SPAN_SUMS; k++)
        a[k] = row[k] + bin[k];
    double det = a[MOVE_MOVE] * a[LAST_LAST] - a[MOVE_LAST] * a[MOVE_LAST];
    double slope = off * sqrt(row[START_START]);
    *of_move = 1;
    *of_last = 0;
    if (a[MOVE_START] <= slope)
        return;
    if (fabs(a[LAST_START]) <= slope)
        a[LAST_START] = 0;
    if (det > 1e-9 * a[MOVE_MOVE] * a[LAST_LAST] &&
        det > off * off * fmax(a[MOVE_MOVE], a[LAST_LAST])) {
        *of_move = (a[MOVE_START] * a[LAST_LAST] - a[LAST_START] * a[MOVE_LAST]) / det;
        *of_last = (a[LAST_START] * a[MOVE_MOVE] - a[MOVE_START] * a[MOVE_LAST]) / det;
    } else if (a[MOVE_MOVE] > 0) {
        *of_move = a[MOVE_START] / a[MOVE_MOVE];
    }
}

kb_status kb_sweep_span(kb_context *ctx, kb_sweep_state *s) {
    kb_status status;
    combination a = {.s = s};
    double row[KB_PANEL * SPAN_SUMS], bin[KB_PANEL * SPAN_SUMS];
    TRY(kb_row_sums_by(ctx, s->N, s->P * SPAN_SUMS, sum_rows, s, row));
    TRY(kb_sums_by(ctx, s->D, s->P * SPAN_SUMS, sum_bins, s, bin));
    for (size_t c = 0; c < s->P; c++)
        solve_span(s, row + c * SPAN_SUMS, bin + c * SPAN_SUMS, &a.of_move[c], &a.of_last[c]);
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / s->P, combine_rows, &a);
    kb_team_for(ctx, s->D, KB_WORTH_A_THREAD / s->P, combine_bins, &a);
done:
    return status;
}

/* ---- the intercept ----------------------------------------------------- */

static void sum_residuals(void *arg, size_t begin, size_t end, double *sum) {
    const kb_sweep_state *s = arg;
    const int32_t *v = kb_sweep_summed(s);
    memset(sum, 0, s->P * sizeof *sum);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < s->P; c++)
            sum[c] += v[i * s->P + c];
}

typedef struct shift {
    kb_sweep_state *s;
    int32_t by[KB_PANEL];
} shift;

static void shift_rows(void *arg, size_t begin, size_t end) {
    shift *a = arg;
    kb_sweep_state *s = a->s;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * s->P; c < s->P; c++, e++) {
            s->r[e] -= a->by[c];
            s->before[e] = s->r[e];
        }
    kb_sweep_weigh(s, begin, end);
}

kb_status kb_sweep_centre(kb_context *ctx, kb_sweep_state *s) {
    kb_status status;
    double sum[KB_PANEL] = {0};
    shift a = {.s = s};
    TRY(kb_row_sums_by(ctx, s->N, s->P, sum_residuals, s, sum));
    for (size_t c = 0; c < s->p->C; c++) {
        a.by[c] = s->total > 0 ? kb_sweep_nearest(sum[c] / s->total) : 0;
        s->p->b[c] += a.by[c] * s->unit[c];
    }
    kb_team_for(ctx, s->N, KB_WORTH_A_THREAD / s->P, shift_rows, &a);
done:
    return status;
}
