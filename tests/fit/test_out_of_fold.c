/* Decisions by fits that have not seen the samples, against separate fits. */
#include "fit/bench.h"

#include "core/random.h"
#include "fit/out_of_fold.h"

static size_t fold_of(uint64_t seed, size_t row, size_t folds) {
    return kb_random(seed, KB_STREAM_FOLD, row, 0).word[0] % folds;
}

/* Leaves out `folds` folds that the rows are dealt into by (seed, row). */
static kb_status leave_out(kb_context *ctx, const bench *t, size_t folds, uint64_t seed,
                           double *f) {
    uint8_t fold[100];
    kb_folds dealt = {.rows = t->learner.op->rows, .folds = folds, .fold = fold};
    for (size_t i = 0; i < dealt.rows; i++)
        fold[i] = (uint8_t)fold_of(seed, i, folds);
    return kb_out_of_fold(ctx, &t->learner, &dealt, f);
}

/* For each fold a fit of the others alone, by the normal equations.  tol = 1e-10 promises 1e-8 of
 * f. */
static void decisions_are_those_of_the_other_folds(void **unused) {
    enum { N = 90, FOLDS = 4 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < 8; kind++) {
        labels label = kind % 2 ? THREE : REAL;
        int weighted = kind / 2 % 2, intercept = kind / 4;
        bench t;
        bench_create(ctx, &t, N, label, intercept,
                     OPTIONS(ctx, "tol", "1e-10", "max-iter", "5000", "lambda", "0.3"));
        size_t C = t.targets.outputs, seen = 0;
        double some[N], *f = malloc(N * C * sizeof *f), unread = 0;
        if (!weighted)
            t.learner.weight = NULL;
        kb_targets_fill(&t.targets, N, 0, C, t.y);
        assert_ok(ctx, leave_out(ctx, &t, FOLDS, 3, f));
        const double *all = t.learner.weight;
        for (size_t fold = 0; fold < FOLDS; fold++)
            for (size_t c = 0; c < C; c++) {
                for (size_t i = 0; i < N; i++)
                    some[i] = fold_of(3, i, FOLDS) == fold ? 0 : all ? all[i] : 1;
                t.learner.weight = some;
                double *want = dense_ridge(&t, c, &unread);
                for (size_t i = 0; i < N; i++)
                    if (fold_of(3, i, FOLDS) == fold) {
                        assert_true(fabs(f[i * C + c] - want[i]) <= 1e-7 * (1 + fabs(want[i])));
                        seen++;
                    }
                free(want);
            }
        assert_int_equal(seen, N * C);
        t.learner.weight = NULL;
        free(f);
        bench_free(ctx, &t);
    }
    kb_context_free(ctx);
}

/* The learner is unchanged, and a second run gives the same. */
static void the_learner_is_left_alone(void **unused) {
    enum { N = 60 };
    kb_context *ctx = test_context();
    double one[N], two[N];
    bench t;
    (void)unused;
    bench_create(ctx, &t, N, TWO, 1, OPTIONS(ctx, "loss", "squared-hinge"));
    kb_learner before = t.learner;
    assert_ok(ctx, leave_out(ctx, &t, 5, 1, one));
    assert_memory_equal(&before, &t.learner, sizeof before);
    assert_ok(ctx, leave_out(ctx, &t, 5, 1, two));
    assert_same_bits(one, two, N);
    bench_free(ctx, &t);
    kb_context_free(ctx);
}

/* Progress of a part of the phase: it starts and ends with that part. */
typedef struct bar {
    double least, most;
} bar;

static int watch(void *user, const char *phase, double done) {
    bar *b = user;
    if (strcmp(phase, "solve") != 0)
        return 0;
    b->least = fmin(b->least, done);
    b->most = fmax(b->most, done);
    return 0;
}

static void progress_keeps_to_its_part(void **unused) {
    enum { N = 60 };
    double f[N];
    bench t;
    bar seen = {INFINITY, -INFINITY};
    kb_context *ctx;
    kb_context_config config = {
        .size = sizeof config, .user = &seen, .progress = watch, .threads = 1};
    (void)unused;
    assert_int_equal(kb_context_create(&config, &ctx), KB_OK);
    bench_create(ctx, &t, N, TWO, 1, OPTIONS(ctx, "tol", "1e-6"));
    t.learner.from = 0.25;
    t.learner.to = 0.75;
    assert_ok(ctx, leave_out(ctx, &t, 5, 1, f));
    assert_true(seen.least >= 0.25 && seen.least < 0.35);
    assert_true(seen.most > 0.65 && seen.most <= 0.75);
    bench_free(ctx, &t);
    kb_context_free(ctx);
}

