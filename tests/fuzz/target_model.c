/*
 * target_model.c - model files.  The checksum of the input is set right before it is read, so that
 * the checks behind it are reached; what is read is used in all ways.
 *
 * The mutator knows the layout: it changes numbers of an array, entries of the header, and keys of
 * the description, and resizes arrays with their entries.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { ROWS = 5, MOST_FEATURES = 256, MOST_OUTPUTS = 256, LONGEST_HEADER = 1 << 20 };

/* ---- a file taken apart and put together ------------------------------- */

typedef struct parts {
    json_t *header, *model; /* model: the text in the metadata, or NULL */
    uint8_t *data;
    size_t bytes;
} parts;

static int take_apart(const uint8_t *file, size_t size, parts *p) {
    uint64_t length;
    *p = (parts){0};
    if (size < 16)
        return 0;
    memcpy(&length, file, 8);
    if (length > size - 8 || length > LONGEST_HEADER)
        return 0;
    p->header = json_loadb((const char *)file + 8, length, 0, NULL);
    if (!json_is_object(p->header)) {
        json_decref(p->header);
        return 0;
    }
    const json_t *metadata = json_object_get(p->header, "__metadata__");
    const char *text = json_string_value(json_object_get(metadata, "model"));
    p->model = text ? json_loads(text, 0, NULL) : NULL;
    p->bytes = size - 8 - length;
    p->data = malloc(p->bytes + 1);
    fuzz_check(p->data);
    memcpy(p->data, file + 8 + length, p->bytes);
    return 1;
}

static void parts_free(parts *p) {
    json_decref(p->header);
    json_decref(p->model);
    free(p->data);
}

/* 0 if there is no room. */
static size_t put_together(parts *p, uint8_t *file, size_t most) {
    json_t *metadata = json_object_get(p->header, "__metadata__");
    char *text = p->model ? json_dumps(p->model, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    if (text && json_is_object(metadata))
        json_object_set_new(metadata, "model", json_string(text));
    free(text);
    text = json_dumps(p->header, JSON_COMPACT);
    fuzz_check(text);
    size_t used = strlen(text);
    uint64_t length = (8 + used + 63) / 64 * 64 - 8;
    size_t size = 8 + length + p->bytes;
    if (size <= most) {
        memset(file, ' ', 8 + length);
        memcpy(file, &length, 8);
        memcpy(file + 8, text, used);
        memcpy(file + 8 + length, p->data, p->bytes);
    }
    free(text);
    return size <= most ? size : 0;
}

static json_int_t offset_of(const json_t *entry, size_t which) {
    return json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), which));
}

/* As tensors.c computes it: over the header with zeros in its place, then array by array. */
static void set_checksum(uint8_t *file, size_t size) {
    static const char key[] = "\"checksum\":\"";
    uint64_t length;
    parts p;
    if (!take_apart(file, size, &p))
        return;
    memcpy(&length, file, 8);
    uint8_t *place = memmem(file + 8, length, key, sizeof key - 1);
    if (place && (size_t)(place - file) + sizeof key + 16 <= 8 + length) {
        const char *name;
        json_t *entry;
        char digits[17];
        place += sizeof key - 1;
        memcpy(place, "0000000000000000", 16);
        uint64_t sum = XXH3_64bits(file + 8, length);
        json_object_foreach(p.header, name, entry) {
            json_int_t begin = offset_of(entry, 0), end = offset_of(entry, 1);
            if (strcmp(name, "__metadata__") != 0 && begin >= 0 && begin <= end &&
                (size_t)end <= p.bytes)
                sum = XXH3_64bits_withSeed(p.data + begin, (size_t)(end - begin), sum);
        }
        snprintf(digits, sizeof digits, "%016llx", (unsigned long long)sum);
        memcpy(place, digits, 16);
    }
    parts_free(&p);
}

/* ---- changes ----------------------------------------------------------- */

static uint64_t state;

static size_t below(size_t n) {
    return n ? (size_t)(fuzz_random(&state) % n) : 0;
}

