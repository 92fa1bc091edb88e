/* contributions.c - see contributions.h. */
#include "contributions.h"
#include "importance.h"
#include "wholefile.h"

#include <stdlib.h>
#include <string.h>

typedef struct found {
    const kb_model *model;
    size_t rows, features, outputs;
    double *contribution; /* rows x features x outputs */
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
        size_t c = 0;
        for (size_t k = 1; k < C; k++)
            c = x->decision[i * C + k] > x->decision[i * C + c] ? k : c;
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

kb_status contributions_write(session *s, const kb_model *model, const kb_data *data,
                              const kb_data *background, size_t samples, const char *path) {
    kb_status status;
    const kb_fit_info *info = kb_model_info(model);
    found x = {.model = model,
               .rows = kb_data_rows(data),
               .features = info->features,
               .outputs = info->outputs};
    x.contribution = malloc(x.rows * x.features * x.outputs * sizeof(double));
    x.decision = malloc(x.rows * x.outputs * sizeof(double));
    x.base = malloc(x.outputs * sizeof(double));
    if (!x.contribution || !x.decision || !x.base)
        TRY(session_fail(s, KB_ERR_MEMORY, "out of memory for the contributions of %zu rows",
                         x.rows));
    TRY(kb_model_decide(s->ctx, model, data, x.decision));
    TRY(kb_model_explain(s->ctx, model, data, background, samples, 1, x.contribution, NULL,
                         x.base));
    TRY(write_whole(s, path, write_rows, &x));
done:
    free(x.contribution);
    free(x.decision);
    free(x.base);
    return status;
}
