/*
 * fit.c - from labelled data to a model.
 *
 *   targets    what the labels ask for
 *   map        scaling, grids, bins (Z as bin numbers)
 *   solve      (K + lambda I) alpha = y, a batch of outputs at a time over the same Z
 *   weights    w = Z' alpha, sorted as the dictionary is
 *
 * A free intercept b leaves alpha to the centred problem (H K H + lambda I) alpha = H y, H =
 * I - 11'/N, and then is the mean of y - K alpha.  A sample without a known bin gets the mean
 * of the targets, whatever b is.  Weights are kept as float: they are added
 * up in double, so a decision moves by 1e-7 of its size (tests/model/test_fit.c shows it).
 */
#include "core/sums.h"
#include "model/model.h"
#include "model/targets.h"
#include "solve/ridge.h"

#include <math.h>
#include <string.h>

/* Outputs solved at once.  More share a pass over the ids, but their vectors take more
 * memory; GMRES keeps 64 of them for each output. */
enum { CG_BATCH = 32, GMRES_BATCH = 4 };

enum { SOLVER_AUTO, SOLVER_CG, SOLVER_GMRES };

typedef struct fit {
    const kb_options *options;
    const kb_data *data;
    kb_targets targets;
    kb_binmat *z;
    kb_operator *op, *centred; /* centred: NULL without an intercept */
    uint32_t *order;           /* of the dictionary: kb_dictionary_build */
    size_t batch;              /* outputs solved at once */
    double *y, *alpha, *f;     /* N x batch */
    double *w;                 /* D x batch */
    double *mean;              /* batch */
    float *weight;             /* D x outputs */
    double *best;              /* N: the largest decision so far, several classes */
    uint32_t *winner;          /* N: and whose it is */
    double right;              /* rows of the right class, two classes */
    double squared_error;      /* over all outputs */
    kb_fit_info info;
} fit;

static size_t batch_of(const kb_options *options, size_t outputs) {
    size_t most =
        kb_options_choice(options, KB_OPT_SOLVER) == SOLVER_GMRES ? GMRES_BATCH : CG_BATCH;
    return outputs < most ? outputs : most;
}

/* Bytes of the solve for N rows and for each bin, given how many vectors a solver keeps. */
static kb_memory_plan plan_memory(const fit *s) {
    int gmres = kb_options_choice(s->options, KB_OPT_SOLVER) == SOLVER_GMRES;
    double vectors = 3 + (gmres ? 2 * (KB_GMRES_RESTART + 1) : 4);
    double row = vectors * 8 * (double)s->batch + (s->targets.outputs > 1 ? 12 : 0);
    return (kb_memory_plan){
        .limit = kb_options_bytes(s->options, KB_OPT_MAX_MEMORY),
        .fixed = row * (double)s->data->rows,
        .per_bin = 8 + 8 + 4 + 4 + 8 * (double)s->batch + 4 * (double)s->targets.outputs,
    };
}

static kb_status allocate(kb_context *ctx, fit *s, kb_model *model) {
    kb_status status;
    size_t N = s->data->rows, n = N * s->batch;
    TRY(kb_alloc(ctx, n, sizeof(double), &s->y));
    TRY(kb_alloc(ctx, n, sizeof(double), &s->alpha));
    TRY(kb_alloc(ctx, n, sizeof(double), &s->f));
    TRY(kb_alloc(ctx, s->z->bins * s->batch, sizeof(double), &s->w));
    TRY(kb_alloc(ctx, s->batch, sizeof(double), &s->mean));
    TRY(kb_alloc(ctx, s->z->bins * s->targets.outputs, sizeof(float), &s->weight));
    model->weight = s->weight;
    TRY(kb_zalloc(ctx, s->targets.outputs, sizeof(double), &model->intercept));
    TRY(kb_alloc(ctx, s->targets.outputs, sizeof(double), &model->prior));
    if (s->targets.outputs > 1) {
        TRY(kb_alloc(ctx, N, sizeof(double), &s->best));
        TRY(kb_alloc(ctx, N, sizeof(uint32_t), &s->winner));
    }
done:
    return status;
}

static void release(kb_context *ctx, fit *s) {
    void *all[] = {s->order, s->y, s->alpha, s->f, s->w, s->mean, s->best, s->winner};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    kb_targets_release(ctx, &s->targets);
    kb_operator_free(s->centred);
    kb_operator_free(s->op);
    kb_binmat_free(s->z);
}

