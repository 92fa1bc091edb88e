/* l1.c - see l1.h and l1_rows.h. */
#include "l1/l1_rows.h"
#include "core/fixed_math.h"
#include "core/sums.h"
#include "core/team.h"
#include "core/weights.h"
#include "simd/tiles.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------- */

kb_status kb_l1_arrays(const kb_l1_rows *r, size_t count, double **const *array, double **memory) {
    size_t length = (r->N + KB_OCTET - 1) / KB_OCTET * KB_OCTET;
    kb_status status = kb_alloc(r->ctx, count * length + KB_LINE, sizeof **memory, memory);
    double *at = status == KB_OK ? kb_aligned(*memory) : NULL;
    for (size_t i = 0; at && i < count; i++, at += length) {
        *array[i] = at;
        memset(at + r->N, 0, (length - r->N) * sizeof *at);
    }
    return status;
}

kb_status kb_l1_open(kb_context *ctx, kb_l1 *p, kb_l1_rows *r) {
    kb_status status = KB_OK;
    const kb_zcolumns *c = p->columns;
    *r = (kb_l1_rows){.ctx = ctx, .p = p, .c = c, .N = c->rows, .D = c->columns};
    double **array[] = {&r->y, &r->f, &r->push, &r->curvature, &r->value, &r->s};
    double **half[] = {&r->high, &r->low};
    r->ranked = kb_has_ranks(ctx);
    r->rows = r->N;
    TRY(kb_l1_arrays(r, p->s ? 6 : 5, array, &r->memory));
    if (r->ranked) {
        TRY(kb_l1_arrays(r, 2, half, &r->more_memory));
        TRY(kb_alloc(ctx, 2 * r->D, sizeof *r->halves, &r->halves));
    }
    TRY(kb_alloc(ctx, r->D, sizeof(double), &r->pull));
    TRY(kb_alloc(ctx, c->blocks, sizeof(double), &r->strongest));
    for (size_t k = 0; k < r->N; k++) {
        r->y[k] = p->y[c->order[k]];
        if (p->s)
            r->s[k] = p->s[c->order[k]];
    }
    r->bound = -INFINITY;
    if (!p->intercept)
        p->b = 0;
    p->epochs = 0;
    p->converged = 0;
    kb_l1_respond(r);
done:
    return status;
}

void kb_l1_close(kb_l1_rows *r) {
    kb_l1 *p = r->p;
    if (!r->ctx)
        return;
    for (size_t k = 0; r->f && k < r->N; k++)
        p->f[r->c->order[k]] = r->f[k];
    p->nonzeros = 0;
    for (size_t j = 0; j < r->D; j++)
        p->nonzeros += p->w[j] != 0;
    kb_release(r->ctx, r->memory);
    kb_release(r->ctx, r->more_memory);
    kb_release(r->ctx, r->halves);
    kb_release(r->ctx, r->pull);
    kb_release(r->ctx, r->strongest);
}

/* grid-cd takes the most: its sums are 96 bytes a part for each column of the widest block, which
 * may be three times as wide as the mean. */
double kb_l1_bytes(size_t N, size_t R, size_t D) {
    double sums = 96 * (double)kb_zcolumns_parts(N) * (R > 3 ? 3 / (double)R : 1);
    return 112.0 * (double)N + (136 + sums) * (double)D;
}

kb_status kb_l1_largest(const kb_l1_rows *r, const double *x, double *out) {
    *out = kb_largest_size(r->N, x);
    return r->ranked ? kb_ranks_most(r->ctx, out, 1) : KB_OK;
}

static void respond_parts(void *arg, size_t begin, size_t end) {
    kb_l1_rows *r = arg;
    for (size_t k = r->c->part[begin]; k < r->c->part[end]; k++)
        r->f[k] = r->p->b;
    for (size_t j = 0; j < r->D; j++)
        for (size_t p = begin; p < end && r->p->w[j] != 0; p++)
            kb_run_add(r->c, kb_part_run(r->c, j, p), r->p->w[j], r->f);
}

void kb_l1_respond(kb_l1_rows *r) {
    int small = r->N < KB_WORTH_A_THREAD / 4;
    kb_team_for(r->ctx, r->c->parts, small ? r->c->parts : 1, respond_parts, r);
}

/* Some rows, at most KB_LOSS_SUM: pushes and curvatures, and the sum of the losses. */
static double evaluate_few(const kb_l1_rows *r, size_t begin, size_t n, double *push,
                           double *curvature) {
    kb_loss_rows out = {r->value + begin, push, curvature};
    double sum = 0;
    if (!r->s)
        sum = r->p->loss->sum(r->p->loss, n, r->f + begin, r->y + begin, out);
    else
        r->p->loss->rows(r->p->loss, n, r->f + begin, r->y + begin, out);
    for (size_t k = 0; r->s && k < n; k++) {
        double weight = r->s[begin + k];
        sum += weight * out.value[k];
        push[k] *= weight;
        curvature[k] *= weight;
    }
    for (size_t k = 0; k < n; k++)
        push[k] = -push[k];
    return sum;
}

