/*
 * masked_rows.c - see masked_rows.h.
 *
 * Where the machine has masked vectors, an octet takes one instruction, which compilers do not find
 * by themselves.  Elsewhere the bits of the rows that do not belong are masked.
 */
#include "simd/masked_rows.h"
#include "simd/level.h"

#include <string.h>

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define MASKS 1
#endif

extern const kb_masked_rows KB_OF_LEVEL(kb_masked_rows);

/* ---- eight numbers ----------------------------------------------------- */

#if MASKS

typedef __m512d reals;
typedef __mmask8 rows; /* some of the eight */

INLINE reals everywhere(double x) {
    return _mm512_set1_pd(x);
}

INLINE rows rows_of(uint32_t bits) {
    return (rows)bits;
}

/* a + b in the rows r, else a. */
INLINE reals plus(reals a, reals b, rows r) {
    return _mm512_mask_add_pd(a, r, a, b);
}

INLINE reals times(reals a, reals b) {
    return _mm512_mul_pd(a, b);
}

/* (a + b) - b in all rows, no further from 0 than `most`. */
INLINE reals rounded(reals a, double b, double most) {
    a = _mm512_sub_pd(_mm512_add_pd(a, everywhere(b)), everywhere(b));
    return _mm512_max_pd(_mm512_min_pd(a, everywhere(most)), everywhere(-most));
}

/* b in the rows r, else a. */
INLINE reals choose(reals a, reals b, rows r) {
    return _mm512_mask_mov_pd(a, r, b);
}

/* The rows of r in which x is negative, by its sign, or is not, where `ups` has them. */
INLINE rows gaps_in(reals x, rows ups, rows r) {
    return r & (ups ^ _mm512_movepi64_mask(_mm512_castpd_si512(x)));
}

typedef int64_t counter;

INLINE counter count_in(counter n, rows r) {
    return n + __builtin_popcount(r);
}

INLINE int64_t counted(counter n) {
    return n;
}

#else

/* Numbers in a vector of the machine, and vectors in an octet. */
#if defined(__AVX2__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
enum { PIECES = KB_OCTET / LANES };

typedef double piece __attribute__((vector_size(8 * LANES)));
typedef int64_t which __attribute__((vector_size(8 * LANES)));

typedef struct reals {
    piece at[PIECES];
} reals;

/* For each row -1 or 0. */
typedef struct rows {
    which at[PIECES];
} rows;

#define EACH (int k = 0; k < PIECES; k++)

INLINE reals everywhere(double x) {
    reals a;
    for
        EACH a.at[k] = (piece){0} + x;
    return a;
}

INLINE rows rows_of(uint32_t bits) {
    static const int64_t ALL[KB_OCTET] = {1, 2, 4, 8, 16, 32, 64, 128};
    rows r;
    memcpy(&r, ALL, sizeof r);
    for
        EACH r.at[k] = (((which){0} + (int64_t)bits) & r.at[k]) == r.at[k];
    return r;
}

INLINE reals plus(reals a, reals b, rows r) {
    for
        EACH {
            which sum = (which)(a.at[k] + b.at[k]);
            a.at[k] = (piece)((sum & r.at[k]) | ((which)a.at[k] & ~r.at[k]));
        }
    return a;
}

INLINE reals times(reals a, reals b) {
    for
        EACH a.at[k] *= b.at[k];
    return a;
}

INLINE piece choose_piece(piece a, piece b, which r) {
    return (piece)(((which)b & r) | ((which)a & ~r));
}

INLINE reals rounded(reals a, double b, double most) {
    for
        EACH {
            piece x = (a.at[k] + b) - b, top = (piece){0} + most;
            x = choose_piece(top, x, x < top);
            a.at[k] = choose_piece(-top, x, x > -top);
        }
    return a;
}

INLINE reals choose(reals a, reals b, rows r) {
    for
        EACH a.at[k] = choose_piece(a.at[k], b.at[k], r.at[k]);
    return a;
}

INLINE rows gaps_in(reals x, rows ups, rows r) {
    for
        EACH r.at[k] &= ups.at[k] ^ ((which)x.at[k] < 0);
    return r;
}

typedef rows counter;

