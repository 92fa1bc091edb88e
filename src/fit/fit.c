/*
 * fit.c - from labelled data to a model.
 *
 *   targets    what the labels ask for, and what each sample counts
 *   map        scaling, grids, bins (Z as bin numbers)
 *   learn      alpha, a batch of outputs at a time over the same Z (learner.c)
 *   weights    w = Z' alpha, sorted as the dictionary is
 *   calibrate  probabilities, where they are asked for
 *
 * With sweeps and with the L1 penalty the learner gives w itself; with the L1 penalty most of it is
 * zero, and the model keeps the rest.
 *
 * A sample without a known bin gets the mean of the targets, whatever the intercept is.  Weights
 * are kept as float: they are added up in double, so a decision moves by 1e-7 of its size
 * (tests/fit/test_fit.c shows it).
 */
#include "core/fixed_math.h"
#include "core/strings.h"
#include "device/device.h"
#include "fit/fit.h"
#include "fit/prune.h"
#include "fit/sample_weights.h"
#include "data/stop_rows.h"
#include "model/metric.h"
#include "ranks/row_sums.h"
#include "options/say.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static kb_status allocate(kb_context *ctx, kb_fit *s, kb_model *model) {
    kb_status status;
    size_t N = s->data->rows, n = N * s->batch;
    TRY(kb_alloc(ctx, n, sizeof(double), &s->y));
    if (!kb_solver_of(&s->plan->config)->weights)
        TRY(kb_alloc(ctx, n, sizeof(double), &s->alpha));
    TRY(kb_alloc(ctx, n, sizeof(double), &s->f));
    TRY(kb_zalloc(ctx, s->columns_of_z * s->batch, sizeof(double), &s->w));
    if (s->z)
        TRY(kb_alloc(ctx, s->columns_of_z * s->targets.outputs, sizeof(float), &s->weight));
    else
        TRY(kb_alloc(ctx, s->columns_of_z * s->targets.outputs, sizeof(double), &s->rival_weight));
    model->weight = s->weight;
    model->rival_weight = s->rival_weight;
    TRY(kb_zalloc(ctx, s->targets.outputs, sizeof(double), &model->intercept));
    TRY(kb_zalloc(ctx, s->targets.outputs, sizeof(double), &model->prior));
    if (s->targets.outputs > 1) {
        TRY(kb_alloc(ctx, N, sizeof(double), &s->best));
        TRY(kb_alloc(ctx, N, sizeof(uint32_t), &s->winner));
    }
done:
    return status;
}

void kb_fit_release(kb_context *ctx, kb_fit *s) {
    void *all[] = {s->order,         s->y,        s->alpha,  s->f,         s->w, s->best, s->winner,
                   s->sample_weight, s->stop_row, s->stop_f, s->stop_batch};
    kb_learner_release(ctx, &s->learner);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    kb_targets_release(ctx, &s->targets);
    kb_zcolumns_free(s->columns);
    kb_operator_free(s->op);
    kb_binmat_free(s->z);
    kb_data_free(s->scaled);
}

/* Weights of one batch to their place, in the order of the dictionary. */
static void keep_weights(kb_fit *s, const kb_dictionary *d, size_t first, size_t C,
                         const double *w) {
    size_t outputs = s->targets.outputs;
    for (size_t j = 0; !s->z && j < s->columns_of_z; j++)
        memcpy(s->rival_weight + j * outputs + first, w + j * C, C * sizeof(double));
    for (size_t r = 0; r < d->grids; r++)
        for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
            const double *from = w + (d->start[r] + s->order[b]) * C;
            for (size_t c = 0; c < C; c++)
                s->weight[b * outputs + first + c] = (float)from[c];
        }
}

/* Some outputs of a fit. */
typedef struct batch {
    kb_fit *s;
    size_t first, C;
    double mean; /* of the labels */
} batch;

/* Sums over rows. */
enum { RIGHT, SQUARED_ERROR, SCORES };

