/* Data through a transform: against its formula, and in every form. */
#include "data/transforming.h"

/* ---- a transform made by hand ------------------------------------------ */

/* Of three inputs the third and the first unchanged, and the first by its ranks. */
static kb_transform *made(kb_context *ctx) {
    kb_transform *t;
    assert_ok(ctx, kb_transform_create(ctx, 3, 3, 3, 0, &t));
    const double low[] = {-2, 0, 1}, high[] = {6, 0, 3}, shift[] = {-2, 1, 0};
    const double factor[] = {0.125, 0.5, 1}, knot[] = {-2, 0, 6}, rank[] = {0.1, 0.5, 0.8};
    memcpy(t->low, low, sizeof low);
    memcpy(t->high, high, sizeof high);
    memcpy(t->shift, shift, sizeof shift);
    memcpy(t->factor, factor, sizeof factor);
    memcpy(t->knot, knot, sizeof knot);
    memcpy(t->rank, rank, sizeof rank);
    t->source[0] = 0, t->source[1] = 2, t->source[2] = 0;
    t->knot_start[3] = 3;
    assert_true(kb_transform_is_sound(t));
    return t;
}

static void values_are_those_of_the_formula(void **unused) {
    const double x[] = {-2, 9, 1, 0, 9, 2, 3, 9, 3, 6, 9, 0, 99, 9, 99, -99, 9, -99};
    const double want[] = {0, 0, 0.1, 0.25, 0.5, 0.5, 0.625, 1, 0.65,
                           1, 0, 0.8, 1,    1,   0.8, 0,     0, 0.1};
    kb_context *ctx = test_context();
    kb_transform *t = made(ctx);
    (void)unused;
    assert_ok(ctx, kb_transform_finish(ctx, t));
    assert_false(t->keeps_zero);
    for (int form = 0; form < 2; form++) {
        kb_data *data = form ? sparse_of(ctx, 6, 3, x) : dense_of(ctx, 6, 3, x);
        kb_data *out = applied(ctx, t, data);
        assert_non_null(out->dense); /* zeros move */
        for (size_t k = 0; k < 18; k++)
            assert_true(fabs(out->dense[k] - want[k]) < 1e-15);
        assert_true(kb_transform_bytes(t, data) == 8 * 18);
        kb_data_free(out);
        kb_data_free(data);
    }
    kb_transform_free(t);
    kb_context_free(ctx);
}

static void assert_same_data(const kb_data *a, size_t from, const kb_data *b) {
    for (size_t i = 0; i < b->rows; i++) {
        kb_row p = kb_data_row(a, from + i), q = kb_data_row(b, i);
        assert_int_equal(p.count, q.count);
        assert_memory_equal(p.value, q.value, p.count * sizeof(double));
        if (p.column)
            assert_memory_equal(p.column, q.column, p.count * sizeof(uint32_t));
    }
}

/* Where 0 stays 0, even ranks do, sparse rows stay sparse: values first, then ranks. */
static void zeros_that_stay_are_left_out(void **unused) {
    const double x[] = {3, 0, 2, 0, 5, 0, 6, 0, 0};
    kb_context *ctx = test_context();
    kb_transform *t = made(ctx);
    kb_data *data = compressed(ctx, 3, 3, x, NULL, 7), *room;
    (void)unused;
    t->shift[0] = t->shift[1] = t->low[0] = t->low[2] = t->rank[0] = 0;
    t->knot[0] = 0, t->knot[1] = 3;
    assert_true(kb_transform_is_sound(t));
    assert_ok(ctx, kb_transform_finish(ctx, t));
    assert_true(t->keeps_zero);
    kb_data *out = applied(ctx, t, data);
    assert_null(out->dense);
    static const size_t start[] = {0, 3, 3, 5};
    static const uint32_t column[] = {0, 1, 2, 0, 2};
    static const double value[] = {0.375, 1, 0.5, 0.75, 0.8};
    assert_memory_equal(out->row_start, start, sizeof start);
    assert_memory_equal(out->column, column, sizeof column);
    for (size_t e = 0; e < 5; e++)
        assert_true(fabs(out->value[e] - value[e]) < 1e-15);
    assert_true(kb_transform_bytes(t, data) >= 8.0 * 3 + 12.0 * 4);
    assert_ok(ctx, kb_transform_room(ctx, t, data, 1, &room)); /* with room for the ranks */
    for (size_t i = 0; i < 3; i++) {
        kb_transform_rows(t, data, i, 1, room);
        assert_same_data(out, i, room);
    }
    kb_data_free(room);
    kb_data_free(out);
    kb_data_free(data);
    kb_transform_free(t);
    kb_context_free(ctx);
}

