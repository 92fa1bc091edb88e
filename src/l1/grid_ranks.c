/*
 * grid_ranks.c - the epochs of grid-cd with rows on ranks; see grid_parts.h.
 *
 * The model's pushes and curvatures are rounded (whole.h): with N rows to 51 - log2(N) bits, at
 * most 40.  That is enough, since every model begins with new pushes.
 */
#include "core/sums.h"
#include "l1/grid_parts.h"

#include <math.h>

/* Pushes that are this small against what moves a weight do not count. */
static const double TINY = 0x1p-20;

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
    for (int k = 0; k < KB_L1_SPARE; k++)
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