/* Weights of one batch to their place, in the order of the dictionary. */
static void keep_weights(fit *s, const kb_dictionary *d, size_t first, size_t C) {
    size_t outputs = s->targets.outputs;
    for (size_t r = 0; r < d->grids; r++)
        for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
            const double *from = s->w + (d->start[r] + s->order[b]) * C;
            for (size_t c = 0; c < C; c++)
                s->weight[b * outputs + first + c] = (float)from[c];
        }
}

/* The batch's decisions on the training rows, f + b, against the targets. */
static void score_batch(fit *s, const double *b, size_t first, size_t C) {
    for (size_t i = 0; i < s->data->rows; i++)
        for (size_t c = 0; c < C; c++) {
            double f = s->f[i * C + c] + b[c], error = f - (s->y[i * C + c] + s->mean[c]);
            s->squared_error += error * error;
            if (s->targets.classes == 2)
                s->right += (f > 0) == (s->targets.class_of[i] == 1);
            else if (s->best && (first + c == 0 || f > s->best[i])) {
                s->best[i] = f;
                s->winner[i] = (uint32_t)(first + c);
            }
        }
}

static kb_status solve(kb_context *ctx, fit *s, size_t C) {
    kb_ridge problem = {
        .op = s->centred ? s->centred : s->op,
        .lambda = s->info.lambda,
        .tol = kb_options_real(s->options, KB_OPT_TOL),
        .max_steps = (size_t)kb_options_integer(s->options, KB_OPT_MAX_ITER),
        .C = C,
        .y = s->y,
        .alpha = s->alpha,
        .f = s->f,
    };
    kb_status status = kb_options_choice(s->options, KB_OPT_SOLVER) == SOLVER_GMRES
                           ? kb_ridge_gmres(ctx, &problem)
                           : kb_ridge_cg(ctx, &problem);
    s->info.steps = problem.steps > s->info.steps ? problem.steps : s->info.steps;
    s->info.converged &= problem.converged;
    return status;
}

/* Outputs first .. first + C: alpha, then w, f = Z w, b and their part of the objective. */
static kb_status fit_batch(kb_context *ctx, fit *s, kb_model *model, size_t first, size_t C) {
    kb_status status;
    size_t N = s->data->rows, D = s->z->bins;
    double *b = model->intercept + first, *square = NULL;
    TRY(kb_alloc(ctx, C, sizeof(double), &square));
    kb_targets_fill(&s->targets, N, first, C, s->y);
    TRY(kb_sums(ctx, N, C, s->y, NULL, model->prior + first));
    for (size_t c = 0; c < C; c++)
        model->prior[first + c] /= (double)N;
    memset(s->mean, 0, C * sizeof(double));
    if (s->centred)
        TRY(kb_centre(ctx, N, C, s->y, s->mean));
    TRY(solve(ctx, s, C));
    TRY(s->op->apply_t(s->op, ctx, C, s->alpha, s->w));
    TRY(s->op->apply(s->op, ctx, C, s->w, s->f));
    if (s->centred) {
        TRY(kb_sums(ctx, N, C, s->f, NULL, b));
        for (size_t c = 0; c < C; c++)
            b[c] = s->mean[c] - b[c] / (double)N;
    }
    keep_weights(s, &model->map->dictionary, first, C);
    score_batch(s, b, first, C);
    TRY(kb_sums(ctx, D, C, s->w, s->w, square));
    for (size_t c = 0; c < C; c++)
        s->info.objective += s->info.lambda / 2 * square[c];
done:
    kb_release(ctx, square);
    return status;
}

/* Accuracy, or r2 = 1 - squared error / that of the mean. */
static double train_score(const fit *s) {
    double N = (double)s->data->rows, mean = 0, around = 0;
    if (s->targets.classes == 2)
        return s->right / N;
    if (s->targets.classes) {
        double right = 0;
        for (size_t i = 0; i < s->data->rows; i++)
            right += s->winner[i] == s->targets.class_of[i];
        return right / N;
    }
    for (size_t i = 0; i < s->data->rows; i++)
        mean += s->data->label[i] / N;
    for (size_t i = 0; i < s->data->rows; i++)
        around += (s->data->label[i] - mean) * (s->data->label[i] - mean);
    return around > 0 ? 1 - s->squared_error / around : 0;
}

