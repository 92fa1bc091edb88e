/* The minimum over the span of the last moves: against the slopes along them, and properties of
 * the moves. */
#include "l1/gridinside.h"

/* ---- moves ------------------------------------------------------------- */

/* Losses as in problem_of_kind, and then all again by groups. */
enum { KINDS = 2 * L1_KINDS };

static problem span_problem(kb_context *ctx, int kind, size_t N, size_t R, double size) {
    problem q = problem_of_kind(ctx, kind % L1_KINDS, N, R);
    q.p.group = kind / L1_KINDS;
    put_somewhere(&q, size);
    return q;
}

/* Moves the weights by d and the intercept by b, as an epoch would, and leaves what it leaves. */
static void move_by(kb_context *ctx, kb_grid_cd *g, const double *d, double b) {
    double loss;
    kb_grid_begin_move(g);
    kb_grid_keep_f(g);
    for (size_t i = 0; i < g->r.N; i++)
        g->r.f[i] = g->old_f[i] + b;
    for (size_t k = 0; k < g->set.count; k++) {
        plain_subtract(g->r.c, g->set.column[k], -d[k], NULL, g->r.f);
        g->w[k] += d[k];
    }
    g->r.p->b += b;
    if (g->engine == KB_GRID_MODEL) {
        assert_ok(ctx, kb_l1_evaluate(&g->r, &loss));
        g->objective = loss + kb_grid_penalty(g);
    }
}

/* Some move, another one for another number; it leaves out every seventh place. */
static double *some_move(const kb_grid_cd *g, uint64_t number, double size) {
    double *d = test_numbers(100 + number, g->set.count);
    for (size_t k = 0; k < g->set.count; k++)
        d[k] *= k % 7 ? size : 0;
    return d;
}

static void some_span(kb_context *ctx, kb_grid_cd *g, uint64_t number, double size) {
    double *d = some_move(g, number, size);
    move_by(ctx, g, d, g->r.p->intercept ? size / 2 : 0);
    assert_ok(ctx, kb_grid_span(g));
    free(d);
}

/* Each row of a move is what its columns and its intercept do to f. */
static void check_moves(const kb_grid_cd *g) {
    double *row = malloc(g->r.N * sizeof *row);
    for (size_t q = 0; q < g->moves; q++) {
        for (size_t i = 0; i < g->r.N; i++)
            row[i] = g->move[q].b;
        for (size_t k = 0; k < g->set.count; k++)
            plain_subtract(g->r.c, g->set.column[k], -g->moved[k][g->move[q].slot], NULL, row);
        assert_close(g->move[q].row, row, g->r.N, 1e-11);
    }
    free(row);
}

/* The state is that of the weights: f, the objective, and for a model the pushes.  A combination of
 * moves takes up to a hundred times each of them, and so of their rounding. */
static void check_state(problem *q, kb_grid_cd *g) {
    kb_grid_park(g);
    double *f = dense_apply(q->N, q->D, 1, q->Z, q->weights);
    double objective = objective_of(q, q->weights, q->p.b);
    assert_true(fabs(g->objective - objective) <= 1e-9 * objective);
    for (size_t k = 0; k < q->N; k++) {
        size_t i = g->r.c->order[k];
        double at = f[i] + q->p.b, s = q->p.s ? q->p.s[i] : 1;
        assert_true(fabs(g->r.f[k] - at) <= 1e-9 * (1 + fabs(at)));
        if (g->engine == KB_GRID_MODEL)
            assert_true(fabs(g->r.push[k] + s * q->p.loss->at(q->p.loss, at, q->y[i]).slope) <=
                        1e-9);
    }
    free(f);
    check_moves(g);
}

/* The largest slope of the objective along a move, as a share of what its parts add up to. */
static double steepest(const kb_grid_cd *g) {
    const kb_l1 *p = g->r.p;
    double most = 0;
    for (size_t q = 0; q < g->moves; q++) {
        double sum = 0, size = 0;
        for (size_t i = 0; i < g->r.N; i++) {
            double s = g->r.s ? g->r.s[i] : 1;
            double part = s * p->loss->at(p->loss, g->r.f[i], g->r.y[i]).slope * g->move[q].row[i];
            sum += part;
            size += fabs(part);
        }
        for (size_t block = 0; block < g->r.c->blocks; block++) {
            size_t begin = g->set.start[block], end = g->set.start[block + 1];
            double length = kb_l1_length(g->w, begin, end);
            for (size_t k = begin; k < end; k++) {
                double side = p->group ? sqrt((double)(end - begin)) * g->w[k] / length
                                       : copysign(g->w[k] != 0, g->w[k]);
                double part = p->lambda * side * g->moved[k][g->move[q].slot];
                sum += part;
                size += fabs(part);
            }
        }
        most = fmax(most, fabs(sum) / size);
    }
    return most;
}

