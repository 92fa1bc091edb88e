/*
 * calibrate.c - see calibrate.h.
 *
 * Both rules are fitted by Newton's method on the (convex) negative log likelihood, with step
 * halving.  Platt's targets are moved a little towards each other, as in Lin, Lin and Weng (2007),
 * so that separable decisions do not lead to an infinite slope; for several classes two rows more,
 * spread over all classes, do the same.
 */
#include "validation/calibrate.h"
#include "core/fixed_math.h"
#include "core/weights.h"
#include "solve/loss.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 100, MOST_HALVINGS = 40 };

/* The least slope, for decisions of size 1: it stays positive even for a classifier no better
 * than chance. */
static const double LEAST_SLOPE = 1e-6;

/* The negative log likelihood, its gradient and Hessian in (slope, offset). */
typedef struct local {
    double value, g[2], h[3]; /* h: ss, so, oo */
} local;

/* What is fitted: decisions, and the targets of two classes moved towards each other. */
typedef struct sample {
    size_t N, C;
    const double *f;
    const uint32_t *class_of;
    const double *weight;
    double target[2];
    double smooth; /* several classes: the share of a row that is spread over all of them */
} sample;

static local two_classes(const sample *s, double slope, double offset) {
    local at = {0};
    for (size_t i = 0; i < s->N; i++) {
        double w = kb_weight_of(s->weight, i), f = s->f[i], m = slope * f + offset;
        double p = kb_logistic(m), t = s->target[s->class_of[i]], v = w * p * (1 - p);
        /* log(1 + exp m) - t m, without overflow */
        double soft = fmax(m, 0) - kb_log_fixed(fmax(p, 1 - p));
        at.value += w * (soft - t * m);
        at.g[0] += w * (p - t) * f;
        at.g[1] += w * (p - t);
        at.h[0] += v * f * f;
        at.h[1] += v * f;
        at.h[2] += v;
    }
    return at;
}

static void softmax(size_t C, const double *f, double slope, double *p) {
    double most = f[0], sum = 0;
    for (size_t c = 1; c < C; c++)
        most = fmax(most, f[c]);
    for (size_t c = 0; c < C; c++) {
        p[c] = kb_exp_minus_fixed(fmin(slope * (most - f[c]), 700));
        sum += p[c];
    }
    for (size_t c = 0; c < C; c++)
        p[c] /= sum;
}

/* Only the slope is free; the entries of the offset make its step 0. */
static local several_classes(const sample *s, double slope) {
    local at = {.h = {0, 0, 1}};
    for (size_t i = 0; i < s->N; i++) {
        const double *f = s->f + i * s->C;
        double w = kb_weight_of(s->weight, i), most = f[0], sum = 0, mean = 0, second = 0, all = 0;
        for (size_t c = 1; c < s->C; c++)
            most = fmax(most, f[c]);
        for (size_t c = 0; c < s->C; c++) {
            double x = f[c] - most, e = kb_exp_minus_fixed(fmin(-slope * x, 700));
            sum += e;
            mean += e * x;
            second += e * x * x;
            all += x;
        }
        mean /= sum;
        double target =
            (1 - s->smooth) * (f[s->class_of[i]] - most) + s->smooth * all / (double)s->C;
        at.value += w * (kb_log_fixed(sum) - slope * target);
        at.g[0] += w * (mean - target);
        at.h[0] += w * (second / sum - mean * mean);
    }
    return at;
}

static local look(const sample *s, double slope, double offset) {
    return s->C == 1 ? two_classes(s, slope, offset) : several_classes(s, slope);
}

/* The Newton step for a Hessian made safely positive; in the offset alone where the slope is
 * at its least and would go below. */
static void direction(const local *at, int at_least, double *d) {
    double ss = at->h[0] * (1 + 1e-12) + 1e-150, so = at->h[1];
    double oo = at->h[2] * (1 + 1e-12) + 1e-150, det = ss * oo - so * so;
    d[0] = -(oo * at->g[0] - so * at->g[1]) / det;
    d[1] = -(ss * at->g[1] - so * at->g[0]) / det;
    if (at_least && !(d[0] > 0)) {
        d[0] = 0;
        d[1] = -at->g[1] / oo;
    }
}

/* The size of the decisions: of several, of their distances from the largest. */
static double size_of(const sample *s) {
    double sum = 0, count = 0;
    for (size_t i = 0; i < s->N; i++) {
        const double *f = s->f + i * s->C;
        double w = kb_weight_of(s->weight, i), most = s->C == 1 ? 0 : f[0];
        for (size_t c = 1; c < s->C; c++)
            most = fmax(most, f[c]);
        for (size_t c = 0; c < s->C; c++)
            sum += w * (f[c] - most) * (f[c] - most);
        count += w * (double)s->C;
    }
    return sum > 0 ? sqrt(sum / count) : 1;
}

