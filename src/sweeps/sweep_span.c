/*
 * sweep_span.c - what follows the slices of a sweep: the span of two moves, and the intercept; see
 * sweep_state.h.
 */
#include "sweeps/sweep_state.h"

/* The minimum over the two moves; over the first alone where they point the same way.  Each slice
 * rounds a row of its move by up to half a unit, and rows of one bin alike.  Slopes below what that
 * may add up to are not known: such a move stays as it is, and along the last one the slope is then
 * zero, since it was minimised over. */
static void solve_span(const kb_sweep_state *s, const double *row, const double *bin,
                       double *of_move, double *of_last) {
    size_t slices = (s->p->z->grids + KB_SWEEP_SLICE - 1) / KB_SWEEP_SLICE;
    double a[KB_SPAN_SUMS], off = 0.5 * (double)slices * sqrt(s->total);
    for (int k = 0; k < KB_SPAN_SUMS; k++)
        a[k] = row[k] + bin[k];
    double det = a[KB_MOVE_MOVE] * a[KB_LAST_LAST] - a[KB_MOVE_LAST] * a[KB_MOVE_LAST];
    double slope = off * sqrt(row[KB_START_START]);
    *of_move = 1;
    *of_last = 0;
    if (a[KB_MOVE_START] <= slope)
        return;
    if (fabs(a[KB_LAST_START]) <= slope)
        a[KB_LAST_START] = 0;
    if (det > 1e-9 * a[KB_MOVE_MOVE] * a[KB_LAST_LAST] &&
        det > off * off * fmax(a[KB_MOVE_MOVE], a[KB_LAST_LAST])) {
        *of_move = (a[KB_MOVE_START] * a[KB_LAST_LAST] - a[KB_LAST_START] * a[KB_MOVE_LAST]) / det;
        *of_last = (a[KB_LAST_START] * a[KB_MOVE_MOVE] - a[KB_MOVE_START] * a[KB_MOVE_LAST]) / det;
    } else if (a[KB_MOVE_MOVE] > 0) {
        *of_move = a[KB_MOVE_START] / a[KB_MOVE_MOVE];
    }
}

kb_status kb_sweep_span(kb_context *ctx, kb_sweep_state *s) {
    kb_status status;
    double of_move[KB_PANEL], of_last[KB_PANEL];
    double row[KB_PANEL * KB_SPAN_SUMS], bin[KB_PANEL * KB_SPAN_SUMS];
    TRY(s->steps->span(ctx, s, row, bin));
    for (size_t c = 0; c < s->P; c++)
        solve_span(s, row + c * KB_SPAN_SUMS, bin + c * KB_SPAN_SUMS, &of_move[c], &of_last[c]);
    TRY(s->steps->combine(ctx, s, of_move, of_last));
done:
    return status;
}

kb_status kb_sweep_centre(kb_context *ctx, kb_sweep_state *s) {
    kb_status status;
    double sum[KB_PANEL] = {0};
    int32_t by[KB_PANEL] = {0};
    TRY(s->steps->sum(ctx, s, sum));
    for (size_t c = 0; c < s->p->C; c++) {
        by[c] = s->total > 0 ? kb_sweep_nearest(sum[c] / s->total) : 0;
        s->p->b[c] += by[c] * s->unit[c];
    }
    TRY(s->steps->shift(ctx, s, by));
done:
    return status;
}
