/*
 * model_file.c - a model as named arrays and a JSON text; docs/model-format.md has the whole list.
 * Keys and starts are unsigned, and stored as the signed integers of the same bits, which more
 * readers of safetensors support.
 */
#include "core/outfile.h"
#include "model/model.h"
#include "validation/importance_file.h"
#include "model/map_file.h"
#include "model/rival_file.h"
#include "model/table_file.h"
#include "model/tried_file.h"
#include "lines/decode.h"
#include "validation/validation_file.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char FORMAT[] = "kerbin";
/* What a version adds, and the highest that is read. */
enum {
    PLAIN_VERSION = 1,
    PARTIAL_VERSION = 2,
    CHOSEN_VERSION = 3,
    MIXTURE_VERSION = 4,
    TABLE_VERSION = 5,
    CURVE_VERSION = 6,
    COMPACT_VERSION = 7,
    HIGHEST_VERSION = COMPACT_VERSION,
};

/* The arrays, in the order of the file.  A plain model has keys and weights, a compact one the last
 * ones, and KEPT where some bins have no levels. */
enum {
    INVERSE_WIDTH,
    OFFSET,
    SHIFT,
    SCALE,
    INTERCEPT,
    PRIOR,
    FACTOR,
    START,
    BUCKET_START,
    KEY,
    KEPT,
    BUCKET,
    WEIGHT,
    UNIT,
    KEPT_BEFORE,
    TAIL,
    SKIP,
    LEVEL,
    ARRAYS
};

/* d: the columns of the map; levels: bins that have some. */
static void describe_arrays(const kb_fit_info *i, size_t d, size_t buckets, size_t levels,
                            kb_tensor *t) {
    size_t R = i->kept_grids, words = (i->kept_bins + 63) / 64;
    t[INVERSE_WIDTH] = (kb_tensor){"grid.inverse_width", KB_F64, 2, {R, d}, NULL};
    t[OFFSET] = (kb_tensor){"grid.offset", KB_F64, 2, {R, d}, NULL};
    t[SHIFT] = (kb_tensor){"feature.shift", KB_F64, 1, {d, 0}, NULL};
    t[SCALE] = (kb_tensor){"feature.scale", KB_F64, 1, {d, 0}, NULL};
    t[INTERCEPT] = (kb_tensor){"intercept", KB_F64, 1, {i->outputs, 0}, NULL};
    t[PRIOR] = (kb_tensor){"prior", KB_F64, 1, {i->outputs, 0}, NULL};
    t[FACTOR] = (kb_tensor){"hash.factor", KB_I64, 1, {d, 0}, NULL};
    t[START] = (kb_tensor){"bin.start", KB_I64, 1, {R + 1, 0}, NULL};
    t[BUCKET_START] = (kb_tensor){"bucket.start", KB_I64, 1, {R + 1, 0}, NULL};
    t[KEY] = (kb_tensor){"bin.key", KB_I64, 1, {i->kept_bins, 0}, NULL};
    t[BUCKET] = (kb_tensor){"bucket.first", KB_I32, 1, {buckets, 0}, NULL};
    t[WEIGHT] = (kb_tensor){"bin.weight", KB_F32, 2, {i->kept_bins, i->outputs}, NULL};
    t[UNIT] = (kb_tensor){"grid.unit", KB_F32, 2, {R, i->outputs}, NULL};
    t[KEPT] = (kb_tensor){"bin.kept", KB_I64, 1, {words, 0}, NULL};
    t[KEPT_BEFORE] = (kb_tensor){"kept.before", KB_I32, 1, {words, 0}, NULL};
    t[TAIL] = (kb_tensor){"bin.tail", KB_I16, 1, {i->kept_bins, 0}, NULL};
    t[SKIP] = (kb_tensor){"grid.skip", KB_I8, 1, {R, 0}, NULL};
    t[LEVEL] = (kb_tensor){"bin.level", KB_I8, 2, {levels, i->outputs}, NULL};
}

static int is_of(int array, int compact, int kept) {
    switch (array) {
    case KEY:
    case WEIGHT:
        return !compact;
    case KEPT:
    case KEPT_BEFORE:
        return kept;
    default:
        return compact || array < UNIT;
    }
}

