/*
 * kernel.c - see kernel.h.
 *
 * Blocks are filled by tiles (simd/tiles.h): for each pair the features are taken in order, one
 * subtraction and one or two operations each.  (The inner product would be one operation, but |x|^2
 * + |y|^2 - 2 x'y loses the digits of small distances.) Two cases go pair by pair instead: tables,
 * and rows of so few entries that spreading them out would not pay.
 */
#include "rivals/kernel.h"
#include "core/fixed_math.h"
#include "options/say.h"

#include <math.h>
#include <string.h>

/* A block and the features packed at a time, for the second-level cache. */
enum { ROWS = 96, COLUMNS = 256, DEPTH = 128 };

/* A product of so many factors 1 + t is folded into a sum of logs before it can overflow. */
enum { FOLD = 32 };

static kb_status create(kb_context *ctx, kb_kernel_id kind, kb_kernel **out) {
    kb_status status = kb_zalloc(ctx, 1, sizeof **out, out);
    if (status != KB_OK)
        return status;
    (*out)->allocator = kb_allocator_of(ctx);
    (*out)->kind = kind;
    return KB_OK;
}

kb_status kb_kernel_parse(kb_context *ctx, const char *text, kb_kernel **out) {
    kb_status status;
    kb_kernel *kernel = NULL;
    kb_kernel_name name;
    *out = NULL;
    if (!kb_kernel_name_parse(text, &name))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "%s: must be " KB_KERNEL_NAMES,
                    kb_say_value(ctx, KB_OPT_KERNEL, text).text));
    TRY(create(ctx, name.id, &kernel));
    if (!name.isotropic)
        TRY(kb_law_build(ctx, &name, &kernel->law));
    *out = kernel;
done:
    if (status != KB_OK)
        kb_kernel_free(kernel);
    return status;
}

kb_status kb_kernel_restore(kb_context *ctx, const char *text, size_t knots, const double *knot,
                            const double *share, kb_kernel **out) {
    kb_status status;
    kb_kernel *kernel = NULL;
    kb_law *law;
    *out = NULL;
    kb_kernel_name name;
    if (!kb_kernel_name_parse(text, &name) || name.id != KB_KERNEL_TABLE) {
        status = kb_kernel_parse(ctx, text, out);
        return status == KB_ERR_ARGUMENT
                   ? kb_fail(ctx, KB_ERR_MODEL, "the kernel '%.40s' is not known", text)
                   : status;
    }
    if (knots == 0)
        return kb_fail(ctx, KB_ERR_MODEL, "the knots of the kernel table are missing");
    TRY(create(ctx, KB_KERNEL_TABLE, &kernel));
    TRY(kb_zalloc(ctx, 1, sizeof *law, &law));
    kernel->law = law;
    law->allocator = kb_allocator_of(ctx);
    law->kind = KB_KERNEL_TABLE;
    law->knots = knots;
    TRY(kb_alloc(ctx, knots, sizeof(double), &law->knot));
    TRY(kb_alloc(ctx, knots, sizeof(double), &law->share));
    memcpy(law->knot, knot, knots * sizeof(double));
    memcpy(law->share, share, knots * sizeof(double));
    *out = kernel;
done:
    if (status != KB_OK)
        kb_kernel_free(kernel);
    return status;
}

void kb_kernel_free(kb_kernel *kernel) {
    if (!kernel)
        return;
    kb_law_free(kernel->law);
    kb_allocator_release(kernel->allocator, kernel);
}

/* A kernel that no pairing of tiles.h computes: a table, or one that is new. */
static int goes_pair_by_pair(const kb_kernel *kernel) {
    return kernel->law && kernel->law->kind != KB_KERNEL_LAPLACE &&
           kernel->law->kind != KB_KERNEL_TRIANGLE && kernel->law->kind != KB_KERNEL_POWER;
}

