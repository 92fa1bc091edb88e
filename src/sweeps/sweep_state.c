/* sweep_state.c - see sweep_state.h. */
#include "sweeps/sweep_state.h"
#include "device/device_bins.h"
#include "ranks/row_sums.h"

#include <string.h>

void kb_sweep_end(kb_context *ctx, kb_sweep_state *s) {
    if (s->steps)
        s->steps->release(ctx, s);
    kb_release(ctx, s->share);
    kb_release(ctx, s->seen);
    kb_release(ctx, s->r);
    kb_release(ctx, s->own_u);
}

/* The caller's w serves as u, which saves as much memory as the keys of all bins take.  Not for a
 * warm start, which measures its tolerance at zero first. */
static kb_status allocate_weights(kb_context *ctx, kb_sweep_state *s) {
    if (s->P == s->p->C && !s->p->warm) {
        s->u = s->p->w;
        memset(s->u, 0, s->D * s->P * sizeof *s->u);
        return KB_OK;
    }
    kb_status status = kb_zalloc(ctx, s->D * s->P, sizeof *s->u, &s->own_u);
    s->u = s->own_u;
    return status;
}

static kb_status allocate(kb_context *ctx, kb_sweep_state *s) {
    kb_status status;
    const kb_sweeps *p = s->p;
    TRY(kb_zalloc(ctx, s->N * s->P, sizeof *s->r, &s->r));
    TRY(allocate_weights(ctx, s));
    if (p->s)
        TRY(kb_alloc(ctx, s->N, sizeof *s->share, &s->share));
    if (p->watch)
        TRY(kb_alloc(ctx, p->watch->rows * s->P, sizeof *s->seen, &s->seen));
done:
    return status;
}

typedef struct shares {
    kb_sweep_state *s;
    double most;
} shares;

static void take_shares(void *arg, size_t begin, size_t end, double *sum) {
    const shares *a = arg;
    const kb_sweep_state *s = a->s;
    *sum = 0;
    for (size_t i = begin; i < end; i++) {
        double share = a->most > 0 ? s->p->s[i] / a->most : 0;
        s->share[kb_binmat_place(s->p->z, i)] = (int32_t)rint(share * (double)(1 << KB_SHARE_BITS));
        *sum += share;
    }
}

/* Weights in shares of the largest, which lambda is then relative to. */
static kb_status take_weights(kb_context *ctx, kb_sweep_state *s) {
    kb_status status = KB_OK;
    const double *weight = s->p->s;
    double most = 0;
    int64_t rows = (int64_t)s->N, other = 0;
    TRY(kb_ranks_sum(ctx, &rows, 1));
    s->total = (double)rows;
    s->whole = 1;
    if (!weight)
        goto done;
    for (size_t i = 0; i < s->N; i++)
        most = fmax(most, weight[i]);
    TRY(kb_ranks_most(ctx, &most, 1));
    shares a = {s, most};
    TRY(kb_row_totals(ctx, s->N, 1, take_shares, &a, &s->total));
    s->Lambda /= most > 0 ? most : 1;
    for (size_t i = 0; i < s->N; i++)
        other |= s->share[i] != 0 && s->share[i] != 1 << KB_SHARE_BITS;
    TRY(kb_ranks_sum(ctx, &other, 1));
    s->equal = other == 0;
    s->whole = s->equal ? 1 : 1 / (double)(1 << KB_SHARE_BITS);
done:
    return status;
}

/* What the weights have to explain, less what they do explain at a warm start. */
static double target_of(const kb_sweeps *p, size_t i, size_t c, int warm) {
    size_t e = i * p->C + c;
    return p->y[e] - p->b[c] - (warm ? p->f[e] : 0);
}

static kb_status choose_units(kb_context *ctx, kb_sweep_state *s) {
    const kb_sweeps *p = s->p;
    double most[KB_PANEL] = {0};
    for (size_t c = 0; c < p->C; c++)
        for (size_t i = 0; i < s->N; i++)
            for (int warm = 0; warm <= (p->warm != 0); warm++)
                most[c] = fmax(most[c], fabs(target_of(p, i, c, warm)));
    kb_status status = kb_ranks_most(ctx, most, p->C);
    for (size_t c = 0; c < p->C; c++)
        s->unit[c] = most[c] > 0 ? most[c] / KB_SWEEP_TOP : 1;
    return status;
}

kb_status kb_sweep_targets(kb_context *ctx, kb_sweep_state *s, int warm) {
    const kb_sweeps *p = s->p;
    size_t C = p->C, P = s->P;
    double root = sqrt((double)p->z->R);
    for (size_t c = 0; c < C; c++) {
        for (size_t i = 0; i < s->N; i++)
            s->r[kb_binmat_place(p->z, i) * P + c] =
                kb_sweep_nearest(target_of(p, i, c, warm) / s->unit[c]);
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
    TRY(kb_ranks_agree(ctx, allocate(ctx, s)));
    TRY(take_weights(ctx, s));
    TRY(choose_steps(ctx, s));
    TRY(choose_units(ctx, s));
done:
    return status;
}