/* ---- what a file can keep ---------------------------------------------- */

static int all_utf8(size_t count, char *const *text) {
    for (size_t i = 0; text && i < count; i++)
        if (!kb_is_utf8(text[i]))
            return 0;
    return 1;
}

kb_status kb_model_check_names(kb_context *ctx, const kb_config *config, const kb_data *data) {
    char *const texts[] = {(char *)config->label, data->label_name, (char *)config->kernel.text,
                           (char *)config->sigma.text};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] && !all_utf8(1, &texts[i]))
            return kb_fail(ctx, KB_ERR_DATA,
                           "the name '%.60s' is not UTF-8, which a model file needs", texts[i]);
    if (!all_utf8(data->features, data->feature_name))
        return kb_fail(ctx, KB_ERR_DATA,
                       "a column's name is not UTF-8, which a model file needs: convert the data");
    for (size_t j = 0; data->table && j < data->table->columns; j++)
        if (!all_utf8(data->table->column[j].levels, data->table->column[j].level))
            return kb_fail(ctx, KB_ERR_DATA,
                           "column %zu has a word that is not UTF-8, which a model file needs: "
                           "convert the data",
                           j + 1);
    for (size_t k = 0; data->table && k < data->table->left_out; k++)
        if (!all_utf8(1, &data->table->out[k].name))
            return kb_fail(
                ctx, KB_ERR_DATA,
                "a column's name is not UTF-8, which a model file needs: convert the data");
    if (!all_utf8(data->class_count, data->class_name))
        return kb_fail(ctx, KB_ERR_DATA,
                       "a label is not UTF-8, which a model file needs: convert the data");
    return KB_OK;
}

/* ---- writing ----------------------------------------------------------- */

/* Adds to a list, which is NULL once that has failed. */
static json_t *with(json_t *list, json_t *item) {
    if (json_array_append_new(list, item) == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *strings(size_t count, char *const *text) {
    json_t *list = text ? json_array() : json_null();
    for (size_t i = 0; text && i < count; i++)
        list = with(list, json_string(text[i]));
    return list;
}

static json_t *numbers(size_t count, const double *x) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        list = with(list, json_real(x[i]));
    return list;
}

static json_t *describe_model(const kb_model *m) {
    const kb_fit_info *i = &m->info;
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:b, s:I}", "task", i->task,
                  "loss", i->loss, "penalty", i->penalty, "map", i->map, "kernel", i->kernel,
                  "sigma", i->sigma_text, "solver", i->solver, "scale", i->scale, "lambda",
                  i->lambda, "intercept", i->intercept, "seed", (json_int_t)i->seed);
    json_t *sizes = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "rows", (json_int_t)i->rows,
                              "features", (json_int_t)i->features, "classes",
                              (json_int_t)i->classes, "outputs", (json_int_t)i->outputs, "grids",
                              (json_int_t)i->grids, "bins", (json_int_t)i->bins);
    json_t *result =
        json_pack("{s:f, s:I, s:b, s:f, s:f, s:I}", "kappa", i->kappa, "steps",
                  (json_int_t)i->steps, "converged", i->converged, "objective", i->objective,
                  "train_score", i->train_score, "nonzeros", (json_int_t)i->nonzeros);
    if (json_object_update(json, sizes) || json_object_update(json, result) ||
        json_object_set_new(json, "class_values", numbers(i->classes, m->class_value)) ||
        json_object_set_new(json, "class_names", strings(i->classes, m->class_name)) ||
        json_object_set_new(json, "feature_names", strings(i->features, m->feature_name)) ||
        (i->quantile > 0 && json_object_set_new(json, "quantile", json_real(i->quantile))) ||
        json_object_set_new(json, "gap", json_real(i->gap)) ||
        json_object_set_new(json, "kept_grids", json_integer((json_int_t)i->kept_grids)) ||
        json_object_set_new(json, "kept_bins", json_integer((json_int_t)i->kept_bins)) ||
        json_object_set_new(json, "probability", json_string(i->probability)) ||
        json_object_set_new(json, "probability_slope", json_real(m->calibration.slope)) ||
        json_object_set_new(json, "label", json_string(m->label)) ||
        json_object_set_new(json, "zero_based", json_boolean(m->zero_based)) ||
        (m->table && !kb_table_describe(m->table, json)) ||
        (m->tried_count > 0 && !kb_tried_describe(m, json)) ||
        (m->importance.drop && !kb_importance_describe(&m->importance, i->features, json)) ||
        (m->fill && json_object_set_new(json, "fill", json_true())) ||
        (m->softmax && json_object_set_new(json, "multiclass", json_string("softmax"))) ||
        (m->expected.rows > 0 &&
         json_object_set_new(json, "expected", kb_expected_describe(&m->expected))) ||
        (i->directions &&
         json_object_set_new(json, "directions", json_integer((json_int_t)i->directions))) ||
        (i->models > 1 &&
         json_object_set_new(json, "models", json_integer((json_int_t)i->models))) ||
        (m->conformal.rows > 0 &&
         json_object_set_new(json, "conformal", kb_conformal_describe(&m->conformal))) ||
        (m->compaction.compact &&
         json_object_set_new(json, "compact",
                             json_pack("{s:f, s:f}", "typical", m->compaction.typical, "most",
                                       m->compaction.most))) ||
        (m->calibration.curve.knots > 0 &&
         json_object_set_new(json, "probability_curve",
                             kb_curve_describe(&m->calibration.curve)))) {
        json_decref(json);
        json = NULL;
    }
    json_decref(sizes);
    json_decref(result);
    return json;
}

