/* operator.c - see operator.h; the products of random binning are in products.c. */
#include "features/operator.h"
#include "core/sums.h"
#include "core/team.h"

void kb_operator_free(kb_operator *op) {
    if (!op)
        return;
    if (op->release)
        op->release(op);
    kb_allocator_release(op->allocator, op);
}

typedef struct centred {
    kb_operator op; /* first: the two are cast into each other */
    kb_operator *base;
    double *mean;
    size_t room;
} centred;

typedef struct shift {
    size_t C;
    double *v;
    const double *mean;
} shift;

static void shift_rows(void *arg, size_t begin, size_t end) {
    shift *s = arg;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < s->C; c++)
            s->v[i * s->C + c] -= s->mean[c];
}

kb_status kb_centre(kb_context *ctx, size_t N, size_t C, double *v, double *mean) {
    kb_status status = kb_sums(ctx, N, C, v, NULL, mean);
    if (status != KB_OK)
        return status;
    for (size_t c = 0; c < C; c++)
        mean[c] /= (double)N;
    shift s = {C, v, mean};
    kb_team_for(ctx, N, KB_WORTH_A_THREAD / C, shift_rows, &s);
    return KB_OK;
}

static kb_status centre_result(centred *op, kb_context *ctx, size_t C, double *out) {
    kb_status status = kb_reserve(ctx, C, sizeof(double), &op->room, &op->mean);
    return status == KB_OK ? kb_centre(ctx, op->op.rows, C, out, op->mean) : status;
}

static kb_status centred_apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                 double *out, double *square) {
    centred *op = (centred *)self;
    kb_status status = op->base->apply_k(op->base, ctx, C, v, out, square);
    return status == KB_OK ? centre_result(op, ctx, C, out) : status;
}

static kb_status centred_apply(kb_operator *self, kb_context *ctx, size_t C, const double *w,
                               double *out) {
    centred *op = (centred *)self;
    kb_status status = op->base->apply(op->base, ctx, C, w, out);
    return status == KB_OK ? centre_result(op, ctx, C, out) : status;
}

static kb_status centred_apply_t(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                 double *out) {
    kb_operator *base = ((centred *)self)->base;
    return base->apply_t(base, ctx, C, v, out);
}

static void centred_release(kb_operator *self) {
    kb_allocator_release(self->allocator, ((centred *)self)->mean);
}

kb_status kb_operator_centred(kb_context *ctx, kb_operator *base, kb_operator **out) {
    centred *op;
    *out = NULL;
    kb_status status = kb_zalloc(ctx, 1, sizeof *op, &op);
    if (status != KB_OK)
        return status;
    op->op = (kb_operator){
        .allocator = kb_allocator_of(ctx),
        .rows = base->rows,
        .columns = base->columns,
        .apply_k = centred_apply_k,
        .apply = centred_apply,
        .apply_t = centred_apply_t,
        .release = centred_release,
    };
    op->base = base;
    *out = &op->op;
    return KB_OK;
}