static void score_rows(void *arg, size_t begin, size_t end, double *sum) {
    const batch *b = arg;
    kb_fit *s = b->s;
    size_t first = b->first, C = b->C;
    int log_link = s->plan->config.loss == KB_LOSS_POISSON;
    memset(sum, 0, SCORES * sizeof *sum);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < C; c++) {
            double f = s->f[i * C + c], mean = log_link ? kb_exp_bounded(f) : f;
            double error = mean - s->y[i * C + c];
            if (s->targets.classes == 0)
                sum[SQUARED_ERROR] += kb_weight_of(s->sample_weight, i) * error * error;
            else if (s->targets.classes == 2)
                sum[RIGHT] += (f > 0) == (s->targets.class_of[i] == 1)
                                  ? kb_weight_of(s->sample_weight, i)
                                  : 0;
            else if (first + c == 0 || f > s->best[i]) {
                s->best[i] = f;
                s->winner[i] = (uint32_t)(first + c);
            }
        }
}

/* The batch's decisions on the training rows against the targets.  Only a fit with one batch has
 * sums. */
static kb_status score_batch(kb_context *ctx, kb_fit *s, size_t first, size_t C) {
    batch b = {.s = s, .first = first, .C = C};
    double sum[SCORES];
    kb_status status = kb_row_totals(ctx, s->data->rows, SCORES, score_rows, &b, sum);
    s->right = sum[RIGHT];
    s->squared_error = sum[SQUARED_ERROR];
    return status;
}

static void add_targets(void *arg, size_t begin, size_t end, double *sum) {
    const batch *b = arg;
    const kb_fit *s = b->s;
    memset(sum, 0, b->C * sizeof *sum);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < b->C; c++)
            sum[c] += kb_weight_of(s->sample_weight, i) / s->total_weight * s->y[i * b->C + c];
}

/* The decision for a sample without a known bin: the weighted mean of the targets, or what the
 * loss would have instead. */
static kb_status set_prior(kb_context *ctx, kb_fit *s, size_t C, double *prior) {
    const kb_config *config = &s->plan->config;
    kb_loss loss = kb_loss_with_quantile(kb_loss_of(config->loss), config->quantile);
    if (loss.in_units)
        return kb_unit_centre(ctx, &loss, s->data->rows, C, s->y, s->sample_weight, prior, NULL);
    batch b = {.s = s, .C = C};
    return kb_row_totals(ctx, s->data->rows, C, add_targets, &b, prior);
}

/* The same for a model with probabilities: the decision that gives the share of the class. */
static void set_prior_odds(const kb_calibration *c, size_t C, double *prior) {
    for (size_t k = 0; c->kind != KB_CALIBRATION_NONE && k < C; k++) {
        double share = fmin(fmax((1 + prior[k]) / 2, 1e-9), 1 - 1e-9);
        double odds = c->kind == KB_CALIBRATION_SOFTMAX ? share : share / (1 - share);
        prior[k] = kb_calibration_inverse(c, kb_log_fixed(odds));
    }
}

kb_status kb_fit_targets(kb_context *ctx, kb_fit *s, kb_model *model, size_t first, size_t C) {
    kb_targets_fill(&s->targets, s->data->rows, first, C, s->y);
    memset(model->prior + first, 0, C * sizeof(double));
    return set_prior(ctx, s, C, model->prior + first);
}

kb_status kb_fit_keep(kb_context *ctx, kb_fit *s, kb_model *model, size_t first, size_t C,
                      const double *w) {
    keep_weights(s, &model->map->dictionary, first, C, w);
    return score_batch(ctx, s, first, C);
}

