/*
 * Every call of kerbin.h that takes memory, with the first, the second, .. allocation failing: our
 * own, and those of jansson.  A call then says KB_ERR_MEMORY, or does its work without, and leaves
 * no block behind; what it has written is whole.
 */
#define _GNU_SOURCE
#include "support.h"

#include <jansson.h>
#include <math.h>

/* What all calls work with, made before anything fails. */
typedef struct world {
    kb_context *ctx;
    kb_options *options;
    kb_data *data, *sparse;
    kb_model *model, *rival; /* three classes; and a Fourier map */
    test_path csv, libsvm, npy, file, out;
    uint8_t *bytes; /* of the model */
    size_t count;
} world;

enum { ROWS = 30, OUTPUTS = 3 };

static test_state *now; /* counts jansson's memory too */

static void *jansson_malloc(size_t bytes) {
    return now ? test_reallocate(now, NULL, bytes) : malloc(bytes);
}

/* What was made before is freed after. */
static void jansson_free(void *block) {
    if (now)
        test_reallocate(now, block, 0);
    else
        free(block);
}

/* ---- the calls --------------------------------------------------------- */

typedef kb_status call(kb_context *ctx, world *w);

static kb_status file_write(kb_context *ctx, world *w) {
    return kb_file_write(ctx, w->out.text, "text\n", 5);
}

static kb_status file_check(kb_context *ctx, world *w) {
    return kb_file_check(ctx, w->out.text);
}

static kb_status options_create(kb_context *ctx, world *w) {
    kb_options *options;
    kb_status status = kb_options_create(ctx, &options);
    (void)w;
    if (status == KB_OK)
        status = kb_options_set(ctx, options, "sigma", "0.1,0.2");
    kb_options_free(options);
    return status;
}

static kb_status read_one(kb_context *ctx, world *w, const char *path, const kb_model *like) {
    kb_data *data;
    kb_status status = kb_data_read(ctx, w->options, path, like, &data);
    assert_true((status == KB_OK) == (data != NULL));
    kb_data_free(data);
    return status;
}

static kb_status read_csv(kb_context *ctx, world *w) {
    return read_one(ctx, w, w->csv.text, NULL);
}

static kb_status read_like(kb_context *ctx, world *w) {
    return read_one(ctx, w, w->csv.text, w->model);
}

static kb_status read_libsvm(kb_context *ctx, world *w) {
    return read_one(ctx, w, w->libsvm.text, NULL);
}

static kb_status read_npy(kb_context *ctx, world *w) {
    return read_one(ctx, w, w->npy.text, NULL);
}

static kb_status from_arrays(kb_context *ctx, world *w) {
    static const double x[] = {1, 2, 3, 4}, y[] = {0, 1};
    static const char *const feature[] = {"a", "b"}, *const class[] = {"no", "yes"};
    kb_data *data;
    kb_arrays a = {.size = sizeof a,
                   .rows = 2,
                   .features = 2,
                   .values = x,
                   .labels = y,
                   .weights = x,
                   .feature_names = feature,
                   .class_names = class,
                   .classes = 2};
    kb_status status = kb_data_from_arrays(ctx, &a, &data);
    (void)w;
    kb_data_free(data);
    return status;
}

static void keep_schema(struct ArrowSchema *schema) {
    (void)schema;
}

static void keep_array(struct ArrowArray *array) {
    (void)array;
}

static kb_status from_arrow(kb_context *ctx, world *w) {
    static const double x[] = {1, 2, 3};
    static const int32_t at[] = {0, 1, 2, 3};
    const void *of_x[] = {NULL, x}, *of_s[] = {NULL, at, "uvu"}, *none[] = {NULL};
    struct ArrowSchema x_schema = {.format = "g", .name = "x", .release = keep_schema};
    struct ArrowSchema s_schema = {.format = "u", .name = "s", .release = keep_schema};
    struct ArrowSchema *schemas[] = {&x_schema, &s_schema};
    struct ArrowSchema schema = {
        .format = "+s", .n_children = 2, .children = schemas, .release = keep_schema};
    struct ArrowArray x_array = {
        .length = 3, .n_buffers = 2, .buffers = of_x, .release = keep_array};
    struct ArrowArray s_array = {
        .length = 3, .n_buffers = 3, .buffers = of_s, .release = keep_array};
    struct ArrowArray *arrays[] = {&x_array, &s_array};
    struct ArrowArray batch = {.length = 3,
                               .n_buffers = 1,
                               .n_children = 2,
                               .buffers = none,
                               .children = arrays,
                               .release = keep_array};
    const struct ArrowArray *batches[] = {&batch};
    kb_arrow arrow = {
        .size = sizeof arrow, .schema = &schema, .batch = batches, .batches = 1, .labels = x};
    kb_data *data;
    kb_status status = kb_data_from_arrow(ctx, w->options, &arrow, NULL, &data);
    kb_data_free(data);
    return status;
}