/* The format version tells older readers to refuse a model that they cannot handle: with dropped
 * bins, a transform, filling in, mixtures of columns, an encoding of a table, a curve for
 * probabilities, or compact arrays. */
static int version_of(const kb_model *model) {
    const kb_fit_info *i = &model->info;
    if (model->compaction.compact)
        return COMPACT_VERSION;
    if (model->calibration.curve.knots > 0)
        return CURVE_VERSION;
    if (model->map->encoding || model->table)
        return TABLE_VERSION;
    if (kb_map_mixtures(model->map) > 0)
        return MIXTURE_VERSION;
    if (model->map->transform || model->fill)
        return CHOSEN_VERSION;
    return i->kept_bins < i->bins || model->map->rival ? PARTIAL_VERSION : PLAIN_VERSION;
}

static json_t *metadata_of(kb_context *ctx, const kb_model *model) {
    json_t *json = describe_model(model);
    char *text = NULL;
    if (json)
        kb_json_dump(ctx, json, JSON_COMPACT | JSON_REAL_PRECISION(17), &text);
    char version[16] = {(char)('0' + version_of(model))};
    json_t *out = text ? json_pack("{s:s, s:s, s:s, s:s}", "format", FORMAT, "format_version",
                                   version, "made_by", "kerbin " KB_VERSION, "model", text)
                       : NULL;
    kb_release(ctx, text);
    json_decref(json);
    return out;
}

/* Widths and offsets grid by grid, from the blocks of the inner loops. */
static void unpack_grids(const kb_grids *g, double *inverse, double *offset) {
    for (size_t r = 0; r < g->grids; r++)
        for (size_t j = 0; j < g->features; j++) {
            const double *at = kb_grids_at(g, r, j);
            *inverse++ = at[0];
            *offset++ = at[KB_LANES];
        }
}