kb_status kb_fit_outputs(kb_context *ctx, kb_fit *s, kb_model *model, size_t first, size_t C,
                         double *w) {
    kb_status status;
    double *b = model->intercept + first;
    TRY(kb_fit_targets(ctx, s, model, first, C));
    if (kb_solver_of(&s->plan->config)->weights) {
        TRY(kb_learn(ctx, &s->learner, first, C, s->y, w, s->f, b));
    } else {
        TRY(kb_learn(ctx, &s->learner, first, C, s->y, s->alpha, s->f, b));
        TRY(s->op->apply_t(s->op, ctx, C, s->alpha, w));
    }
    TRY(kb_fit_keep(ctx, s, model, first, C, w));
done:
    return status;
}

/* Moves the intercept, and so what train_score depends on. */
static kb_status shift_decisions(kb_context *ctx, kb_fit *s, kb_model *model, double shift) {
    model->intercept[0] += shift;
    for (size_t i = 0; i < s->data->rows; i++)
        s->f[i] += shift;
    return score_batch(ctx, s, 0, 1);
}

/* Rows that are held out, and what they say about new ones; before the probabilities. */
static kb_status validate(kb_context *ctx, kb_fit *s, kb_model *model) {
    kb_status status = KB_OK;
    kb_validation *given = s->plan->validation;
    kb_validate_spec spec = {.learner = &s->learner,
                             .data = s->data,
                             .holding = s->holding,
                             .fill = model->fill,
                             .intercept = model->intercept};
    kb_validation_release(model->allocator, &model->validation);
    if (given) {
        model->validation = *given;
        *given = (kb_validation){0};
    } else {
        TRY(kb_validate(ctx, &spec, &model->validation));
    }
done:
    return status;
}

/* A quantile: a fit follows its own rows too closely, so that too few of new ones lie on the far
 * side.  The decisions are shifted by the quantile of what is left over of the rows held out. */
static kb_status move_quantile(kb_context *ctx, kb_fit *s, kb_model *model) {
    kb_status status = KB_OK;
    kb_validation *v = &model->validation;
    const kb_config *config = &s->plan->config;
    kb_loss loss = kb_loss_with_quantile(kb_loss_of(config->loss), config->quantile);
    double *rest = NULL, shift;
    if (config->loss != KB_LOSS_QUANTILE || v->rows == 0 || !s->learner.intercept || s->plan->adds)
        goto done;
    TRY(kb_alloc(ctx, v->rows, sizeof *rest, &rest));
    for (size_t h = 0; h < v->rows; h++)
        rest[h] = v->label[h] - v->decision[h];
    kb_ranks ranks = kb_ranks_leave(ctx); /* all have the same record */
    status = kb_unit_centre(ctx, &loss, v->rows, 1, rest, v->weight, &shift, NULL);
    kb_ranks_return(ctx, ranks);
    TRY(status);
    TRY(shift_decisions(ctx, s, model, shift));
    for (size_t h = 0; h < v->rows; h++)
        v->decision[h] += shift;
done:
    kb_release(ctx, rest);
    return status;
}

/* Two classes with the option probability on: the constant that the rule adds to decisions goes to
 * the intercept. */
static kb_status move_boundary(kb_context *ctx, kb_fit *s, kb_model *model) {
    kb_validation *v = &model->validation;
    double shift = model->calibration.offset / model->calibration.slope;
    for (size_t h = 0; h < v->rows; h++)
        v->decision[h] += shift;
    return shift_decisions(ctx, s, model, shift);
}

static kb_status take_curve(kb_context *ctx, const kb_validation *v, kb_calibration *c) {
    c->offset = 0;
    return kb_curve_fit(ctx, v->rows, v->outputs, v->decision, v->class_of, v->weight, c->slope,
                        &c->curve);
}

/* The rule for probabilities, from the rows held out.  Without any, the logistic loss has its own.
 */
