/* operator.c - operators made from others; see operator.h. */
#include "features/operator.h"
#include "core/team.h"
#include "ranks/row_sums.h"

#include <string.h>

void kb_operator_free(kb_operator *op) {
    if (!op)
        return;
    if (op->release)
        op->release(op);
    kb_allocator_release(op->allocator, op);
}

typedef struct wrapper {
    kb_operator op; /* first: the two are cast into each other */
    kb_operator *base;
    kb_operator *own;   /* base, if it came with the wrapper */
    const double *root; /* N, or NULL for ones */
    const uint32_t *place;
    double *mean;  /* a number a column */
    double *array; /* N x C */
    size_t mean_room, array_room;
} wrapper;

/* Rows of an array times or minus something. */
typedef struct rows {
    size_t C;
    const double *root, *mean, *from;
    double *to;
} rows;

/* to = from * root. */
static void scale_rows(void *arg, size_t begin, size_t end) {
    rows *r = arg;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * r->C; c < r->C; c++, e++)
            r->to[e] = r->from[e] * r->root[i];
}

/* to -= root * mean. */
static void shift_rows(void *arg, size_t begin, size_t end) {
    rows *r = arg;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * r->C; c < r->C; c++, e++)
            r->to[e] -= r->root ? r->root[i] * r->mean[c] : r->mean[c];
}

static void on_rows(kb_context *ctx, size_t N, rows r,
                    void (*body)(void *arg, size_t begin, size_t end)) {
    kb_team_for(ctx, N, KB_WORTH_A_THREAD / r.C + 1, body, &r);
}

kb_status kb_centre(kb_context *ctx, size_t N, size_t C, const double *root, double *v,
                    double *mean) {
    kb_status status;
    int64_t all = (int64_t)N;
    double total, *scaled = NULL;
    TRY(kb_ranks_sum(ctx, &all, 1));
    total = (double)all;
    if (root) {
        TRY(kb_row_sums(ctx, N, 1, root, root, &total));
        TRY(kb_ranks_agree(ctx, kb_alloc(ctx, N * C, sizeof(double), &scaled)));
        on_rows(ctx, N, (rows){.C = C, .root = root, .from = v, .to = scaled}, scale_rows);
    }
    TRY(kb_row_sums(ctx, N, C, root ? scaled : v, NULL, mean));
    for (size_t c = 0; c < C; c++)
        mean[c] = total > 0 ? mean[c] / total : 0; /* no weight at all: nothing to subtract */
    on_rows(ctx, N, (rows){.C = C, .root = root, .mean = mean, .to = v}, shift_rows);
done:
    kb_release(ctx, scaled);
    return status;
}

/* ---- weighted ---------------------------------------------------------- */

/* The wrapper's array = D v. */
static kb_status weigh(wrapper *op, kb_context *ctx, size_t C, const double *v) {
    size_t N = op->op.rows;
    kb_status status = kb_reserve(ctx, N * C, sizeof(double), &op->array_room, &op->array);
    status = kb_ranks_agree(ctx, status);
    if (status == KB_OK)
        on_rows(ctx, N, (rows){.C = C, .root = op->root, .from = v, .to = op->array}, scale_rows);
    return status;
}

static void weigh_result(wrapper *op, kb_context *ctx, size_t C, double *out) {
    on_rows(ctx, op->op.rows, (rows){.C = C, .root = op->root, .from = out, .to = out}, scale_rows);
}

static kb_status weighted_apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                  double *out, double *square) {
    kb_status status;
    wrapper *op = (wrapper *)self;
    TRY(weigh(op, ctx, C, v));
    TRY(op->base->apply_k(op->base, ctx, C, op->array, out, square));
    if (out)
        weigh_result(op, ctx, C, out);
done:
    return status;
}

static kb_status weighted_apply(kb_operator *self, kb_context *ctx, size_t C, const double *w,
                                double *out) {
    wrapper *op = (wrapper *)self;
    kb_status status = op->base->apply(op->base, ctx, C, w, out);
    if (status == KB_OK)
        weigh_result(op, ctx, C, out);
    return status;
}

