/* sweep_state.c - see sweep_state.h. */
#include "sweeps/sweep_state.h"
#include "device/device_bins.h"

#include <string.h>

void kb_sweep_end(kb_context *ctx, kb_sweep_state *s) {
    if (s->steps)
        s->steps->release(ctx, s);
    kb_release(ctx, s->share);
    kb_release(ctx, s->r);
    kb_release(ctx, s->u);
}

/* Weights in shares of the largest, which lambda is then relative to. */
static kb_status take_weights(kb_context *ctx, kb_sweep_state *s) {
    kb_status status = KB_OK;
    const double *weight = s->p->s;
    double most = 0;
    s->total = (double)s->N;
    s->whole = 1;
    if (!weight)
        goto done;
    TRY(kb_alloc(ctx, s->N, sizeof *s->share, &s->share));
    for (size_t i = 0; i < s->N; i++)
        most = fmax(most, weight[i]);
    s->total = 0;
    for (size_t i = 0; i < s->N; i++) {
        double share = most > 0 ? weight[i] / most : 0;
        s->share[i] = (int32_t)rint(share * (double)(1 << KB_SHARE_BITS));
        s->total += share;
    }
    s->Lambda /= most > 0 ? most : 1;
    s->equal = 1;
    for (size_t i = 0; i < s->N; i++)
        s->equal &= s->share[i] == 0 || s->share[i] == 1 << KB_SHARE_BITS;
    s->whole = s->equal ? 1 : 1 / (double)(1 << KB_SHARE_BITS);
done:
    return status;
}

/* What the weights have to explain, less what they do explain at a warm start. */
static double target_of(const kb_sweeps *p, size_t i, size_t c, int warm) {
    size_t e = i * p->C + c;
    return p->y[e] - p->b[c] - (warm ? p->f[e] : 0);
}

static void choose_units(kb_sweep_state *s) {
    const kb_sweeps *p = s->p;
    for (size_t c = 0; c < p->C; c++) {
        double most = 0;
        for (size_t i = 0; i < s->N; i++)
            for (int warm = 0; warm <= (p->warm != 0); warm++)
                most = fmax(most, fabs(target_of(p, i, c, warm)));
        s->unit[c] = most > 0 ? most / KB_SWEEP_TOP : 1;
    }
}

kb_status kb_sweep_targets(kb_context *ctx, kb_sweep_state *s, int warm) {
    const kb_sweeps *p = s->p;
    size_t C = p->C, P = s->P;
    double root = sqrt((double)p->z->R);
    for (size_t c = 0; c < C; c++) {
        for (size_t i = 0; i < s->N; i++)
            s->r[i * P + c] = kb_sweep_nearest(target_of(p, i, c, warm) / s->unit[c]);
        for (size_t b = 0; warm && b < s->D; b++)
            s->u[b * P + c] = p->w[b * C + c] / s->unit[c] / root;
    }
    return s->steps->load(ctx, s, warm);
}

/* Where the bin numbers are, if there is room. */
static kb_status choose_steps(kb_context *ctx, kb_sweep_state *s) {
    kb_device_bins *bins = kb_device_bins_of(s->p->z);
    if (bins) {
        s->steps = &KB_SWEEP_ON_DEVICE;
        kb_status status = s->steps->create(ctx, s);
        if (!kb_device_gives_up(ctx, bins->device, &status))
            return status;
    }
    s->steps = &KB_SWEEP_ON_CPU;
    return s->steps->create(ctx, s);
}

kb_status kb_sweep_begin(kb_context *ctx, kb_sweeps *p, kb_sweep_state *s) {
    kb_status status;
    s->p = p;
    s->ctx = ctx;
    s->N = p->z->rows;
    s->D = p->z->bins;
    s->P = kb_sweep_pad(p->C);
    s->Lambda = p->lambda * (double)p->z->R;
    TRY(kb_zalloc(ctx, s->N * s->P, sizeof *s->r, &s->r));
    TRY(kb_zalloc(ctx, s->D * s->P, sizeof *s->u, &s->u));
    TRY(take_weights(ctx, s));
    TRY(choose_steps(ctx, s));
    choose_units(s);
done:
    return status;
}
