/* bins.c - see bins.h. */
#include "simd/bins.h"
#include "simd/contribution.h"

extern const kb_bin_loops KB_OF_LEVEL(kb_bin_loops);

/* (x - shift) * scale, held where no lane's bin number leaves 32 bits. */
INLINE double scaled_value(const kb_bin_block *block, size_t j, double x) {
    double most = block->bound[j];
    double y = (x - block->shift[j]) * block->scale[j];
    y = y < most ? y : most;
    return y > -most ? y : -most;
}

static void keys_of_row(const kb_bin_block *block, const double *x, size_t stride, uint64_t *keys) {
    keys_t sum = {0};
    const double *p = block->parameter;
    for (size_t j = 0; j < block->features; j++, p += 2 * KB_LANES)
        sum += contribution(scaled_value(block, j, x[j]), p, block->factor[j]);
    store_keys(sum, stride, keys);
}

/* Several dense rows at once, a row in each lane: their scaling serves all grids of the block, and
 * the keys of a grid lie side by side as they are stored.  As many rows as leave a register for
 * each grid's sum. */
#ifdef __AVX512DQ__
enum { ROWS = 8 };
#else
enum { ROWS = 4 };
#endif
typedef double row_reals __attribute__((vector_size(8 * ROWS)));
typedef int64_t row_longs __attribute__((vector_size(8 * ROWS)));
typedef uint64_t row_keys __attribute__((vector_size(8 * ROWS)));

/* AVX-512 has floor to 64-bit integers in one instruction, which compilers do not emit for plain
 * C. */
#ifdef __AVX512DQ__
INLINE row_reals row_at(const double *x, size_t d) {
    return (row_reals){x[0], x[d], x[2 * d], x[3 * d], x[4 * d], x[5 * d], x[6 * d], x[7 * d]};
}

