/* reading.c - see reading.h. */
#include "reading.h"

#include "data/data.h"
#include "io/reader.h"
#include "options/config.h"

#include <math.h>
#include <string.h>

static const char ALLOWED[] = "zero-based header label ignore columns types weights split";

static kb_read_spec spec_of(const kb_config *c, kb_file_format format) {
    return (kb_read_spec){
        .format = format,
        .zero_based = c->zero_based,
        .header = c->header,
        .label = c->label,
        .ignore = c->ignore,
        .columns = c->columns,
        .types = c->types,
        .weights = c->weights,
        .group = c->group,
    };
}

static int same(const void *a, const void *b, size_t bytes) {
    return (!a && !b) || (a && b && memcmp(a, b, bytes) == 0);
}

static int same_texts(size_t count, char *const *a, char *const *b) {
    if (!a || !b)
        return !a && !b;
    for (size_t k = 0; k < count; k++)
        if (strcmp(a[k], b[k]) != 0)
            return 0;
    return 1;
}

/* What data.h promises of any data. */
static void check_data(const kb_data *x) {
    fuzz_check((x->dense != NULL) != (x->row_start != NULL));
    fuzz_check(x->rows > 0 && x->rows <= KB_ROWS_MAX && x->features <= KB_FEATURES_MAX);
    size_t cells = x->dense ? x->rows * x->features : x->row_start[x->rows];
    const double *value = x->dense ? x->dense : x->value;
    for (size_t k = 0; k < cells; k++)
        fuzz_check(!isinf(value[k]));
    for (size_t i = 0; !x->dense && i < x->rows; i++)
        for (size_t k = x->row_start[i]; k < x->row_start[i + 1]; k++)
            fuzz_check(x->column[k] < x->features &&
                       (k == x->row_start[i] || x->column[k] > x->column[k - 1]));
    double sum = 0;
    for (size_t i = 0; x->weight && i < x->rows; i++) {
        fuzz_check(isfinite(x->weight[i]) && x->weight[i] >= 0);
        sum += x->weight[i];
    }
    fuzz_check(!x->weight || sum > 0);
    for (size_t i = 0; x->label && x->class_name && i < x->rows; i++)
        fuzz_check(isnan(x->label[i]) ||
                   (x->label[i] >= 0 && x->label[i] < (double)x->class_count &&
                    x->label[i] == floor(x->label[i])));
    for (size_t j = 0; x->table && j < x->table->columns; j++)
        for (size_t i = 0; x->table->column[j].levels > 0 && i < x->rows; i++) {
            double v = x->dense[i * x->features + j];
            fuzz_check(isnan(v) || (v >= -1 && v < (double)x->table->column[j].levels));
        }
}

static void check_same(const kb_data *a, const kb_data *b) {
    fuzz_check(a->rows == b->rows && a->features == b->features);
    size_t cells = a->rows * a->features;
    fuzz_check(same(a->dense, b->dense, cells * sizeof *a->dense));
    fuzz_check(same(a->row_start, b->row_start, (a->rows + 1) * sizeof *a->row_start));
    if (a->row_start) {
        size_t entries = a->row_start[a->rows];
        fuzz_check(same(a->column, b->column, entries * sizeof *a->column));
        fuzz_check(same(a->value, b->value, entries * sizeof *a->value));
    }
    fuzz_check(same(a->label, b->label, a->rows * sizeof *a->label));
    fuzz_check(same(a->weight, b->weight, a->rows * sizeof *a->weight));
    fuzz_check(same(a->group, b->group, a->rows * sizeof *a->group));
    fuzz_check(a->class_count == b->class_count);
    fuzz_check(same_texts(a->class_count, a->class_name, b->class_name));
    fuzz_check(same_texts(a->features, a->feature_name, b->feature_name));
}

/* The same status and message, or the same data. */
static void read_again(const kb_read_spec *spec, const char *path, kb_status want,
                       const char *message, const kb_data *like) {
    kb_context *ctx = fuzz_context();
    kb_data *data;
    kb_status status = kb_read(ctx, spec, path, &data);
    if (status != KB_ERR_MEMORY && want != KB_ERR_MEMORY) {
        fuzz_check(status == want);
        fuzz_check(status == KB_OK || strcmp(kb_context_message(ctx), message) == 0);
        if (status == KB_OK)
            check_same(like, data);
    }
    kb_data_free(data);
    fuzz_context_end(ctx);
}

/* The same file as rows for a model that was trained on it. */
static void read_to_predict(kb_read_spec spec, const char *path, const kb_data *like) {
    kb_context *ctx = fuzz_context();
    kb_data *data;
    spec.to_predict = 1;
    spec.features = like->features;
    spec.feature_name = like->feature_name;
    spec.table = like->table;
    spec.label_name = like->feature_name ? like->label_name : NULL;
    kb_status status = fuzz_status(ctx, kb_read(ctx, &spec, path, &data));
    fuzz_check((status == KB_OK) == (data != NULL));
    if (data) {
        fuzz_check(data->features == like->features);
        check_data(data);
    }
    kb_data_free(data);
    fuzz_context_end(ctx);
}

void fuzz_read(kb_file_format format, const uint8_t *bytes, size_t size) {
    fuzz_input in = fuzz_split(bytes, size);
    kb_context *ctx = fuzz_context(), *other = fuzz_context();
    kb_options *options;
    kb_data *data = NULL;
    const char *path = fuzz_file(0, in.rest, in.count);
    fuzz_check(kb_options_create(other, &options) == KB_OK);
    fuzz_set_options(other, options, in.line, ALLOWED);
    kb_config config = kb_config_of(options);
    kb_read_spec spec = spec_of(&config, format);
    kb_status status = fuzz_status(ctx, kb_read(ctx, &spec, path, &data));
    fuzz_check((status == KB_OK) == (data != NULL));
    if (data)
        check_data(data);
    spec.piece_bytes = fuzz_number(in.line, "piece", 0) % 4096;
    if (spec.piece_bytes > 0)
        read_again(&spec, path, status, kb_context_message(ctx), data);
    if (data)
        read_to_predict(spec, path, data);
    kb_data_free(data);
    kb_options_free(options);
    fuzz_context_end(ctx);
    fuzz_context_end(other);
}
