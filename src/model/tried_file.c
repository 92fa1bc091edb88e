/* tried_file.c - see tried_file.h. */
#include "model/tried_file.h"

#include <math.h>

/* JSON has no infinity, which is the error of a fit that failed. */
static json_t *number(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

int kb_tried_describe(const kb_model *model, json_t *json) {
    json_t *list = json_array();
    int fine = list != NULL;
    for (size_t i = 0; fine && i < model->tried_count; i++) {
        const kb_trial_info *t = &model->tried[i];
        fine = json_array_append_new(
                   list, json_pack("{s:s, s:s, s:o, s:o, s:I, s:I, s:o}", "widths", t->widths,
                                   "loss", t->loss, "sigma", number(t->sigma), "lambda",
                                   number(t->lambda), "grids", (json_int_t)t->grids, "steps",
                                   (json_int_t)t->steps, "error", number(t->error))) == 0;
    }
    fine &= json_object_set_new(json, "tried", list) == 0;
    return fine &
           (json_object_set_new(json, "chosen", json_integer((json_int_t)model->chosen)) == 0);
}

static double number_at(const json_t *one, const char *key) {
    const json_t *value = json_object_get(one, key);
    return json_is_number(value) ? json_number_value(value) : INFINITY;
}

static kb_status read_one(kb_context *ctx, const json_t *one, char **text, kb_trial_info *out) {
    kb_status status;
    const char *widths = json_string_value(json_object_get(one, "widths"));
    const char *loss = json_string_value(json_object_get(one, "loss"));
    json_int_t grids = json_integer_value(json_object_get(one, "grids"));
    json_int_t steps = json_integer_value(json_object_get(one, "steps"));
    if (!widths || !loss || grids < 0 || steps < 0)
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the list of trials is wrong"));
    TRY(kb_strdup(ctx, widths, &text[0]));
    TRY(kb_strdup(ctx, loss, &text[1]));
    *out = (kb_trial_info){.widths = text[0],
                           .loss = text[1],
                           .sigma = number_at(one, "sigma"),
                           .lambda = number_at(one, "lambda"),
                           .grids = (size_t)grids,
                           .steps = (size_t)steps,
                           .error = number_at(one, "error"),
                           .seconds = NAN};
done:
    return status;
}

kb_status kb_tried_read(kb_context *ctx, const json_t *json, kb_model *model) {
    kb_status status = KB_OK;
    const json_t *list = json_object_get(json, "tried");
    json_int_t chosen = json_integer_value(json_object_get(json, "chosen"));
    size_t count = json_array_size(list);
    if (!list)
        return KB_OK;
    if (!json_is_array(list) || chosen < 0 || (chosen > 0 && (size_t)chosen >= count))
        TRY(kb_fail(ctx, KB_ERR_MODEL, "the list of trials is wrong"));
    TRY(kb_zalloc(ctx, 2 * count, sizeof *model->tried_text, &model->tried_text));
    TRY(kb_alloc(ctx, count, sizeof *model->tried, &model->tried));
    model->tried_count = count;
    model->chosen = (size_t)chosen;
    for (size_t i = 0; i < count; i++)
        TRY(read_one(ctx, json_array_get(list, i), model->tried_text + 2 * i, &model->tried[i]));
done:
    return status;
}
