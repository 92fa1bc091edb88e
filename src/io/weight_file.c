/* weight_file.c - see weight_file.h. */
#include "io/weight_file.h"
#include "core/memory.h"
#include "core/number.h"

#include <string.h>

kb_status kb_weights_line(kb_input *input, char **line) {
    static const char blanks[] = " \t";
    kb_status status;
    size_t length;
    do {
        TRY(kb_input_line(input, line, &length));
        if (!*line)
            break;
        while (length > 0 && strchr(blanks, (*line)[length - 1]))
            (*line)[--length] = '\0';
        *line += strspn(*line, blanks);
    } while (**line == '\0' || **line == '#');
done:
    return status;
}

kb_status kb_weight_parse(kb_input *input, const char *token, double *out) {
    size_t length = strlen(token);
    if (!kb_number_read(token, out))
        return kb_input_fail(input, "'%s' %s", kb_quote(token, length).text,
                             kb_number_fault_text(kb_number_check(token, length)));
    if (*out < 0)
        return kb_input_fail(input, "the weight %s is negative", kb_quote(token, length).text);
    return KB_OK;
}

kb_status kb_weights_read(kb_context *ctx, const char *path, double **out, size_t *count) {
    kb_status status;
    kb_input *input = NULL;
    double *weight = NULL;
    size_t capacity = 0, used = 0;
    char *line;
    *out = NULL;
    *count = 0;
    TRY(kb_input_open(ctx, path, &input));
    for (;;) {
        TRY(kb_weights_line(input, &line));
        if (!line)
            break;
        TRY(kb_reserve(ctx, used + 1, sizeof *weight, &capacity, &weight));
        TRY(kb_weight_parse(input, line, &weight[used++]));
    }
    if (used == 0)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: no weights", kb_input_name(input)));
    *out = weight;
    *count = used;
done:
    kb_input_free(input);
    if (status != KB_OK)
        kb_release(ctx, weight);
    return status;
}
