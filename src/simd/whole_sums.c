/* whole_sums.c - see whole_sums.h. */
#include "simd/whole_sums.h"
#include "simd/lanes.h"

extern const kb_whole_sums KB_OF_LEVEL(kb_whole_sums);

typedef int32_t ints8 __attribute__((vector_size(32)));
typedef int32_t ints4 __attribute__((vector_size(16)));
typedef int32_t ints2 __attribute__((vector_size(8)));
typedef int64_t longs8 __attribute__((vector_size(64)));
typedef int64_t longs4 __attribute__((vector_size(32)));
typedef int64_t longs2 __attribute__((vector_size(16)));

/* sum[0 .. columns) += x, as the type `longs` of that many; x has the type of its elements. */
#define ADD_WIDENED(longs, ints)                                                                   \
    do {                                                                                           \
        longs sum_;                                                                                \
        ints x_;                                                                                   \
        memcpy(&sum_, sum, sizeof sum_);                                                           \
        memcpy(&x_, x, sizeof x_);                                                                 \
        sum_ += __builtin_convertvector(x_, longs);                                                \
        memcpy(sum, &sum_, sizeof sum_);                                                           \
    } while (0)

INLINE void add_ints(int64_t *sum, const int32_t *x, size_t columns) {
    if (columns == KB_PANEL)
        ADD_WIDENED(longs8, ints8);
    else if (columns == 4)
        ADD_WIDENED(longs4, ints4);
    else if (columns == 2)
        ADD_WIDENED(longs2, ints2);
    else
        *sum += *x;
}

INLINE void add_longs(int64_t *sum, const int64_t *x, size_t columns) {
    if (columns == KB_PANEL)
        ADD_WIDENED(longs8, longs8);
    else if (columns == 4)
        ADD_WIDENED(longs4, longs4);
    else if (columns == 2)
        ADD_WIDENED(longs2, longs2);
    else
        *sum += *x;
}

INLINE void add_steps(int32_t *sum, const int32_t *x, size_t columns) {
    if (columns == KB_PANEL)
        ADD_WIDENED(ints8, ints8);
    else if (columns == 4)
        ADD_WIDENED(ints4, ints4);
    else if (columns == 2)
        ADD_WIDENED(ints2, ints2);
    else
        *sum += *x;
}

/* The loops below are written once and specialised by the compiler for the bits, number of
 * columns and choice of lanes. */
INLINE void scatter_as(const void *ids, int bits, size_t lane, size_t begin, size_t end,
                       size_t columns, const int32_t *v, int64_t *const *sums) {
    if (lane < KB_GROUP) {
        int64_t *s = sums[lane];
        for (size_t i = begin; i < end; i++)
            add_ints(s + kb_id_get(ids, bits, i, lane) * columns, v + i * columns, columns);
        return;
    }
    int64_t *s0 = sums[0], *s1 = sums[1], *s2 = sums[2], *s3 = sums[3];
    for (size_t i = begin; i < end; i++) {
        const int32_t *x = v + i * columns;
        four at = ids_of(ids, bits, i);
        add_ints(s0 + at.id[0] * columns, x, columns);
        add_ints(s1 + at.id[1] * columns, x, columns);
        add_ints(s2 + at.id[2] * columns, x, columns);
        add_ints(s3 + at.id[3] * columns, x, columns);
    }
}

INLINE void scatter_sums_as(const void *ids, int bits, size_t lane, size_t begin, size_t end,
                            size_t columns, const int64_t *v, int64_t *const *sums) {
    if (lane < KB_GROUP) {
        int64_t *s = sums[lane];
        for (size_t i = begin; i < end; i++)
            add_longs(s + kb_id_get(ids, bits, i, lane) * columns, v + i * columns, columns);
        return;
    }
    int64_t *s0 = sums[0], *s1 = sums[1], *s2 = sums[2], *s3 = sums[3];
    for (size_t i = begin; i < end; i++) {
        const int64_t *x = v + i * columns;
        four at = ids_of(ids, bits, i);
        add_longs(s0 + at.id[0] * columns, x, columns);
        add_longs(s1 + at.id[1] * columns, x, columns);
        add_longs(s2 + at.id[2] * columns, x, columns);
        add_longs(s3 + at.id[3] * columns, x, columns);
    }
}

INLINE void gather_as(const void *ids, int bits, size_t lane, size_t begin, size_t end,
                      size_t columns, const int32_t *const *step, int first, int32_t *out) {
    const int32_t *s0 = step[0], *s1 = step[1], *s2 = step[2], *s3 = step[3];
    const int32_t *s = lane < KB_GROUP ? step[lane] : NULL;
    for (size_t i = begin; i < end; i++) {
        int32_t sum[KB_PANEL];
        if (s) {
            memcpy(sum, s + kb_id_get(ids, bits, i, lane) * columns, columns * sizeof *sum);
        } else {
            four at = ids_of(ids, bits, i);
            memcpy(sum, s0 + at.id[0] * columns, columns * sizeof *sum);
            add_steps(sum, s1 + at.id[1] * columns, columns);
            add_steps(sum, s2 + at.id[2] * columns, columns);
            add_steps(sum, s3 + at.id[3] * columns, columns);
        }
        if (first)
            memcpy(out + i * columns, sum, columns * sizeof *sum);
        else
            add_steps(out + i * columns, sum, columns);
    }
}

