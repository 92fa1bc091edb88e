/*
 * reader.c - see reader.h: tells the formats apart and hands the file on.
 */
#include "io/reader.h"
#include "core/number.h"
#include "data/of_all.h"
#include "io/frame.h"
#include "io/magic.h"
#include "io/weight_file.h"
#include "options/options.h"
#include "options/say.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Takes the ending off the first *length bytes of path, if it is there. */
static int take_ending(const char *path, size_t *length, const char *ending) {
    size_t size = strlen(ending);
    if (*length < size || strncasecmp(path + *length - size, ending, size) != 0)
        return 0;
    *length -= size;
    return 1;
}

static kb_file_format format_by_name(const char *path) {
    static const char *const packed[] = {".gz", ".bz2", ".xz", ".lzma", ".zst"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (take_ending(path, &length, packed[i]))
            break;
    if (take_ending(path, &length, ".csv") || take_ending(path, &length, ".tsv"))
        return KB_FORMAT_CSV;
    if (take_ending(path, &length, ".npy") || take_ending(path, &length, ".npz"))
        return KB_FORMAT_NPY;
    return KB_FORMAT_AUTO;
}

/* Before the file is read: KB_FORMAT_AUTO if its first lines must tell. */
static kb_status format_of_file(kb_context *ctx, const char *path, kb_file_format *out) {
    kb_magic magic = kb_magic_of(path);
    const char *kind = magic == KB_MAGIC_PARQUET ? "a Parquet file" : "an Arrow file";
    const char *reader = magic == KB_MAGIC_PARQUET ? "parquet" : "feather";
    if (magic == KB_MAGIC_PARQUET || magic == KB_MAGIC_ARROW)
        return kb_fail(ctx, KB_ERR_DATA,
                       "%s: %s is not read; make it CSV: python3 -c \"import pandas; "
                       "pandas.read_%s('%.150s').to_csv('%.150s.csv', index=False)\"",
                       path, kind, reader, path, path);
    *out = magic == KB_MAGIC_NPY || magic == KB_MAGIC_ZIP ? KB_FORMAT_NPY : format_by_name(path);
    return KB_OK;
}

/* A line with neither an entry nor a delimiter is a LIBSVM row of zeros, or what the
 * LIBSVM reader will complain about. */
static kb_file_format format_by_line(const char *line) {
    kb_file_format format = KB_FORMAT_LIBSVM;
    for (const char *token = line; *token != '\0' && *token != '#';) {
        uint64_t index;
        double value;
        size_t length = strcspn(token, " \t");
        const char *colon = kb_index_parse(token, &index);
        if (colon && *colon == ':' && kb_number_parse(colon + 1, &value) == token + length)
            return KB_FORMAT_LIBSVM;
        if (token[length] == '\t' || memchr(token, ',', length) || memchr(token, ';', length) ||
            memchr(token, '|', length))
            format = KB_FORMAT_CSV;
        token += length;
        token += strspn(token, " \t");
    }
    return format;
}

static kb_status format_by_content(kb_context *ctx, kb_input *input, kb_file_format *out) {
    kb_status status;
    char *line;
    size_t length;
    do
        TRY(kb_input_line(input, &line, &length));
    while (line && (line[0] == '#' || line[strspn(line, " \t")] == '\0'));
    if (!line)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: no samples", kb_input_name(input)));
    *out = format_by_line(line);
    kb_input_again(input);
done:
    return status;
}

/* What can be checked before anything is read. */
static kb_status check_weights(kb_context *ctx, const kb_read_spec *spec, const char *path) {
    const char *column = kb_weights_column(spec->weights);
    if (column && *column == '\0')
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: a name or number is missing",
                       kb_say_value(ctx, KB_OPT_WEIGHTS, spec->weights).text);
    if (spec->weights && strcmp(spec->weights, "-") == 0 && strcmp(path, "-") == 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: the samples come from standard input already",
                       kb_say_value(ctx, KB_OPT_WEIGHTS, "-").text);
    return KB_OK;
}

/* `count` is that of a file of weights, read before the samples so that a mistake in it is
 * known at once. */