/* ---- with mixtures ----------------------------------------------------- */

/* The same with these weights of two mixtures, clipped to -1 and 1. */
static kb_transform *mixed(kb_context *ctx, kb_transform *t, const double *weight, double offset) {
    kb_mixtures m;
    kb_transform *out;
    assert_ok(ctx, kb_mixtures_create(ctx, 2, t->plain, &m));
    memcpy(m.weight, weight, 2 * t->plain * sizeof *weight);
    for (int k = 0; k < 2; k++)
        m.low[k] = -1, m.high[k] = 1;
    m.offset[1] = offset;
    assert_ok(ctx, kb_transform_mix(ctx, t, &m, &out));
    assert_true(kb_transform_is_sound(out));
    assert_int_equal(kb_transform_features(out), t->plain + 2);
    assert_int_equal(t->mixtures.count, 0); /* it is unchanged */
    kb_mixtures_release(kb_allocator_of(ctx), &m);
    kb_transform_free(t);
    return out;
}

static void mixtures_come_behind_what_they_are_made_of(void **unused) {
    const double x[] = {-2, 9, 1, 3, 9, 3, 0, 0, 0}, weight[] = {1, -2, 1, 0, 0, 4};
    const double want[] = {0, 0, 0.1, 0.1, 0.7, 0.625, 1, 0.65, -0.725, 1, 0.25, 0, 0.5, 0.75, 1};
    kb_context *ctx = test_context();
    kb_transform *t = mixed(ctx, made(ctx), weight, 0.3);
    (void)unused;
    assert_false(t->keeps_zero);
    for (int form = 0; form < 2; form++) {
        kb_data *data = form ? sparse_of(ctx, 3, 3, x) : dense_of(ctx, 3, 3, x), *room;
        kb_data *out = applied(ctx, t, data);
        assert_non_null(out->dense);
        for (size_t k = 0; k < 15; k++)
            assert_true(fabs(out->dense[k] - want[k]) < 1e-15);
        assert_true(kb_transform_bytes(t, data) == 8 * 15);
        assert_ok(ctx, kb_transform_room(ctx, t, data, 2, &room));
        for (size_t i = 0; i < 3; i += 2) {
            kb_transform_rows(t, data, i, i ? 1 : 2, room);
            assert_same_data(out, i, room);
        }
        kb_data_free(room);
        kb_data_free(out);
        kb_data_free(data);
    }
    kb_transform_free(t);
    kb_context_free(ctx);
}

/* A mixture of what is there; a row without any has mixtures too. */
static void mixtures_of_sparse_rows(void **unused) {
    const double x[] = {3, 0, 2, 0, 5, 0, 6, 0, 0}, weight[] = {1, -2, 0.5, 0, 0.5, 0};
    kb_context *ctx = test_context();
    (void)unused;
    for (int shifted = 0; shifted < 2; shifted++) {
        kb_transform *t = made(ctx);
        kb_data *data = compressed(ctx, 3, 3, x, NULL, 7), *room;
        t->shift[0] = t->shift[1] = t->low[0] = t->low[2] = t->rank[0] = 0;
        t->knot[0] = 0, t->knot[1] = 3;
        t = mixed(ctx, t, weight, shifted ? 0.25 : 0);
        assert_int_equal(t->keeps_zero, !shifted);
        kb_data *out = applied(ctx, t, data);
        assert_int_equal(out->dense != NULL, shifted);
        static const double cells[] = {0.375, 1, 0.5, -1, 0.5, 0, 0, 0, 0, 0, 0.75, 0, 0.8, 1, 0};
        for (size_t k = 0; k < 15; k++)
            assert_true(fabs(cell(out, k / 5, k % 5) - cells[k] -
                             (shifted && k % 5 == 4 ? 0.25 : 0)) < 1e-15);
        if (!shifted) {
            static const size_t start[] = {0, 5, 7, 11};
            static const uint32_t column[] = {0, 1, 2, 3, 4, 3, 4, 0, 2, 3, 4};
            assert_memory_equal(out->row_start, start, sizeof start);
            assert_memory_equal(out->column, column, sizeof column);
        }
        assert_ok(ctx, kb_transform_room(ctx, t, data, 1, &room));
        for (size_t i = 0; i < 3; i++) {
            kb_transform_rows(t, data, i, 1, room);
            assert_same_data(out, i, room);
        }
        kb_data_free(room);
        kb_data_free(out);
        kb_data_free(data);
        kb_transform_free(t);
    }
    kb_context_free(ctx);
}

