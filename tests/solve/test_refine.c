/* Weights improved from a start: against dense algebra, for the objective of a fit and for new rows
 * with a start to stay close to. */
#include "solve/smooth.h"

#include "core/sums.h"
#include "solve/refine.h"

/* What refine works with: a problem, a start and the bins that it knows. */
typedef struct refinement {
    problem p;
    double *w, *w0; /* D x C, without the column of ones */
    double *b, *b0; /* C */
    unsigned char *known;
    size_t bins; /* D without it */
} refinement;

static refinement refinement_create(kb_context *ctx, int kind, size_t C, int start) {
    refinement r = {.p = problem_create(ctx, kind, 80, 10, C)};
    r.bins = r.p.D;
    r.w = calloc(r.bins * C, sizeof *r.w), r.w0 = calloc(r.bins * C, sizeof *r.w0);
    r.b = calloc(C, sizeof *r.b), r.b0 = calloc(C, sizeof *r.b0);
    r.known = malloc(r.bins);
    assert_non_null(r.known);
    for (size_t k = 0; k < r.bins; k++)
        r.known[k] = k % 3 != 1;
    for (size_t e = 0; start && e < r.bins * C; e++)
        r.w0[e] = r.w[e] = r.known[e / C] ? test_uniform(31, e) - 0.5 : 0;
    for (size_t c = 0; start && c < C; c++)
        r.b0[c] = r.b[c] = 0.3;
    return r;
}

static void refinement_free(refinement *r) {
    problem_free(&r->p);
    free(r->w), free(r->w0), free(r->b), free(r->b0), free(r->known);
}

static kb_refine refine_of(refinement *r, const kb_loss *loss, double past, int intercept) {
    return (kb_refine){.op = r->p.base,
                       .loss = loss,
                       .value = kb_bin_value(r->p.w.z->R),
                       .lambda = r->p.lambda,
                       .past = past,
                       .known = r->known,
                       .tol = 1e-9,
                       .max_steps = 5000,
                       .C = r->p.C,
                       .y = r->p.y,
                       .s = r->p.s,
                       .intercept = intercept,
                       .w = r->w,
                       .b = r->b,
                       .f = r->p.f};
}

/* The objective is off by |gradient|^2 / (2 lambda), 1e-16 of its size or so; w by |gradient| /
 * lambda. */
static void check_fit(kb_context *ctx, int kind, size_t C, int weighted, int start) {
    refinement r = refinement_create(ctx, kind, C, start);
    if (weighted)
        weigh(&r.p);
    add_constant(ctx, &r.p);
    double least, *w = dense_newton(&r.p, &least), *f = rows_of(&r.p, w), most = 0;
    kb_refine mine = refine_of(&r, kb_loss_find(KIND[kind]), 0, 1);
    assert_ok(ctx, kb_refine_run(ctx, &mine));
    assert_int_equal(mine.converged, 1);
    assert_true(mine.steps > 0);
    assert_true(close_to(mine.objective, least, 1e-10));
    for (size_t e = 0; e < r.p.D * C; e++)
        most = fmax(most, fabs(w[e]));
    for (size_t e = 0; e < r.bins * C; e++)
        assert_true(fabs(r.w[e] - w[e]) <= 1e-6 * most);
    for (size_t c = 0; c < C; c++)
        assert_true(fabs(r.b[c] - w[r.bins * C + c]) <= 1e-6 * most);
    assert_close(r.p.f, f, r.p.N * C, 1e-6);
    /* From there it takes no step. */
    mine.tol = 1e-6;
    assert_ok(ctx, kb_refine_run(ctx, &mine));
    assert_int_equal(mine.steps, 0);
    assert_int_equal(mine.converged, 1);
    free(w), free(f);
    refinement_free(&r);
}

static void without_a_past_it_is_the_fit_from_any_start(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++)
        for (size_t C = 1; C <= 3; C += 2)
            for (int way = 0; way < 4; way++)
                check_fit(ctx, kind, C, way & 1, way >> 1);
    kb_context_free(ctx);
}

