/* The smooth error, against the definition by brute force. */
#include "trial/trials.h"

#include "trial/smooth_error.h"

enum { HELD = 300, MOST = 4 };

typedef struct rows {
    kb_subsample s;
    uint32_t class_of[HELD], row[HELD];
    double f[HELD * MOST], weight[HELD];
} rows;

/* Decisions that are right for most rows; the rows stand backwards. */
static void fill(rows *r, size_t C, int weighted) {
    r->s = (kb_subsample){.C = C, .class_of = r->class_of, .weight = weighted ? r->weight : NULL};
    for (size_t h = 0; h < HELD; h++) {
        size_t i = HELD - 1 - h;
        r->row[h] = (uint32_t)i;
        r->weight[i] = (double)(i % 3);
        r->class_of[i] = (uint32_t)(i * 7 % (C == 1 ? 2 : C));
        for (size_t c = 0; c < C; c++) {
            int own = C == 1 ? r->class_of[i] == 1 : r->class_of[i] == c;
            r->f[h * C + c] = (own ? 1 : -1) + 3 * test_uniform(4, h * MOST + c) - 1.5;
        }
    }
}

static double margin(const rows *r, size_t C, size_t h) {
    uint32_t own = r->class_of[r->row[h]];
    const double *f = r->f + h * C;
    double other = -INFINITY;
    if (C == 1)
        return own ? f[0] : -f[0];
    for (size_t c = 0; c < C; c++)
        if (c != own)
            other = fmax(other, f[c]);
    return f[own] - other;
}

static double mean_at(const rows *r, size_t C, double T) {
    double sum = 0, total = 0;
    for (size_t h = 0; h < HELD; h++) {
        double w = r->s.weight ? r->weight[r->row[h]] : 1, p = 1 / (1 + exp(-T * margin(r, C, h)));
        sum += w * (1 - p) * (1 - p);
        total += w;
    }
    return sum / total;
}

static void it_is_the_least_over_all_factors(void **unused) {
    static rows r;
    double each[HELD];
    (void)unused;
    for (size_t C = 1; C <= MOST; C += 3)
        for (int weighted = 0; weighted < 2; weighted++) {
            double least = INFINITY, mean = 0;
            fill(&r, C, weighted);
            for (double T = 0.01; T < 100; T *= 1.01)
                least = fmin(least, mean_at(&r, C, T));
            kb_smooth_errors(&r.s, HELD, r.row, r.f, each);
            for (size_t h = 0; h < HELD; h++)
                mean += each[h] / HELD;
            assert_true(mean > 0.01 && mean < 0.3);
            assert_true(mean < 1.002 * least && mean > 0.999 * least);
        }
}

/* A power of two changes no bit of the arithmetic. */
static void the_size_of_decisions_does_not_matter(void **unused) {
    static rows r;
    double each[2][HELD];
    (void)unused;
    fill(&r, MOST, 1);
    for (int k = 0; k < 2; k++) {
        kb_smooth_errors(&r.s, HELD, r.row, r.f, each[k]);
        for (size_t e = 0; e < HELD * MOST; e++)
            r.f[e] *= 1024;
    }
    assert_memory_equal(each[0], each[1], sizeof each[0]);
}

static void odd_decisions_are_no_trouble(void **unused) {
    static rows r;
    double each[HELD];
    (void)unused;
    fill(&r, 1, 0);
    for (int k = 0; k < 3; k++) { /* all are 0, all are right, all are wrong */
        for (size_t h = 0; h < HELD; h++)
            r.f[h] = k == 0 ? 0 : (r.class_of[r.row[h]] == 1) == (k == 1) ? 1 : -1;
        kb_smooth_errors(&r.s, HELD, r.row, r.f, each);
        for (size_t h = 0; h < HELD; h++)
            assert_true(k == 1 ? each[h] < 1e-6 : k == 0 ? each[h] == 0.25 : each[h] <= 0.26);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_least_over_all_factors),
        cmocka_unit_test(the_size_of_decisions_does_not_matter),
        cmocka_unit_test(odd_decisions_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
