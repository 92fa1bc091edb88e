/* contributions.c - see contributions.h. */
#include "contributions.h"
#include "importance.h"
#include "text.h"
#include "wholefile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct found {
    const kb_model *model;
    size_t rows, features, outputs;
    double *contribution; /* rows x features x outputs */
    double *error;        /* likewise: their standard errors */
    double *decision;     /* rows x outputs */
    double *base;         /* outputs */
} found;

/* A name as a field of CSV, quoted where it must be. */
static void put_field(FILE *to, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

/* The output that a row is explained for: the class that is predicted. */
static size_t output_of(const found *x, size_t row) {
    const double *f = x->decision + row * x->outputs;
    size_t c = 0;
    for (size_t k = 1; k < x->outputs; k++)
        c = f[k] > f[c] ? k : c;
    return c;
}

static int write_rows(const void *user, FILE *to) {
    const found *x = user;
    char number[FEATURE_NUMBER_LENGTH];
    size_t C = x->outputs;
    fputs(C > 1 ? "class,decision,base" : "decision,base", to);
    for (size_t j = 0; j < x->features; j++) {
        fputc(',', to);
        put_field(to, feature_name(x->model, j, number));
    }
    fputc('\n', to);
    for (size_t i = 0; i < x->rows; i++) {
        size_t c = output_of(x, i);
        if (C > 1) {
            put_field(to, kb_model_class_name(x->model, c));
            fputc(',', to);
        }
        fprintf(to, "%.10g,%.10g", x->decision[i * C + c], x->base[c]);
        for (size_t j = 0; j < x->features; j++)
            fprintf(to, ",%.10g", x->contribution[(i * x->features + j) * C + c]);
        fputc('\n', to);
    }
    return 1;
}

/* How far the contributions that are written are from the exact ones. */
static void tell_errors(session *s, const found *x) {
    double sum = 0, most = 0;
    for (size_t i = 0; i < x->rows; i++)
        for (size_t j = 0, c = output_of(x, i); j < x->features; j++) {
            double error = x->error[(i * x->features + j) * x->outputs + c];
            sum += error * error;
            most = fmax(most, error);
        }
    double cells = (double)(x->rows * x->features);
    if (most > 0)
        session_note(s,
                     "contributions have standard errors of about %s, at most %s; more --samples "
                     "make them smaller",
                     number_in_words(sqrt(sum / cells), 2).text, number_in_words(most, 2).text);
}

kb_status contributions_write(session *s, const kb_model *model, const kb_data *data,
                              const kb_data *background, size_t samples, const char *path) {
    kb_status status;
    const kb_fit_info *info = kb_model_info(model);
    found x = {.model = model,
               .rows = kb_data_rows(data),
               .features = info->features,
               .outputs = info->outputs};
    x.contribution = malloc(x.rows * x.features * x.outputs * sizeof(double));
    x.error = malloc(x.rows * x.features * x.outputs * sizeof(double));
    x.decision = malloc(x.rows * x.outputs * sizeof(double));
    x.base = malloc(x.outputs * sizeof(double));
    if (!x.contribution || !x.error || !x.decision || !x.base)
        TRY(session_fail(s, KB_ERR_MEMORY, "out of memory for the contributions of %zu rows",
                         x.rows));
    TRY(kb_model_decide(s->ctx, model, data, x.decision));
    TRY(kb_model_explain(s->ctx, model, data, background, samples, 1, x.contribution, x.error,
                         x.base));
    TRY(write_whole(s, path, write_rows, &x));
    tell_errors(s, &x);
done:
    free(x.contribution);
    free(x.error);
    free(x.decision);
    free(x.base);
    return status;
}