static kb_pairing pairing_of(const kb_kernel *kernel) {
    if (kb_kernel_is_isotropic(kernel))
        return KB_PAIR_SQUARE;
    return kernel->law->kind == KB_KERNEL_LAPLACE    ? KB_PAIR_ABSOLUTE
           : kernel->law->kind == KB_KERNEL_TRIANGLE ? KB_PAIR_TRIANGLE
                                                     : KB_PAIR_POWER;
}

/* From what the features add up to, to the kernel. */
static void finish(const kb_kernel *kernel, const kb_tiles *tiles, size_t n, double *x) {
    switch (pairing_of(kernel)) {
    case KB_PAIR_SQUARE:
        if (kernel->kind == KB_KERNEL_GAUSS)
            tiles->exp_minus(n, 0.5, x);
        else
            tiles->exp_minus_root(n, x);
        break;
    case KB_PAIR_ABSOLUTE:
        tiles->exp_minus(n, 1, x);
        break;
    case KB_PAIR_POWER:
        tiles->exp_minus(n, kernel->law->a, x);
        break;
    case KB_PAIR_TRIANGLE:
    case KB_PAIR_PRODUCT:
        break;
    }
}

/* ---- tiles ------------------------------------------------------------- */

typedef struct buffers {
    double *a, *b; /* packed */
    double *c, *sum;
} buffers;

size_t kb_kernel_scratch(void) {
    return KB_LINE + (ROWS + COLUMNS) * DEPTH + 2 * ROWS * COLUMNS;
}

/* Every tile of a block of so many rows and columns. */
static void fill_with(double *x, size_t rows, size_t columns, double value) {
    size_t width = (columns + KB_TILE_COLUMNS - 1) / KB_TILE_COLUMNS * KB_TILE_COLUMNS;
    for (size_t i = 0; i < (rows + KB_TILE_ROWS - 1) / KB_TILE_ROWS * KB_TILE_ROWS; i++)
        for (size_t j = 0; j < width; j++)
            x[i * COLUMNS + j] = value;
}

/* Adds the features k .. k + K to the block in s->c. */
static void take_in(kb_pairing pairing, const kb_tiles *tiles, const buffers *s, size_t rows,
                    size_t columns, size_t K) {
    for (size_t j = 0; j < columns; j += KB_TILE_COLUMNS)
        for (size_t i = 0; i < rows; i += KB_TILE_ROWS)
            tiles->tile(pairing, K, s->a + i * K, s->b + j * K, s->c + i * COLUMNS + j, COLUMNS);
}

static void fill_block(const kb_kernel *kernel, const kb_tiles *tiles, const kb_points *a,
                       size_t first_a, size_t rows, const kb_points *b, size_t first_b,
                       size_t columns, double *scratch, double *out, size_t ld) {
    kb_pairing pairing = pairing_of(kernel);
    buffers s = {.a = kb_aligned(scratch)};
    s.b = s.a + ROWS * DEPTH;
    s.c = s.b + COLUMNS * DEPTH;
    s.sum = s.c + ROWS * COLUMNS;
    size_t depth = pairing == KB_PAIR_POWER ? FOLD : DEPTH;
    double start = pairing == KB_PAIR_TRIANGLE || pairing == KB_PAIR_POWER;
    fill_with(s.c, rows, columns, start);
    if (pairing == KB_PAIR_POWER)
        fill_with(s.sum, rows, columns, 0);
    for (size_t k = 0; k < a->features; k += depth) {
        size_t K = a->features - k < depth ? a->features - k : depth;
        kb_points_pack(a, first_a, rows, KB_TILE_ROWS, k, K, s.a);
        kb_points_pack(b, first_b, columns, KB_TILE_COLUMNS, k, K, s.b);
        take_in(pairing, tiles, &s, rows, columns, K);
        if (pairing == KB_PAIR_POWER) {
            for (size_t i = 0; i < rows; i++)
                tiles->add_logs(columns, s.c + i * COLUMNS, s.sum + i * COLUMNS);
            fill_with(s.c, rows, columns, 1);
        }
    }
    for (size_t i = 0; i < rows; i++) {
        double *row = (pairing == KB_PAIR_POWER ? s.sum : s.c) + i * COLUMNS;
        finish(kernel, tiles, columns, row);
        memcpy(out + i * ld, row, columns * sizeof *out);
    }
}

