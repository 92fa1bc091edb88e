/*
 * kerbin-bench-liblinear - Newton-CG beside LIBLINEAR on the same Z, one thread.
 *
 *     kerbin-bench-liblinear [--json FILE] [--quick]
 *
 * Both get the same features, the same objective lambda/2 |w|^2 + sum of the losses (C =
 * 1/lambda), and no intercept; reading and building are not timed.  A time is that of the
 * loosest tolerance with which the objective comes within the gap of the optimum, the best of
 * two runs, LIBLINEAR and kerbin in turn.
 */
#include "bench.h"
#include "model/map.h"
#include "solve/newton.h"

#include <linear.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rivalry {
    kb_context *ctx;
    kb_data *data;
    kb_map *map;
    kb_binmat *z;
    kb_operator *op;
    double *y, *alpha, *f; /* N */
    struct problem problem;
    struct feature_node *nodes;
} rivalry;

static void be_quiet(const char *text) {
    (void)text;
}

static void or_die(kb_context *ctx, kb_status status) {
    if (status == KB_OK)
        return;
    fprintf(stderr, "kerbin-bench-liblinear: %s\n", kb_context_message(ctx));
    exit(1);
}

/* odd: the target is whether the label is odd; else whether it is positive. */
static void build(rivalry *r, const char *sigma, const char *scale, const char *grids, int odd) {
    kb_options *options;
    kb_memory_plan plan = {SIZE_MAX, 0, 0};
    double forecast;
    size_t N = r->data->rows;
    or_die(r->ctx, kb_options_create(r->ctx, &options));
    or_die(r->ctx, kb_options_set(r->ctx, options, "grids", grids));
    or_die(r->ctx, kb_options_set(r->ctx, options, "sigma", sigma));
    or_die(r->ctx, kb_options_set(r->ctx, options, "scale", scale));
    or_die(r->ctx, kb_map_build(r->ctx, options, r->data, &plan, &r->map, &r->z, &forecast));
    or_die(r->ctx, kb_operator_binmat(r->ctx, r->z, &r->op));
    or_die(r->ctx, kb_alloc(r->ctx, N, sizeof(double), &r->y));
    or_die(r->ctx, kb_alloc(r->ctx, N, sizeof(double), &r->alpha));
    or_die(r->ctx, kb_alloc(r->ctx, N, sizeof(double), &r->f));
    for (size_t i = 0; i < N; i++)
        r->y[i] = odd ? fmod(r->data->label[i], 2) != 0 ? 1 : -1 : r->data->label[i] > 0 ? 1 : -1;
    kb_options_free(options);
}

/* The first row is positive, so that LIBLINEAR's first class is too. */
static void build_problem(rivalry *r) {
    size_t N = r->z->rows, R = r->z->grids, first = 0;
    while (r->y[first] < 0)
        first++;
    r->nodes = malloc(N * (R + 1) * sizeof *r->nodes);
    r->problem = (struct problem){.l = (int)N, .n = (int)r->z->bins, .bias = -1};
    r->problem.y = malloc(N * sizeof(double));
    r->problem.x = malloc(N * sizeof *r->problem.x);
    for (size_t k = 0; k < N; k++) {
        size_t i = k == 0 ? first : k == first ? 0 : k;
        struct feature_node *row = r->nodes + k * (R + 1);
        for (size_t g = 0; g < R; g++)
            row[g] = (struct feature_node){(int)(r->z->start[g] + kb_binmat_id(r->z, i, g)) + 1,
                                           1 / sqrt((double)R)};
        row[R].index = -1;
        r->problem.x[k] = row;
        r->problem.y[k] = r->y[i];
    }
}

static void release(rivalry *r) {
    free(r->nodes);
    free(r->problem.y);
    free(r->problem.x);
    kb_release(r->ctx, r->y);
    kb_release(r->ctx, r->alpha);
    kb_release(r->ctx, r->f);
    kb_operator_free(r->op);
    kb_binmat_free(r->z);
    kb_map_free(r->map);
    kb_data_free(r->data);
}

static double run_kerbin(rivalry *r, const char *loss, double lambda, double tol, double *seconds) {
    kb_smooth p = {.op = r->op,
                   .loss = kb_loss_find(loss),
                   .lambda = lambda,
                   .tol = tol,
                   .max_steps = 1000000,
                   .C = 1,
                   .y = r->y,
                   .alpha = r->alpha,
                   .f = r->f};
    double began = kb_seconds();
    or_die(r->ctx, kb_newton(r->ctx, &p));
    *seconds = kb_seconds() - began;
    return p.objective;
}

