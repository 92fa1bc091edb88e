/* Losses of numbers: against brute force, and in any units. */
#include "solve/smooth.h"

#include "core/weights.h"
#include "solve/unit_fit.h"

enum { N = 90 };

/* Targets whose noise is not symmetric; `shift` and `unit` move them. */
static problem numbers(kb_context *ctx, double shift, double unit) {
    problem p = problem_create(ctx, LOGISTIC, N, 12, 1);
    for (size_t i = 0; i < N; i++) {
        double u = test_uniform(23, i);
        p.y[i] = shift + unit * (sin(3 * p.w.x[2 * i]) + 2 * u * u * u);
    }
    return p;
}

static kb_smooth with_loss(problem *p, const kb_loss *loss, double tol, double *offset) {
    kb_smooth s = smooth_of(p, tol, 20000);
    s.loss = loss;
    s.offset = offset;
    return s;
}

/* The least of lambda/2 |w|^2 + s sum pinball(y - offset - f) by its dual, alpha in a box, one
 * coordinate at a time. */
static double least_pinball(const problem *p, double q, double offset, double spread) {
    double a[N] = {0}, f[N] = {0}, dual = 0;
    for (int round = 0; round < 400; round++)
        for (size_t i = 0; i < N; i++) {
            double k = 0, s = kb_weight_of(p->s, i) * spread / p->lambda;
            for (size_t b = 0; b < p->D; b++)
                k += p->Z[i * p->D + b] * p->Z[i * p->D + b];
            double to = a[i] + (p->y[i] - offset - f[i]) / k;
            to = fmin(fmax(to, (q - 1) * s), q * s);
            for (size_t j = 0; j < N; j++)
                for (size_t b = 0; b < p->D; b++)
                    f[j] += (to - a[i]) * p->Z[i * p->D + b] * p->Z[j * p->D + b];
            a[i] = to;
        }
    for (size_t i = 0; i < N; i++)
        dual += p->lambda * (a[i] * (p->y[i] - offset) - a[i] * f[i] / 2);
    return dual;
}

static double pinball_at(const problem *p, double q, double offset, double spread) {
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        double r = p->y[i] - offset - p->f[i];
        sum += p->lambda / 2 * p->alpha[i] * p->f[i] +
               kb_weight_of(p->s, i) * spread * (r > 0 ? q * r : (q - 1) * r);
    }
    return sum;
}

/* The result is as good for the loss that is not smoothed, but for log 2 widths a row. */
static void quantiles_agree_with_the_dual(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int weighted = 0; weighted < 2; weighted++)
        for (double q = 0.1; q < 1; q += 0.4) {
            problem p = numbers(ctx, -3, 10);
            double offset, centre, spread, total = 0;
            p.lambda = 0.7;
            if (weighted)
                weigh(&p);
            kb_loss loss = kb_loss_with_quantile(kb_loss_find("quantile"), q);
            kb_smooth mine = with_loss(&p, &loss, 1e-7, &offset);
            assert_ok(ctx, kb_unit_fit(ctx, &mine));
            assert_int_equal(mine.converged, 1);
            assert_ok(ctx, kb_unit_centre(ctx, &loss, N, 1, p.y, p.s, &centre, &spread));
            assert_true(offset == centre);
            for (size_t i = 0; i < N; i++)
                total += kb_weight_of(p.s, i);
            double least = least_pinball(&p, q, offset, spread);
            double found = pinball_at(&p, q, offset, spread);
            double width = KB_UNIT_WIDTH * spread;
            assert_true(found >= least * (1 - 1e-6));
            assert_true(found <= least + total * spread * width * log(2));
            assert_true(found <= 1.05 * least);
            problem_free(&p);
        }
    kb_context_free(ctx);
}

/* lambda alpha = -the slope in every row, as the formulas have it. */
static void poisson_is_stationary(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int weighted = 0; weighted < 2; weighted++) {
        problem p = numbers(ctx, 0, 1);
        double offset, mean = 0, total = 0;
        for (size_t i = 0; i < N; i++)
            p.y[i] = floor(exp(p.y[i]));
        if (weighted)
            weigh(&p);
        const kb_loss *loss = kb_loss_find("poisson");
        kb_smooth mine = with_loss(&p, loss, 1e-9, &offset);
        assert_ok(ctx, kb_unit_fit(ctx, &mine));
        assert_int_equal(mine.converged, 1);
        for (size_t i = 0; i < N; i++) {
            mean += kb_weight_of(p.s, i) * p.y[i];
            total += kb_weight_of(p.s, i);
        }
        mean /= total;
        assert_true(fabs(exp(offset) - mean) <= 1e-12 * mean);
        double *w = bins_of(&p, p.alpha), g[N];
        for (size_t i = 0; i < N; i++)
            g[i] = p.lambda * p.alpha[i] +
                   kb_weight_of(p.s, i) * (exp(offset + p.f[i]) - p.y[i]) / mean;
        double *gradient = bins_of(&p, g);
        assert_true(length(gradient, p.D) <= 1e-7 * length(w, p.D));
        free(w), free(gradient);
        problem_free(&p);
    }
    kb_context_free(ctx);
}

