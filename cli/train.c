/* train.c - kerbin train: fit and save a model. */
#include "command.h"
#include "report.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

typedef struct times {
    double read, write, total;
} times;

static void drop_suffix(char *name, const char *const *suffixes) {
    for (; *suffixes; suffixes++) {
        size_t length = strlen(name), tail = strlen(*suffixes);
        if (length > tail && strcmp(name + length - tail, *suffixes) == 0) {
            name[length - tail] = '\0';
            return;
        }
    }
}

/* "../data/ijcnn1.train.xz" -> "ijcnn1.train.kerbin".  To be freed; NULL: no memory. */
static char *default_model_path(const char *data) {
    static const char *const packed[] = {".gz", ".bz2", ".xz", ".zst", NULL};
    static const char *const plain[] = {".libsvm", ".svmlight", ".svm",  ".csv", ".tsv",
                                        ".txt",    ".dat",      ".data", NULL};
    const char *slash = strrchr(data, '/');
    const char *name = is_stdio(data) ? "model" : slash ? slash + 1 : data;
    char *path = malloc(strlen(name) + sizeof ".kerbin");
    if (!path)
        return NULL;
    strcpy(path, name);
    drop_suffix(path, packed);
    drop_suffix(path, plain);
    return strcat(path, ".kerbin");
}

static kb_status print_json(const kb_fit_info *info, const times *t, const char *path) {
    json_t *object = report_fit_json(info);
    report_add(&object, "seconds",
               json_pack("{s:f, s:f, s:f, s:f, s:f}", "read", t->read, "bin", info->bin_seconds,
                         "solve", info->solve_seconds, "write", t->write, "total", t->total));
    report_add(&object, "peak_memory_bytes", json_integer((json_int_t)peak_memory()));
    report_add(&object, "forecast_bytes", json_integer((json_int_t)info->forecast_bytes));
    report_add(&object, "id_bytes", json_integer((json_int_t)info->id_bytes));
    report_add(&object, "model", report_text(path));
    return report_json(object);
}

static void print_summary(FILE *to, const kb_fit_info *info, const times *t, const char *path) {
    report_fit(to, info);
    fprintf(to, "time      read %.2f s, bin %.2f s, solve %.2f s, write %.2f s; %.2f s in all\n",
            t->read, info->bin_seconds, info->solve_seconds, t->write, t->total);
    fprintf(to, "memory    %s at the peak, of which %s for the bin numbers\n",
            size_in_words(peak_memory()).text, size_in_words(info->id_bytes).text);
    if (!is_stdio(path))
        fprintf(to, "model     %s, %s\n", path, size_in_words(file_size(path)).text);
}

static kb_status check(session *s, const char *data, const char *path) {
    if (!path)
        return KB_ERR_MEMORY;
    if (is_stdio(path) && args_flag(s->args, OWN_JSON))
        return session_fail(s, KB_ERR_ARGUMENT,
                            "--json and the model would both go to standard output; "
                            "give --model a file");
    return session_check_output(s, path, data);
}

int train_run(const cli_args *args) {
    session s;
    kb_status status;
    kb_data *data = NULL;
    kb_model *model = NULL;
    times t;
    const char *source = args->operand[0];
    char *derived = args->own[OWN_MODEL] ? NULL : default_model_path(source);
    const char *path = derived ? derived : args->own[OWN_MODEL];

    TRY(session_open(&s, args));
    TRY(check(&s, source, path));
    TRY(kb_data_read(s.ctx, s.options, source, NULL, &data));
    t.read = seconds_now() - s.started;
    TRY(kb_model_fit(s.ctx, s.options, data, &model));
    double fitted = seconds_now();
    TRY(kb_model_write(s.ctx, model, path));
    t.write = seconds_now() - fitted;
    t.total = seconds_now() - s.started;

    const kb_fit_info *info = kb_model_info(model);
    if (!info->converged)
        session_warn(&s, "not converged after %zu step%s; raise --max-iter, --tol or --lambda",
                     info->steps, plural(info->steps));
    if (args_flag(args, OWN_JSON))
        TRY(print_json(info, &t, path));
    else
        print_summary(is_stdio(path) ? stderr : stdout, info, &t, path);
done:
    kb_model_free(model);
    kb_data_free(data);
    free(derived);
    return session_close(&s, status);
}
