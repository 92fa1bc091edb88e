/* Predictions on a device: the same decisions as on the CPU, to the bit. */
#define _POSIX_C_SOURCE 200809L
#include "cuda/on_device.h"
#include "model/originals.h"

/* Enough rows for a device, and no whole number of blocks. */
enum { N = 2600, d = 3 };

typedef struct kind_of_model {
    labels kind;
    int compact;
    const char *options[13];
} kind_of_model;

/* One output and several, keys and tails, dropped bins, and rows that are changed first. */
static const kind_of_model MODELS[] = {
    {REAL, 0, {"grids", "40", "sigma", "0.4"}},
    {REAL, 1, {"grids", "33", "sigma", "0.1"}},
    {TWO, 0, {"grids", "21", "sigma", "0.7", "scale", "ranks"}},
    {THREE, 0, {"grids", "5", "sigma", "1"}},
    {THREE, 1, {"grids", "16", "sigma", "0.5"}},
    {THREE, 0, {"grids", "40", "sigma", "0.5", "penalty", "l1", "lambda", "1"}},
    {REAL, 1, {"grids", "30", "sigma", "0.5", "penalty", "l1", "lambda", "1"}},
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

static kb_model *fitted(kb_context *ctx, const kind_of_model *m) {
    kb_options *options = options_of(ctx, m->options);
    kb_data *data = data_of(ctx, 200, d, m->kind);
    kb_model *model = model_of(ctx, options, data);
    if (m->compact)
        assert_ok(ctx, kb_model_compact(ctx, model, 0.01));
    kb_data_free(data);
    kb_options_free(options);
    return model;
}

/* Rows near the training rows, and some far from them. */
static kb_data *rows_to_decide(kb_context *ctx, size_t rows) {
    double *x = test_values(rows, d, 21);
    kb_data *data;
    for (size_t k = 0; k < rows * d; k++)
        x[k] = k / d % 97 ? x[k] : 1e6 * (double)(k % 5);
    assert_ok(ctx, data_from_dense(ctx, rows, d, x, NULL, &data));
    free(x);
    return data;
}

/* Decisions, then shares of known bins, on the CPU or the device. */
static double *decide(const kb_model *model, kb_data *data, int there, int threads, int *warnings) {
    size_t C = model->info.outputs;
    test_state state = {0};
    kb_context *ctx = test_context_with(&state, threads);
    double *out = malloc(data->rows * (C + 1) * sizeof *out);
    assert_non_null(out);
    assert_ok(ctx, kb_context_set_device(ctx, there ? "cuda" : "cpu"));
    assert_ok(ctx, kb_model_decide_known(ctx, model, data, out, out + data->rows * C));
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
    *warnings = (int)state.warnings;
    return out;
}

/* Whether the device did it without a warning. */
static int same(const kb_model *model, kb_data *data) {
    int here_warned, warned, again;
    double *here = decide(model, data, 0, 1, &here_warned);
    double *there = decide(model, data, 1, 1, &warned);
    double *two = decide(model, data, 1, 2, &again);
    assert_int_equal(here_warned, 0);
    assert_int_equal(warned, again);
    assert_same_bits(here, there, data->rows * (model->info.outputs + 1));
    assert_same_bits(here, two, data->rows * (model->info.outputs + 1));
    free(here), free(there), free(two);
    return warned == 0;
}

static void decisions_are_those_of_the_cpu(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < MODEL_COUNT; k++) {
        kb_model *model = fitted(ctx, &MODELS[k]);
        kb_data *data = rows_to_decide(ctx, k == 0 ? 2 * N : N);
        assert_int_equal(MODELS[k].compact, model->level != NULL);
        assert_true(same(model, data));
        kb_data_free(data);
        kb_model_free(model);
    }
    kb_context_free(ctx);
}