static kb_status write_model(kb_context *ctx, const kb_model *model, const kb_sink *sink) {
    kb_status status;
    kb_tensor all[ARRAYS], t[ARRAYS + KB_MAP_TENSORS];
    kb_map_tensors own = {0};
    const kb_map *map = model->map;
    const kb_dictionary *d = &map->dictionary;
    size_t cells = map->rival ? 0 : map->grids->grids * map->grids->features;
    double *inverse = NULL, *offset = NULL;
    const char *fault = kb_model_fault(model, 1);
    json_t *metadata = fault ? NULL : metadata_of(ctx, model);
    if (fault)
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the model is damaged: %s", fault));
    if (!metadata)
        TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: cannot describe the model"));
    TRY(kb_map_tensors_build(ctx, map, &own));
    if (map->rival) {
        status = kb_model_write_rival(ctx, model, &own, metadata, sink);
        goto done;
    }
    TRY(kb_alloc(ctx, cells, sizeof(double), &inverse));
    TRY(kb_alloc(ctx, cells, sizeof(double), &offset));
    unpack_grids(map->grids, inverse, offset);
    describe_arrays(&model->info, map->columns, (size_t)d->bucket_start[d->grids],
                    model->info.kept_bins - model->compaction.dropped, all);
    const void *const bytes[ARRAYS] = {
        [INVERSE_WIDTH] = inverse,
        [OFFSET] = offset,
        [SHIFT] = map->shift,
        [SCALE] = map->scale,
        [INTERCEPT] = model->intercept,
        [PRIOR] = model->prior,
        [FACTOR] = map->grids->factor,
        [START] = d->start,
        [BUCKET_START] = d->bucket_start,
        [KEY] = d->key,
        [BUCKET] = d->bucket,
        [WEIGHT] = model->weight,
        [UNIT] = model->unit,
        [KEPT] = model->kept,
        [KEPT_BEFORE] = model->kept_before,
        [TAIL] = d->tail,
        [SKIP] = d->skip,
        [LEVEL] = model->level,
    };
    size_t count = 0;
    for (int i = 0; i < ARRAYS; i++) {
        if (i == BUCKET) { /* numbers of 8 bytes first */
            memcpy(t + count, own.tensor, own.count * sizeof *t);
            count += own.count;
        }
        all[i].bytes = bytes[i];
        if (is_of(i, model->compaction.compact, model->kept != NULL))
            t[count++] = all[i];
    }
    TRY(kb_tensors_write(ctx, sink, metadata, t, count));
done:
    kb_map_tensors_clear(ctx, &own);
    kb_release(ctx, inverse);
    kb_release(ctx, offset);
    json_decref(metadata);
    return status;
}

kb_status kb_model_write(kb_context *ctx, const kb_model *model, const char *path) {
    kb_status status;
    kb_outfile *file;
    TRY(kb_outfile_create(ctx, path, &file));
    TRY(write_model(ctx, model, &(kb_sink){kb_outfile_put, file}));
    TRY(kb_outfile_commit(file));
done:
    kb_outfile_free(file);
    return status;
}

kb_status kb_model_write_bytes(kb_context *ctx, const kb_model *model,
                               kb_status (*put)(void *user, const void *bytes, size_t count),
                               void *user) {
    return write_model(ctx, model, &(kb_sink){put, user});
}

/* ---- reading ----------------------------------------------------------- */

static size_t size_at(const json_t *json, const char *key) {
    json_int_t n = json_integer_value(json_object_get(json, key));
    return n < 0 || n > (json_int_t)1 << 48 ? 0 : (size_t)n;
}

static const char *text_at(const json_t *json, const char *key) {
    return json_string_value(json_object_get(json, key));
}

static double real_at(const json_t *json, const char *key) {
    return json_number_value(json_object_get(json, key));
}

/* Only classes have probabilities, and they must increase with the decision. */
static int probability_is_sound(const json_t *json, const kb_fit_info *i) {
    kb_calibration_rule kind = kb_calibration_kind(i->probability);
    double slope = real_at(json, "probability_slope");
    if (strcmp(kb_calibration_name(kind), i->probability) != 0)
        return 0;
    return kind == KB_CALIBRATION_NONE || (i->classes > 0 && slope > 0 && isfinite(slope));
}

/* Only the L1 penalty drops bins and grids. */
static int kept_is_sound(const kb_fit_info *i) {
    return i->kept_grids > 0 && i->kept_bins > 0 && i->kept_grids <= i->grids &&
           i->kept_bins <= i->bins &&
           (strcmp(i->penalty, "l1") == 0 ||
            (i->kept_grids == i->grids && i->kept_bins == i->bins));
}

/* Only the loss quantile has one. */
static int quantile_is_sound(const kb_fit_info *i) {
    return strcmp(i->loss, "quantile") == 0 ? i->quantile > 0 && i->quantile < 1 && i->classes == 0
                                            : i->quantile == 0;
}

