/*
 * synthetic.c - see synthetic.h.
 *
 * Every set shows something about kernels and grids:
 *
 *   checkers  4 x 4 board on the unit square, 2 classes: edges along the axes, where
 *             random binning is at home
 *   rings     3 rings around a point, 3 classes: edges that no axis follows
 *   spirals   2 spirals of two turns, 2 classes: fine, curved structure
 *   friedman  10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5, and five features
 *             that do not matter (Friedman, Multivariate adaptive regression splines,
 *             1991): smooth regression
 *   steps     floor(4 x1) + 2 [x2 > 0.3][x3 < 0.7] + sin(2 pi x4): regression with
 *             jumps, which Fourier features blur
 *
 * Row i is a pure function of (seed, i).  Sines are summed here in a fixed order, as in
 * fixed_math.h: libm's differ in the last bit from one CPU to another.
 */
#include "data/synthetic.h"
#include "core/fixed_math.h"
#include "core/random.h"

#include <math.h>
#include <string.h>

enum { ROWS_PER_REPORT = 100000 };

/* One row: draws are numbered, and draw 0 is kept for the noise. */
typedef struct row_source {
    uint64_t seed, row;
} row_source;

static kb_uniform2 draw(row_source source, uint32_t number) {
    return kb_random_uniform(source.seed, KB_STREAM_SYNTHETIC, source.row, number);
}

/* Sine and cosine of `turns` full turns. */
typedef struct direction {
    double cosine, sine;
} direction;

/* Taken to the nearest quarter turn, which leaves an angle a of at most pi/4; Taylor
 * series up to a^19 / 19! < 1e-19. */
static direction turn(double turns) {
    double quarters = floor(4 * turns + 0.5);
    double a = (turns - quarters / 4) * 0x1.921fb54442d18p+2;
    double square = a * a, sine = 0, cosine = 0;
    for (int n = 18; n >= 2; n -= 2) {
        cosine = (1 + cosine) * (-square / (n * (n - 1)));
        sine = (1 + sine) * (-square / (n * (n + 1)));
    }
    cosine += 1;
    sine = a * (1 + sine);
    switch ((int)fmod(quarters, 4)) {
    case 0:
        return (direction){cosine, sine};
    case 1:
        return (direction){-sine, cosine};
    case 2:
        return (direction){-cosine, -sine};
    default:
        return (direction){sine, -cosine};
    }
}

/* ---- the sets ---------------------------------------------------------- */

/* Fills x and returns the class or the target, both without noise. */
typedef double make_row(row_source source, double *x);

static double make_checkers(row_source source, double *x) {
    kb_uniform2 at = draw(source, 1);
    x[0] = at.u;
    x[1] = at.v;
    return ((int)(4 * x[0]) + (int)(4 * x[1])) % 2;
}

static double make_rings(row_source source, double *x) {
    kb_uniform2 at = draw(source, 1), which = draw(source, 2);
    int ring = (int)(3 * which.u);
    double radius = ring + 0.2 + 0.6 * at.u;
    direction to = turn(at.v);
    x[0] = radius * to.cosine;
    x[1] = radius * to.sine;
    return ring;
}

/* The second arm is the first turned by half; the square root spreads the samples
 * evenly along the arm, whose circles grow. */
static double make_spirals(row_source source, double *x) {
    kb_uniform2 at = draw(source, 1), which = draw(source, 2);
    int arm = which.u < 0.5 ? 0 : 1;
    double along = sqrt(at.u);
    double radius = 0.1 + 0.9 * along + 0.1 * (at.v - 0.5);
    direction to = turn(2 * along + 0.5 * arm);
    x[0] = radius * to.cosine;
    x[1] = radius * to.sine;
    return arm;
}

static double make_friedman(row_source source, double *x) {
    for (uint32_t k = 0; k < 5; k++) {
        kb_uniform2 pair = draw(source, k + 1);
        x[2 * k] = pair.u;
        x[2 * k + 1] = pair.v;
    }
    double middle = x[2] - 0.5;
    return 10 * turn(x[0] * x[1] / 2).sine + 20 * middle * middle + 10 * x[3] + 5 * x[4];
}