static const double REALS[] = {0,    1,     -1,    0.5, 1e-300, 1e300, -1e300, 1e-320,
                               1e18, -1e18, 1e308, 2,   1e15,   -0.0,  3,      1e-9};
static const json_int_t WHOLES[] = {0,  1,   2,     -1,         3,          5,         8,
                                    64, 255, 65536, 2147483647, 4294967296, INT64_MAX, INT64_MIN};

static double some_real(void) {
    size_t k = below(sizeof REALS / sizeof *REALS + 3);
    return k == 0 ? NAN : k == 1 ? INFINITY : k == 2 ? -INFINITY : REALS[k - 3];
}

static json_int_t some_whole(json_int_t near) {
    return below(2) ? WHOLES[below(sizeof WHOLES / sizeof *WHOLES)]
                    : (json_int_t)((uint64_t)near + below(5) - 2);
}

static json_t *some_entry(const parts *p, const char **name) {
    size_t k = below(json_object_size(p->header));
    json_t *entry;
    json_object_foreach(p->header, *name, entry) if (k-- == 0) return entry;
    return NULL;
}

/* Some numbers of an array. */
static void change_numbers(parts *p) {
    const char *name, *type;
    json_t *entry = some_entry(p, &name);
    json_int_t begin = offset_of(entry, 0), end = offset_of(entry, 1);
    type = json_string_value(json_object_get(entry, "dtype"));
    if (!type || begin < 0 || end <= begin || (size_t)end > p->bytes)
        return;
    size_t width = strstr(type, "32") ? 4 : 8, count = (size_t)(end - begin) / width;
    for (size_t k = below(3) + 1; k > 0 && count > 0; k--) {
        size_t at = below(4) ? below(count) : (below(2) ? 0 : count - 1);
        uint8_t *to = p->data + begin + at * width;
        if (below(4) == 0) {
            memcpy(to, p->data + begin + below(count) * width, width); /* another of them */
        } else if (type[0] == 'F') {
            double x = some_real();
            float small = (float)x;
            memcpy(to, width == 4 ? (void *)&small : (void *)&x, width);
        } else {
            int64_t x = 0;
            memcpy(&x, to, width);
            x = some_whole(x);
            memcpy(to, &x, width);
        }
    }
}

/* Adds or takes away some bytes of an array and moves those behind; its shape follows or not. */
static void resize_array(parts *p) {
    const char *name, *other;
    json_t *entry = some_entry(p, &name), *e, *shape = json_object_get(entry, "shape");
    json_int_t begin = offset_of(entry, 0), end = offset_of(entry, 1), rows;
    if (!json_is_array(shape) || begin < 0 || end < begin || (size_t)end > p->bytes)
        return;
    rows = json_integer_value(json_array_get(shape, 0));
    if (rows <= 0 || rows > (json_int_t)p->bytes || (end - begin) % rows)
        return;
    json_int_t row = (end - begin) / rows, more = below(2) ? row : -row;
    uint8_t *grown = malloc((size_t)((json_int_t)p->bytes + more) + 1);
    fuzz_check(grown);
    memcpy(grown, p->data, (size_t)(more < 0 ? end + more : end));
    if (more > 0)
        memcpy(grown + end, p->data + end - row, (size_t)row);
    memcpy(grown + end + more, p->data + end, p->bytes - (size_t)end);
    free(p->data);
    p->data = grown;
    p->bytes = (size_t)((json_int_t)p->bytes + more);
    if (below(8))
        json_array_set_new(shape, 0, json_integer(rows + (more > 0 ? 1 : -1)));
    json_object_foreach(p->header, other, e) {
        json_t *at = json_object_get(e, "data_offsets");
        for (size_t i = 0; at && i < 2; i++) {
            json_int_t x = json_integer_value(json_array_get(at, i));
            if (x > begin && x >= end && x <= (json_int_t)p->bytes)
                json_array_set_new(at, i, json_integer(x + more));
        }
    }
}

