/* Products of Fourier features and of landmarks: against the matrix Z, made sample by sample. */
#include "features/matrix.h"
#include "rivals/maps.h"

static const rivalry MAPS[] = {
    {NULL, KB_RIVAL_FOURIER, "laplace", 37, 0, 0},
    {NULL, KB_RIVAL_FOURIER, "gauss", 1, 0, 0},
    {NULL, KB_RIVAL_NYSTROM, "laplace", 20, KB_LANDMARKS_UNIFORM, 0},
    {NULL, KB_RIVAL_NYSTROM, "gauss", 1, KB_LANDMARKS_KMEANS, 0},
};
enum { MAP_COUNT = sizeof MAPS / sizeof *MAPS };

static rivalry map_over(int k, const cloud *c) {
    rivalry t = MAPS[k];
    t.c = c;
    return t;
}

/* Some rows of the cloud's samples. */
static kb_data *rows_of(kb_context *ctx, const cloud *c, size_t begin, size_t count) {
    kb_data *data;
    assert_ok(ctx, data_from_dense(ctx, count, c->d, c->x + begin * c->d, NULL, &data));
    return data;
}

/* Z from the formulas of rival.h: cosines as floats, or L z = k(landmarks, x) row by row. */
static double *plain_rows(const rivalry *t, const kb_rival *r) {
    size_t N = t->c->N, R = r->columns, d = t->c->d;
    double *Z = malloc(N * R * sizeof *Z);
    assert_non_null(Z);
    for (size_t i = 0; i < N; i++) {
        const double *x = t->c->x + i * d;
        double *z = Z + i * R;
        for (size_t k = 0; k < R; k++) {
            double sum = r->kind == KB_RIVAL_FOURIER ? r->phase[k] : 0, product = 0;
            for (size_t j = 0; j < d; j++) {
                double y = (x[j] - t->c->shift[j]) * r->factor[j];
                if (r->kind == KB_RIVAL_FOURIER) {
                    sum += y * *kb_fourier_at(r, k, j);
                } else {
                    double gap = y - r->points->dense[k * d + j];
                    sum += fabs(gap);
                    product += gap * gap;
                }
            }
            z[k] = r->kind == KB_RIVAL_FOURIER
                       ? (float)(sqrt(2.0 / (double)R) * cos(2 * 3.14159265358979323846 * sum))
                   : t->kernel[0] == 'g' ? exp(-product / 2)
                                         : exp(-sum);
        }
        for (size_t k = 0; r->kind == KB_RIVAL_NYSTROM && k < R; k++) {
            for (size_t m = 0; m < k; m++)
                z[k] -= r->triangle.L[k * R + m] * z[m];
            z[k] *= r->triangle.inverse[k];
        }
    }
    return Z;
}

/* Less than a tile of rows, a tile, one more, and several; stored, and made again each time. */
static void products_are_those_of_the_matrix(void **unused) {
    static const size_t sizes[] = {1, 2, KB_TILE, KB_TILE + 1, 330};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int k = 0; k < MAP_COUNT; k++)
            for (int stored = 0; stored < 2; stored++) {
                cloud c = cloud_build(ctx, sizes[s], 3, 5);
                rivalry t = map_over(k, &c);
                kb_rival *r;
                kb_operator *op;
                assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
                assert_ok(ctx, kb_dense_map_operator(ctx, r, c.dense, stored ? SIZE_MAX : 0, &op));
                assert_int_equal(op->rows, c.N);
                assert_int_equal(op->columns, r->columns);
                double *Z = plain_rows(&t, r);
                for (size_t w = 0; w < 5; w += 2) {
                    double *v = test_numbers(2, c.N * COLUMNS[w]);
                    /* A cosine may be rounded to the next float; L^-1 makes 1e-13 larger. */
                    check_operator(ctx, op, Z, COLUMNS[w], v,
                                   r->kind == KB_RIVAL_FOURIER ? 1e-6 : 1e-10);
                    free(v);
                }
                kb_operator_free(op);
                kb_rival_free(r);
                free(Z);
                cloud_free(&c);
            }
    kb_context_free(ctx);
}