/* ---- the best of them -------------------------------------------------- */

/* Weights that small moves leave their signs, and targets that they explain but for some noise. */
static void put_far_from_zero(problem *q) {
    for (size_t j = 0; j < q->D; j++)
        q->weights[j] = (j % 2 ? 5 : -5) + test_uniform(3, j);
    double *f = dense_apply(q->N, q->D, 1, q->Z, q->weights);
    for (size_t i = 0; i < q->N; i++)
        q->y[i] += f[i];
    free(f);
}

/* For the square loss and weights that keep their signs the objective is a parabola: no slope is
 * left along any of the moves, whichever kind of epoch has made them. */
static void no_slope_is_left_along_the_moves(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < L1_KINDS; kind += 3) {
        problem q = problem_of_kind(ctx, kind, 100, 5);
        kb_grid_cd g;
        put_far_from_zero(&q);
        grid_begin(ctx, &q, 0, &g);
        for (uint64_t round = 0; round < 7; round++) {
            some_span(ctx, &g, round, 0.1);
            assert_int_equal(g.moves, round < 4 ? round + 1 : 4);
            assert_true(steepest(&g) <= 1e-9);
            check_state(&q, &g);
        }
        release(ctx, &g);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* The older of two equal moves has no part in it. */
static void a_move_that_is_there_twice_counts_once(void **unused) {
    kb_context *ctx = test_context();
    problem q = problem_create(ctx, "square", 100, 5);
    kb_grid_cd g;
    (void)unused;
    put_far_from_zero(&q);
    grid_begin(ctx, &q, 0, &g);
    some_span(ctx, &g, 1, 0.1);
    some_span(ctx, &g, 1, 0.1);
    assert_true(g.c[0] != 0 && g.c[1] == 0);
    check_state(&q, &g);
    release(ctx, &g);
    problem_free(&q);
    kb_context_free(ctx);
}

/* A tiny move is mostly rounding: it is not followed a thousand times as far. */
static void tiny_moves_are_not_blown_up(void **unused) {
    kb_context *ctx = test_context();
    problem q = problem_create(ctx, "square", 100, 5);
    kb_grid_cd g;
    (void)unused;
    put_far_from_zero(&q);
    grid_begin(ctx, &q, 0, &g);
    double *d = some_move(&g, 1, 1e-6), *w = malloc(g.set.count * sizeof *w);
    move_by(ctx, &g, d, 0);
    memcpy(w, g.w, g.set.count * sizeof *w);
    assert_ok(ctx, kb_grid_span(&g));
    assert_true(fabs(g.c[0]) > 1000); /* what it would have been */
    assert_same_bits(g.w, w, g.set.count);
    free(d), free(w);
    release(ctx, &g);
    problem_free(&q);
    kb_context_free(ctx);
}

/* Elsewhere it is Newton's step: of the slope along a small move little is left. */
static void little_slope_is_left_of_curved_objectives(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        problem q = span_problem(ctx, kind, 100, 5, 1);
        kb_grid_cd g;
        q.p.lambda = 0.02;
        for (size_t j = 0; j < q.D; j++)
            q.weights[j] = (j % 2 ? 1 : -1) * (1 + test_uniform(3, j));
        grid_begin(ctx, &q, 0, &g);
        double *d = some_move(&g, 1, 0.2);
        move_by(ctx, &g, d, 0);
        kb_grid_cd before = g;
        for (size_t k = 0; k < g.set.count; k++)
            before.moved[k][g.move[0].slot] = d[k];
        for (size_t i = 0; i < q.N; i++)
            before.move[0].row[i] = g.r.f[i] - g.old_f[i];
        double steep = steepest(&before);
        for (size_t k = 0; k < g.set.count; k++) /* where it was: the span takes the difference */
            g.moved[k][g.move[0].slot] = g.w[k] - d[k];
        assert_ok(ctx, kb_grid_span(&g));
        assert_true(steepest(&g) <= steep / 4);
        free(d);
        release(ctx, &g);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* From anywhere, by moves of several sizes, the same one twice among them. */
static void the_objective_never_rises(void **unused) {
    kb_context *ctx = test_context();
    size_t fell = 0, all = 0;
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (double size = 0.01; size < 1.1; size *= 10) {
            problem q = span_problem(ctx, kind, 80, 5, 1);
            kb_grid_cd g;
            for (size_t j = 4; j < q.D && !q.p.group; j += 5)
                q.weights[j] = 0; /* as all are outside of the set */
            grid_begin(ctx, &q, q.p.group ? 0 : 5, &g);
            for (uint64_t round = 0; round < 6; round++, all++) {
                double *d = some_move(&g, round == 3 ? 2 : round, size);
                move_by(ctx, &g, d, q.p.intercept ? size / 2 : 0);
                kb_grid_park(&g);
                double before = objective_of(&q, q.weights, q.p.b);
                assert_ok(ctx, kb_grid_span(&g));
                assert_true(g.objective <= before * (1 + 1e-13));
                fell += g.objective < before * (1 - 1e-9);
                check_state(&q, &g);
                free(d);
            }
            release(ctx, &g);
            problem_free(&q);
        }
    assert_true(fell > all / 2);
    kb_context_free(ctx);
}

/* Those that would change it become zero, and zeros stay.  Groups have no signs. */
static void no_weight_changes_its_sign(void **unused) {
    kb_context *ctx = test_context();
    size_t stopped = 0;
    (void)unused;
    for (int kind = 0; kind < L1_KINDS; kind++) {
        problem q = span_problem(ctx, kind, 80, 5, 0.1);
        kb_grid_cd g;
        grid_begin(ctx, &q, 0, &g);
        double *before = malloc(g.set.count * sizeof *before);
        for (uint64_t round = 0; round < 5; round++) {
            double *d = some_move(&g, round, 0.3);
            for (size_t k = 0; k < g.set.count; k++)
                d[k] = k % 11 == 3 ? -g.w[k] : d[k];
            move_by(ctx, &g, d, 0);
            memcpy(before, g.w, g.set.count * sizeof *before);
            assert_ok(ctx, kb_grid_span(&g));
            for (size_t k = 0; k < g.set.count; k++) {
                assert_true(before[k] != 0 ? before[k] * g.w[k] >= 0 : g.w[k] == 0);
                stopped += before[k] != 0 && g.w[k] == 0;
            }
            free(d);
        }
        free(before);
        release(ctx, &g);
        problem_free(&q);
    }
    assert_true(stopped > 20);
    kb_context_free(ctx);
}

/* ---- what is remembered ------------------------------------------------ */

/* At the minimum over the span nothing changes, to the bit.  And a move is forgotten when four
 * others have come. */
static void moves_come_and_go(void **unused) {
    kb_context *ctx = test_context();
    problem q = problem_create(ctx, "square", 80, 5);
    kb_grid_cd g;
    (void)unused;
    put_far_from_zero(&q);
    grid_begin(ctx, &q, 0, &g);
    double *d = some_move(&g, 1, 0.1), *none = calloc(g.set.count, sizeof *none);
    for (size_t k = 0; k < g.set.count; k++)
        assert_int_equal(kb_grid_is_moving(&g, k), 0);
    move_by(ctx, &g, d, 0);
    assert_ok(ctx, kb_grid_span(&g));
    double *w = malloc(g.set.count * sizeof *w);
    memcpy(w, g.w, g.set.count * sizeof *w);
    for (size_t round = 1; round <= KB_GRID_MOVES; round++) {
        for (size_t k = 0; k < g.set.count; k++)
            assert_int_equal(kb_grid_is_moving(&g, k), d[k] != 0);
        move_by(ctx, &g, none, 0);
        assert_ok(ctx, kb_grid_span(&g));
        assert_same_bits(g.w, w, g.set.count);
    }
    for (size_t k = 0; k < g.set.count; k++)
        assert_int_equal(kb_grid_is_moving(&g, k), 0);
    free(d), free(none), free(w);
    release(ctx, &g);
    problem_free(&q);
    kb_context_free(ctx);
}

static void zeros_are_taken_out_of_the_moves(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < KINDS; kind += 5) {
        problem q = span_problem(ctx, kind, 80, 5, 1);
        kb_grid_cd g;
        grid_begin(ctx, &q, 0, &g);
        for (uint64_t round = 0; round < 3; round++)
            some_span(ctx, &g, round, 0.1);
        for (size_t k = 0; k < g.set.count; k += 3)
            g.w[k] = 0;
        kb_grid_drop_zeros(&g);
        check_moves(&g);
        for (size_t k = 0; k < g.set.count; k++)
            if (g.w[k] == 0)
                assert_int_equal(kb_grid_is_moving(&g, k), 0);
        release(ctx, &g);
        problem_free(&q);
    }
    kb_context_free(ctx);
}

/* Weights and moves go back to their columns, and are found there by another set. */
static void a_round_ends_and_another_begins(void **unused) {
    kb_context *ctx = test_context();
    problem q = problem_create(ctx, "logistic", 80, 5);
    kb_grid_cd g;
    double unread;
    (void)unused;
    put_somewhere(&q, 1);
    grid_begin(ctx, &q, 0, &g);
    for (uint64_t round = 0; round < 3; round++)
        some_span(ctx, &g, round, 0.1);
    size_t places = g.set.count;
    double *w = malloc(places * sizeof *w),
           (*moved)[KB_GRID_MOVES] = malloc(places * sizeof *moved);
    kb_grid_drop_zeros(&g);
    memcpy(w, g.w, places * sizeof *w);
    memcpy(moved, g.moved, places * sizeof *moved);
    kb_grid_park(&g);
    assert_same_bits(q.weights, w, places); /* place k was column k */
    memset(g.moved, 0x41, places * sizeof *moved);
    choose_set(&g, &unread);
    assert_true(g.set.count < places && g.set.count > 10);
    for (size_t k = 0; k < g.set.count; k++) {
        size_t j = g.set.column[k];
        double all = plain_sum(g.r.c, j, NULL, 1);
        assert_true(g.w[k] == w[j]);
        assert_true(fabs(g.H[k] - all) <= 1e-12 * all);
        assert_true(g.miss[k] == kb_grid_miss(w[j], g.r.pull[j], q.p.lambda));
        assert_same_bits(g.moved[k], moved[j], KB_GRID_MOVES);
    }
    size_t last = g.set.count - 1;
    kb_grid_shift(&g, last, 2);
    assert_true(g.w[2] == g.w[last] && g.H[2] == g.H[last]);
    assert_same_bits(g.moved[2], g.moved[last], KB_GRID_MOVES);
    free(w), free(moved);
    release(ctx, &g);
    problem_free(&q);
    kb_context_free(ctx);
}

/* So many rows are shared by the threads. */
static void threads_change_no_bit(void **unused) {
    static const int team[] = {1, 2, 5};
    (void)unused;
    for (int kind = 0; kind < 3; kind++) {
        double *first = NULL, *first_f = NULL;
        for (int t = 0; t < 3; t++) {
            test_state state = {0};
            kb_context *ctx = test_context_with(&state, team[t]);
            problem q = span_problem(ctx, kind, 40000, 2, 1);
            kb_grid_cd g;
            grid_begin(ctx, &q, 0, &g);
            for (uint64_t round = 0; round < 4; round++)
                some_span(ctx, &g, round, 0.2);
            if (t == 0) {
                first = malloc(q.D * sizeof *first), first_f = malloc(q.N * sizeof *first);
                memcpy(first, g.w, q.D * sizeof *first);
                memcpy(first_f, g.r.f, q.N * sizeof *first);
            }
            assert_same_bits(g.w, first, q.D);
            assert_same_bits(g.r.f, first_f, q.N);
            release(ctx, &g);
            problem_free(&q);
            kb_context_free(ctx);
            assert_int_equal(state.live, 0);
        }
        free(first), free(first_f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_slope_is_left_along_the_moves),
        cmocka_unit_test(a_move_that_is_there_twice_counts_once),
        cmocka_unit_test(tiny_moves_are_not_blown_up),
        cmocka_unit_test(little_slope_is_left_of_curved_objectives),
        cmocka_unit_test(the_objective_never_rises),
        cmocka_unit_test(no_weight_changes_its_sign),
        cmocka_unit_test(moves_come_and_go),
        cmocka_unit_test(zeros_are_taken_out_of_the_moves),
        cmocka_unit_test(a_round_ends_and_another_begins),
        cmocka_unit_test(threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
