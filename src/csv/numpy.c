/*
 * numpy.c - arrays of NumPy into dense rows: a CSV file of numbers without names, once it is read.
 */
#include "core/number.h"
#include "csv/labels.h"
#include "csv/roles.h"
#include "csv/types.h"
#include "io/npy.h"

#include <math.h>

static kb_status find_roles(kb_context *ctx, const kb_read_spec *spec, kb_input *in, size_t count,
                            kb_csv_columns *c) {
    kb_status status;
    *c = (kb_csv_columns){.delimiter = ',',
                          .count = count,
                          .label = KB_NO_COLUMN,
                          .weight = KB_NO_COLUMN,
                          .group = KB_NO_COLUMN};
    TRY(kb_alloc(ctx, count, sizeof *c->feature, &c->feature));
    TRY(kb_alloc(ctx, count, sizeof *c->source, &c->source));
    TRY(kb_zalloc(ctx, count, 1, &c->ignored));
    for (size_t k = 0; k < count; k++)
        c->feature[k] = KB_NO_COLUMN;
    TRY(kb_csv_roles_find(ctx, spec, in, c));
done:
    return status;
}

static kb_status take_column(kb_context *ctx, const kb_npy *npy, size_t column, double **out) {
    kb_status status;
    TRY(kb_alloc(ctx, npy->rows, sizeof **out, out));
    for (size_t i = 0; i < npy->rows; i++)
        (*out)[i] = npy->cell[i * npy->columns + column];
done:
    return status;
}

static kb_status take_weights(kb_context *ctx, kb_input *in, const kb_npy *npy, size_t column,
                              kb_data *data) {
    kb_status status;
    TRY(take_column(ctx, npy, column, &data->weight));
    for (size_t i = 0; i < npy->rows; i++)
        if (!(data->weight[i] >= 0))
            TRY(kb_input_fail(in, "row %zu: the weight %g is not a number from 0 up", i + 1,
                              data->weight[i]));
done:
    return status;
}

static kb_status take_groups(kb_context *ctx, kb_input *in, const kb_npy *npy, size_t column,
                             kb_data *data) {
    kb_status status;
    kb_text_ids groups = {0};
    TRY(kb_alloc(ctx, npy->rows, sizeof *data->group, &data->group));
    for (size_t i = 0; i < npy->rows; i++) {
        double x = npy->cell[i * npy->columns + column];
        char text[KB_NUMBER_TEXT];
        if (isnan(x))
            TRY(kb_input_fail(in, "row %zu: the group is missing", i + 1));
        TRY(kb_text_ids_number(ctx, &groups, text, kb_number_format(x, text), &data->group[i]));
    }
done:
    kb_text_ids_clear(ctx, &groups);
    return status;
}

static kb_status take_features(kb_context *ctx, const kb_npy *npy, const kb_csv_columns *c,
                               kb_data *data) {
    kb_status status;
    data->rows = npy->rows;
    data->features = c->features;
    TRY(kb_alloc(ctx, npy->rows * c->features, sizeof *data->dense, &data->dense));
    for (size_t i = 0; i < npy->rows; i++)
        for (size_t j = 0; j < c->features; j++)
            data->dense[i * c->features + j] = npy->cell[i * npy->columns + c->source[j]];
done:
    return status;
}

kb_status kb_numpy_read(kb_context *ctx, const kb_read_spec *spec, kb_input *in, const char *path,
                        kb_data *data) {
    kb_status status;
    kb_npy npy = {0};
    kb_csv_columns c = {0};
    kb_text_ids *none = NULL, no_words = {0};
    TRY(kb_npy_read(ctx, path, &npy));
    TRY(find_roles(ctx, spec, in, npy.columns, &c));
    TRY(take_features(ctx, &npy, &c, data));
    if (c.label != KB_NO_COLUMN)
        TRY(take_column(ctx, &npy, c.label, &data->label));
    if (c.weight != KB_NO_COLUMN)
        TRY(take_weights(ctx, in, &npy, c.weight, data));
    if (c.group != KB_NO_COLUMN && !spec->to_predict)
        TRY(take_groups(ctx, in, &npy, c.group, data));
    kb_npy_clear(ctx, &npy);
    TRY(kb_zalloc(ctx, c.features, sizeof *none, &none));
    if (c.label != KB_NO_COLUMN)
        TRY(kb_csv_labels_finish(ctx, &c, in, &no_words, spec->to_predict, data));
    TRY(kb_csv_types_finish(ctx, spec, &c, in, none, data));
done:
    kb_npy_clear(ctx, &npy);
    kb_release(ctx, none);
    kb_csv_columns_clear(ctx, &c);
    return status;
}
