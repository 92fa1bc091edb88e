/* Trials of a loss other than the square one, against a fit. */
#include "trial/trials.h"

#include "solve/newton.h"
#include "trial/smooth_error.h"

/* The decisions of a loss trial are those of a fit of all rows in which validation rows have weight
 * 0, whether it starts at zero or from another lambda; rows may have weights. */
static void a_smooth_trial_is_a_fit_without_the_validation_rows(void **unused) {
    const kb_loss *loss = kb_loss_find("logistic");
    kb_context *ctx = test_context();
    (void)unused;
    for (int weighted = 0; weighted < 2; weighted++) {
        kb_subsample s = sample_of(ctx, 0);
        kb_binned drawn = drawn_of(ctx, &s, 1);
        kb_loss_trial smoothing = {.sample = &s, .drawn = &drawn, .loss = loss, .tol = 1e-8};
        kb_trial t[2] = {{.max_steps = 500, .given_lambda = 1},
                         {.max_steps = 500, .given_lambda = 0.7}};
        double weight[N], fitted[N], alpha[N], f[N], held[N], smooth[N], score = 0, total = 0;
        uint32_t row[N];
        size_t count = 0;
        for (size_t i = 0; i < N; i++) {
            weight[i] = weighted ? 0.5 + (double)(i % 3) : 1;
            fitted[i] = kb_folds_fits(&s.folds, i, 0) ? weight[i] : 0;
        }
        s.weight = weighted ? weight : NULL;
        assert_ok(ctx, kb_loss_trial_begin(ctx, &smoothing));
        assert_ok(ctx, kb_loss_trial_run(ctx, &smoothing, &t[0]));
        assert_ok(ctx, kb_loss_trial_run(ctx, &smoothing, &t[1]));
        assert_true(t[0].score != t[1].score);
        kb_smooth problem = {.op = drawn.op,
                             .loss = loss,
                             .lambda = 0.7,
                             .tol = 1e-8,
                             .max_steps = 500,
                             .C = 1,
                             .y = s.y,
                             .s = fitted,
                             .alpha = alpha,
                             .f = f};
        assert_ok(ctx, kb_newton(ctx, &problem));
        for (size_t i = 0; i < N; i++)
            if (fitted[i] == 0) {
                score += weight[i] * ((f[i] > 0) != s.class_of[i]) / 2;
                total += weight[i];
                row[count] = (uint32_t)i;
                held[count++] = f[i];
            }
        kb_smooth_errors(&s, count, row, held, smooth);
        for (size_t h = 0; h < count; h++)
            score += smooth[h] / 2 * total / (double)count;
        assert_true(fabs(t[1].score - score / total) < 1e-6); /* of the tolerance */
        assert_true(t[1].across == t[1].score);
        assert_true(t[1].steps < problem.steps); /* the start was near */
        s.weight = NULL;
        kb_trial_release(ctx, &t[0]);
        kb_trial_release(ctx, &t[1]);
        kb_loss_trial_release(ctx, &smoothing);
        kb_binned_release(&drawn);
        kb_subsample_release(ctx, &s);
    }
    kb_context_free(ctx);
}

static int try_two_lambdas(kb_context *ctx, void *arg) {
    static const kb_law LAW = {.kind = KB_KERNEL_LAPLACE};
    const kb_subsample *sample = arg;
    kb_width width[D] = {{&LAW, 1, 1}, {&LAW, 1, 1}};
    kb_widths widths = {1, D, width};
    kb_trial t[2] = {{.max_steps = 20, .given_lambda = 1}, {.max_steps = 20, .given_lambda = 0.5}};
    kb_binned drawn = {0};
    kb_loss_trial trial = {
        .sample = sample, .drawn = &drawn, .loss = kb_loss_find("logistic"), .tol = 1e-2};
    kb_status status;
    TRY(kb_subsample_bin(ctx, sample, &widths, 8, 3, &drawn));
    TRY(kb_loss_trial_begin(ctx, &trial));
    for (int k = 0; k < 2; k++)
        TRY(kb_loss_trial_run(ctx, &trial, &t[k]));
done:
    for (int k = 0; k < 2; k++)
        kb_trial_release(ctx, &t[k]);
    kb_loss_trial_release(ctx, &trial);
    kb_binned_release(&drawn);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    kb_subsample sample = sample_of(ctx, 3);
    (void)unused;
    run_with_allocation_failures(try_two_lambdas, &sample);
    kb_subsample_release(ctx, &sample);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smooth_trial_is_a_fit_without_the_validation_rows),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