static kb_status calibrate(kb_context *ctx, kb_fit *s, kb_model *model) {
    kb_status status = KB_OK;
    size_t C = s->targets.outputs;
    const kb_validation *v = &model->validation;
    const kb_config *config = &s->plan->config;
    kb_calibration *c = &model->calibration;
    if (!s->targets.classes || config->probability == KB_PROBABILITY_OFF)
        goto done;
    if (config->loss == KB_LOSS_LOGISTIC && config->probability == KB_PROBABILITY_AUTO)
        *c = (kb_calibration){.kind = kb_learner_is_softmax(config, C) ? KB_CALIBRATION_SOFTMAX
                                                                       : KB_CALIBRATION_SIGMOID,
                              .slope = 1};
    if (v->rows == 0)
        goto done;
    *c = kb_calibrate(v->rows, C, v->decision, v->class_of, v->weight);
    if (C == 1 && config->probability == KB_PROBABILITY_ON)
        TRY(move_boundary(ctx, s, model));
    TRY(take_curve(ctx, v, c));
done:
    return status;
}

/* What the rows held out say about new ones. */
static kb_status conclude(kb_context *ctx, const kb_config *config, kb_model *model) {
    const kb_validation *v = &model->validation;
    if (config->loss != KB_LOSS_QUANTILE) /* which is no estimate of the labels */
        model->expected = kb_validation_expect(v);
    if (v->classes && v->rows > 0 && model->calibration.kind != KB_CALIBRATION_NONE)
        model->expected.log_loss = kb_calibration_log_loss(&model->calibration, v);
    return kb_conformal_build(ctx, v, &model->calibration, &model->conformal);
}

kb_status kb_fit_conclude(kb_context *ctx, const kb_config *config, kb_model *model) {
    kb_status status;
    const kb_validation *v = &model->validation;
    if (v->classes && v->rows > 0 && config->probability != KB_PROBABILITY_OFF) {
        model->calibration = kb_calibrate(v->rows, v->outputs, v->decision, v->class_of, v->weight);
        TRY(take_curve(ctx, v, &model->calibration));
    }
    TRY(conclude(ctx, config, model));
done:
    return status;
}

static void add_right(void *arg, size_t begin, size_t end, double *sum) {
    const kb_fit *s = ((const batch *)arg)->s;
    *sum = 0;
    for (size_t i = begin; i < end; i++)
        *sum += s->winner[i] == s->targets.class_of[i] ? kb_weight_of(s->sample_weight, i) : 0;
}

static void add_labels(void *arg, size_t begin, size_t end, double *sum) {
    const kb_fit *s = ((const batch *)arg)->s;
    *sum = 0;
    for (size_t i = begin; i < end; i++)
        *sum += kb_weight_of(s->sample_weight, i) * s->data->label[i] / s->total_weight;
}

static void add_squares(void *arg, size_t begin, size_t end, double *sum) {
    const batch *b = arg;
    const kb_fit *s = b->s;
    *sum = 0;
    for (size_t i = begin; i < end; i++)
        *sum += kb_weight_of(s->sample_weight, i) * (s->data->label[i] - b->mean) *
                (s->data->label[i] - b->mean);
}

/* Accuracy, or r2 = 1 - squared error / that of the mean; weighted. */
static kb_status train_score(kb_context *ctx, kb_fit *s, double *score) {
    kb_status status = KB_OK;
    size_t N = s->data->rows;
    batch b = {.s = s};
    double right = s->right, around;
    if (s->targets.classes > 2)
        TRY(kb_row_totals(ctx, N, 1, add_right, &b, &right));
    *score = right / s->total_weight;
    if (s->targets.classes)
        goto done;
    TRY(kb_row_totals(ctx, N, 1, add_labels, &b, &b.mean));
    TRY(kb_row_totals(ctx, N, 1, add_squares, &b, &around));
    *score = around > 0 ? 1 - s->squared_error / around : 0;
done:
    return status;
}

static size_t count_nonzeros(const kb_fit *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->columns_of_z * s->targets.outputs; i++)
        count += s->z ? s->weight[i] != 0 : s->rival_weight[i] != 0;
    return count;
}

/* The data as they were given, before any encoding. */
static const kb_data *source_of(const kb_fit *s) {
    return s->plan->source ? s->plan->source : s->data;
}