static void damaged_mixtures_are_seen(void **unused) {
    const double weight[] = {1, -2, 0.5, 0, 0.5, 0};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 5; k++) {
        kb_transform *t = mixed(ctx, made(ctx), weight, 0);
        double *const at[] = {&t->mixtures.weight[5], &t->mixtures.offset[0], &t->mixtures.low[1],
                              &t->mixtures.high[0]};
        if (k < 4)
            *at[k] = k == 2 ? 2 : NAN;
        else
            t->features = (size_t)KB_FEATURES_MAX + 1;
        if (kb_transform_is_sound(t))
            fail_msg("damage %d is not seen", k);
        kb_transform_free(t);
    }
    kb_context_free(ctx);
}

/* One thing wrong at a time, as a file may have it. */
static void what_is_not_sound_is_seen(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 23; k++) {
        kb_transform *t = made(ctx);
        size_t inputs = t->inputs, plain = t->plain;
        switch (k) {
        case 0:
            t->plain = 0;
            break;
        case 1:
            t->inputs = (size_t)KB_FEATURES_MAX + 1;
            break;
        case 2:
            t->knot_start[0] = 1;
            break;
        case 3:
            t->source[1] = 3;
            break;
        case 4:
            t->knot_start[1] = 4;
            break;
        case 5:
            t->knot_start[3] = 1; /* one knot is no line */
            break;
        case 6:
            t->low[0] = 7;
            break;
        case 7:
            t->low[1] = NAN;
            break;
        case 8:
            t->high[2] = INFINITY;
            break;
        case 9:
            t->shift[0] = NAN;
            break;
        case 10:
            t->factor[2] = INFINITY;
            break;
        case 11:
            t->knot[1] = NAN;
            break;
        case 12:
            t->rank[2] = NAN;
            break;
        case 13:
            t->source[1] = 0;
            break; /* not behind the first */
        case 14:
            t->source[0] = 2, t->source[1] = 0;
            break;
        case 15:
            t->factor[0] = -1;
            break;
        case 16:
            t->knot[1] = -2;
            break;
        case 17:
            t->knot[1] = 7;
            break;
        case 18:
            t->rank[1] = 0.9;
            break;
        case 19:
            t->rank[0] = -0.1;
            break;
        case 20:
            t->rank[2] = 1.1;
            break;
        case 21: /* overflows */
            t->high[0] = 1e300;
            t->factor[0] = 1e300;
            break;
        case 22: /* ranks without values */
            t->plain = 1;
            t->knot_start[1] = 3;
            break;
        }
        if (kb_transform_is_sound(t))
            fail_msg("damage %d is not seen", k);
        t->inputs = inputs;
        t->plain = plain;
        kb_transform_free(t);
    }
    kb_context_free(ctx);
}

/* Knots whose distance overflows: halves are used. */
static void ranks_between_huge_knots_are_finite(void **unused) {
    const double x[] = {-DBL_MAX, 0, 1, 0, 0, 1, DBL_MAX / 2, 0, 1};
    const double want[] = {0.1, 0.35, 0.475};
    kb_context *ctx = test_context();
    kb_transform *t = made(ctx);
    kb_data *data = dense_of(ctx, 3, 3, x);
    (void)unused;
    t->low[0] = t->knot[0] = -DBL_MAX;
    t->high[0] = t->knot[1] = DBL_MAX;
    t->rank[1] = 0.6;
    t->factor[0] = 0;
    t->knot_start[3] = 2;
    assert_true(kb_transform_is_sound(t));
    assert_ok(ctx, kb_transform_finish(ctx, t));
    kb_data *out = applied(ctx, t, data);
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(out->dense[3 * i + 2] - want[i]) < 1e-15);
    kb_data_free(out);
    kb_data_free(data);
    kb_transform_free(t);
    kb_context_free(ctx);
}

/* ---- one that was learned ----------------------------------------------- */

