/*
 * random_cd.c - randomised coordinate descent (section 4.1 of the paper); see l1.h.
 *
 *     draw j;  M = beta sum_i s_i z_ij^2;  w_j = soft(w_j + z_j'push / M, lambda / M)
 *
 * M bounds the second derivative in w_j, so the objective never rises.  The responses f are kept
 * up to date, and the pushes with them: most draws move nothing, and then only read.
 */
#include "core/random.h"
#include "core/weights.h"
#include "l1/l1_rows.h"

/* Epochs between two computations of the gap. */
enum { LOOK = 5 };

/* w_j has moved by d. */
static void respond(kb_l1_rows *r, size_t j, double d) {
    const kb_zcolumns *c = r->c;
    for (kb_nonzero z = kb_nonzeros(c, j); kb_nonzero_next(c, &z);) {
        size_t i = z.row;
        r->f[i] += d * z.value;
        r->push[i] = -r->p->loss->slope(r->p->loss, r->f[i], r->y[i]) * kb_weight_of(r->s, i);
    }
}

static void step(kb_l1_rows *r, const double *M, size_t j) {
    double *w = &r->p->w[j];
    double pull = kb_column_dot(r->c, j, r->push);
    double x = M[j] > 0 ? kb_l1_soft(pull + M[j] * *w, r->p->lambda) / M[j] : 0;
    if (x == *w)
        return;
    respond(r, j, x - *w);
    *w = x;
}

static kb_status epoch(kb_l1_rows *r, const double *M) {
    kb_status status;
    double unread;
    for (size_t t = 0; t < r->D; t++) {
        uint32_t word =
            kb_random(r->p->seed, KB_STREAM_DESCENT, r->p->epochs * r->D + t, 0).word[0];
        step(r, M, (size_t)(((uint64_t)word * r->D) >> 32));
    }
    r->p->epochs++;
    TRY(kb_l1_fit_intercept(r));
    if (r->p->intercept)
        TRY(kb_l1_evaluate(r, &unread));
done:
    return status;
}

kb_status kb_l1_cd(kb_context *ctx, kb_l1 *p) {
    kb_status status;
    kb_l1_rows r = {0};
    double *M = NULL;
    p->group = 0;
    TRY(kb_l1_open(ctx, p, &r));
    TRY(kb_alloc(ctx, r.D, sizeof *M, &M));
    kb_l1_bounds(&r, M);
    TRY(kb_l1_look(&r));
    while (!p->converged && p->epochs < p->max_epochs && !(p->epochs > 0 && kb_is_late(ctx))) {
        TRY(epoch(&r, M));
        TRY(kb_progress(ctx, "solve", kb_l1_progress(p)));
        if (p->epochs % LOOK == 0 || p->epochs == p->max_epochs)
            TRY(kb_l1_look(&r));
    }
    kb_l1_respond(&r);
done:
    kb_release(ctx, M);
    kb_l1_close(&r);
    return status;
}
