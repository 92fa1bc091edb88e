/*
 * predict.c - decisions and probabilities.
 *
 * Rows are processed in spans of chunks, distributed over the threads.  Within a chunk the grids
 * come in order, so that the dictionary and the weights of a grid stay in cache, and each row adds
 * its weights in that order for any number of threads.
 *
 *     f = b + sum / sqrt(R),   or where the model fills in,   b + sum / sqrt(known)
 *
 * A sample with a known bin in few of the R grids has few terms in its sum, which pulls its
 * decision towards b.  The second form undoes half of that, on a log scale: it is the first divided
 * by sqrt(known / R).
 */
#include "core/team.h"
#include "device/device.h"
#include "model/model.h"
#include "options/say.h"

#include <stdatomic.h>
#include <string.h>

enum { CHUNK = 512 };

/* Chunks that a thread takes at a time.  Sparse rows need a preparation for each block of grids
 * that costs as much as d entries, so it must serve many rows. */
enum { DENSE_CHUNKS = 1, SPARSE_CHUNKS = 32 };

/* About so many numbers are decided at a time where not all decisions are kept, but of rows enough
 * for each thread to have a span. */
enum { NUMBERS_AT_ONCE = 1 << 20, ROWS_OF_A_THREAD = SPARSE_CHUNKS * CHUNK };

typedef struct scratch {
    kb_lookup lookup;
    uint32_t known[SPARSE_CHUNKS * CHUNK]; /* bins of the row */
} scratch;

/* Adds the weights of one grid's bins to the rows whose keys are given.  The first loop only
 * prefetches the memory that the second one reads. */
static void add_grid(const kb_model *model, size_t r, size_t rows, const uint64_t *keys,
                     uint32_t *known, double *sum) {
    const kb_dictionary *d = &model->map->dictionary;
    size_t C = model->info.outputs;
    int64_t bin[CHUNK];
    for (size_t i = 0; i < rows; i++) {
        bin[i] = kb_dictionary_find(d, r, keys[i]);
        __builtin_prefetch(kb_model_weights_at(model, bin[i] < 0 ? 0 : (size_t)bin[i]));
    }
    for (size_t i = 0; i < rows; i++) {
        if (bin[i] < 0)
            continue;
        known[i]++;
        kb_model_add_bin(model, r, (size_t)bin[i], sum + i * C);
    }
}

/* One chunk of rows in one block of grids. */
static void add_block(const kb_model *model, const kb_data *data, size_t block, size_t begin,
                      size_t rows, scratch *t, uint32_t *known, double *sum) {
    kb_binning binning = kb_map_binning(model->map);
    kb_bin_keys_compute(&binning, data, block, begin, rows, t->lookup.zero, CHUNK, t->lookup.keys);
    for (size_t k = 0; k < KB_LANES && block * KB_LANES + k < model->map->dictionary.grids; k++)
        add_grid(model, block * KB_LANES + k, rows, t->lookup.keys + k * CHUNK, known, sum);
}

static void decide_rows(const kb_model *model, const kb_data *data, size_t begin, size_t rows,
                        scratch *t, double *decision, double *known) {
    kb_binning binning = kb_map_binning(model->map);
    size_t C = model->info.outputs, first;
    const kb_data *x = kb_map_rows(model->map, data, begin, rows, &t->lookup.room, &first);
    double factor = kb_bin_value(model->map->drawn);
    memset(decision, 0, rows * C * sizeof(double));
    memset(t->known, 0, rows * sizeof *t->known);
    for (size_t block = 0; block < kb_grids_blocks(model->map->grids); block++) {
        kb_bin_keys_prepare(&binning, x, block, t->lookup.zero);
        for (size_t i = 0; i < rows; i += CHUNK)
            add_block(model, x, block, first + i, rows - i < CHUNK ? rows - i : CHUNK, t,
                      t->known + i, decision + i * C);
    }
    for (size_t i = 0; i < rows; i++) {
        if (model->fill)
            factor = kb_bin_value(t->known[i]);
        for (size_t c = 0; c < C; c++)
            decision[i * C + c] =
                t->known[i] ? decision[i * C + c] * factor + model->intercept[c] : model->prior[c];
        if (known)
            known[i] = (double)t->known[i] / (double)model->map->dictionary.grids;
    }
}

