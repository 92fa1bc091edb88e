/* config.c - see config.h. */
#include "options/config.h"
#include "core/machine.h"
#include "core/number.h"

#include <assert.h>
#include <string.h>

static kb_sigma sigma_of(const char *text) {
    kb_sigma sigma = {.kind = KB_SIGMA_NUMBER};
    if (strcmp(text, "auto") == 0)
        sigma.kind = KB_SIGMA_AUTO;
    else if (strcmp(text, "default") == 0)
        sigma.kind = KB_SIGMA_DEFAULT;
    else if (*text == '@' || strchr(text, ','))
        sigma = (kb_sigma){.kind = *text == '@' ? KB_SIGMA_FILE : KB_SIGMA_LIST,
                           .text = text + (*text == '@')};
    else {
        kb_number_parse(text, &sigma.value);
        sigma.text = text;
    }
    return sigma;
}

static void take_split(kb_config *c, const char *text) {
    c->group = kb_split_group(text);
    c->split = KB_SPLIT_GROUP;
    if (!c->group)
        kb_split_find(text, &c->split);
}

static void take_class_weight(kb_config *c, const char *text) {
    c->class_weight = strcmp(text, "none") == 0       ? KB_CLASS_WEIGHT_NONE
                      : strcmp(text, "balanced") == 0 ? KB_CLASS_WEIGHT_BALANCED
                                                      : KB_CLASS_WEIGHT_FILE;
    c->class_weight_file = c->class_weight == KB_CLASS_WEIGHT_FILE ? text : NULL;
}

static void take_label(kb_config *c, const char *text) {
    size_t count;
    c->label = text;
    c->label_given = strcmp(text, kb_option_table(&count)[KB_OPT_LABEL].default_value) != 0;
}

/* Copies one option into its member. */
static void take(kb_config *c, kb_option_id id, const kb_option_value *v) {
    size_t count = (size_t)v->integer;
    int is_auto = strcmp(v->text, "auto") == 0;
    switch (id) {
    case KB_OPT_FORMAT:
        c->format = (kb_file_format)v->integer;
        break;
    case KB_OPT_ZERO_BASED:
        c->zero_based = (int)v->integer;
        break;
    case KB_OPT_HEADER:
        c->header = (kb_header)v->integer;
        break;
    case KB_OPT_LABEL:
        take_label(c, v->text);
        break;
    case KB_OPT_IGNORE:
        c->ignore = strcmp(v->text, "none") == 0 ? NULL : v->text;
        break;
    case KB_OPT_COLUMNS:
        c->columns = strcmp(v->text, "all") == 0 ? NULL : v->text;
        break;
    case KB_OPT_TYPES:
        c->types = is_auto ? NULL : v->text;
        break;
    case KB_OPT_WEIGHTS:
        c->weights = strcmp(v->text, "none") == 0 ? NULL : v->text;
        break;
    case KB_OPT_SPLIT:
        take_split(c, v->text);
        break;
    case KB_OPT_KEEP:
        c->keep = strcmp(v->text, "none") == 0 ? NULL : v->text;
        break;
    case KB_OPT_MAP:
        c->map = (kb_map_kind)v->integer;
        break;
    case KB_OPT_LANDMARKS:
        c->landmarks = (kb_landmarks)v->integer;
        break;
    case KB_OPT_KERNEL:
        kb_kernel_name_parse(v->text, &c->kernel);
        break;
    case KB_OPT_SIGMA:
        c->sigma = sigma_of(v->text);
        break;
    case KB_OPT_WIDTHS:
        c->widths = (kb_widths_rule)v->integer;
        break;
    case KB_OPT_LINEAR:
        c->linear = (kb_linear_rule)v->integer;
        break;
    case KB_OPT_DIRECTIONS:
        c->directions = is_auto ? KB_DIRECTIONS_AUTO : count;
        break;
    case KB_OPT_GRIDS:
        c->grids = is_auto ? KB_GRIDS_AUTO : count;
        break;
    case KB_OPT_SCALE:
        c->scale = (kb_scale_kind)v->integer;
        break;
    case KB_OPT_TUNE:
        c->tune = (kb_tune_rule)v->integer;
        break;
    case KB_OPT_BUDGET:
        c->budget = v->real;
        break;
    case KB_OPT_METRIC:
        c->metric = (kb_metric_kind)v->integer;
        break;
    case KB_OPT_TASK:
        c->task = (kb_task)v->integer;
        break;
    case KB_OPT_LAMBDA:
        c->lambda = is_auto ? KB_LAMBDA_AUTO : v->real;
        break;
    case KB_OPT_LOSS:
        c->loss = (kb_loss_kind)v->integer;
        break;
    case KB_OPT_QUANTILE:
        c->quantile = v->real;
        break;
    case KB_OPT_MULTICLASS:
        c->multiclass = (kb_multiclass)v->integer;
        break;
    case KB_OPT_CLASS_WEIGHT:
        take_class_weight(c, v->text);
        break;
    case KB_OPT_PROBABILITY:
        c->probability = (kb_probability_rule)v->integer;
        break;
    case KB_OPT_PENALTY:
        c->penalty = (kb_penalty)v->integer;
        break;
    case KB_OPT_GROUP_GRIDS:
        c->group_grids = (int)v->integer;
        break;
    case KB_OPT_LAMBDA_PATH:
        c->lambda_path = count;
        break;
    case KB_OPT_FOLDS:
        c->folds = is_auto ? KB_FOLDS_AUTO : count;
        break;
    case KB_OPT_HOLDOUT:
        c->holdout = v->real;
        break;
    case KB_OPT_ENSEMBLE:
        c->ensemble = count;
        break;
    case KB_OPT_SOLVER:
        c->solver = (kb_solver_kind)v->integer;
        break;
    case KB_OPT_TOL:
        c->tol = v->real;
        break;
    case KB_OPT_MAX_ITER:
        c->max_iter = count;
        break;
    case KB_OPT_EARLY_STOP:
        c->early_stop = (kb_early_stop)v->integer;
        break;
    case KB_OPT_INTERCEPT:
        c->intercept = (kb_intercept_rule)v->integer;
        break;
    case KB_OPT_IMPORTANCE:
        c->importance = (kb_importance_rule)v->integer;
        break;
    case KB_OPT_DEVICE:
        c->device = (kb_device_kind)v->integer;
        break;
    case KB_OPT_SEED:
        c->seed = (uint64_t)v->integer;
        break;
    case KB_OPT_MAX_MEMORY:
        c->max_memory = v->real > 0 ? (size_t)v->real : 0;
        break;
    case KB_OPT_ROWS:
        c->rows = count;
        break;
    case KB_OPT_NOISE:
        c->noise = v->real;
        break;
    case KB_OPT_COUNT:
        break;
    }
}