/* 0 if the texts or the sizes are not those of a model. */
static int read_info(const json_t *json, kb_fit_info *i) {
    *i = (kb_fit_info){
        .task = text_at(json, "task"),
        .loss = text_at(json, "loss"),
        .penalty = text_at(json, "penalty"),
        .map = text_at(json, "map"),
        .kernel = text_at(json, "kernel"),
        .solver = text_at(json, "solver"),
        .scale = text_at(json, "scale"),
        .lambda = real_at(json, "lambda"),
        .intercept = json_is_true(json_object_get(json, "intercept")),
        .seed = (uint64_t)json_integer_value(json_object_get(json, "seed")),
        .rows = size_at(json, "rows"),
        .features = size_at(json, "features"),
        .classes = size_at(json, "classes"),
        .outputs = size_at(json, "outputs"),
        .grids = size_at(json, "grids"),
        .bins = size_at(json, "bins"),
        .kappa = real_at(json, "kappa"),
        .steps = size_at(json, "steps"),
        .converged = json_is_true(json_object_get(json, "converged")),
        .objective = real_at(json, "objective"),
        .train_score = real_at(json, "train_score"),
        .nonzeros = size_at(json, "nonzeros"),
        .directions = json_object_get(json, "directions") ? size_at(json, "directions") : 0,
        .quantile = real_at(json, "quantile"),
        .models = json_object_get(json, "models") ? size_at(json, "models") : 1,
        .gap = real_at(json, "gap"),
        .kept_grids = size_at(json, json_object_get(json, "kept_grids") ? "kept_grids" : "grids"),
        .kept_bins = size_at(json, json_object_get(json, "kept_bins") ? "kept_bins" : "bins"),
        .probability = text_at(json, "probability") ? text_at(json, "probability") : "none",
    };
    const char *sigma = text_at(json, "sigma");
    if (sigma)
        kb_fit_info_set_sigma(i, sigma);
    return i->task && i->loss && i->penalty && i->map && i->kernel && sigma && i->solver &&
           i->scale && i->features > 0 && kept_is_sound(i) &&
           i->outputs == (i->classes > 2 ? i->classes : 1) && i->classes != 1 &&
           quantile_is_sound(i) && probability_is_sound(json, i) && text_at(json, "label");
}

static kb_status read_strings(kb_context *ctx, const json_t *list, size_t count, char ***out) {
    kb_status status = KB_OK;
    if (!json_is_array(list))
        return KB_OK;
    if (json_array_size(list) != count)
        return kb_fail(ctx, KB_ERR_MODEL, "a list of names has the wrong length");
    TRY(kb_zalloc(ctx, count, sizeof(char *), out));
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        TRY(kb_strdup(ctx, text ? text : "", &(*out)[i]));
    }
done:
    return status;
}

static kb_status read_names(kb_context *ctx, const json_t *json, kb_model *model) {
    kb_status status;
    const json_t *values = json_object_get(json, "class_values");
    size_t classes = model->info.classes;
    if (json_array_size(values) != classes)
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the list of classes has the wrong length"));
    TRY(kb_alloc(ctx, classes, sizeof(double), &model->class_value));
    for (size_t i = 0; i < classes; i++)
        model->class_value[i] = json_number_value(json_array_get(values, i));
    TRY(kb_model_name_classes(ctx, model));
    TRY(read_strings(ctx, json_object_get(json, "class_names"), classes, &model->class_name));
    TRY(read_strings(ctx, json_object_get(json, "feature_names"), model->info.features,
                     &model->feature_name));
    TRY(kb_table_read(ctx, json, model->info.features, &model->table));
    if (!kb_encoding_suits(model->map->encoding, model->table))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the columns and their encoding contradict each other"));
    TRY(kb_tried_read(ctx, json, model));
    TRY(kb_importance_read(ctx, json, model->info.features, &model->importance));
    TRY(kb_strdup(ctx, text_at(json, "label"), &model->label));
    model->zero_based = json_is_true(json_object_get(json, "zero_based"));
done:
    return status;
}

