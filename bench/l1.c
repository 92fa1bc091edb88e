/*
 * kerbin-bench-l1 - the L1 solvers against LIBLINEAR and a plain lasso on the same Z.
 *
 * kerbin-bench-l1 [--json FILE] [--quick] [--only TEXT]
 *
 * All get the same features and the same objective lambda |w|_1 + sum of the losses (C = 1/lambda),
 * no intercept, and one thread; reading and binning are not timed.  LIBLINEAR turns its rows into
 * columns inside of train(), so kerbin and the lasso build theirs inside their times too.  A time
 * is that of the loosest tolerance with which the objective comes within 1e-3 of the optimum, the
 * best of three runs or more, the two in turn.  A rival is stopped after ten times kerbin's time:
 * "10 x" then means ten times or more.
 */
#define _POSIX_C_SOURCE 200809L
#include "lasso.h"
#include "rivalry.h"
#include "l1/l1.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const double GAP = 1e-3;
/* A rival may take this many times as long. */
static const double PATIENCE = 10;

typedef struct contest {
    rivalry *r;
    const char *loss;
    double lambda;
    double *w, *f; /* D, N */
    size_t nonzeros;
    double limit; /* seconds that a rival gets */
} contest;

static kb_l1 problem_of(contest *c, kb_zcolumns *columns, double tol) {
    memset(c->w, 0, c->r->z->bins * sizeof(double));
    return (kb_l1){.columns = columns,
                   .loss = kb_loss_find(c->loss),
                   .lambda = c->lambda,
                   .tol = tol,
                   .max_epochs = 1000000,
                   .seed = 1,
                   .y = c->r->y,
                   .w = c->w,
                   .f = c->f};
}

typedef double solver(contest *c, double tol, double *seconds);

static double run_grid(contest *c, double tol, double *seconds) {
    kb_zcolumns *columns;
    double began = kb_seconds();
    rivalry_must(c->r->ctx, kb_zcolumns_from_binmat(c->r->ctx, c->r->z, &columns));
    kb_l1 p = problem_of(c, columns, tol);
    rivalry_must(c->r->ctx, kb_l1_grid_cd(c->r->ctx, &p));
    *seconds = kb_seconds() - began;
    c->nonzeros = p.nonzeros;
    kb_zcolumns_free(columns);
    return p.objective;
}

static double run_liblinear(contest *c, double eps, double *seconds) {
    struct parameter how = {.solver_type = strcmp(c->loss, "logistic") ? L1R_L2LOSS_SVC : L1R_LR,
                            .eps = eps,
                            .C = 1 / c->lambda};
    const struct problem *rows = &c->r->problem;
    const kb_loss *loss = kb_loss_find(c->loss);
    double began = kb_seconds(), objective = 0;
    struct model *model = train(rows, &how);
    *seconds = kb_seconds() - began;
    for (int j = 0; j < rows->n; j++)
        objective += c->lambda * fabs(model->w[j]);
    for (int i = 0; i < rows->l; i++) {
        double f = 0;
        for (const struct feature_node *x = rows->x[i]; x->index > 0; x++)
            f += model->w[x->index - 1] * x->value;
        objective += loss->at(loss, f, rows->y[i]).value;
    }
    free_and_destroy_model(&model);
    return objective;
}

static double run_lasso(contest *c, double tol, double *seconds) {
    double began = kb_seconds();
    lasso *columns = lasso_build(c->r->z);
    double objective = lasso_solve(columns, c->r->y, c->lambda, tol, c->w);
    *seconds = kb_seconds() - began;
    lasso_free(columns);
    return objective;
}

typedef struct outcome {
    double objective, seconds;
} outcome;

/* Runs in a separate process, which can be stopped; the objective is then NAN. */
static double run_limited(contest *c, solver *run, double tol, double *seconds) {
    int ends[2], status;
    outcome out = {NAN, INFINITY};
    fflush(stdout);
    if (pipe(ends) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        struct itimerval limit = {
            .it_value = {(time_t)c->limit, (suseconds_t)(fmod(c->limit, 1) * 1e6) + 1}};
        setitimer(ITIMER_REAL, &limit, NULL);
        out.objective = run(c, tol, &out.seconds);
        _exit(write(ends[1], &out, sizeof out) != sizeof out);
    }
    close(ends[1]);
    if (read(ends[0], &out, sizeof out) != sizeof out)
        out = (outcome){NAN, INFINITY};
    close(ends[0]);
    waitpid(child, &status, 0);
    *seconds = out.seconds;
    return out.objective;
}