static void describe(kb_fit *s, const kb_model *model) {
    kb_fit_info *i = &s->info;
    const kb_map *map = model->map;
    const kb_config *config = &s->plan->config;
    i->task = s->targets.classes ? "classification" : "regression";
    i->loss = kb_choice_word(KB_OPT_LOSS, (int)config->loss);
    i->quantile = config->loss == KB_LOSS_QUANTILE ? config->quantile : 0;
    i->penalty = kb_choice_word(KB_OPT_PENALTY, (int)config->penalty);
    i->map = kb_choice_word(KB_OPT_MAP, (int)config->map);
    i->solver = kb_choice_word(KB_OPT_SOLVER, s->learner.rival ? KB_SOLVER_CHOLESKY
                                                               : (int)kb_solver_of(config)->kind);
    i->probability = kb_calibration_name(model->calibration.kind);
    i->kernel = map->kernel;
    kb_fit_info_set_sigma(i, map->sigma);
    i->scale = map->scaling;
    i->intercept = s->learner.intercept != KB_CONSTANT_NONE;
    i->rows = kb_rows_of_all(s->data);
    i->features = source_of(s)->features;
    i->classes = s->targets.classes;
    i->outputs = s->targets.outputs;
    i->grids = map->drawn;
    i->bins = s->columns_of_z;
    i->kappa = s->z ? s->z->kappa : 0;
    s->cost.id_bytes = s->z ? s->z->id_bytes : 0;
    i->steps = s->learner.steps;
    i->converged = s->learner.converged || s->plan->early || s->late;
    i->objective = s->learner.objective;
    i->nonzeros = count_nonzeros(s);
    i->gap = s->learner.gap;
    i->kept_grids = i->grids;
    i->kept_bins = i->bins;
    i->widths_differ = kb_widths_differ(&map->widths);
    i->linear_columns = kb_map_linear(map);
    i->directions = kb_map_mixtures(map) - kb_map_linear(map);
    i->models = 1;
}

/* The names of the classes that occur; a subset may lack some of them. */
static kb_status keep_words(kb_context *ctx, const kb_fit *s, kb_model *model) {
    kb_status status = KB_OK;
    size_t classes = s->targets.classes;
    char **word = NULL;
    if (!s->data->class_name)
        return KB_OK;
    TRY(kb_alloc(ctx, classes, sizeof *word, &word));
    for (size_t k = 0; k < classes; k++)
        word[k] = s->data->class_name[(size_t)model->class_value[k]];
    TRY(kb_strings_copy(ctx, classes, word, &model->class_name));
done:
    kb_release(ctx, word);
    return status;
}

/* What the model keeps of the labels and the columns. */
static kb_status keep_names(kb_context *ctx, kb_fit *s, kb_model *model) {
    kb_status status;
    const kb_data *source = source_of(s);
    model->class_value = s->targets.class_value;
    s->targets.class_value = NULL;
    TRY(kb_model_name_classes(ctx, model));
    TRY(keep_words(ctx, s, model));
    TRY(kb_strings_copy(ctx, source->features, source->feature_name, &model->feature_name));
    if (source->table)
        TRY(kb_table_copy(ctx, source->table, &model->table));
    TRY(kb_map_attach(ctx, model->map, s->plan->encoding));
    TRY(kb_strdup(ctx, s->data->label_name ? s->data->label_name : s->plan->config.label,
                  &model->label));
    model->zero_based = s->plan->config.zero_based;
done:
    return status;
}

/* The default is on for regression and off for classes: the decision of a sample that misses many
 * bins is pulled towards b, which should then be the decision boundary. */
static kb_constant wants_intercept(const kb_fit *s) {
    switch (s->plan->config.intercept) {
    case KB_INTERCEPT_ON:
        return KB_CONSTANT_FREE;
    case KB_INTERCEPT_OFF:
        return KB_CONSTANT_NONE;
    case KB_INTERCEPT_MEAN:
        return KB_CONSTANT_MEAN;
    default:
        return s->targets.classes == 0 ? KB_CONSTANT_FREE : KB_CONSTANT_NONE;
    }
}