/* Adds grids and bins to a map that has its columns. */
static kb_status build_map(kb_context *ctx, const kb_tensor *t, size_t buckets, int trusted,
                           kb_model *model) {
    kb_status status;
    const kb_fit_info *i = &model->info;
    kb_map *map = model->map;
    size_t R = i->kept_grids, d = map->columns;
    const double *inverse = t[INVERSE_WIDTH].bytes, *offset = t[OFFSET].bytes;
    map->borrowed = 1;
    map->dictionary = (kb_dictionary){R,
                                      i->kept_bins,
                                      t[START].bytes,
                                      t[BUCKET_START].bytes,
                                      t[BUCKET].bytes,
                                      t[KEY].bytes,
                                      t[TAIL].bytes,
                                      t[SKIP].bytes};
    if (!(trusted ? kb_dictionary_starts_are_sound(&map->dictionary, buckets)
                  : kb_dictionary_is_sound(&map->dictionary, buckets)))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the arrays contradict each other"));
    memcpy(map->shift, t[SHIFT].bytes, d * sizeof(double));
    memcpy(map->scale, t[SCALE].bytes, d * sizeof(double));
    TRY(kb_grids_create(ctx, R, d, &map->grids));
    memcpy(map->grids->factor, t[FACTOR].bytes, d * sizeof(uint64_t));
    for (size_t r = 0; r < R; r++)
        for (size_t j = 0; j < d; j++) {
            double *at = kb_grids_at(map->grids, r, j);
            at[0] = *inverse++;
            at[KB_LANES] = *offset++;
        }
    kb_grids_finish(map->grids);
done:
    return status;
}

/* Whether the counts are those of the bits; of a trusted file the last one only. */
static int kept_bits_are_sound(const kb_tensor *t, int trusted) {
    const uint64_t *kept = t[KEPT].bytes;
    const uint32_t *before = t[KEPT_BEFORE].bytes;
    size_t words = t[KEPT].shape[0], first = trusted ? words - 1 : 0;
    uint64_t count = trusted ? before[first] : 0;
    for (size_t k = first; k < words; k++) {
        if (before[k] != count)
            return 0;
        count += (uint64_t)__builtin_popcountll(kept[k]);
    }
    return count == t[LEVEL].shape[0];
}

/* What a compact model has instead of keys and weights. */
static int compaction_is_sound(const json_t *json, const kb_tensor *t, int kept, int trusted,
                               kb_compaction *out) {
    const kb_tensor *unit = &t[UNIT];
    *out = (kb_compaction){.compact = 1,
                           .typical = real_at(json, "typical"),
                           .most = real_at(json, "most"),
                           .dropped = t[TAIL].shape[0] - t[LEVEL].shape[0]};
    const float *u = unit->bytes;
    for (size_t k = 0; k < unit->shape[0] * unit->shape[1]; k++)
        if (!(u[k] >= 0 && u[k] <= FLT_MAX / 128))
            return 0;
    return out->typical >= 0 && out->typical <= DBL_MAX && out->most >= 0 && out->most <= DBL_MAX &&
           t[LEVEL].shape[0] <= t[TAIL].shape[0] &&
           (kept ? kept_bits_are_sound(t, trusted) : out->dropped == 0);
}