static double run_here(contest *c, solver *run, double tol, double *seconds) {
    return run(c, tol, seconds);
}

typedef double runner(contest *c, solver *run, double tol, double *seconds);

/* Whether any tolerance passes; *tol = the loosest, by thirds of a decade from 1 on, then by halves
 * between the last two. */
static int loosest(contest *c, runner *how, solver *run, double target, double *tol) {
    static const double THIRD = 0.464158883361278;
    double seconds, objective, high;
    int found = 0;
    *tol = 1;
    while ((objective = how(c, run, *tol, &seconds)) > target && *tol > 1e-13)
        *tol *= THIRD;
    found = objective <= target;
    high = *tol < 1 ? *tol / THIRD : *tol;
    for (int k = 0; k < 3 && high > *tol; k++) {
        double middle = sqrt(*tol * high);
        objective = how(c, run, middle, &seconds);
        if (objective > target)
            high = middle;
        else
            *tol = middle;
        found |= objective <= target;
    }
    return found;
}

static void compare(bench *b, contest *c, const char *set, double *sum, int *count) {
    int square = strcmp(c->loss, "square") == 0;
    solver *rival = square ? run_lasso : run_liblinear;
    const char *name = square ? "lasso by columns" : "LIBLINEAR";
    double seconds, ours = INFINITY, theirs = INFINITY, ours_tol, theirs_tol;
    double target = run_grid(c, 1e-7, &seconds) * (1 + GAP);
    size_t nonzeros = c->nonzeros;
    loosest(c, run_here, run_grid, target, &ours_tol);
    for (int run = 0; run < 5; run++) {
        run_grid(c, ours_tol, &seconds);
        ours = fmin(ours, seconds);
    }
    c->limit = PATIENCE * ours;
    int ends = loosest(c, run_limited, rival, target, &theirs_tol);
    double began = kb_seconds();
    for (int run = 0; ends && (run < 3 || (run < 15 && kb_seconds() - began < 2)); run++) {
        run_grid(c, ours_tol, &seconds);
        ours = fmin(ours, seconds);
        run_limited(c, rival, theirs_tol, &seconds);
        theirs = fmin(theirs, seconds);
    }
    double ratio = fmin(theirs / ours, PATIENCE);
    char what[128];
    snprintf(what, sizeof what, "%s, %s, lambda %g, %zu nonzeros%s", set, c->loss, c->lambda,
             nonzeros, theirs < INFINITY ? "" : ", at least");
    bench_row(b, what, ours * 1e3, "ms", name, ratio, 3);
    *sum += log(ratio);
    ++*count;
}

/* ---- threads ----------------------------------------------------------- */

/* One solve; where several must start at once, they wait for each other at `start`. */
typedef struct task {
    contest c;
    kb_context *ctx;
    kb_l1_solver *solve;
    double tol;
    pthread_barrier_t *start;
    double seconds, objective;
} task;

static void *run_task(void *arg) {
    task *t = arg;
    kb_zcolumns *columns;
    rivalry_must(t->ctx, kb_zcolumns_from_binmat(t->ctx, t->c.r->z, &columns));
    kb_l1 p = problem_of(&t->c, columns, t->tol);
    if (t->solve == kb_l1_parallel_cd)
        p.max_epochs = 10;
    if (t->start)
        pthread_barrier_wait(t->start);
    double began = kb_seconds();
    rivalry_must(t->ctx, t->solve(t->ctx, &p));
    t->seconds = kb_seconds() - began;
    kb_zcolumns_free(columns);
    t->objective = p.objective;
    return NULL;
}

static double run_threads(contest *c, kb_context *ctx, kb_l1_solver *solve, double tol,
                          double *objective) {
    task t = {.c = *c, .ctx = ctx, .solve = solve, .tol = tol};
    run_task(&t);
    *objective = t.objective;
    return t.seconds;
}

/* As many solves at once as there are threads, each by one thread.  They share nothing but the
 * machine.  Returns the seconds of the slowest. */