/* ---- pair by pair ------------------------------------------------------ */

/* The entries of two rows, feature by feature. */
typedef struct walk {
    const kb_points *p[2];
    size_t at[2], end[2]; /* entries, or features of a dense row */
} walk;

static size_t feature_at(const walk *w, int s) {
    if (w->at[s] == w->end[s])
        return SIZE_MAX;
    return w->p[s]->dense ? w->at[s] % w->p[s]->features : w->p[s]->column[w->at[s]];
}

static walk walk_from(const kb_points *a, size_t i, const kb_points *b, size_t j) {
    walk w = {.p = {a, b}};
    for (int s = 0; s < 2; s++) {
        size_t row = s ? j : i, d = w.p[s]->features;
        w.at[s] = w.p[s]->dense ? row * d : w.p[s]->row_start[row];
        w.end[s] = w.p[s]->dense ? (row + 1) * d : w.p[s]->row_start[row + 1];
    }
    return w;
}

/* The next feature where one of the rows has an entry, and both values; SIZE_MAX at the end. */
static size_t step(walk *w, double *x) {
    size_t of[2] = {feature_at(w, 0), feature_at(w, 1)};
    size_t j = of[0] < of[1] ? of[0] : of[1];
    for (int s = 0; j != SIZE_MAX && s < 2; s++)
        if (of[s] == j)
            x[s] = w->p[s]->dense ? w->p[s]->dense[w->at[s]++] : w->p[s]->value[w->at[s]++];
        else
            x[s] = w->p[s]->zero[j];
    return j;
}

/* The same result as `tile` and the folding of fill_block, in the same order. */
static double pair_of(const kb_kernel *kernel, walk w) {
    kb_pairing pairing = pairing_of(kernel);
    int pairs = goes_pair_by_pair(kernel);
    double c = pairing == KB_PAIR_TRIANGLE || pairing == KB_PAIR_POWER, sum = 0, x[2];
    size_t fold = 0;
    for (size_t j = step(&w, x); j != SIZE_MAX; j = step(&w, x)) {
        double t = fabs(x[0] - x[1]);
        if (pairs) {
            c *= kb_law_kernel(kernel->law, t);
        } else if (pairing == KB_PAIR_SQUARE) {
            c = fma(t, t, c);
        } else if (pairing == KB_PAIR_ABSOLUTE) {
            c += t;
        } else if (pairing == KB_PAIR_TRIANGLE) {
            c *= t < 1 ? 1 - t : 0;
        } else {
            if (j / FOLD != fold) {
                sum += kb_log_fixed(c);
                c = 1;
                fold = j / FOLD;
            }
            c *= 1 + t;
        }
    }
    return pairs || pairing != KB_PAIR_POWER ? c : sum + kb_log_fixed(c);
}

void kb_kernel_block(const kb_kernel *kernel, const kb_tiles *tiles, const kb_points *a,
                     size_t first_a, size_t rows, const kb_points *b, size_t first_b,
                     size_t columns, double *scratch, double *out, size_t ld) {
    int pairs = goes_pair_by_pair(kernel);
    if (pairs || (kb_points_thin(a) && kb_points_thin(b))) {
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < columns; j++)
                out[i * ld + j] = pair_of(kernel, walk_from(a, first_a + i, b, first_b + j));
            if (!pairs)
                finish(kernel, tiles, columns, out + i * ld);
        }
        return;
    }
    for (size_t i = 0; i < rows; i += ROWS)
        for (size_t j = 0; j < columns; j += COLUMNS)
            fill_block(kernel, tiles, a, first_a + i, rows - i < ROWS ? rows - i : ROWS, b,
                       first_b + j, columns - j < COLUMNS ? columns - j : COLUMNS, scratch,
                       out + i * ld + j, ld);
}
