/* mixtures.c - see mixtures.h. */
#include "data/mixtures.h"

#include <math.h>
#include <string.h>

kb_status kb_mixtures_create(kb_context *ctx, size_t count, size_t columns, kb_mixtures *out) {
    kb_status status = KB_OK;
    *out = (kb_mixtures){.count = count, .columns = columns};
    if (count == 0)
        return KB_OK;
    TRY(kb_zalloc(ctx, count * columns, sizeof(double), &out->weight));
    TRY(kb_zalloc(ctx, count, sizeof(double), &out->offset));
    TRY(kb_zalloc(ctx, count, sizeof(double), &out->low));
    TRY(kb_zalloc(ctx, count, sizeof(double), &out->high));
done:
    return status;
}

static void put(const kb_mixtures *from, size_t place, kb_mixtures *to) {
    size_t bytes = from->count * sizeof(double);
    if (from->count == 0)
        return;
    memcpy(to->weight + place * from->columns, from->weight, from->columns * bytes);
    memcpy(to->offset + place, from->offset, bytes);
    memcpy(to->low + place, from->low, bytes);
    memcpy(to->high + place, from->high, bytes);
}

kb_status kb_mixtures_join(kb_context *ctx, const kb_mixtures *a, const kb_mixtures *b,
                           kb_mixtures *out) {
    kb_status status;
    TRY(kb_mixtures_create(ctx, a->count + b->count, a->count ? a->columns : b->columns, out));
    out->linear = a->linear + b->linear;
    put(a, 0, out);
    put(b, a->count, out);
done:
    return status;
}

kb_status kb_mixtures_copy(kb_context *ctx, const kb_mixtures *from, kb_mixtures *out) {
    return kb_mixtures_join(ctx, from, &(kb_mixtures){0}, out);
}

void kb_mixtures_release(kb_allocator allocator, kb_mixtures *m) {
    kb_allocator_release(allocator, m->weight);
    kb_allocator_release(allocator, m->offset);
    kb_allocator_release(allocator, m->low);
    kb_allocator_release(allocator, m->high);
    *m = (kb_mixtures){0};
}

/* The columns of a learned transform lie between -1 and 1, so finite weights whose sizes add up
 * to a finite number give finite sums.  Weights from a file may be huge: clipping keeps the sums
 * finite. */
int kb_mixtures_are_sound(const kb_mixtures *m) {
    for (size_t k = 0; k < m->count; k++) {
        double sum = fabs(m->offset[k]);
        for (size_t j = 0; j < m->columns; j++)
            sum += fabs(m->weight[k * m->columns + j]);
        if (!isfinite(sum) || !isfinite(m->low[k]) || !isfinite(m->high[k]) ||
            !(m->low[k] <= m->high[k]))
            return 0;
    }
    return 1;
}

static double sum_of(const kb_mixtures *m, size_t k, kb_row row) {
    const double *w = m->weight + k * m->columns;
    double sum = m->offset[k];
    for (size_t e = 0; e < row.count; e++) {
        size_t j = row.column ? row.column[e] : e;
        if (j < m->columns)
            sum += w[j] * row.value[e];
    }
    return sum;
}

/* NaN becomes the lower end. */
double kb_mixtures_value(const kb_mixtures *m, size_t k, kb_row row) {
    double sum = sum_of(m, k, row);
    sum = sum > m->low[k] ? sum : m->low[k];
    return sum < m->high[k] ? sum : m->high[k];
}

void kb_mixtures_fit(const kb_data *x, size_t count, const uint32_t *row, kb_mixtures *m) {
    for (size_t k = 0; k < m->count; k++) {
        double *w = m->weight + k * m->columns, low = INFINITY, high = -INFINITY;
        m->offset[k] = 0;
        for (size_t i = 0; i < count; i++) {
            double sum = sum_of(m, k, kb_data_row(x, row[i]));
            low = fmin(low, sum);
            high = fmax(high, sum);
        }
        if (!x->dense) {
            low = fmin(low, 0);
            high = fmax(high, 0);
        }
        int varies = high > low && isfinite(high - low) && isfinite(1 / (high - low));
        double factor = varies ? 1 / (high - low) : 0;
        for (size_t j = 0; j < m->columns; j++)
            w[j] = varies ? w[j] * factor : 0;
        m->offset[k] = varies && x->dense ? -low * factor : 0;
        m->low[k] = varies && !x->dense ? low * factor : 0;
        m->high[k] = varies ? (x->dense ? 1 : high * factor) : 0;
    }
}
