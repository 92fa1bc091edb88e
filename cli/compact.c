/* compact.c - kerbin compact: a smaller file of a model. */
#include "command.h"
#include "compaction.h"
#include "files.h"
#include "report.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

static const char SUFFIX[] = ".kerbin";

/* "../a.kerbin" -> "a.compact.kerbin".  To be freed; NULL: no memory. */
static char *default_path(const char *model) {
    const char *name = file_part(model);
    size_t length = strlen(name), tail = strlen(SUFFIX);
    if (length > tail && strcmp(name + length - tail, SUFFIX) == 0)
        length -= tail;
    char *path = malloc(length + sizeof ".compact.kerbin");
    if (path) {
        memcpy(path, name, length);
        strcpy(path + length, ".compact.kerbin");
    }
    return path;
}

static kb_status check(session *s, const char *model, const char *path) {
    if (!path)
        return KB_ERR_MEMORY;
    if (is_stdio(model))
        return session_fail(s, KB_ERR_ARGUMENT, "a model cannot come from standard input");
    if (is_stdio(path) && args_flag(s->args, OWN_JSON))
        return session_fail(s, KB_ERR_ARGUMENT,
                            "--json and the model would both go to standard output; give -o a "
                            "file");
    return files_check_output(s, path);
}

int compact_run(const cli_args *args) {
    session s;
    kb_status status;
    kb_model *model = NULL;
    kb_data *data = NULL;
    compaction c;
    const char *source = args->operand[0], *rows = args->operands > 1 ? args->operand[1] : NULL;
    char *derived = args->own[OWN_SMALLER] ? NULL : default_path(source);
    const char *path = derived ? derived : args->own[OWN_SMALLER];

    TRY(session_open(&s, args));
    TRY(check(&s, source, path));
    TRY(kb_model_read(s.ctx, source, &model));
    if (rows)
        TRY(kb_data_read(s.ctx, s.options, rows, model, &data));
    TRY(compaction_apply(&s, model, strtod(args->own[OWN_DROP], NULL), data, &c));
    TRY(kb_model_write(s.ctx, model, path));
    const kb_fit_info *info = kb_model_info(model);
    if (args_flag(args, OWN_JSON)) {
        json_t *object = compaction_json(info, &c);
        report_add(&object, "model", report_text(path));
        TRY(report_json(object));
    } else if (!args_flag(args, OWN_QUIET)) {
        FILE *to = is_stdio(path) ? stderr : stdout;
        compaction_print(to, info, &c);
        if (!is_stdio(path))
            fprintf(to, "model     %s\n", path_in_words(path).text);
    }
done:
    kb_model_free(model);
    kb_data_free(data);
    free(derived);
    return session_close(&s, status);
}