static kb_status finish_weights(kb_context *ctx, const kb_read_spec *spec, const char *samples,
                                kb_data *data, size_t count) {
    kb_status status;
    const char *name = samples;
    if (!data->weight)
        return KB_OK;
    if (!kb_weights_column(spec->weights)) {
        size_t before, rows;
        TRY(kb_ranks_place(ctx, data->rows, &before, &rows));
        name = strcmp(spec->weights, "-") ? spec->weights : "standard input";
        if (count != rows)
            TRY(kb_fail(ctx, KB_ERR_DATA, "%s: %zu weight%s, but %s has %zu sample%s", name, count,
                        count == 1 ? "" : "s", samples, rows, rows == 1 ? "" : "s"));
        memmove(data->weight, data->weight + before, data->rows * sizeof *data->weight);
    }
    TRY(kb_weights_check_of_all(ctx, name, data->rows, data->weight));
done:
    return status;
}

static kb_status refuse_group(kb_context *ctx, const char *group, const char *file) {
    char value[256];
    snprintf(value, sizeof value, "group:%s", group);
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: %s is LIBSVM text, whose groups are group:qid",
                   kb_say_value(ctx, KB_OPT_SPLIT, value).text, file);
}

static kb_status refuse_keep(kb_context *ctx, const char *keep, int libsvm, const char *file) {
    return kb_fail(ctx, KB_ERR_ARGUMENT,
                   "%s: %s is %s, which has no named columns to keep; make it CSV",
                   kb_say_value(ctx, KB_OPT_KEEP, keep).text, file,
                   libsvm ? "LIBSVM text" : "an array of NumPy");
}

static kb_status open_input(kb_context *ctx, kb_file_format format, const char *path,
                            const kb_parts *parts, kb_input **out) {
    kb_status status;
    if (format == KB_FORMAT_NPY && parts->count > 1)
        status = kb_fail(ctx, KB_ERR_ARGUMENT,
                         "%s: arrays of NumPy are read one by one: give one file, or CSV", path);
    else if (format == KB_FORMAT_NPY)
        status = kb_input_open_unread(ctx, path, out);
    else if (parts->count > 0)
        status = kb_input_open_parts(ctx, path, parts, out);
    else
        status = kb_input_open(ctx, path, out);
    TRY(kb_ranks_agree(ctx, status));
    TRY(kb_input_compare(*out));
done:
    return status;
}

/* By one process, or each rank its share.  parts: what the path means. */
static kb_status read_parts(kb_context *ctx, const kb_read_spec *spec, const char *path,
                            const kb_parts *parts, kb_data **out) {
    kb_status status;
    kb_input *input = NULL;
    kb_data *data = NULL;
    kb_file_format format = spec->format;
    int by_column = kb_weights_column(spec->weights) != NULL;
    size_t weights = 0;
    if (format == KB_FORMAT_AUTO)
        TRY(format_of_file(ctx, parts->count > 0 ? parts->path[0] : path, &format));
    TRY(open_input(ctx, format, path, parts, &input));
    TRY(kb_data_create(ctx, &data));
    if (spec->weights && !by_column)
        TRY(kb_ranks_agree(ctx, kb_weights_read(ctx, spec->weights, &data->weight, &weights)));
    if (format == KB_FORMAT_AUTO)
        TRY(kb_ranks_agree(ctx, format_by_content(ctx, input, &format)));
    if (format == KB_FORMAT_LIBSVM && by_column)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT,
                    "%s: %s is LIBSVM text, which has no such column; give a file of weights",
                    kb_say_value(ctx, KB_OPT_WEIGHTS, spec->weights).text, kb_input_name(input)));
    if (format == KB_FORMAT_LIBSVM && spec->group && !spec->to_predict &&
        strcmp(spec->group, "qid") != 0)
        TRY(refuse_group(ctx, spec->group, kb_input_name(input)));
    if (spec->keep && format != KB_FORMAT_CSV)
        TRY(refuse_keep(ctx, spec->keep, format == KB_FORMAT_LIBSVM, kb_input_name(input)));
    switch (format) {
    case KB_FORMAT_CSV:
        TRY(kb_csv_read(ctx, spec, input, data));
        break;
    case KB_FORMAT_NPY:
        TRY(kb_numpy_read(ctx, spec, input, path, data));
        break;
    case KB_FORMAT_AUTO: /* no longer */
    case KB_FORMAT_LIBSVM:
        TRY(kb_libsvm_read(ctx, spec, input, data));
        break;
    }
    TRY(finish_weights(ctx, spec, kb_input_name(input), data, weights));
    if (!spec->to_predict)
        TRY(kb_data_keep_labelled(ctx, kb_input_name(input), data));
    TRY(kb_data_choose_form_of_all(ctx, data));
    *out = data;