static kb_status generate(kb_context *ctx, world *w) {
    kb_data *data;
    kb_status status = kb_data_generate(ctx, w->options, "rings", &data);
    kb_data_free(data);
    return status;
}

static kb_status data_write(kb_context *ctx, world *w) {
    return kb_data_write(ctx, w->data, w->out.text);
}

static kb_status split(kb_context *ctx, world *w) {
    kb_data *first, *second;
    kb_status status = kb_data_split(ctx, w->data, 0.3, 1, &first, &second);
    kb_data_free(first);
    kb_data_free(second);
    return status;
}

static kb_status set_weights(kb_context *ctx, world *w) {
    static double weight[ROWS] = {1, 2};
    static uint32_t group[ROWS] = {0, 1};
    kb_data *data = NULL;
    kb_status status = kb_data_generate(ctx, w->options, "rings", &data);
    if (status == KB_OK)
        status = kb_data_set_weights(ctx, data, weight);
    if (status == KB_OK)
        status = kb_data_set_groups(ctx, data, group);
    kb_data_free(data);
    return status;
}

static kb_status fit(kb_context *ctx, world *w) {
    kb_model *model;
    kb_status status = kb_model_fit(ctx, w->options, w->data, &model);
    kb_model_free(model);
    return status;
}

static kb_status update(kb_context *ctx, world *w) {
    kb_model *model;
    kb_status status = kb_model_update(ctx, w->options, w->model, w->data, &model);
    kb_model_free(model);
    if (status == KB_OK)
        status = kb_model_refit(ctx, w->options, w->model, w->data, &model);
    if (status == KB_OK)
        kb_model_free(model);
    return status;
}

static kb_status path_fit(kb_context *ctx, world *w) {
    kb_options *options = NULL;
    kb_path *path = NULL;
    kb_model *model = NULL;
    kb_status status = kb_options_create(ctx, &options);
    static const char *const set[] = {"tune",  "off",    "penalty", "l1",    "lambda-path",
                                      "2",     "lambda", "1",       "grids", "4",
                                      "sigma", "1",      "holdout", "off"};
    for (size_t k = 0; status == KB_OK && k < sizeof set / sizeof *set; k += 2)
        status = kb_options_set(ctx, options, set[k], set[k + 1]);
    if (status == KB_OK)
        status = kb_path_fit(ctx, options, w->data, NULL, NULL, &path);
    if (status == KB_OK)
        status = kb_path_take(path, 1, &model);
    kb_model_free(model);
    kb_path_free(path);
    kb_options_free(options);
    return status;
}

static kb_status model_write(kb_context *ctx, world *w) {
    return kb_model_write(ctx, w->model, w->out.text);
}

static kb_status write_rival(kb_context *ctx, world *w) {
    return kb_model_write(ctx, w->rival, w->out.text);
}

static kb_status model_read(kb_context *ctx, world *w) {
    kb_model *model;
    kb_status status = kb_model_read(ctx, w->file.text, &model);
    kb_model_free(model);
    return status;
}

static kb_status read_trusted(kb_context *ctx, world *w) {
    kb_model *model;
    kb_status status = kb_model_read_trusted(ctx, w->file.text, &model);
    kb_model_free(model);
    return status;
}

static kb_status read_copied(kb_context *ctx, world *w) {
    kb_model *model;
    kb_status status = kb_model_read_copied(ctx, w->file.text, &model);
    kb_model_free(model);
    return status;
}

static kb_status read_bytes(kb_context *ctx, world *w) {
    kb_model *model;
    kb_status status = kb_model_read_bytes(ctx, w->bytes, w->count, &model);
    kb_model_free(model);
    return status;
}

typedef struct gathered {
    size_t count;
    uint64_t sum;
} gathered;

static kb_status gather(void *user, const void *bytes, size_t count) {
    gathered *g = user;
    for (size_t k = 0; k < count; k++)
        g->sum = g->sum * 31 + ((const unsigned char *)bytes)[k];
    g->count += count;
    return KB_OK;
}

