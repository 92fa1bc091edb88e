/*
 * law.c - see law.h.
 *
 *   laplace   p = delta exp(-delta), Gamma(2): minus the log of two uniforms.
 *   triangle  all the mass at delta = 1.
 *   power     BetaPrime(2, a).  1/(1+delta) is then Beta(a, 2), which is the product
 *             of a Beta(a, 1) and a Beta(a+1, 1), and Beta(b, 1) is U^(1/b).
 *   table     k'' is a sum of spikes, one at each change of slope.
 */
#include "features/law.h"
#include "core/fixed_math.h"
#include "core/memory.h"
#include "core/number.h"
#include "lines/input.h"
#include "options/say.h"

#include <math.h>
#include <string.h>

/* The slopes of a convex table may be slightly out of order because its decimals are rounded;
 * this much of the steepest slope is tolerated. */
static const double SLOPE_SLACK = 1e-9;

enum { MOST_BYTES = 64 << 20 };

typedef struct knots {
    size_t count, room_t, room_k;
    double *t, *k;
} knots;

static kb_status read_table(kb_context *ctx, const char *path, void *user) {
    static const char blank[] = " \t\r\n,";
    kb_status status;
    kb_input *input = NULL;
    knots *all = user;
    size_t length;
    char *line;
    TRY(kb_input_open(ctx, path, &input));
    for (;;) {
        double x = 0, y = 0;
        TRY(kb_input_line(input, &line, &length));
        if (!line)
            break;
        const char *p = line + strspn(line, blank);
        if (*p == '\0' || *p == '#')
            continue;
        p = kb_number_parse(p, &x);
        p = p ? kb_number_parse(p + strspn(p, blank), &y) : NULL;
        if (!p || p[strspn(p, blank)])
            TRY(kb_input_fail(input, "want two numbers, a distance and the kernel there"));
        TRY(kb_reserve(ctx, all->count + 1, sizeof(double), &all->room_t, &all->t));
        TRY(kb_reserve(ctx, all->count + 1, sizeof(double), &all->room_k, &all->k));
        all->t[all->count] = x;
        all->k[all->count++] = y;
    }
done:
    kb_input_free(input);
    return status;
}

/* Spikes of k'' at the knots 1 .. n-1; each has mass t * (change of slope). */
static kb_status build_table(kb_context *ctx, const char *path, kb_law *law) {
    kb_status status;
    knots all = {0};
    double sum = 0, steepest = 0;
    TRY(kb_read_charged(ctx, path, MOST_BYTES, "too much for a kernel table", read_table, &all));
    size_t n = all.count;
    const double *t = all.t, *k = all.k;
    if (n < 2 || t[0] != 0 || k[0] != 1 || k[n - 1] != 0)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: a kernel table runs from '0 1' to '.. 0'", path));
    TRY(kb_alloc(ctx, n - 1, sizeof(double), &law->knot));
    TRY(kb_alloc(ctx, n - 1, sizeof(double), &law->share));
    law->knots = n - 1;
    for (size_t i = 1; i < n; i++)
        if (!(t[i] > t[i - 1]))
            TRY(kb_fail(ctx, KB_ERR_DATA, "%s: distances must increase (%g after %g)", path, t[i],
                        t[i - 1]));
    for (size_t i = 1; i < n; i++) {
        double before = (k[i] - k[i - 1]) / (t[i] - t[i - 1]);
        double after = i + 1 < n ? (k[i + 1] - k[i]) / (t[i + 1] - t[i]) : 0;
        steepest = fmax(steepest, -before);
        if (before > after + SLOPE_SLACK * steepest)
            TRY(kb_fail(ctx, KB_ERR_DATA, "%s: the kernel must be convex and decreasing (at %g)",
                        path, t[i]));
        sum += t[i] * fmax(after - before, 0);
        law->knot[i - 1] = t[i];
        law->share[i - 1] = sum;
    }
    if (!isfinite(sum))
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: the kernel is too steep", path));
    for (size_t i = 0; i < law->knots; i++)
        law->share[i] /= sum;
done:
    kb_release(ctx, all.t);
    kb_release(ctx, all.k);
    return status;
}

static kb_status refuse(kb_context *ctx, const char *name) {
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: must be " KB_PRODUCT_KERNEL_NAMES,
                   kb_say_value(ctx, KB_OPT_KERNEL, name).text);
}

kb_status kb_law_build(kb_context *ctx, const kb_kernel_name *kernel, kb_law **out) {
    kb_status status;
    kb_law *law;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *law, &law));
    law->allocator = kb_allocator_of(ctx);
    law->kind = kernel->id;
    law->a = kernel->a;
    if (kernel->isotropic)
        TRY(refuse(ctx, kernel->text));
    if (kernel->id == KB_KERNEL_POWER && !(law->a >= 0.01 && law->a <= 1000))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%s: A must be from 0.01 to 1000",
                    kb_say_value(ctx, KB_OPT_KERNEL, kernel->text).text));
    if (kernel->id == KB_KERNEL_TABLE)
        TRY(build_table(ctx, kernel->file, law));
    *out = law;
done:
    if (status != KB_OK)
        kb_law_free(law);
    return status;
}

kb_status kb_law_parse(kb_context *ctx, const char *text, kb_law **out) {
    kb_kernel_name name;
    *out = NULL;
    return kb_kernel_name_parse(text, &name) ? kb_law_build(ctx, &name, out) : refuse(ctx, text);
}

void kb_law_free(kb_law *law) {
    if (!law)
        return;
    kb_allocator_release(law->allocator, law->knot);
    kb_allocator_release(law->allocator, law->share);
    kb_allocator_release(law->allocator, law);
}

const kb_law *kb_law_levels(void) {
    static const kb_law levels = {.levels = 1};
    return &levels;
}

double kb_levels_cut(double sigma) {
    return 1 - kb_exp_minus_fixed(1 / sigma);
}

double kb_law_width(const kb_law *law, kb_uniform2 draw) {
    switch (law->kind) {
    case KB_KERNEL_LAPLACE:
        return -(kb_log_fixed(draw.u) + kb_log_fixed(draw.v));
    case KB_KERNEL_TRIANGLE:
        return 1;
    case KB_KERNEL_POWER: {
        double minus_log = -(kb_log_fixed(draw.u) / law->a + kb_log_fixed(draw.v) / (law->a + 1));
        return kb_expm1_fixed(fmin(minus_log, 600));
    }
    case KB_KERNEL_TABLE:
    case KB_KERNEL_EXPONENTIAL: /* these two have no law */
    case KB_KERNEL_GAUSS:
        break;
    }
    size_t i = 0;
    while (i + 1 < law->knots && draw.u >= law->share[i])
        i++;
    return law->knot[i];
}

double kb_law_kernel(const kb_law *law, double t) {
    switch (law->kind) {
    case KB_KERNEL_LAPLACE:
        return exp(-t);
    case KB_KERNEL_TRIANGLE:
        return fmax(0, 1 - t);
    case KB_KERNEL_POWER:
        return pow(1 + t, -law->a);
    case KB_KERNEL_TABLE:
    case KB_KERNEL_EXPONENTIAL:
    case KB_KERNEL_GAUSS:
        break;
    }
    double k = 0, before = 0; /* k(t) = sum over the knots of share * max(0, 1 - t/knot) */
    for (size_t i = 0; i < law->knots; i++) {
        k += (law->share[i] - before) * fmax(0, 1 - t / law->knot[i]);
        before = law->share[i];
    }
    return k;
}
