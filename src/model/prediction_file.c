/*
 * prediction_file.c - predictions as files: written from decisions, or as the decisions are made.
 *
 * A row's decision depends on that row alone, so some rows at a time give the same bits as all at
 * once.
 *
 * A number takes most of a microsecond to become text, so all threads do that, each for a part of
 * the rows; then the parts are written in order.
 */
#include "core/number.h"
#include "core/outfile.h"
#include "core/team.h"
#include "io/column_names.h"
#include "lines/input.h"
#include "model/score.h"
#include "ranks/ranked_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_PER_REPORT = 1 << 16 };

/* Numbers that become text at a time: of a part, and of all parts, where a row has not more. */
enum { NUMBERS_OF_A_PART = 1 << 10, NUMBERS_AT_ONCE = 1 << 16 };
enum { PARTS = NUMBERS_AT_ONCE / NUMBERS_OF_A_PART };

static kb_status write_text(kb_outfile *file, const char *text, char end) {
    kb_status status = kb_outfile_write(file, text, strlen(text));
    return status == KB_OK ? kb_outfile_write(file, &end, 1) : status;
}

/* A field of a CSV file, quoted where necessary: blanks at its ends would be taken off. */
static kb_status write_field(kb_outfile *file, const char *name, char end) {
    kb_status status;
    size_t length = strlen(name);
    if (!strpbrk(name, ",\"\r\n") && (length == 0 || (*name != ' ' && name[length - 1] != ' ')))
        return write_text(file, name, end);
    TRY(kb_outfile_write(file, "\"", 1));
    for (; *name; name++)
        TRY(kb_outfile_write(file, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1));
    TRY(write_text(file, "\"", end));
done:
    return status;
}

/* What is written of each row. */
typedef struct writer {
    const kb_model *model;
    kb_request request;
    size_t numbers; /* of a row; 0: the name of its class */
    kb_outfile *file;
    const kb_kept *kept; /* columns before the predictions; NULL: none */
    size_t written;      /* rows so far */

    size_t part_rows, parts; /* rows of a part, and parts at once */
    char *text;              /* the parts, with room for the longest numbers */
    size_t length[PARTS];    /* of each text */
    double *own;             /* scratch for one row of each part; NULL: decisions are written */
    const double *decision;  /* of the first row of the parts */
    const double *known;     /* likewise; NULL: not known */
    size_t rows;             /* of the parts */
} writer;

/* A number in a part has room for its text and the comma behind it. */
enum { ROOM = KB_NUMBER_TEXT + 1 };

static kb_status make_parts(kb_context *ctx, writer *w) {
    kb_status status;
    size_t n = w->numbers;
    w->part_rows = n < NUMBERS_OF_A_PART ? NUMBERS_OF_A_PART / n : 1;
    w->parts = NUMBERS_AT_ONCE / (w->part_rows * n);
    w->parts = w->parts < 1 ? 1 : w->parts < PARTS ? w->parts : PARTS;
    TRY(kb_alloc(ctx, w->parts * w->part_rows * n, ROOM, &w->text));
    if (w->request.what != KB_OUTPUT_DECISION)
        TRY(kb_alloc(ctx, w->parts * n, sizeof(double), &w->own));
done:
    return status;
}

/* The name over prediction c of a row. */
static const char *name_of(const writer *w, size_t c) {
    if (w->request.what == KB_OUTPUT_LABEL)
        return "prediction";
    if (w->request.what == KB_OUTPUT_DECISION && w->numbers == 1)
        return "decision";
    static const char *const interval[] = {"value", "low", "high"};
    static const char *const novelty[] = {"known", "novelty"};
    return w->request.what == KB_OUTPUT_INTERVAL  ? interval[c]
           : w->request.what == KB_OUTPUT_NOVELTY ? novelty[c]
                                                  : kb_model_class_name(w->model, c);
}

