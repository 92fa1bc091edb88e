/* whole.c - see whole.h. */
#include "l1/whole.h"
#include "core/sums.h"
#include "core/team.h"

#include <math.h>

/* Bits of each half of a push: the sum of all rows of a rank fits into a double. */
enum { HALF = 25 };
/* Bits that the pushes of a model may gain, and at most have. */
enum { SPARE = 2, MOST_BITS = 40, MANTISSA = 53 };
/* Pushes that are this small against what moves a weight do not count. */
static const double TINY = 0x1p-20;

int kb_l1_bits(size_t rows) {
    int bits = MANTISSA - SPARE;
    for (size_t n = 1; n < rows; n *= 2)
        bits--;
    return bits < MOST_BITS ? bits : MOST_BITS;
}

/* 1.5 * 2^52 units: the sum with it has no bits below the unit. */
kb_l1_unit kb_l1_unit_of(double most, int bits) {
    int e = 0;
    frexp(most, &e);
    if (!isfinite(most) || !(most > 0) || e < -900)
        return (kb_l1_unit){0};
    return (kb_l1_unit){
        .per = ldexp(1, bits - e), .unit = ldexp(1, e - bits), .round = ldexp(0x1.8p52, e - bits)};
}

kb_status kb_l1_largest(const kb_l1_rows *r, const double *x, double *out) {
    *out = kb_largest_size(r->N, x);
    return r->ranked ? kb_ranks_most(r->ctx, out, 1) : KB_OK;
}

/* ---- the pulls of a look ----------------------------------------------- */

static void halve_rows(void *arg, size_t begin, size_t end) {
    kb_l1_rows *r = arg;
    for (size_t i = begin; i < end; i++) {
        r->high[i] = kb_l1_round(&r->unit[0], r->push[i]);
        r->low[i] = kb_l1_round(&r->unit[1], r->push[i] - r->high[i]);
    }
}

kb_status kb_l1_halve(kb_l1_rows *r) {
    kb_status status = kb_l1_largest(r, r->push, &r->most);
    r->unit[0] = kb_l1_unit_of(r->most, HALF);
    r->unit[1] = kb_l1_unit_of(r->most, 2 * HALF);
    kb_team_for(r->ctx, r->N, KB_WORTH_A_THREAD / 4, halve_rows, r);
    return status;
}

void kb_l1_sum_halves(const kb_l1_rows *r, size_t column) {
    kb_run run = kb_column_run(r->c, column);
    const double *half[] = {r->high, r->low};
    for (int k = 0; k < 2; k++) {
        double sum = r->c->loops->sum(r->c->octet + run.begin, run.end - run.begin, half[k]);
        r->halves[2 * column + (size_t)k] =
            r->unit[k].per > 0 ? (int64_t)(sum * r->unit[k].per) : 0;
    }
}

kb_status kb_l1_join_halves(kb_l1_rows *r) {
    return kb_ranks_sum(r->ctx, r->halves, 2 * r->D);
}

double kb_l1_whole_pull(const kb_l1_rows *r, size_t column) {
    const int64_t *half = r->halves + 2 * column;
    __int128 sum = ((__int128)half[0] * ((int64_t)1 << HALF)) + half[1];
    return isfinite(r->most) ? (double)sum * r->unit[1].unit * r->c->value : NAN;
}

/* ---- the steps of an epoch --------------------------------------------- */

static void round_rows(void *arg, size_t begin, size_t end) {
    kb_grid_cd *g = arg;
    const kb_l1_unit *u = &g->unit[KB_PART_PULL], *h = &g->unit[KB_PART_SECOND];
    for (size_t i = begin; i < end; i++) {
        g->u[i] = kb_l1_round(u, g->u[i]);
        if (g->h[i] > 0)
            g->h[i] = fmax(kb_l1_round(h, g->h[i]), h->unit);
    }
}

kb_status kb_grid_round(kb_grid_cd *g) {
    kb_status status;
    const kb_l1_rows *r = &g->r;
    double push, curvature;
    int bits = kb_l1_bits(r->rows);
    TRY(kb_l1_largest(r, g->u, &push));
    TRY(kb_l1_largest(r, g->h, &curvature));
    push = fmax(push, TINY * r->p->lambda / r->c->value);
    g->unit[KB_PART_PULL] = kb_l1_unit_of(push, bits);
    g->unit[KB_PART_SECOND] = kb_l1_unit_of(curvature, bits);
    g->most_u = push;
    for (int k = 0; k < SPARE; k++)
        g->most_u *= 2;
    kb_grid_on_rows(g, round_rows);
done:
    return status;
}

/* The parts of this rank's rows, in units, to `to`. */
static void take_sums(const kb_grid_cd *g, const kb_turn *t, kb_part_kind kind, int64_t *to) {
    double per = g->unit[kind].per;
    for (size_t k = t->begin; k < t->end; k++) {
        double sum = 0;
        for (size_t p = 0; p < g->r.c->parts; p++)
            sum += *kb_grid_part(g, t, kind, p, k);
        to[k - t->begin] = per > 0 ? (int64_t)(sum * per) : 0;
    }
}

static void give_sums(const kb_grid_cd *g, const kb_turn *t, kb_part_kind kind, double value,
                      const int64_t *from) {
    for (size_t k = t->begin; k < t->end; k++)
        for (size_t p = 0; p < g->r.c->parts; p++)
            *kb_grid_part(g, t, kind, p, k) =
                p == 0 ? (double)from[k - t->begin] * g->unit[kind].unit * value : 0;
}

void kb_grid_join(void *arg, const kb_turn *t) {
    kb_grid_cd *g = arg;
    size_t count = t->end - t->begin;
    double value = g->r.c->value;
    if (t->me > 0)
        return;
    take_sums(g, t, KB_PART_PULL, g->whole);
    if (g->fresh)
        take_sums(g, t, KB_PART_SECOND, g->whole + count);
    if (g->status == KB_OK)
        g->status = kb_ranks_sum_at_once(g->r.ctx, g->whole, (g->fresh ? 2 : 1) * count);
    give_sums(g, t, KB_PART_PULL, value, g->whole);
    if (g->fresh)
        give_sums(g, t, KB_PART_SECOND, value * value, g->whole + count);
}

void kb_grid_add_rounded(const kb_grid_cd *g, kb_run run, double by) {
    const kb_zcolumns *c = g->r.c;
    c->loops->add_rounded(c->octet + run.begin, run.end - run.begin, c->value * by, g->h,
                          g->unit[KB_PART_PULL].round, g->most_u, g->u);
}

void kb_grid_shift_rounded(const kb_grid_cd *g, size_t begin, size_t end, double by) {
    for (size_t i = begin; i < end; i++) {
        double x = kb_l1_round(&g->unit[KB_PART_PULL], g->u[i] + by * g->h[i]);
        g->u[i] = fmax(fmin(x, g->most_u), -g->most_u);
    }
}