static void add_weights(void *arg, size_t begin, size_t end, double *sum) {
    const kb_fit *s = ((const batch *)arg)->s;
    *sum = 0;
    for (size_t i = begin; i < end; i++)
        *sum += kb_weight_of(s->sample_weight, i);
}

static kb_status weigh_samples(kb_context *ctx, kb_fit *s) {
    kb_status status;
    batch b = {.s = s};
    TRY(kb_sample_weights_build(ctx, &s->plan->config, s->data, &s->targets, &s->sample_weight));
    TRY(kb_row_totals(ctx, s->data->rows, 1, add_weights, &b, &s->total_weight));
done:
    return status;
}

static kb_status build_binning(kb_context *ctx, kb_fit *s, kb_model *model,
                               const kb_memory_plan *memory, double *forecast) {
    kb_status status;
    kb_binned binned;
    TRY(kb_map_build(ctx, s->plan, s->data, memory, &model->map, &binned, forecast));
    s->z = binned.z;
    s->op = binned.op;
    s->columns_of_z = s->z->bins;
    double began = kb_now(ctx);
    TRY(kb_ranks_agree(ctx, kb_dictionary_build(ctx, s->z, &model->map->dictionary, &s->order)));
    s->grid_seconds = binned.seconds + kb_now(ctx) - began;
    if (kb_config_is_l1(&s->plan->config))
        TRY(kb_zcolumns_from_binmat(ctx, s->z, &s->columns));
done:
    return status;
}

/* Z of a rival for the L1 penalty: its product with the unit matrix. */
static kb_status dense_columns(kb_context *ctx, kb_fit *s) {
    kb_status status;
    size_t D = s->columns_of_z;
    double *unit = NULL, *z = NULL;
    TRY(kb_zalloc(ctx, D * D, sizeof *unit, &unit));
    TRY(kb_alloc(ctx, s->data->rows * D, sizeof *z, &z));
    for (size_t k = 0; k < D; k++)
        unit[k * D + k] = 1;
    TRY(s->op->apply(s->op, ctx, D, unit, z));
    TRY(kb_zcolumns_from_dense(ctx, s->data->rows, D, z, &s->columns));
done:
    kb_release(ctx, unit);
    kb_release(ctx, z);
    return status;
}

static kb_status build_rival(kb_context *ctx, kb_fit *s, kb_model *model,
                             const kb_memory_plan *memory, double *forecast) {
    kb_status status;
    size_t room;
    int direct = kb_solver_direct(&s->plan->config) != NULL;
    TRY(kb_map_build_rival(ctx, &s->plan->config, s->data, memory, s->batch, &model->map,
                           &s->scaled, &room, &direct, forecast));
    s->columns_of_z = model->map->rival->columns;
    TRY(kb_rival_operator(ctx, model->map->rival, s->scaled ? s->scaled : s->data, room, &s->op));
    if (direct)
        s->learner.rival = model->map->rival;
    if (kb_config_is_l1(&s->plan->config))
        TRY(dense_columns(ctx, s));
done:
    return status;
}

/* Opens the device that the config asks for; it is told what that does not do. */
static kb_status open_device(kb_context *ctx, const kb_config *config) {
    kb_device *device;
    if (config->device == KB_DEVICE_CPU || kb_has_ranks(ctx))
        return KB_OK;
    kb_status status = kb_device_open(ctx, &device);
    if (status == KB_OK && (kb_config_is_rival(config) || !kb_solver_on_device(config)))
        kb_device_tell(ctx, device,
                       "a GPU solves the square loss by sweeps and by CG; this fit is on the CPU");
    return status;
}

