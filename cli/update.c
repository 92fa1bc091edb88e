/* update.c - kerbin update: a model learns from more rows. */
#include "command.h"
#include "files.h"
#include "report.h"
#include "session.h"
#include "text.h"

static kb_status check(session *s, const char *model, const char *path) {
    if (is_stdio(model))
        return session_fail(s, KB_ERR_ARGUMENT, "a model cannot come from standard input");
    if (!path)
        return session_fail(s, KB_ERR_ARGUMENT,
                            "-o is missing: where to save the new model; %s is not changed",
                            path_in_words(model).text);
    if (is_stdio(path) && args_flag(s->args, OWN_JSON))
        return session_fail(s, KB_ERR_ARGUMENT,
                            "--json and the model would both go to standard output; "
                            "give --model a file");
    return files_check_output(s, path);
}

static kb_status print_json(const kb_model *model, size_t rows, size_t bins, const char *path,
                            double seconds) {
    json_t *object = report_fit_json(kb_model_info(model));
    report_add(&object, "expected", report_expected_json(model));
    report_add(&object, "rows_added", json_integer((json_int_t)rows));
    report_add(&object, "bins_added", json_integer((json_int_t)bins));
    report_add(&object, "seconds", json_pack("{s:f}", "total", seconds));
    report_add(&object, "peak_memory_bytes", json_integer((json_int_t)peak_memory()));
    report_add(&object, "model", report_text(path));
    return report_json(object);
}

int update_run(const cli_args *args) {
    session s;
    kb_status status;
    kb_data *data = NULL;
    kb_model *old = NULL, *model = NULL;
    const char *path = args->own[OWN_MODEL];
    FILE *to = path && is_stdio(path) ? stderr : stdout;

    TRY(session_open(&s, args));
    TRY(check(&s, args->operand[0], path));
    TRY(kb_model_read(s.ctx, args->operand[0], &old));
    TRY(kb_data_read(s.ctx, s.options, args->operand[1], old, &data));
    TRY(kb_model_update(s.ctx, s.options, old, data, &model));
    TRY(kb_model_write(s.ctx, model, path));

    const kb_fit_info *info = kb_model_info(model);
    size_t rows = kb_data_rows(data), bins = info->bins - kb_model_info(old)->bins;
    double seconds = seconds_now() - s.started;
    if (!info->converged)
        session_warn(&s, "not converged after %zu step%s", info->steps, plural(info->steps));
    if (args_flag(args, OWN_JSON)) {
        TRY(print_json(model, rows, bins, path, seconds));
    } else if (!args_flag(args, OWN_QUIET)) {
        fprintf(to, "learned   %zu row%s more, %zu in all; %zu new bin%s, %zu in all\n", rows,
                plural(rows), info->rows, bins, plural(bins), info->bins);
        fprintf(to, "solved    in %zu step%s, %s; %.2f s in all\n", info->steps,
                plural(info->steps), info->converged ? "converged" : "not converged", seconds);
        if (!is_stdio(path))
            fprintf(to, "model     %s, %s\n", path_in_words(path).text,
                    size_in_words(file_size(path)).text);
        report_expected(to, model);
    }
done:
    kb_model_free(model);
    kb_model_free(old);
    kb_data_free(data);
    return session_close(&s, status);
}
