/*
 * sigma.c - see sigma.h.
 *
 * The default rule: two samples differ by about d times the mean absolute deviation in
 * the L1 norm, so sigma is half of that, times a factor that runs from 1/4 to 4 over
 * eight width vectors.  The mixture is near the best single sigma on most tables.
 */
#include "fit/sigma.h"
#include "core/machine.h"
#include "core/memory.h"
#include "core/number.h"
#include "core/order.h"
#include "lines/input.h"
#include "options/say.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_VECTORS = 8, MOST_BYTES = 1 << 30 };

/* A growing list of sigmas, line by line. */
typedef struct sigmas {
    double *value;
    size_t count, room;
    size_t lines, per_line; /* per_line = 0 until a line is known */
} sigmas;

static kb_status read_numbers(kb_context *ctx, const char *text, const char *where, sigmas *s) {
    static const char between[] = " \t\r\n,";
    kb_status status = KB_OK;
    size_t before = s->count;
    for (const char *p = text + strspn(text, between); *p; p += strspn(p, between)) {
        TRY(kb_reserve(ctx, s->count + 1, sizeof(double), &s->room, &s->value));
        double *x = &s->value[s->count];
        const char *end = kb_number_parse(p, x);
        int good = end && (!*end || strchr(between, *end)) && *x > 0;
        if (!good || *x < 1e-200 || *x > 1e200)
            TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%s: '%.*s' is not %s", where,
                        (int)strcspn(p, between), p,
                        good ? "within 1e-200 to 1e200" : "a positive number"));
        s->count++;
        p = end;
    }
    size_t here = s->count - before;
    if (here == 0)
        goto done;
    if (s->per_line && here != s->per_line)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%s: lines of %zu and of %zu numbers", where, s->per_line,
                    here));
    s->per_line = here;
    s->lines++;
done:
    return status;
}

static kb_status read_file(kb_context *ctx, const char *path, void *user) {
    kb_status status;
    sigmas *s = user;
    kb_input *input = NULL;
    char *line, where[600];
    size_t length;
    TRY(kb_input_open(ctx, path, &input));
    for (;;) {
        TRY(kb_input_line(input, &line, &length));
        if (!line)
            break;
        snprintf(where, sizeof where, "%.500s:%zu", path, kb_input_line_number(input));
        TRY(read_numbers(ctx, line, where, s));
    }
    if (s->lines == 0)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%s: no numbers in it", path));
done:
    kb_input_free(input);
    return status;
}

/* The middle of the default rule; 1 where nothing varies. */
static double default_sigma(size_t features, double spread) {
    return spread > 0 ? 0.5 * (double)features * spread : 1;
}

static kb_status default_rule(kb_context *ctx, double sigma, sigmas *s) {
    kb_status status = kb_alloc(ctx, DEFAULT_VECTORS, sizeof(double), &s->value);
    if (status != KB_OK)
        return status;
    /* 2^(-7/4), 2^(-5/4), .. 2^(7/4), ordered so that any few in a row span the range. */
    static const double factor[DEFAULT_VECTORS] = {
        0x1.306fe0a31b715p-2, 0x1.306fe0a31b715p+0, 0x1.306fe0a31b715p-1, 0x1.306fe0a31b715p+1,
        0x1.ae89f995ad3adp-2, 0x1.ae89f995ad3adp+0, 0x1.ae89f995ad3adp-1, 0x1.ae89f995ad3adp+1};
    for (int k = 0; k < DEFAULT_VECTORS; k++)
        s->value[k] = sigma * factor[k];
    s->count = s->lines = DEFAULT_VECTORS;
    s->per_line = 1;
    return KB_OK;
}