/* A round of spans of rows, taken by the threads as they become free; progress is reported
 * between rounds. */
typedef struct taking {
    const kb_model *model;
    const kb_data *data;
    scratch *each;
    double *decision, *known; /* known: NULL where it is not wanted */
    size_t span;              /* rows */
    atomic_size_t next;       /* span to be taken */
    size_t last;
} taking;

static void take_spans(void *arg, int me, int threads) {
    taking *r = arg;
    (void)threads;
    for (size_t k; (k = atomic_fetch_add(&r->next, 1)) < r->last;) {
        size_t begin = k * r->span, left = r->data->rows - begin;
        decide_rows(r->model, r->data, begin, left < r->span ? left : r->span, &r->each[me],
                    r->decision + begin * r->model->info.outputs,
                    r->known ? r->known + begin : NULL);
    }
}

static kb_status decide_by_rival(kb_context *ctx, const kb_model *model, const kb_data *data,
                                 double *decision) {
    kb_status status;
    size_t C = model->info.outputs;
    TRY(kb_map_check(ctx, model->map, data));
    TRY(kb_progress(ctx, "predict", 0));
    TRY(kb_map_decide_rival(ctx, model->map, data, C, model->rival_weight, decision));
    for (size_t i = 0; i < data->rows; i++)
        for (size_t c = 0; c < C; c++)
            decision[i * C + c] += model->intercept[c];
    TRY(kb_progress(ctx, "predict", 1));
done:
    return status;
}

static void release_scratch(kb_context *ctx, size_t threads, scratch *each) {
    for (size_t t = 0; each && t < threads; t++)
        kb_lookup_release(ctx, &each[t].lookup);
    kb_release(ctx, each);
}

/* For spans of so many rows. */
static kb_status create_scratch(kb_context *ctx, const kb_map *map, const kb_data *data,
                                size_t span, scratch **out) {
    kb_status status;
    size_t T = (size_t)ctx->threads;
    TRY(kb_zalloc(ctx, T, sizeof **out, out));
    for (size_t t = 0; t < T; t++)
        TRY(kb_lookup_create(ctx, map, data, span, CHUNK, &(*out)[t].lookup));
done:
    return status;
}

/* ---- on a device ------------------------------------------------------- */

/* Rows that it gets at a time, and the fewest for which the model is copied there: then it has at
 * least as much to look up as it was given. */
enum { ROWS_THERE = 1 << 20, LEAST_THERE = 1 << 10 };

/* NULL: the CPU. */
static kb_device *device_for(kb_context *ctx, const kb_model *model, const kb_data *data) {
    kb_device *device = kb_device_here(ctx);
    const kb_dictionary *known = &model->map->dictionary;
    if (!device || data->rows < LEAST_THERE || known->bins / data->rows > known->grids)
        return NULL;
    if (kb_map_is_dense(model->map, data))
        return device;
    kb_device_tell(ctx, device, "sparse rows are predicted on the CPU");
    return NULL;
}

/* The weights of a compact model as floats. */
static kb_status expand_weights(kb_context *ctx, const kb_model *model, float **out) {
    kb_status status;
    const kb_dictionary *d = &model->map->dictionary;
    size_t C = model->info.outputs;
    TRY(kb_alloc(ctx, d->bins * C, sizeof **out, out));
    for (size_t r = 0; r < d->grids; r++)
        for (size_t b = d->start[r]; b < d->start[r + 1]; b++) {
            const int8_t *level = kb_model_levels(model, b);
            for (size_t c = 0; c < C; c++)
                (*out)[b * C + c] = level ? kb_level_weight(level[c], model->unit[r * C + c]) : 0;
        }
done:
    return status;
}

typedef struct changing {
    const kb_map *map;
    const kb_data *data;
    const scratch *each;
    size_t begin, end;
    double *to; /* the rows after encoding and transform */
} changing;