INLINE counter count_in(counter n, rows r) {
    for
        EACH n.at[k] -= r.at[k];
    return n;
}

INLINE int64_t counted(counter n) {
    int64_t each[KB_OCTET], all = 0;
    memcpy(each, &n, sizeof n);
    for (size_t i = 0; i < KB_OCTET; i++)
        all += each[i];
    return all;
}

#endif

/* Through memcpy: the alignment is not known. */
INLINE reals load(const double *p) {
    reals x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void store(double *p, reals x) {
    memcpy(p, &x, sizeof x);
}

INLINE double total(reals a, reals b) {
    double s[KB_OCTET];
    store(s, plus(a, b, rows_of(255)));
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* ---- the loops --------------------------------------------------------- */

INLINE size_t first_row(uint32_t octet) {
    return (size_t)(octet >> 8) * KB_OCTET;
}

/* In two independent chains, to hide the latency of additions. */
static double sum(const uint32_t *octet, size_t count, const double *v) {
    reals s = everywhere(0), t = everywhere(0);
    size_t e = 0;
    for (; e + 2 <= count; e += 2) {
        s = plus(s, load(v + first_row(octet[e])), rows_of(octet[e]));
        t = plus(t, load(v + first_row(octet[e + 1])), rows_of(octet[e + 1]));
    }
    if (e < count)
        s = plus(s, load(v + first_row(octet[e])), rows_of(octet[e]));
    return total(s, t);
}

static void add(const uint32_t *octet, size_t count, double by, double *v) {
    reals step = everywhere(by);
    for (size_t e = 0; e < count; e++) {
        double *at = v + first_row(octet[e]);
        store(at, plus(load(at), step, rows_of(octet[e])));
    }
}

static void add_times(const uint32_t *octet, size_t count, double by, const double *h, double *v) {
    reals step = everywhere(by);
    for (size_t e = 0; e < count; e++) {
        size_t row = first_row(octet[e]);
        store(v + row, plus(load(v + row), times(load(h + row), step), rows_of(octet[e])));
    }
}

static void add_rounded(const uint32_t *octet, size_t count, double by, const double *h,
                        double round, double most, double *v) {
    reals step = everywhere(by);
    for (size_t e = 0; e < count; e++) {
        size_t row = first_row(octet[e]);
        reals before = load(v + row);
        reals after = plus(before, times(load(h + row), step), rows_of(255));
        store(v + row, choose(before, rounded(after, round, most), rows_of(octet[e])));
    }
}

INLINE rows open_rows(uint32_t octet, const uint8_t *up, reals u) {
    return gaps_in(u, rows_of(up[octet >> 8]), rows_of(octet));
}

static kb_open_gaps open(const uint32_t *octet, size_t count, const uint8_t *up, const double *u) {
    reals s = everywhere(0), t = everywhere(0);
    counter n = {0};
    size_t e = 0;
    for (; e + 2 <= count; e += 2) {
        reals x = load(u + first_row(octet[e])), y = load(u + first_row(octet[e + 1]));
        rows r = open_rows(octet[e], up, x), q = open_rows(octet[e + 1], up, y);
        s = plus(s, x, r);
        t = plus(t, y, q);
        n = count_in(count_in(n, r), q);
    }
    if (e < count) {
        reals x = load(u + first_row(octet[e]));
        rows r = open_rows(octet[e], up, x);
        s = plus(s, x, r);
        n = count_in(n, r);
    }
    return (kb_open_gaps){total(s, t), (double)counted(n)};
}

static double move(const uint32_t *octet, size_t count, const uint8_t *up, double by, double *u) {
    reals s = everywhere(0), step = everywhere(by);
    for (size_t e = 0; e < count; e++) {
        double *at = u + first_row(octet[e]);
        reals x = plus(load(at), step, rows_of(octet[e]));
        store(at, x);
        s = plus(s, x, open_rows(octet[e], up, x));
    }
    return total(s, everywhere(0));
}

const kb_masked_rows KB_OF_LEVEL(kb_masked_rows) = {
    .sum = sum,
    .add = add,
    .add_times = add_times,
    .add_rounded = add_rounded,
    .open = open,
    .move = move,
};
