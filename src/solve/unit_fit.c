/* unit_fit.c - see unit_fit.h. */
#include "solve/unit_fit.h"
#include "core/fixed_math.h"
#include "core/memory.h"
#include "core/order.h"
#include "core/weights.h"
#include "ranks/row_sums.h"
#include "solve/newton.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Widths before the last one, as multiples of it, and how closely they are solved. */
static const double WIDER[] = {30, 10, 3};
static const double WIDER_TOL = 0.03;

/* ---- offset and unit --------------------------------------------------- */

typedef struct weighed {
    double y, weight;
} weighed;

static int by_target(const void *a, const void *b) {
    double x = ((const weighed *)a)->y, y = ((const weighed *)b)->y;
    return (x > y) - (x < y);
}

/* The least y with at least a share q of the weight up to it; `row` is sorted. */
static double quantile_of(size_t rows, const weighed *row, double total, double q) {
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        sum += row[i].weight;
        if (row[i].weight > 0 && sum >= q * total * (1 - 1e-12))
            return row[i].y;
    }
    return row[rows - 1].y;
}

static double spread_of(size_t rows, const weighed *row, double total) {
    double middle = quantile_of(rows, row, total, 0.5), sum = 0;
    double range = quantile_of(rows, row, total, 0.75) - quantile_of(rows, row, total, 0.25);
    for (size_t i = 0; i < rows; i++)
        sum += row[i].weight / total * fabs(row[i].y - middle);
    return range > 0 ? range : sum > 0 ? sum : 1;
}

/* ---- the same of all ranks --------------------------------------------- */

/* A quantile is found digit by digit: of the numbers that begin like it, the weights of each next
 * digit are added up over the ranks.  Weights are whole numbers there, so no order matters. */
enum { DIGIT = 8, DIGITS = 64 / DIGIT, DIFFERENT = 1 << DIGIT, WEIGHT_BITS = 30 };

/* Targets of one output, and their weights. */
typedef struct column {
    kb_context *ctx;
    size_t rows, C, c;
    const double *y, *s;
    double per;    /* of a weight, as a whole number; 0: ones */
    int64_t total; /* of all ranks */
    double middle;
} column;

