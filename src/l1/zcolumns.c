/* zcolumns.c - see zcolumns.h. */
#include "l1/zcolumns.h"
#include "features/binmat.h"
#include "core/team.h"
#include "ranks/ranks.h"

#include <stdatomic.h>
#include <string.h>

/* ---- the parts --------------------------------------------------------- */

/* So many rows keep a thread busy in each grid, between two barriers. */
enum { ROWS_A_PART = 32768 };

size_t kb_zcolumns_parts(size_t N) {
    size_t parts = KB_LEAST_PARTS;
    while (parts < KB_MOST_PARTS && N >= 2 * parts * ROWS_A_PART)
        parts *= 2;
    return parts;
}

/* ---- the order of the rows --------------------------------------------- */

/* Grids that decide the order. */
enum { KEYS = 8 };
/* Rows that go to one part before the next part gets some: whole octets.  Neighbouring rows are
 * similar, so small pieces make the parts similar too. */
enum { IN_A_ROW = 8 * KB_OCTET };

/* The rows sorted by their bin in grid r, equal ones as they were; `place` has room for the bins
 * and one more, and `bin` for the rows. */
static void sort_by(const kb_binmat *z, size_t r, size_t *place, uint32_t *bin,
                    const uint32_t *from, uint32_t *to) {
    size_t bins = kb_binmat_bins_of(z, r);
    memset(place, 0, (bins + 1) * sizeof *place);
    for (size_t k = 0; k < z->rows; k++) {
        bin[k] = (uint32_t)kb_binmat_id(z, k, r);
        place[bin[k] + 1]++;
    }
    for (size_t b = 0; b < bins; b++)
        place[b + 1] += place[b];
    for (size_t k = 0; k < z->rows; k++)
        to[place[bin[from[k]]]++] = from[k];
}

/* The grids with the fewest bins, which have the widest, the coarsest first. */
static size_t coarsest(const kb_binmat *z, size_t *grid) {
    size_t count = 0;
    for (size_t r = 0; r < z->grids; r++) {
        size_t at = count < KEYS ? count++ : KEYS;
        for (; at > 0 && kb_binmat_bins_of(z, r) < kb_binmat_bins_of(z, grid[at - 1]); at--)
            if (at < KEYS)
                grid[at] = grid[at - 1];
        if (at < KEYS)
            grid[at] = r;
    }
    return count;
}

/* Reorders the rows part by part, keeping their order within a part.  The remainder goes to the
 * last part, so that all others have whole octets. */
static void deal_rows(const uint32_t *from, uint32_t *to, kb_zcolumns *c) {
    size_t pieces = c->rows / IN_A_ROW, at = 0;
    for (size_t p = 0; p < c->parts; p++) {
        for (size_t q = p; q < pieces; q += c->parts, at += IN_A_ROW)
            memcpy(to + at, from + q * IN_A_ROW, IN_A_ROW * sizeof *to);
        c->part[p + 1] = at;
    }
    memcpy(to + at, from + at, (c->rows - at) * sizeof *to);
    c->part[c->parts] = c->rows;
}

/* With ranks, rows stay among the KB_RANK_ROWS whose sums are made apart, and are in order there
 * whatever the other rows are: the sums are then the same for any number of ranks. */
static void keep_parts(const uint32_t *from, size_t *place, uint32_t *to, kb_zcolumns *c) {
    for (size_t k = 0; k * KB_RANK_ROWS < c->rows; k++)
        place[k] = k * KB_RANK_ROWS;
    for (size_t k = 0; k < c->rows; k++)
        to[place[from[k] / KB_RANK_ROWS]++] = from[k];
    for (size_t p = 0; p < c->parts; p++)
        c->part[p] = kb_share(c->rows / KB_OCTET, (int)p, (int)c->parts) * KB_OCTET;
    c->part[c->parts] = c->rows;
}

