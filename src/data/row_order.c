/*
 * row_order.c - rows that are close, side by side; see kb_data_order in data.h.
 *
 * G. M. Morton, A computer oriented geodetic data base and a new technique in file sequencing, IBM
 * 1966: the bits of all coordinates are put in turns into one number, the highest first.  A
 * coordinate is counted in widths, so a feature that is cut finely is divided more often.
 */
#include "core/team.h"
#include "data/data.h"

#include <math.h>
#include <string.h>

/* Bits of a key. */
enum { BITS = 64 };

/* A cell is halved so often below the width that is given. */
enum { FINEST = 4 };

/* A digit of the sort. */
enum { DIGIT = 11, DIGITS = 1 << DIGIT };

typedef struct ordering {
    const kb_data *data;
    const double *cuts;
    double low[KB_ORDER_FEATURES], rate[KB_ORDER_FEATURES]; /* cell = (x - low) * rate */
    int bits;
    uint8_t feature[BITS], shift[BITS]; /* of each bit of the key, from the highest */
    uint64_t *key;
} ordering;

int kb_data_can_order(const kb_data *data) {
    return data->dense && data->features <= KB_ORDER_FEATURES && data->rows <= UINT32_MAX;
}

static void find_ranges(const kb_data *data, double *low, double *high) {
    for (size_t j = 0; j < data->features; j++)
        low[j] = INFINITY, high[j] = -INFINITY;
    for (size_t i = 0; i < data->rows; i++)
        for (size_t j = 0; j < data->features; j++) {
            double x = data->dense[i * data->features + j];
            low[j] = x < low[j] ? x : low[j];
            high[j] = x > high[j] ? x : high[j];
        }
}

/* Which bits of which coordinates the key has: those that divide most widths first. */
static void choose_bits(ordering *o) {
    double cells[KB_ORDER_FEATURES], high[KB_ORDER_FEATURES];
    int top = -FINEST;
    find_ranges(o->data, o->low, high);
    for (size_t j = 0; j < o->data->features; j++) {
        double range = high[j] - o->low[j], cuts = o->cuts[j];
        cells[j] = range > 0 && isfinite(range * cuts) ? fmin(range * cuts, 0x1p26) : 0;
        o->rate[j] = cells[j] > 0 ? ldexp(cells[j] / range, FINEST) : 0;
        if (cells[j] > 0 && ilogb(cells[j]) > top)
            top = ilogb(cells[j]);
    }
    for (int level = top; level >= -FINEST; level--)
        for (size_t j = 0; j < o->data->features && o->bits < BITS; j++)
            if (cells[j] >= ldexp(1, level)) {
                o->feature[o->bits] = (uint8_t)j;
                o->shift[o->bits++] = (uint8_t)(level + FINEST);
            }
}

static void find_keys(void *arg, size_t begin, size_t end) {
    ordering *o = arg;
    size_t d = o->data->features;
    for (size_t i = begin; i < end; i++) {
        const double *x = o->data->dense + i * d;
        uint32_t cell[KB_ORDER_FEATURES];
        uint64_t key = 0;
        for (size_t j = 0; j < d; j++) {
            double at = (x[j] - o->low[j]) * o->rate[j];
            cell[j] = at > 0 ? (uint32_t)at : 0; /* not for a missing value */
        }
        for (int b = 0; b < o->bits; b++)
            key = key << 1 | (cell[o->feature[b]] >> o->shift[b] & 1);
        o->key[i] = key;
    }
}

/* By one digit; equal ones keep their order. */
static void sort_by(size_t n, int shift, const size_t *start, const uint64_t *key,
                    const uint32_t *row, uint64_t *to_key, uint32_t *to_row) {
    size_t place[DIGITS];
    memcpy(place, start, sizeof place);
    for (size_t i = 0; i < n; i++) {
        size_t at = place[key[i] >> shift & (DIGITS - 1)]++;
        to_key[at] = key[i];
        to_row[at] = row[i];
    }
}

/* Where each digit's rows begin; 0: all have the same one. */
static int count_digits(size_t n, int shift, const uint64_t *key, size_t *start) {
    size_t sum = 0, most = 0;
    memset(start, 0, DIGITS * sizeof *start);
    for (size_t i = 0; i < n; i++)
        start[key[i] >> shift & (DIGITS - 1)]++;
    for (size_t k = 0; k < DIGITS; k++) {
        size_t count = start[k];
        most = count > most ? count : most;
        start[k] = sum;
        sum += count;
    }
    return most < n;
}

kb_status kb_data_order(kb_context *ctx, const kb_data *data, const double *cuts,
                        uint32_t **order) {
    kb_status status;
    size_t n = data->rows;
    ordering o = {.data = data, .cuts = cuts};
    uint64_t *other_key = NULL;
    uint32_t *row = NULL, *other_row = NULL;
    *order = NULL;
    TRY(kb_alloc(ctx, n, sizeof *o.key, &o.key));
    TRY(kb_alloc(ctx, n, sizeof *other_key, &other_key));
    TRY(kb_alloc(ctx, n, sizeof *row, &row));
    TRY(kb_alloc(ctx, n, sizeof *other_row, &other_row));
    choose_bits(&o);
    kb_team_for(ctx, n, KB_WORTH_A_THREAD / BITS, find_keys, &o);
    for (size_t i = 0; i < n; i++)
        row[i] = (uint32_t)i;
    for (int shift = 0; shift < o.bits; shift += DIGIT) {
        size_t start[DIGITS];
        if (!count_digits(n, shift, o.key, start))
            continue;
        TRY(kb_progress_again(ctx));
        sort_by(n, shift, start, o.key, row, other_key, other_row);
        uint64_t *key = o.key;
        uint32_t *last = row;
        o.key = other_key, other_key = key;
        row = other_row, other_row = last;
    }
    *order = row;
    row = NULL;
done:
    kb_release(ctx, o.key);
    kb_release(ctx, other_key);
    kb_release(ctx, row);
    kb_release(ctx, other_row);
    return status;
}