/* An out-of-fold decision does not depend on the sample's own label. */
static void out_of_fold_decisions_do_not_depend_on_their_labels(void **unused) {
    enum { N = 60 };
    kb_context *ctx = test_context();
    (void)unused;
    for (int l = 0; l < 2; l++) {
        bench t;
        bench_create(
            ctx, &t, N, TWO, 1,
            OPTIONS(ctx, "loss", l ? "logistic" : "square", "tol", "1e-10", "max-iter", "5000"));
        double before[N], after[N], others = 0;
        t.learner.weight = NULL;
        assert_ok(ctx, leave_out(ctx, &t, 5, 1, before));
        t.targets.class_of[7] = 1 - t.targets.class_of[7];
        assert_ok(ctx, leave_out(ctx, &t, 5, 1, after));
        assert_true(fabs(before[7] - after[7]) < 1e-12);
        for (size_t i = 0; i < N; i++)
            others = fmax(others, fabs(before[i] - after[i]));
        assert_true(others > 1e-3);
        /* Another seed deals other folds. */
        assert_ok(ctx, leave_out(ctx, &t, 5, 2, before));
        assert_memory_not_equal(before, after, sizeof before);
        bench_free(ctx, &t);
    }
    kb_context_free(ctx);
}

/* Of ordered folds a later one is not learned from, and a row in no fold always is. */
static void later_folds_are_left_out_too(void **unused) {
    enum { N = 60 };
    kb_context *ctx = test_context();
    double before[N], after[N];
    uint8_t fold[N];
    kb_folds folds = {.rows = N, .folds = 2, .ordered = 1, .fold = fold};
    bench t;
    (void)unused;
    for (size_t i = 0; i < N; i++)
        fold[i] = i < 20 ? KB_FOLD_NONE : i < 40 ? 0 : 1;
    bench_create(ctx, &t, N, TWO, 1, OPTIONS(ctx, "tol", "1e-10", "max-iter", "5000"));
    t.learner.weight = NULL;
    assert_ok(ctx, kb_out_of_fold(ctx, &t.learner, &folds, before));
    t.targets.class_of[50] = 1 - t.targets.class_of[50];
    assert_ok(ctx, kb_out_of_fold(ctx, &t.learner, &folds, after));
    for (size_t i = 20; i < N; i++)
        assert_true(fabs(before[i] - after[i]) < 1e-12);
    t.targets.class_of[30] = 1 - t.targets.class_of[30];
    assert_ok(ctx, kb_out_of_fold(ctx, &t.learner, &folds, after));
    double moved = 0;
    for (size_t i = 20; i < N; i++)
        moved = i < 40 ? moved : fmax(moved, fabs(before[i] - after[i]));
    assert_true(moved > 1e-3);
    bench_free(ctx, &t);
    kb_context_free(ctx);
}

/* So few samples that a fold may leave none. */
static void folds_without_samples_give_finite_decisions(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t N = 2; N <= 4; N++)
        for (int seed = 0; seed < 40; seed++)
            for (int intercept = 0; intercept < 2; intercept++) {
                double f[4] = {NAN, NAN, NAN, NAN};
                bench t;
                bench_create(ctx, &t, N, REAL, intercept, OPTIONS(ctx, "tol", "1e-6"));
                t.learner.weight = NULL;
                assert_ok(ctx, leave_out(ctx, &t, 5, (uint64_t)seed, f));
                for (size_t i = 0; i < N; i++)
                    assert_true(isfinite(f[i]));
                bench_free(ctx, &t);
            }
    kb_context_free(ctx);
}

static int hold_out(kb_context *ctx, void *arg) {
    bench *t = arg;
    double f[3 * 30];
    return (int)leave_out(ctx, t, 3, 1, f);
}

static void every_allocation_may_fail(void **unused) {
    static const char *const losses[] = {"square", "logistic"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int l = 0; l < 2; l++) {
        bench t;
        bench_create(ctx, &t, 30, THREE, 1, OPTIONS(ctx, "loss", losses[l], "max-iter", "4"));
        bench_learn(ctx, &t); /* the operator has its memory by now */
        kb_learner_release(ctx, &t.learner);
        run_with_allocation_failures(hold_out, &t);
        bench_free(ctx, &t);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_those_of_the_other_folds),
        cmocka_unit_test(the_learner_is_left_alone),
        cmocka_unit_test(progress_keeps_to_its_part),
        cmocka_unit_test(out_of_fold_decisions_do_not_depend_on_their_labels),
        cmocka_unit_test(later_folds_are_left_out_too),
        cmocka_unit_test(folds_without_samples_give_finite_decisions),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