/* However few there are, and where there are none. */
static void the_centre_of_rare_events_is_the_log_of_their_mean(void **unused) {
    kb_context *ctx = test_context();
    static const double count[] = {0, 1, 3}, weight[] = {1, 0.25, 1};
    (void)unused;
    for (size_t k = 0; k < 3; k++)
        for (int weighted = 0; weighted < 2; weighted++) {
            double y[8] = {0, count[k]}, s[8], centre, spread;
            for (size_t i = 0; i < 8; i++)
                s[i] = weight[i % 3];
            assert_ok(ctx, kb_unit_centre(ctx, kb_loss_find("poisson"), 8, 1, y,
                                          weighted ? s : NULL, &centre, &spread));
            double mean = weighted ? 0.25 * count[k] / 5.75 : count[k] / 8; /* 5.75: the sum of s */
            assert_true(mean == 0 ? centre == 0 : fabs(centre - log(mean)) <= 1e-14);
            assert_true(spread == 1);
        }
    kb_context_free(ctx);
}

/* A shift and a factor of the targets are those of the decisions. */
static void units_do_not_matter(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    problem a = numbers(ctx, 0, 1), b = numbers(ctx, 1e4, 512);
    double offset[2];
    kb_loss loss = kb_loss_with_quantile(kb_loss_find("quantile"), 0.9);
    kb_smooth one = with_loss(&a, &loss, 1e-6, &offset[0]);
    kb_smooth two = with_loss(&b, &loss, 1e-6, &offset[1]);
    assert_ok(ctx, kb_unit_fit(ctx, &one));
    assert_ok(ctx, kb_unit_fit(ctx, &two));
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(1e4 + 512 * (a.f[i] + offset[0]) - b.f[i] - offset[1]) <= 1e-3);
    problem_free(&a), problem_free(&b);
    kb_context_free(ctx);
}

static void centres_are_weighted_quantiles(void **unused) {
    kb_context *ctx = test_context();
    static const double y[] = {5, 1, 2, 9, 3}, s[] = {1, 0, 1, 1, 2}, same[] = {4, 4, 4, 4, 4};
    double centre, spread;
    (void)unused;
    kb_loss loss = kb_loss_with_quantile(kb_loss_find("quantile"), 0.5);
    assert_ok(ctx, kb_unit_centre(ctx, &loss, 5, 1, y, NULL, &centre, &spread));
    assert_true(centre == 3 && spread == 3);
    assert_ok(ctx, kb_unit_centre(ctx, &loss, 5, 1, y, s, &centre, NULL));
    assert_true(centre == 3);
    loss.quantile = 0.1;
    assert_ok(ctx, kb_unit_centre(ctx, &loss, 5, 1, y, s, &centre, NULL));
    assert_true(centre == 2); /* 1 has no weight */
    assert_ok(ctx, kb_unit_centre(ctx, &loss, 5, 1, same, NULL, &centre, &spread));
    assert_true(centre == 4 && spread == 1);
    kb_context_free(ctx);
}

/* Each column of targets by itself, and all at once. */
static void several_outputs_have_units_of_their_own(void **unused) {
    kb_context *ctx = test_context();
    problem one[] = {numbers(ctx, 0, 1), numbers(ctx, 1e4, 512)};
    problem both = problem_create(ctx, LOGISTIC, N, 12, 2);
    kb_loss loss = kb_loss_with_quantile(kb_loss_find("quantile"), 0.9);
    double offset[2], offsets[2];
    (void)unused;
    for (size_t c = 0; c < 2; c++) {
        kb_smooth mine = with_loss(&one[c], &loss, 1e-6, &offset[c]);
        assert_ok(ctx, kb_unit_fit(ctx, &mine));
        for (size_t i = 0; i < N; i++)
            both.y[i * 2 + c] = one[c].y[i];
    }
    kb_smooth mine = with_loss(&both, &loss, 1e-6, offsets);
    assert_ok(ctx, kb_unit_fit(ctx, &mine));
    for (size_t c = 0; c < 2; c++) {
        assert_true(offsets[c] == offset[c]);
        for (size_t i = 0; i < N; i++) /* both end within the tolerance */
            assert_true(fabs(both.f[i * 2 + c] - one[c].f[i]) <= (c ? 512 : 1) * 1e-4);
    }
    problem_free(&one[0]), problem_free(&one[1]), problem_free(&both);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_agree_with_the_dual),
        cmocka_unit_test(poisson_is_stationary),
        cmocka_unit_test(the_centre_of_rare_events_is_the_log_of_their_mean),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(centres_are_weighted_quantiles),
        cmocka_unit_test(several_outputs_have_units_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