static void change_rows(void *arg, int me, int threads) {
    const changing *a = arg;
    size_t columns = a->map->columns, chunks = (a->end - a->begin + CHUNK - 1) / CHUNK, first;
    for (size_t k = (size_t)me; k < chunks; k += (size_t)threads) {
        size_t begin = a->begin + k * CHUNK, left = a->end - begin;
        size_t rows = left < CHUNK ? left : CHUNK;
        const kb_data *x =
            kb_map_rows(a->map, a->data, begin, rows, &a->each[me].lookup.room, &first);
        memcpy(a->to + k * CHUNK * columns, x->dense + first * columns,
               rows * columns * sizeof *a->to);
    }
}

/* All rows; `each` as for kb_map_rows, `room` for ROWS_THERE changed rows, or NULL: they pass as
 * they are. */
static kb_status decide_portions(kb_context *ctx, kb_device *device, kb_gpu_rule *rule,
                                 const kb_model *model, const kb_data *data, const scratch *each,
                                 double *room, double *decision, double *known) {
    kb_status status = KB_OK;
    for (size_t begin = 0, end; begin < data->rows; begin = end) {
        end = data->rows - begin < ROWS_THERE ? data->rows : begin + ROWS_THERE;
        changing a = {model->map, data, each, begin, end, room};
        if (room)
            kb_team_run(ctx, end - begin <= CHUNK, change_rows, &a);
        TRY(kb_device_check(
            ctx, device,
            device->call->decide(rule, end - begin,
                                 room ? room : data->dense + begin * model->map->columns,
                                 decision + begin * model->info.outputs, known + begin)));
        TRY(kb_progress(ctx, "predict", (double)end / (double)data->rows));
    }
done:
    return status;
}

static kb_status decide_there(kb_context *ctx, kb_device *device, const kb_model *model,
                              const kb_data *data, double *decision, double *known) {
    kb_status status;
    const kb_map *map = model->map;
    const kb_grids *g = map->grids;
    size_t most = data->rows < ROWS_THERE ? data->rows : ROWS_THERE;
    float *weight = NULL;
    double *room = NULL, *own = NULL;
    scratch *each = NULL;
    kb_gpu_rule *rule = NULL;
    if (model->level)
        TRY(expand_weights(ctx, model, &weight));
    if (!known)
        TRY(kb_alloc(ctx, data->rows, sizeof *own, &own));
    if (!kb_map_changes_nothing(map, data)) {
        TRY(create_scratch(ctx, map, data, CHUNK, &each));
        TRY(kb_alloc(ctx, most * map->columns, sizeof *room, &room));
    }
    kb_gpu_model there = {.features = map->columns,
                          .outputs = model->info.outputs,
                          .drawn = map->drawn,
                          .fill = model->fill,
                          .shift = map->shift,
                          .scale = map->scale,
                          .parameter = g->parameter,
                          .bound = g->bound,
                          .factor = g->factor,
                          .dictionary = &map->dictionary,
                          .weight = weight ? weight : model->weight,
                          .intercept = model->intercept,
                          .prior = model->prior};
    TRY(kb_device_check(ctx, device, device->call->rule_create(device->gpu, &there, most, &rule)));
    TRY(decide_portions(ctx, device, rule, model, data, each, room, decision, known ? known : own));
done:
    device->call->rule_free(rule);
    release_scratch(ctx, (size_t)ctx->threads, each);
    kb_release(ctx, weight);
    kb_release(ctx, room);
    kb_release(ctx, own);
    return status;
}

/* ---- decisions --------------------------------------------------------- */

kb_status kb_model_decide(kb_context *ctx, const kb_model *model, const kb_data *data,
                          double *decision) {
    return kb_model_decide_known(ctx, model, data, decision, NULL);
}

