/* Trials by sweeps, against the solver run once for each fold, output and number of sweeps. */
#include "trial/trials.h"

#include "sweeps/sweeps.h"
#include "trial/rules.h"
#include "trial/sweep_trial.h"

enum { MOST = 12 };

/* C outputs, the first of which is that of sample_of; not classes, or these. */
static kb_subsample outputs_of(kb_context *ctx, size_t folds, size_t C, int classes) {
    kb_subsample s = sample_of(ctx, folds);
    double *y;
    assert_ok(ctx, kb_alloc(ctx, N * C, sizeof *y, &y));
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < C; c++)
            y[i * C + c] = c == 0 ? s.y[i] : sin((double)c + 3 * s.x->dense[i * D + c % D]);
    kb_release(ctx, s.y);
    s.y = y;
    s.C = C;
    if (!classes) {
        kb_release(ctx, s.class_of);
        s.class_of = NULL;
    }
    return s;
}

static size_t list_held(const kb_subsample *s, uint32_t *row) {
    size_t held = 0;
    for (size_t i = 0; i < N; i++)
        if (s->folds.fold[i] < s->folds.folds)
            row[held++] = (uint32_t)i;
    return held;
}

/* Output c of the rows of a fold, N, after so many sweeps over the rows that it is learned from. */
static void solve_fold(kb_context *ctx, const kb_subsample *s, const kb_binned *drawn, size_t fold,
                       size_t c, double lambda, size_t sweeps, double *f) {
    double y[N], weight[N], b = 0, total = 0;
    double *w = malloc(drawn->z->bins * sizeof *w);
    for (size_t i = 0; i < N; i++) {
        y[i] = s->y[i * s->C + c];
        weight[i] = kb_folds_fits(&s->folds, i, fold) ? (s->weight ? s->weight[i] : 1) : 0;
        b += weight[i] * y[i];
        total += weight[i];
    }
    b /= total;
    kb_sweeps p = {.z = drawn->z,
                   .lambda = lambda,
                   .max_sweeps = sweeps,
                   .C = 1,
                   .y = y,
                   .s = weight,
                   .w = w,
                   .b = &b,
                   .f = f};
    assert_ok(ctx, kb_sweeps_run(ctx, &p));
    free(w);
}

/* The score after so many sweeps. */
static double score_after(kb_context *ctx, const kb_subsample *s, const kb_binned *drawn,
                          double lambda, size_t sweeps) {
    uint32_t row[N];
    size_t held = list_held(s, row);
    double *f = malloc(held * s->C * sizeof *f), all[N], error, square;
    for (size_t k = 0; k < s->folds.folds; k++)
        for (size_t c = 0; c < s->C; c++) {
            solve_fold(ctx, s, drawn, k, c, lambda, sweeps, all);
            for (size_t h = 0; h < held; h++)
                if (kb_folds_holds(&s->folds, row[h], k))
                    f[h * s->C + c] = all[row[h]];
        }
    double score = kb_subsample_score(s, NULL, held, row, f, &error, &square, NULL, NULL);
    free(f);
    return score;
}

static void check_trial(kb_context *ctx, const kb_subsample *s, double lambda, size_t most) {
    kb_binned drawn = drawn_of(ctx, s, 0.7);
    kb_trial t = {.grids = GRIDS, .max_steps = most, .given_lambda = lambda};
    double best = INFINITY, mean = 0;
    size_t at = 0;
    for (size_t k = most < KB_RULE_SWEEPS_LEAST ? 1 : KB_RULE_SWEEPS_LEAST; k <= most; k++) {
        double score = score_after(ctx, s, &drawn, lambda, k);
        if (score < best) {
            best = score;
            at = k;
        }
    }
    assert_ok(ctx, kb_sweep_trial_run(ctx, s, &drawn, &t));
    assert_int_equal(t.steps, at);
    assert_int_equal(t.sweeps, 1);
    assert_true(t.score == best && t.lambda == lambda);
    for (size_t h = 0; h < t.held; h++)
        mean += t.each[h] / (double)t.held;
    assert_true(fabs(mean - t.score) <= 1e-12 * (1 + t.score)); /* rounding */
    kb_trial_release(ctx, &t);
    kb_binned_release(&drawn);
}

/* One fold or three, classes or not, with more outputs than are solved at once. */
static void a_trial_is_the_best_sweep_of_all_folds(void **unused) {
    static const size_t outputs[] = {1, 2, 11};
    static const double lambda[] = {3e-3, 0.3, 30};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t folds = 0; folds <= 3; folds += 3)
        for (size_t k = 0; k < 3; k++) {
            kb_subsample s = outputs_of(ctx, folds, outputs[k], k == 0);
            check_trial(ctx, &s, lambda[k], k == 2 ? 4 : MOST);
            kb_subsample_release(ctx, &s);
        }
    kb_context_free(ctx);
}

/* Fewer sweeps than KB_RULE_SWEEPS_LEAST are all that count then. */
static void few_sweeps_are_scored_too(void **unused) {
    kb_context *ctx = test_context();
    kb_subsample s = outputs_of(ctx, 0, 1, 1);
    (void)unused;
    for (size_t most = 1; most <= KB_RULE_SWEEPS_LEAST + 1; most++)
        check_trial(ctx, &s, 0.1, most);
    kb_subsample_release(ctx, &s);
    kb_context_free(ctx);
}

static void samples_have_their_weights(void **unused) {
    kb_context *ctx = test_context();
    kb_subsample s = outputs_of(ctx, 3, 1, 0);
    (void)unused;
    assert_ok(ctx, kb_alloc(ctx, N, sizeof(double), &s.weight));
    assert_ok(ctx, kb_alloc(ctx, N, sizeof(double), &s.root));
    for (size_t i = 0; i < N; i++) {
        s.weight[i] = (double)(i % 3);
        s.root[i] = sqrt(s.weight[i]);
    }
    check_trial(ctx, &s, 0.3, 5);
    kb_subsample_release(ctx, &s);
    kb_context_free(ctx);
}

typedef struct given {
    kb_subsample s;
    kb_binned drawn;
} given;

static int run_trial(kb_context *ctx, void *arg) {
    given *g = arg;
    kb_trial t = {.grids = GRIDS, .max_steps = 3, .given_lambda = 0.3};
    int status = kb_sweep_trial_run(ctx, &g->s, &g->drawn, &t);
    kb_trial_release(ctx, &t);
    return status;
}

static void failures_leave_nothing(void **unused) {
    kb_context *ctx = test_context();
    given g = {.s = outputs_of(ctx, 3, 2, 0)};
    (void)unused;
    g.drawn = drawn_of(ctx, &g.s, 1);
    run_with_allocation_failures(run_trial, &g);
    run_with_cancellations(run_trial, &g, 1, 3);
    kb_binned_release(&g.drawn);
    kb_subsample_release(ctx, &g.s);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_is_the_best_sweep_of_all_folds),
        cmocka_unit_test(few_sweeps_are_scored_too),
        cmocka_unit_test(samples_have_their_weights),
        cmocka_unit_test(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
