/* update.c - see update.h. */
#include "update/update.h"
#include "core/fixed_math.h"
#include "fit/fit.h"
#include "model/score.h"
#include "options/say.h"
#include "solve/refine.h"
#include "update/copy.h"
#include "update/merge.h"

#include <math.h>
#include <string.h>

/* So many new rows say more about new ones than fewer that were held out before. */
enum { ENOUGH_ROWS = 2000 };

typedef struct updating {
    const kb_update_spec *spec;
    const kb_model *old;
    kb_fit fit;
    kb_plan plan;
    kb_targets targets;
    kb_validation seen; /* the new rows, with the decisions of the old model */
    kb_data view;       /* the data after the model's encoding */
    double *cells;
    unsigned char *known; /* bins of Z: the old model has them */
    kb_model *model;
} updating;

/* ---- checks ------------------------------------------------------------ */

static kb_status refuse(kb_context *ctx, kb_said what) {
    return kb_fail(ctx, KB_ERR_ARGUMENT, "a model with %s cannot go on: fit it to all rows again",
                   what.text);
}

static kb_status check(kb_context *ctx, const kb_update_spec *spec) {
    const kb_model *m = spec->model;
    if (m->map->rival)
        return refuse(ctx, kb_say_value(ctx, KB_OPT_MAP, m->info.map));
    if (strcmp(m->info.penalty, "l1") == 0)
        return refuse(ctx, kb_say_value(ctx, KB_OPT_PENALTY, "l1"));
    if (m->compaction.compact)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "a compact model cannot go on: give the model that it was made from");
    if (m->softmax)
        return refuse(ctx, kb_say_value(ctx, KB_OPT_MULTICLASS, "softmax"));
    if (!spec->data->label)
        return kb_fail(ctx, KB_ERR_DATA, "the data have no labels to learn from");
    return kb_map_check(ctx, m->map, spec->data);
}

/* ---- what the labels mean ---------------------------------------------- */

static kb_status unknown_class(kb_context *ctx, const kb_data *data, size_t i) {
    if (data->class_name)
        return kb_fail(ctx, KB_ERR_DATA, "row %zu: the model does not know the class '%.60s'",
                       i + 1, data->class_name[(size_t)data->label[i]]);
    return kb_fail(ctx, KB_ERR_DATA, "row %zu: the model does not know the class %g", i + 1,
                   data->label[i]);
}

/* The classes of the model, of which the rows may lack some. */
static kb_status take_classes(kb_context *ctx, updating *u) {
    kb_status status;
    const kb_model *m = u->old;
    const kb_data *data = u->spec->data;
    kb_targets *t = &u->targets;
    size_t *found = NULL;
    TRY(kb_find_classes(ctx, m, data, &found));
    TRY(kb_alloc(ctx, t->classes, sizeof(double), &t->class_value));
    memcpy(t->class_value, m->class_value, t->classes * sizeof(double));
    TRY(kb_alloc(ctx, data->rows, sizeof *t->class_of, &t->class_of));
    for (size_t i = 0; i < data->rows; i++) {
        if (found[i] >= t->classes)
            TRY(unknown_class(ctx, data, i));
        t->class_of[i] = (uint32_t)found[i];
    }
done:
    kb_release(ctx, found);
    return status;
}

static kb_status take_targets(kb_context *ctx, updating *u) {
    const kb_data *data = u->spec->data;
    if (u->old->info.classes == 0)
        return kb_targets_build(ctx, KB_TASK_REGRESSION, data, &u->targets);
    u->targets = (kb_targets){.classes = u->old->info.classes,
                              .rows = data->rows,
                              .outputs = u->old->info.outputs,
                              .label = data->label};
    return take_classes(ctx, u);
}

/* ---- the plan ---------------------------------------------------------- */

static kb_status encode(kb_context *ctx, updating *u) {
    kb_status status = KB_OK;
    const kb_data *data = u->spec->data;
    const kb_encoding *e = u->old->map->encoding;
    u->view = *data;
    if (!kb_encoding_is_needed(e, data))
        return KB_OK;
    size_t features = e ? e->features : data->features;
    TRY(kb_alloc(ctx, data->rows * features, sizeof(double), &u->cells));
    kb_encoding_rows(e, data, 0, data->rows, u->cells);
    u->view.dense = u->cells;
    u->view.row_start = NULL;
    u->view.features = features;
    u->view.feature_name = NULL;
    u->view.table = NULL;
    u->view.missing = 0;
done:
    return status;
}

/* Settings of the model in place of those of the options, but for lambda and loss of a fit to the
 * same rows where they are given. */