/* Z'S Z + Lambda and Z'S (y - f0) of one output, with the column of ones last: past * sum of s for
 * it, and lambda + past * sum of s z^2 for the bins that are known. */
static double *dense_update(const refinement *r, double past) {
    size_t N = r->p.N, D = r->bins + 1;
    double *A = calloc(D * D, sizeof *A), *d = calloc(D, sizeof *d), *z = malloc(D * sizeof *z);
    assert_non_null(z);
    for (size_t i = 0; i < N; i++) {
        double s = r->p.s ? r->p.s[i] : 1, f = r->b0[0];
        memcpy(z, r->p.Z + i * r->bins, r->bins * sizeof *z);
        z[D - 1] = 1;
        for (size_t a = 0; a < r->bins; a++)
            f += z[a] * r->w0[a];
        for (size_t a = 0; a < D; a++) {
            int stays = a == D - 1 || r->known[a];
            d[a] += s * z[a] * (r->p.y[i] - f);
            A[a * D + a] += stays ? past * s * z[a] * z[a] : 0;
            for (size_t b = 0; b < D; b++)
                A[a * D + b] += s * z[a] * z[b];
        }
    }
    for (size_t a = 0; a + 1 < D; a++)
        A[a * D + a] += r->p.lambda;
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)D, 1, A, (lapack_int)D, d, 1),
                     0);
    free(A), free(z);
    return d;
}

static void new_rows_move_the_start_as_far_as_dense_algebra_says(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int weighted = 0; weighted < 2; weighted++)
        for (double past = 0.25; past < 10; past *= 6) {
            refinement r = refinement_create(ctx, LOGISTIC, 1, 1);
            if (weighted)
                weigh(&r.p);
            double *d = dense_update(&r, past), most = 0;
            kb_refine mine = refine_of(&r, kb_loss_find("square"), past, 1);
            assert_ok(ctx, kb_refine_run(ctx, &mine));
            /* One whole Newton step is enough for squares: conjugate gradients, and a round more.
             */
            assert_true(mine.steps <= 2 * (r.bins + 1));
            for (size_t k = 0; k <= r.bins; k++)
                most = fmax(most, fabs(d[k]));
            for (size_t k = 0; k < r.bins; k++)
                assert_true(fabs(r.w[k] - r.w0[k] - d[k]) <= 1e-6 * most);
            assert_true(fabs(r.b[0] - r.b0[0] - d[r.bins]) <= 1e-6 * most);
            free(d);
            refinement_free(&r);
        }
    kb_context_free(ctx);
}

/* At the end the gradient of the losses is balanced by Lambda (c - w), with Lambda of the start. */
static void other_losses_end_where_the_gradient_is_zero(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = LOGISTIC; kind <= HINGE; kind++) {
        const double past = 2;
        refinement r = refinement_create(ctx, kind, 2, 1);
        const kb_loss *loss = kb_loss_find(KIND[kind]);
        size_t N = r.p.N, D = r.bins, C = 2;
        kb_refine mine = refine_of(&r, loss, past, 0);
        assert_ok(ctx, kb_refine_run(ctx, &mine));
        double *f0 = rows_of(&r.p, r.w0), *f = rows_of(&r.p, r.w);
        for (size_t k = 0; k < D; k++)
            for (size_t c = 0; c < C; c++) {
                double slope = 0, size = 0, strict = r.p.lambda;
                for (size_t i = 0; i < N; i++) {
                    double z = r.p.Z[i * D + k], y = r.p.y[i * C + c];
                    kb_loss_point old = loss->at(loss, f0[i * C + c] + r.b0[c], y);
                    kb_loss_point now = loss->at(loss, f[i * C + c] + r.b0[c], y);
                    slope += z * now.slope;
                    size += z * fabs(old.slope);
                    strict += r.known[k] ? past * z * z * old.curvature : 0;
                }
                slope += strict * (r.w[k * C + c] - r.w0[k * C + c]);
                assert_true(fabs(slope) <= 1e-6 * (1 + size));
            }
        assert_close(r.b, r.b0, C, 0); /* there is no intercept to learn */
        free(f0), free(f);
        refinement_free(&r);
    }
    kb_context_free(ctx);
}