/* With two mixtures of its columns, if asked for. */
static kb_status learn(kb_context *ctx, const kb_data *data, int mix, kb_transform **out) {
    kb_status status;
    kb_transform *plain = NULL;
    kb_data *x = NULL;
    kb_mixtures m = {0};
    static const uint32_t row[] = {0, 1, 2, 3, 4, 5, 6, 7};
    *out = NULL;
    TRY(kb_transform_learn(ctx, data, &plain));
    TRY(kb_transform_apply(ctx, plain, data, &x));
    TRY(kb_mixtures_create(ctx, 2, plain->features, &m));
    for (size_t k = 0; k < 2 * plain->features; k++)
        m.weight[k] = sin((double)k + 1);
    kb_mixtures_fit(x, 8, row, &m);
    if (mix) {
        TRY(kb_transform_mix(ctx, plain, &m, out));
    } else {
        *out = plain;
        plain = NULL;
    }
done:
    kb_mixtures_release(kb_allocator_of(ctx), &m);
    kb_data_free(x);
    kb_transform_free(plain);
    return status;
}

static kb_transform *learned_and_mixed(kb_context *ctx, const kb_data *data, int mix) {
    kb_transform *t;
    assert_ok(ctx, learn(ctx, data, mix, &t));
    assert_true(kb_transform_is_sound(t));
    assert_int_equal(t->features - t->plain, mix ? 2 : 0);
    return t;
}

/* A transform that moves zeros makes sparse rows dense, with the values of the dense ones. */
static void the_form_of_the_data_does_not_matter(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N);
    kb_data *dense = dense_of(ctx, N, D, x), *sparse = sparse_of(ctx, N, D, x);
    (void)unused;
    for (int mix = 0; mix < 2; mix++) {
        kb_transform *t = learned_and_mixed(ctx, dense, mix);
        kb_data *a = applied(ctx, t, dense), *b = applied(ctx, t, sparse);
        assert_false(kb_data_is_sparse(b));
        assert_memory_equal(a->dense, b->dense, N * kb_transform_features(t) * sizeof(double));
        kb_data_free(a);
        kb_data_free(b);
        kb_transform_free(t);
        /* One that keeps them gives dense rows the values of sparse ones. */
        t = learned_and_mixed(ctx, sparse, mix);
        assert_true(t->keeps_zero);
        a = applied(ctx, t, dense), b = applied(ctx, t, sparse);
        assert_true(kb_data_is_sparse(b));
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < t->features; j++)
                assert_true(cell(a, i, j) == cell(b, i, j));
        kb_data_free(a);
        kb_data_free(b);
        kb_transform_free(t);
    }
    kb_data_free(dense);
    kb_data_free(sparse);
    free(x);
    kb_context_free(ctx);
}

/* Values outside the range of the training data count as the nearest value in it; so does a zero
 * that is not stored, in a column without zeros. */
static void values_are_clipped_to_the_training_range(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N), far[3 * D], edge[3 * D];
    kb_data *dense = dense_of(ctx, N, D, x), *sparse = sparse_of(ctx, N, D, x);
    (void)unused;
    for (size_t j = 0; j < D; j++) {
        double low, high;
        range_of(x, N, D, j, &low, &high);
        far[j] = edge[j] = low;
        far[D + j] = -DBL_MAX;
        edge[D + j] = low;
        far[2 * D + j] = DBL_MAX;
        edge[2 * D + j] = high;
    }
    for (int k = 0; k < 2; k++) {
        const kb_data *data = k ? sparse : dense;
        kb_transform *t = learned(ctx, data);
        kb_data *rows = dense_of(ctx, 3, D, far), *ends = dense_of(ctx, 3, D, edge);
        kb_data *a = applied(ctx, t, rows), *b = applied(ctx, t, ends);
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < kb_transform_features(t); j++) {
                size_t s = kb_transform_source(t, j);
                double want = cell(b, i, j);
                if (k && i == 1 && s == 5) /* 0 belongs to the range of sparse data */
                    want = 0;
                assert_true(cell(a, i, j) == want);
            }
        kb_data_free(a);
        kb_data_free(b);
        kb_data_free(rows);
        kb_data_free(ends);
        kb_transform_free(t);
    }
    kb_data_free(dense);
    kb_data_free(sparse);
    free(x);
    kb_context_free(ctx);
}

