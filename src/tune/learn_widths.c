/* learn_widths.c - see learn_widths.h. */
#include "tune/learn_widths.h"
#include "core/fixed_math.h"
#include "core/order.h"
#include "simd/cholesky.h"
#include "simd/gram.h"
#include "trial/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = KB_RULE_LEARN_STEPS,
    OUTPUTS = KB_RULE_LEARN_OUTPUTS,
    LAMBDAS = sizeof KB_RULE_LEARN_LAMBDAS / sizeof *KB_RULE_LEARN_LAMBDAS
};

static double exponential(double x) {
    return x > 0 ? 1 / kb_exp_minus_fixed(x) : kb_exp_minus_fixed(-x);
}

/* The parameters of one vector: log sigma of every feature, then the logits of q. */
typedef struct shape {
    size_t d, p; /* features; parameters: d, or 2 d */
    double *at, *start, *mean, *square, *sum;
    double *gradient;
} shape;

typedef struct learner {
    const kb_width_learning *given;
    shape *shape; /* vectors */
    kb_widths widths;
    size_t rows;     /* of a step */
    uint32_t *order; /* pool: a permutation */
    uint32_t *drawn; /* rows: of the step */
    size_t averaged; /* steps in the sums */
    int limited;     /* by the clock */
} learner;

static int is_level(const learner *l, size_t j) {
    const unsigned char *level = l->given->sample->x->level;
    return level && level[j];
}

/* For levels sigma alone rules how often a grid cuts them. */
static double q_of(const learner *l, const shape *s, size_t j) {
    return s->p == s->d || is_level(l, j) ? 1 : 1 / (1 + exponential(-s->at[s->d + j]));
}

static void set_widths(learner *l) {
    size_t d = l->widths.features;
    for (size_t v = 0; v < l->widths.vectors; v++)
        for (size_t j = 0; j < d; j++)
            l->widths.width[v * d + j] =
                (kb_width){is_level(l, j) ? kb_law_levels() : l->given->law,
                           exponential(l->shape[v].at[j]), q_of(l, &l->shape[v], j)};
}

/* About normal: twelve uniform numbers. */
static double normal(uint64_t seed, size_t v, size_t j) {
    double sum = -6;
    for (uint32_t k = 0; k < 6; k++) {
        kb_uniform2 u = kb_random_uniform(seed, KB_STREAM_TUNE, v << 32 | j, k);
        sum += u.u + u.v;
    }
    return sum;
}

/* The start value of log sigma of feature j. */
static double first_of(const learner *l, size_t v, size_t j) {
    const kb_width_learning *given = l->given;
    double factor = is_level(l, j)     ? KB_RULE_LEVELS_SIGMA
                    : given->selective ? KB_RULE_LEARN_FIRST_Q
                                       : 1;
    if (given->found && j < given->found->features)
        return kb_log_fixed(given->found->width[v * given->found->features + j].sigma);
    if (given->start && v + 1 == given->vectors)
        return kb_log_fixed(given->start[j].sigma * (is_level(l, j) ? 1 : factor));
    return kb_log_fixed(given->sigma * factor) +
           KB_RULE_LEARN_START_DEVIATION * normal(given->seed, v, j);
}

/* The start value of the logit of q of feature j; the logit of 1 has no end. */
static double first_logit(const learner *l, size_t v, size_t j) {
    const kb_widths *found = l->given->found;
    double q = found && j < found->features && !is_level(l, j)
                   ? found->width[v * found->features + j].q
                   : KB_RULE_LEARN_FIRST_Q;
    return q < 1 ? kb_log_fixed(q / (1 - q)) : KB_RULE_LEARN_LOGIT_REACH;
}

