/* inspect.c - kerbin inspect: describes a model. */
#include "command.h"
#include "dictionary.h"
#include "extra_columns.h"
#include "files.h"
#include "importance.h"
#include "plot.h"
#include "report.h"
#include "session.h"
#include "text.h"
#include "theory.h"

enum { CLASSES_SHOWN = 12 };

static void print_words(const kb_model *model, const char *path, int threads) {
    const kb_fit_info *info = kb_model_info(model);
    report_fit(stdout, info);
    report_expected(stdout, model);
    report_fit_score(stdout, info);
    theory_print(stdout, info, threads);
    printf("objective %.10g, %zu of %zu weights are not zero\n", info->objective, info->nonzeros,
           info->bins * info->outputs);
    printf("seed      %llu\n", (unsigned long long)info->seed);
    if (info->classes > 0) {
        printf("classes  ");
        for (size_t i = 0; i < info->classes && i < CLASSES_SHOWN; i++)
            printf(" %s", kb_model_class_name(model, i));
        puts(info->classes > CLASSES_SHOWN ? " .." : "");
    }
    if (kb_model_label_name(model))
        printf("label     %s\n", kb_model_label_name(model));
    dictionary_print_model(stdout, model);
    kb_compaction c = KB_COMPACTION_INIT;
    if (kb_model_compaction(model, &c) == KB_OK && c.compact)
        printf("compact   decisions differ from those of the whole model by about %s, at most %s; "
               "%zu bins without weights\n",
               number_in_words(c.typical, 3).text, number_in_words(c.most, 3).text, c.dropped);
    printf("file      %s, %s\n", path_in_words(path).text, size_in_words(file_size(path)).text);
}

static kb_status print_json(kb_context *ctx, const kb_model *model, const char *path, int threads) {
    const kb_fit_info *info = kb_model_info(model);
    json_t *object = report_fit_json(info), *labels = json_array();
    for (size_t i = 0; i < info->classes; i++)
        json_array_append_new(labels, report_text(kb_model_class_name(model, i)));
    report_add(&object, "expected", report_expected_json(model));
    theory_add_json(&object, info, threads);
    report_add(&object, "outputs", json_integer((json_int_t)info->outputs));
    report_add(&object, "labels", labels);
    dictionary_add_json(&object, model);
    report_add(&object, "scale", json_string(info->scale));
    report_add(&object, "intercept", json_boolean(info->intercept));
    report_add(&object, "seed", json_integer((json_int_t)info->seed));
    importance_add_json(&object, ctx, model);
    extra_columns_add_json(&object, model);
    kb_compaction c = KB_COMPACTION_INIT;
    if (kb_model_compaction(model, &c) == KB_OK && c.compact)
        report_add(&object, "compact",
                   json_pack("{s:f, s:f, s:I}", "typical", c.typical, "most", c.most, "dropped",
                             (json_int_t)c.dropped));
    report_add(&object, "file_bytes", json_integer((json_int_t)file_size(path)));
    report_add(&object, "model", report_text(path));
    return report_json(object);
}

int inspect_run(const cli_args *args) {
    session s;
    kb_status status;
    kb_model *model = NULL;
    const char *path = args->operand[0];

    TRY(session_open(&s, args));
    if (is_stdio(path))
        TRY(session_fail(&s, KB_ERR_ARGUMENT, "a model cannot come from standard input"));
    TRY(plot_check(&s, args->own[OWN_PLOT]));
    TRY(kb_model_read(s.ctx, path, &model));
    if (args->own[OWN_PLOT])
        TRY(importance_plot(&s, model, args->own[OWN_PLOT]));
    int threads = kb_context_threads(s.ctx);
    if (args_flag(args, OWN_JSON)) {
        TRY(print_json(s.ctx, model, path, threads));
    } else {
        print_words(model, path, threads);
        TRY(importance_print(s.ctx, model));
        TRY(extra_columns_print(model));
    }
done:
    kb_model_free(model);
    return session_close(&s, status);
}
