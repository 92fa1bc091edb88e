/* device_operator.c - see device_operator.h. */
#include "device/device_operator.h"
#include "joined/joined_operator.h"

/* Columns at a time. */
enum { MOST = KB_DEVICE_PANEL / 2 };

typedef struct on_device {
    kb_operator op; /* first: the two are cast into each other */
    const kb_binmat *z;
    kb_operator *here; /* NULL until it is needed */
} on_device;

static kb_status here_of(kb_context *ctx, on_device *op, kb_operator **out) {
    kb_status status = KB_OK;
    if (!op->here)
        status = kb_operator_joined(ctx, op->z, &op->here);
    *out = op->here;
    return status;
}

/* *done = 0: the device has too little memory. */
static kb_status multiply(kb_context *ctx, on_device *op, size_t C, const double *v, double *gram,
                          double *bins, double *squares, int *done) {
    kb_device_bins *d = kb_device_bins_of(op->z);
    kb_status status = KB_OK;
    for (size_t first = 0, used; first < C && status == KB_OK; first += used) {
        used = C - first < MOST ? C - first : MOST;
        status = kb_device_check(ctx, d->device,
                                 d->device->call->whole_products(d->bins, C, first, used,
                                                                 kb_bin_value(op->z->R), v, gram,
                                                                 bins, squares));
    }
    *done = status == KB_OK;
    kb_device_gives_up(ctx, d->device, &status);
    return status;
}

static kb_status apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v, double *out,
                         double *square) {
    int done;
    kb_operator *here;
    kb_status status = multiply(ctx, (on_device *)self, C, v, out, NULL, square, &done);
    if (status != KB_OK || done)
        return status;
    status = here_of(ctx, (on_device *)self, &here);
    return status == KB_OK ? here->apply_k(here, ctx, C, v, out, square) : status;
}

static kb_status apply_t(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                         double *out) {
    int done;
    kb_operator *here;
    kb_status status = multiply(ctx, (on_device *)self, C, v, NULL, out, NULL, &done);
    if (status != KB_OK || done)
        return status;
    status = here_of(ctx, (on_device *)self, &here);
    return status == KB_OK ? here->apply_t(here, ctx, C, v, out) : status;
}

static kb_status apply(kb_operator *self, kb_context *ctx, size_t C, const double *w, double *out) {
    kb_operator *here;
    kb_status status = here_of(ctx, (on_device *)self, &here);
    return status == KB_OK ? here->apply(here, ctx, C, w, out) : status;
}

static void release(kb_operator *self) {
    kb_operator_free(((on_device *)self)->here);
}

kb_status kb_operator_device(kb_context *ctx, const kb_binmat *z, kb_operator **out) {
    on_device *op;
    kb_status status = kb_zalloc(ctx, 1, sizeof *op, &op);
    *out = NULL;
    if (status != KB_OK)
        return status;
    op->op = (kb_operator){.allocator = kb_allocator_of(ctx),
                           .rows = z->rows,
                           .columns = z->bins,
                           .apply_k = apply_k,
                           .apply = apply,
                           .apply_t = apply_t,
                           .release = release};
    op->z = z;
    *out = &op->op;
    return KB_OK;
}