/* A number as one that has its order. */
static uint64_t key_of(double y) {
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double of_key(uint64_t key) {
    uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
    double y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static double target_of(const column *k, size_t i) {
    return k->y[i * k->C + k->c] + 0.0; /* one zero */
}

static int64_t whole_weight(const column *k, size_t i) {
    return k->s ? (int64_t)rint(k->s[i] * k->per) : 1;
}

static kb_status weigh_column(column *k) {
    kb_status status = KB_OK;
    double most = 0;
    for (size_t i = 0; k->s && i < k->rows; i++)
        most = fmax(most, k->s[i]);
    TRY(kb_ranks_most(k->ctx, &most, 1));
    k->per = most > 0 ? ldexp(1, WEIGHT_BITS) / most : 0;
    k->total = 0;
    for (size_t i = 0; i < k->rows; i++)
        k->total += whole_weight(k, i);
    TRY(kb_ranks_sum(k->ctx, &k->total, 1));
done:
    return status;
}

static kb_status column_quantile(const column *k, double q, double *out) {
    kb_status status = KB_OK;
    int64_t weight[DIFFERENT], wanted = (int64_t)ceil(q * (double)k->total * (1 - 1e-12));
    uint64_t first = 0; /* its digits so far */
    wanted = wanted > 1 ? wanted : 1;
    for (int d = DIGITS - 1; d >= 0; d--) {
        int shift = d * DIGIT, known = shift + DIGIT;
        memset(weight, 0, sizeof weight);
        for (size_t i = 0; i < k->rows; i++) {
            uint64_t key = key_of(target_of(k, i));
            if (known == 64 || key >> known == first)
                weight[(key >> shift) % DIFFERENT] += whole_weight(k, i);
        }
        TRY(kb_ranks_sum(k->ctx, weight, DIFFERENT));
        uint64_t digit = 0;
        for (; digit + 1 < DIFFERENT && wanted > weight[digit]; digit++)
            wanted -= weight[digit];
        first = first << DIGIT | digit;
    }
    *out = of_key(first);
done:
    return status;
}

/* Weights, and weights times targets or their distance from the middle. */
static void add_column(void *arg, size_t begin, size_t end, double *sum) {
    const column *k = arg;
    memset(sum, 0, 3 * sizeof *sum);
    for (size_t i = begin; i < end; i++) {
        double weight = kb_weight_of(k->s, i);
        sum[0] += weight;
        sum[1] += weight * target_of(k, i);
        sum[2] += weight * fabs(target_of(k, i) - k->middle);
    }
}

static kb_status column_spread(column *k, double *out) {
    kb_status status;
    double low, high, sum[3];
    TRY(column_quantile(k, 0.25, &low));
    TRY(column_quantile(k, 0.5, &k->middle));
    TRY(column_quantile(k, 0.75, &high));
    TRY(kb_row_sums_by(k->ctx, k->rows, 3, add_column, k, sum));
    *out = high > low ? high - low : sum[2] > 0 ? sum[2] / sum[0] : 1;
done:
    return status;
}

static kb_status centre_of_all(kb_context *ctx, const kb_loss *loss, size_t rows, size_t C,
                               const double *y, const double *s, double *centre, double *spread) {
    kb_status status = KB_OK;
    for (size_t c = 0; c < C; c++) {
        column k = {.ctx = ctx, .rows = rows, .C = C, .c = c, .y = y, .s = s};
        double sum[3];
        if (spread)
            spread[c] = 1;
        if (loss->kind == KB_LOSS_POISSON) {
            TRY(kb_row_sums_by(ctx, rows, 3, add_column, &k, sum));
            centre[c] = sum[1] > 0 ? kb_log_fixed(sum[1] / sum[0]) : 0;
            continue;
        }
        TRY(weigh_column(&k));
        TRY(column_quantile(&k, loss->quantile, centre + c));
        if (spread)
            TRY(column_spread(&k, spread + c));
    }
done:
    return status;
}

kb_status kb_unit_centre(kb_context *ctx, const kb_loss *loss, size_t rows, size_t C,
                         const double *y, const double *s, double *centre, double *spread) {
    kb_status status;
    weighed *row = NULL;
    if (kb_has_ranks(ctx))
        return centre_of_all(ctx, loss, rows, C, y, s, centre, spread);
    TRY(kb_alloc(ctx, rows, sizeof *row, &row));
    for (size_t c = 0; c < C; c++) {
        double total = 0, mean = 0;
        for (size_t i = 0; i < rows; i++) {
            row[i] = (weighed){y[i * C + c], kb_weight_of(s, i)};
            total += row[i].weight;
            mean += row[i].weight * row[i].y;
        }
        if (spread)
            spread[c] = 1;
        if (loss->kind == KB_LOSS_POISSON) {
            centre[c] = mean > 0 ? kb_log_fixed(mean / total) : 0;
            continue;
        }
        qsort(row, rows, sizeof *row, by_target);
        centre[c] = quantile_of(rows, row, total, loss->quantile);
        if (spread)
            spread[c] = spread_of(rows, row, total);
    }
done:
    kb_release(ctx, row);
    return status;
}

/* ---- the problem in its units ------------------------------------------ */

typedef struct unit_problem {
    kb_smooth *p;
    double *y;             /* N x C: the targets in units */
    double *offset, *unit; /* C: of decisions; the targets of poisson are divided by exp(offset) */
} unit_problem;

static void set_targets(unit_problem *u) {
    size_t C = u->p->C;
    int poisson = u->p->loss->kind == KB_LOSS_POISSON;
    for (size_t i = 0; i < u->p->op->rows; i++)
        for (size_t c = 0; c < C; c++) {
            double y = u->p->y[i * C + c];
            u->y[i * C + c] =
                poisson ? y / kb_exp_bounded(u->offset[c]) : (y - u->offset[c]) / u->unit[c];
        }
}

static void multiply(kb_smooth *p, const double *unit, int inverse) {
    for (size_t i = 0; i < p->op->rows; i++)
        for (size_t c = 0; c < p->C; c++) {
            double by = inverse ? 1 / unit[c] : unit[c];
            p->alpha[i * p->C + c] *= by;
            p->f[i * p->C + c] *= by;
        }
}

/* In units of `width` times the spread: w = unit v turns lambda/2 |w|^2 + spread sum P into
 * width spread^2 times (lambda width)/2 |v|^2 + sum of the loss in its units. */
static kb_status solve_at(kb_context *ctx, unit_problem *u, double width, double tol) {
    kb_status status;
    kb_smooth *p = u->p, problem = *p;
    for (size_t c = 0; c < p->C; c++)
        u->unit[c] *= width;
    set_targets(u);
    if (p->warm)
        multiply(p, u->unit, 1);
    problem.y = u->y;
    problem.lambda = p->lambda * width;
    problem.tol = tol;
    problem.max_steps = p->max_steps > p->steps ? p->max_steps - p->steps : 1;
    TRY(kb_newton(ctx, &problem));
    multiply(p, u->unit, 0);
    p->warm = 1;
    p->steps += problem.steps;
    p->rounds += problem.rounds;
    p->converged = problem.converged;
    p->objective = problem.objective * width;
    for (size_t c = 0; c < p->C; c++)
        u->unit[c] /= width;
done:
    return status;
}

kb_status kb_unit_fit(kb_context *ctx, kb_smooth *p) {
    kb_status status;
    unit_problem u = {.p = p};
    int warm = p->warm;
    size_t C = p->C;
    p->steps = p->rounds = 0;
    TRY(kb_alloc(ctx, p->op->rows * C, sizeof *u.y, &u.y));
    TRY(kb_alloc(ctx, C, sizeof *u.offset, &u.offset));
    TRY(kb_alloc(ctx, C, sizeof *u.unit, &u.unit));
    TRY(kb_unit_centre(ctx, p->loss, p->op->rows, C, p->y, p->s, u.offset, u.unit));
    for (size_t c = 0; c < C; c++)
        u.offset[c] = p->offset ? u.offset[c] : 0;
    if (p->loss->kind == KB_LOSS_POISSON) {
        TRY(solve_at(ctx, &u, 1, p->tol));
    } else {
        for (size_t k = 0; !warm && k < sizeof WIDER / sizeof *WIDER; k++)
            TRY(solve_at(ctx, &u, WIDER[k] * KB_UNIT_WIDTH, fmax(p->tol, WIDER_TOL)));
        TRY(solve_at(ctx, &u, KB_UNIT_WIDTH, p->tol));
    }
    for (size_t c = 0; p->offset && c < C; c++)
        p->offset[c] = u.offset[c];
done:
    p->warm = warm;
    kb_release(ctx, u.y);
    kb_release(ctx, u.offset);
    kb_release(ctx, u.unit);
    return status;
}