static json_t *some_value(const json_t *old) {
    static const char *const TEXTS[] = {"",        "l1",       "l2",    "binning",  "fourier",
                                        "nystrom", "blocks",   "exact", "softmax",  "sigmoid",
                                        "none",    "number",   "date",  "category", "boolean",
                                        "square",  "logistic", "ranks", "0.5,1,2",  "@x"};
    switch (below(9)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(below(2));
    case 2:
        return json_real(REALS[below(sizeof REALS / sizeof *REALS)]);
    case 3:
        return json_array();
    case 4:
        return json_object();
    case 5:
        return json_string(TEXTS[below(sizeof TEXTS / sizeof *TEXTS)]);
    default:
        return json_integer(some_whole(json_integer_value(old)));
    }
}

/* One value somewhere inside of a JSON value, which is an object or an array. */
static void change_json(json_t *json) {
    size_t size = json_is_array(json) ? json_array_size(json) : json_object_size(json);
    size_t k = below(size), at = k;
    const char *name = NULL;
    json_t *value = json_array_get(json, k);
    if (size == 0)
        return;
    if (json_is_object(json)) {
        json_object_foreach(json, name, value) if (at-- == 0) break;
    }
    if ((json_is_array(value) || json_is_object(value)) && below(5)) {
        change_json(value);
        return;
    }
    json_t *fresh = some_value(value);
    switch (below(6)) {
    case 0: /* it goes */
        if (name)
            json_object_del(json, name);
        else
            json_array_remove(json, k);
        break;
    case 1: /* one more */
        if (!name)
            json_array_append(json, below(2) ? value : fresh);
        break;
    default:
        if (name)
            json_object_set(json, name, fresh);
        else
            json_array_set(json, k, fresh);
    }
    json_decref(fresh);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    parts p;
    state = seed;
    if (below(12) == 0 || !take_apart(data, size, &p))
        return LLVMFuzzerMutate(data, size, most);
    switch (below(8)) {
    case 0:
    case 1:
    case 2:
        change_numbers(&p);
        break;
    case 3:
        resize_array(&p);
        break;
    case 4:
        change_json(p.header);
        break;
    default:
        if (p.model)
            change_json(p.model);
    }
    size_t made = put_together(&p, data, most);
    parts_free(&p);
    return made ? made : LLVMFuzzerMutate(data, size, most);
}

/* ---- use --------------------------------------------------------------- */

static void use_rows(kb_context *ctx, const kb_model *model) {
    static const double VALUES[] = {0, 1, -1, 0.5, 1e300, -1e300, 2, 1e-300, 7, 123.25};
    const kb_fit_info *i = kb_model_info(model);
    size_t d = i->features, C = i->outputs, wide = i->classes > 3 ? i->classes : 3;
    kb_arrays a = KB_ARRAYS_INIT;
    kb_data *data;
    kb_predictor *predictor;
    double *x = malloc(ROWS * d * sizeof *x), *f = malloc(ROWS * C * sizeof *f);
    double *out = malloc(ROWS * wide * sizeof *out), *one = malloc(C * sizeof *one);
    fuzz_check(x && f && out && one);
    for (size_t k = 0; k < ROWS * d; k++)
        x[k] = k % 11 == 10 ? (double)NAN : VALUES[k * 7 % (sizeof VALUES / sizeof *VALUES)];
    a.rows = ROWS;
    a.features = d;
    a.values = x;
    if (fuzz_status(ctx, kb_data_from_arrays(ctx, &a, &data)) == KB_OK) {
        if (fuzz_status(ctx, kb_model_decide(ctx, model, data, f)) == KB_OK) {
            kb_model_label(model, ROWS, f, out);
            fuzz_status(ctx, kb_model_probability(ctx, model, ROWS, f, out));
        }
        for (int what = 0; what <= KB_OUTPUT_NOVELTY; what++) {
            kb_request request = KB_REQUEST_INIT;
            request.what = (kb_output)what;
            if (kb_request_check(ctx, model, &request) == KB_OK && what != KB_OUTPUT_DECISION)
                fuzz_status(ctx, kb_model_predict_as(ctx, model, data, &request, out));
        }
        kb_data_free(data);
    }
    if (fuzz_status(ctx, kb_predictor_create(ctx, model, &predictor)) == KB_OK)
        for (size_t r = 0; r < ROWS; r++)
            kb_predictor_row(predictor, x + r * d, one);
    kb_predictor_free(predictor);
    free(x), free(f), free(out), free(one);
}