/* Names over several columns.  One that a kept column has already becomes another. */
static kb_status write_header(kb_context *ctx, const writer *w) {
    kb_status status = KB_OK;
    size_t kept = w->kept ? w->kept->columns : 0, own = w->numbers > 0 ? w->numbers : 1;
    char **name = NULL;
    kb_column_names all = {0};
    size_t renamed;
    if (kept + own == 1 || kb_rank(ctx) > 0)
        return KB_OK;
    TRY(kb_alloc(ctx, kept + own, sizeof *name, &name));
    for (size_t c = 0; c < kept + own; c++)
        name[c] = c < kept ? w->kept->name[c] : (char *)name_of(w, c - kept);
    if (kept > 0)
        TRY(kb_column_names_build(ctx, kept + own, name, &all, &renamed));
    for (size_t c = 0; c < kept + own; c++)
        TRY(write_field(w->file, all.name ? all.name[c] : name[c],
                        c + 1 < kept + own ? ',' : '\n'));
done:
    kb_column_names_clear(ctx, &all);
    kb_release(ctx, name);
    return status;
}

static kb_status write_kept(writer *w) {
    kb_status status = KB_OK;
    for (size_t k = 0; w->kept && k < w->kept->columns; k++)
        TRY(write_field(w->file, kb_kept_cell(w->kept, w->written, k), ','));
    w->written++;
done:
    return status;
}

/* Creates the file and writes its header. */
static kb_status open_file(kb_context *ctx, const kb_model *model, const kb_request *request,
                           const kb_kept *kept, const char *path, writer *w) {
    kb_status status;
    *w = (writer){.model = model, .request = *request, .kept = kept};
    w->numbers = kb_request_numbers(model, request);
    if (request->what == KB_OUTPUT_LABEL && model->info.classes)
        w->numbers = 0;
    if (w->numbers > 0)
        TRY(make_parts(ctx, w));
    if (kb_rank_count(ctx) > 1)
        TRY(kb_outfile_create_in_memory(ctx, &w->file));
    else
        TRY(kb_outfile_create(ctx, path, &w->file));
    TRY(write_header(ctx, w));
done:
    return status;
}

/* Once all rows are written, on all ranks. */
static kb_status finish_file(kb_context *ctx, const char *path, const writer *w) {
    size_t count;
    if (kb_rank_count(ctx) == 1)
        return kb_outfile_commit(w->file);
    const char *text = kb_outfile_bytes(w->file, &count);
    return kb_ranked_file_write(ctx, path, text, count);
}

static void close_file(kb_context *ctx, writer *w) {
    kb_outfile_free(w->file);
    kb_release(ctx, w->text);
    kb_release(ctx, w->own);
}

/* A name alone on its line is not quoted. */
static kb_status write_classes(writer *w, size_t rows, const double *decision) {
    kb_status status = KB_OK;
    for (size_t i = 0; i < rows; i++) {
        size_t winner = kb_model_winner(w->model, decision + i * w->model->info.outputs);
        TRY(write_kept(w));
        TRY((w->kept ? write_field : write_text)(w->file, kb_model_class_name(w->model, winner),
                                                 '\n'));
    }
done:
    return status;
}

/* One row as text; returns its end. */
static char *format_row(const writer *w, const double *x, char *text) {
    for (size_t c = 0; c < w->numbers; c++) {
        text += kb_number_format(x[c], text);
        *text++ = c + 1 < w->numbers ? ',' : '\n';
    }
    return text;
}

static void format_parts(void *arg, size_t begin, size_t end) {
    writer *w = arg;
    size_t outputs = w->model->info.outputs;
    for (size_t part = begin; part < end; part++) {
        size_t first = part * w->part_rows, last = first + w->part_rows;
        char *start = w->text + first * w->numbers * ROOM, *text = start;
        double *own = w->own ? w->own + part * w->numbers : NULL;
        for (size_t i = first; i < last && i < w->rows; i++) {
            const double *decision = w->decision + i * outputs;
            if (own)
                kb_request_fill(w->model, &w->request, decision, w->known ? w->known[i] : 1, own);
            text = format_row(w, own ? own : decision, text);
        }
        w->length[part] = (size_t)(text - start);
    }
}

/* The lines of a part, each behind what is kept of its row. */
static kb_status write_lines(writer *w, const char *text, size_t length) {
    kb_status status = KB_OK;
    for (const char *end = text + length, *next; text < end; text = next) {
        next = (const char *)memchr(text, '\n', (size_t)(end - text)) + 1;
        TRY(write_kept(w));
        TRY(kb_outfile_write(w->file, text, (size_t)(next - text)));
    }
done:
    return status;
}