static kb_status begin(kb_context *ctx, learner *l) {
    kb_status status = KB_OK;
    const kb_width_learning *given = l->given;
    size_t d = given->sample->x->features, p = given->selective ? 2 * d : d;
    l->widths.vectors = given->vectors;
    l->widths.features = d;
    TRY(kb_alloc(ctx, given->vectors * d, sizeof(kb_width), &l->widths.width));
    TRY(kb_zalloc(ctx, given->vectors, sizeof *l->shape, &l->shape));
    for (size_t v = 0; v < given->vectors; v++) {
        shape *s = &l->shape[v];
        s->d = d;
        s->p = p;
        TRY(kb_zalloc(ctx, 6 * p, sizeof(double), &s->at));
        s->start = s->at + p;
        s->mean = s->at + 2 * p;
        s->square = s->at + 3 * p;
        s->sum = s->at + 4 * p;
        s->gradient = s->at + 5 * p;
        for (size_t j = 0; j < p; j++)
            s->start[j] = s->at[j] = j < d ? first_of(l, v, j) : first_logit(l, v, j - d);
    }
    l->rows = given->pool < KB_RULE_LEARN_STEP_ROWS ? given->pool : KB_RULE_LEARN_STEP_ROWS;
    TRY(kb_alloc(ctx, l->rows, sizeof *l->drawn, &l->drawn));
    TRY(kb_alloc(ctx, given->pool, sizeof *l->order, &l->order));
    memcpy(l->order, given->row, given->pool * sizeof *l->order);
done:
    return status;
}

/* ---- one step ---------------------------------------------------------- */

/* Shuffles the first rows of the pool into place; the rows of a step keep their order, which a
 * split by time needs. */
static void draw_rows(learner *l, size_t step) {
    for (size_t i = 0; i < l->rows; i++) {
        kb_uniform2 u = kb_random_uniform(l->given->seed, KB_STREAM_TUNE_ROW, step, (uint32_t)i);
        size_t k = i + (size_t)(u.u * (double)(l->given->pool - i));
        uint32_t other = l->order[k];
        l->order[k] = l->order[i];
        l->order[i] = other;
    }
    memcpy(l->drawn, l->order, l->rows * sizeof *l->drawn);
    qsort(l->drawn, l->rows, sizeof *l->drawn, kb_compare_uint32);
}

/* y = random signed sums of the outputs. */
static kb_status mix_outputs(kb_context *ctx, kb_subsample *s, uint64_t seed, size_t step) {
    kb_status status = KB_OK;
    double *mixed = NULL;
    size_t C = s->C;
    if (C <= OUTPUTS)
        return KB_OK;
    TRY(kb_zalloc(ctx, s->x->rows * OUTPUTS, sizeof(double), &mixed));
    for (size_t c = 0; c < C; c++) {
        uint32_t bits = kb_random(seed, KB_STREAM_TUNE_ROW, step, UINT32_MAX - (uint32_t)c).word[0];
        for (size_t i = 0; i < s->x->rows; i++)
            for (size_t k = 0; k < OUTPUTS; k++)
                mixed[i * OUTPUTS + k] += (bits >> k & 1 ? 1 : -1) * s->y[i * C + c];
    }
    kb_release(ctx, s->y);
    s->y = mixed;
    s->C = OUTPUTS;
done:
    return status;
}

/* alpha, and the errors e on the validation rows times their weights, for the best lambda; both N x
 * C, each with zeros on the rows of the other.  *error: the weighted sum of the squared errors. */
static kb_status solve(kb_context *ctx, const kb_subsample *s, const kb_binned *drawn,
                       double *alpha, double *e, double *lambda, double *error) {
    kb_status status;
    kb_lanczos l = {.op = drawn->op,
                    .folds = &s->folds,
                    .C = s->C,
                    .y = s->y,
                    .root = s->root,
                    .keeps_basis = 1};
    double *f = NULL, *best = NULL;
    size_t N = s->x->rows, C = s->C;
    TRY(kb_lanczos_begin(ctx, &l));
    TRY(kb_lanczos_extend(ctx, &l, KB_RULE_LEARN_ALPHA_STEPS));
    TRY(kb_alloc(ctx, l.held * C, sizeof(double), &f));
    TRY(kb_alloc(ctx, l.held * C, sizeof(double), &best));
    *error = INFINITY;
    for (size_t k = LAMBDAS; k-- > 0;) {
        double sum = 0, tried = KB_RULE_LEARN_LAMBDAS[k];
        TRY(kb_lanczos_decide(ctx, &l, KB_RULE_LEARN_ALPHA_STEPS, tried, f));
        for (size_t h = 0; h < l.held; h++)
            for (size_t c = 0; c < C; c++) {
                double off = f[h * C + c] - s->y[l.row[h] * C + c];
                f[h * C + c] = s->weight ? s->weight[l.row[h]] * off : off;
                sum += f[h * C + c] * off;
            }
        if (sum < *error) {
            *error = sum;
            *lambda = tried;
            double *swap = best;
            best = f;
            f = swap;
        }
    }
    memset(e, 0, N * C * sizeof(double));
    for (size_t h = 0; h < l.held; h++)
        memcpy(e + l.row[h] * C, best + h * C, C * sizeof(double));
    TRY(kb_lanczos_alpha(ctx, &l, KB_RULE_LEARN_ALPHA_STEPS, *lambda, alpha));
done:
    kb_lanczos_release(ctx, &l);
    kb_release(ctx, f);
    kb_release(ctx, best);
    return status;
}

