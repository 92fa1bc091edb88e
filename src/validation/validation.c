/*
 * validation.c - see validation.h.
 *
 * Wilson's interval for a share p of n rows is that of the p' with |p - p'| <= z sqrt(p'(1-p')/n):
 *
 *     (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
 *
 * It stays within 0 and 1, and is not empty where no row is wrong.  The mean squared error m has
 * the standard error s of a mean; log rmse = log(m)/2 then has s/(2m).
 */
#include "validation/validation.h"
#include "core/weights.h"

#include <math.h>
#include <string.h>

/* Of a normal distribution: 95 % lie within so many standard deviations. */
static const double Z = 1.959963984540054;

kb_status kb_validation_create(kb_context *ctx, size_t rows, size_t outputs, size_t classes,
                               int weighted, int known, kb_validation *v) {
    kb_status status;
    *v = (kb_validation){.rows = rows, .outputs = outputs, .classes = classes};
    TRY(kb_alloc(ctx, rows, sizeof *v->row, &v->row));
    TRY(kb_alloc(ctx, rows * outputs, sizeof *v->decision, &v->decision));
    TRY(kb_alloc(ctx, rows, sizeof *v->label, &v->label));
    if (classes)
        TRY(kb_alloc(ctx, rows, sizeof *v->class_of, &v->class_of));
    if (weighted)
        TRY(kb_alloc(ctx, rows, sizeof *v->weight, &v->weight));
    if (known)
        TRY(kb_zalloc(ctx, rows, sizeof *v->known, &v->known));
done:
    return status;
}

void kb_validation_release(kb_allocator a, kb_validation *v) {
    void *all[] = {v->row, v->decision, v->label, v->class_of, v->weight, v->known};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(a, all[i]);
    *v = (kb_validation){0};
}

int kb_validation_is_wrong(const kb_validation *v, size_t h) {
    return kb_winner(v->outputs, v->decision + h * v->outputs) != v->class_of[h];
}

/* Sums over the rows, each with its weight. */
typedef struct sums {
    double weight, squares; /* of weights */
    double error;           /* wrong, or squared */
    double mean;            /* of the labels */
} sums;

static sums add_up(const kb_validation *v) {
    sums s = {0};
    for (size_t h = 0; h < v->rows; h++) {
        double w = kb_weight_of(v->weight, h), e = v->decision[h * v->outputs] - v->label[h];
        s.weight += w;
        s.squares += w * w;
        s.error += w * (v->classes ? kb_validation_is_wrong(v, h) : e * e);
        s.mean += w * v->label[h];
    }
    s.error /= s.weight;
    s.mean /= s.weight;
    return s;
}

static void expect_share(const sums *s, kb_expected *out) {
    double n = s->weight * s->weight / s->squares, p = s->error, zz = Z * Z / n;
    double middle = (p + zz / 2) / (1 + zz);
    double reach = Z * sqrt(p * (1 - p) / n + zz / (4 * n)) / (1 + zz);
    out->error = p;
    out->error_low = fmax(middle - reach, 0);
    out->error_high = fmin(middle + reach, 1);
}

static void expect_rmse(const kb_validation *v, const sums *s, kb_expected *out) {
    double spread = 0, around = 0;
    for (size_t h = 0; h < v->rows; h++) {
        double w = kb_weight_of(v->weight, h), y = v->label[h], e = v->decision[h] - y;
        spread += w * w * (e * e - s->error) * (e * e - s->error);
        around += w * (y - s->mean) * (y - s->mean);
    }
    double standard_error = sqrt(spread) / s->weight;
    double factor = s->error > 0 ? exp(Z * standard_error / (2 * s->error)) : 1;
    out->rmse = sqrt(s->error);
    out->rmse_low = out->rmse / factor;
    out->rmse_high = out->rmse * factor;
    out->r2 = around > 0 ? 1 - s->error * s->weight / around : NAN;
}

kb_expected kb_validation_expect(const kb_validation *v) {
    kb_expected out = KB_EXPECTED_NONE;
    sums s = add_up(v);
    if (v->rows == 0 || !(s.weight > 0))
        return out;
    out.rows = v->rows;
    out.learned = v->learned;
    out.folds = v->folds;
    if (v->classes)
        expect_share(&s, &out);
    else
        expect_rmse(v, &s, &out);
    return out;
}
