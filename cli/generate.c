/* generate.c - kerbin generate: write a synthetic data set. */
#include "command.h"
#include "session.h"
#include "files.h"

int generate_run(const cli_args *args) {
    session s;
    kb_status status;
    kb_data *data = NULL;
    const char *path = args->own[OWN_FILE] ? args->own[OWN_FILE] : "-";

    TRY(session_open(&s, args));
    TRY(files_check_output(&s, path));
    TRY(kb_data_generate(s.ctx, s.options, args->operand[0], &data));
    TRY(kb_data_write(s.ctx, data, path));
done:
    kb_data_free(data);
    return session_close(&s, status);
}
