/*
 * kerbin-bench-liblinear - Newton-CG against LIBLINEAR on the same Z, one thread.
 *
 * kerbin-bench-liblinear [--json FILE] [--quick] [--sweeps]
 *
 * Both get the same features, the same objective lambda/2 |w|^2 + sum of the losses (C =
 * 1/lambda), and no intercept; reading and building are not timed.  A time is that of the
 * loosest tolerance with which the objective comes within the gap of the optimum, the best of
 * three runs or more, LIBLINEAR and kerbin in turn.  --sweeps: --solver sweeps instead of newton.
 */
#include "bench.h"
#include "rivalry.h"
#include "sweeps/margin_sweeps.h"
#include "solve/newton.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct duel {
    rivalry r;
    double *alpha, *f; /* N */
    double *w;         /* D */
} duel;

static void build(duel *d, const char *sigma, const char *scale, int odd) {
    rivalry *r = &d->r;
    rivalry_build(r, sigma, scale, "64", odd);
    rivalry_must(r->ctx, kb_alloc(r->ctx, r->z->rows, sizeof(double), &d->alpha));
    rivalry_must(r->ctx, kb_alloc(r->ctx, r->z->rows, sizeof(double), &d->f));
    rivalry_must(r->ctx, kb_alloc(r->ctx, r->z->bins, sizeof(double), &d->w));
}

static void release(duel *d) {
    kb_release(d->r.ctx, d->alpha);
    kb_release(d->r.ctx, d->f);
    kb_release(d->r.ctx, d->w);
    rivalry_release(&d->r);
}

static double run_kerbin(duel *d, const char *loss, double lambda, double tol, double *seconds) {
    kb_smooth p = {.op = d->r.op,
                   .loss = kb_loss_find(loss),
                   .lambda = lambda,
                   .tol = tol,
                   .max_steps = 1000000,
                   .C = 1,
                   .y = d->r.y,
                   .alpha = d->alpha,
                   .f = d->f};
    double began = kb_seconds();
    rivalry_must(d->r.ctx, kb_newton(d->r.ctx, &p));
    *seconds = kb_seconds() - began;
    return p.objective;
}

static double run_sweeps(duel *d, const char *loss, double lambda, double tol, double *seconds) {
    double b = 0, began = kb_seconds();
    kb_margin p = {.z = d->r.z,
                   .op = d->r.op,
                   .op_one = d->r.op,
                   .loss = kb_loss_find(loss),
                   .lambda = lambda,
                   .tol = tol,
                   .max_steps = 1000000,
                   .C = 1,
                   .y = d->r.y,
                   .w = d->w,
                   .b = &b,
                   .f = d->f};
    rivalry_must(d->r.ctx, kb_margin_fit(d->r.ctx, &p));
    *seconds = kb_seconds() - began;
    return p.objective;
}

static double run_liblinear(duel *d, const char *loss, double lambda, double eps, double *seconds) {
    struct parameter how = {.solver_type = strcmp(loss, "logistic") ? L2R_L2LOSS_SVC : L2R_LR,
                            .eps = eps,
                            .C = 1 / lambda};
    const kb_loss *entry = kb_loss_find(loss);
    double began = kb_seconds(), objective = 0;
    struct model *model = train(&d->r.problem, &how);
    *seconds = kb_seconds() - began;
    for (int j = 0; j < d->r.problem.n; j++)
        objective += lambda / 2 * model->w[j] * model->w[j];
    for (int i = 0; i < d->r.problem.l; i++) {
        double f = 0;
        for (const struct feature_node *x = d->r.problem.x[i]; x->index > 0; x++)
            f += model->w[x->index - 1] * x->value;
        objective += entry->at(entry, f, d->r.problem.y[i]).value;
    }
    free_and_destroy_model(&model);
    return objective;
}

typedef double solver(duel *d, const char *loss, double lambda, double tol, double *seconds);

/* The loosest tolerance that passes, by thirds of a decade from *tol on. */
static double loosest(duel *d, solver *run, const char *loss, double lambda, double target,
                      double *tol) {
    double seconds;
    for (;; *tol *= 0.464158883361278) {
        if (run(d, loss, lambda, *tol, &seconds) <= target)
            return *tol;
        if (*tol < 1e-13)
            return NAN;
    }
}

typedef struct means {
    double sum[2], least[2];
    int count[2];
} means;

static solver *kerbin = run_kerbin;

