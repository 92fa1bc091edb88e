/* sums.c - see sums.h. */
#include "core/sums.h"
#include "core/team.h"

#include <math.h>
#include <string.h>

/* One column alone is summed in four independent chains, to hide the latency of additions. */
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

typedef struct parts {
    size_t N, count;
    void (*body)(void *arg, size_t begin, size_t end, double *sum);
    void *arg;
    double *sum; /* parts x count */
} parts;

static void sum_parts(void *arg, size_t first, size_t last) {
    const parts *p = arg;
    for (size_t k = first; k < last; k++) {
        size_t begin = k * KB_SUM_ROWS, end = begin + KB_SUM_ROWS;
        p->body(p->arg, begin, end < p->N ? end : p->N, p->sum + k * p->count);
    }
}

kb_status kb_sums_of_parts(kb_context *ctx, size_t N, size_t count,
                           void (*body)(void *arg, size_t begin, size_t end, double *sum),
                           void *arg, size_t *number, double **sum) {
    parts p = {.N = N, .count = count, .body = body, .arg = arg};
    *number = (N + KB_SUM_ROWS - 1) / KB_SUM_ROWS;
    kb_status status = kb_alloc(ctx, *number * count, sizeof *p.sum, &p.sum);
    if (status == KB_OK)
        kb_team_for(ctx, *number, 4 / count + 1, sum_parts, &p);
    *sum = p.sum;
    return status;
}

void kb_sums_join(size_t number, size_t count, const double *sum, double *out) {
    memset(out, 0, count * sizeof *out);
    for (size_t k = 0; k < number; k++)
        for (size_t c = 0; c < count; c++)
            out[c] += sum[k * count + c];
}

kb_status kb_sums_by(kb_context *ctx, size_t N, size_t count,
                     void (*body)(void *arg, size_t begin, size_t end, double *sum), void *arg,
                     double *out) {
    size_t number;
    double *sum;
    kb_status status = kb_sums_of_parts(ctx, N, count, body, arg, &number, &sum);
    if (status == KB_OK)
        kb_sums_join(number, count, sum, out);
    kb_release(ctx, sum);
    return status;
}

void kb_sum_pair(void *pair, size_t begin, size_t end, double *sum) {
    const kb_pair *p = pair;
    if (p->C == 1)
        *sum = part_of_one(begin, end, p->a, p->b);
    else
        part_of_many(begin, end, p->C, p->a, p->b, sum);
}

kb_status kb_sums(kb_context *ctx, size_t N, size_t C, const double *a, const double *b,
                  double *out) {
    kb_pair pair = {C, a, b};
    return kb_sums_by(ctx, N, C, kb_sum_pair, &pair, out);
}

/* ---- by one thread ----------------------------------------------------- */

enum { STRANDS = 8 };

static double join(const double *s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

double kb_sum(size_t n, const double *x) {
    double strand[STRANDS] = {0};
    size_t k = 0;
    for (; k + STRANDS <= n; k += STRANDS)
        for (size_t s = 0; s < STRANDS; s++)
            strand[s] += x[k + s];
    for (; k < n; k++)
        strand[k % STRANDS] += x[k];
    return join(strand);
}

double kb_sum_sizes(size_t n, const double *x) {
    double strand[STRANDS] = {0};
    size_t k = 0;
    for (; k + STRANDS <= n; k += STRANDS)
        for (size_t s = 0; s < STRANDS; s++)
            strand[s] += fabs(x[k + s]);
    for (; k < n; k++)
        strand[k % STRANDS] += fabs(x[k]);
    return join(strand);
}

double kb_largest_size(size_t n, const double *x) {
    double strand[STRANDS] = {0}, most = 0;
    size_t k = 0;
    for (; k + STRANDS <= n; k += STRANDS)
        for (size_t s = 0; s < STRANDS; s++)
            strand[s] = fabs(x[k + s]) > strand[s] ? fabs(x[k + s]) : strand[s];
    for (; k < n; k++)
        most = fabs(x[k]) > most ? fabs(x[k]) : most;
    for (size_t s = 0; s < STRANDS; s++)
        most = strand[s] > most ? strand[s] : most;
    return most;
}
