/* The terms of validation rows against the metrics by brute force. */
#include "features/world.h"

#include "model/model.h"
#include "trial/metric_terms.h"
#include "trial/rules.h"

#include <math.h>
#include <stdlib.h>

enum { N = 180, HELD = 120 };

typedef struct example {
    size_t C, K;
    double y[N * 3], f[HELD * 3], weight[N];
    uint32_t class_of[N], row[HELD];
} example;

/* Decisions with ties that have something to do with the classes; C 0 is regression. */
static example *make(size_t C, int weighted) {
    example *e = calloc(1, sizeof *e);
    e->C = C > 0 ? C : 1;
    e->K = C > 1 ? C : 2;
    for (size_t i = 0; i < N; i++) {
        e->class_of[i] = (uint32_t)(test_uniform(1, i) * test_uniform(2, i) * (double)e->K);
        e->weight[i] = weighted ? (double)(i % 3) : 1;
        for (size_t c = 0; c < e->C; c++)
            e->y[i * e->C + c] = C == 0   ? 3 * test_uniform(3, i)
                                 : C == 1 ? (e->class_of[i] == 1 ? 1 : -1)
                                          : (e->class_of[i] == c ? 1 : -1);
    }
    for (size_t h = 0; h < HELD; h++) {
        e->row[h] = (uint32_t)(h * N / HELD);
        for (size_t c = 0; c < e->C; c++)
            e->f[h * e->C + c] =
                round(4 * (0.4 * e->y[e->row[h] * e->C + c] + 2 * test_uniform(4, h * 3 + c) - 1)) /
                4;
    }
    return e;
}

static kb_metric_rows rows_of(const example *e, kb_metric_kind metric, int classes) {
    return (kb_metric_rows){metric,    HELD, e->C, e->row, e->y, classes ? e->class_of : NULL,
                            e->weight, 0.3,  e->f};
}

static double terms_of(kb_context *ctx, const example *e, kb_metric_kind metric, int classes,
                       double *term) {
    kb_metric_rows x = rows_of(e, metric, classes);
    kb_metric_room room;
    assert_ok(ctx, kb_metric_room_build(ctx, metric, HELD, e->C, &room));
    double score = kb_metric_terms(&x, &room), sum = 0;
    for (size_t h = 0; h < HELD; h++)
        sum += term[h] = room.term[h];
    assert_true(fabs(sum - score) <= 1e-14 * fabs(score));
    kb_metric_room_release(ctx, &room);
    return score;
}

static double w_of(const example *e, size_t h) {
    return e->weight[e->row[h]];
}

static double square_of(const example *e, size_t h) {
    double sum = 0;
    for (size_t c = 0; c < e->C; c++)
        sum += pow(e->f[h * e->C + c] - e->y[e->row[h] * e->C + c], 2);
    return sum / (e->C > 1 ? 8 : 4);
}

static double chance(double f) {
    return f <= -0.998 ? 0.001 : f >= 0.998 ? 0.999 : (1 + f) / 2;
}

static double probability(const example *e, size_t h, size_t k) {
    double sum = 0;
    if (e->C == 1)
        return k ? chance(e->f[h]) : 1 - chance(e->f[h]);
    for (size_t c = 0; c < e->C; c++)
        sum += chance(e->f[h * e->C + c]);
    return chance(e->f[h * e->C + k]) / sum;
}