/* Calls `body` with bits, lane and columns as constants. */
#define BY_LANE(body, columns, ...)                                                                \
    do {                                                                                           \
        if (lane == KB_GROUP)                                                                      \
            body(group->ids, BITS, KB_GROUP, begin, end, columns, __VA_ARGS__);                    \
        else                                                                                       \
            body(group->ids, BITS, lane, begin, end, columns, __VA_ARGS__);                        \
    } while (0)
#define BY_COLUMNS(body, ...)                                                                      \
    do {                                                                                           \
        if (columns == 1)                                                                          \
            BY_LANE(body, 1, __VA_ARGS__);                                                         \
        else if (columns == 2)                                                                     \
            BY_LANE(body, 2, __VA_ARGS__);                                                         \
        else if (columns == 4)                                                                     \
            BY_LANE(body, 4, __VA_ARGS__);                                                         \
        else                                                                                       \
            BY_LANE(body, KB_PANEL, __VA_ARGS__);                                                  \
    } while (0)

static void scatter(const kb_id_group *group, size_t lane, size_t begin, size_t end, size_t columns,
                    const int32_t *v, int64_t *const *sums) {
    KB_WITH_BITS(group->bits, BY_COLUMNS(scatter_as, v, sums));
}

static void scatter_sums(const kb_id_group *group, size_t lane, size_t begin, size_t end,
                         size_t columns, const int64_t *v, int64_t *const *sums) {
    KB_WITH_BITS(group->bits, BY_COLUMNS(scatter_sums_as, v, sums));
}

static void gather(const kb_id_group *group, size_t lane, size_t begin, size_t end, size_t columns,
                   const int32_t *const *step, int first, int32_t *out) {
    KB_WITH_BITS(group->bits, BY_COLUMNS(gather_as, step, first, out));
}

/* Eight numbers at a time: their columns repeat within eight. */
static void squares(size_t n, size_t columns, const int32_t *x, kb_wide_sum *sum) {
    longs8 high = {0}, low = {0};
    size_t i = 0;
    for (; i + KB_PANEL <= n; i += KB_PANEL) {
        ints8 y;
        memcpy(&y, x + i, sizeof y);
        longs8 z = __builtin_convertvector(y, longs8);
        z *= z;
        high += z >> 32;
        low += z & UINT32_MAX;
    }
    for (size_t k = 0; k < KB_PANEL; k++) {
        sum[k % columns].high += (uint64_t)high[k];
        sum[k % columns].low += (uint64_t)low[k];
    }
    for (; i < n; i++) {
        uint64_t z = (uint64_t)((int64_t)x[i] * x[i]);
        sum[i % columns].high += z >> 32;
        sum[i % columns].low += z & UINT32_MAX;
    }
}

/* The nearest integer of |x| < 2^31, from the low bits of x + 1.5 * 2^52. */
static uint32_t advance(size_t n, size_t columns, const double *t, const int32_t *h, int32_t *r) {
    const double shift = 0x1.8p52;
    reals factor;
    longs8 all = {0};
    uint32_t bits = 0;
    size_t i = 0;
    for (size_t k = 0; k < KB_PANEL; k++)
        factor[k] = t[k % columns];
    for (; i + KB_PANEL <= n; i += KB_PANEL) {
        ints8 y, x;
        memcpy(&y, h + i, sizeof y);
        memcpy(&x, r + i, sizeof x);
        longs8 rounded = (longs8)(__builtin_convertvector(y, reals) * factor + shift);
        x -= __builtin_convertvector(rounded, ints8);
        memcpy(r + i, &x, sizeof x);
        all |= __builtin_convertvector(x ^ (x >> 31), longs8);
    }
    for (size_t k = 0; k < KB_PANEL; k++)
        bits |= (uint32_t)all[k];
    for (; i < n; i++) {
        double x = (double)h[i] * t[i % columns] + shift;
        uint64_t rounded;
        memcpy(&rounded, &x, sizeof x);
        r[i] = (int32_t)((uint32_t)r[i] - (uint32_t)rounded);
        bits |= (uint32_t)(r[i] ^ (r[i] >> 31));
    }
    return bits;
}

const kb_whole_sums KB_OF_LEVEL(kb_whole_sums) = {
    .scatter = scatter,
    .scatter_sums = scatter_sums,
    .gather = gather,
    .squares = squares,
    .advance = advance,
};
