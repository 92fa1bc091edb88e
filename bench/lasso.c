/* lasso.c - see lasso.h. */
#include "lasso.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct lasso {
    size_t rows, columns;
    size_t *start;
    int *row;
    double *value;
};

lasso *lasso_build(const kb_binmat *z) {
    size_t N = z->rows, R = z->grids, *place = calloc(z->bins + 1, sizeof *place);
    lasso *m = malloc(sizeof *m);
    *m = (lasso){.rows = N, .columns = z->bins};
    m->start = calloc(z->bins + 1, sizeof *m->start);
    m->row = malloc(N * R * sizeof *m->row);
    m->value = malloc(N * R * sizeof *m->value);
    for (size_t r = 0; r < R; r++)
        for (size_t i = 0; i < N; i++)
            m->start[z->start[r] + kb_binmat_id(z, i, r) + 1]++;
    for (size_t j = 0; j < z->bins; j++)
        m->start[j + 1] += m->start[j];
    memcpy(place, m->start, z->bins * sizeof *place);
    for (size_t r = 0; r < R; r++)
        for (size_t i = 0; i < N; i++) {
            size_t e = place[z->start[r] + kb_binmat_id(z, i, r)]++;
            m->row[e] = (int)i;
            m->value[e] = kb_bin_value(z->R);
        }
    free(place);
    return m;
}

void lasso_free(lasso *m) {
    free(m->start);
    free(m->row);
    free(m->value);
    free(m);
}

static double dot(const lasso *m, size_t j, const double *v) {
    double a = 0, b = 0;
    size_t e = m->start[j], end = m->start[j + 1];
    for (; e + 2 <= end; e += 2) {
        a += m->value[e] * v[m->row[e]];
        b += m->value[e + 1] * v[m->row[e + 1]];
    }
    if (e < end)
        a += m->value[e] * v[m->row[e]];
    return a + b;
}

/* The duality gap, from the residual scaled to be dual feasible; *objective too. */
static double gap_of(const lasso *m, const double *y, const double *residual, double lambda,
                     const double *w, double *objective) {
    double most = 0, square = 0, with_y = 0, size = 0;
    for (size_t j = 0; j < m->columns; j++) {
        most = fmax(most, fabs(dot(m, j, residual)));
        size += fabs(w[j]);
    }
    for (size_t i = 0; i < m->rows; i++) {
        square += residual[i] * residual[i];
        with_y += residual[i] * y[i];
    }
    double t = fmin(1, lambda / most);
    *objective = square / 2 + lambda * size;
    return *objective - (t * with_y - t * t * square / 2);
}

/* One pass over `count` columns of `list`; returns the largest change of a weight, and removes from
 * the list the columns that stay at zero by a margin. */
static double pass(const lasso *m, double lambda, size_t *list, size_t *count, double room,
                   const double *norm, double *residual, double *w) {
    double largest = 0;
    size_t kept = 0;
    for (size_t k = 0; k < *count; k++) {
        size_t j = list[k];
        double G = dot(m, j, residual);
        if (w[j] == 0 && fabs(G) < lambda - room)
            continue;
        list[kept++] = j;
        double c = G + norm[j] * w[j];
        double x = c > lambda ? (c - lambda) / norm[j] : c < -lambda ? (c + lambda) / norm[j] : 0;
        double d = x - w[j];
        if (d == 0)
            continue;
        for (size_t e = m->start[j]; e < m->start[j + 1]; e++)
            residual[m->row[e]] -= d * m->value[e];
        w[j] = x;
        largest = fmax(largest, fabs(d) * norm[j]);
    }
    *count = kept;
    return largest;
}

double lasso_solve(const lasso *m, const double *y, double lambda, double tol, double *w) {
    double *residual = malloc(m->rows * sizeof *residual),
           *norm = malloc(m->columns * sizeof *norm);
    size_t *list = malloc(m->columns * sizeof *list), count;
    double objective, change;
    memcpy(residual, y, m->rows * sizeof *residual);
    memset(w, 0, m->columns * sizeof *w);
    for (size_t j = 0; j < m->columns; j++)
        norm[j] = (double)(m->start[j + 1] - m->start[j]) * m->value[0] * m->value[0];
    do {
        for (count = 0; count < m->columns; count++)
            list[count] = count;
        double first = 0;
        for (int k = 0; k < 100; k++) {
            change = pass(m, lambda, list, &count, k == 0 ? 0.5 * lambda : 0.1 * lambda, norm,
                          residual, w);
            first = fmax(first, change);
            if (change <= 0.1 * first)
                break;
        }
    } while (gap_of(m, y, residual, lambda, w, &objective) > tol * objective);
    free(residual);
    free(norm);
    free(list);
    return objective;
}
