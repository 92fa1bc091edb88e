/*
 * predict.c - decisions, labels and scores.
 *
 * Rows go in chunks, shared out among the threads.  Within a chunk the grids come in
 * order, so that one grid's dictionary and weights stay in cache, and each row adds up its
 * weights in that order whatever the threads do.
 */
#include "core/outfile.h"
#include "core/team.h"
#include "data/number.h"
#include "model/model.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { CHUNK = 512 };

typedef struct scratch {
    uint64_t *zero, *keys;
    unsigned char known[CHUNK]; /* whether the row has met a known bin */
} scratch;

/* Adds the weights of one grid's bins to the rows whose keys are given.  The first
 * loop only asks for the memory that the second one reads. */
static void add_grid(const kb_model *model, size_t r, size_t rows, const uint64_t *keys,
                     unsigned char *known, double *sum) {
    const kb_dictionary *d = &model->map->dictionary;
    size_t C = model->info.outputs;
    int64_t bin[CHUNK];
    for (size_t i = 0; i < rows; i++) {
        bin[i] = kb_dictionary_find(d, r, keys[i]);
        __builtin_prefetch(model->weight + (bin[i] < 0 ? 0 : bin[i]) * (int64_t)C);
    }
    for (size_t i = 0; i < rows; i++) {
        if (bin[i] < 0)
            continue;
        known[i] = 1;
        const float *w = model->weight + (size_t)bin[i] * C;
        for (size_t c = 0; c < C; c++)
            sum[i * C + c] += w[c];
    }
}

static void decide_chunk(const kb_model *model, const kb_data *data, size_t begin, size_t rows,
                         scratch *t, double *decision) {
    kb_binning binning = kb_map_binning(model->map);
    size_t R = model->info.grids, C = model->info.outputs;
    double factor = 1 / sqrt((double)R);
    memset(decision, 0, rows * C * sizeof(double));
    memset(t->known, 0, rows);
    for (size_t block = 0; block < kb_grids_blocks(model->map->grids); block++) {
        kb_keys_prepare(&binning, data, block, t->zero);
        kb_keys_compute(&binning, data, block, begin, rows, t->zero, CHUNK, t->keys);
        for (size_t k = 0; k < KB_LANES && block * KB_LANES + k < R; k++)
            add_grid(model, block * KB_LANES + k, rows, t->keys + k * CHUNK, t->known, decision);
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < C; c++)
            decision[i * C + c] =
                t->known[i] ? decision[i * C + c] * factor + model->intercept[c] : model->prior[c];
}

/* A round of chunks, taken by the threads as they come; progress is told between rounds. */
typedef struct taking {
    const kb_model *model;
    const kb_data *data;
    scratch *each;
    double *decision;
    atomic_size_t next;
    size_t last;
} taking;

static void take_chunks(void *arg, int me, int threads) {
    taking *r = arg;
    (void)threads;
    for (size_t k; (k = atomic_fetch_add(&r->next, 1)) < r->last;) {
        size_t begin = k * CHUNK, left = r->data->rows - begin;
        decide_chunk(r->model, r->data, begin, left < CHUNK ? left : CHUNK, &r->each[me],
                     r->decision + begin * r->model->info.outputs);
    }
}

kb_status kb_model_decide(kb_context *ctx, const kb_model *model, const kb_data *data,
                          double *decision) {
    kb_status status;
    size_t T = (size_t)ctx->threads, zero = kb_keys_scratch(data);
    size_t chunks = (data->rows + CHUNK - 1) / CHUNK;
    uint64_t *memory = NULL;
    scratch *each = NULL;
    TRY(kb_map_check(ctx, model->map, data));
    TRY(kb_alloc(ctx, T * (zero + KB_LANES * CHUNK), sizeof *memory, &memory));
    TRY(kb_alloc(ctx, T, sizeof *each, &each));
    for (size_t t = 0; t < T; t++) {
        each[t].zero = memory + t * (zero + KB_LANES * CHUNK);
        each[t].keys = each[t].zero + zero;
    }
    for (size_t first = 0; first < chunks; first += 16 * T) {
        size_t last = first + 16 * T < chunks ? first + 16 * T : chunks;
        taking r = {model, data, each, decision, first, last};
        kb_team_run(ctx, last - first < 2, take_chunks, &r);
        TRY(kb_progress(ctx, "predict", (double)last / (double)chunks));
    }
done:
    kb_release(ctx, memory);
    kb_release(ctx, each);
    return status;
}

/* Whether the label of row i means class k: words by their name, numbers by value. */
static int is_class(const kb_model *model, const kb_data *data, size_t i, size_t k) {
    if (data->class_name || model->class_name) {
        char number[KB_NUMBER_TEXT];
        const char *name = number;
        if (data->class_name)
            name = data->class_name[(size_t)data->label[i]];
        else
            number[kb_number_format(data->label[i], number)] = '\0';
        return strcmp(name, kb_model_class_name(model, k)) == 0;
    }
    return data->label[i] == model->class_value[k];
}

kb_status kb_model_score(kb_context *ctx, const kb_model *model, const kb_data *data,
                         const double *decision, kb_score *out) {
    size_t N = data->rows, C = model->info.outputs;
    double right = 0, error = 0, size = 0, mean = 0, around = 0;
    memset(out, 0, sizeof *out);
    if (!data->label)
        return kb_fail(ctx, KB_ERR_DATA, "the data have no labels to score against");
    if (model->info.classes) {
        for (size_t i = 0; i < N; i++)
            right += is_class(model, data, i, kb_model_winner(model, decision + i * C));
        out->accuracy = right / (double)N;
        return KB_OK;
    }
    if (data->class_name)
        return kb_fail(ctx, KB_ERR_DATA, "the labels are words, the model predicts numbers");
    for (size_t i = 0; i < N; i++)
        mean += data->label[i] / (double)N;
    for (size_t i = 0; i < N; i++) {
        double y = data->label[i], e = decision[i] - y;
        error += e * e;
        size += y * y;
        around += (y - mean) * (y - mean);
    }
    out->rmse = sqrt(error / (double)N);
    out->relative_error = size > 0 ? sqrt(error / size) : 0;
    out->r2 = around > 0 ? 1 - error / around : 0;
    return KB_OK;
}

static kb_status write_text(kb_outfile *file, const char *text, char end) {
    kb_status status = kb_outfile_write(file, text, strlen(text));
    return status == KB_OK ? kb_outfile_write(file, &end, 1) : status;
}

/* A name in a header of CSV, quoted where it must be. */
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

kb_status kb_model_write_predictions(kb_context *ctx, const kb_model *model, size_t rows,
                                     const double *decision, int decisions, const char *path) {
    kb_status status;
    size_t C = model->info.outputs;
    kb_outfile *file = NULL;
    TRY(kb_outfile_create(ctx, path, &file));
    for (size_t c = 0; decisions && C > 1 && c < C; c++)
        TRY(write_name(file, kb_model_class_name(model, c), c + 1 < C ? ',' : '\n'));
    for (size_t i = 0; i < rows; i++, decision += C) {
        if (!decisions && model->info.classes)
            TRY(write_text(file, kb_model_class_name(model, kb_model_winner(model, decision)),
                           '\n'));
        else
            for (size_t c = 0; c < C; c++)
                TRY(write_number(file, decision[c], c + 1 < C ? ',' : '\n'));
    }
    TRY(kb_outfile_commit(file));
done:
    kb_outfile_free(file);
    return status;
}
