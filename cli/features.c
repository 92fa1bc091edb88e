/* features.c - kerbin features: Z itself, for other learners. */
#include "command.h"
#include "report.h"
#include "session.h"
#include "files.h"

static kb_status check(session *s, const char *from, const char *path) {
    const char *useless = args_given(s->args, "kernel");
    if (!useless)
        useless = args_given(s->args, "random");
    if (from && useless)
        return session_fail(s, KB_ERR_ARGUMENT, "--%s: the map comes from the model %s", useless,
                            from);
    return files_check_output(s, path);
}

int features_run(const cli_args *args) {
    session s;
    kb_status status;
    kb_data *data = NULL;
    kb_model *model = NULL;
    kb_map *fitted = NULL;
    const char *from = args->own[OWN_FROM], *source = args->operand[0];
    const char *path = args->own[OWN_FILE] ? args->own[OWN_FILE] : "-";

    TRY(session_open(&s, args));
    TRY(check(&s, from, path));
    if (from)
        TRY(kb_model_read(s.ctx, from, &model));
    TRY(kb_data_read(s.ctx, s.options, source, model, &data));
    if (!model)
        TRY(kb_map_fit(s.ctx, s.options, data, &fitted));
    const kb_map *map = model ? kb_model_map(model) : fitted;
    TRY(kb_map_write_features(s.ctx, map, data, path));
    session_note(&s, "%zu rows x %zu columns (D), %zu nonzeros in a row (R)", kb_data_rows(data),
                 kb_map_bins(map), kb_map_grids(map));
done:
    kb_map_free(fitted);
    kb_data_free(data);
    kb_model_free(model);
    return session_close(&s, status);
}