static kb_status write_bytes(kb_context *ctx, world *w) {
    gathered g = {0}, want = {0};
    kb_status status = kb_model_write_bytes(ctx, w->model, gather, &g);
    gather(&want, w->bytes, w->count);
    if (status == KB_OK)
        assert_true(g.count == want.count && g.sum == want.sum);
    return status;
}

static kb_status fineness(kb_context *ctx, world *w) {
    double out[8];
    return kb_model_fineness(ctx, w->model, out);
}

static kb_status predict(kb_context *ctx, world *w) {
    double out[ROWS * OUTPUTS];
    return kb_model_predict(ctx, w->model, w->data, KB_OUTPUT_LABEL, out);
}

static kb_status predict_as(kb_context *ctx, world *w) {
    double out[ROWS * OUTPUTS];
    kb_request request = KB_REQUEST_INIT;
    request.what = KB_OUTPUT_PROBABILITY;
    kb_status status = kb_request_check(ctx, w->model, &request);
    return status == KB_OK ? kb_model_predict_as(ctx, w->model, w->data, &request, out) : status;
}

static kb_status decide(kb_context *ctx, world *w) {
    double out[ROWS * OUTPUTS];
    kb_status status = kb_model_decide(ctx, w->rival, w->data, out);
    return status == KB_OK ? kb_model_decide(ctx, w->model, w->data, out) : status;
}

static kb_status score(kb_context *ctx, world *w) {
    double f[ROWS * OUTPUTS] = {0}, p[ROWS * OUTPUTS];
    int64_t of[ROWS];
    kb_score out = KB_SCORE_INIT;
    kb_status status = kb_model_score(ctx, w->model, w->data, f, &out);
    if (status == KB_OK)
        status = kb_model_probability(ctx, w->model, ROWS, f, p);
    return status == KB_OK ? kb_model_classes_of(ctx, w->model, w->data, of) : status;
}

static kb_status fold(void *user, const kb_fold *f) {
    (void)user;
    assert_true(f->rows > 0);
    return KB_OK;
}

static kb_status cross(kb_context *ctx, world *w) {
    return kb_cross_validate(ctx, w->options, w->data, 2, fold, NULL);
}

static kb_status write_predictions(kb_context *ctx, world *w) {
    static const double f[ROWS * OUTPUTS];
    return kb_model_write_predictions(ctx, w->model, ROWS, f, KB_OUTPUT_DECISION, w->out.text);
}

static kb_status predict_file(kb_context *ctx, world *w) {
    kb_score out = KB_SCORE_INIT;
    return kb_model_predict_file(ctx, w->model, w->data, KB_OUTPUT_LABEL, w->out.text, &out);
}

static kb_status predict_file_as(kb_context *ctx, world *w) {
    kb_request request = KB_REQUEST_INIT;
    return kb_model_predict_file_as(ctx, w->model, w->data, &request, w->out.text, NULL);
}

static kb_status explain(kb_context *ctx, world *w) {
    double c[ROWS * 2 * OUTPUTS], e[ROWS * 2 * OUTPUTS], base[OUTPUTS];
    return kb_model_explain(ctx, w->model, w->data, NULL, 2, 1, c, e, base);
}

static kb_status dependence(kb_context *ctx, world *w) {
    double at[4], mean[4 * OUTPUTS], error[4 * OUTPUTS];
    size_t count;
    kb_status status = kb_data_values(ctx, w->data, 0, 4, at, &count);
    return status == KB_OK ? kb_model_dependence(ctx, w->model, w->data, 0, count, at,
                                                 KB_OUTPUT_DECISION, mean, error)
                           : status;
}

static kb_status predictor(kb_context *ctx, world *w) {
    kb_predictor *one = NULL, *two = NULL;
    double x[2] = {1, 2}, f[OUTPUTS];
    kb_status status = kb_predictor_create(ctx, w->model, &one);
    if (status == KB_OK)
        status = kb_predictor_copy(ctx, one, &two);
    if (status == KB_OK)
        status = kb_predictor_row(two, x, f);
    kb_predictor_free(one);
    kb_predictor_free(two);
    return status;
}

static kb_status compact(kb_context *ctx, world *w) {
    kb_model *model;
    kb_status status = kb_model_read_bytes(ctx, w->bytes, w->count, &model);
    if (status == KB_OK)
        status = kb_model_compact(ctx, model, 0.1);
    kb_model_free(model);
    return status;
}

static kb_status map_fit(kb_context *ctx, world *w) {
    kb_map *map;
    kb_status status = kb_map_fit(ctx, w->options, w->data, &map);
    kb_map_free(map);
    return status;
}