static kb_status order_rows(kb_context *ctx, const kb_binmat *z, kb_zcolumns *c) {
    kb_status status;
    size_t grid[KEYS], count = coarsest(z, grid), *place = NULL;
    uint32_t *spare = NULL, *bin = NULL;
    TRY(kb_alloc(ctx, z->rows, sizeof *c->order, &c->order));
    TRY(kb_alloc(ctx, z->rows, sizeof *bin, &bin));
    TRY(kb_alloc(ctx, z->rows, sizeof *spare, &spare));
    TRY(kb_alloc(ctx, z->bins + 1 + z->rows / KB_RANK_ROWS, sizeof *place, &place));
    for (size_t k = 0; k < z->rows; k++)
        c->order[k] = (uint32_t)k;
    for (size_t k = count + 1; k-- > 0;) {
        if (k > 0)
            sort_by(z, grid[k - 1], place, bin, c->order, spare);
        else if (kb_has_ranks(ctx))
            keep_parts(c->order, place, spare, c);
        else
            deal_rows(c->order, spare, c);
        uint32_t *sorted = spare;
        spare = c->order;
        c->order = sorted;
    }
done:
    kb_release(ctx, spare);
    kb_release(ctx, bin);
    kb_release(ctx, place);
    return status;
}

/* ---- the lists --------------------------------------------------------- */

/* How many rows ahead numbers are prefetched: the rows are not in memory order. */
enum { AT_ONCE = 64 };
/* Octets that are copied at once. */
enum { COPY = 8 };

/* An octet number that no row has: for a column that is still empty. */
static const size_t NO_OCTET = ((size_t)1 << 24) - 1;

/* What a thread needs for one group of grids. */
typedef struct bench {
    /* most_bins for each of the four: the place of a column's last octet, in the high half, and
     * that octet itself. */
    uint64_t *last;
    uint32_t *octet;  /* N for each, and COPY more */
    uint32_t *tuples; /* rows of each tuple */
    /* Its result: these grids, with their octets here, without gaps. */
    size_t grid, end;
    uint32_t *packed;
    size_t octets;
} bench;

typedef struct filling {
    kb_context *ctx;
    const kb_binmat *z;
    kb_zcolumns *c;
    size_t most_bins;       /* of a grid */
    size_t crew;            /* threads that have work */
    bench *bench;           /* of each of them */
    kb_status order;        /* whether the rows have theirs */
    atomic_bool ordered;    /* or not: whether that has ended */
    atomic_size_t ahead;    /* groups that were taken before it */
    unsigned char *counted; /* of each group: whether its rows have been */
} filling;

/* The bins of group q, row by row: the four numbers of a row lie side by side.  Written once and
 * specialised by the compiler for the bits. */
static inline void read_ids(const void *ids, int bits, size_t i, uint32_t *id) {
    for (size_t g = 0; g < KB_GROUP; g++)
        id[g] = kb_id_get(ids, bits, i, g);
}

static inline void read_lane(const void *ids, int bits, size_t lane, const uint32_t *row,
                             size_t count, uint32_t *at) {
    for (size_t k = 0; k < count; k++)
        at[k] = kb_id_get(ids, bits, row[k], lane);
}

/* Where in a group the bins of some rows lie: by their tuples, or by themselves. */
static void find_rows(const kb_binmat *z, size_t q, const uint32_t *row, size_t count,
                      uint32_t *at) {
    const kb_id_group *bundle = &z->bundle[q / KB_GROUP];
    size_t lane = q % KB_GROUP;
    if (!bundle->ids)
        memcpy(at, row, count * sizeof *at);
    else
        KB_WITH_BITS(bundle->bits, read_lane(bundle->ids, BITS, lane, row, count, at));
}

/* The rows of every tuple of group q. */
static void count_tuples(const kb_binmat *z, size_t q, uint32_t *tuples) {
    memset(tuples, 0, z->tuples[q] * sizeof *tuples);
    for (size_t begin = 0, few; begin < z->rows; begin += few) {
        uint32_t row[AT_ONCE], at[AT_ONCE];
        few = z->rows - begin < AT_ONCE ? z->rows - begin : AT_ONCE;
        for (size_t k = 0; k < few; k++)
            row[k] = (uint32_t)(begin + k);
        find_rows(z, q, row, few, at);
        for (size_t k = 0; k < few; k++)
            tuples[at[k]]++;
    }
}

/* The rows of every bin. */
static inline void count_rows(const filling *f, size_t q, int bits, size_t grids, const bench *b) {
    const kb_binmat *z = f->z;
    const size_t *start = z->start + q * KB_GROUP;
    const uint32_t *tuples = z->bundle[q / KB_GROUP].ids ? b->tuples : NULL;
    uint32_t *count[KB_GROUP];
    memset(f->c->count + start[0], 0, (start[grids] - start[0]) * sizeof **count);
    for (size_t g = 0; g < grids; g++)
        count[g] = f->c->count + start[g];
    if (tuples)
        count_tuples(z, q, b->tuples);
    for (size_t t = 0, end = tuples ? z->tuples[q] : z->rows; t < end; t++) {
        uint32_t id[KB_GROUP];
        read_ids(z->group[q].ids, bits, t, id);
        for (size_t g = 0; g < grids; g++)
            count[g][id[g]] += tuples ? tuples[t] : 1;
    }
}