kb_status kb_model_decide_known(kb_context *ctx, const kb_model *model, const kb_data *data,
                                double *decision, double *known) {
    kb_status status;
    for (size_t i = 0; known && model->map->rival && i < data->rows; i++)
        known[i] = 1;
    if (model->map->rival)
        return decide_by_rival(ctx, model, data, decision);
    int dense = kb_map_is_dense(model->map, data);
    size_t T = (size_t)ctx->threads, span = CHUNK * (dense ? DENSE_CHUNKS : SPARSE_CHUNKS);
    size_t spans = (data->rows + span - 1) / span, round = (dense ? 16 : 1) * T;
    scratch *each = NULL;
    TRY(kb_map_check(ctx, model->map, data));
    kb_device *device = device_for(ctx, model, data);
    if (device) {
        status = decide_there(ctx, device, model, data, decision, known);
        if (!kb_device_gives_up(ctx, device, &status))
            return status;
    }
    TRY(create_scratch(ctx, model->map, data, span, &each));
    for (size_t first = 0; first < spans; first += round) {
        size_t last = first + round < spans ? first + round : spans;
        taking r = {model, data, each, decision, known, span, first, last};
        kb_team_run(ctx, last - first < 2, take_spans, &r);
        TRY(kb_progress(ctx, "predict", (double)last / (double)spans));
    }
done:
    release_scratch(ctx, T, each);
    return status;
}

kb_status kb_model_probability(kb_context *ctx, const kb_model *model, size_t rows,
                               const double *decision, double *probability) {
    if (model->info.classes == 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "the model gives no probabilities: these are for classes; regression has "
                       "intervals");
    if (model->calibration.kind == KB_CALIBRATION_NONE)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "the model gives no probabilities: train it with %s or %s",
                       kb_say_value(ctx, KB_OPT_HOLDOUT, "auto").text,
                       kb_say_value(ctx, KB_OPT_PROBABILITY, "on").text);
    for (size_t i = 0; i < rows; i++)
        kb_calibration_apply(&model->calibration, model->info.outputs,
                             decision + i * model->info.outputs,
                             probability + i * model->info.classes);
    return KB_OK;
}

/* ---- some rows at a time ----------------------------------------------- */

size_t kb_model_rows_at_once(const kb_context *ctx, const kb_model *model, size_t rows) {
    size_t most = NUMBERS_AT_ONCE / model->info.outputs;
    size_t least = (size_t)ctx->threads * ROWS_OF_A_THREAD;
    most = most > least ? most : least;
    return most < rows ? most : rows;
}

/* ---- outputs ----------------------------------------------------------- */

kb_status kb_request_take(kb_context *ctx, const kb_model *model, const kb_request *from,
                          kb_request *out) {
    kb_status status;
    const kb_fit_info *info = &model->info;
    TRY(kb_take_struct(ctx, "kb_request", from, out, sizeof *out));
    if (out->what < KB_OUTPUT_LABEL || out->what > KB_OUTPUT_NOVELTY)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%d is no kb_output", (int)out->what));
    if ((out->what == KB_OUTPUT_INTERVAL || out->what == KB_OUTPUT_SET) &&
        !(out->coverage > 0 && out->coverage < 1))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "coverage %g: must be above 0 and below 1",
                    out->coverage));
    if (out->what == KB_OUTPUT_PROBABILITY)
        TRY(kb_model_probability(ctx, model, 0, NULL, NULL));
    if (out->what == KB_OUTPUT_INTERVAL && info->classes)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "intervals are for regression; classes have sets"));
    if (out->what == KB_OUTPUT_INTERVAL && info->quantile > 0)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                    "a quantile has no intervals: train a model for either end, with %s",
                    kb_say(ctx, KB_OPT_QUANTILE).text));
    if (out->what == KB_OUTPUT_SET && !info->classes)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "sets are for classes; regression has intervals"));
    if (out->what == KB_OUTPUT_NOVELTY && (model->map->rival || info->kept_bins < info->bins))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "novelty needs a model with all its bins: %s and %s",
                    kb_say_value(ctx, KB_OPT_MAP, "binning").text,
                    kb_say_value(ctx, KB_OPT_PENALTY, "l2").text));
    if ((out->what == KB_OUTPUT_INTERVAL && model->conformal.residual.count == 0) ||
        (out->what == KB_OUTPUT_SET && model->conformal.truth.count == 0) ||
        (out->what == KB_OUTPUT_NOVELTY && model->conformal.known.count == 0))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                    "the model has no rows held out to compare with: train it with %s",
                    kb_say_value(ctx, KB_OPT_HOLDOUT, "auto").text));
