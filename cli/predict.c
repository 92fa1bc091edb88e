/* predict.c - kerbin predict: labels, decisions or probabilities, and their score. */
#include "command.h"
#include "ranks.h"
#include "report.h"
#include "session.h"
#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct prediction {
    size_t rows;
    int scored;      /* the data had labels, */
    size_t labelled; /* in so many rows */
    kb_score score;
    double read_seconds, predict_seconds;
} prediction;

static kb_request request_of(const cli_args *args) {
    static const struct {
        const char *name;
        kb_output what;
    } all[] = {{"label", KB_OUTPUT_LABEL},
               {"decision", KB_OUTPUT_DECISION},
               {"probability", KB_OUTPUT_PROBABILITY},
               {"interval", KB_OUTPUT_INTERVAL},
               {"set", KB_OUTPUT_SET},
               {"novelty", KB_OUTPUT_NOVELTY}};
    kb_request request = KB_REQUEST_INIT;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (strcmp(args->own[OWN_OUTPUT], all[k].name) == 0)
            request.what = all[k].what;
    request.coverage = strtod(args->own[OWN_COVERAGE], NULL);
    return request;
}

static size_t count_labels(const kb_data *data) {
    const double *label = kb_data_labels(data);
    size_t count = 0;
    for (size_t i = 0; i < kb_data_rows(data); i++)
        count += !isnan(label[i]);
    return count;
}

/* path NULL: the predictions are not written. */
static kb_status predict(session *s, const kb_model *model, const char *source, const char *path,
                         prediction *p) {
    kb_status status;
    kb_data *data = NULL;
    TRY(kb_data_read(s->ctx, s->options, source, model, &data));
    p->read_seconds = seconds_now() - s->started;
    double begun = seconds_now();
    p->rows = kb_data_rows(data);
    p->scored = kb_data_labels(data) != NULL;
    p->labelled = p->scored ? count_labels(data) : 0;
    ranks_add_up(&p->rows);
    ranks_add_up(&p->labelled);
    kb_request request = request_of(s->args);
    TRY(kb_model_predict_file_as(s->ctx, model, data, &request, path,
                                 p->scored ? &p->score : NULL));
    p->predict_seconds = seconds_now() - begun;
done:
    kb_data_free(data);
    return status;
}

static kb_status print_json(const session *s, const kb_fit_info *info, const prediction *p) {
    json_t *object = json_pack("{s:I}", "rows", (json_int_t)p->rows);
    if (p->scored)
        report_add(&object, "metrics", report_score_json(info, &p->score));
    report_add(&object, "seconds",
               json_pack("{s:f, s:f, s:f}", "read", p->read_seconds, "predict", p->predict_seconds,
                         "total", seconds_now() - s->started));
    report_add(&object, "peak_memory_bytes", json_integer((json_int_t)peak_memory()));
    return report_json(object);
}

/* The score is printed where the predictions are not. */
static void print_score(session *s, const kb_fit_info *info, const prediction *p, int on_stdout) {
    if (!p->scored)
        session_note(s, "%zu row%s predicted; without labels there is no score", p->rows,
                     plural(p->rows));
    else if (!args_flag(s->args, OWN_QUIET) && ranks_me() == 0)
        report_score(on_stdout ? stdout : stderr, info, &p->score, p->labelled, NULL);
}

static kb_status check(session *s, const char *model, const char *path, int asked_for_stdout) {
    if (is_stdio(model))
        return session_fail(s, KB_ERR_ARGUMENT, "a model cannot come from standard input");
    if (asked_for_stdout && args_flag(s->args, OWN_JSON))
        return session_fail(s, KB_ERR_ARGUMENT,
                            "--json and the predictions would both go to standard output; "
                            "give -o a file");
    return files_check_output(s, path);
}

int predict_run(const cli_args *args) {
    session s;
    kb_status status;
    kb_model *model = NULL;
    prediction p = {.score.size = sizeof p.score};
    int json = args_flag(args, OWN_JSON);
    const char *path = args->own[OWN_FILE] ? args->own[OWN_FILE] : "-";

    TRY(session_open(&s, args));
    TRY(session_agree(&s, ranks_me() > 0 ? KB_OK
                                         : check(&s, args->operand[0], path,
                                                 args->own[OWN_FILE] && is_stdio(path))));
    TRY(session_agree(&s, (args_flag(args, OWN_TRUST) ? kb_model_read_trusted : kb_model_read)(
                              s.ctx, args->operand[0], &model)));
    TRY(session_agree(&s, kb_context_set_device(s.ctx, kb_options_get(s.options, "device"))));
    kb_request request = request_of(args);
    TRY(kb_request_check(s.ctx, model, &request)); /* told before the work */
    TRY(predict(&s, model, args->operand[1], json && is_stdio(path) ? NULL : path, &p));
    if (json)
        TRY(print_json(&s, kb_model_info(model), &p));
    else
        print_score(&s, kb_model_info(model), &p, !is_stdio(path));
done:
    kb_model_free(model);
    return session_close(&s, status);
}
