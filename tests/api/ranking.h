/*
 * ranking.h - fits whose rows are dealt out to ranks: the same model for any number of ranks and
 * threads, and nearly that of one process.
 */
#ifndef KB_TESTS_RANKING_H
#define KB_TESTS_RANKING_H

#include "model/fitted.h"
#include "ranked.h"

#include "api/ranked.h"
#include "deal/deal.h"
#include "fit/fit.h"
#include "model/model.h"

enum { ROWS = 2 * KB_RANK_ROWS + 300, COLUMNS = 4 };

/* A growing text of bytes. */
typedef struct bytes {
    char *at;
    size_t count, room;
} bytes;

static inline kb_status put(void *user, const void *from, size_t count) {
    bytes *b = user;
    if (b->count + count > b->room) {
        b->room = 2 * (b->count + count);
        b->at = realloc(b->at, b->room);
    }
    memcpy(b->at + b->count, from, count);
    b->count += count;
    return KB_OK;
}

typedef struct problem {
    const kb_data *data;
    const char *const *pairs;
    bytes model; /* of the first run */
    int first;
    int early; /* sweeps are stopped by watched rows, as after tuning */
    const char *message;
} problem;

static inline kb_model *fit_data(kb_context *ctx, const problem *p, const kb_data *data) {
    kb_options *options = p->early ? options_of(ctx, p->pairs) : tuning_options_of(ctx, p->pairs);
    kb_plan plan = {.config = kb_config_of(options), .early = 1};
    kb_model *model;
    if (p->early)
        assert_ok(ctx, kb_fit_plan(ctx, &plan, data, &model));
    else
        assert_ok(ctx, kb_model_fit(ctx, options, data, &model));
    kb_options_free(options);
    return model;
}

/* This rank's rows. */
static inline kb_data *own_rows(kb_context *ctx, const kb_data *all) {
    size_t begin = kb_deal_begin(all->rows, kb_rank(ctx), kb_rank_count(ctx));
    size_t end = kb_deal_begin(all->rows, kb_rank(ctx) + 1, kb_rank_count(ctx));
    uint32_t *row = malloc((end - begin + 1) * sizeof *row);
    kb_data *own;
    for (size_t i = begin; i < end; i++)
        row[i - begin] = (uint32_t)i;
    assert_ok(ctx, kb_data_take_any(ctx, all, end - begin, row, &own));
    assert_ok(ctx, kb_data_deal(ctx, own));
    free(row);
    return own;
}

static inline kb_model *fit(kb_context *ctx, const problem *p) {
    kb_data *own = own_rows(ctx, p->data);
    kb_model *model = fit_data(ctx, p, own);
    kb_data_free(own);
    return model;
}

static inline void fit_and_compare(kb_context *ctx, void *arg) {
    problem *p = arg;
    kb_model *model = fit(ctx, p);
    bytes mine = {0};
    assert_ok(ctx, kb_model_write_bytes(ctx, model, put, &mine));
    assert_int_equal(kb_model_info(model)->rows, p->data->rows);
    if (p->first && kb_rank(ctx) == 0) {
        p->model = mine;
    } else if (p->first) {
        free(mine.at);
    } else {
        if (mine.count != p->model.count || memcmp(mine.at, p->model.at, mine.count) != 0)
            fail_msg("rank %d of %d, %d threads: another model", kb_rank(ctx), kb_rank_count(ctx),
                     ctx->threads);
        free(mine.at);
    }
    kb_model_free(model);
}