/* Every bin gets room for as many octets as it has rows. */
static void lay_out(const filling *f, size_t q, size_t grids, const bench *b) {
    for (size_t g = 0; g < grids; g++) {
        const size_t *start = f->z->start + q * KB_GROUP + g;
        uint64_t *last = b->last + g * f->most_bins;
        uint32_t next = (uint32_t)(g * f->z->rows);
        for (size_t j = start[0]; j < start[1]; j++) {
            *last++ = (uint64_t)(next - 1) << 32 | UINT32_MAX;
            next += f->c->count[j];
        }
    }
}

/* The grids are interleaved: neighbouring rows often share a bin, and in one grid each addition
 * would have to wait for the last. */
static inline void place_rows(const filling *f, size_t q, int bits, size_t grids, size_t p,
                              const bench *b) {
    const void *ids = f->z->group[q].ids;
    uint64_t *const last = b->last;
    uint32_t *const octets = b->octet;
    const size_t most_bins = f->most_bins, end = f->c->part[p + 1];
    for (size_t begin = f->c->part[p], few; begin < end; begin += few) {
        uint32_t at[AT_ONCE];
        few = end - begin < AT_ONCE ? end - begin : AT_ONCE;
        find_rows(f->z, q, f->c->order + begin, few, at);
        for (size_t k = 0; k < few; k++)
            __builtin_prefetch((const char *)ids + at[k] * kb_id_row_bytes(bits));
        for (size_t k = 0; k < few; k++) {
            uint32_t id[KB_GROUP], octet = kb_octet_of(begin + k);
            read_ids(ids, bits, at[k], id);
            for (size_t g = 0; g < grids; g++) {
                uint64_t *place = last + g * most_bins + id[g];
                uint32_t before = (uint32_t)*place, other = (before ^ octet) > 255;
                uint32_t now = octet | (before & (other - 1)),
                         to = (uint32_t)(*place >> 32) + other;
                octets[to] = now;
                *place = (uint64_t)to << 32 | now;
            }
        }
    }
}

/* Where the parts end, counted from the grid's first; the rows come part by part. */
static void note_ends(const filling *f, size_t q, size_t grids, size_t p, const bench *b) {
    for (size_t g = 0; g < grids; g++) {
        size_t r = q * KB_GROUP + g;
        const uint64_t *last = b->last + g * f->most_bins;
        uint32_t first = (uint32_t)(g * f->z->rows);
        for (size_t j = f->z->start[r]; j < f->z->start[r + 1]; j++)
            f->c->start[j * f->c->parts + p + 1] = (uint32_t)(*last++ >> 32) + 1 - first;
    }
}

/* Closes the gaps.  Few columns have more octets than are copied at once; what is copied beyond
 * the end is overwritten by the next column. */
static void pack_grid(const filling *f, size_t r, const uint32_t *from, bench *b) {
    size_t *start = f->c->start, parts = f->c->parts, begin = 0;
    for (size_t j = f->z->start[r]; j < f->z->start[r + 1]; j++) {
        size_t count = start[(j + 1) * parts] - begin;
        for (size_t e = 0; e < count; e += COPY)
            memcpy(b->packed + b->octets + e, from + begin + e, COPY * sizeof *from);
        for (size_t p = 1; p <= parts; p++)
            start[j * parts + p] += b->octets - begin;
        b->octets += count;
        begin += f->c->count[j];
    }
}

static inline void fill_group(const filling *f, size_t q, int bits, size_t grids, bench *b) {
    if (!f->counted[q])
        count_rows(f, q, bits, grids, b);
    lay_out(f, q, grids, b);
    for (size_t p = 0; p < f->c->parts; p++) {
        place_rows(f, q, bits, grids, p, b);
        note_ends(f, q, grids, p, b);
    }
    for (size_t g = 0; g < grids; g++)
        pack_grid(f, q * KB_GROUP + g, b->octet + g * f->z->rows, b);
}

