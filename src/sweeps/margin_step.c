/* margin_step.c - the rows' losses and a step of sweeps over them; see margin_state.h. */
#include "core/team.h"
#include "solve/newton.h"
#include "sweeps/margin_state.h"
#include "ranks/row_sums.h"

#include <math.h>
#include <string.h>

/* Numbers that a step takes of all rows, a column: k_a' h k_b for a <= b, then slope' k_a. */
enum { PAIRS = KB_FORMS * (KB_FORMS + 1) / 2, FORMS = PAIRS + KB_FORMS };

enum { MOST_HALVINGS = 20 };
/* A step may raise the objective by this share of it, which is less than its rounding. */
static const double ROUNDING = 1e-14;

/* ---- the losses of the rows -------------------------------------------- */

/* Slopes and curvatures at f, and the losses, which are added to sum. */
static void look_at(kb_margin_state *s, size_t begin, size_t end, double *sum) {
    enum { CHUNK = KB_LOSS_SUM };
    const kb_loss *loss = s->p->loss;
    const double *weight = s->p->s;
    double value[CHUNK];
    size_t P = s->P;
    for (size_t first = begin * P, n; first < end * P; first += n) {
        n = end * P - first < CHUNK ? end * P - first : CHUNK;
        kb_loss_rows out = {value, s->slope + first, s->curvature + first};
        if (P == 1 && !weight)
            *sum += loss->sum(loss, n, s->f + first, s->y + first, out);
        else
            loss->rows(loss, n, s->f + first, s->y + first, out);
        for (size_t k = 0; weight && k < n; k++) {
            double each = weight[(first + k) / P];
            value[k] *= each;
            out.slope[k] *= each;
            out.curvature[k] *= each;
        }
        for (size_t k = 0; (P > 1 || weight) && k < n; k++)
            sum[k % P] += value[k];
        s->simd->whole(n, -1 / (KB_SLOPE_UNIT * s->most), out.slope, s->v + first);
    }
}

/* The step in the rows, at the first try; then f goes on by `change` of it. */
static void walk(void *arg, size_t begin, size_t end, double *sum) {
    kb_margin_state *s = arg;
    size_t P = s->P;
    const double *k[KB_FORMS] = {s->k_g, s->k_step[1], s->k_step[2], s->k_step[0]};
    memset(sum, 0, P * sizeof *sum);
    for (size_t a = 0; a < KB_FORMS; a++)
        k[a] += begin * P;
    if (s->combine)
        s->simd->combine((end - begin) * P, P, &s->x[0][0], k, s->k_step[0] + begin * P);
    s->simd->advance((end - begin) * P, P, s->change, s->k_step[0] + begin * P, s->f + begin * P);
    look_at(s, begin, end, sum);
}

static void add_forms(void *arg, size_t begin, size_t end, double *sum) {
    kb_margin_state *s = arg;
    const double *k[KB_FORMS] = {s->k_g, s->k_step[0], s->k_step[1], s->k_step[2]};
    size_t P = s->P, count = 1 + s->past;
    memset(sum, 0, P * FORMS * sizeof *sum);
    s->simd->real((end - begin) * P, P, s->unit, s->b_g, s->h + begin * P, s->k_g + begin * P);
    if (P == 1) {
        for (size_t a = 0; a < count; a++)
            k[a] += begin;
        s->simd->forms(end - begin, count, s->curvature + begin, s->slope + begin, k, sum,
                       sum + PAIRS);
        return;
    }
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0, e = i * P; c < P; c++, e++) {
            double *at = sum + c * FORMS;
            for (size_t b = 0, pair = 0; b < count; b++) {
                double product = s->curvature[e] * k[b][e];
                for (size_t a = 0; a <= b; a++, pair++)
                    at[pair] += product * k[a][e];
                at[PAIRS + b] += s->slope[e] * k[b][e];
            }
        }
}

kb_status kb_margin_look(kb_context *ctx, kb_margin_state *s) {
    kb_status status;
    double sum[KB_PANEL];
    memset(s->change, 0, sizeof s->change);
    TRY(kb_row_sums_by(ctx, s->N, s->P, walk, s, sum));
    for (size_t c = 0; c < s->P; c++)
        s->objective[c] = sum[c] + s->Lambda / 2 * s->square[c];
done:
    return status;
}

/* ---- a step ------------------------------------------------------------ */

