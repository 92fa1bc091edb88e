/* smooth_error.c - see smooth_error.h. */
#include "trial/smooth_error.h"
#include "core/fixed_math.h"
#include "core/weights.h"

#include <math.h>

/* By how much the decision for the row's class exceeds the largest other one. */
static double margin_of(size_t C, const double *f, uint32_t class) {
    double other = -INFINITY;
    if (C == 1)
        return class ? f[0] : -f[0];
    for (size_t c = 0; c < C; c++)
        other = c != class && f[c] > other ? f[c] : other;
    return f[class] - other;
}

static double term_of(double m, double T) {
    double e = kb_exp_minus_fixed(fabs(T * m)), wrong = (m > 0 ? e : 1) / (1 + e);
    return wrong * wrong;
}

/* The rows' margins. */
typedef struct margins {
    const kb_subsample *s;
    size_t held;
    const uint32_t *row;
    const double *m;
} margins;

static double sum_of(const margins *a, double T) {
    double sum = 0;
    for (size_t h = 0; h < a->held; h++)
        sum += kb_weight_of(a->s->weight, a->row[h]) * term_of(a->m[h], T);
    return sum;
}

/* From 1 / the mean size of a margin, by factors of 4, and then by smaller ones. */
static double best_factor(const margins *a, double mean) {
    double T = mean > 0 ? 1 / mean : 1, least = sum_of(a, T);
    for (double by = 4; by > 1.04; by = sqrt(by))
        for (int down = 0; down < 2; down++) {
            double before = T, factor = down ? 1 / by : by;
            for (int k = 0; k < 8; k++) {
                double sum = sum_of(a, T * factor);
                if (!(sum < least))
                    break;
                least = sum;
                T *= factor;
            }
            if (T != before)
                break;
        }
    return T;
}

void kb_smooth_errors(const kb_subsample *s, size_t held, const uint32_t *row, const double *f,
                      double *out) {
    double size = 0, total = 0;
    for (size_t h = 0; h < held; h++) {
        double w = kb_weight_of(s->weight, row[h]);
        out[h] = margin_of(s->C, f + h * s->C, s->class_of[row[h]]);
        size += w * fabs(out[h]);
        total += w;
    }
    total = total > 0 ? total : 1;
    double T = best_factor(&(margins){s, held, row, out}, size / total);
    for (size_t h = 0; h < held; h++)
        out[h] = term_of(out[h], T) * kb_weight_of(s->weight, row[h]) * (double)held / total;
}