static kb_status map_apply(kb_context *ctx, world *w) {
    const kb_map *map = kb_model_map(w->model);
    int64_t *columns = malloc(ROWS * kb_map_grids(map) * sizeof *columns);
    kb_status status = kb_map_apply(ctx, map, w->data, columns);
    free(columns);
    return status;
}

static kb_status apply_dense(kb_context *ctx, world *w) {
    const kb_map *map = kb_model_map(w->rival);
    double *z = malloc(ROWS * kb_map_bins(map) * sizeof *z);
    kb_status status = kb_map_apply_dense(ctx, map, w->data, z);
    free(z);
    return status;
}

static kb_status write_features(kb_context *ctx, world *w) {
    return kb_map_write_features(ctx, kb_model_map(w->model), w->data, w->out.text);
}

static const struct {
    const char *name;
    call *run;
    int writes;
    /* Jansson 2.14 aborts where its parser gets no memory: only our own allocations fail. */
    int parses;
} CALLS[] = {
    {"kb_file_write", file_write, 1, 0},
    {"kb_file_check", file_check, 0, 0},
    {"kb_options_create", options_create, 0, 0},
    {"kb_data_read of CSV", read_csv, 0, 0},
    {"kb_data_read like a model", read_like, 0, 0},
    {"kb_data_read of LIBSVM", read_libsvm, 0, 0},
    {"kb_data_read of NumPy", read_npy, 0, 0},
    {"kb_data_from_arrays", from_arrays, 0, 0},
    {"kb_data_from_arrow", from_arrow, 0, 0},
    {"kb_data_generate", generate, 0, 0},
    {"kb_data_write", data_write, 1, 0},
    {"kb_data_split", split, 0, 0},
    {"kb_data_set_weights and groups", set_weights, 0, 0},
    {"kb_model_fit", fit, 0, 0},
    {"kb_model_update and refit", update, 0, 1},
    {"kb_path_fit and take", path_fit, 0, 0},
    {"kb_model_write", model_write, 1, 0},
    {"kb_model_write of Fourier", write_rival, 1, 0},
    {"kb_model_read", model_read, 0, 1},
    {"kb_model_read_trusted", read_trusted, 0, 1},
    {"kb_model_read_copied", read_copied, 0, 1},
    {"kb_model_read_bytes", read_bytes, 0, 1},
    {"kb_model_write_bytes", write_bytes, 0, 0},
    {"kb_model_fineness", fineness, 0, 0},
    {"kb_model_predict", predict, 0, 0},
    {"kb_model_predict_as", predict_as, 0, 0},
    {"kb_model_decide", decide, 0, 0},
    {"kb_model_score, probability and classes", score, 0, 0},
    {"kb_cross_validate", cross, 0, 0},
    {"kb_model_write_predictions", write_predictions, 1, 0},
    {"kb_model_predict_file", predict_file, 1, 0},
    {"kb_model_predict_file_as", predict_file_as, 1, 0},
    {"kb_model_explain", explain, 0, 0},
    {"kb_data_values and kb_model_dependence", dependence, 0, 0},
    {"kb_predictor_create and copy", predictor, 0, 0},
    {"kb_model_compact", compact, 0, 1},
    {"kb_map_fit", map_fit, 0, 0},
    {"kb_map_apply", map_apply, 0, 0},
    {"kb_map_apply_dense", apply_dense, 0, 0},
    {"kb_map_write_features", write_features, 1, 0},
};

/* ---- the test ---------------------------------------------------------- */