static kb_status weighted_apply_t(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                  double *out) {
    wrapper *op = (wrapper *)self;
    kb_status status = weigh(op, ctx, C, v);
    return status == KB_OK ? op->base->apply_t(op->base, ctx, C, op->array, out) : status;
}

/* ---- centred ----------------------------------------------------------- */

static kb_status centre_result(wrapper *op, kb_context *ctx, size_t C, double *out) {
    kb_status status = kb_reserve(ctx, C, sizeof(double), &op->mean_room, &op->mean);
    return status == KB_OK ? kb_centre(ctx, op->op.rows, C, op->root, out, op->mean) : status;
}

static kb_status centred_apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                 double *out, double *square) {
    wrapper *op = (wrapper *)self;
    kb_status status = op->base->apply_k(op->base, ctx, C, v, out, square);
    return status == KB_OK && out ? centre_result(op, ctx, C, out) : status;
}

static kb_status centred_apply(kb_operator *self, kb_context *ctx, size_t C, const double *w,
                               double *out) {
    wrapper *op = (wrapper *)self;
    kb_status status = op->base->apply(op->base, ctx, C, w, out);
    return status == KB_OK ? centre_result(op, ctx, C, out) : status;
}

static kb_status centred_apply_t(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                 double *out) {
    kb_operator *base = ((wrapper *)self)->base;
    return base->apply_t(base, ctx, C, v, out);
}

/* ---- with a constant --------------------------------------------------- */

static kb_status constant_apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                  double *out, double *square) {
    kb_status status;
    wrapper *op = (wrapper *)self;
    TRY(kb_reserve(ctx, C, sizeof(double), &op->mean_room, &op->mean));
    TRY(op->base->apply_k(op->base, ctx, C, v, out, square));
    TRY(kb_row_sums(ctx, self->rows, C, v, NULL, op->mean));
    for (size_t c = 0; c < C; c++) {
        if (square)
            square[c] += op->mean[c] * op->mean[c];
        op->mean[c] = -op->mean[c];
    }
    if (out)
        on_rows(ctx, self->rows, (rows){.C = C, .mean = op->mean, .to = out}, shift_rows);
done:
    return status;
}

static kb_status constant_subset(kb_operator *self, kb_context *ctx, size_t count,
                                 const uint32_t *which, kb_operator **out) {
    kb_operator *part, *base = ((wrapper *)self)->base;
    kb_status status = base->subset(base, ctx, count, which, &part);
    if (status == KB_OK)
        status = kb_operator_constant(ctx, part, out);
    if (status == KB_OK)
        ((wrapper *)*out)->own = part;
    else
        kb_operator_free(part);
    return status;
}

/* ---- in another order -------------------------------------------------- */

typedef struct moving {
    const uint32_t *place;
    size_t C;
    const double *from;
    double *to;
} moving;

static void move_to_places(void *arg, size_t begin, size_t end) {
    moving *m = arg;
    for (size_t i = begin; i < end; i++)
        memcpy(m->to + m->place[i] * m->C, m->from + i * m->C, m->C * sizeof(double));
}

static void move_from_places(void *arg, size_t begin, size_t end) {
    moving *m = arg;
    for (size_t i = begin; i < end; i++)
        memcpy(m->to + i * m->C, m->from + m->place[i] * m->C, m->C * sizeof(double));
}

/* The wrapper's array = v by places. */
static kb_status place(wrapper *op, kb_context *ctx, size_t C, const double *v) {
    size_t N = op->op.rows;
    kb_status status = kb_reserve(ctx, N * C, sizeof(double), &op->array_room, &op->array);
    moving m = {op->place, C, v, op->array};
    if (status == KB_OK && v)
        kb_team_for(ctx, N, KB_WORTH_A_THREAD / C + 1, move_to_places, &m);
    return status;
}

