/*
 * prediction_file.c - predictions as files: written from decisions, or as the decisions are made.
 *
 * A row's decision depends on that row alone, so some rows at a time give the same bits as all at
 * once.
 */
#include "core/outfile.h"
#include "core/number.h"
#include "model/score.h"

#include <string.h>

enum { ROWS_PER_REPORT = 1 << 16 };

static kb_status write_text(kb_outfile *file, const char *text, char end) {
    kb_status status = kb_outfile_write(file, text, strlen(text));
    return status == KB_OK ? kb_outfile_write(file, &end, 1) : status;
}

/* A name in a CSV header, quoted where necessary. */
static kb_status write_name(kb_outfile *file, const char *name, char end) {
    kb_status status;
    if (!strpbrk(name, ",\"\r\n"))
        return write_text(file, name, end);
    TRY(kb_outfile_write(file, "\"", 1));
    for (; *name; name++)
        TRY(kb_outfile_write(file, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1));
    TRY(write_text(file, "\"", end));
done:
    return status;
}

static kb_status write_number(kb_outfile *file, double x, char end) {
    char text[KB_NUMBER_TEXT + 1];
    size_t length = kb_number_format(x, text);
    text[length++] = end;
    return kb_outfile_write(file, text, length);
}

/* What is written of each row. */
typedef struct writer {
    const kb_model *model;
    kb_output what;
    size_t numbers;      /* of a row; 0: the name of its class */
    double *probability; /* scratch for one row */
    kb_outfile *file;
} writer;

/* Creates the file and writes its header: the names of the classes over several numbers. */
static kb_status open_file(kb_context *ctx, const kb_model *model, kb_output what, const char *path,
                           writer *w) {
    kb_status status;
    size_t classes = model->info.classes;
    *w = (writer){.model = model, .what = what, .numbers = model->info.outputs};
    if (what == KB_OUTPUT_PROBABILITY) {
        TRY(kb_model_probability(ctx, model, 0, NULL, NULL)); /* whether there are any */
        TRY(kb_alloc(ctx, classes, sizeof(double), &w->probability));
        w->numbers = classes;
    } else if (what == KB_OUTPUT_LABEL && classes) {
        w->numbers = 0;
    }
    TRY(kb_outfile_create(ctx, path, &w->file));
    for (size_t c = 0; w->numbers > 1 && c < w->numbers; c++)
        TRY(write_name(w->file, kb_model_class_name(model, c), c + 1 < w->numbers ? ',' : '\n'));
done:
    return status;
}

static void close_file(kb_context *ctx, writer *w) {
    kb_outfile_free(w->file);
    kb_release(ctx, w->probability);
}

static kb_status write_row(kb_context *ctx, const writer *w, const double *decision) {
    kb_status status;
    const double *x = decision;
    if (w->numbers == 0)
        return write_text(w->file,
                          kb_model_class_name(w->model, kb_model_winner(w->model, decision)), '\n');
    if (w->probability) {
        TRY(kb_model_probability(ctx, w->model, 1, decision, w->probability));
        x = w->probability;
    }
    for (size_t c = 0; c < w->numbers; c++)
        TRY(write_number(w->file, x[c], c + 1 < w->numbers ? ',' : '\n'));
done:
    return status;
}

static kb_status write_rows(kb_context *ctx, const writer *w, size_t rows, const double *decision) {
    kb_status status = KB_OK;
    for (size_t i = 0; i < rows; i++)
        TRY(write_row(ctx, w, decision + i * w->model->info.outputs));
done:
    return status;
}

kb_status kb_model_write_predictions(kb_context *ctx, const kb_model *model, size_t rows,
                                     const double *decision, kb_output what, const char *path) {
    kb_status status;
    writer w;
    TRY(open_file(ctx, model, what, path, &w));
    for (size_t begin = 0; begin < rows; begin += ROWS_PER_REPORT) {
        size_t left = rows - begin;
        TRY(kb_progress(ctx, "write", (double)begin / (double)rows));
        TRY(write_rows(ctx, &w, left < ROWS_PER_REPORT ? left : ROWS_PER_REPORT,
                       decision + begin * model->info.outputs));
    }
    TRY(kb_outfile_commit(w.file));
done:
    close_file(ctx, &w);
    return status;
}

kb_status kb_model_predict_file(kb_context *ctx, const kb_model *model, const kb_data *data,
                                kb_output what, const char *path, kb_score *score) {
    kb_status status;
    writer w = {0};
    kb_scorer scorer = {0};
    double *decision = NULL;
    size_t N = data->rows, most = kb_model_rows_at_once(ctx, model, N);
    if (score) {
        TRY(kb_score_fill(ctx, &KB_SCORE_NONE, score));
        TRY(kb_scorer_begin(ctx, model, data, &scorer));
    }
    TRY(kb_alloc(ctx, most * model->info.outputs, sizeof *decision, &decision));
    if (path)
        TRY(open_file(ctx, model, what, path, &w));
    for (size_t begin = 0; begin < N; begin += most) {
        kb_data part = kb_data_view(data, begin, N - begin < most ? N - begin : most);
        kb_progress_part(ctx, (double)begin / (double)N, (double)(begin + part.rows) / (double)N);
        TRY(kb_model_decide(ctx, model, &part, decision));
        if (score)
            kb_scorer_add(&scorer, begin, part.rows, decision);
        if (path)
            TRY(write_rows(ctx, &w, part.rows, decision));
    }
    if (score)
        TRY(kb_scorer_end(ctx, &scorer, score));
    if (path)
        TRY(kb_outfile_commit(w.file));
done:
    kb_progress_part(ctx, 0, 1);
    close_file(ctx, &w);
    kb_scorer_release(ctx, &scorer);
    kb_release(ctx, decision);
    return status;
}