void kb_l1_evaluate_rows(const kb_l1_rows *r, size_t begin, size_t end, double *sum) {
    *sum = 0;
    for (size_t n; begin < end; begin += n) {
        n = end - begin < KB_LOSS_SUM ? end - begin : KB_LOSS_SUM;
        *sum += evaluate_few(r, begin, n, r->push + begin, r->curvature + begin);
    }
}

static void evaluate(void *arg, size_t begin, size_t end, double *sum) {
    kb_l1_evaluate_rows(arg, begin, end, sum);
}

kb_status kb_l1_evaluate(kb_l1_rows *r, double *loss) {
    return kb_row_sums_by(r->ctx, r->N, 1, evaluate, r, loss);
}

static void sum_losses(void *arg, size_t begin, size_t end, double *sum) {
    double push[KB_LOSS_SUM], curvature[KB_LOSS_SUM];
    *sum = 0;
    for (size_t n; begin < end; begin += n) {
        n = end - begin < KB_LOSS_SUM ? end - begin : KB_LOSS_SUM;
        *sum += evaluate_few(arg, begin, n, push, curvature);
    }
}

kb_status kb_l1_loss(kb_l1_rows *r, double *loss) {
    return kb_row_sums_by(r->ctx, r->N, 1, sum_losses, r, loss);
}

/* ---- columns ----------------------------------------------------------- */

/* Bits of each half of a push: the sum of all rows of a rank fits into a double. */
enum { HALF = 25 };

static void halve_rows(void *arg, size_t begin, size_t end) {
    kb_l1_rows *r = arg;
    for (size_t i = begin; i < end; i++) {
        r->high[i] = kb_l1_round(&r->unit[0], r->push[i]);
        r->low[i] = kb_l1_round(&r->unit[1], r->push[i] - r->high[i]);
    }
}

/* With ranks: the pushes in two halves, so that the pulls are exact to 2^-50 of the largest. */
static kb_status halve_pushes(kb_l1_rows *r) {
    kb_status status = kb_l1_largest(r, r->push, &r->most);
    r->unit[0] = kb_l1_unit_of(r->most, HALF);
    r->unit[1] = kb_l1_unit_of(r->most, 2 * HALF);
    kb_team_for(r->ctx, r->N, KB_WORTH_A_THREAD / 4, halve_rows, r);
    return status;
}

static void sum_halves(const kb_l1_rows *r, size_t column) {
    kb_run run = kb_column_run(r->c, column);
    const double *half[] = {r->high, r->low};
    for (int k = 0; k < 2; k++) {
        double sum = r->c->loops->sum(r->c->octet + run.begin, run.end - run.begin, half[k]);
        r->halves[2 * column + (size_t)k] =
            r->unit[k].per > 0 ? (int64_t)(sum * r->unit[k].per) : 0;
    }
}

static double whole_pull(const kb_l1_rows *r, size_t column) {
    const int64_t *half = r->halves + 2 * column;
    __int128 sum = ((__int128)half[0] * ((int64_t)1 << HALF)) + half[1];
    return isfinite(r->most) ? (double)sum * r->unit[1].unit * r->c->value : NAN;
}

static int reaches(const kb_l1_rows *r, size_t j) {
    return !r->c->octet || (double)r->c->count[j] > r->few || r->p->w[j] != 0;
}

/* With ranks, the sums of its own rows. */
static void sum_block(kb_l1_rows *r, size_t block) {
    for (size_t j = r->c->block_start[block]; j < r->c->block_start[block + 1]; j++)
        if (reaches(r, j))
            sum_halves(r, j);
        else
            r->halves[2 * j] = r->halves[2 * j + 1] = 0;
}

/* The pulls of a block, and the least lambda that they would stay below. */
static void pull_block(kb_l1_rows *r, size_t block) {
    const kb_zcolumns *c = r->c;
    size_t begin = c->block_start[block], end = c->block_start[block + 1];
    for (size_t j = begin; j < end; j++)
        r->pull[j] = !reaches(r, j) ? 0
                     : r->ranked    ? whole_pull(r, j)
                                    : kb_column_dot(c, j, r->push);
    r->strongest[block] = !r->p->group ? kb_largest_size(end - begin, r->pull + begin)
                          : begin < end
                              ? kb_l1_length(r->pull, begin, end) / kb_l1_group_weight(c, block)
                              : 0;
}

