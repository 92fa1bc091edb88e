/*
 * reader.h - LIBSVM text, CSV and arrays of NumPy into samples.
 *
 * LIBSVM: lines `label index:value index:value ... # comment`, indices increasing;
 * `qid:N` after the label is the group, where that is asked for; else it is skipped, and so are
 * empty lines.
 *
 * CSV: fields between commas, semicolons, tabs or bars (fields.h), quoted by " where need be.
 * All columns but the label, the weight and the group are features; what they hold is found from
 * their cells (table/infer.h).  Labels are numbers; if one of them is a word, all are words.  Rows
 * to train on without a label are left out.  Empty lines, lines above the first row that open with
 * #, and delimiters at the end of a line with nothing behind them are skipped.
 *
 * NumPy (npy.h): as a CSV file of numbers without names.
 */
#ifndef KB_IO_READER_H
#define KB_IO_READER_H

#include "data/data.h"
#include "lines/input.h"
#include "options/choices.h"

typedef struct kb_read_spec {
    /* KB_FORMAT_AUTO: NumPy by the first bytes (magic.h), or by the file's name (.csv, .tsv, .npy;
     * before .gz and the like), else by its first line: `integer:number` in it makes LIBSVM, a
     * delimiter without that CSV. */
    kb_file_format format;
    int zero_based; /* LIBSVM: the first feature is 0, not 1 */
    /* CSV.  KB_HEADER_AUTO: the first row is a header if a column is given by name, if half of the
     * features of a model are in it, or as header.h says. */
    kb_header header;
    /* CSV: a column's number (1 is the first, -1 the last), its name, or "none"; NULL is
     * "-1".  What looks like an integer is a number, unless a column has that name. */
    const char *label;
    /* CSV, to train: lists of columns (column_names.h) that are left out, and of those that are
     * not; NULL: none, and all. */
    const char *ignore, *columns;
    /* CSV, to train: what columns hold, as in "zip=category,code=number"; NULL: found from the
     * cells (table/infer.h). */
    const char *types;
    /* NULL: every sample weighs 1. "column:" and a column's number or name: that column of a
     * CSV, which is then neither feature nor label.  Else a file of weights (weight_file.h), as
     * many as there are samples. */
    const char *weights;
    /* NULL: none.  CSV: a column's number or name, which is then neither feature nor label; it
     * holds a word or number for each sample, the same text for those of one group.  LIBSVM:
     * "qid". */
    const char *group;

    /* For data that a model is to predict; 0 and NULL when reading to train.  LIBSVM:
     * features beyond are left out with a warning.  CSV: where model and file have
     * names, columns are found by name in any order, those that the model does not
     * know are left out with a warning, and the label is the column named label_name
     * or `label`, if there is one; else there are as many columns as features, or one
     * more for the label, and one for the weight and one for the group.  A weight that is not there
     * is a warning, and all weigh 1.  A group may be there or not, and is left out. */
    int to_predict;            /* labels may be missing */
    size_t features;           /* as many columns, whatever the file has */
    char *const *feature_name; /* of a model that has names, else NULL */
    const char *label_name;    /* likewise */
    const kb_table *table;     /* what its columns hold; NULL: numbers */
    /* CSV: a list of columns whose texts are kept (data/kept.h); NULL: none. */
    const char *keep;

    /* Text that a thread parses at a time; 0: as pieces.h says.  The result is the same for any:
     * it is here for the tests. */
    size_t piece_bytes;
} kb_read_spec;

/* Reads `path` ("-": standard input), plain or compressed by gzip, bzip2, xz or
 * zstd, and chooses the form (kb_data_choose_form).  An error names the file and the
 * line. */
kb_status kb_read(kb_context *ctx, const kb_read_spec *spec, const char *path, kb_data **out);

/* The formats behind kb_read; they fill an empty `data`, the first with compressed rows, the others
 * with dense ones.  The last takes an input that is not read, and its path. */
kb_status kb_libsvm_read(kb_context *ctx, const kb_read_spec *spec, kb_input *input, kb_data *data);
kb_status kb_csv_read(kb_context *ctx, const kb_read_spec *spec, kb_input *input, kb_data *data);
kb_status kb_numpy_read(kb_context *ctx, const kb_read_spec *spec, kb_input *input,
                        const char *path, kb_data *data);

#endif