static size_t count_nonzeros(const fit *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->z->bins * s->targets.outputs; i++)
        count += s->weight[i] != 0;
    return count;
}

static void describe(fit *s, const kb_map *map) {
    kb_fit_info *i = &s->info;
    i->task = s->targets.classes ? "classification" : "regression";
    i->loss = kb_options_text(s->options, KB_OPT_LOSS);
    i->penalty = kb_options_text(s->options, KB_OPT_PENALTY);
    i->map = kb_options_text(s->options, KB_OPT_MAP);
    i->solver = kb_options_choice(s->options, KB_OPT_SOLVER) == SOLVER_GMRES ? "gmres" : "cg";
    i->kernel = map->kernel;
    i->sigma = map->sigma;
    i->scale = map->scaling;
    i->intercept = s->centred != NULL;
    i->seed = (uint64_t)kb_options_integer(s->options, KB_OPT_SEED);
    i->rows = s->data->rows;
    i->features = s->data->features;
    i->classes = s->targets.classes;
    i->outputs = s->targets.outputs;
    i->grids = s->z->grids;
    i->bins = s->z->bins;
    i->kappa = s->z->kappa;
    i->id_bytes = s->z->id_bytes;
    i->objective += s->squared_error / 2;
    i->train_score = train_score(s);
    i->nonzeros = count_nonzeros(s);
}

/* What the model keeps of the labels and the columns. */
static kb_status keep_names(kb_context *ctx, fit *s, kb_model *model) {
    kb_status status;
    model->class_value = s->targets.class_value;
    s->targets.class_value = NULL;
    TRY(kb_model_name_classes(ctx, model));
    TRY(kb_strings_copy(ctx, s->data->class_count, s->data->class_name, &model->class_name));
    TRY(kb_strings_copy(ctx, s->data->features, s->data->feature_name, &model->feature_name));
    TRY(kb_strdup(
        ctx, s->data->label_name ? s->data->label_name : kb_options_text(s->options, KB_OPT_LABEL),
        &model->label));
done:
    return status;
}

/* Left open, it is on for regression and off for classes: a sample that misses many bins is
 * drawn towards b, which should then be the border between the classes. */
static int wants_intercept(const fit *s) {
    enum { AUTO, ON, OFF };
    int choice = kb_options_choice(s->options, KB_OPT_INTERCEPT);
    return choice == ON || (choice == AUTO && s->targets.classes == 0);
}

static kb_status prepare(kb_context *ctx, fit *s, kb_model *model) {
    kb_status status;
    double began = kb_seconds(), forecast;
    TRY(kb_model_check_names(ctx, s->options, s->data));
    TRY(kb_targets_build(ctx, s->options, s->data, &s->targets));
    s->batch = batch_of(s->options, s->targets.outputs);
    kb_memory_plan plan = plan_memory(s);
    TRY(kb_map_build(ctx, s->options, s->data, &plan, &model->map, &s->z, &forecast));
    TRY(kb_dictionary_build(ctx, s->z, &model->map->dictionary, &s->order));
    s->info.forecast_bytes = (size_t)forecast;
    s->info.bin_seconds = kb_seconds() - began;
    TRY(kb_operator_binmat(ctx, s->z, &s->op));
    if (wants_intercept(s))
        TRY(kb_operator_centred(ctx, s->op, &s->centred));
    TRY(allocate(ctx, s, model));
done:
    return status;
}

kb_status kb_model_fit(kb_context *ctx, const kb_options *options, const kb_data *data,
                       kb_model **out) {
    kb_status status;
    kb_model *model = NULL;
    fit s = {.options = options, .data = data, .info.converged = 1};
    s.info.lambda = kb_options_real(options, KB_OPT_LAMBDA);
    *out = NULL;
    TRY(kb_model_create(ctx, &model));
    TRY(prepare(ctx, &s, model));
    double began = kb_seconds();
    for (size_t first = 0; first < s.targets.outputs; first += s.batch) {
        size_t rest = s.targets.outputs - first;
        TRY(fit_batch(ctx, &s, model, first, rest < s.batch ? rest : s.batch));
    }
    s.info.solve_seconds = kb_seconds() - began;
    describe(&s, model->map);
    TRY(kb_model_set_info(ctx, model, &s.info));
    TRY(keep_names(ctx, &s, model));
    *out = model;
done:
    release(ctx, &s);
    if (status != KB_OK)
        kb_model_free(model);
    return status;
}