/* The same bins as without ranks, and nearly the same weights and decisions. */
static inline void compare_with_plain(kb_context *ctx, const problem *p, double tolerance) {
    kb_model *plain = fit_data(ctx, p, p->data), *joined;
    size_t C = kb_model_info(plain)->outputs;
    double *f = malloc(ROWS * C * sizeof *f), *g = malloc(ROWS * C * sizeof *g);
    assert_ok(ctx, kb_model_read_bytes(ctx, p->model.at, p->model.count, &joined));
    const kb_fit_info *a = kb_model_info(plain), *b = kb_model_info(joined);
    assert_int_equal(a->bins, b->bins);
    assert_true(a->kappa == b->kappa);
    assert_string_equal(a->solver, b->solver);
    assert_true(fabs(a->train_score - b->train_score) <= tolerance);
    assert_true(fabs(a->objective - b->objective) <= tolerance * a->objective);
    assert_ok(ctx, kb_model_decide(ctx, plain, p->data, f));
    assert_ok(ctx, kb_model_decide(ctx, joined, p->data, g));
    for (size_t e = 0; e < p->data->rows * C; e++)
        if (!(fabs(f[e] - g[e]) <= tolerance * (1 + fabs(f[e]))))
            fail_msg("decision %zu is %g, not %g", e, g[e], f[e]);
    kb_expected of_plain = KB_EXPECTED_INIT, of_ranked = KB_EXPECTED_INIT;
    assert_int_equal(kb_model_expected(plain, &of_plain), KB_OK);
    assert_int_equal(kb_model_expected(joined, &of_ranked), KB_OK);
    assert_int_equal(of_plain.rows, of_ranked.rows);
    assert_int_equal(of_plain.learned, of_ranked.learned);
    free(f), free(g);
    kb_model_free(plain);
    kb_model_free(joined);
}

#define PAIRS(...)                                                                                 \
    (const char *const[]) {                                                                        \
        "tune", "off", "grids", "17", __VA_ARGS__, NULL                                            \
    }

static inline void check_fit(const kb_data *data, int early, const char *const *pairs,
                             double tolerance) {
    kb_context *ctx = test_context();
    problem p = {.data = data, .pairs = pairs, .early = early};
    static const int ranks[] = {1, 2, 3, 5};
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
        p.first = k == 0;
        run_ranked(ranks[k], 1 + (int)(k % 2), fit_and_compare, &p);
    }
    compare_with_plain(ctx, &p, tolerance);
    free(p.model.at);
    kb_context_free(ctx);
}

static inline void check(const kb_data *data, const char *const *pairs, double tolerance) {
    check_fit(data, 0, pairs, tolerance);
}

/* Weights of samples: 0, 1/2, .., or NULL. */
static inline kb_data *make(kb_context *ctx, labels kind, size_t rows, int sparse, int weighted) {
    static const double of[] = {1, 0.5, 0, 2.25, 1.75};
    kb_data *data = tailed_data(ctx, rows, COLUMNS, 7, kind, 1, sparse);
    if (kind == WORDS) {
        kb_data_free(data);
        data = data_of(ctx, rows, COLUMNS, kind);
    }
    if (weighted)
        weigh_rows(ctx, data, of, 5);
    return data;
}

static inline void check_kind(labels kind, int sparse, int weighted, const char *const *pairs,
                              double tolerance) {
    kb_context *ctx = test_context();
    kb_data *data = make(ctx, kind, ROWS, sparse, weighted);
    check(data, pairs, tolerance);
    kb_data_free(data);
    kb_context_free(ctx);
}

/* 1e-6: weights are floats; what else differs is the order of sums. */
static const double CLOSE = 1e-6;
/* A solver that stops at a tolerance of 1e-6 may do so a rounding sooner or later. */
static const double STOPPED = 1e-4;

static inline void fit_in_vain(kb_context *ctx, void *arg) {
    const problem *p = arg;
    kb_data *own = own_rows(ctx, p->data);
    kb_options *options = tuning_options_of(ctx, p->pairs);
    kb_model *model;
    kb_status status = kb_model_fit(ctx, options, own, &model);
    assert_true(status != KB_OK);
    assert_null(model);
    if (!strstr(kb_context_message(ctx), p->message))
        fail_msg("'%s' is not in '%s'", p->message, kb_context_message(ctx));
    kb_options_free(options);
    kb_data_free(own);
}

static inline void refused(const kb_data *data, const char *const *pairs, const char *message) {
    problem p = {.data = data, .pairs = pairs, .message = message};
    run_ranked(3, 1, fit_in_vain, &p);
}

#endif