/* As many rows as the parts have room for. */
static kb_status write_parts(kb_context *ctx, writer *w, size_t rows, const double *decision,
                             const double *known) {
    kb_status status = KB_OK;
    size_t parts = (rows + w->part_rows - 1) / w->part_rows;
    w->decision = decision;
    w->known = known;
    w->rows = rows;
    kb_team_for(ctx, parts, 1, format_parts, w);
    for (size_t part = 0; part < parts; part++) {
        const char *text = w->text + part * w->part_rows * w->numbers * ROOM;
        TRY(w->kept ? write_lines(w, text, w->length[part])
                    : kb_outfile_write(w->file, text, w->length[part]));
    }
done:
    return status;
}

static kb_status write_rows(kb_context *ctx, writer *w, size_t rows, const double *decision,
                            const double *known) {
    kb_status status = KB_OK;
    if (w->numbers == 0)
        return write_classes(w, rows, decision);
    size_t most = w->parts * w->part_rows;
    for (size_t begin = 0; begin < rows; begin += most)
        TRY(write_parts(ctx, w, rows - begin < most ? rows - begin : most,
                        decision + begin * w->model->info.outputs, known ? known + begin : NULL));
done:
    return status;
}

/* Intervals and novelty need the known bins of the rows. */
static kb_status check_decisions(kb_context *ctx, kb_output what) {
    if (what != KB_OUTPUT_INTERVAL && what != KB_OUTPUT_NOVELTY)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_ARGUMENT,
                   "intervals and novelty cannot be told from decisions alone");
}

kb_status kb_model_write_predictions(kb_context *ctx, const kb_model *model, size_t rows,
                                     const double *decision, kb_output what, const char *path) {
    kb_status status;
    writer w = {0};
    kb_request asked = KB_REQUEST_INIT, request;
    asked.what = what;
    TRY(check_decisions(ctx, what));
    TRY(kb_request_take(ctx, model, &asked, &request));
    TRY(open_file(ctx, model, &request, NULL, path, &w));
    for (size_t begin = 0; begin < rows; begin += ROWS_PER_REPORT) {
        size_t left = rows - begin;
        TRY(kb_progress(ctx, "write", (double)begin / (double)rows));
        TRY(write_rows(ctx, &w, left < ROWS_PER_REPORT ? left : ROWS_PER_REPORT,
                       decision + begin * model->info.outputs, NULL));
    }
    TRY(kb_outfile_commit(w.file));
done:
    close_file(ctx, &w);
    return status;
}

/* Rows with fewer known bins than all but STRANGE of the rows held out are strange; SOME of them
 * are not worth a warning. */
static const double STRANGE = 0.01, SOME = 0.05;

static void warn_of_strange_rows(kb_context *ctx, const kb_model *model, size_t strange,
                                 size_t rows) {
    if (model->conformal.known.count > 0 && (double)strange > SOME * (double)rows && strange > 2)
        kb_log(ctx, KB_LOG_WARNING,
               "%zu of %zu rows are unlike the training rows (by the bins that they meet; about "
               "%.0f would be usual): do not rely on their predictions",
               strange, rows, ceil(STRANGE * (double)rows));
}

static size_t count_strange(const kb_model *model, size_t rows, const double *known) {
    const kb_quantiles *q = &model->conformal.known;
    double least = q->count > 0 ? q->at[(size_t)(STRANGE * (double)(q->count - 1))] : 0;
    size_t count = 0;
    for (size_t i = 0; i < rows; i++)
        count += known[i] < least;
    return count;
}

/* Labels that are no class of the model. */
typedef struct unknown {
    size_t count;
    char word[64]; /* the first */
} unknown;

static unknown find_unknown(const kb_scorer *s) {
    unknown u = {0};
    const kb_data *data = s->data;
    for (size_t i = 0; s->class_of && i < data->rows; i++)
        if (s->class_of[i] == s->model->info.classes && u.count++ == 0) {
            char number[KB_NUMBER_TEXT];
            number[kb_number_format(data->label[i], number)] = '\0';
            snprintf(u.word, sizeof u.word, "%s",
                     data->class_name ? data->class_name[(size_t)data->label[i]] : number);
        }
    return u;
}

