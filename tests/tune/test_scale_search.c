/* The scale search, against one by hand. */
#include "tune/stages.h"

#include "trial/compare_trials.h"
#include "tune/scale_search.h"

enum { GRIDS = 32, STEPS = 8 };

static kb_trial trial_at(kb_context *ctx, tuning *u, double sigma) {
    kb_trial t = {.grids = GRIDS, .max_steps = STEPS, .seed = u->t.seed + 1};
    kb_widths w;
    assert_ok(ctx, kb_widths_equal(ctx, u->t.rows.map->columns, NULL, u->t.law, sigma, &w));
    assert_ok(ctx, kb_trial_run(ctx, &u->t.rows.first, &w, &t));
    kb_trial_release(ctx, &t);
    kb_release(ctx, w.width);
    return t;
}

/* Where at most eight steps lead, and how many trials that takes. */
static double walk(kb_context *ctx, tuning *u, double sigma, double by, int classes,
                   size_t *trials) {
    kb_trial at = trial_at(ctx, u, sigma);
    *trials = 1;
    for (int down = 0; down < 2; down++) {
        double best = at.score, begun = sigma;
        for (int k = 0; k < 8; k++) {
            double next = sigma * (down ? 1 / by : by);
            kb_trial other = trial_at(ctx, u, next);
            double most =
                down ? kb_narrow_enough(&at, classes, best) : kb_wide_enough(&at, classes, best);
            (*trials)++;
            if (other.score >= most)
                break;
            best = fmin(best, other.score);
            sigma = next;
            at = other;
        }
        if (sigma != begun)
            break;
    }
    return sigma;
}

/* From bins that are too narrow, too wide, and about right (where the last search ended); with
 * large steps, and with steps so small that a few errors lead on to the next. */
static void a_search_ends_where_no_step_helps(void **unused) {
    static const double from[][2] = {{1.0 / 64, 16}, {0.125, 8}, {0.13, 0.34}},
                        by[] = {2, 1.25, 1.005};
    kb_context *ctx = test_context();
    (void)unused;
    for (int kind = 0; kind < 9; kind++) {
        int classes = kind % 3 > 0, small = kind / 3;
        double right = 0;
        kb_data *data = wave(ctx, 400, 2, classes);
        for (size_t i = 0; kind % 3 == 2 && i < 400; i++)
            data->label[i] = data->dense[2 * i] > 0; /* almost no errors: a few count */
        tuning *u = tuning_create(ctx, data, TUNING(ctx, "folds", "0"));
        for (int k = 0; k < 3; k++) {
            size_t trials;
            double first = k < 2 ? from[small][k] : right;
            double sigma = walk(ctx, u, first, by[small], classes, &trials);
            kb_candidate *c = put(ctx, u, KB_CANDIDATE_EQUAL, "search", first, first);
            c->sigma = first;
            u->tuning.count = 0;
            assert_ok(ctx,
                      kb_scale_search(ctx, &u->t, &u->t.rows.first, c, GRIDS, STEPS, by[small]));
            assert_true(fabs(c->sigma / sigma - 1) < 1e-12); /* there and back, with rounding */
            for (size_t j = 0; j < 2; j++)
                assert_true(fabs(c->widths.width[j].sigma / sigma - 1) < 1e-12);
            assert_true(fabs(c->search.score / trial_at(ctx, u, sigma).score - 1) < 1e-9);
            assert_int_equal(u->tuning.count, trials);
            assert_false(u->t.cut);
            assert_true(small || k == 2 || sigma != first); /* the search had to move */
            right = sigma;
            kb_candidate_release(ctx, c);
            *c = (kb_candidate){0};
        }
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

static void without_time_there_is_one_trial(void **unused) {
    kb_context *ctx = test_context();
    tuning *u = tuning_create(ctx, wave(ctx, 100, 2, 0), TUNING(ctx, "folds", "0"));
    kb_candidate *c = put(ctx, u, KB_CANDIDATE_EQUAL, "search", 1.0 / 64, 1.0 / 64);
    (void)unused;
    u->given.budget = 0;
    assert_ok(ctx, kb_scale_search(ctx, &u->t, &u->t.rows.first, c, GRIDS, STEPS, 2));
    assert_true(u->t.cut);
    assert_int_equal(u->tuning.count, 1);
    assert_true(c->widths.width[0].sigma == 1.0 / 64 && c->search.each);
    tuning_free(ctx, u);
    kb_context_free(ctx);
}

/* Up to 8000 rows in folds are all validation rows once; of more rows, a quarter of the first
 * fold's training rows. */
static void the_first_search_takes_few_rows_or_all_folds(void **unused) {
    static const char *const folds[] = {"0", "4", "4", "4"};
    static const size_t rows[] = {400, 400, 8000, 8004}, held[] = {80, 400, 8000, 1500};
    static const size_t fitted[] = {240, 300, 6000, 4503};
    kb_context *ctx = test_context();
    (void)unused;
    for (int k = 0; k < 4; k++) {
        tuning *u = tuning_create(ctx, wave(ctx, rows[k], 2, 0),
                                  TUNING(ctx, "folds", folds[k], "split", "random"));
        kb_candidate *c = put(ctx, u, KB_CANDIDATE_EQUAL, "search", 0.5, 0.5);
        u->given.budget = k > 1 ? 0 : INFINITY; /* one trial of many rows is as precise */
        assert_ok(ctx, kb_scale_search_first(ctx, &u->t, c));
        assert_int_equal(c->search.held, held[k]);
        assert_int_equal(c->search.fitted, fitted[k]);
        assert_int_equal(c->search.grids, 64);
        tuning_free(ctx, u);
    }
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_ends_where_no_step_helps),
        cmocka_unit_test(without_time_there_is_one_trial),
        cmocka_unit_test(the_first_search_takes_few_rows_or_all_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