/* e - g in its place, with g = (K + lambda I)^-1 K_held' e on the fitted rows: K e there is the
 * right-hand side. */
static kb_status adjoin(kb_context *ctx, const kb_subsample *s, const kb_binned *drawn,
                        double lambda, double *e) {
    kb_status status;
    size_t N = s->x->rows, C = s->C;
    double *side = NULL, *g = NULL;
    kb_lanczos l = {.op = drawn->op,
                    .folds = &s->folds,
                    .C = C,
                    .root = s->root,
                    .keeps_basis = 1,
                    .uncentred = 1};
    TRY(kb_alloc(ctx, N * C, sizeof(double), &side));
    TRY(kb_alloc(ctx, N * C, sizeof(double), &g));
    TRY(drawn->op->apply_k(drawn->op, ctx, C, e, side, NULL));
    l.y = side;
    TRY(kb_lanczos_begin(ctx, &l));
    TRY(kb_lanczos_extend(ctx, &l, KB_RULE_LEARN_ADJOINT_STEPS));
    TRY(kb_lanczos_alpha(ctx, &l, KB_RULE_LEARN_ADJOINT_STEPS, lambda, g));
    for (size_t i = 0; i < N * C; i++)
        e[i] -= g[i];
done:
    kb_lanczos_release(ctx, &l);
    kb_release(ctx, side);
    kb_release(ctx, g);
    return status;
}

/* B_r: the product of the sums of u and of alpha over the bins of every grid. */
static kb_status effects(kb_context *ctx, const kb_binned *drawn, size_t C, const double *u,
                         const double *alpha, double *B) {
    kb_status status;
    const kb_binmat *z = drawn->z;
    double *a = NULL, *b = NULL;
    TRY(kb_alloc(ctx, z->bins * C, sizeof(double), &a));
    TRY(kb_alloc(ctx, z->bins * C, sizeof(double), &b));
    TRY(drawn->op->apply_t(drawn->op, ctx, C, u, a));
    TRY(drawn->op->apply_t(drawn->op, ctx, C, alpha, b));
    for (size_t r = 0; r < z->grids; r++) {
        B[r] = 0;
        for (size_t i = z->start[r] * C; i < z->start[r + 1] * C; i++)
            B[r] += a[i] * b[i];
    }
done:
    kb_release(ctx, a);
    kb_release(ctx, b);
    return status;
}

/* The derivative in log sigma of the log of the probability that levels are cut, 1 - exp(-1/sigma),
 * or not. */
static double score_of_levels(double sigma, int cut) {
    double p = kb_levels_cut(sigma);
    return cut ? (p - 1) / (p * sigma) : 1 / sigma;
}

/* The scores of the widths of the n grids of vector v, with respect to its parameters: p x m. */
static void find_scores(const learner *l, size_t v, const kb_grids *g, size_t n, size_t m,
                        double *G) {
    const shape *s = &l->shape[v];
    const kb_width *width = l->widths.width + v * s->d;
    for (size_t j = 0; j < s->d; j++)
        for (size_t i = 0; i < n; i++) {
            double inverse = kb_grids_at(g, v + i * l->widths.vectors, j)[0];
            if (is_level(l, j)) {
                G[j * m + i] = score_of_levels(width[j].sigma, inverse > 0);
                continue;
            }
            G[j * m + i] = inverse > 0 ? 1 / (inverse * width[j].sigma) - 2 : 0;
            if (s->p > s->d)
                G[(s->d + j) * m + i] = KB_RULE_LEARN_Q_SCORE * ((inverse > 0) - width[j].q);
        }
}

/* gradient = 2 (G'G/n + I/2)^-1 G'B/n = 2 G' (GG'/n + I/2)^-1 B/n over the n grids of vector v,
 * with B centred. */