/* Losses of numbers in any unit: scaled and shifted targets have scaled and shifted decisions, as
 * lambda means the same in all units. */
static void losses_of_numbers_do_not_depend_on_the_unit(void **unused) {
    static const char *const names[] = {"absolute", "quantile"};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 2; k++) {
        refinement one = refinement_create(ctx, LOGISTIC, 1, 0);
        refinement two = refinement_create(ctx, LOGISTIC, 1, 0);
        for (size_t i = 0; i < one.p.N; i++) {
            one.p.y[i] = one.p.w.x[2 * i] + 0.1 * test_uniform(5, i);
            two.p.y[i] = 1000 * one.p.y[i] + 7;
        }
        kb_refine a = refine_of(&one, kb_loss_find(names[k]), 0, 1);
        kb_refine b = refine_of(&two, kb_loss_find(names[k]), 0, 1);
        a.tol = b.tol = 1e-7;
        assert_ok(ctx, kb_refine_run(ctx, &a));
        assert_ok(ctx, kb_refine_run(ctx, &b));
        assert_true(a.converged && b.converged);
        for (size_t i = 0; i < one.p.N; i++)
            assert_true(fabs((two.p.f[i] - 7) / 1000 - one.p.f[i]) <= 1e-5);
        refinement_free(&one);
        refinement_free(&two);
    }
    kb_context_free(ctx);
}

static void any_number_of_threads_gives_the_same_bits(void **unused) {
    double *first = NULL;
    (void)unused;
    for (int threads = 1; threads <= 5; threads += 2) {
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, threads);
        refinement r = refinement_create(ctx, LOGISTIC, 3, 1);
        kb_refine mine = refine_of(&r, kb_loss_find("logistic"), 1.5, 1);
        assert_ok(ctx, kb_refine_run(ctx, &mine));
        size_t bytes = r.bins * 3 * sizeof *r.w;
        if (first)
            assert_memory_equal(first, r.w, bytes);
        else
            memcpy(first = malloc(bytes), r.w, bytes);
        refinement_free(&r);
        kb_context_free(ctx);
        assert_int_equal(state.live, 0);
    }
    free(first);
}

static void steps_are_limited(void **unused) {
    kb_context *ctx = test_context();
    refinement r = refinement_create(ctx, HINGE, 1, 0);
    kb_refine mine = refine_of(&r, kb_loss_find("squared-hinge"), 0, 1);
    (void)unused;
    mine.max_steps = 3;
    assert_ok(ctx, kb_refine_run(ctx, &mine));
    assert_int_equal(mine.steps, 3);
    assert_int_equal(mine.converged, 0);
    assert_true(isfinite(mine.objective));
    refinement_free(&r);
    kb_context_free(ctx);
}

static int run_once(kb_context *ctx, void *arg) {
    refinement *r = arg;
    kb_operator *op; /* it keeps memory of the context that uses it */
    kb_status status = kb_operator_binmat(ctx, r->p.w.z, &op);
    kb_refine mine = refine_of(r, kb_loss_find("logistic"), 1, 1);
    memcpy(r->w, r->w0, r->bins * r->p.C * sizeof *r->w);
    memcpy(r->b, r->b0, r->p.C * sizeof *r->b);
    mine.op = op;
    if (status == KB_OK)
        status = kb_refine_run(ctx, &mine);
    kb_operator_free(op);
    return (int)status;
}

static void failing_allocations_and_cancelling_leave_nothing_behind(void **unused) {
    kb_context *ctx = test_context();
    refinement r = refinement_create(ctx, LOGISTIC, 2, 1);
    (void)unused;
    run_with_allocation_failures(run_once, &r);
    run_with_cancellations(run_once, &r, 2, 2);
    refinement_free(&r);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_past_it_is_the_fit_from_any_start),
        cmocka_unit_test(new_rows_move_the_start_as_far_as_dense_algebra_says),
        cmocka_unit_test(other_losses_end_where_the_gradient_is_zero),
        cmocka_unit_test(losses_of_numbers_do_not_depend_on_the_unit),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(steps_are_limited),
        cmocka_unit_test(failing_allocations_and_cancelling_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
