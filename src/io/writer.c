/*
 * writer.c - samples to LIBSVM text or CSV: kb_data_write of kerbin.h.
 *
 * What is written reads back as the same samples, to the bit.  LIBSVM text leaves out
 * zeros, and so could lose two things, which an explicit zero keeps: the number of
 * features (the first row always names the last one) and a row without a label
 * that is all zeros (an empty line would be skipped).  Labels that were words are
 * words in CSV and their numbers in LIBSVM text, which has none.
 */
#include "core/outfile.h"
#include "data/data.h"
#include "core/number.h"

#include <string.h>

enum { ROWS_PER_REPORT = 8192 };

/* `before`, a number, as text. */
static kb_status write_number(kb_outfile *file, const char *before, double x) {
    char text[KB_NUMBER_TEXT + 4];
    size_t start = strlen(before);
    memcpy(text, before, start);
    size_t length = kb_number_format(x, text + start);
    return kb_outfile_write(file, text, start + length);
}

/* ---- LIBSVM ------------------------------------------------------------ */

static kb_status write_entry(kb_outfile *file, int *first, size_t column, double x) {
    kb_status status;
    TRY(write_number(file, *first ? "" : " ", (double)(column + 1)));
    TRY(write_number(file, ":", x));
    *first = 0;
done:
    return status;
}

static kb_status write_libsvm_row(kb_outfile *file, const kb_data *data, size_t i) {
    kb_status status = KB_OK;
    kb_row row = kb_data_row(data, i);
    size_t last = data->features - 1;
    int first = !data->label, named_last = i > 0;
    if (data->label)
        TRY(write_number(file, "", data->label[i]));
    for (size_t k = 0; k < row.count; k++) {
        size_t column = row.column ? row.column[k] : k;
        if (row.value[k] == 0)
            continue;
        TRY(write_entry(file, &first, column, row.value[k]));
        named_last |= column == last;
    }
    if (!named_last || first)
        TRY(write_entry(file, &first, last, 0));
    TRY(kb_outfile_write(file, "\n", 1));
done:
    return status;
}

/* ---- CSV --------------------------------------------------------------- */

static kb_status write_word(kb_outfile *file, const char *word) {
    kb_status status;
    if (word[0] != '\0' && !strpbrk(word, ",;\t\"# \r\n"))
        return kb_outfile_write(file, word, strlen(word));
    TRY(kb_outfile_write(file, "\"", 1));
    for (; *word; word++)
        TRY(kb_outfile_write(file, *word == '"' ? "\"\"" : word, *word == '"' ? 2 : 1));
    TRY(kb_outfile_write(file, "\"", 1));
done:
    return status;
}

static kb_status write_csv_header(kb_outfile *file, const kb_data *data) {
    kb_status status;
    for (size_t j = 0; j < data->features; j++) {
        if (j > 0)
            TRY(kb_outfile_write(file, ",", 1));
        if (data->feature_name)
            TRY(write_word(file, data->feature_name[j]));
        else
            TRY(write_number(file, "x", (double)(j + 1)));
    }
    if (data->label) {
        TRY(kb_outfile_write(file, ",", 1));
        TRY(write_word(file, data->label_name ? data->label_name : "label"));
    }
    TRY(kb_outfile_write(file, "\n", 1));
done:
    return status;
}

static kb_status write_csv_row(kb_outfile *file, const kb_data *data, size_t i) {
    kb_status status;
    kb_row row = kb_data_row(data, i);
    for (size_t j = 0, k = 0; j < data->features; j++) {
        int stored = k < row.count && (!row.column || row.column[k] == j);
        TRY(write_number(file, j == 0 ? "" : ",", stored ? row.value[k] : 0));
        k += stored;
    }
    if (data->label && data->class_name) {
        TRY(kb_outfile_write(file, ",", 1));
        TRY(write_word(file, data->class_name[(size_t)data->label[i]]));
    } else if (data->label) {
        TRY(write_number(file, ",", data->label[i]));
    }
    TRY(kb_outfile_write(file, "\n", 1));
done:
    return status;
}

/* ------------------------------------------------------------------------ */

kb_status kb_data_write(kb_context *ctx, const kb_data *data, const char *path) {
    kb_status status;
    kb_outfile *file = NULL;
    size_t length = strlen(path);
    int csv = length >= 4 && strcmp(path + length - 4, ".csv") == 0;
    TRY(kb_outfile_create(ctx, path, &file));
    if (csv)
        TRY(write_csv_header(file, data));
    for (size_t i = 0; i < data->rows; i++) {
        if (i % ROWS_PER_REPORT == 0)
            TRY(kb_progress(ctx, "write", (double)i / (double)data->rows));
        TRY(csv ? write_csv_row(file, data, i) : write_libsvm_row(file, data, i));
    }
    TRY(kb_outfile_commit(file));
done:
    kb_outfile_free(file);
    return status;
}