static void some_rows_are_those_of_the_whole(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N);
    kb_data *dense = dense_of(ctx, N, D, x), *sparse = sparse_of(ctx, N, D, x), *room;
    (void)unused;
    for (int k = 0; k < 8; k++) {
        kb_transform *t = learned_and_mixed(ctx, k & 1 ? sparse : dense, k & 4);
        const kb_data *data = k & 2 ? sparse : dense;
        kb_data *all = applied(ctx, t, data);
        assert_ok(ctx, kb_transform_room(ctx, t, data, 600, &room));
        for (size_t begin = 0; begin < N; begin += 600) {
            kb_transform_rows(t, data, begin, N - begin < 600 ? N - begin : 600, room);
            assert_same_data(all, begin, room);
        }
        double bytes = kb_transform_bytes(t, data);
        assert_true(all->dense ? bytes == 8.0 * N * (double)all->features
                               : bytes >= 8.0 * N + 12.0 * (double)all->row_start[N]);
        kb_data_free(room);
        kb_data_free(all);
        kb_transform_free(t);
    }
    kb_data_free(dense);
    kb_data_free(sparse);
    free(x);
    kb_context_free(ctx);
}

static void threads_change_nothing(void **unused) {
    double *x = cells(N);
    (void)unused;
    for (int k = 0; k < 2; k++) {
        test_state state[2] = {{0}, {0}};
        kb_context *ctx[2] = {test_context_with(&state[0], 1), test_context_with(&state[1], 5)};
        kb_data *out[2], *data = k ? sparse_of(ctx[0], N, D, x) : dense_of(ctx[0], N, D, x);
        kb_transform *t[2];
        for (int c = 0; c < 2; c++) {
            t[c] = learned_and_mixed(ctx[c], data, 1);
            out[c] = applied(ctx[c], t[c], data);
        }
        size_t knots = t[0]->knot_start[t[0]->plain];
        assert_int_equal(knots, t[1]->knot_start[t[1]->plain]);
        assert_memory_equal(t[0]->knot, t[1]->knot, knots * sizeof(double));
        assert_memory_equal(t[0]->rank, t[1]->rank, knots * sizeof(double));
        assert_same_data(out[0], 0, out[1]);
        for (int c = 0; c < 2; c++) {
            kb_data_free(out[c]);
            kb_transform_free(t[c]);
        }
        kb_data_free(data);
        kb_context_free(ctx[0]);
        kb_context_free(ctx[1]);
    }
    free(x);
}

static void other_features_are_refused(void **unused) {
    static const double x[] = {1, 2, 3, 4};
    kb_context *ctx = test_context();
    kb_data *two = dense_of(ctx, 2, 2, x), *four = dense_of(ctx, 1, 4, x), *out;
    kb_transform *t = learned(ctx, two);
    (void)unused;
    assert_fails(ctx, KB_ERR_DATA, "the data have 4 features instead of 2",
                 kb_transform_apply(ctx, t, four, &out));
    assert_null(out);
    kb_transform_free(t);
    kb_data_free(two);
    kb_data_free(four);
    kb_context_free(ctx);
}

static int learn_and_apply(kb_context *ctx, void *arg) {
    kb_status status;
    kb_transform *t = NULL;
    kb_data *out = NULL, *room = NULL;
    TRY(learn(ctx, arg, 1, &t));
    TRY(kb_transform_apply(ctx, t, arg, &out));
    TRY(kb_transform_room(ctx, t, arg, 100, &room));
done:
    kb_transform_free(t);
    kb_data_free(out);
    kb_data_free(room);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    double *x = cells(N);
    (void)unused;
    for (int sparse = 0; sparse < 2; sparse++) {
        kb_data *data = sparse ? sparse_of(ctx, N, D, x) : dense_of(ctx, N, D, x);
        run_with_allocation_failures(learn_and_apply, data);
        kb_data_free(data);
    }
    free(x);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_formula),
        cmocka_unit_test(zeros_that_stay_are_left_out),
        cmocka_unit_test(mixtures_come_behind_what_they_are_made_of),
        cmocka_unit_test(mixtures_of_sparse_rows),
        cmocka_unit_test(damaged_mixtures_are_seen),
        cmocka_unit_test(what_is_not_sound_is_seen),
        cmocka_unit_test(ranks_between_huge_knots_are_finite),
        cmocka_unit_test(the_form_of_the_data_does_not_matter),
        cmocka_unit_test(values_are_clipped_to_the_training_range),
        cmocka_unit_test(some_rows_are_those_of_the_whole),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(other_features_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
