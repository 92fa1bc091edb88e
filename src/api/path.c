/*
 * path.c - models for many lambdas with the L1 penalty, each solve starting from the result of the
 * one before.
 *
 * The nonzero weights of each are kept, so that any of them can become the model.
 */
#include "api/ensemble.h"
#include "api/prepare.h"
#include "api/ranked.h"
#include "budget/pilot.h"
#include "fit/fit.h"
#include "fit/prune.h"
#include "options/say.h"
#include "ranks/ranks.h"
#include "tune/tune.h"

#include <math.h>
#include <string.h>

typedef struct point {
    kb_fit_info info; /* its texts are static, or the path's */
    kb_fit_cost cost;
    size_t count;
    size_t *place;     /* count: in the model's weights */
    float *weight;     /* count */
    double *intercept; /* outputs */
    double *prior;     /* outputs */
} point;

struct kb_path {
    kb_context *ctx;
    kb_config given;
    kb_prepared x;
    kb_budget run, *budget; /* NULL: none */
    kb_tuning tuning;
    kb_fit fit;
    kb_model *model;
    double *w; /* D x outputs: each output's w in a row */
    size_t count, room;
    point *point;
    char *kernel, *sigma; /* texts of the fits, which outlive the model that is taken */
};

static kb_status copy_numbers(kb_context *ctx, size_t count, const double *from, double **to) {
    kb_status status = kb_alloc(ctx, count, sizeof **to, to);
    if (status == KB_OK)
        memcpy(*to, from, count * sizeof **to);
    return status;
}

static kb_status keep_point(kb_path *path, double seconds) {
    kb_status status;
    kb_context *ctx = path->ctx;
    point *p = &path->point[path->count++];
    size_t outputs = path->fit.targets.outputs, n = 0;
    size_t all = path->model->map->dictionary.bins * outputs;
    *p = (point){.info = path->fit.info, .cost = path->fit.cost, .count = path->fit.info.nonzeros};
    p->cost.solve_seconds = seconds;
    if (!path->kernel) {
        TRY(kb_strdup(ctx, p->info.kernel, &path->kernel));
        TRY(kb_strdup(ctx, p->info.sigma_text, &path->sigma));
    }
    p->info.kernel = path->kernel;
    p->info.sigma_text = path->sigma;
    TRY(kb_alloc(ctx, p->count, sizeof *p->place, &p->place));
    TRY(kb_alloc(ctx, p->count, sizeof *p->weight, &p->weight));
    for (size_t i = 0; i < all; i++)
        if (path->fit.weight[i] != 0) {
            p->place[n] = i;
            p->weight[n++] = path->fit.weight[i];
        }
    TRY(copy_numbers(ctx, outputs, path->model->intercept, &p->intercept));
    TRY(copy_numbers(ctx, outputs, path->model->prior, &p->prior));
done:
    return status;
}

static kb_status solve_point(kb_path *path, double lambda) {
    kb_status status = KB_OK;
    kb_fit *s = &path->fit;
    s->info.lambda = s->learner.lambda = lambda;
    s->learner.steps = 0;
    s->learner.converged = 1;
    s->learner.objective = s->learner.gap = 0;
    s->right = s->squared_error = 0;
    for (size_t c = 0; c < s->targets.outputs; c++)
        TRY(kb_fit_outputs(path->ctx, s, path->model, c, 1, path->w + c * s->columns_of_z));
    TRY(kb_fit_finish(path->ctx, s, path->model));
done:
    return status;
}

static kb_status solve_all(kb_path *path, size_t count,
                           kb_status (*tell)(void *user, const kb_model *model), void *user) {
    kb_status status;
    kb_fit *s = &path->fit;
    double most, *lambda = NULL, least = s->info.lambda;
    TRY(kb_alloc(path->ctx, count, sizeof *lambda, &lambda));
    TRY(kb_learner_lambda_max(path->ctx, &s->learner, s->y, s->w, s->f, &most));
    kb_l1_lambdas(most > least ? most : least, least, count, lambda);
    for (size_t k = 0; k < count; k++) {
        double began = kb_seconds();
        if (path->budget)
            kb_stop_at(path->ctx, kb_share_of_time(path->ctx, kb_budget_end(path->budget), 1,
                                                   (double)(count - k)));
        s->learner.from = (double)k / (double)count;
        s->learner.to = (double)(k + 1) / (double)count;
        TRY(solve_point(path, lambda[k]));
        TRY(keep_point(path, kb_seconds() - began));
        if (tell)
            TRY(tell(user, path->model));
    }
done:
    kb_stop_at(path->ctx, INFINITY);
    kb_release(path->ctx, lambda);
    return status;
}

