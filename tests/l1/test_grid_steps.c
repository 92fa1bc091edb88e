/* The steps of grid-cd in a column and in a grid, against plain loops: for each loss, with few and
 * many parts of the rows, and any number of threads. */
#define kb_grid_visits grid_visits_inside
#define kb_grid_miss   grid_miss_inside
#include "l1/gridinside.h"

#include "l1/grid_steps.c"

/* ---- what a step should do --------------------------------------------- */

/* The pull of a column whose gaps u = y - f are open where they have the sign of y, twice their
 * sum; *open: z^2 summed over those. */
static double hinge_pull(const kb_grid_cd *g, size_t j, const double *u, double *open) {
    double sum = *open = 0;
    for (kb_nonzero z = kb_nonzeros(g->r.c, j); kb_nonzero_next(g->r.c, &z);)
        if (u[z.row] * g->r.y[z.row] > 0) {
            sum += 2 * z.value * u[z.row];
            *open += z.value * z.value;
        }
    return sum;
}

/* The slope of lambda |x| - G x at x, coming from `from`. */
static double slope_at(double x, double from, double G, double lambda) {
    return lambda * copysign(1, x != 0 ? x : from) - G;
}

/* A step that overshoots by more than half of its slope goes back along the line between the two
 * slopes, and stops at zero. */
static double less_far(double w, double x, double G, double G_there, double lambda) {
    double begin = slope_at(w, x, G, lambda), end = slope_at(x, w, G_there, lambda);
    if (begin * (x - w) >= 0 || end * begin >= 0 || fabs(end) <= fabs(begin) / 2)
        return x;
    double back = w + (x - w) * begin / (begin - end), side = x != 0 ? x : w;
    return back * side < 0 ? 0 : back;
}

typedef struct want {
    double *x, *miss; /* places */
    double *u;        /* N */
} want;

static void want_columns(const kb_grid_cd *g, size_t begin, size_t end, want *t) {
    double lambda = g->r.p->lambda;
    for (size_t k = begin; k < end; k++) {
        size_t j = g->set.column[k];
        double w = g->w[k], all = plain_sum(g->r.c, j, NULL, 1), open, unread;
        double G = plain_sum(g->r.c, j, t->u, 0), H = all, x;
        if (g->engine == KB_GRID_MODEL)
            H = plain_sum(g->r.c, j, g->h, 1);
        if (g->engine == KB_GRID_HINGE) {
            G = hinge_pull(g, j, t->u, &open);
            H = 2 * (open + 0.005 * all); /* HINGE_FLAT of grid_steps.c */
        }
        x = least_of_bound(w, G, H, lambda);
        plain_subtract(g->r.c, j, x - w, g->engine == KB_GRID_MODEL ? g->h : NULL, t->u);
        if (g->engine == KB_GRID_HINGE) {
            double less = less_far(w, x, G, hinge_pull(g, j, t->u, &unread), lambda);
            plain_subtract(g->r.c, j, less - x, NULL, t->u);
            x = less;
        }
        t->x[k] = x;
        t->miss[k] = fmax(w != 0 ? fabs(G - copysign(lambda, w)) : fabs(G) - lambda, 0);
    }
}

/* x = c / (H + lambda / |x|) by bisection on the length of x. */
static void want_group(const kb_grid_cd *g, size_t begin, size_t end, want *t) {
    const kb_zcolumns *c = g->r.c;
    double lambda = g->r.p->lambda * sqrt((double)(end - begin)), low = 0, high = 1e6;
    double *wish = calloc(end, sizeof *wish), *H = calloc(end, sizeof *H);
    for (size_t k = begin; k < end; k++) {
        H[k] = plain_sum(c, g->set.column[k], g->h, 1);
        wish[k] = plain_sum(c, g->set.column[k], t->u, 0) + H[k] * g->w[k];
    }
    for (int step = 0; step < 300; step++) {
        double r = (low + high) / 2, sum = 0;
        for (size_t k = begin; k < end; k++)
            sum += pow(wish[k] / (H[k] * r + lambda), 2);
        *(sum > 1 ? &low : &high) = r;
    }
    for (size_t k = begin; k < end; k++) {
        t->x[k] = wish[k] * low / (H[k] * low + lambda);
        t->miss[k] = fabs(t->x[k] - g->w[k]) * H[k];
        plain_subtract(c, g->set.column[k], t->x[k] - g->w[k], g->h, t->u);
    }
    free(wish), free(H);
}

/* ---- what it does ------------------------------------------------------ */