/* What fits into the room is stored: exactly so many bytes, and not one less. */
static void rows_are_stored_where_there_is_room(void **unused) {
    enum { N = 50 };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, 3, 5);
    (void)unused;
    for (int k = 0; k < MAP_COUNT; k++) {
        rivalry t = map_over(k, &c);
        kb_rival *r;
        long taken[2];
        assert_ok(ctx, rival_of(ctx, &t, c.dense, &r));
        size_t bytes = N * r->columns * (r->kind == KB_RIVAL_FOURIER ? 4 : 8);
        for (size_t less = 0; less < 2; less++) {
            test_state state = {0};
            kb_context *mine = test_context_with(&state, 1);
            kb_operator *op;
            assert_ok(mine, kb_dense_map_operator(mine, r, c.dense, bytes - less, &op));
            taken[less] = state.live;
            assert_int_equal(state.progress, less ? 0 : 1); /* it is the storing that takes time */
            kb_operator_free(op);
            kb_context_free(mine);
            assert_int_equal(state.live, 0);
        }
        assert_true(taken[0] < taken[1]); /* one array against points of several */
        kb_rival_free(r);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

/* More samples than are made points at once: as if each came alone. */
static void decisions_and_features_are_made_row_by_row(void **unused) {
    enum { N = KB_SPAN + 30, C = 2 };
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, N, 2, 5);
    (void)unused;
    for (int k = 0; k < MAP_COUNT; k++) {
        rivalry t = map_over(k, &c);
        kb_data *few = rows_of(ctx, &c, 0, 100);
        kb_rival *r;
        assert_ok(ctx, rival_of(ctx, &t, few, &r));
        size_t R = r->columns;
        double *w = test_numbers(3, R * C), *f = numbers_for(N * C), *z = numbers_for(N * R);
        double one[C], row[64];
        assert_ok(ctx, kb_dense_map_decide(ctx, r, c.dense, C, w, f));
        assert_ok(ctx, kb_dense_map_features(ctx, r, c.dense, z));
        for (size_t i = 0; i<N; i += i> 100 && i + 70 < N ? 53 : 1) {
            kb_data *alone = rows_of(ctx, &c, i, 1);
            assert_ok(ctx, kb_dense_map_decide(ctx, r, alone, C, w, one));
            assert_ok(ctx, kb_dense_map_features(ctx, r, alone, row));
            assert_same_bits(one, f + i * C, C);
            assert_same_bits(row, z + i * R, R);
            for (size_t a = 0; a < C; a++) {
                double want = 0;
                for (size_t b = 0; b < R; b++)
                    want += z[i * R + b] * w[b * C + a];
                assert_true(fabs(f[i * C + a] - want) < 1e-9);
            }
            kb_data_free(alone);
        }
        free(w), free(f), free(z);
        kb_rival_free(r);
        kb_data_free(few);
    }
    cloud_free(&c);
    kb_context_free(ctx);
}

static int decide(kb_context *ctx, void *arg) {
    const rivalry *t = arg;
    kb_rival *r = NULL;
    kb_operator *op = NULL;
    kb_status status;
    double *w = test_numbers(3, 64), *f = test_numbers(4, t->c->N * 37);
    TRY(rival_of(ctx, t, t->c->dense, &r));
    TRY(kb_dense_map_operator(ctx, r, t->c->dense, SIZE_MAX, &op));
    TRY(kb_dense_map_decide(ctx, r, t->c->sparse, 1, w, f));
    TRY(kb_dense_map_features(ctx, r, t->c->dense, f));
done:
    kb_operator_free(op);
    kb_rival_free(r);
    free(w), free(f);
    return (int)status;
}

static void it_may_be_cancelled_and_every_allocation_may_fail(void **unused) {
    kb_context *ctx = test_context();
    cloud c = cloud_build(ctx, 30, 2, 5), many = cloud_build(ctx, KB_SPAN + 9, 2, 5);
    (void)unused;
    for (int k = 0; k < MAP_COUNT; k++) {
        rivalry t = map_over(k, &c), long_one = map_over(k, &many);
        run_with_cancellations(decide, &long_one, 2, 6); /* two spans, three times */
        run_with_allocation_failures(decide, &t);
    }
    cloud_free(&c);
    cloud_free(&many);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_the_matrix),
        cmocka_unit_test(rows_are_stored_where_there_is_room),
        cmocka_unit_test(decisions_and_features_are_made_row_by_row),
        cmocka_unit_test(it_may_be_cancelled_and_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