/* They count as wrong, which a misprint may not be meant to. */
static kb_status warn_of_unknown_labels(kb_context *ctx, const kb_scorer *s) {
    kb_status status;
    const kb_model *model = s->model;
    size_t classes = model->info.classes;
    unknown mine = find_unknown(s), u = {0}, *each = NULL;
    void *all = NULL;
    TRY(kb_ranks_gather(ctx, &mine, sizeof mine, &all, NULL));
    each = all;
    for (int k = 0; k < kb_rank_count(ctx); k++) {
        if (u.count == 0)
            memcpy(u.word, each[k].word, sizeof u.word);
        u.count += each[k].count;
    }
    if (u.count > 0)
        kb_log(ctx, KB_LOG_WARNING,
               "%zu label%s no class of the model and count%s as wrong, such as '%s'%s", u.count,
               u.count == 1 ? " is" : "s are", u.count == 1 ? "s" : "",
               kb_quote(u.word, strlen(u.word)).text,
               kb_names_hint_of("classes", classes,
                                model->class_name ? model->class_name : model->number_name, u.word)
                   .text);
done:
    kb_release(ctx, all);
    return status;
}

kb_status kb_model_predict_file(kb_context *ctx, const kb_model *model, const kb_data *data,
                                kb_output what, const char *path, kb_score *score) {
    kb_request request = KB_REQUEST_INIT;
    request.what = what;
    return kb_model_predict_file_as(ctx, model, data, &request, path, score);
}

/* A file of predictions and their score, as they are made. */
typedef struct prediction {
    const kb_model *model;
    const kb_data *data;
    kb_request request;
    const char *path; /* NULL: nothing is written */
    int scored;
    writer w;
    kb_scorer scorer;
    double *decision, *known;
    size_t strange;
} prediction;

static kb_status begin_prediction(kb_context *ctx, prediction *p, size_t most) {
    kb_status status = KB_OK;
    if (p->scored)
        TRY(kb_scorer_begin(ctx, p->model, p->data, &p->scorer));
    TRY(kb_alloc(ctx, most * p->model->info.outputs, sizeof *p->decision, &p->decision));
    TRY(kb_alloc(ctx, most, sizeof *p->known, &p->known));
    if (p->path)
        TRY(open_file(ctx, p->model, &p->request, p->data->kept, p->path, &p->w));
done:
    return status;
}

/* The rows of this rank. */
static kb_status predict_rows(kb_context *ctx, prediction *p, size_t most) {
    kb_status status = KB_OK;
    size_t N = p->data->rows;
    for (size_t begin = 0; begin < N; begin += most) {
        kb_data part = kb_data_view(p->data, begin, N - begin < most ? N - begin : most);
        kb_progress_part(ctx, (double)begin / (double)N, (double)(begin + part.rows) / (double)N);
        TRY(kb_model_decide_known(ctx, p->model, &part, p->decision, p->known));
        p->strange += count_strange(p->model, part.rows, p->known);
        if (p->scored)
            kb_scorer_add(&p->scorer, begin, part.rows, p->decision);
        if (p->path)
            TRY(write_rows(ctx, &p->w, part.rows, p->decision, p->known));
    }
done:
    return status;
}

static void end_prediction(kb_context *ctx, prediction *p) {
    kb_progress_part(ctx, 0, 1);
    close_file(ctx, &p->w);
    kb_scorer_release(ctx, &p->scorer);
    kb_release(ctx, p->decision);
    kb_release(ctx, p->known);
}

kb_status kb_model_predict_file_as(kb_context *ctx, const kb_model *model, const kb_data *data,
                                   const kb_request *asked, const char *path, kb_score *score) {
    kb_status status;
    prediction p = {.model = model, .data = data, .path = path, .scored = score != NULL};
    size_t most = kb_model_rows_at_once(ctx, model, data->rows);
    TRY(kb_request_take(ctx, model, asked, &p.request));
    if (score)
        TRY(kb_score_fill(ctx, &KB_SCORE_NONE, score));
    TRY(kb_ranks_agree(ctx, begin_prediction(ctx, &p, most)));
    if (score)
        TRY(warn_of_unknown_labels(ctx, &p.scorer));
    TRY(kb_ranks_agree(ctx, predict_rows(ctx, &p, most)));
    if (score)
        TRY(kb_scorer_end_of_all(ctx, &p.scorer, score));
    if (path)
        TRY(finish_file(ctx, path, &p.w));
    int64_t rows[2] = {(int64_t)p.strange, (int64_t)data->rows};
    TRY(kb_ranks_sum(ctx, rows, 2));
    warn_of_strange_rows(ctx, model, (size_t)rows[0], (size_t)rows[1]);
done:
    end_prediction(ctx, &p);
    return status;
}