/* The text of sigma in a model: docs/model-format.md. */
static kb_status describe(kb_context *ctx, const kb_sigma *sigma, double value, char **words) {
    char number[KB_NUMBER_TEXT];
    if (sigma->kind == KB_SIGMA_DEFAULT)
        return kb_format(ctx, words, "default(%.4g)", value);
    if (sigma->kind == KB_SIGMA_FILE)
        return kb_format(ctx, words, "@%s", sigma->text);
    if (sigma->kind == KB_SIGMA_LIST)
        return kb_strdup(ctx, sigma->text, words);
    number[kb_number_format(value, number)] = '\0';
    return kb_strdup(ctx, number, words);
}

static kb_status read_sigmas(kb_context *ctx, const kb_sigma *sigma, double middle, sigmas *s) {
    char number[KB_NUMBER_TEXT];
    const char *text = sigma->text ? sigma->text : number;
    if (sigma->kind == KB_SIGMA_DEFAULT)
        return default_rule(ctx, middle, s);
    if (sigma->kind == KB_SIGMA_FILE)
        return kb_read_charged(ctx, sigma->text, kb_least(MOST_BYTES, kb_memory_available()),
                               "too much for widths", read_file, s);
    number[kb_number_format(sigma->value, number)] = '\0';
    return read_numbers(ctx, text, kb_say(ctx, KB_OPT_SIGMA).text, s);
}

kb_status kb_sigma_widths(kb_context *ctx, const kb_sigma *sigma, const kb_law *law,
                          size_t features, double spread, size_t *vectors, kb_width **widths,
                          char **words) {
    kb_status status;
    sigmas s = {0};
    double middle = default_sigma(features, spread);
    *widths = NULL;
    *words = NULL;
    TRY(read_sigmas(ctx, sigma, middle, &s));
    if (sigma->kind == KB_SIGMA_FILE && s.per_line == 1 && s.lines == features) {
        s.per_line = features; /* one column, not one row */
        s.lines = 1;
    }
    if (s.per_line != 1 && s.per_line != features)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%s: %zu numbers for %zu features",
                    kb_say(ctx, KB_OPT_SIGMA).text, s.per_line, features));
    *vectors = s.lines;
    TRY(kb_alloc(ctx, s.lines * features, sizeof **widths, widths));
    for (size_t v = 0; v < s.lines; v++)
        for (size_t j = 0; j < features; j++) {
            double value = s.value[v * s.per_line + (s.per_line == 1 ? 0 : j)];
            (*widths)[v * features + j] = (kb_width){law, value, 1};
        }
    TRY(describe(ctx, sigma, sigma->kind == KB_SIGMA_DEFAULT ? middle : s.value[0], words));
done:
    kb_release(ctx, s.value);
    if (status != KB_OK) {
        kb_release(ctx, *widths);
        *widths = NULL;
    }
    return status;
}

kb_status kb_sigma_vector(kb_context *ctx, const kb_sigma *sigma, int isotropic, size_t features,
                          double spread, double **out, char **words) {
    kb_status status;
    kb_width *widths = NULL;
    size_t vectors = 1;
    int rule = sigma->kind == KB_SIGMA_DEFAULT;
    double middle = default_sigma(features, spread);
    if (isotropic)
        middle = default_sigma(features, spread) / sqrt((double)features);
    *out = NULL;
    *words = NULL;
    if (rule)
        TRY(describe(ctx, sigma, middle, words));
    else
        TRY(kb_sigma_widths(ctx, sigma, NULL, features, spread, &vectors, &widths, words));
    if (vectors > 1)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%s: %zu lines; only %s mixes them",
                    kb_say_value(ctx, KB_OPT_SIGMA, *words).text, vectors,
                    kb_say_value(ctx, KB_OPT_MAP, "binning").text));
    TRY(kb_alloc(ctx, features, sizeof(double), out));
    for (size_t j = 0; j < features; j++)
        (*out)[j] = rule ? middle : widths[j].sigma;
done:
    kb_release(ctx, widths);
    if (status != KB_OK) {
        kb_release(ctx, *words);
        *words = NULL;
    }
    return status;
}