kb_status kb_path_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                      kb_status (*tell)(void *user, const kb_model *model), void *user,
                      kb_path **out) {
    kb_status status;
    kb_path *path = NULL;
    kb_config given = kb_config_of(options);
    size_t count = given.lambda_path;
    *out = NULL;
    if (count == 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: how many?", kb_say(ctx, KB_OPT_LAMBDA_PATH).text);
    if (given.probability == KB_PROBABILITY_ON)
        return kb_fail(
            ctx, KB_ERR_ARGUMENT, "%s: not along a %s; train again with the lambda that is chosen",
            kb_say_value(ctx, KB_OPT_PROBABILITY, "on").text, kb_say(ctx, KB_OPT_LAMBDA_PATH).text);
    TRY(kb_ensemble_check(ctx, &given));
    kb_ranks_begin(ctx);
    TRY(kb_ranked_check(ctx, &given, data));
    TRY(kb_zalloc(ctx, 1, sizeof *path, &path));
    path->ctx = ctx;
    path->given = given;
    path->given.holdout = 0; /* the caller has rows to choose a lambda by */
    kb_tuning *tuning = &path->tuning;
    path->run = kb_budget_begin(ctx, given.budget);
    kb_budget *budget = path->budget = isfinite(given.budget) ? &path->run : NULL;
    double began = kb_seconds();
    TRY(kb_prepare(ctx, &path->given, data, &path->x));
    double encoded = kb_seconds() - began;
    if (budget && path->x.data->label)
        TRY(kb_pilot_run(ctx, &path->given, path->x.data, budget));
    TRY(kb_has_ranks(ctx)
            ? kb_ranked_tune(ctx, &path->given, path->x.data, budget, KB_RANKED_TUNED_ROWS, tuning)
            : kb_tune(ctx, &path->given, path->x.data, budget, tuning));
    kb_prepared_tell(&path->x, &tuning->plan);
    if (budget) {
        size_t *grids = &tuning->plan.config.grids;
        *grids =
            kb_budget_grids(budget, *grids, kb_plan_passes(&tuning->plan), kb_budget_left(budget));
    }
    /* The models of a path do not fill in for unknown bins, and stop by tolerance alone. */
    tuning->plan.fill = tuning->plan.early = 0;
    path->fit = (kb_fit){.plan = &tuning->plan, .data = path->x.data};
    path->fit.cost.encode_seconds = encoded;
    path->fit.cost.tune_seconds = tuning->count ? kb_seconds() - tuning->began : 0;
    kb_importance none; /* a path has none: this is for the transform alone */
    TRY(kb_ranked_importance(ctx, 0, &tuning->plan, path->x.data, KB_RANKED_TUNED_ROWS, &none));
    TRY(kb_model_create(ctx, &path->model));
    path->model->tried = tuning->trial;
    path->model->tried_count = tuning->count;
    path->model->chosen = tuning->chosen;
    tuning->trial = NULL;
    TRY(kb_fit_prepare(ctx, &path->fit, path->model));
    TRY(kb_zalloc(ctx, path->fit.columns_of_z * path->fit.targets.outputs, sizeof(double),
                  &path->w));
    TRY(kb_zalloc(ctx, count, sizeof *path->point, &path->point));
    TRY(solve_all(path, count, tell, user));
    *out = path;
done:
    status = kb_ranks_agree(ctx, status);
    if (status != KB_OK) {
        *out = NULL;
        kb_path_free(path);
    }
    return status;
}

void kb_path_free(kb_path *path) {
    if (!path)
        return;
    kb_context *ctx = path->ctx;
    for (size_t k = 0; k < path->count; k++) {
        kb_release(ctx, path->point[k].place);
        kb_release(ctx, path->point[k].weight);
        kb_release(ctx, path->point[k].intercept);
        kb_release(ctx, path->point[k].prior);
    }
    kb_release(ctx, path->point);
    kb_release(ctx, path->w);
    kb_release(ctx, path->kernel);
    kb_release(ctx, path->sigma);
    kb_fit_release(ctx, &path->fit);
    kb_tuning_release(ctx, &path->tuning);
    kb_prepared_release(ctx, &path->x);
    kb_model_free(path->model);
    kb_release(ctx, path);
}

size_t kb_path_count(const kb_path *path) {
    return path->count;
}

const kb_fit_info *kb_path_info(const kb_path *path, size_t k) {
    return &path->point[k].info;
}

const kb_fit_cost *kb_path_cost(const kb_path *path, size_t k) {
    return &path->point[k].cost;
}

kb_status kb_path_take(kb_path *path, size_t k, kb_model **out) {
    kb_status status;
    kb_context *ctx = path->ctx;
    kb_model *model = path->model;
    size_t outputs = path->fit.targets.outputs;
    *out = NULL;
    if (!model)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "the model of the path has been taken");
    if (k >= path->count)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "the path has %zu models, not %zu", path->count,
                       k + 1);
    const point *p = &path->point[k];
    memset(path->fit.weight, 0, model->map->dictionary.bins * outputs * sizeof(float));
    for (size_t i = 0; i < p->count; i++)
        path->fit.weight[p->place[i]] = p->weight[i];
    memcpy(model->intercept, p->intercept, outputs * sizeof(double));
    memcpy(model->prior, p->prior, outputs * sizeof(double));
    TRY(kb_model_set_info(ctx, model, &p->info));
    model->cost = p->cost;
    TRY(kb_model_prune(ctx, model));
    *out = model;
    path->model = NULL;
done:
    return status;
}