static void set_config(const updating *u, kb_config *c) {
    const kb_fit_info *i = &u->old->info;
    const kb_config *given = u->spec->config;
    int word;
    kb_config_set_untuned(c);
    c->task = i->classes ? KB_TASK_CLASSIFICATION : KB_TASK_REGRESSION;
    int adds = u->spec->adds;
    if ((adds || given->loss == KB_LOSS_AUTO) && kb_choice_find(KB_OPT_LOSS, i->loss, &word))
        c->loss = (kb_loss_kind)word;
    if (strcmp(kb_choice_word(KB_OPT_LOSS, (int)c->loss), i->loss) == 0 &&
        kb_choice_find(KB_OPT_SOLVER, i->solver, &word))
        c->solver = (kb_solver_kind)word;
    c->map = KB_MAP_BINNING;
    c->penalty = KB_PENALTY_L2;
    c->multiclass = KB_MULTICLASS_OVR;
    c->group_grids = 0;
    c->lambda_path = 0;
    c->quantile = i->quantile > 0 && adds ? i->quantile : c->quantile;
    c->lambda = adds || given->lambda == KB_LAMBDA_AUTO ? i->lambda : given->lambda;
    c->grids = i->grids;
    c->seed = i->seed;
    c->intercept = i->intercept ? KB_INTERCEPT_ON : KB_INTERCEPT_OFF;
    c->metric = KB_METRIC_AUTO;
    if (!adds)
        return;
    c->holdout = 0;
    c->probability =
        u->old->calibration.kind == KB_CALIBRATION_NONE ? KB_PROBABILITY_OFF : KB_PROBABILITY_AUTO;
}

/* Sweeps of a tuned model stop early.  What they would make of weights that have seen the rows that
 * say when cannot be known, so they begin at 0. */
static int stops_early(const updating *u) {
    const kb_config *given = u->spec->config;
    return !u->spec->adds && strcmp(u->old->info.solver, "sweeps") == 0 &&
           u->plan.config.loss == KB_LOSS_SQUARE &&
           (given->early_stop == KB_EARLY_STOP_ON ||
            (given->early_stop == KB_EARLY_STOP_AUTO && given->lambda == KB_LAMBDA_AUTO));
}

/* ---- how good the model was on the new rows ---------------------------- */

static int tell_enough(const updating *u) {
    return u->view.rows >= ENOUGH_ROWS || u->view.rows >= u->old->expected.rows;
}

static kb_status look_at_rows(kb_context *ctx, updating *u) {
    kb_status status;
    kb_validation *v = &u->seen;
    const kb_model *m = u->old;
    const kb_data *data = u->spec->data;
    int weighted = data->weight || u->spec->config->class_weight != KB_CLASS_WEIGHT_NONE;
    TRY(kb_validation_create(ctx, data->rows, m->info.outputs, m->info.classes, weighted, 1, v));
    v->folds = 1;
    v->learned = m->info.rows;
    for (size_t i = 0; i < data->rows; i++) {
        v->row[i] = (uint32_t)i;
        v->label[i] = v->classes ? u->targets.class_of[i] : data->label[i];
        if (v->class_of)
            v->class_of[i] = u->targets.class_of[i];
    }
    TRY(kb_model_decide_known(ctx, m, data, v->decision, v->known));
    for (size_t i = 0; m->log_link && i < data->rows; i++)
        v->decision[i] = kb_model_mean(m, v->decision[i]);
    u->plan.validation = v;
done:
    return status;
}

/* ---- the solve --------------------------------------------------------- */

/* The weights of the old model in the bins of the new rows, where it has them. */
static void set_start(const updating *u, size_t first, size_t C, double *w) {
    const kb_dictionary *d = &u->model->map->dictionary;
    size_t outputs = u->old->info.outputs;
    for (size_t r = 0; r < d->grids; r++)
        for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
            size_t at = d->start[r] + u->fit.order[b];
            int64_t from = kb_dictionary_find(&u->old->map->dictionary, r, d->key[b]);
            u->known[at] = from >= 0;
            for (size_t c = 0; c < C; c++)
                w[at * C + c] =
                    from < 0 ? 0 : (double)u->old->weight[(size_t)from * outputs + first + c];
        }
}

static kb_status refine(kb_context *ctx, updating *u, size_t first, size_t C) {
    kb_status status;
    kb_fit *s = &u->fit;
    const kb_config *config = &u->plan.config;
    double *b = u->model->intercept + first;
    kb_loss loss = kb_loss_with_quantile(kb_loss_of(config->loss), config->quantile);
    TRY(kb_fit_targets(ctx, s, u->model, first, C));
    set_start(u, first, C, s->w);
    memcpy(b, u->old->intercept + first, C * sizeof *b);
    kb_refine problem = {.op = s->op,
                         .loss = &loss,
                         .value = kb_bin_value(u->model->map->drawn),
                         .lambda = config->lambda,
                         .past =
                             u->spec->adds ? (double)u->old->info.rows / (double)s->data->rows : 0,
                         .known = u->known,
                         .tol = config->tol,
                         .max_steps = config->max_iter,
                         .C = C,
                         .y = s->y,
                         .s = s->sample_weight,
                         .intercept = u->old->info.intercept,
                         .w = s->w,
                         .b = b,
                         .f = s->f};
    TRY(kb_refine_run(ctx, &problem));
    TRY(kb_fit_keep(ctx, s, u->model, first, C, s->w));
    s->learner.steps = problem.steps > s->learner.steps ? problem.steps : s->learner.steps;
    s->learner.converged &= problem.converged;
    s->learner.objective += problem.objective;
done:
    return status;
}

