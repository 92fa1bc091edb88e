/* slopes.c - see slopes.h. */
#include "slopes/slopes.h"
#include "core/order.h"
#include "data/scaling.h"
#include "slopes/eigenvectors.h"
#include "slopes/gradients.h"
#include "trial/rules.h"
#include "trial/width_vectors.h"

#include <math.h>

void kb_slopes_release(kb_context *ctx, kb_slopes *s) {
    kb_release(ctx, s->unit);
    kb_release(ctx, s->M);
    *s = (kb_slopes){0};
}

double kb_slopes_bytes(kb_learning_rows rows, size_t most) {
    return kb_gradients_bytes(kb_least(rows.pool, most), rows.sample->x->features, rows.sample->C);
}

/* ---- learning ---------------------------------------------------------- */

kb_status kb_slopes_learn(kb_context *ctx, kb_learning_rows rows, size_t most, uint64_t seed,
                          kb_slopes *out) {
    kb_status status;
    const kb_subsample *s = rows.sample;
    size_t d = s->x->features, count = kb_least(rows.pool, most);
    uint32_t *row = NULL;
    *out = (kb_slopes){.columns = d};
    TRY(kb_alloc(ctx, count, sizeof *row, &row));
    TRY(kb_alloc(ctx, d, sizeof(double), &out->unit));
    TRY(kb_alloc(ctx, d * d, sizeof(double), &out->M));
    for (size_t i = 0; i < count; i++)
        row[i] = rows.row[i * rows.pool / count];
    for (size_t j = 0; j < d; j++)
        out->unit[j] = !(s->x->level && s->x->level[j]);
    kb_gradient_fit fit = {.x = s->x,
                           .C = s->C,
                           .y = s->y,
                           .weight = s->weight,
                           .rounds = KB_RULE_DIRECTION_ROUNDS,
                           .seed = seed};
    TRY(kb_gradients_learn(ctx, &fit, count, row, out->unit, out->M));
done:
    kb_release(ctx, row);
    return status;
}

/* ---- widths ------------------------------------------------------------ */

/* The root mean square of the derivative with respect to column j. */
static double slope_of(const kb_slopes *s, size_t j) {
    double square = s->M[j * s->columns + j];
    return square > 0 ? s->unit[j] * sqrt(square) : 0;
}

kb_status kb_slopes_widths(kb_context *ctx, const kb_slopes *s, const kb_subsample *sample,
                           const kb_law *law, double sigma, kb_widths *out) {
    kb_status status;
    size_t d = s->columns;
    kb_widths one = {0};
    double *spread = NULL, steepest = 0, parted = 0, sum = 0;
    TRY(kb_alloc(ctx, d, sizeof *spread, &spread));
    TRY(kb_scaling_deviations(ctx, sample->x, sample->shift, sample->scale, spread));
    TRY(kb_widths_equal(ctx, d, sample->x->level, law, sigma, &one));
    for (size_t j = 0; j < d; j++)
        steepest = fmax(steepest, slope_of(s, j));
    for (size_t j = 0; j < d; j++) {
        double slope = fmax(slope_of(s, j), KB_GRADIENT_FLOOR * steepest);
        parted += s->unit[j] > 0 ? spread[j] / sigma : 0;
        sum += s->unit[j] > 0 ? spread[j] * slope : 0;
    }
    for (size_t j = 0; j < d && sum > 0 && parted > 0; j++)
        if (s->unit[j] > 0)
            one.width[j].sigma = sum / parted / fmax(slope_of(s, j), KB_GRADIENT_FLOOR * steepest);
    TRY(kb_widths_join(ctx, &one, &one, out));
done:
    kb_release(ctx, one.width);
    kb_release(ctx, spread);
    return status;
}

/* ---- directions -------------------------------------------------------- */

kb_status kb_slopes_directions(kb_context *ctx, const kb_slopes *s, kb_learning_rows rows,
                               size_t most, kb_mixtures *out, double *slope) {
    kb_status status;
    size_t d = s->columns, count = 0;
    double *vector = NULL, *value = NULL;
    *out = (kb_mixtures){0};
    TRY(kb_alloc(ctx, most * d, sizeof *vector, &vector));
    TRY(kb_alloc(ctx, most, sizeof *value, &value));
    TRY(kb_eigenvectors(ctx, d, s->M, most, vector, value));
    while (count < most && value[count] > KB_RULE_DIRECTION_SHARE * value[0])
        count++;
    TRY(kb_mixtures_create(ctx, count, d, out));
    for (size_t k = 0; k < count * d; k++)
        out->weight[k] = vector[k] * s->unit[k % d];
    kb_mixtures_fit(rows.sample->x, rows.pool, rows.row, out);
    for (size_t k = 0; k < count; k++) {
        double before = 0, after = 0;
        for (size_t j = 0; j < d; j++) {
            before += fabs(vector[k * d + j]) * s->unit[j];
            after += fabs(out->weight[k * d + j]);
        }
        slope[k] = after > 0 ? sqrt(value[k]) * before / after : 0;
    }
done:
    kb_release(ctx, vector);
    kb_release(ctx, value);
    return status;
}