static void compare(bench *b, duel *d, const char *set, const char *loss, double lambda, means *m) {
    static const double gaps[] = {1e-3, 1e-6};
    double seconds, tight, best = run_kerbin(d, loss, lambda, 1e-10, &seconds);
    double ours_tol = 0.3, theirs_tol = 0.3;
    tight = run_liblinear(d, loss, lambda, 1e-8, &seconds);
    for (size_t k = 0; k < 2; k++) {
        double target = fmin(best, tight) * (1 + gaps[k]), ours = INFINITY, theirs = INFINITY;
        loosest(d, kerbin, loss, lambda, target, &ours_tol);
        loosest(d, run_liblinear, loss, lambda, target, &theirs_tol);
        double began = kb_seconds();
        for (int run = 0; run < 3 || (run < 30 && kb_seconds() - began < 1); run++) {
            kerbin(d, loss, lambda, ours_tol, &seconds);
            ours = fmin(ours, seconds);
            run_liblinear(d, loss, lambda, theirs_tol, &seconds);
            theirs = fmin(theirs, seconds);
        }
        char what[128];
        snprintf(what, sizeof what, "%s, %s, lambda %g, gap %g", set, loss, lambda, gaps[k]);
        bench_row(b, what, ours * 1e3, "ms", "LIBLINEAR", theirs / ours,
                  strcmp(loss, "logistic") ? 3 : 4);
        m->sum[k] += log(theirs / ours);
        m->count[k]++;
    }
    char what[128];
    snprintf(what, sizeof what, "%s, %s, lambda %g, objectives differ by", set, loss, lambda);
    bench_row_at_most(b, what, fabs(best - tight) / best, "relative", 1e-6);
}

static void bench_loss(bench *b, duel *sets, const char *const *names, const char *loss,
                       const double *lambdas, size_t count, double bar) {
    means m = {0};
    for (size_t s = 0; s < 3; s++)
        for (size_t l = 0; sets[s].r.data && l < count; l++)
            compare(b, &sets[s], names[s], loss, lambdas[l], &m);
    for (size_t k = 0; k < 2; k++) {
        char what[96];
        double mean = exp(m.sum[k] / m.count[k]);
        snprintf(what, sizeof what, "%s, geometric mean, gap %s", loss, k ? "1e-6" : "1e-3");
        bench_row(b, what, mean, "x", "LIBLINEAR", mean, bar);
    }
    char what[96];
    double mean = exp((m.sum[0] + m.sum[1]) / (m.count[0] + m.count[1]));
    snprintf(what, sizeof what, "%s, geometric mean of both", loss);
    bench_row(b, what, mean, "x", "LIBLINEAR", mean, bar);
}

int main(int argc, char **argv) {
    static const char *const names[] = {"ijcnn1", "cod-rna", "pendigits odd/even"};
    static const char *const files[] = {"ijcnn1.train", "cod-rna.train", "pendigits.train"};
    static const char *const sigmas[] = {"0.75", "0.25", "2"};
    static const char *const scales[] = {"none", "minmax", "minmax"};
    static const double lambdas[] = {1, 0.1, 10};
    duel sets[3] = {0};
    const char *json = NULL;
    size_t count = 3;
    bench b;
    rivalry_one_thread(argv);
    bench_open(&b);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            count = 1;
        else if (strcmp(argv[i], "--sweeps") == 0)
            kerbin = run_sweeps;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            json = argv[++i];
        else
            return fprintf(stderr,
                           "usage: kerbin-bench-liblinear [--json FILE] [--quick] [--sweeps]\n"),
                   2;
    }
    set_print_string_function(rivalry_quiet);
    printf("kerbin %s beside LIBLINEAR %d.%d, R=64, one thread each\n\n", kb_version(),
           liblinear_version / 100, liblinear_version % 100);
    for (size_t s = 0; s < 3; s++) {
        sets[s].r.ctx = b.one;
        sets[s].r.data = bench_data(&b, files[s]);
        if (!sets[s].r.data) {
            bench_skip(&b, names[s], "not in the data folder");
            continue;
        }
        build(&sets[s], sigmas[s], scales[s], s == 2);
    }
    bench_loss(&b, sets, names, "logistic", lambdas, count, 9);
    bench_loss(&b, sets, names, "squared-hinge", lambdas, count, 6);
    for (size_t s = 0; s < 3; s++)
        release(&sets[s]);
    return bench_close(&b, json);
}