typedef struct pulling {
    kb_l1_rows *r;
    void (*visit)(kb_l1_rows *r, size_t block);
    atomic_size_t next; /* block */
} pulling;

static void pull_blocks(void *arg, int me, int threads) {
    pulling *p = arg;
    (void)me;
    (void)threads;
    for (size_t block; (block = atomic_fetch_add(&p->next, 1)) < p->r->c->blocks;)
        p->visit(p->r, block);
}

static void visit_blocks(kb_l1_rows *r, void (*visit)(kb_l1_rows *r, size_t block)) {
    pulling p = {.r = r, .visit = visit};
    kb_team_run(r->ctx, r->N * r->c->blocks < 2 * KB_WORTH_A_THREAD, pull_blocks, &p);
}

kb_status kb_l1_pulls(kb_l1_rows *r, double least) {
    kb_status status = KB_OK;
    if (r->ranked)
        TRY(halve_pushes(r));
    else
        r->most = kb_largest_size(r->N, r->push);
    /* The margin for rounding in a sum. */
    r->few = 0.999 * least / (r->most * r->c->value);
    if (r->ranked) {
        visit_blocks(r, sum_block);
        TRY(kb_ranks_sum(r->ctx, r->halves, 2 * r->D));
    }
    visit_blocks(r, pull_block);
done:
    return status;
}

typedef struct bounding {
    const kb_l1_rows *r;
    double *M;
} bounding;

static void bound_columns(void *arg, size_t begin, size_t end) {
    const bounding *b = arg;
    for (size_t j = begin; j < end; j++)
        b->M[j] = kb_run_square(b->r->c, kb_column_run(b->r->c, j), b->r->value);
}

void kb_l1_bounds(kb_l1_rows *r, double *M) {
    bounding b = {r, M};
    for (size_t k = 0; k < r->N; k++)
        r->value[k] = r->p->loss->beta * kb_weight_of(r->s, k);
    kb_team_for(r->ctx, r->D, r->N < KB_WORTH_A_THREAD / 4 ? r->D : 1, bound_columns, &b);
}

double kb_l1_length(const double *x, size_t begin, size_t end) {
    double sum = 0;
    for (size_t j = begin; j < end; j++)
        sum += x[j] * x[j];
    return sqrt(sum);
}

double kb_l1_penalty(const kb_l1_rows *r) {
    const kb_zcolumns *c = r->c;
    double sum = 0;
    for (size_t g = 0; r->p->group && g < c->blocks; g++)
        sum += kb_l1_group_weight(c, g) *
               kb_l1_length(r->p->w, c->block_start[g], c->block_start[g + 1]);
    if (!r->p->group)
        sum = kb_sum_sizes(r->D, r->p->w);
    return r->p->lambda * sum;
}

/* ---- the intercept ----------------------------------------------------- */

/* Sums of s L', s L'' and |s L'|. */
enum { FIRST, SECOND, SIZE, SLOPES };

typedef struct shifted {
    const kb_l1_rows *r;
    double by;
} shifted;

static void sum_slopes(void *arg, size_t begin, size_t end, double *sum) {
    const shifted *at = arg;
    const kb_l1_rows *r = at->r;
    double f[KB_LOSS_SUM], value[KB_LOSS_SUM], slope[KB_LOSS_SUM], curvature[KB_LOSS_SUM];
    memset(sum, 0, SLOPES * sizeof *sum);
    for (size_t n; begin < end; begin += n) {
        n = end - begin < KB_LOSS_SUM ? end - begin : KB_LOSS_SUM;
        for (size_t k = 0; k < n; k++)
            f[k] = r->f[begin + k] + at->by;
        r->p->loss->rows(r->p->loss, n, f, r->y + begin, (kb_loss_rows){value, slope, curvature});
        for (size_t k = 0; r->s && k < n; k++) {
            slope[k] *= r->s[begin + k];
            curvature[k] *= r->s[begin + k];
        }
        sum[FIRST] += kb_sum(n, slope);
        sum[SECOND] += kb_sum(n, curvature);
        sum[SIZE] += kb_sum_sizes(n, slope);
    }
}

static void shift_rows(void *arg, size_t begin, size_t end) {
    shifted *s = arg;
    for (size_t k = begin; k < end; k++)
        s->r->f[k] += s->by;
}

/* Newton's method on the sum of the slopes, kept inside a bracket.  With one class only, b may
 * be infinite: it ends where the slopes are no more than rounding. */