done:
    return status;
}

kb_status kb_request_check(kb_context *ctx, const kb_model *model, const kb_request *request) {
    kb_request taken;
    return kb_request_take(ctx, model, request, &taken);
}

size_t kb_request_numbers(const kb_model *model, const kb_request *request) {
    switch (request->what) {
    case KB_OUTPUT_DECISION:
        return model->info.outputs;
    case KB_OUTPUT_PROBABILITY:
    case KB_OUTPUT_SET:
        return model->info.classes;
    case KB_OUTPUT_INTERVAL:
        return 3;
    case KB_OUTPUT_NOVELTY:
        return 2;
    default:
        return 1;
    }
}

/* 1 for the classes that are in the set, from their probabilities. */
static void mark_set(const kb_model *model, const kb_request *request, double *p) {
    size_t classes = model->info.classes, best = 0;
    double least = kb_conformal_threshold(&model->conformal, request->coverage);
    for (size_t c = 1; c < classes; c++)
        best = p[c] > p[best] ? c : best;
    for (size_t c = 0; c < classes; c++)
        p[c] = c == best || p[c] >= least;
}

void kb_request_fill(const kb_model *model, const kb_request *request, const double *decision,
                     double known, double *out) {
    size_t C = model->info.outputs;
    switch (request->what) {
    case KB_OUTPUT_DECISION:
        memcpy(out, decision, C * sizeof *out);
        break;
    case KB_OUTPUT_PROBABILITY:
    case KB_OUTPUT_SET:
        kb_calibration_apply(&model->calibration, C, decision, out);
        if (request->what == KB_OUTPUT_SET)
            mark_set(model, request, out);
        break;
    case KB_OUTPUT_INTERVAL:
        out[0] = kb_model_mean(model, decision[0]);
        kb_conformal_interval(&model->conformal, out[0], known, request->coverage, &out[1],
                              &out[2]);
        if (model->log_link) /* no count is below 0 */
            out[1] = out[1] > 0 ? out[1] : 0;
        break;
    case KB_OUTPUT_NOVELTY:
        out[0] = known;
        out[1] = kb_conformal_novelty(&model->conformal, known);
        break;
    default:
        kb_model_label(model, 1, decision, out);
    }
}

kb_status kb_model_predict(kb_context *ctx, const kb_model *model, const kb_data *data,
                           kb_output what, double *out) {
    kb_request request = KB_REQUEST_INIT;
    request.what = what;
    return kb_model_predict_as(ctx, model, data, &request, out);
}

kb_status kb_model_predict_as(kb_context *ctx, const kb_model *model, const kb_data *data,
                              const kb_request *asked, double *out) {
    kb_status status;
    kb_request request;
    double *decision = NULL, *known = NULL;
    size_t N = data->rows, C = model->info.outputs;
    size_t most = kb_model_rows_at_once(ctx, model, N);
    TRY(kb_request_take(ctx, model, asked, &request));
    if (request.what == KB_OUTPUT_DECISION)
        return kb_model_decide(ctx, model, data, out);
    size_t numbers = kb_request_numbers(model, &request);
    TRY(kb_alloc(ctx, most * C, sizeof *decision, &decision));
    TRY(kb_alloc(ctx, most, sizeof *known, &known));
    for (size_t begin = 0; begin < N; begin += most) {
        kb_data part = kb_data_view(data, begin, N - begin < most ? N - begin : most);
        kb_progress_part(ctx, (double)begin / (double)N, (double)(begin + part.rows) / (double)N);
        TRY(kb_model_decide_known(ctx, model, &part, decision, known));
        for (size_t i = 0; i < part.rows; i++)
            kb_request_fill(model, &request, decision + i * C, known[i],
                            out + (begin + i) * numbers);
    }
done:
    kb_progress_part(ctx, 0, 1);
    kb_release(ctx, decision);
    kb_release(ctx, known);
    return status;
}