static void make_world(world *w) {
    static const char *const set[] = {"tune",    "off",      "grids",  "6",   "sigma", "1",
                                      "holdout", "off",      "rows",   "30",  "label", "y",
                                      "loss",    "logistic", "format", "auto"};
    static const unsigned char head[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', "
                                        "'fortran_order': False, 'shape': (2, 2), }";
    char text[4096] = "a,b,y\n", npy[128 + 32];
    kb_options *options;
    w->ctx = test_context();
    for (int i = 0; i < ROWS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%g,%s\n", i * 7 % 11,
                 sin(3.0 * i),
                 i % 3 == 0   ? "ape"
                 : i % 3 == 1 ? "bee"
                              : "cow");
    w->csv = file_with("world.csv", text);
    w->libsvm = file_with("world.libsvm", "1 1:2 2:3\n-1 2:5\n1 1:1\n-1 3:4\n");
    memset(npy, ' ', sizeof npy);
    memcpy(npy, head, sizeof head - 1);
    npy[127] = '\n';
    memcpy(npy + 128, (double[]){1, 2, 3, 4}, 32);
    w->npy = file_with_bytes("world.npy", npy, sizeof npy);
    w->file = path_of("world.kerbin");
    w->out = path_of("out.csv");
    assert_ok(w->ctx, kb_options_create(w->ctx, &w->options));
    for (size_t k = 0; k < sizeof set / sizeof *set; k += 2)
        assert_ok(w->ctx, kb_options_set(w->ctx, w->options, set[k], set[k + 1]));
    assert_ok(w->ctx, kb_data_read(w->ctx, w->options, w->csv.text, NULL, &w->data));
    assert_ok(w->ctx, kb_model_fit(w->ctx, w->options, w->data, &w->model));
    assert_ok(w->ctx, kb_model_write(w->ctx, w->model, w->file.text));
    w->bytes = (uint8_t *)bytes_of(w->file.text, &w->count);
    assert_ok(w->ctx, kb_options_create(w->ctx, &options));
    for (size_t k = 0; k < sizeof set / sizeof *set; k += 2)
        assert_ok(w->ctx, kb_options_set(w->ctx, options, set[k], set[k + 1]));
    assert_ok(w->ctx, kb_options_set(w->ctx, options, "map", "fourier"));
    assert_ok(w->ctx, kb_options_set(w->ctx, options, "loss", "square"));
    assert_ok(w->ctx, kb_model_fit(w->ctx, options, w->data, &w->rival));
    kb_options_free(options);
    assert_ok(w->ctx, kb_options_set(w->ctx, w->options, "label", "-1"));
}

static void end_world(world *w) {
    remove(w->csv.text), remove(w->libsvm.text), remove(w->npy.text);
    remove(w->file.text), remove(w->out.text);
    kb_model_free(w->model);
    kb_model_free(w->rival);
    kb_data_free(w->data);
    kb_options_free(w->options);
    kb_context_free(w->ctx);
    free(w->bytes);
}

/* A file is as it was, or as it is without a failure. */
static void check_file(const world *w, const char *name, long k, kb_status status,
                       const char *whole) {
    char *is = bytes_of(w->out.text, NULL);
    if (strcmp(is, status == KB_OK ? whole : "as it was\n") != 0)
        fail_msg("%s, allocation %ld: status %d and another file", name, k, (int)status);
    free(is);
}

static long fail_at_every_allocation(world *w, size_t c) {
    char *whole = NULL;
    for (long k = 0;; k++) { /* the first time none fails */
        test_state state = {0};
        kb_context *ctx = test_context_with(&state, 1);
        if (CALLS[c].writes)
            file_with("out.csv", "as it was\n");
        state.fail_at = k > 0 ? state.allocations + k : 0;
        now = CALLS[c].parses ? NULL : &state;
        kb_status status = CALLS[c].run(ctx, w);
        now = NULL;
        int met = k > 0 && state.allocations >= state.fail_at;
        if (status == KB_ERR_MEMORY && !strstr(kb_context_message(ctx), "memory"))
            fail_msg("%s, allocation %ld: \"%s\"", CALLS[c].name, k, kb_context_message(ctx));
        if (status != KB_OK && (!met || status != KB_ERR_MEMORY))
            fail_msg("%s, allocation %ld: status %d: %s", CALLS[c].name, k, (int)status,
                     kb_context_message(ctx));
        if (state.live != 1) /* the context itself */
            fail_msg("%s, allocation %ld: %ld blocks are left", CALLS[c].name, k, state.live - 1);
        kb_context_free(ctx);
        if (k == 0 && CALLS[c].writes)
            whole = bytes_of(w->out.text, NULL);
        if (CALLS[c].writes)
            check_file(w, CALLS[c].name, k, status, whole);
        if (k > 0 && !met) {
            free(whole);
            return k - 1;
        }
    }
}

static void every_call_lives_without_any_allocation(void **unused) {
    world w = {0};
    long all = 0;
    (void)unused;
    json_set_alloc_funcs(jansson_malloc, jansson_free);
    make_world(&w);
    for (size_t c = 0; c < sizeof CALLS / sizeof *CALLS; c++) {
        long points = fail_at_every_allocation(&w, c);
        printf("%6ld  %s\n", points, CALLS[c].name);
        all += points;
    }
    printf("%6ld  allocations failed\n", all);
    end_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_lives_without_any_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
