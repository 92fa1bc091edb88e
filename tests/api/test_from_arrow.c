/* kb_data_from_arrow: labels, and a model that meets the columns of another frame. */
#include "arrow/arrows.h"

#include <math.h>

enum { ROWS = 60 };

typedef struct columns {
    double size[ROWS], price[ROWS];
    int32_t day[ROWS];
    int8_t town[ROWS];
} columns;

static const int32_t START[] = {0, 4, 7, 11};
static const char TOWNS[] = "BonnUlmKiel";

static void make(columns *c) {
    for (int i = 0; i < ROWS; i++) {
        c->size[i] = i % 7 == 3 ? NAN : (i * 37 % 60) / 60.0;
        c->day[i] = 18000 + i * 11 % 90;
        c->town[i] = (int8_t)(i * 5 % 3);
        c->price[i] = (isnan(c->size[i]) ? 0 : c->size[i]) + c->town[i];
    }
}

static void build(const columns *c, int turned, arrow_frame *f) {
    *f = (arrow_frame){0};
    if (turned)
        arrow_add(f, "day", "tdD", ROWS, NULL, c->day, NULL);
    arrow_index(arrow_add(f, "town", "c", ROWS, NULL, c->town, NULL), "u", 3, NULL, START, TOWNS);
    if (!turned)
        arrow_add(f, "day", "tdD", ROWS, NULL, c->day, NULL);
    arrow_add(f, "size", "g", ROWS, NULL, c->size, NULL);
}

static kb_arrow arrow_of(const arrow_frame *f) {
    return (kb_arrow){
        .size = sizeof(kb_arrow), .schema = &f->schema, .batch = f->batches, .batches = 1};
}

static void a_model_predicts_for_columns_in_any_order(void **unused) {
    kb_context *ctx = test_context();
    kb_options *options;
    kb_data *data, *other;
    kb_model *model;
    columns c;
    arrow_frame frame, turned;
    double first[ROWS], second[ROWS];
    (void)unused;
    make(&c);
    build(&c, 0, &frame);
    build(&c, 1, &turned);
    assert_ok(ctx, kb_options_create(ctx, &options));
    assert_ok(ctx, kb_options_set(ctx, options, "tune", "off"));
    assert_ok(ctx, kb_options_set(ctx, options, "task", "regression"));
    kb_arrow arrow = arrow_of(&frame);
    arrow.labels = c.price;
    assert_ok(ctx, kb_data_from_arrow(ctx, options, &arrow, NULL, &data));
    assert_true(kb_data_labels(data)[4] == c.price[4]);
    assert_ok(ctx, kb_model_fit(ctx, options, data, &model));
    kb_arrow again = arrow_of(&turned);
    assert_ok(ctx, kb_data_from_arrow(ctx, options, &again, model, &other));
    assert_null(kb_data_labels(other));
    assert_ok(ctx, kb_model_decide(ctx, model, data, first));
    assert_ok(ctx, kb_model_decide(ctx, model, other, second));
    assert_memory_equal(first, second, sizeof first);
    double error = 0, around = 0;
    for (int i = 0; i < ROWS; i++) {
        error += (first[i] - c.price[i]) * (first[i] - c.price[i]);
        around += (c.price[i] - 1.4) * (c.price[i] - 1.4);
    }
    assert_true(error < 0.1 * around); /* the towns alone are more than 0.8 of the variance */
    kb_column_info info = KB_COLUMN_INFO_INIT;
    assert_int_equal(kb_model_column(model, 0, &info), KB_OK);
    assert_string_equal(info.name, "town");
    assert_int_equal(info.levels, 3);
    kb_data_free(data);
    kb_data_free(other);
    kb_model_free(model);
    kb_options_free(options);
    kb_context_free(ctx);
}

/* Plain numbers are the data that arrays give. */
static void numbers_are_those_of_arrays(void **unused) {
    kb_context *ctx = test_context();
    enum { N = 6 };
    static const double x[2 * N] = {1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0};
    static const double labels[N] = {0, 1, 0, 1, 1, 0}, weights[N] = {1, 2, 3, 1, 1, 1};
    static const char *const classes[] = {"ape", "bee"};
    double a[N], b[N];
    arrow_frame frame = {0};
    kb_options *options;
    kb_data *data, *same;
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        a[i] = x[2 * i];
        b[i] = x[2 * i + 1];
    }
    arrow_add(&frame, "a", "g", N, NULL, a, NULL);
    arrow_add(&frame, "b", "g", N, NULL, b, NULL);
    kb_arrow arrow = arrow_of(&frame);
    arrow.labels = labels;
    arrow.weights = weights;
    arrow.class_names = classes;
    arrow.classes = 2;
    kb_arrays arrays = {
        .size = sizeof arrays, .rows = N, .features = 2, .values = x, .labels = labels};
    assert_ok(ctx, kb_options_create(ctx, &options));
    assert_ok(ctx, kb_data_from_arrow(ctx, options, &arrow, NULL, &data));
    assert_ok(ctx, kb_data_from_arrays(ctx, &arrays, &same));
    assert_true(kb_data_is_sparse(data) && kb_data_is_sparse(same)); /* few are not 0 */
    assert_memory_equal(data->row_start, same->row_start, (N + 1) * sizeof *data->row_start);
    assert_memory_equal(data->value, same->value, 2 * sizeof *data->value);
    assert_memory_equal(data->label, same->label, sizeof labels);
    assert_memory_equal(data->weight, weights, sizeof weights);
    assert_string_equal(data->class_name[1], "bee");
    assert_null(data->table);
    kb_data_free(data);
    kb_data_free(same);
    arrow.classes = 1;
    assert_fails(ctx, KB_ERR_ARGUMENT,
                 "row 1 (counted from 0): the label 1 is not the place of a class name",
                 kb_data_from_arrow(ctx, options, &arrow, NULL, &data));
    assert_null(data);
    arrow.size = 3;
    assert_fails(ctx, KB_ERR_ARGUMENT, "kb_arrow: size is 3; it must be sizeof(kb_arrow)",
                 kb_data_from_arrow(ctx, options, &arrow, NULL, &data));
    kb_options_free(options);
    kb_context_free(ctx);
}

static int make_data(kb_context *ctx, void *arg) {
    kb_data *data;
    kb_arrow arrow = arrow_of(arg);
    double labels[ROWS] = {0};
    arrow.labels = labels;
    kb_status status = kb_data_from_arrow(ctx, NULL, &arrow, NULL, &data);
    kb_data_free(data);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    columns c;
    arrow_frame frame;
    (void)unused;
    make(&c);
    build(&c, 0, &frame);
    run_with_allocation_failures(make_data, &frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_predicts_for_columns_in_any_order),
        cmocka_unit_test(numbers_are_those_of_arrays),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