static double make_steps(row_source source, double *x) {
    for (uint32_t k = 0; k < 2; k++) {
        kb_uniform2 pair = draw(source, k + 1);
        x[2 * k] = pair.u;
        x[2 * k + 1] = pair.v;
    }
    return floor(4 * x[0]) + (x[1] > 0.3 && x[2] < 0.7 ? 2 : 0) + turn(x[3]).sine;
}

typedef struct set {
    const char *name;
    size_t features;
    int classes;      /* 0: regression */
    double deviation; /* of the target, for regression */
    make_row *make;
} set;

/* Deviation of steps: sqrt(15/12 + 4 * 0.49 * 0.51 + 1/2).  That of friedman:
 * sqrt(V + 20/9 + 100/12 + 25/12) with V = 11.188, the variance of 10 sin(pi x1 x2),
 * integrated numerically. */
static const set sets[] = {
    {"checkers", 2, 2, 0, make_checkers},      {"rings", 2, 3, 0, make_rings},
    {"spirals", 2, 2, 0, make_spirals},        {"friedman", 10, 0, 4.8812, make_friedman},
    {"steps", 4, 0, 1.6581917862, make_steps},
};

const char *kb_synthetic_names(void) {
    return "checkers|rings|spirals|friedman|steps";
}

static const set *find_set(const char *name) {
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
        if (strcmp(sets[k].name, name) == 0)
            return &sets[k];
    return NULL;
}

/* ---- noise ------------------------------------------------------------- */

/* With probability `noise` one of the other classes, each with the same probability. */
static double flip(row_source source, int classes, double noise, double label) {
    kb_uniform2 luck = draw(source, 0);
    if (luck.u >= noise)
        return label;
    return fmod(label + 1 + floor(luck.v * (classes - 1)), classes);
}

/* A standard normal number (Box and Muller, 1958). */
static double normal(row_source source) {
    kb_uniform2 luck = draw(source, 0);
    return sqrt(-2 * kb_log_fixed(luck.u)) * turn(luck.v).cosine;
}

/* ------------------------------------------------------------------------ */

static kb_status check(kb_context *ctx, const set *s, const char *name, size_t rows, double noise) {
    if (!s)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "no synthetic data are called '%s'; there are %s",
                       name, kb_synthetic_names());
    if (rows == 0)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "rows must be at least 1");
    if (rows > KB_ROWS_MAX)
        return kb_fail(ctx, KB_ERR_DATA, KB_ROWS_TOO_MANY);
    if (!(noise >= 0) || isinf(noise) || (s->classes > 0 && noise > 1))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "noise %g: it must be %s", noise,
                       s->classes > 0 ? "a share from 0 to 1" : "0 or more");
    return KB_OK;
}

kb_status kb_synthetic_build(kb_context *ctx, const char *name, size_t rows, double noise,
                             uint64_t seed, kb_data **out) {
    kb_status status;
    const set *s = find_set(name);
    kb_data *data = NULL;
    *out = NULL;
    TRY(check(ctx, s, name, rows, noise));
    if (rows > SIZE_MAX / s->features)
        TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: %zu rows", rows));
    TRY(kb_data_create(ctx, &data));
    data->rows = rows;
    data->features = s->features;
    TRY(kb_alloc(ctx, rows * s->features, sizeof *data->dense, &data->dense));
    TRY(kb_alloc(ctx, rows, sizeof *data->label, &data->label));
    for (size_t i = 0; i < rows; i++) {
        if (i % ROWS_PER_REPORT == 0)
            TRY(kb_progress(ctx, "generate", (double)i / (double)rows));
        row_source source = {seed, i};
        double target = s->make(source, data->dense + i * s->features);
        if (s->classes > 0)
            data->label[i] = flip(source, s->classes, noise, target);
        else
            data->label[i] = target + noise * s->deviation * normal(source);
    }
    *out = data;
done:
    if (status != KB_OK)
        kb_data_free(data);
    return status;
}