static double run_apart(bench *b, contest *c, kb_l1_solver *solve, double tol) {
    task *t = calloc((size_t)b->threads, sizeof *t);
    pthread_t *thread = calloc((size_t)b->threads, sizeof *thread);
    pthread_barrier_t start;
    double longest = 0;
    pthread_barrier_init(&start, NULL, (unsigned)b->threads);
    for (int k = 0; k < b->threads; k++) {
        t[k] = (task){.c = *c, .solve = solve, .tol = tol, .start = &start};
        t[k].c.w = malloc(c->r->z->bins * sizeof(double));
        t[k].c.f = malloc(c->r->z->rows * sizeof(double));
        if (kb_context_create(&(kb_context_config){.size = sizeof(kb_context_config), .threads = 1},
                              &t[k].ctx) != KB_OK ||
            pthread_create(&thread[k], NULL, run_task, &t[k]) != 0)
            exit(1);
    }
    for (int k = 0; k < b->threads; k++) {
        pthread_join(thread[k], NULL);
        longest = fmax(longest, t[k].seconds);
        kb_context_free(t[k].ctx);
        free(t[k].c.w);
        free(t[k].c.f);
    }
    pthread_barrier_destroy(&start);
    free(thread);
    free(t);
    return longest;
}

/* Seconds, and the decrease of the objective with all threads as a share of that with one. */
typedef struct times {
    double one, all, apart, progress;
} times;

/* The best of nine runs each, or of as many as fit into four seconds, in turn: two idle processors
 * are rarer than one.  parallel-cd gets ten epochs. */
static times measure(bench *b, contest *c, kb_l1_solver *solve, double tol, int apart) {
    times t = {INFINITY, INFINITY, INFINITY, 1};
    double by_one, by_all, zero = 0, began = kb_seconds();
    const kb_loss *loss = kb_loss_find(c->loss);
    for (size_t i = 0; i < c->r->z->rows; i++)
        zero += loss->at(loss, 0, c->r->y[i]).value;
    for (int run = 0; run < 9 || kb_seconds() - began < 4; run++) {
        t.one = fmin(t.one, run_threads(c, b->one, solve, tol, &by_one));
        t.all = fmin(t.all, run_threads(c, b->all, solve, tol, &by_all));
        if (apart)
            t.apart = fmin(t.apart, run_apart(b, c, solve, tol));
        t.progress = (zero - by_all) / (zero - by_one);
    }
    return t;
}

static pid_t burn_a_core(void) {
    pid_t child = fork();
    for (volatile unsigned long turns = 0; child == 0; turns++)
        ;
    return child;
}

/* The speed-up of that many independent solves is what the machine can give. */
static void bench_apart(bench *b, contest *c, const char *set, const char *name, times t) {
    char what[128];
    snprintf(what, sizeof what, "%s, %s, %d solves at once by %s", set, c->loss, b->threads, name);
    bench_row(b, what, t.apart * 1e3, "ms", "one after the other", b->threads * t.one / t.apart, 0);
}

