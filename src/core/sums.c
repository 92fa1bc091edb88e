/* sums.c - see sums.h. */
#include "core/sums.h"
#include "core/team.h"

#include <string.h>

enum { PART = 2048 };

/* One column alone is summed in four strands, for the adder's sake. */
static double part_of_one(size_t begin, size_t end, const double *a, const double *b) {
    double s[4] = {0};
    size_t i = begin;
    for (; i + 4 <= end; i += 4)
        for (size_t k = 0; k < 4; k++)
            s[k] += b ? a[i + k] * b[i + k] : a[i + k];
    for (; i < end; i++)
        s[0] += b ? a[i] * b[i] : a[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static void part_of_many(size_t begin, size_t end, size_t C, const double *a, const double *b,
                         double *restrict s) {
    memset(s, 0, C * sizeof *s);
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < C; c++)
            s[c] += b ? a[i * C + c] * b[i * C + c] : a[i * C + c];
}

typedef struct sums {
    size_t N, C;
    const double *a, *b;
    double *part; /* parts x C */
} sums;

static void sum_parts(void *arg, size_t first, size_t last) {
    sums *s = arg;
    for (size_t p = first; p < last; p++) {
        size_t begin = p * PART, end = begin + PART < s->N ? begin + PART : s->N;
        if (s->C == 1)
            s->part[p] = part_of_one(begin, end, s->a, s->b);
        else
            part_of_many(begin, end, s->C, s->a, s->b, s->part + p * s->C);
    }
}

kb_status kb_sums(kb_context *ctx, size_t N, size_t C, const double *a, const double *b,
                  double *out) {
    size_t parts = (N + PART - 1) / PART;
    sums s = {.N = N, .C = C, .a = a, .b = b};
    kb_status status = kb_alloc(ctx, parts * C, sizeof *s.part, &s.part);
    if (status != KB_OK)
        return status;
    kb_team_for(ctx, parts, 4 / C + 1, sum_parts, &s);
    memset(out, 0, C * sizeof *out);
    for (size_t p = 0; p < parts; p++)
        for (size_t c = 0; c < C; c++)
            out[c] += s.part[p * C + c];
    kb_release(ctx, s.part);
    return KB_OK;
}