/* Checks of the options and the data before any work. */
static kb_status begin(kb_context *ctx, kb_fit *s, kb_memory_plan *memory) {
    kb_status status;
    const kb_config *config = &s->plan->config;
    assert(config->loss != KB_LOSS_AUTO && config->grids != KB_GRIDS_AUTO);
    s->info.lambda = config->lambda;
    s->info.seed = config->seed;
    TRY(open_device(ctx, config));
    TRY(kb_model_check_names(ctx, config, source_of(s)));
    if (s->plan->targets) {
        s->targets = *s->plan->targets;
        *s->plan->targets = (kb_targets){0};
    } else {
        TRY(kb_targets_build(ctx, config->task, s->data, &s->targets));
    }
    TRY(kb_metric_check(ctx, config->metric, config->loss, s->targets.classes));
    TRY(weigh_samples(ctx, s));
    s->batch = kb_learner_batch(config, s->targets.outputs);
    *memory = kb_forecast_fit(ctx, config, s->data->rows, &s->targets, s->sample_weight != NULL);
    *memory = kb_forecast_with(memory, s->plan->more, s->data->rows);
    s->learner = (kb_learner){.config = config,
                              .targets = &s->targets,
                              .weight = s->sample_weight,
                              .lambda = s->info.lambda,
                              .intercept = wants_intercept(s)};
    TRY(kb_learner_check(ctx, &s->learner));
done:
    return status;
}

kb_status kb_fit_check(kb_context *ctx, const kb_plan *plan, const kb_data *data) {
    kb_status status;
    kb_fit s = {.plan = plan, .data = data};
    kb_memory_plan memory;
    TRY(begin(ctx, &s, &memory));
    TRY(kb_map_check_memory(ctx, &plan->config, data, &memory, s.batch,
                            kb_solver_direct(&plan->config) != NULL));
done:
    kb_fit_release(ctx, &s);
    return status;
}

/* Which rows are held out, once the stop rows are known. */
static kb_status hold_out(kb_context *ctx, kb_fit *s) {
    kb_status status = KB_OK;
    kb_learner *l = &s->learner;
    int64_t stop_rows = (int64_t)l->stop_rows; /* of all ranks */
    TRY(kb_ranks_sum(ctx, &stop_rows, 1));
    s->holding = kb_holding_of(&s->plan->config, &s->targets, kb_rows_of_all(s->data),
                               (size_t)stop_rows, s->plan->validation != NULL);
    l->to = 1 / (double)(1 + s->holding.folds);
    if (!s->holding.stop)
        goto done;
    TRY(kb_alloc(ctx, l->stop_rows * s->targets.outputs, sizeof(double), &s->stop_f));
    TRY(kb_alloc(ctx, l->stop_rows * s->batch, sizeof(double), &s->stop_batch));
    l->stop_f = s->stop_f;
    l->stop_batch = s->stop_batch;
done:
    return status;
}

/* Numbers that left the range of a double make a model that no reader takes. */
static kb_status check(kb_context *ctx, const char *fault) {
    return fault ? kb_fail(ctx, KB_ERR_DATA,
                           "no model can be made: %s; numbers of the data are too large or too "
                           "small, which another %s may mend",
                           fault, kb_say(ctx, KB_OPT_SCALE).text)
                 : KB_OK;
}

kb_status kb_fit_prepare(kb_context *ctx, kb_fit *s, kb_model *model) {
    kb_status status;
    double began = kb_seconds(), forecast;
    kb_memory_plan memory;
    TRY(kb_ranks_agree(ctx, begin(ctx, s, &memory)));
    if (kb_config_is_rival(&s->plan->config))
        TRY(build_rival(ctx, s, model, &memory, &forecast));
    else
        TRY(build_binning(ctx, s, model, &memory, &forecast));
    TRY(check(ctx, kb_map_fault(model->map)));
    s->cost.forecast_bytes = (size_t)forecast;
    s->cost.bin_seconds = kb_seconds() - began;
    s->learner.op = s->op;
    s->learner.z = s->z;
    s->learner.columns = s->columns;
    if (s->plan->early && kb_solver_of(&s->plan->config)->sweeps) {
        TRY(kb_ranks_agree(ctx, kb_stop_rows(ctx, &s->plan->config, s->data, &s->learner.stop_rows,
                                             &s->stop_row)));
        s->learner.stop_row = s->stop_row;
    }
    TRY(kb_ranks_agree(ctx, hold_out(ctx, s)));
    TRY(kb_ranks_agree(ctx, kb_learner_prepare(ctx, &s->learner)));
    TRY(kb_ranks_agree(ctx, allocate(ctx, s, model)));
done:
    return status;
}