/* What thread `me` is to do in turn `number` of all, `turns` for each block. */
static kb_turn turn_of(const kb_grid_cd *g, size_t number, size_t turns, int me, int threads) {
    size_t block = number / turns, turn = number % turns;
    size_t first = g->set.start[block], count = g->set.start[block + 1] - first;
    return (kb_turn){.block = block,
                     .begin = first + count * turn / turns,
                     .end = first + count * (turn + 1) / turns,
                     .part = kb_share(g->r.c->parts, me, threads),
                     .part_end = kb_share(g->r.c->parts, me + 1, threads),
                     .me = me,
                     .threads = threads,
                     .odd = number % 2};
}

static kb_amend *amend_of_visits;

static void amend_as_a_visit(void *arg, const kb_turn *t) {
    amend_of_visits(arg, t);
}

/* An epoch of so many threads, one after the other.  With `late` the last of them does the last
 * phase of a turn when the others have begun the next. */
static void visit_all(kb_grid_cd *g, int threads, size_t turns, int late) {
    kb_column_pass sweep = {.arg = g};
    size_t all = g->r.c->blocks * turns;
    kb_grid_visits(g, &sweep);
    kb_visit **visit = sweep.visit;
    amend_of_visits = sweep.amend;
    if (sweep.amend)
        visit[2] = amend_as_a_visit;
    int last = visit[2] ? 2 : 1;
    for (size_t number = 0; number < all; number++)
        for (int phase = 0; phase <= last; phase++)
            for (int me = 0; me < threads; me++) {
                kb_turn t = turn_of(g, number, turns, me, threads);
                int lags = late && me == threads - 1;
                if (lags && phase == 0 && number > 0) {
                    kb_turn before = turn_of(g, number - 1, turns, me, threads);
                    visit[last](g, &before);
                }
                if (!lags || phase < last || number == all - 1)
                    visit[phase](g, &t);
            }
}

/* As an epoch begins. */
static void prepare(kb_grid_cd *g) {
    if (g->engine == KB_GRID_MODEL)
        make_model(g);
    else
        gaps_from_f(g, 0, g->r.N);
}

/* Two epochs over all blocks; the sums of a column have as many roundings as it has rows. */
static void check_steps(kb_context *ctx, problem *q, int threads, size_t turns) {
    kb_grid_cd g;
    grid_begin(ctx, q, q->p.group ? 0 : 4, &g);
    size_t places = g.set.count, N = q->N, moved = 0;
    want t = {calloc(places, sizeof(double)), calloc(places, sizeof(double)),
              malloc(N * sizeof(double))};
    prepare(&g);
    memcpy(t.u, g.u, N * sizeof *t.u);
    for (int pass = 0; pass < 2; pass++) {
        visit_all(&g, threads, turns, 0);
        for (size_t block = 0; block < g.r.c->blocks; block++)
            (q->p.group ? want_group : want_columns)(&g, g.set.start[block], g.set.start[block + 1],
                                                     &t);
        for (size_t k = 0; k < places; k++)
            moved += t.x[k] != g.w[k];
        assert_close(g.x, t.x, places, 1e-10);
        assert_close(g.miss, t.miss, places, 1e-9);
        assert_close(g.u, t.u, N, 1e-9);
        memcpy(g.w, t.x, places * sizeof *g.w);
        g.fresh = 0;
    }
    assert_true(moved > places / 2);
    free(t.x), free(t.miss), free(t.u);
    release(ctx, &g);
}

/* Small problems have two parts, and are tried in every way. */
static void steps_are_those_of_plain_loops(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < L1_KINDS; kind++)
        for (int threads = 1; threads <= 2; threads++)
            for (size_t turns = 1; turns <= 3; turns++)
                for (double lambda = 0.02; lambda < 5; lambda *= 10) {
                    problem q = problem_of_kind(ctx, kind, 90, 5);
                    assert_int_equal(q.columns->parts, 2);
                    q.p.lambda = lambda;
                    put_somewhere(&q, 1);
                    check_steps(ctx, &q, threads, turns);
                    problem_free(&q);
                }
    kb_context_free(ctx);
}

static void groups_are_those_of_plain_loops(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < L1_KINDS; kind++)
        for (int threads = 1; threads <= 2; threads++)
            for (double lambda = 0.02; lambda < 5; lambda *= 10) {
                problem q = problem_of_kind(ctx, kind, 90, 5);
                q.p.lambda = lambda;
                q.p.group = 1;
                put_somewhere(&q, 1);
                check_steps(ctx, &q, threads, 1);
                problem_free(&q);
            }
    kb_context_free(ctx);
}

