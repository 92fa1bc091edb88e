/* sweep_device.c - the steps of sweeps on another device; see sweep_state.h and device/table.h. */
#include "core/sums.h"
#include "device/device_bins.h"
#include "sweeps/sweep_state.h"

#include <string.h>

static kb_status check(kb_context *ctx, const kb_sweep_state *s, kb_device_result result) {
    return kb_device_check(ctx, kb_device_bins_of(s->p->z)->device, result);
}

static const kb_device_table *call_of(const kb_sweep_state *s) {
    return kb_device_bins_of(s->p->z)->device->call;
}

static size_t parts_of(size_t rows) {
    return (rows + KB_SUM_ROWS - 1) / KB_SUM_ROWS;
}

static kb_status create(kb_context *ctx, kb_sweep_state *s) {
    kb_status status;
    const kb_watch *w = s->p->watch;
    kb_gpu_sweeps *run;
    uint32_t *watch = NULL; /* places of the rows */
    TRY(kb_alloc(ctx, w ? w->rows : 0, sizeof *watch, &watch));
    for (size_t h = 0; w && h < w->rows; h++)
        watch[h] = (uint32_t)kb_binmat_place(s->p->z, w->row[h]);
    kb_gpu_problem problem = {.columns = s->P,
                              .Lambda = s->Lambda,
                              .whole = s->whole,
                              .equal = s->equal,
                              .share = s->share,
                              .watched = w ? w->rows : 0,
                              .watch = watch,
                              .keeps = w != NULL};
    TRY(check(ctx, s, call_of(s)->sweeps_create(kb_device_bins_of(s->p->z)->bins, &problem, &run)));
    s->own = run;
done:
    kb_release(ctx, watch);
    return status;
}

static void release(kb_context *ctx, kb_sweep_state *s) {
    (void)ctx;
    if (s->own)
        call_of(s)->sweeps_free(s->own);
    s->own = NULL;
}

static kb_status load(kb_context *ctx, kb_sweep_state *s, int weights) {
    return check(ctx, s, call_of(s)->load(s->own, s->r, weights ? s->u : NULL));
}

static kb_status fetch(kb_context *ctx, kb_sweep_state *s) {
    return check(ctx, s, call_of(s)->fetch(s->own, s->r, s->u));
}

static kb_status sum(kb_context *ctx, kb_sweep_state *s, double *out) {
    kb_status status;
    double *parts;
    TRY(kb_alloc(ctx, parts_of(s->N) * s->P, sizeof *parts, &parts));
    TRY(check(ctx, s, call_of(s)->sum(s->own, parts)));
    kb_sums_join(parts_of(s->N), s->P, parts, out);
done:
    kb_release(ctx, parts);
    return status;
}

static kb_status shift(kb_context *ctx, kb_sweep_state *s, const int32_t *by) {
    return check(ctx, s, call_of(s)->shift(s->own, by));
}

static kb_status sweep(kb_context *ctx, kb_sweep_state *s) {
    return check(ctx, s, call_of(s)->sweep(s->own, s->backward, s->residual, &s->bits));
}

static kb_status slopes(kb_context *ctx, kb_sweep_state *s) {
    return check(ctx, s, call_of(s)->slopes(s->own, s->residual));
}

static kb_status span(kb_context *ctx, kb_sweep_state *s, double *row, double *bin) {
    kb_status status;
    size_t width = s->P * KB_SPAN_SUMS;
    double *rows, *bins = NULL;
    TRY(kb_alloc(ctx, parts_of(s->N) * width, sizeof *rows, &rows));
    TRY(kb_alloc(ctx, parts_of(s->D) * width, sizeof *bins, &bins));
    TRY(check(ctx, s, call_of(s)->span(s->own, rows, bins)));
    kb_sums_join(parts_of(s->N), width, rows, row);
    kb_sums_join(parts_of(s->D), width, bins, bin);
done:
    kb_release(ctx, rows);
    kb_release(ctx, bins);
    return status;
}

static kb_status combine(kb_context *ctx, kb_sweep_state *s, const double *of_move,
                         const double *of_last) {
    return check(ctx, s, call_of(s)->combine(s->own, of_move, of_last, &s->bits));
}

static kb_status watched(kb_context *ctx, kb_sweep_state *s, int32_t *r) {
    return check(ctx, s, call_of(s)->watched(s->own, r));
}

static kb_status keep(kb_context *ctx, kb_sweep_state *s) {
    return check(ctx, s, call_of(s)->keep(s->own));
}

static kb_status go_back(kb_context *ctx, kb_sweep_state *s) {
    return check(ctx, s, call_of(s)->go_back(s->own));
}

const kb_sweep_steps KB_SWEEP_ON_DEVICE = {
    .create = create,
    .release = release,
    .load = load,
    .sum = sum,
    .shift = shift,
    .sweep = sweep,
    .slopes = slopes,
    .span = span,
    .combine = combine,
    .watched = watched,
    .keep = keep,
    .go_back = go_back,
    .fetch = fetch,
};