static void bench_threads(bench *b, contest *c, const char *set) {
    char what[128];
    times t = measure(b, c, kb_l1_grid_cd, 1e-2, 1);
    snprintf(what, sizeof what, "%s, %s, grid-cd, %d threads", set, c->loss, b->threads);
    bench_row(b, what, t.all * 1e3, "ms", "one thread", t.one / t.all, 1.6);
    bench_apart(b, c, set, "grid-cd", t);
    pid_t child = burn_a_core();
    t = measure(b, c, kb_l1_grid_cd, 1e-2, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    snprintf(what, sizeof what, "%s, %s, grid-cd, %d threads, one core taken", set, c->loss,
             b->threads);
    bench_row(b, what, t.all * 1e3, "ms", "one thread", t.one / t.all, 1 / 1.2);
    t = measure(b, c, kb_l1_parallel_cd, 1e-2, 1);
    snprintf(what, sizeof what, "%s, %s, parallel-cd, %d threads", set, c->loss, b->threads);
    t.all /= t.progress;
    bench_row(b, what, t.all * 1e3, "ms", "one thread", t.one / t.all, 1.5);
    bench_apart(b, c, set, "parallel-cd", t);
}

/* The time of a path as a multiple of its last problem's. */
static void bench_path(bench *b, contest *c, const char *set) {
    enum { LENGTH = 30 };
    double lambda[LENGTH], most, single, objective, path = INFINITY, before = c->lambda;
    kb_context *ctx = c->r->ctx;
    kb_zcolumns *columns;
    rivalry_must(ctx, kb_zcolumns_from_binmat(ctx, c->r->z, &columns));
    kb_l1 p = problem_of(c, columns, 1e-3);
    rivalry_must(ctx, kb_l1_lambda_max(ctx, &p, &most));
    kb_l1_lambdas(most, most / 1000, LENGTH, lambda);
    c->lambda = lambda[LENGTH - 1];
    single = INFINITY;
    for (int run = 0; run < 3; run++) {
        single = fmin(single, run_threads(c, ctx, kb_l1_grid_cd, 1e-2, &objective));
        p = problem_of(c, columns, 1e-2);
        double began = kb_seconds();
        for (size_t k = 0; k < LENGTH; k++) {
            p.lambda = lambda[k];
            rivalry_must(ctx, kb_l1_grid_cd(ctx, &p));
        }
        path = fmin(path, kb_seconds() - began);
    }
    char what[128];
    snprintf(what, sizeof what, "%s, %s, path of %d down to %.3g", set, c->loss, LENGTH, c->lambda);
    bench_row_at_most(b, what, path / single, "single solves", 10);
    kb_zcolumns_free(columns);
    c->lambda = before;
}

static void bench_set(bench *b, rivalry *r, const char *set, int quick, int more, double *sum,
                      int *count) {
    static const double lambdas[] = {1, 0.1, 10};
    static const char *const losses[] = {"squared-hinge", "logistic", "square"};
    contest c = {.r = r};
    c.w = malloc(r->z->bins * sizeof *c.w);
    c.f = malloc(r->z->rows * sizeof *c.f);
    for (size_t k = 0; k < 3; k++) {
        c.loss = losses[k];
        for (size_t l = 0; l < (quick ? 1 : 3); l++) {
            c.lambda = lambdas[l];
            compare(b, &c, set, &sum[k], &count[k]);
        }
        c.lambda = 1;
        if (!more)
            continue;
        bench_threads(b, &c, set);
        bench_path(b, &c, set);
    }
    free(c.w);
    free(c.f);
}

static void bench_means(bench *b, const double *sum, const int *count) {
    static const char *const names[] = {"squared hinge", "logistic", "square"};
    double all = 0;
    int of = 0;
    for (size_t k = 0; k < 3; k++) {
        char what[96];
        double mean = exp(sum[k] / count[k]);
        snprintf(what, sizeof what, "%s, geometric mean", names[k]);
        bench_row(b, what, mean, "x", k == 2 ? "lasso by columns" : "LIBLINEAR", mean, 0);
        all += sum[k];
        of += count[k];
    }
    bench_row(b, "geometric mean of all", exp(all / of), "x", "the rivals", exp(all / of), 5);
}

int main(int argc, char **argv) {
    static const char *const names[] = {"cod-rna", "ijcnn1"};
    static const char *const files[] = {"cod-rna.train", "ijcnn1.train"};
    static const char *const sigmas[] = {"0.25", "0.75"};
    static const char *const scales[] = {"minmax", "none"};
    static const char *const grids[] = {"64", "128"};
    const char *json = NULL, *only = ""; /* runs the sets whose names contain it */
    double sum[3] = {0};
    int count[3] = {0}, quick = 0;
    bench b;
    rivalry_one_thread(argv);
    bench_open(&b);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            quick = 1;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            json = argv[++i];
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            return fprintf(stderr,
                           "usage: kerbin-bench-l1 [--json FILE] [--quick] [--only TEXT]\n"),
                   2;
    }
    set_print_string_function(rivalry_quiet);
    printf("kerbin %s, L1 penalty, beside LIBLINEAR %d.%d, one thread each\n\n", kb_version(),
           liblinear_version / 100, liblinear_version % 100);
    for (size_t s = 0; s < 2; s++)
        for (size_t k = 0; k < (quick ? 1 : 2); k++) {
            char set[64];
            snprintf(set, sizeof set, "%s R=%s", names[s], grids[k]);
            if (!strstr(set, only))
                continue;
            rivalry r = {.ctx = b.one, .data = bench_data(&b, files[s])};
            if (!r.data) {
                bench_skip(&b, names[s], "not in the data folder");
                continue;
            }
            rivalry_build(&r, sigmas[s], scales[s], grids[k], 0);
            bench_set(&b, &r, set, quick, k == 0, sum, count);
            rivalry_release(&r);
        }
    if (count[0] > 0)
        bench_means(&b, sum, count);
    return bench_close(&b, json);
}