/* out = the wrapper's array. */
static void give_back(wrapper *op, kb_context *ctx, size_t C, double *out) {
    moving m = {op->place, C, op->array, out};
    kb_team_for(ctx, op->op.rows, KB_WORTH_A_THREAD / C + 1, move_from_places, &m);
}

/* The base's K V goes to `out` first, which is as long as the array. */
static kb_status placed_apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                double *out, double *square) {
    kb_status status;
    wrapper *op = (wrapper *)self;
    TRY(place(op, ctx, C, v));
    TRY(op->base->apply_k(op->base, ctx, C, op->array, out, square));
    if (out) {
        memcpy(op->array, out, self->rows * C * sizeof *out);
        give_back(op, ctx, C, out);
    }
done:
    return status;
}

static kb_status placed_apply(kb_operator *self, kb_context *ctx, size_t C, const double *w,
                              double *out) {
    kb_status status;
    wrapper *op = (wrapper *)self;
    TRY(place(op, ctx, C, NULL));
    TRY(op->base->apply(op->base, ctx, C, w, op->array));
    give_back(op, ctx, C, out);
done:
    return status;
}

static kb_status placed_apply_t(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                                double *out) {
    wrapper *op = (wrapper *)self;
    kb_status status = place(op, ctx, C, v);
    return status == KB_OK ? op->base->apply_t(op->base, ctx, C, op->array, out) : status;
}

static kb_status placed_subset(kb_operator *self, kb_context *ctx, size_t count,
                               const uint32_t *which, kb_operator **out) {
    kb_operator *base = ((wrapper *)self)->base;
    return base->subset(base, ctx, count, which, out);
}

/* ---- making them ------------------------------------------------------- */

static void wrapper_release(kb_operator *self) {
    kb_allocator_release(self->allocator, ((wrapper *)self)->mean);
    kb_allocator_release(self->allocator, ((wrapper *)self)->array);
    kb_operator_free(((wrapper *)self)->own);
}

static kb_status wrap(kb_context *ctx, kb_operator *base, const double *root, kb_operator how,
                      kb_operator **out) {
    wrapper *op;
    *out = NULL;
    kb_status status = kb_zalloc(ctx, 1, sizeof *op, &op);
    if (status != KB_OK)
        return status;
    op->op = how;
    op->op.allocator = kb_allocator_of(ctx);
    op->op.rows = base->rows;
    op->op.columns = base->columns;
    op->op.release = wrapper_release;
    op->base = base;
    op->root = root;
    *out = &op->op;
    return KB_OK;
}

kb_status kb_operator_weighted(kb_context *ctx, kb_operator *base, const double *root,
                               kb_operator **out) {
    kb_operator how = {
        .apply_k = weighted_apply_k, .apply = weighted_apply, .apply_t = weighted_apply_t};
    return wrap(ctx, base, root, how, out);
}

kb_status kb_operator_centred(kb_context *ctx, kb_operator *base, const double *root,
                              kb_operator **out) {
    kb_operator how = {
        .apply_k = centred_apply_k, .apply = centred_apply, .apply_t = centred_apply_t};
    return wrap(ctx, base, root, how, out);
}

kb_status kb_operator_constant(kb_context *ctx, kb_operator *base, kb_operator **out) {
    kb_operator how = {.apply_k = constant_apply_k,
                       .subset = base->subset ? constant_subset : NULL};
    return wrap(ctx, base, NULL, how, out);
}

kb_status kb_operator_placed(kb_context *ctx, kb_operator *base, const uint32_t *place,
                             kb_operator **out) {
    kb_operator how = {.apply_k = placed_apply_k,
                       .apply = placed_apply,
                       .apply_t = placed_apply_t,
                       .subset = base->subset ? placed_subset : NULL};
    kb_status status = wrap(ctx, base, NULL, how, out);
    if (status == KB_OK) {
        ((wrapper *)*out)->place = place;
        ((wrapper *)*out)->own = base;
    }
    return status;
}