static kb_status solve(kb_context *ctx, updating *u) {
    kb_status status = KB_OK;
    kb_fit *s = &u->fit;
    double began = kb_seconds();
    TRY(kb_alloc(ctx, s->z->bins, 1, &u->known));
    for (size_t first = 0, C; first < s->targets.outputs; first += C) {
        C = s->targets.outputs - first < s->batch ? s->targets.outputs - first : s->batch;
        if (u->plan.early) {
            memset(s->w, 0, s->columns_of_z * s->batch * sizeof(double));
            TRY(kb_fit_outputs(ctx, s, u->model, first, C, s->w));
        } else {
            TRY(refine(ctx, u, first, C));
        }
    }
    s->cost.solve_seconds = kb_seconds() - began;
done:
    return status;
}

/* ---- the model --------------------------------------------------------- */

static kb_status merge(kb_context *ctx, updating *u) {
    kb_status status;
    kb_fit *s = &u->fit;
    kb_map *map = u->model->map;
    kb_dictionary all;
    float *weight;
    TRY(kb_merge_bins(ctx, u->old, &map->dictionary, s->weight, &all, &weight));
    kb_dictionary_release(map->allocator, &map->dictionary);
    kb_release(ctx, s->weight);
    map->dictionary = all;
    u->model->weight = s->weight = weight;
    s->columns_of_z = all.bins;
done:
    return status;
}

/* What the rows so far say together. */
static kb_status add_up(kb_context *ctx, updating *u) {
    kb_status status = KB_OK;
    kb_model *m = u->model;
    const kb_model *old = u->old;
    double before = (double)old->info.rows, now = (double)m->info.rows;
    if (!u->plan.validation) {
        m->expected = old->expected;
        m->conformal = old->conformal;
        TRY(kb_model_set_calibration(ctx, m, &old->calibration));
    }
    for (size_t c = 0; c < m->info.outputs; c++)
        m->prior[c] = (before * old->prior[c] + now * m->prior[c]) / (before + now);
    m->info.rows += old->info.rows;
    m->info.kappa = old->info.kappa;
done:
    return status;
}

static kb_status begin(kb_context *ctx, updating *u) {
    kb_status status;
    const kb_fit_info *i = &u->old->info;
    u->plan.config = *u->spec->config;
    TRY(check(ctx, u->spec));
    TRY(take_targets(ctx, u));
    TRY(encode(ctx, u));
    set_config(u, &u->plan.config);
    u->plan.early = stops_early(u);
    u->plan.adds = u->spec->adds;
    u->plan.fill = u->old->fill;
    u->plan.source = u->spec->data;
    if (u->spec->adds && tell_enough(u))
        TRY(look_at_rows(ctx, u));
    if (u->cells)
        u->plan.config.held += 8 * (double)u->view.rows * (double)u->view.features;
    if (u->plan.validation)
        u->plan.config.held += (double)u->view.rows * (8 * (double)i->outputs + 32);
    double limit = (double)kb_config_memory(&u->plan.config) - u->plan.config.held;
    TRY(kb_model_copy(ctx, u->old, limit, &u->model));
    TRY(kb_model_take_map(ctx, u->model, &u->plan.map));
    u->plan.targets = &u->targets;
    u->plan.more = kb_refine_bytes(kb_learner_batch(&u->plan.config, i->outputs));
    if (u->spec->adds) /* what merge.c has of the bins of the old model */
        u->plan.more.fixed += (double)i->kept_bins * (28 + 4 * (double)i->outputs);
    u->fit = (kb_fit){.plan = &u->plan, .data = &u->view};
    TRY(kb_fit_prepare(ctx, &u->fit, u->model));
    for (size_t k = 0; u->seen.weight && k < u->view.rows; k++)
        u->seen.weight[k] = kb_weight_of(u->fit.sample_weight, k);
done:
    return status;
}

kb_status kb_update(kb_context *ctx, const kb_update_spec *spec, kb_model **out) {
    kb_status status;
    updating u = {.spec = spec, .old = spec->model};
    *out = NULL;
    TRY(begin(ctx, &u));
    TRY(solve(ctx, &u));
    if (spec->adds)
        TRY(merge(ctx, &u));
    TRY(kb_fit_finish(ctx, &u.fit, u.model));
    if (spec->adds)
        TRY(add_up(ctx, &u));
    *out = u.model;
done:
    if (u.plan.map && (!u.model || u.model->map != u.plan.map))
        kb_map_free(u.plan.map);
    kb_fit_release(ctx, &u.fit);
    kb_targets_release(ctx, &u.targets);
    kb_validation_release(kb_allocator_of(ctx), &u.seen);
    kb_release(ctx, u.cells);
    kb_release(ctx, u.known);
    if (status != KB_OK)
        kb_model_free(u.model);
    return status;
}