/* Straight from the definitions. */
static double brute_force(const example *e, kb_metric_kind metric) {
    double total = 0, means = 0, wrong = 0, squares = 0, balanced = 0;
    size_t first = e->C == 1 ? 1 : 0;
    for (size_t h = 0; h < HELD; h++)
        total += w_of(e, h);
    for (size_t h = 0; h < HELD; h++) {
        size_t k = e->class_of[e->row[h]];
        squares += w_of(e, h) / total * square_of(e, h);
        if (metric == KB_METRIC_LOG_LOSS)
            means -= w_of(e, h) / total * log(probability(e, h, k));
        for (size_t c = 0; c < e->K && metric == KB_METRIC_BRIER; c++)
            means += w_of(e, h) / total / 2 * pow(probability(e, h, c) - (c == k), 2);
    }
    if (metric == KB_METRIC_LOG_LOSS || metric == KB_METRIC_BRIER)
        return means;
    for (size_t k = metric == KB_METRIC_BALANCED ? 0 : first; k < e->K; k++) {
        double own = 0, missed = 0, off = 0, said = 0, both = 0, pairs = 0, bad = 0;
        for (size_t h = 0; h < HELD; h++) {
            int is = e->class_of[e->row[h]] == k, called = kb_winner(e->C, e->f + h * e->C) == k;
            own += is ? w_of(e, h) : 0;
            said += called ? w_of(e, h) : 0;
            both += is && called ? w_of(e, h) : 0;
            missed += is && !called ? w_of(e, h) : 0;
            off += is ? w_of(e, h) * square_of(e, h) : 0;
            for (size_t j = 0; j < HELD; j++) {
                double a = e->f[h * e->C + (e->C == 1 ? 0 : k)],
                       b = e->f[j * e->C + (e->C == 1 ? 0 : k)], w = w_of(e, h) * w_of(e, j);
                if (!is || e->class_of[e->row[j]] == k)
                    continue;
                pairs += w;
                bad += w * (a < b ? 1 : a == b ? 0.5 : 0);
            }
        }
        double count = (double)(e->K - first);
        balanced += (missed + off) / own / 2 / (double)e->K;
        wrong +=
            metric == KB_METRIC_AUC ? bad / pairs / count : (1 - 2 * both / (own + said)) / count;
    }
    return metric == KB_METRIC_BALANCED ? balanced
           : metric == KB_METRIC_F1     ? (wrong + squares) / 2
                                        : wrong;
}

static void terms_agree_with_brute_force(void **unused) {
    static const kb_metric_kind metric[] = {KB_METRIC_BALANCED, KB_METRIC_AUC, KB_METRIC_LOG_LOSS,
                                            KB_METRIC_BRIER, KB_METRIC_F1};
    kb_context *ctx = test_context();
    double term[HELD];
    (void)unused;
    assert_true(KB_RULE_SCORE_ERROR_WEIGHT == 0.5 && KB_RULE_LEAST_PROBABILITY == 0.001);
    for (size_t C = 1; C <= 3; C += 2)
        for (int weighted = 0; weighted < 2; weighted++)
            for (size_t m = 0; m < sizeof metric / sizeof *metric; m++) {
                example *e = make(C, weighted);
                double want = brute_force(e, metric[m]);
                double got = terms_of(ctx, e, metric[m], 1, term);
                assert_true(fabs(got - want) <= 1e-13);
                assert_true(want > 0.02 && want < 1.5);
                for (size_t h = 0; h < HELD; h++)
                    assert_true(term[h] >= 0 && (w_of(e, h) > 0 || term[h] == 0));
                free(e);
            }
    kb_context_free(ctx);
}

static void absolute_errors_are_means(void **unused) {
    kb_context *ctx = test_context();
    example *e = make(0, 1);
    double term[HELD], want = 0, total = 0;
    (void)unused;
    for (size_t h = 0; h < HELD; h++) {
        want += w_of(e, h) * fabs(e->f[h] - e->y[e->row[h]]);
        total += w_of(e, h);
    }
    assert_true(fabs(terms_of(ctx, e, KB_METRIC_MAE, 0, term) - want / total) <= 1e-13);
    want = 0;
    for (size_t h = 0; h < HELD; h++) {
        double r = e->y[e->row[h]] - e->f[h];
        want += w_of(e, h) * fmax(0.3 * r, -0.7 * r);
    }
    assert_true(fabs(terms_of(ctx, e, KB_METRIC_PINBALL, 0, term) - want / total) <= 1e-13);
    free(e);
    kb_context_free(ctx);
}

/* A class without rows does not count, and one class alone has no order. */
static void classes_may_be_missing(void **unused) {
    kb_context *ctx = test_context();
    double term[HELD];
    (void)unused;
    for (size_t C = 1; C <= 3; C += 2) {
        example *e = make(C, 0);
        for (size_t i = 0; i < N; i++)
            e->class_of[i] = 0;
        assert_true(terms_of(ctx, e, KB_METRIC_AUC, 1, term) == 0);
        assert_true(isfinite(terms_of(ctx, e, KB_METRIC_F1, 1, term)));
        assert_true(isfinite(terms_of(ctx, e, KB_METRIC_BALANCED, 1, term)));
        free(e);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_agree_with_brute_force),
        cmocka_unit_test(absolute_errors_are_means),
        cmocka_unit_test(classes_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