static double run_liblinear(rivalry *r, const char *loss, double lambda, double eps,
                            double *seconds) {
    struct parameter how = {.solver_type = strcmp(loss, "logistic") ? L2R_L2LOSS_SVC : L2R_LR,
                            .eps = eps,
                            .C = 1 / lambda};
    const kb_loss *entry = kb_loss_find(loss);
    double began = kb_seconds(), objective = 0;
    struct model *model = train(&r->problem, &how);
    *seconds = kb_seconds() - began;
    for (int j = 0; j < r->problem.n; j++)
        objective += lambda / 2 * model->w[j] * model->w[j];
    for (int i = 0; i < r->problem.l; i++) {
        double f = 0;
        for (const struct feature_node *x = r->problem.x[i]; x->index > 0; x++)
            f += model->w[x->index - 1] * x->value;
        objective += entry->at(f, r->problem.y[i]).value;
    }
    free_and_destroy_model(&model);
    return objective;
}

typedef double solver(rivalry *r, const char *loss, double lambda, double tol, double *seconds);

/* The loosest tolerance that will do, by thirds of a decade from *tol on. */
static double loosest(rivalry *r, solver *run, const char *loss, double lambda, double target,
                      double *tol) {
    double seconds;
    for (;; *tol *= 0.464158883361278) {
        if (run(r, loss, lambda, *tol, &seconds) <= target)
            return *tol;
        if (*tol < 1e-13)
            return NAN;
    }
}

typedef struct means {
    double sum[2], least[2];
    int count[2];
} means;

static void compare(bench *b, rivalry *r, const char *set, const char *loss, double lambda,
                    means *m) {
    static const double gaps[] = {1e-3, 1e-6};
    double seconds, tight, best = run_kerbin(r, loss, lambda, 1e-10, &seconds);
    double ours_tol = 0.3, theirs_tol = 0.3;
    tight = run_liblinear(r, loss, lambda, 1e-8, &seconds);
    for (size_t k = 0; k < 2; k++) {
        double target = fmin(best, tight) * (1 + gaps[k]), ours = INFINITY, theirs = INFINITY;
        loosest(r, run_kerbin, loss, lambda, target, &ours_tol);
        loosest(r, run_liblinear, loss, lambda, target, &theirs_tol);
        for (int run = 0; run < 3; run++) {
            run_kerbin(r, loss, lambda, ours_tol, &seconds);
            ours = fmin(ours, seconds);
            run_liblinear(r, loss, lambda, theirs_tol, &seconds);
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

static void bench_loss(bench *b, rivalry *sets, const char *const *names, const char *loss,
                       const double *lambdas, size_t count, double bar) {
    means m = {0};
    for (size_t s = 0; s < 3; s++)
        for (size_t l = 0; sets[s].data && l < count; l++)
            compare(b, &sets[s], names[s], loss, lambdas[l], &m);
    for (size_t k = 0; k < 2; k++) {
        char what[96];
        double mean = exp(m.sum[k] / m.count[k]);
        snprintf(what, sizeof what, "%s, geometric mean, gap %s", loss, k ? "1e-6" : "1e-3");
        bench_row(b, what, mean, "x", "LIBLINEAR", mean, bar);
    }
}

int main(int argc, char **argv) {
    static const char *const names[] = {"ijcnn1", "cod-rna", "pendigits odd/even"};
    static const char *const files[] = {"ijcnn1.train", "cod-rna.train", "pendigits.train"};
    static const char *const sigmas[] = {"0.75", "0.25", "2"};
    static const char *const scales[] = {"none", "minmax", "minmax"};
    static const double lambdas[] = {1, 0.1, 10};
    rivalry sets[3] = {0};
    const char *json = NULL;
    size_t count = 3;
    bench b;
    bench_open(&b);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            count = 1;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            json = argv[++i];
        else
            return fprintf(stderr, "usage: kerbin-bench-liblinear [--json FILE] [--quick]\n"), 2;
    }
    set_print_string_function(be_quiet);
    printf("kerbin %s beside LIBLINEAR %d.%d, R=64, one thread each\n\n", kb_version(),
           liblinear_version / 100, liblinear_version % 100);
    for (size_t s = 0; s < 3; s++) {
        sets[s].ctx = b.one;
        sets[s].data = bench_data(&b, files[s]);
        if (!sets[s].data) {
            bench_skip(&b, names[s], "not in the data folder");
            continue;
        }
        build(&sets[s], sigmas[s], scales[s], "64", s == 2);
        build_problem(&sets[s]);
    }
    bench_loss(&b, sets, names, "logistic", lambdas, count, 9);
    bench_loss(&b, sets, names, "squared-hinge", lambdas, count, 6);
    for (size_t s = 0; s < 3; s++)
        release(&sets[s]);
    return bench_close(&b, json);
}