/* With the L1 penalty a row that falls into no bin with a weight gets the intercept.  The model
 * does not store bins without a weight, so it cannot tell them from unknown ones. */
static void set_priors(const kb_fit *s, kb_model *model) {
    size_t C = s->targets.outputs;
    if (kb_config_is_l1(&s->plan->config))
        memcpy(model->prior, model->intercept, C * sizeof(double));
    else
        set_prior_odds(&model->calibration, C, model->prior);
}

kb_status kb_fit_finish(kb_context *ctx, kb_fit *s, kb_model *model) {
    kb_status status;
    double began = kb_seconds();
    model->fill = s->plan->fill && s->z && !kb_config_is_l1(&s->plan->config);
    TRY(validate(ctx, s, model));
    TRY(move_quantile(ctx, s, model));
    TRY(calibrate(ctx, s, model));
    TRY(conclude(ctx, &s->plan->config, model));
    s->cost.solve_seconds += kb_seconds() - began;
    set_priors(s, model);
    model->softmax = kb_learner_is_softmax(&s->plan->config, s->targets.outputs);
    TRY(train_score(ctx, s, &s->info.train_score));
    describe(s, model);
    TRY(kb_model_set_info(ctx, model, &s->info));
    model->cost = s->cost;
    model->stopped = s->late;
    if (!model->label)
        TRY(keep_names(ctx, s, model));
    TRY(check(ctx, kb_model_fault(model, 1)));
done:
    return status;
}

/* Where solvers must stop, every batch has the same share of the time. */
static kb_status learn_all(kb_context *ctx, kb_fit *s, kb_model *model) {
    kb_status status = KB_OK;
    size_t outputs = s->targets.outputs;
    double until = kb_stop_at(ctx, INFINITY);
    for (size_t first = 0, C; first < outputs; first += C) {
        C = outputs - first < s->batch ? outputs - first : s->batch;
        if (isfinite(until))
            kb_stop_at(ctx, kb_share_of_time(ctx, until, s->learner.to * (double)C,
                                             (double)outputs - s->learner.to * (double)first));
        memset(s->w, 0, s->columns_of_z * s->batch * sizeof(double));
        TRY(kb_fit_outputs(ctx, s, model, first, C, s->w));
        s->late |= kb_is_late(ctx);
    }
done:
    kb_stop_at(ctx, until);
    return status;
}

kb_status kb_fit_plan(kb_context *ctx, const kb_plan *plan, const kb_data *data, kb_model **out) {
    kb_status status;
    kb_model *model = NULL;
    kb_fit s = {.plan = plan, .data = data};
    *out = NULL;
    TRY(kb_model_create(ctx, &model));
    TRY(kb_fit_prepare(ctx, &s, model));
    double began = kb_seconds(), sent = ctx->sent;
    TRY(learn_all(ctx, &s, model));
    s.cost.solve_seconds = kb_seconds() - began;
    s.cost.solve_sent_bytes = ctx->sent - sent;
    TRY(kb_fit_finish(ctx, &s, model));
    if (kb_config_is_l1(&plan->config) && s.z)
        TRY(kb_model_prune(ctx, model));
done:
    status = kb_ranks_agree(ctx, status);
    *out = status == KB_OK ? model : NULL;
    kb_fit_release(ctx, &s);
    if (status != KB_OK)
        kb_model_free(model);
    return status;
}