done:
    kb_input_free(input);
    if (status != KB_OK)
        kb_data_free(data);
    return status;
}

static kb_status read_file(kb_context *ctx, const kb_read_spec *spec, const char *path,
                           kb_data **out) {
    kb_status status;
    kb_parts parts = {0};
    TRY(kb_ranks_agree(ctx, kb_parts_find(ctx, path, &parts)));
    TRY(kb_parts_compare(ctx, path, &parts));
    TRY(read_parts(ctx, spec, parts.count == 1 ? parts.path[0] : path, &parts, out));
done:
    kb_parts_clear(ctx, &parts);
    return status;
}

/* ---- ranks ------------------------------------------------------------- */

/* Whether all ranks can read parts of the file: what is not a file may not be opened twice. */
static kb_status look_at_file(kb_context *ctx, const kb_read_spec *spec, const char *path,
                              int *shared) {
    kb_status status = KB_OK;
    struct stat info;
    kb_input *input = NULL;
    kb_file_format format = spec->format;
    kb_parts parts = {0};
    *shared = 0;
    if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return KB_OK;
    TRY(kb_parts_find(ctx, path, &parts));
    path = parts.count > 0 ? parts.path[0] : path;
    if (format == KB_FORMAT_AUTO)
        TRY(format_of_file(ctx, path, &format));
    if (format == KB_FORMAT_NPY)
        goto done;
    if ((*shared = parts.count > 1))
        goto done;
    void (*log)(void *, kb_log_level, const char *) = ctx->config.log;
    ctx->config.log = NULL; /* it is opened again */
    status = kb_input_open(ctx, path, &input);
    ctx->config.log = log;
    TRY(status);
    *shared = kb_input_is_plain(input);
done:
    kb_input_free(input);
    kb_parts_clear(ctx, &parts);
    return status;
}

/* Rank 0 alone, without exchanging anything with the others. */
static kb_status by_first(kb_context *ctx, const kb_read_spec *spec, const char *path,
                          kb_status (*work)(kb_context *ctx, const kb_read_spec *spec,
                                            const char *path, void *out),
                          void *out) {
    kb_status status = KB_OK;
    kb_ranks ranks = kb_ranks_leave(ctx);
    if (ranks.rank == 0)
        status = work(ctx, spec, path, out);
    kb_ranks_return(ctx, ranks);
    return kb_ranks_agree(ctx, status);
}

static kb_status look_alone(kb_context *ctx, const kb_read_spec *spec, const char *path,
                            void *out) {
    return look_at_file(ctx, spec, path, out);
}

static kb_status read_alone(kb_context *ctx, const kb_read_spec *spec, const char *path,
                            void *out) {
    return read_file(ctx, spec, path, out);
}

static kb_status read_by_ranks(kb_context *ctx, const kb_read_spec *spec, const char *path,
                               kb_data **out) {
    kb_status status;
    int shared = 0;
    TRY(by_first(ctx, spec, path, look_alone, &shared));
    TRY(kb_ranks_any(ctx, &shared));
    if (shared)
        return kb_ranks_agree(ctx, read_file(ctx, spec, path, out));
    TRY(by_first(ctx, spec, path, read_alone, out));
    TRY(kb_frame_share(ctx, out));
done:
    return status;
}

kb_status kb_read(kb_context *ctx, const kb_read_spec *spec, const char *path, kb_data **out) {
    kb_status status;
    *out = NULL;
    TRY(check_weights(ctx, spec, path));
    if (kb_rank_count(ctx) == 1)
        return read_file(ctx, spec, path, out);
    TRY(read_by_ranks(ctx, spec, path, out));
done:
    if (status != KB_OK) {
        kb_data_free(*out);
        *out = NULL;
    }
    return status;
}
