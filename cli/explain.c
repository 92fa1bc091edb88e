/* explain.c - kerbin explain: what predictions depend on, and what each feature adds to them. */
#include "command.h"
#include "contributions.h"
#include "dependence.h"
#include "report.h"
#include "files.h"

#include <stdlib.h>

static kb_status check(session *s) {
    const cli_args *args = s->args;
    const char *path = args->own[OWN_FILE];
    kb_status status = KB_OK;
    if (is_stdio(args->operand[0]))
        TRY(session_fail(s, KB_ERR_ARGUMENT, "a model cannot come from standard input"));
    if (path && is_stdio(path) && args_flag(args, OWN_JSON))
        TRY(session_fail(s, KB_ERR_ARGUMENT,
                         "--json and the contributions would both go to standard output; give -o "
                         "a file"));
    TRY(files_check_output(s, path));
    TRY(plot_check(s, args->own[OWN_PLOT]));
done:
    return status;
}

static kb_status write_contributions(session *s, const kb_model *model, const kb_data *data) {
    kb_status status = KB_OK;
    const char *from = s->args->own[OWN_BACKGROUND];
    kb_data *background = NULL;
    if (from)
        TRY(kb_data_read(s->ctx, s->options, from, model, &background));
    TRY(contributions_write(s, model, data, background,
                            (size_t)strtol(s->args->own[OWN_SAMPLES], NULL, 10),
                            s->args->own[OWN_FILE]));
done:
    kb_data_free(background);
    return status;
}

static kb_status print_json(const dependences *d) {
    size_t classes = kb_model_info(d->model)->classes;
    json_t *object = json_pack("{s:I, s:o, s:o}", "rows", (json_int_t)d->rows, "of",
                               json_string(d->probability ? "probability"
                                           : classes      ? "decision"
                                                          : "prediction"),
                               "dependence", dependences_json(d));
    return report_json(object);
}

int explain_run(const cli_args *args) {
    session s;
    kb_status status;
    kb_model *model = NULL;
    kb_data *data = NULL;
    figure *f = NULL;
    dependences d = {0};
    const char *path = args->own[OWN_FILE], *plot = args->own[OWN_PLOT];

    TRY(session_open(&s, args));
    TRY(check(&s));
    TRY(kb_model_read(s.ctx, args->operand[0], &model));
    TRY(kb_data_read(s.ctx, s.options, args->operand[1], model, &data));
    TRY(dependences_find(&s, model, data, (size_t)strtol(args->own[OWN_TOP], NULL, 10), &d));
    if (plot) {
        f = dependences_figure(&d, "Partial dependence", d.count < 3 ? (int)d.count : 3);
        TRY(figure_save(&s, f, plot, NULL));
    }
    if (path)
        TRY(write_contributions(&s, model, data));
    if (args_flag(args, OWN_JSON))
        TRY(print_json(&d));
    else if (!path || !is_stdio(path))
        dependences_print(&d);
done:
    figure_free(f);
    dependences_free(&d);
    kb_data_free(data);
    kb_model_free(model);
    return session_close(&s, status);
}