static kb_status build_model(kb_context *ctx, kb_tensor_file *file, const json_t *json,
                             kb_model *model) {
    kb_status status;
    kb_fit_info info;
    kb_tensor t[ARRAYS];
    size_t buckets = kb_tensors_length(file, "bucket.first");
    if (!read_info(json, &info))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the description of the model is incomplete"));
    int map;
    if (!kb_choice_find(KB_OPT_MAP, info.map, &map))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the map '%.40s' is not known", info.map));
    int rival = map != KB_MAP_BINNING;
    model->fill = json_is_true(json_object_get(json, "fill"));
    model->softmax = text_at(json, "multiclass") != NULL;
    if (model->fill && (rival || info.kept_bins < info.bins))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "only a model with all its bins can fill in"));
    TRY(kb_map_read(ctx, file, &info, rival ? "rival.shift" : "feature.shift", &model->map));
    describe_arrays(&info, model->map->columns, buckets, kb_tensors_rows(file, "bin.level"), t);
    int compact = !rival && kb_tensors_length(file, "bin.tail") > 0;
    int kept = compact && kb_tensors_length(file, "bin.kept") > 0;
    for (int i = 0; !rival && i < ARRAYS; i++)
        if (is_of(i, compact, kept))
            TRY(kb_tensors_find(ctx, file, &t[i]));
    if (compact && !compaction_is_sound(json_object_get(json, "compact"), t, kept, file->trusted,
                                        &model->compaction))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the weights of the compact model are not sound"));
    info.widths_differ = kb_widths_differ(&model->map->widths);
    if (info.directions > kb_map_mixtures(model->map))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "it has fewer extra columns than directions"));
    info.linear_columns = kb_map_mixtures(model->map) - info.directions;
    if (model->map->transform)
        model->map->transform->mixtures.linear = info.linear_columns;
    TRY(kb_model_set_info(ctx, model, &info));
    TRY(read_names(ctx, json, model));
    model->calibration.kind = kb_calibration_kind(info.probability);
    model->calibration.slope = real_at(json, "probability_slope");
    const json_t *curve = json_object_get(json, "probability_curve");
    if (!kb_expected_read(json_object_get(json, "expected"), info.classes > 0, &model->expected) ||
        !kb_conformal_read(json_object_get(json, "conformal"), info.classes > 0,
                           &model->conformal) ||
        (curve && !kb_curve_read(curve, &model->calibration.curve)))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "what to expect on new rows is not sound"));
    if (rival) {
        status = kb_model_read_rival(ctx, file, (kb_map_kind)map, model);
        goto done;
    }
    TRY(build_map(ctx, t, buckets, file->trusted, model));
    TRY(kb_alloc(ctx, info.outputs, sizeof(double), &model->intercept));
    memcpy(model->intercept, t[INTERCEPT].bytes, info.outputs * sizeof(double));
    TRY(kb_alloc(ctx, info.outputs, sizeof(double), &model->prior));
    memcpy(model->prior, t[PRIOR].bytes, info.outputs * sizeof(double));
    model->weight = t[WEIGHT].bytes;
    model->unit = t[UNIT].bytes;
    model->kept = t[KEPT].bytes;
    model->kept_before = t[KEPT_BEFORE].bytes;
    model->level = t[LEVEL].bytes;
done:
    return status;
}

static kb_status read_model(kb_context *ctx, const char *path, const void *bytes, size_t size,
                            kb_tensors_how how, kb_model **out) {
    kb_status status;
    kb_tensor_file file;
    kb_model *model = NULL;
    json_t *json = NULL;
    char why[sizeof ctx->message];
    *out = NULL;
    TRY(kb_tensors_open(ctx, path, bytes, size, FORMAT, HIGHEST_VERSION, how, &file));
    TRY(kb_model_create(ctx, &model));
    model->file = file.map; /* now the model unmaps it */
    model->file_bytes = file.bytes;
    file.map = NULL;
    const char *text = kb_tensors_text(&file, "model");
    if (text)
        TRY(kb_json_load(ctx, text, strlen(text), &json));
    status = build_model(ctx, &file, json, model);
    const char *fault = status == KB_OK ? kb_model_fault(model, how != KB_TENSORS_TRUSTED) : NULL;
    if (fault)
        status = kb_fail(ctx, KB_ERR_MODEL, "%s", fault);
    if (status == KB_ERR_MODEL && !strstr(ctx->message, path)) {
        memcpy(why, ctx->message, sizeof why);
        kb_fail(ctx, status, "%s: damaged: %.900s", path, why);
    }
    if (status == KB_OK)
        *out = model;
done:
    json_decref(json);
    kb_tensors_close(&file);
    if (!*out)
        kb_model_free(model);
    return status;
}

kb_status kb_model_read(kb_context *ctx, const char *path, kb_model **out) {
    return read_model(ctx, path, NULL, 0, KB_TENSORS_CHECKED, out);
}

kb_status kb_model_read_trusted(kb_context *ctx, const char *path, kb_model **out) {
    return read_model(ctx, path, NULL, 0, KB_TENSORS_TRUSTED, out);
}

kb_status kb_model_read_copied(kb_context *ctx, const char *path, kb_model **out) {
    return read_model(ctx, path, NULL, 0, KB_TENSORS_COPIED, out);
}

kb_status kb_model_read_bytes(kb_context *ctx, const void *bytes, size_t count, kb_model **out) {
    return read_model(ctx, KB_TENSORS_MEMORY, bytes, count, KB_TENSORS_CHECKED, out);
}