static kb_status regress(kb_context *ctx, learner *l, size_t v, const kb_grids *g, const double *B,
                         double unit) {
    kb_status status;
    shape *s = &l->shape[v];
    size_t V = l->widths.vectors, n = (g->grids - v + V - 1) / V, p = s->p, rank;
    size_t m = kb_gram_width(n);
    double *G = NULL, *b = NULL, mean = 0;
    const kb_tiles *tiles = kb_simd_best()->tiles;
    kb_triangle t = {.n = n};
    TRY(kb_zalloc(ctx, p * m, sizeof(double), &G));
    TRY(kb_alloc(ctx, n, sizeof(double), &b));
    TRY(kb_alloc(ctx, n * n, sizeof(double), &t.L));
    TRY(kb_alloc(ctx, n, sizeof(double), &t.inverse));
    for (size_t i = 0; i < n; i++)
        mean += B[v + i * V] / (double)n;
    find_scores(l, v, g, n, m, G);
    kb_gram(n, p, G, t.L);
    for (size_t i = 0; i < n; i++) {
        b[i] = (B[v + i * V] - mean) / (double)n;
        for (size_t k = 0; k <= i; k++)
            t.L[i * n + k] = t.L[i * n + k] / (double)n + (i == k ? KB_RULE_LEARN_RIDGE : 0);
    }
    TRY(kb_cholesky(ctx, tiles, &t, 0, &rank));
    TRY(kb_triangle_forward(ctx, tiles, &t, 1, b));
    TRY(kb_triangle_backward(ctx, tiles, &t, 1, b));
    for (size_t j = 0; j < p; j++) {
        s->gradient[j] = 0;
        for (size_t i = 0; i < n; i++)
            s->gradient[j] += 2 * unit * b[i] * G[j * m + i];
    }
done:
    kb_release(ctx, G);
    kb_release(ctx, b);
    kb_release(ctx, t.L);
    kb_release(ctx, t.inverse);
    return status;
}

static double clip(double x, double centre, double reach) {
    return fmin(fmax(x, centre - reach), centre + reach);
}

/* Adam; `taken` counts the steps of this learning, which may begin late. */
static void move(shape *s, size_t step, size_t taken) {
    const double first = KB_RULE_LEARN_FIRST_RATE, last = KB_RULE_LEARN_LAST_RATE;
    const double of_mean = KB_RULE_LEARN_MEAN_DECAY, of_square = KB_RULE_LEARN_SQUARE_DECAY;
    double late = (double)step / (STEPS - 1), typical = 0;
    double rate = first + (last - first) * late;
    double keep_mean = 1 - kb_power_fixed(of_mean, (unsigned)taken);
    double keep_square = 1 - kb_power_fixed(of_square, (unsigned)taken);
    for (size_t j = 0; j < s->p; j++) {
        double g = s->gradient[j];
        s->mean[j] = of_mean * s->mean[j] + (1 - of_mean) * g;
        s->square[j] = of_square * s->square[j] + (1 - of_square) * g * g;
        typical += s->square[j] / keep_square / (double)s->p;
    }
    typical = sqrt(typical);
    for (size_t j = 0; j < s->p && typical > 0; j++) {
        double size = sqrt(s->square[j] / keep_square) + KB_RULE_LEARN_ROOT_FLOOR * typical;
        s->at[j] -= rate * s->mean[j] / keep_mean / size;
        s->at[j] = j < s->d ? clip(s->at[j], s->start[j], KB_RULE_LEARN_LOG_SIGMA_REACH)
                            : clip(s->at[j], 0, KB_RULE_LEARN_LOGIT_REACH);
    }
}

/* The gradients of all vectors, with fresh rows and grids. */
static kb_status find_gradients(kb_context *ctx, learner *l, size_t step) {
    kb_status status;
    const kb_width_learning *given = l->given;
    kb_subsample s = {0};
    kb_binned drawn = {0};
    double *alpha = NULL, *e = NULL, *B = NULL, lambda = 1, error;
    size_t N = l->rows;
    uint64_t seed = given->seed * KB_RULE_LEARN_STEP_SEEDS + step;
    draw_rows(l, step);
    TRY(kb_subsample_take(ctx, given->sample, N, l->drawn, &s));
    TRY(kb_subsample_split(ctx, given->split, 0, KB_RULE_LEARN_VALIDATION_SHARE, seed, &s));
    TRY(mix_outputs(ctx, &s, given->seed, step));
    TRY(kb_alloc(ctx, N * s.C, sizeof(double), &alpha));
    TRY(kb_alloc(ctx, N * s.C, sizeof(double), &e));
    TRY(kb_alloc(ctx, KB_RULE_LEARN_STEP_GRIDS, sizeof(double), &B));
    TRY(kb_subsample_bin(ctx, &s, &l->widths, KB_RULE_LEARN_STEP_GRIDS, seed, &drawn));
    TRY(solve(ctx, &s, &drawn, alpha, e, &lambda, &error));
    TRY(adjoin(ctx, &s, &drawn, lambda, e));
    TRY(effects(ctx, &drawn, s.C, e, alpha, B));
    for (size_t v = 0; v < l->widths.vectors; v++)
        TRY(regress(ctx, l, v, drawn.grids, B, error > 0 ? 1 / error : 0));
done:
    kb_binned_release(&drawn);
    kb_subsample_release(ctx, &s);
    kb_release(ctx, alpha);
    kb_release(ctx, e);
    kb_release(ctx, B);
    return status;
}