/* More than eight outputs. */
static void many_outputs(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "9", "sigma", "0.8");
    kb_data *train = data_of(ctx, 300, d, REAL), *data = rows_to_decide(ctx, N);
    (void)unused;
    kb_options_free(options);
    options = OPTIONS(ctx, "grids", "9", "sigma", "0.8", "task", "classification");
    for (size_t i = 0; i < 300; i++)
        train->label[i] = (double)(i % 11);
    kb_model *model = model_of(ctx, options, train);
    assert_int_equal(model->info.outputs, 11);
    assert_true(same(model, data));
    kb_model_free(model);
    kb_data_free(train);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Rows are taken some at a time, fewer where memory is scarce; with too little the CPU goes on. */
static void with_less_memory_fewer_rows_at_a_time(void **unused) {
    kb_context *ctx = test_context();
    kb_model *model = fitted(ctx, &MODELS[0]);
    kb_data *data = rows_to_decide(ctx, 4 * N);
    int there = 0, here = 0;
    (void)unused;
    for (size_t bytes = 20000; test_is_emulated(ctx) && bytes < (size_t)1 << 23; bytes *= 2) {
        char text[32];
        snprintf(text, sizeof text, "%zu", bytes);
        setenv("KB_EMULATED_MEMORY", text, 1);
        if (same(model, data))
            there++;
        else
            here++;
    }
    assert_true(!test_is_emulated(ctx) || (there > 4 && here > 2));
    unsetenv("KB_EMULATED_MEMORY");
    kb_data_free(data);
    kb_model_free(model);
    kb_context_free(ctx);
}

static void sparse_rows_are_predicted_on_the_cpu(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options = OPTIONS(ctx, "grids", "9", "sigma", "0.8");
    double *x = test_values(N, d, 23);
    kb_data *train = data_of(ctx, 100, d, REAL), *data = test_sparse(ctx, N, d, x, NULL);
    kb_model *model = model_of(ctx, options, train);
    (void)unused;
    assert_int_equal(same(model, data), kb_map_is_dense(model->map, data));
    kb_model_free(model);
    kb_data_free(train);
    kb_data_free(data);
    kb_options_free(options);
    kb_context_free(ctx);
    free(x);
}

typedef struct task {
    const kb_model *model;
    kb_data *data;
    double *out;
} task;

static int decide_all(kb_context *ctx, void *arg) {
    const task *t = arg;
    int status = kb_context_set_device(ctx, "cuda");
    if (status == KB_OK)
        status = kb_model_decide(ctx, t->model, t->data, t->out);
    if (ctx->free_device)
        ctx->free_device(ctx);
    return status;
}

static void failures_leave_nothing(void **unused) {
    kb_context *ctx = test_context();
    kb_device *device = test_device(ctx);
    double before = device->call->memory_free(device->gpu);
    (void)unused;
    for (size_t k = 1; k < 3; k++) { /* a compact one, and one that changes the rows */
        kb_model *model = fitted(ctx, &MODELS[k]);
        kb_data *data = rows_to_decide(ctx, N);
        task t = {model, data, malloc(N * sizeof(double))};
        assert_non_null(t.out);
        run_with_allocation_failures(decide_all, &t);
        run_with_cancellations(decide_all, &t, 1, 1);
        free(t.out);
        kb_data_free(data);
        kb_model_free(model);
    }
    assert_true(device->call->memory_free(device->gpu) >= before);
    kb_context_free(ctx);
}

static void the_device_has_a_name(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    assert_fails(ctx, KB_ERR_ARGUMENT, "--device moon: must be cpu or cuda",
                 kb_context_set_device(ctx, "moon"));
    assert_ok(ctx, kb_context_set_device(ctx, "cuda"));
    assert_non_null(kb_device_here(ctx));
    assert_ok(ctx, kb_context_set_device(ctx, "cpu"));
    assert_null(kb_device_here(ctx));
    assert_ok(ctx, kb_context_set_device(ctx, "cpu"));
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_those_of_the_cpu),
        cmocka_unit_test(many_outputs),
        cmocka_unit_test(with_less_memory_fewer_rows_at_a_time),
        cmocka_unit_test(sparse_rows_are_predicted_on_the_cpu),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(the_device_has_a_name),
    };
    return test_has_device() ? cmocka_run_group_tests(tests, NULL, NULL) : TEST_SKIPPED;
}