static void use_names(kb_context *ctx, const kb_model *model) {
    const kb_fit_info *i = kb_model_info(model);
    size_t d = i->features, trials;
    kb_column_info column = KB_COLUMN_INFO_INIT;
    kb_importance importance = KB_IMPORTANCE_INIT;
    kb_expected expected = KB_EXPECTED_INIT;
    double *out = malloc(d * sizeof *out), sum = 0;
    size_t letters = strlen(i->task) + strlen(i->sigma_text) + strlen(i->probability);
    fuzz_check(out && letters > 0);
    for (size_t k = 0; k < i->classes; k++)
        if (kb_model_class_name(model, k))
            letters += strlen(kb_model_class_name(model, k));
    for (size_t j = 0; j < d; j++) {
        if (kb_model_feature_name(model, j))
            letters += strlen(kb_model_feature_name(model, j));
        if (kb_model_column(model, j, &column) == KB_OK)
            for (size_t l = 0; column.level && l < column.levels; l++)
                letters += strlen(column.level[l]);
    }
    for (size_t k = 0; k < kb_model_left_out(model); k++)
        kb_model_left_out_column(model, k, &column);
    if (kb_model_importance(model, &importance) == KB_OK)
        for (size_t j = 0; j < d; j++)
            sum += importance.drop[j] + importance.standard_error[j];
    kb_model_expected(model, &expected);
    kb_model_fineness(ctx, model, out);
    for (size_t k = 0; k < 3; k++)
        kb_model_extra_column(model, k, out);
    const kb_trial_info *trial = kb_model_trials(model, &trials);
    for (size_t k = 0; k < trials; k++)
        letters += strlen(trial[k].widths) + strlen(trial[k].loss);
    fuzz_check(letters > 0 || sum > 0);
    free(out);
}

typedef struct buffer {
    uint8_t *bytes;
    size_t count;
} buffer;

static kb_status collect(void *user, const void *bytes, size_t count) {
    buffer *b = user;
    if (count == 0)
        return KB_OK;
    b->bytes = realloc(b->bytes, b->count + count);
    fuzz_check(b->bytes);
    memcpy(b->bytes + b->count, bytes, count);
    b->count += count;
    return KB_OK;
}

/* What is read can be written, and that can be read. */
static void write_again(kb_context *ctx, const kb_model *model) {
    buffer b = {0};
    kb_model *again;
    if (fuzz_status(ctx, kb_model_write_bytes(ctx, model, collect, &b)) == KB_OK) {
        kb_status status = kb_model_read_bytes(ctx, b.bytes, b.count, &again);
        if (status != KB_OK)
            fprintf(stderr, "%s\n", kb_context_message(ctx));
        fuzz_check(status == KB_OK || status == KB_ERR_MEMORY);
        kb_model_free(again);
    }
    free(b.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kb_context *ctx = fuzz_context();
    kb_model *model;
    uint8_t *file = malloc(size ? size : 1);
    fuzz_check(file);
    if (size)
        memcpy(file, data, size);
    set_checksum(file, size);
    kb_status status = fuzz_status(ctx, kb_model_read_bytes(ctx, file, size, &model));
    fuzz_check((status == KB_OK) == (model != NULL));
    if (model) {
        const kb_fit_info *i = kb_model_info(model);
        if (i->features <= MOST_FEATURES && i->outputs <= MOST_OUTPUTS) {
            use_rows(ctx, model);
            use_names(ctx, model);
        }
        write_again(ctx, model);
    }
    kb_model_free(model);
    free(file);
    fuzz_context_end(ctx);
    return 0;
}