INLINE row_longs floors(row_reals t) {
    return (row_longs)_mm512_cvt_roundpd_epi64((__m512d)t,
                                               _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
#else
INLINE row_reals row_at(const double *x, size_t d) {
    return (row_reals){x[0], x[d], x[2 * d], x[3 * d]};
}

INLINE row_longs floors(row_reals t) {
    typedef int32_t row_ints __attribute__((vector_size(4 * ROWS)));
    row_ints truncated = __builtin_convertvector(t, row_ints);
    row_longs above = t < __builtin_convertvector(truncated, row_reals);
    return __builtin_convertvector(truncated, row_longs) + above;
}
#endif

INLINE row_reals choose(row_longs where, row_reals a, row_reals b) {
    return (row_reals)((where & (row_longs)a) | (~where & (row_longs)b));
}

/* As scaled_value. */
INLINE row_reals scaled_column(const kb_bin_block *block, size_t j, const double *x) {
    row_reals most = block->bound[j] - (row_reals){0};
    row_reals y = (row_at(x + j, block->features) - block->shift[j]) * block->scale[j];
    y = choose(y < most, y, most);
    return choose(y > -most, y, -most);
}

/* A grid that does not cut a feature has 1/delta = 0 and offset = 0, and so the bin 0. */
INLINE void keys_of_rows(const kb_bin_block *block, const double *x, size_t stride,
                         uint64_t *keys) {
    row_keys sum[KB_LANES] = {{0}};
    const double *p = block->parameter;
    for (size_t j = 0; j < block->features; j++, p += 2 * KB_LANES) {
        row_reals y = scaled_column(block, j, x);
        for (size_t k = 0; k < KB_LANES; k++)
            if (p[k] != 0)
                sum[k] += (row_keys)floors(y * p[k] + p[KB_LANES + k]) * block->factor[j];
    }
    for (size_t k = 0; k < KB_LANES; k++) {
        sum[k] ^= sum[k] >> 32; /* kb_key_mix */
        sum[k] *= KB_KEY_FACTOR;
        memcpy(keys + k * stride, &sum[k], sizeof sum[k]);
    }
}

static void keys_dense(const kb_bin_block *block, size_t rows, const double *x, size_t stride,
                       uint64_t *keys) {
    size_t i = 0, d = block->features;
    for (; i + ROWS <= rows; i += ROWS)
        keys_of_rows(block, x + i * d, stride, keys + i);
    for (; i < rows; i++)
        keys_of_row(block, x + i * d, stride, keys + i);
}

static void keys_zero(const kb_bin_block *block, uint64_t *zero, uint64_t *total) {
    const double *p = block->parameter;
    keys_t sum = {0};
    for (size_t j = 0; j < block->features; j++, p += 2 * KB_LANES, zero += KB_LANES) {
        keys_t z = contribution(scaled_value(block, j, 0), p, block->factor[j]);
        memcpy(zero, &z, sizeof z);
        sum += z;
    }
    memcpy(total, &sum, sizeof sum);
}

static void keys_sparse(const kb_bin_block *block, size_t rows, const size_t *row_start,
                        const uint32_t *column, const double *value, const uint64_t *zero,
                        const uint64_t *total, size_t stride, uint64_t *keys) {
    for (size_t i = 0; i < rows; i++) {
        keys_t sum, z;
        memcpy(&sum, total, sizeof sum);
        for (size_t e = row_start[i]; e < row_start[i + 1]; e++) {
            size_t j = column[e];
            const double *p = block->parameter + j * 2 * KB_LANES;
            memcpy(&z, zero + j * KB_LANES, sizeof z);
            sum += contribution(scaled_value(block, j, value[e]), p, block->factor[j]) - z;
        }
        store_keys(sum, stride, keys + i);
    }
}

/* Eight, four and two columns at a time; the compiler does not vectorise this by itself. */
typedef double reals4 __attribute__((vector_size(32)));
typedef double reals2 __attribute__((vector_size(16)));

/* to[c] += x[c], the number of columns being a constant. */
INLINE void add_columns(double *to, const double *x, size_t columns) {
    if (columns == KB_PANEL) {
        reals sum = load(to) + load(x);
        memcpy(to, &sum, sizeof sum);
    } else if (columns == 4) {
        reals4 sum, y;
        memcpy(&sum, to, sizeof sum);
        memcpy(&y, x, sizeof y);
        sum += y;
        memcpy(to, &sum, sizeof sum);
    } else if (columns == 2) {
        reals2 sum, y;
        memcpy(&sum, to, sizeof sum);
        memcpy(&y, x, sizeof y);
        sum += y;
        memcpy(to, &sum, sizeof sum);
    } else {
        *to += *x;
    }
}

/* The two loops below are written once and specialised by the compiler for the bits
 * and number of columns. */
INLINE void scatter_as(const void *ids, int bits, size_t begin, size_t end, size_t columns,
                       const double *v, size_t ld, double *const *sums) {
    double *s0 = sums[0], *s1 = sums[1], *s2 = sums[2], *s3 = sums[3];
    for (size_t i = begin; i < end; i++) {
        four at = ids_of(ids, bits, i);
        double x[KB_PANEL];
        memcpy(x, v + i * ld, columns * sizeof(double));
        add_columns(s0 + at.id[0] * columns, x, columns);
        add_columns(s1 + at.id[1] * columns, x, columns);
        add_columns(s2 + at.id[2] * columns, x, columns);
        add_columns(s3 + at.id[3] * columns, x, columns);
    }
}

/* The sum over the grids is ((0 + 1) + (2 + 3)), in every column. */
INLINE void gather_as(const void *ids, int bits, size_t begin, size_t end, size_t columns,
                      const double *const *sums, int first, double *out, size_t ld) {
    const double *s0 = sums[0], *s1 = sums[1], *s2 = sums[2], *s3 = sums[3];
    for (size_t i = begin; i < end; i++) {
        four at = ids_of(ids, bits, i);
        double low[KB_PANEL], high[KB_PANEL];
        memcpy(low, s0 + at.id[0] * columns, columns * sizeof(double));
        memcpy(high, s2 + at.id[2] * columns, columns * sizeof(double));
        add_columns(low, s1 + at.id[1] * columns, columns);
        add_columns(high, s3 + at.id[3] * columns, columns);
        add_columns(low, high, columns);
        if (first)
            memcpy(out + i * ld, low, columns * sizeof(double));
        else
            add_columns(out + i * ld, low, columns);
    }
}

INLINE void scatter_bits(const void *ids, int bits, size_t begin, size_t end, size_t columns,
                         const double *v, size_t ld, double *const *sums) {
    if (columns == 1)
        scatter_as(ids, bits, begin, end, 1, v, ld, sums);
    else if (columns == 2)
        scatter_as(ids, bits, begin, end, 2, v, ld, sums);
    else if (columns == 4)
        scatter_as(ids, bits, begin, end, 4, v, ld, sums);
    else
        scatter_as(ids, bits, begin, end, KB_PANEL, v, ld, sums);
}

INLINE void gather_bits(const void *ids, int bits, size_t begin, size_t end, size_t columns,
                        const double *const *sums, int first, double *out, size_t ld) {
    if (columns == 1)
        gather_as(ids, bits, begin, end, 1, sums, first, out, ld);
    else if (columns == 2)
        gather_as(ids, bits, begin, end, 2, sums, first, out, ld);
    else if (columns == 4)
        gather_as(ids, bits, begin, end, 4, sums, first, out, ld);
    else
        gather_as(ids, bits, begin, end, KB_PANEL, sums, first, out, ld);
}

static void scatter(const kb_id_group *group, size_t begin, size_t end, size_t columns,
                    const double *v, size_t ld, double *const *sums) {
    KB_WITH_BITS(group->bits, scatter_bits(group->ids, BITS, begin, end, columns, v, ld, sums));
}

static void gather(const kb_id_group *group, size_t begin, size_t end, size_t columns,
                   const double *const *sums, int first, double *out, size_t ld) {
    KB_WITH_BITS(group->bits,
                 gather_bits(group->ids, BITS, begin, end, columns, sums, first, out, ld));
}

const kb_bin_loops KB_OF_LEVEL(kb_bin_loops) = {
    .keys_dense = keys_dense,
    .keys_zero = keys_zero,
    .keys_sparse = keys_sparse,
    .scatter = scatter,
    .gather = gather,
};
