/* importance_file.c - see importance_file.h. */
#include "validation/importance_file.h"

kb_status kb_importance_create(kb_context *ctx, size_t features, kb_importance *out) {
    kb_status status;
    double *numbers;
    *out = (kb_importance){.size = sizeof *out};
    TRY(kb_zalloc(ctx, 2 * features, sizeof *numbers, &numbers));
    out->drop = numbers;
    out->standard_error = numbers + features;
done:
    return status;
}

static json_t *numbers(size_t count, const double *x) {
    json_t *list = json_array();
    for (size_t j = 0; list && j < count; j++)
        if (json_array_append_new(list, json_real(x[j])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

int kb_importance_describe(const kb_importance *i, size_t features, json_t *json) {
    json_t *object =
        json_pack("{s:I, s:I, s:f, s:o, s:o}", "rows", (json_int_t)i->rows, "repeats",
                  (json_int_t)i->repeats, "score", i->score, "drop", numbers(features, i->drop),
                  "standard_error", numbers(features, i->standard_error));
    return json_object_set_new(json, "importance", object) == 0;
}

/* 0 if the list is not one of so many numbers. */
static int read_numbers(const json_t *list, size_t count, double *out) {
    if (json_array_size(list) != count)
        return 0;
    for (size_t j = 0; j < count; j++) {
        const json_t *number = json_array_get(list, j);
        if (!json_is_number(number))
            return 0;
        out[j] = json_number_value(number);
    }
    return 1;
}

kb_status kb_importance_read(kb_context *ctx, const json_t *json, size_t features,
                             kb_importance *out) {
    kb_status status = KB_OK;
    const json_t *object = json_object_get(json, "importance");
    json_int_t rows = json_integer_value(json_object_get(object, "rows"));
    json_int_t repeats = json_integer_value(json_object_get(object, "repeats"));
    if (!object)
        return KB_OK;
    TRY(kb_importance_create(ctx, features, out));
    double *number = (double *)out->drop;
    if (rows < 1 || repeats < 1 || !json_is_number(json_object_get(object, "score")) ||
        !read_numbers(json_object_get(object, "drop"), features, number) ||
        !read_numbers(json_object_get(object, "standard_error"), features, number + features))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the importance of the features is wrong"));
    out->rows = (size_t)rows;
    out->repeats = (size_t)repeats;
    out->score = json_number_value(json_object_get(object, "score"));
done:
    return status;
}