/* One thread orders the rows; meanwhile the others count. */
static void prepare(filling *f, int me) {
    const kb_binmat *z = f->z;
    if (me == 0) {
        f->order = order_rows(f->ctx, z, f->c);
        atomic_store(&f->ordered, 1);
        return;
    }
    while (!atomic_load(&f->ordered)) {
        size_t q = atomic_fetch_add(&f->ahead, 1);
        if (q >= z->groups)
            break;
        size_t grids = z->grids - q * KB_GROUP;
        count_rows(f, q, z->group[q].bits, grids < KB_GROUP ? grids : KB_GROUP, &f->bench[me]);
        f->counted[q] = 1;
    }
}

static void fill_groups(void *arg, int me, int threads) {
    filling *f = arg;
    const kb_binmat *z = f->z;
    if ((size_t)me < f->crew)
        prepare(f, me);
    kb_team_meet(f->ctx, me, threads);
    if (f->order != KB_OK || (size_t)me >= f->crew)
        return;
    threads = (size_t)threads < f->crew ? threads : (int)f->crew;
    bench *b = &f->bench[me];
    size_t q = kb_share(z->groups, me, threads), end = kb_share(z->groups, me + 1, threads);
    b->grid = q * KB_GROUP;
    b->end = end * KB_GROUP < z->grids ? end * KB_GROUP : z->grids;
    b->packed = f->c->octet + b->grid * z->rows + (size_t)me * COPY;
    for (; q < end; q++) {
        size_t grids = z->grids - q * KB_GROUP;
        if (grids < KB_GROUP)
            fill_group(f, q, z->group[q].bits, grids, b);
        else
            KB_WITH_BITS(z->group[q].bits, fill_group(f, q, BITS, KB_GROUP, b));
    }
}

/* Joins the octets of all threads. */
static void join(const filling *f) {
    size_t *start = f->c->start, parts = f->c->parts, at = 0;
    start[0] = 0;
    for (const bench *b = f->bench; b < f->bench + f->crew; at += b++->octets) {
        if (b->octets == 0 || b->packed == f->c->octet + at)
            continue;
        memmove(f->c->octet + at, b->packed, b->octets * sizeof *b->packed);
        size_t end = f->z->start[b->end] * parts;
        for (size_t q = f->z->start[b->grid] * parts + 1; q <= end; q++)
            start[q] += at;
    }
}

static kb_status fill(kb_context *ctx, const kb_binmat *z, kb_zcolumns *c) {
    kb_status status;
    filling f = {.ctx = ctx, .z = z, .c = c, .crew = (size_t)ctx->threads};
    size_t most_tuples = 0;
    f.crew = f.crew < z->groups ? f.crew : z->groups;
    for (size_t r = 0; r < z->grids; r++)
        f.most_bins = kb_binmat_bins_of(z, r) > f.most_bins ? kb_binmat_bins_of(z, r) : f.most_bins;
    for (size_t q = 0; q < z->groups; q++)
        if (z->bundle[q / KB_GROUP].ids && z->tuples[q] > most_tuples)
            most_tuples = z->tuples[q];
    TRY(kb_alloc(ctx, z->bins * c->parts + 1, sizeof *c->start, &c->start));
    TRY(kb_alloc(ctx, z->bins, sizeof *c->count, &c->count));
    TRY(kb_alloc(ctx, z->rows * z->grids + f.crew * COPY, sizeof *c->octet, &c->octet));
    TRY(kb_zalloc(ctx, z->groups, 1, &f.counted));
    TRY(kb_zalloc(ctx, f.crew, sizeof *f.bench, &f.bench));
    for (size_t t = 0; t < f.crew; t++) {
        TRY(kb_alloc(ctx, KB_GROUP * f.most_bins, sizeof(uint64_t), &f.bench[t].last));
        TRY(kb_alloc(ctx, KB_GROUP * z->rows + COPY, sizeof(uint32_t), &f.bench[t].octet));
        TRY(kb_alloc(ctx, most_tuples, sizeof(uint32_t), &f.bench[t].tuples));
    }
    kb_team_run(ctx, z->rows * z->grids < KB_WORTH_A_THREAD, fill_groups, &f);
    TRY(f.order);
    join(&f);
done:
    for (size_t t = 0; f.bench && t < f.crew; t++) {
        kb_release(ctx, f.bench[t].last);
        kb_release(ctx, f.bench[t].octet);
        kb_release(ctx, f.bench[t].tuples);
    }
    kb_release(ctx, f.bench);
    kb_release(ctx, f.counted);
    return status;
}