/* The step of column c, and its inner products with the past ones, which it joins. */
static void choose(kb_margin_state *s, size_t c, const double *forms) {
    double A[PAIRS] = {0}, y[KB_FORMS] = {0}, G[KB_FORMS][KB_FORMS] = {{0}}, with[KB_FORMS] = {0};
    double *x = s->x[c];
    size_t n = 1 + s->past;
    y[0] = s->bins[c][KB_CHANGE_DESCENT];
    G[0][0] = s->bins[c][KB_CHANGE_OWN];
    for (size_t a = 1; a < n; a++) {
        y[a] = -forms[PAIRS + a] - s->Lambda * s->along[c][a - 1];
        G[0][a] = G[a][0] = s->bins[c][KB_CHANGE_WITH + a - 1];
        for (size_t b = 1; b < n; b++)
            G[a][b] = s->gram[c][a - 1][b - 1];
    }
    for (size_t b = 0, pair = 0; b < n; b++)
        for (size_t a = 0; a <= b; a++, pair++)
            A[pair] = s->Lambda * G[a][b] + forms[pair];
    memset(x, 0, KB_FORMS * sizeof *x);
    kb_solve_small(n, A, y, x);
    s->to[c] = x[0] * s->bins[c][KB_CHANGE_ALONG];
    s->across[c] = 0;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++)
            with[a] += G[a][b] * x[b];
        s->to[c] += a > 0 ? x[a] * s->along[c][a - 1] : 0;
        s->across[c] += x[a] * with[a];
    }
    for (size_t a = KB_MARGIN_PAST - 1; a > 0; a--) {
        s->along[c][a] = s->along[c][a - 1];
        for (size_t b = KB_MARGIN_PAST - 1; b > 0; b--)
            s->gram[c][a][b] = s->gram[c][a - 1][b - 1];
    }
    s->along[c][0] = s->to[c];
    s->gram[c][0][0] = s->across[c];
    for (size_t a = 1; a < KB_MARGIN_PAST; a++)
        s->gram[c][0][a] = s->gram[c][a][0] = a < n ? with[a] : 0;
}

/* Makes room for a step as the first of the past ones; the oldest is there still, to be read. */
static void shift(kb_margin_state *s) {
    double *k_step = s->k_step[KB_MARGIN_PAST - 1];
    float *step = s->step[KB_MARGIN_PAST - 1];
    for (size_t a = KB_MARGIN_PAST - 1; a > 0; a--) {
        s->k_step[a] = s->k_step[a - 1];
        s->step[a] = s->step[a - 1];
    }
    s->k_step[0] = k_step;
    s->step[0] = step;
    s->past = s->past < KB_MARGIN_PAST ? s->past + 1 : KB_MARGIN_PAST;
}

/* The step in the bins begin up to end, and u after t of it; g: their changes, or NULL. */
static void step_part(kb_margin_state *s, size_t begin, size_t end, const int32_t *g) {
    size_t P = s->P, e = begin * P;
    kb_step at = {s->unit, g, {s->step[1] + e, s->step[2] + e}, s->step[0] + e, s->u + e};
    if (begin < end)
        s->simd->step((end - begin) * P, P, &s->x[0][0], s->t, &at);
}

static size_t within(size_t x, size_t least, size_t most) {
    return x < least ? least : x > most ? most : x;
}

static void step_bins(void *arg, size_t begin, size_t end) {
    kb_margin_state *s = arg;
    size_t first = kb_slice_first(s->slices, s->slice);
    size_t last = first + kb_slice_bins(s->slices, s->slice);
    size_t from = within(first, begin, end), to = within(last, begin, end);
    step_part(s, begin, from, NULL);
    step_part(s, from, to, s->g + (from - first) * s->P);
    step_part(s, to, end, NULL);
}

static void step_intercept(kb_margin_state *s) {
    for (size_t c = 0; c < s->P; c++) {
        double *step = s->b_step[c], *x = s->x[c];
        double d = x[0] * s->b_g[c] + x[1] * step[0] + x[2] * step[1] + x[3] * step[2];
        memmove(step + 1, step, (KB_MARGIN_PAST - 1) * sizeof *step);
        step[0] = d;
        s->b[c] += s->t[c] * d;
    }
}

/* The objective of each column falls, or the step is halved; a column without a step is stuck. */
static kb_status search(kb_context *ctx, kb_margin_state *s) {
    kb_status status;
    double sum[KB_PANEL];
    int good = 0;
    for (size_t c = 0; c < s->P; c++)
        s->t[c] = s->change[c] = 1;
    s->combine = 1;
    for (int halving = 0; !good; halving++) {
        good = 1;
        TRY(kb_row_sums_by(ctx, s->N, s->P, walk, s, sum));
        s->combine = 0;
        for (size_t c = 0; c < s->P; c++) {
            double t = s->t[c], most = s->objective[c] + ROUNDING * fabs(s->objective[c]);
            double square = s->square[c] + t * (2 * s->to[c] + t * s->across[c]);
            double trial = sum[c] + s->Lambda / 2 * square;
            s->change[c] = 0;
            if (t == 0)
                continue;
            if (trial <= most) {
                s->stuck[c] = 0;
                continue;
            }
            s->t[c] = halving < MOST_HALVINGS ? t / 2 : 0;
            s->change[c] = s->t[c] - t;
            s->stuck[c] = s->t[c] == 0;
            good = 0;
        }
    }
    for (size_t c = 0; c < s->P; c++) {
        double t = s->t[c];
        s->square[c] += t * (2 * s->to[c] + t * s->across[c]);
        s->objective[c] = sum[c] + s->Lambda / 2 * s->square[c];
        for (size_t a = 0; a < KB_MARGIN_PAST; a++)
            s->along[c][a] += t * s->gram[c][0][a];
    }
done:
    return status;
}

kb_status kb_margin_step(kb_context *ctx, kb_margin_state *s) {
    kb_status status;
    double forms[KB_PANEL * FORMS];
    TRY(kb_row_sums_by(ctx, s->N, s->P * FORMS, add_forms, s, forms));
    for (size_t c = 0; c < s->P; c++)
        choose(s, c, forms + c * FORMS);
    shift(s);
    TRY(search(ctx, s));
    kb_team_for(ctx, s->D, KB_WORTH_A_THREAD / s->P, step_bins, s);
    step_intercept(s);
done:
    return status;
}