kb_status kb_l1_fit_intercept(kb_l1_rows *r) {
    kb_status status = KB_OK;
    double low = -INFINITY, high = INFINITY, sum[SLOPES];
    shifted at = {r, 0};
    if (!r->p->intercept)
        return KB_OK;
    double largest_f, largest_y;
    TRY(kb_l1_largest(r, r->f, &largest_f));
    TRY(kb_l1_largest(r, r->y, &largest_y));
    double most = largest_f + largest_y;
    for (int step = 0; step < 200; step++) {
        TRY(kb_row_sums_by(r->ctx, r->N, SLOPES, sum_slopes, &at, sum));
        if (fabs(sum[FIRST]) <= 4e-16 * sum[SIZE] || fabs(at.by) > most + 40)
            break;
        if (sum[FIRST] > 0)
            high = at.by;
        else
            low = at.by;
        double next = sum[SECOND] > 0 ? at.by - sum[FIRST] / sum[SECOND] : NAN;
        double least = fmax(low, at.by - most - 4), largest = fmin(high, at.by + most + 4);
        if (!(next > least && next < largest))
            next = (least + largest) / 2;
        if (next == at.by)
            break;
        at.by = next;
    }
    r->p->b += at.by;
    kb_team_for(r->ctx, r->N, KB_WORTH_A_THREAD / 8, shift_rows, &at);
done:
    return status;
}

/* ---- duality ----------------------------------------------------------- */

/* The margin by which the dual variables stay feasible. */
static const double ROUNDING = 1e-15;

static void sum_dual(void *arg, size_t begin, size_t end, double *sum) {
    const kb_l1_rows *r = arg;
    double u[KB_LOSS_SUM];
    *sum = 0;
    for (size_t n; begin < end; begin += n) {
        n = end - begin < KB_LOSS_SUM ? end - begin : KB_LOSS_SUM;
        for (size_t k = 0; k < n; k++)
            u[k] = -r->shrink * r->push[begin + k];
        for (size_t k = 0; r->s && k < n; k++)
            u[k] = r->s[begin + k] > 0 ? u[k] / r->s[begin + k] : 0;
        r->p->loss->conjugate(r->p->loss, n, u, r->y + begin, u);
        for (size_t k = 0; r->s && k < n; k++)
            u[k] *= r->s[begin + k];
        *sum -= kb_sum(n, u);
    }
}

kb_status kb_l1_gap(kb_l1_rows *r, double loss) {
    double most = kb_largest_size(r->c->blocks, r->strongest), bound = -INFINITY;
    r->shrink = (most > r->p->lambda ? r->p->lambda / most : 1) * (1 - ROUNDING);
    kb_status status = kb_row_sums_by(r->ctx, r->N, 1, sum_dual, r, &bound);
    if (bound > r->bound)
        r->bound = bound;
    r->p->objective = loss + kb_l1_penalty(r);
    r->p->gap = fmax(r->p->objective - r->bound, 0);
    return status;
}

kb_status kb_l1_look(kb_l1_rows *r) {
    kb_status status;
    double loss;
    TRY(kb_l1_fit_intercept(r));
    TRY(kb_l1_evaluate(r, &loss));
    TRY(kb_l1_pulls(r, r->p->group ? 0 : r->p->lambda));
    TRY(kb_l1_gap(r, loss));
    r->p->converged = r->p->gap <= r->p->tol * r->p->objective;
done:
    return status;
}

double kb_l1_progress(const kb_l1 *p) {
    double far = p->objective > 0 ? p->gap / p->objective : 0;
    double by_gap = far < 1 && p->tol < 1 ? log(fmax(far, p->tol)) / log(p->tol) : 0;
    return fmin(fmax(by_gap, (double)p->epochs / (double)p->max_epochs), 1);
}

kb_status kb_l1_lambda_max(kb_context *ctx, kb_l1 *p, double *out) {
    kb_status status;
    kb_l1_rows r = {0};
    double loss;
    kb_l1 zero = *p;
    zero.b = 0;
    zero.w = zero.f = NULL;
    TRY(kb_zalloc(ctx, p->columns->columns, sizeof(double), &zero.w));
    TRY(kb_alloc(ctx, p->columns->rows, sizeof(double), &zero.f));
    TRY(kb_l1_open(ctx, &zero, &r));
    TRY(kb_l1_fit_intercept(&r));
    TRY(kb_l1_evaluate(&r, &loss));
    TRY(kb_l1_pulls(&r, 0));
    *out = kb_largest_size(r.c->blocks, r.strongest);
done:
    kb_l1_close(&r);
    kb_release(ctx, zero.w);
    kb_release(ctx, zero.f);
    return status;
}

/* ---- paths ------------------------------------------------------------- */

void kb_l1_lambdas(double from, double to, size_t count, double *lambda) {
    double ratio = kb_log_fixed(from / to);
    lambda[0] = from;
    for (size_t k = 1; k + 1 < count; k++)
        lambda[k] = from * kb_exp_minus_fixed(ratio * (double)k / (double)(count - 1));
    lambda[count - 1] = to;
}