static void release(kb_context *ctx, learner *l) {
    for (size_t v = 0; l->shape && v < l->given->vectors; v++)
        kb_release(ctx, l->shape[v].at);
    kb_release(ctx, l->shape);
    kb_release(ctx, l->order);
    kb_release(ctx, l->drawn);
    kb_release(ctx, l->widths.width);
}

static kb_widths give_widths(learner *l) {
    kb_widths out = l->widths;
    l->widths.width = NULL;
    return out;
}

/* How many steps further the next one is, so that the last ends in time; 0: there are too few. */
static size_t stride_of(const learner *l, double before, size_t step, size_t taken) {
    const kb_width_learning *given = l->given;
    double now = kb_clock_now(&given->clock), rest = (double)(STEPS - 1 - step);
    double more = now > before ? (given->until - now) / (now - before) : rest;
    if (!(more < rest))
        return 1;
    if (given->hurried)
        *given->hurried = 1;
    if ((double)taken + more < KB_RULE_BUDGET_STEPS_LEAST && l->averaged == 0)
        return 0;
    return more < 1 ? STEPS : (size_t)ceil(rest / floor(more));
}

kb_status kb_learn_widths(kb_context *ctx, const kb_width_learning *given, kb_widths *out) {
    kb_status status;
    learner l = {.given = given};
    size_t first = STEPS - given->steps, taken = 0;
    *out = (kb_widths){0};
    l.limited = given->until > 0 && isfinite(given->until);
    TRY(begin(ctx, &l));
    for (size_t step = first, stride; step < STEPS; step += stride) {
        double before = l.limited ? kb_clock_now(&given->clock) : 0;
        set_widths(&l);
        TRY(kb_progress(ctx, "tune",
                        given->from + (given->to - given->from) * (double)step / STEPS));
        TRY(find_gradients(ctx, &l, step));
        for (size_t v = 0; v < given->vectors; v++)
            move(&l.shape[v], step, taken + 1);
        taken++;
        stride = l.limited ? stride_of(&l, before, step, taken) : 1;
        if (stride == 0) /* no time */
            goto done;
        if (step < STEPS - KB_RULE_LEARN_AVERAGED_STEPS)
            continue;
        l.averaged++;
        for (size_t v = 0; v < given->vectors; v++)
            for (size_t j = 0; j < l.shape[v].p; j++)
                l.shape[v].sum[j] += l.shape[v].at[j];
    }
    for (size_t v = 0; v < given->vectors; v++)
        for (size_t j = 0; l.averaged && j < l.shape[v].p; j++)
            l.shape[v].at[j] = l.shape[v].sum[j] / (double)l.averaged;
    set_widths(&l);
    *out = give_widths(&l);
done:
    release(ctx, &l);
    return status;
}

kb_status kb_learn_widths_gradient(kb_context *ctx, const kb_width_learning *given, size_t steps,
                                   kb_widths *out, double *gradient) {
    kb_status status;
    learner l = {.given = given};
    *out = (kb_widths){0};
    TRY(begin(ctx, &l));
    set_widths(&l);
    memset(gradient, 0, given->vectors * l.shape[0].p * sizeof *gradient);
    for (size_t step = 0; step < steps; step++) {
        TRY(find_gradients(ctx, &l, step));
        for (size_t v = 0, k = 0; v < given->vectors; v++)
            for (size_t j = 0; j < l.shape[v].p; j++, k++)
                gradient[k] += l.shape[v].gradient[j] / (double)steps;
    }
    *out = give_widths(&l);
done:
    release(ctx, &l);
    return status;
}
