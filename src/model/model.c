/* model.c - see model.h. */
#define _POSIX_C_SOURCE 200809L
#include "model/model.h"
#include "core/number.h"
#include "core/strings.h"
#include "solve/loss.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

kb_status kb_model_create(kb_context *ctx, kb_model **out) {
    kb_status status = kb_zalloc(ctx, 1, sizeof **out, out);
    if (status == KB_OK) {
        (*out)->allocator = kb_allocator_of(ctx);
        (*out)->expected = KB_EXPECTED_NONE;
    }
    return status;
}

void kb_fit_info_set_sigma(kb_fit_info *info, const char *text) {
    static const char rule[] = "default(";
    double number = 0;
    int by_rule = strncmp(text, rule, strlen(rule)) == 0;
    const char *end = kb_number_parse(by_rule ? text + strlen(rule) : text, &number);
    info->sigma_text = text;
    if (end && strcmp(end, by_rule ? ")" : "") == 0) {
        info->sigma_rule = by_rule ? "default" : "equal";
        info->sigma = number;
        return;
    }
    info->sigma = 0;
    info->sigma_rule = text[0] == '@' ? "file" : strcmp(text, "learned") == 0 ? "learned" : "list";
}

kb_status kb_model_set_info(kb_context *ctx, kb_model *model, const kb_fit_info *info) {
    kb_status status = KB_OK;
    model->info = *info;
    model->log_link = strcmp(info->loss, "poisson") == 0;
    const char **text[] = {&model->info.task,  &model->info.loss,        &model->info.penalty,
                           &model->info.map,   &model->info.kernel,      &model->info.solver,
                           &model->info.scale, &model->info.probability, &model->info.sigma_text};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        kb_release(ctx, model->text[i]);
        model->text[i] = NULL;
        TRY(kb_strdup(ctx, *text[i], &model->text[i]));
        *text[i] = model->text[i];
    }
done:
    return status;
}

kb_status kb_model_set_calibration(kb_context *ctx, kb_model *model, const kb_calibration *rule) {
    char *name;
    kb_status status = kb_strdup(ctx, kb_calibration_name(rule->kind), &name);
    if (status != KB_OK)
        return status;
    for (size_t i = 0; i < sizeof model->text / sizeof *model->text; i++)
        if (model->text[i] == model->info.probability) {
            kb_release(ctx, model->text[i]);
            model->text[i] = name;
        }
    model->info.probability = name;
    model->calibration = *rule;
    return KB_OK;
}

kb_status kb_model_name_classes(kb_context *ctx, kb_model *model) {
    kb_status status = KB_OK;
    size_t classes = model->info.classes;
    TRY(kb_zalloc(ctx, classes, sizeof(char *), &model->number_name));
    for (size_t i = 0; i < classes; i++) {
        char text[KB_NUMBER_TEXT];
        text[kb_number_format(model->class_value[i], text)] = '\0';
        TRY(kb_strdup(ctx, text, &model->number_name[i]));
    }
done:
    return status;
}

void kb_model_free(kb_model *model) {
    if (!model)
        return;
    kb_allocator a = model->allocator;
    for (size_t i = 0; i < sizeof model->text / sizeof *model->text; i++)
        kb_allocator_release(a, model->text[i]);
    kb_strings_free(a, model->info.classes, model->class_name);
    kb_strings_free(a, model->info.classes, model->number_name);
    kb_strings_free(a, model->info.features, model->feature_name);
    kb_table_free(model->table);
    kb_allocator_release(a, model->class_value);
    kb_allocator_release(a, model->intercept);
    kb_allocator_release(a, model->prior);
    kb_allocator_release(a, model->label);
    kb_allocator_release(a, model->tried);
    kb_strings_free(a, 2 * model->tried_count, model->tried_text);
    kb_validation_release(a, &model->validation);
    kb_allocator_release(a, (void *)model->importance.drop);
    kb_map_free(model->map);
    if (model->file) {
        munmap(model->file, model->file_bytes);
    } else {
        kb_allocator_release(a, (void *)model->weight);
        kb_allocator_release(a, (void *)model->level);
        kb_allocator_release(a, (void *)model->unit);
        kb_allocator_release(a, (void *)model->kept);
        kb_allocator_release(a, (void *)model->kept_before);
    }
    kb_allocator_release(a, model->rival_weight);
    kb_allocator_release(a, model);
}

const kb_fit_info *kb_model_info(const kb_model *model) {
    return &model->info;
}