/* Dense columns are blocks of one each, and go by the model. */
static void dense_columns_are_those_of_plain_loops(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < L1_KINDS; kind++)
        for (int group = 0; group < 2; group++) {
            problem q = problem_of_kind(ctx, kind, 90, 3);
            kb_zcolumns_free(q.columns);
            for (size_t e = 0; e < q.N * q.D; e++)
                q.Z[e] += test_uniform(12, e) - 0.5;
            assert_ok(ctx, kb_zcolumns_from_dense(ctx, q.N, q.D, q.Z, &q.columns));
            q.p.columns = q.columns;
            q.p.group = group;
            put_somewhere(&q, 1);
            check_steps(ctx, &q, 2, 1);
            problem_free(&q);
        }
    kb_context_free(ctx);
}

/* Four and eight parts, for as many threads, and for fewer. */
static void many_parts_are_those_of_plain_loops(void **unused) {
    static const size_t rows[] = {131072, 270001}, parts[] = {4, 8};
    kb_context *ctx = test_context();
    (void)unused;
    for (int size = 0; size < 2; size++)
        for (int kind = 0; kind < 8; kind++) {
            problem q = problem_of_kind(ctx, kind % 4, rows[size], 2); /* one kind with weights */
            assert_int_equal(q.columns->parts, parts[size]);
            q.p.group = kind / 4;
            q.p.lambda = 30;
            put_somewhere(&q, 1);
            check_steps(ctx, &q, kind % 2 ? (int)parts[size] : 3, kind == 2 ? 2 : 1);
            problem_free(&q);
        }
    kb_context_free(ctx);
}

/* All cases: steps that are too long, those that cross zero, and those of rounding. */
static void the_way_back_is_that_of_the_slopes(void **unused) {
    size_t back = 0, crossed = 0;
    (void)unused;
    for (uint64_t k = 0; k < 20000; k++) {
        double w = k % 3 ? 2 * test_uniform(1, k) - 1 : 0,
               x = k % 5 ? 2 * test_uniform(2, k) - 1 : 0;
        double G = 4 * test_uniform(3, k) - 2, there = 4 * test_uniform(4, k) - 2;
        double lambda = test_uniform(5, k), less = less_far(w, x, G, there, lambda);
        if (w == 0 && x == 0)
            less = 0;
        assert_true(fabs(x + too_far(w, x, G, there, lambda) - less) <= 1e-12);
        back += less != x;
        crossed += less != x && less == 0;
    }
    assert_true(back > 1000 && crossed > 100);
}

/* ---- bits -------------------------------------------------------------- */

static void threads_and_turns_change_no_bit(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < 8; kind++) { /* the last four by groups */
        double *first = NULL, *first_u = NULL;
        for (int way = 0; way < 4; way++) {
            problem q = problem_of_kind(ctx, kind % 4, 300, 4);
            kb_grid_cd g;
            q.p.group = kind / 4;
            put_somewhere(&q, 1);
            grid_begin(ctx, &q, 0, &g);
            prepare(&g);
            visit_all(&g, way == 0 ? 1 : 2, q.p.group || way == 3 ? 1 : 1 + (size_t)way, way == 3);
            if (way == 0) {
                first = malloc(q.D * sizeof *first), first_u = malloc(q.N * sizeof *first);
                memcpy(first, g.x, q.D * sizeof *first);
                memcpy(first_u, g.u, q.N * sizeof *first);
            }
            assert_same_bits(first, g.x, q.D);
            assert_same_bits(first_u, g.u, q.N);
            release(ctx, &g);
            problem_free(&q);
        }
        free(first), free(first_u);
    }
    kb_context_free(ctx);
}

static void a_miss_is_how_far_the_slope_is_from_zero(void **unused) {
    (void)unused;
    assert_true(kb_grid_miss(0, 0.5, 1) == 0 && kb_grid_miss(0, -1, 1) == 0);
    assert_true(kb_grid_miss(0, 3, 1) == 2 && kb_grid_miss(0, -3, 1) == 2);
    assert_true(kb_grid_miss(2, 1, 1) == 0 && kb_grid_miss(-2, -1, 1) == 0);
    assert_true(kb_grid_miss(2, 0.5, 1) == 0.5 && kb_grid_miss(2, -1, 1) == 2);
    assert_true(kb_grid_miss(-2, 1, 1) == 2 && kb_grid_miss(-2, -4, 1) == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_plain_loops),
        cmocka_unit_test(groups_are_those_of_plain_loops),
        cmocka_unit_test(dense_columns_are_those_of_plain_loops),
        cmocka_unit_test(many_parts_are_those_of_plain_loops),
        cmocka_unit_test(the_way_back_is_that_of_the_slopes),
        cmocka_unit_test(threads_and_turns_change_no_bit),
        cmocka_unit_test(a_miss_is_how_far_the_slope_is_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