static kb_status create(kb_context *ctx, size_t N, size_t D, size_t blocks, kb_zcolumns **out) {
    kb_status status;
    kb_zcolumns *c = NULL;
    *out = NULL;
    if (N > NO_OCTET * KB_OCTET)
        return kb_fail(ctx, KB_ERR_DATA, "%zu rows are too many for the L1 penalty", N);
    TRY(kb_zalloc(ctx, 1, sizeof *c, &c));
    c->allocator = kb_allocator_of(ctx);
    c->rows = N;
    c->columns = D;
    c->blocks = blocks;
    c->parts = kb_zcolumns_parts(N);
    for (size_t p = 0; p <= c->parts; p++)
        c->part[p] = kb_share(N, (int)p, (int)c->parts);
    TRY(kb_alloc(ctx, blocks + 1, sizeof *c->block_start, &c->block_start));
    *out = c;
    return KB_OK;
done:
    kb_zcolumns_free(c);
    return status;
}

/* With ranks, a column has the rows of all. */
static kb_status count_all(kb_context *ctx, kb_zcolumns *c) {
    enum { PIECE = 4096 };
    kb_status status = KB_OK;
    int64_t count[PIECE];
    for (size_t done = 0, n; done < c->columns && kb_rank_count(ctx) > 1; done += n) {
        n = c->columns - done < PIECE ? c->columns - done : PIECE;
        for (size_t j = 0; j < n; j++)
            count[j] = c->count[done + j];
        TRY(kb_ranks_sum(ctx, count, n));
        for (size_t j = 0; j < n; j++)
            c->count[done + j] = (uint32_t)(count[j] < UINT32_MAX ? count[j] : UINT32_MAX);
    }
done:
    return status;
}

kb_status kb_zcolumns_from_binmat(kb_context *ctx, const kb_binmat *z, kb_zcolumns **out) {
    kb_status status;
    kb_zcolumns *c = NULL;
    TRY(kb_binmat_fetch(ctx, z));
    TRY(create(ctx, z->rows, z->bins, z->grids, &c));
    memcpy(c->block_start, z->start, (z->grids + 1) * sizeof *c->block_start);
    c->value = kb_bin_value(z->R);
    c->loops = z->simd->masked_rows;
    TRY(kb_ranks_agree(ctx, fill(ctx, z, c)));
    TRY(count_all(ctx, c));
done:
    if (status != KB_OK) {
        kb_zcolumns_free(c);
        c = NULL;
    }
    *out = c;
    return status;
}

kb_status kb_zcolumns_from_dense(kb_context *ctx, size_t N, size_t D, const double *Z,
                                 kb_zcolumns **out) {
    kb_status status;
    kb_zcolumns *c = NULL;
    TRY(create(ctx, N, D, D, &c));
    c->value = 1;
    for (size_t j = 0; j <= D; j++)
        c->block_start[j] = j;
    TRY(kb_alloc(ctx, N, sizeof *c->order, &c->order));
    for (size_t k = 0; k < N; k++)
        c->order[k] = (uint32_t)k;
    TRY(kb_alloc(ctx, N * D, sizeof *c->dense, &c->dense));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            c->dense[j * N + i] = Z[i * D + j];
done:
    if (status != KB_OK) {
        kb_zcolumns_free(c);
        c = NULL;
    }
    *out = c;
    return status;
}

void kb_zcolumns_free(kb_zcolumns *c) {
    if (!c)
        return;
    void *all[] = {c->block_start, c->start, c->octet, c->count, c->order, c->dense, c};
    kb_allocator allocator = c->allocator;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(allocator, all[i]);
}

double kb_zcolumns_bytes(size_t N, size_t R, size_t D) {
    return 4.0 * (double)N * (double)R + (8.0 * (double)kb_zcolumns_parts(N) + 4) * (double)D +
           4.0 * (double)N + 8.0 * (double)R;
}

/* A thread that has grids takes 16 bytes a row, and up to 4 where tuples are numbered. */
double kb_zcolumns_scratch_bytes(size_t N, size_t R, int threads) {
    size_t groups = (R + KB_GROUP - 1) / KB_GROUP;
    size_t crew = (size_t)threads < groups ? (size_t)threads : groups;
    return (8 + 20 * (double)crew) * (double)N;
}
