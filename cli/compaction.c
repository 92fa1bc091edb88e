/* compaction.c - see compaction.h. */
#include "compaction.h"
#include "report.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>

static kb_status count_bytes(void *user, const void *bytes, size_t count) {
    (void)bytes;
    *(size_t *)user += count;
    return KB_OK;
}

/* The labels of all rows. */
typedef struct answers {
    double *decision, *label;
} answers;

static void answers_free(answers *a) {
    free(a->decision);
    free(a->label);
}

/* Decides, and scores if there are labels. */
static kb_status answer(session *s, const kb_model *model, const kb_data *data, answers *out,
                        kb_score *score) {
    kb_status status;
    size_t rows = kb_data_rows(data), C = kb_model_info(model)->outputs;
    out->decision = malloc((rows * C + 1) * sizeof(double));
    out->label = malloc((rows + 1) * sizeof(double));
    if (!out->decision || !out->label)
        TRY(session_fail(s, KB_ERR_MEMORY, "out of memory for %zu decisions", rows * C));
    TRY(kb_model_decide(s->ctx, model, data, out->decision));
    kb_model_label(model, rows, out->decision, out->label);
    if (kb_data_labels(data))
        TRY(kb_model_score(s->ctx, model, data, out->decision, score));
done:
    return status;
}

static void compare(const answers *was, const answers *is, size_t C, compaction *out) {
    double sum = 0;
    for (size_t k = 0; k < out->rows * C; k++) {
        double moved = fabs(is->decision[k] - was->decision[k]);
        sum += moved * moved;
        out->most = fmax(out->most, moved);
    }
    out->moved = out->rows ? sqrt(sum / (double)(out->rows * C)) : 0;
    for (size_t i = 0; i < out->rows; i++)
        out->changed += is->label[i] != was->label[i];
}

kb_status compaction_apply(session *s, kb_model *model, double drop, const kb_data *data,
                           compaction *out) {
    kb_status status;
    answers was = {0}, is = {0};
    *out = (compaction){.bound = KB_COMPACTION_INIT,
                        .rows = data ? kb_data_rows(data) : 0,
                        .scored = data && kb_data_labels(data),
                        .was.size = sizeof out->was,
                        .is.size = sizeof out->is};
    if (data)
        TRY(answer(s, model, data, &was, &out->was));
    TRY(kb_model_write_bytes(s->ctx, model, count_bytes, &out->before));
    TRY(kb_model_compact(s->ctx, model, drop));
    TRY(kb_model_write_bytes(s->ctx, model, count_bytes, &out->after));
    TRY(kb_model_compaction(model, &out->bound));
    if (data) {
        TRY(answer(s, model, data, &is, &out->is));
        compare(&was, &is, kb_model_info(model)->outputs, out);
    }
done:
    answers_free(&was);
    answers_free(&is);
    return status;
}

void compaction_print(FILE *to, const kb_fit_info *info, const compaction *c) {
    fprintf(to, "compact   %s -> %s; decisions move by about %s, at most %s\n",
            size_in_words(c->before).text, size_in_words(c->after).text,
            number_in_words(c->bound.typical, 3).text, number_in_words(c->bound.most, 3).text);
    if (c->bound.dropped)
        fprintf(to, "dropped   the smallest weights, those of %.0f %% of the bins\n",
                100 * (double)c->bound.dropped / (double)info->kept_bins);
    if (c->rows == 0)
        return;
    fprintf(to, "moved     by %s, at most %s, in %zu row%s", number_in_words(c->moved, 3).text,
            number_in_words(c->most, 3).text, c->rows, plural(c->rows));
    if (info->classes)
        fprintf(to, "; %zu of %zu label%s change%s", c->changed, c->rows, plural(c->rows),
                c->changed == 1 ? "s" : "");
    fputc('\n', to);
    if (!c->scored)
        return;
    fputs("before    ", to);
    report_score(to, info, &c->was, c->rows, NULL);
    fputs("after     ", to);
    report_score(to, info, &c->is, c->rows, NULL);
}

json_t *compaction_json(const kb_fit_info *info, const compaction *c) {
    json_t *object =
        json_pack("{s:I, s:I, s:f, s:f}", "bytes_before", (json_int_t)c->before, "bytes",
                  (json_int_t)c->after, "typical", c->bound.typical, "most", c->bound.most);
    if (c->rows) {
        json_t *rows = json_pack("{s:I, s:f, s:f}", "rows", (json_int_t)c->rows, "moved", c->moved,
                                 "most", c->most);
        if (info->classes)
            report_add(&rows, "changed", json_integer((json_int_t)c->changed));
        if (c->scored) {
            report_add(&rows, "before", report_score_json(info, &c->was));
            report_add(&rows, "after", report_score_json(info, &c->is));
        }
        report_add(&object, "data", rows);
    }
    return object;
}