kb_config kb_config_of(const kb_options *options) {
    kb_config c = {0};
    for (int id = 0; id < KB_OPT_COUNT; id++)
        take(&c, (kb_option_id)id, kb_options_value(options, (kb_option_id)id));
    c.nearby = kb_options_nearby(options);
    if (kb_config_is_of_numbers(&c) && c.task == KB_TASK_AUTO) /* few counts look like classes */
        c.task = KB_TASK_REGRESSION;
    return c;
}

const char *kb_options_file(const kb_options *options, const char *name) {
    kb_config c = kb_config_of(options);
    if (strcmp(name, "weights") == 0)
        return kb_weights_column(c.weights) ? NULL : c.weights;
    if (strcmp(name, "class-weight") == 0)
        return c.class_weight_file;
    if (strcmp(name, "sigma") == 0)
        return c.sigma.kind == KB_SIGMA_FILE ? c.sigma.text : NULL;
    return strcmp(name, "kernel") == 0 ? c.kernel.file : NULL;
}

/* Whether an option that has a value without tuning is left at auto. */
static int is_open(const kb_config *c, kb_option_id id) {
    switch (id) {
    case KB_OPT_SIGMA:
        return c->sigma.kind == KB_SIGMA_AUTO;
    case KB_OPT_LAMBDA:
        return c->lambda == KB_LAMBDA_AUTO;
    case KB_OPT_GRIDS:
        return c->grids == KB_GRIDS_AUTO;
    case KB_OPT_WIDTHS:
        return c->widths == KB_WIDTHS_AUTO;
    case KB_OPT_LOSS:
        return c->loss == KB_LOSS_AUTO;
    case KB_OPT_SCALE:
        return c->scale == KB_SCALE_AUTO;
    case KB_OPT_EARLY_STOP:
        return c->early_stop == KB_EARLY_STOP_AUTO;
    default:
        return 0;
    }
}

void kb_config_set_untuned(kb_config *c) {
    for (int id = 0; id < KB_OPT_COUNT; id++) {
        const char *text = kb_option_untuned((kb_option_id)id);
        kb_option_value v = {.text = (char *)text};
        char must_be[KB_MUST_BE];
        if (text && is_open(c, (kb_option_id)id)) {
            const char *wrong = kb_option_parse((kb_option_id)id, text, &v, must_be);
            assert(!wrong);
            (void)wrong;
            take(c, (kb_option_id)id, &v);
        }
    }
}

size_t kb_config_memory(const kb_config *c) {
    size_t nearby = c->nearby > 1 ? (size_t)c->nearby : 1;
    return c->max_memory ? c->max_memory : kb_memory_available() / nearby + (size_t)c->held;
}
