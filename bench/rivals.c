/* rivals.c - see rivals.h. */
#define _POSIX_C_SOURCE 200809L
#include "rivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

kb_status csr_from_binmat(kb_context *ctx, const kb_binmat *z, csr *out) {
    kb_status status;
    size_t N = z->rows, R = z->grids;
    memset(out, 0, sizeof *out);
    out->rows = N;
    out->columns = z->bins;
    TRY(kb_alloc(ctx, N + 1, sizeof *out->start, &out->start));
    TRY(kb_alloc(ctx, N * R, sizeof *out->column, &out->column));
    TRY(kb_alloc(ctx, N * R, sizeof *out->value, &out->value));
    TRY(kb_alloc(ctx, z->bins, sizeof *out->sums, &out->sums));
    for (size_t i = 0; i <= N; i++)
        out->start[i] = i * R;
    for (size_t i = 0; i < N; i++)
        for (size_t r = 0; r < R; r++) {
            out->column[i * R + r] = (uint32_t)(z->start[r] + kb_binmat_id(z, i, r));
            out->value[i * R + r] = kb_bin_value(z->R);
        }
done:
    return status;
}

void csr_release(kb_context *ctx, csr *m) {
    kb_release(ctx, m->start);
    kb_release(ctx, m->column);
    kb_release(ctx, m->value);
    kb_release(ctx, m->sums);
}

void csr_apply_k(csr *m, const double *v, double *out) {
    memset(m->sums, 0, m->columns * sizeof(double));
    for (size_t i = 0; i < m->rows; i++)
        for (size_t e = m->start[i]; e < m->start[i + 1]; e++)
            m->sums[m->column[e]] += m->value[e] * v[i];
    for (size_t i = 0; i < m->rows; i++) {
        double sum = 0;
        for (size_t e = m->start[i]; e < m->start[i + 1]; e++)
            sum += m->value[e] * m->sums[m->column[e]];
        out[i] = sum;
    }
}

size_t strtod_read(const char *path) {
    char *line = NULL;
    size_t room = 0, count = 0, capacity = 0;
    struct entry {
        long index;
        double value;
    } *entry = NULL;
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    while (getline(&line, &room, file) > 0) {
        char *p, *next;
        strtod(line, &p);
        for (;; p = next) {
            long index = strtol(p, &next, 10);
            if (next == p || *next != ':')
                break;
            if (count == capacity) {
                capacity = 2 * capacity + 1024;
                entry = realloc(entry, capacity * sizeof *entry);
            }
            entry[count].index = index;
            entry[count++].value = strtod(next + 1, &next);
        }
    }
    free(entry);
    free(line);
    fclose(file);
    return count;
}