const kb_fit_cost *kb_model_cost(const kb_model *model) {
    return &model->cost;
}

static int weights_are_finite(const kb_model *m) {
    size_t count = m->info.kept_bins * m->info.outputs;
    for (size_t k = 0; m->weight && k < count; k++)
        if (!isfinite(m->weight[k]))
            return 0;
    return !m->rival_weight ||
           kb_all_within(m->info.bins * m->info.outputs, m->rival_weight, -DBL_MAX, DBL_MAX);
}

const char *kb_model_fault(const kb_model *m, int all) {
    const char *fault = kb_map_fault(m->map);
    if (fault)
        return fault;
    if (!kb_all_within(m->info.outputs, m->intercept, -DBL_MAX, DBL_MAX) ||
        !kb_all_within(m->info.outputs, m->prior, -DBL_MAX, DBL_MAX) ||
        !kb_all_within(m->info.classes, m->class_value, -DBL_MAX, DBL_MAX))
        return "an intercept or a class is not finite";
    if (all && !weights_are_finite(m))
        return "a weight is not finite";
    if (!kb_curve_is_sound(&m->calibration.curve) ||
        (m->calibration.kind != KB_CALIBRATION_NONE &&
         !kb_all_within(1, &m->calibration.slope, DBL_TRUE_MIN, DBL_MAX)))
        return "the rule for probabilities is not one";
    if (!kb_conformal_is_sound(&m->conformal, m->info.classes > 0))
        return "what to expect on new rows is not sound";
    return NULL;
}

const kb_map *kb_model_map(const kb_model *model) {
    return model->map;
}

double kb_model_class(const kb_model *model, size_t i) {
    return model->class_value[i];
}

const char *kb_model_class_name(const kb_model *model, size_t i) {
    return model->class_name ? model->class_name[i] : model->number_name[i];
}

kb_status kb_model_column(const kb_model *model, size_t j, kb_column_info *out) {
    return kb_table_tell(model->table, model->info.features, model->feature_name, j, out);
}

size_t kb_model_left_out(const kb_model *model) {
    return model->table ? model->table->left_out : 0;
}

kb_status kb_model_left_out_column(const kb_model *model, size_t k, kb_column_info *out) {
    return kb_table_tell_left_out(model->table, k, out);
}

size_t kb_model_winner(const kb_model *model, const double *decision) {
    return kb_winner(model->info.outputs, decision);
}

void kb_model_label(const kb_model *model, size_t rows, const double *decision, double *labels) {
    for (size_t i = 0; i < rows; i++, decision += model->info.outputs)
        labels[i] = model->info.classes ? model->class_value[kb_model_winner(model, decision)]
                                        : kb_model_mean(model, decision[0]);
}

double kb_model_mean(const kb_model *model, double decision) {
    return model->log_link ? kb_exp_bounded(decision) : decision;
}

const kb_trial_info *kb_model_trials(const kb_model *model, size_t *count) {
    *count = model->tried_count;
    return model->tried;
}

const char *const *kb_model_shortened(const kb_model *model, size_t *count) {
    *count = model->shortened_count;
    return model->shortened;
}

size_t kb_model_chosen_trial(const kb_model *model) {
    return model->chosen;
}

const char *kb_model_label_name(const kb_model *model) {
    return model->feature_name ? model->label : NULL;
}

kb_status kb_model_expected(const kb_model *model, kb_expected *out) {
    kb_expected before, found = model->expected;
    if (!kb_take_sized(out, &before, sizeof before))
        return KB_ERR_ARGUMENT;
    found.size = before.size;
    memcpy(out, &found, before.size);
    return KB_OK;
}

kb_status kb_model_compaction(const kb_model *model, kb_compaction *out) {
    kb_compaction before, found = model->compaction;
    if (!kb_take_sized(out, &before, sizeof before))
        return KB_ERR_ARGUMENT;
    found.size = before.size;
    memcpy(out, &found, before.size);
    return KB_OK;
}

kb_status kb_model_validation(const kb_model *model, kb_validation_info *out) {
    const kb_validation *v = &model->validation;
    kb_validation_info before, found = {.rows = v->rows,
                                        .row = v->row,
                                        .decision = v->decision,
                                        .label = v->label,
                                        .weight = v->weight,
                                        .known = v->known};
    if (!kb_take_sized(out, &before, sizeof before))
        return KB_ERR_ARGUMENT;
    found.size = before.size;
    memcpy(out, &found, before.size);
    return KB_OK;
}