/* Begins at a slope that suits the size of the decisions: where all of them are far out, the
 * likelihood has no curvature to go by. */
static kb_calibration minimise(const sample *s) {
    double size = size_of(s), least = LEAST_SLOPE / size;
    kb_calibration c = {.kind = s->C == 1 ? KB_CALIBRATION_SIGMOID : KB_CALIBRATION_SOFTMAX,
                        .slope = 1 / size};
    local at = look(s, c.slope, c.offset);
    for (int step = 0; step < MOST_STEPS; step++) {
        double d[2], t = 1;
        int halving = 0;
        direction(&at, c.slope <= least, d);
        double descent = d[0] * at.g[0] + d[1] * at.g[1];
        if (!(descent < -1e-12 * (fabs(at.value) + 1)))
            break;
        for (; halving < MOST_HALVINGS; halving++, t /= 2) {
            double slope = fmax(c.slope + t * d[0], least), offset = c.offset + t * d[1];
            local next = look(s, slope, offset);
            if (next.value <= at.value + 1e-4 * t * descent ||
                (slope <= least && c.slope > least && next.value < at.value)) {
                c.slope = slope;
                c.offset = offset;
                at = next;
                break;
            }
        }
        if (halving == MOST_HALVINGS)
            break;
    }
    return c;
}

kb_calibration kb_calibrate(size_t N, size_t C, const double *f, const uint32_t *class_of,
                            const double *weight) {
    sample s = {N, C, f, class_of, weight, {0, 1}, 0};
    double total = 0;
    for (size_t i = 0; i < N; i++)
        total += kb_weight_of(weight, i);
    s.smooth = 2 / (total + 2);
    if (C == 1) {
        double count[2] = {0, 0};
        for (size_t i = 0; i < N; i++)
            count[class_of[i]] += kb_weight_of(weight, i);
        s.target[0] = 1 / (count[0] + 2);
        s.target[1] = (count[1] + 1) / (count[1] + 2);
    }
    return minimise(&s);
}

static const char *const NAME[] = {"none", "sigmoid", "softmax"};

const char *kb_calibration_name(kb_calibration_rule kind) {
    return NAME[kind];
}

kb_calibration_rule kb_calibration_kind(const char *name) {
    for (int kind = 1; name && kind < 3; kind++)
        if (strcmp(NAME[kind], name) == 0)
            return (kb_calibration_rule)kind;
    return KB_CALIBRATION_NONE;
}

/* The logits first, in the place of the probabilities. */
static void apply_curve(const kb_curve *curve, size_t C, const double *decision,
                        double *probability) {
    if (C == 1) {
        double logit = kb_curve_at(curve, decision[0]);
        probability[1] = kb_logistic(logit);
        probability[0] = kb_logistic(-logit);
        return;
    }
    for (size_t c = 0; c < C; c++)
        probability[c] = kb_curve_at(curve, decision[c]);
    softmax(C, probability, 1, probability);
}

double kb_calibration_inverse(const kb_calibration *c, double logit) {
    return c->curve.knots ? kb_curve_inverse(&c->curve, logit) : logit / c->slope;
}

void kb_calibration_apply(const kb_calibration *c, size_t C, const double *decision,
                          double *probability) {
    if (c->curve.knots) {
        apply_curve(&c->curve, C, decision, probability);
    } else if (C == 1) {
        probability[1] = kb_logistic(c->slope * decision[0]);
        probability[0] = kb_logistic(-c->slope * decision[0]);
    } else if (c->kind == KB_CALIBRATION_SOFTMAX) {
        softmax(C, decision, c->slope, probability);
    } else {
        double sum = 0, most = decision[0];
        for (size_t k = 1; k < C; k++)
            most = fmax(most, decision[k]);
        most = kb_logistic(c->slope * most); /* rounding must not put another class above it */
        for (size_t k = 0; k < C; k++)
            sum += probability[k] = fmin(kb_logistic(c->slope * decision[k]), most);
        for (size_t k = 0; k < C; k++)
            probability[k] /= sum;
    }
}

double kb_calibration_log_loss(const kb_calibration *c, const kb_validation *v) {
    double sum = 0, total = 0, p[KB_LOG_LOSS_CLASSES];
    if (v->classes > KB_LOG_LOSS_CLASSES)
        return NAN;
    for (size_t h = 0; h < v->rows; h++) {
        double w = kb_weight_of(v->weight, h);
        kb_calibration_apply(c, v->outputs, v->decision + h * v->outputs, p);
        sum -= w * log(fmax(p[v->class_of[h]], 1e-15));
        total += w;
    }
    return sum / total;
}
