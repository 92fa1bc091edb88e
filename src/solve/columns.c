/* columns.c - see columns.h. */
#include "solve/columns.h"
#include "core/team.h"

#include <math.h>
#include <string.h>

/* ---- the order of the rows --------------------------------------------- */

/* Grids that decide the order. */
enum { KEYS = 4 };
/* Rows that go to the same part before the next one's turn.  Near each other they are alike, so
 * few of them make the parts alike too. */
enum { IN_A_ROW = 64 };

/* The rows sorted by their bin in grid r, equal ones as they were. */
static void sort_by(const kb_binmat *z, size_t r, size_t *place, const uint32_t *from,
                    uint32_t *to) {
    size_t bins = kb_binmat_bins_of(z, r);
    memset(place, 0, (bins + 1) * sizeof *place);
    for (size_t k = 0; k < z->rows; k++)
        place[kb_binmat_id(z, k, r) + 1]++;
    for (size_t b = 0; b < bins; b++)
        place[b + 1] += place[b];
    for (size_t k = 0; k < z->rows; k++)
        to[place[kb_binmat_id(z, from[k], r)]++] = from[k];
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

/* The next row's class, and its part: in every class the rows go to the parts by turns. */
typedef struct dealing {
    const uint32_t *class_of;
    size_t dealt[2];
} dealing;

static size_t *deal(dealing *d, uint32_t row, size_t place[KB_PARTS][2]) {
    int first = d->class_of && d->class_of[row] == 1;
    return &place[d->dealt[first]++ / IN_A_ROW % KB_PARTS][first];
}

/* From all together to part by part, and in each the rows of the second class first; all as they
 * were otherwise. */
static void deal_rows(const uint32_t *class_of, const uint32_t *from, uint32_t *to, kb_columns *c) {
    size_t place[KB_PARTS][2] = {{0}}, at = 0;
    dealing counting = {.class_of = class_of}, placing = counting;
    for (size_t k = 0; k < c->rows; k++)
        ++*deal(&counting, from[k], place);
    for (size_t p = 0; p < KB_PARTS; p++) {
        for (int first = 1; first >= 0; first--) {
            size_t count = place[p][first];
            place[p][first] = at;
            at += count;
        }
        c->part[p + 1] = at;
    }
    for (size_t k = 0; k < c->rows; k++)
        to[(*deal(&placing, from[k], place))++] = from[k];
}

static kb_status order_rows(kb_context *ctx, const kb_binmat *z, const uint32_t *class_of,
                            kb_columns *c) {
    kb_status status;
    size_t grid[KEYS], count = coarsest(z, grid), *place = NULL;
    uint32_t *spare = NULL;
    TRY(kb_alloc(ctx, z->rows, sizeof *c->order, &c->order));
    TRY(kb_alloc(ctx, z->rows, sizeof *spare, &spare));
    TRY(kb_alloc(ctx, z->bins + 1, sizeof *place, &place));
    for (size_t k = 0; k < z->rows; k++)
        c->order[k] = (uint32_t)k;
    for (size_t k = count + 1; k-- > 0;) {
        if (k > 0)
            sort_by(z, grid[k - 1], place, c->order, spare);
        else
            deal_rows(class_of, c->order, spare, c);
        uint32_t *sorted = spare;
        spare = c->order;
        c->order = sorted;
    }
done:
    kb_release(ctx, spare);
    kb_release(ctx, place);
    return status;
}

/* ---- the lists --------------------------------------------------------- */

typedef struct filling {
    const kb_binmat *z;
    kb_columns *c;
    uint32_t *bin; /* N x KB_GROUP a thread: the bins of a group's grids in the new order */
} filling;

/* The bins of group q, row by row: the four numbers of a row lie side by side.  Written once and
 * specialised by the compiler for each pair of widths. */
static inline void read_ids(const void *ids, int width, size_t i, uint32_t *id) {
    for (size_t g = 0; g < KB_GROUP; g++)
        id[g] = width == 1   ? ((const uint8_t *)ids)[i * KB_GROUP + g]
                : width == 2 ? ((const uint16_t *)ids)[i * KB_GROUP + g]
                             : ((const uint32_t *)ids)[i * KB_GROUP + g];
}

/* start[.. + 1] is used as the number of rows of a column's part, then as the place of its next
 * one, and ends as what it should be.  The grids go side by side: neighbouring rows often share a
 * bin, and one grid's next addition to it would have to wait for the last. */
static inline void fill_grids(const filling *f, size_t q, int width, size_t grids, uint32_t *bin) {
    const kb_binmat *z = f->z;
    const kb_id_group *bundle = &z->bundle[q / KB_GROUP];
    const size_t *part = f->c->part;
    size_t *place[KB_GROUP], N = z->rows;
    for (size_t g = 0; g < grids; g++) {
        size_t r = q * KB_GROUP + g;
        place[g] = f->c->start + z->start[r] * KB_PARTS + 1;
        memset(place[g], 0, kb_binmat_bins_of(z, r) * KB_PARTS * sizeof *place[g]);
    }
    for (size_t p = 0; p < KB_PARTS; p++)
        for (size_t k = part[p]; k < part[p + 1]; k++) {
            uint32_t *id = bin + k * KB_GROUP;
            size_t i = f->c->order[k];
            if (bundle->ids)
                i = kb_id_at(bundle, i, q % KB_GROUP);
            read_ids(z->group[q].ids, width, i, id);
            for (size_t g = 0; g < grids; g++)
                place[g][id[g] * (size_t)KB_PARTS + p]++;
        }
    for (size_t g = 0; g < grids; g++) {
        size_t r = q * KB_GROUP + g, sum = r * N;
        for (size_t b = 0; b < kb_binmat_bins_of(z, r) * KB_PARTS; b++) {
            size_t count = place[g][b];
            place[g][b] = sum;
            sum += count;
        }
    }
    for (size_t p = 0; p < KB_PARTS; p++)
        for (size_t k = part[p]; k < part[p + 1]; k++)
            for (size_t g = 0; g < grids; g++)
                f->c->row[place[g][bin[k * KB_GROUP + g] * (size_t)KB_PARTS + p]++] = (uint32_t)k;
}

static void fill_group(const filling *f, size_t q, uint32_t *bin) {
    int width = f->z->group[q].width;
    size_t rest = f->z->grids - q * KB_GROUP;
    if (rest < KB_GROUP)
        fill_grids(f, q, width, rest, bin);
    else if (width == 1)
        fill_grids(f, q, 1, KB_GROUP, bin);
    else if (width == 2)
        fill_grids(f, q, 2, KB_GROUP, bin);
    else
        fill_grids(f, q, 4, KB_GROUP, bin);
}

static void fill_groups(void *arg, int me, int threads) {
    const filling *f = arg;
    size_t groups = f->z->groups;
    for (size_t q = kb_share(groups, me, threads); q < kb_share(groups, me + 1, threads); q++)
        fill_group(f, q, f->bin + (size_t)me * KB_GROUP * f->z->rows);
}

static kb_status create(kb_context *ctx, size_t N, size_t D, size_t blocks, kb_columns **out) {
    kb_status status;
    kb_columns *c = NULL;
    *out = NULL;
    if (N > UINT32_MAX)
        return kb_fail(ctx, KB_ERR_DATA, "%zu rows are too many for the L1 penalty", N);
    TRY(kb_zalloc(ctx, 1, sizeof *c, &c));
    c->allocator = kb_allocator_of(ctx);
    c->rows = N;
    c->columns = D;
    c->blocks = blocks;
    for (int p = 0; p <= KB_PARTS; p++)
        c->part[p] = kb_share(N, p, KB_PARTS);
    TRY(kb_alloc(ctx, blocks + 1, sizeof *c->block_start, &c->block_start));
    *out = c;
    return KB_OK;
done:
    kb_columns_free(c);
    return status;
}

kb_status kb_columns_from_binmat(kb_context *ctx, const kb_binmat *z, const uint32_t *class_of,
                                 kb_columns **out) {
    kb_status status;
    kb_columns *c = NULL;
    filling g = {.z = z};
    TRY(create(ctx, z->rows, z->bins, z->grids, &c));
    memcpy(c->block_start, z->start, (z->grids + 1) * sizeof *c->block_start);
    c->value = 1 / sqrt((double)z->grids);
    TRY(order_rows(ctx, z, class_of, c));
    TRY(kb_alloc(ctx, z->bins * KB_PARTS + 1, sizeof *c->start, &c->start));
    TRY(kb_alloc(ctx, z->rows * z->grids, sizeof *c->row, &c->row));
    TRY(kb_zalloc(ctx, z->bins * KB_PARTS, sizeof *c->positive, &c->positive));
    TRY(kb_alloc(ctx, z->rows * KB_GROUP * (size_t)ctx->threads, sizeof *g.bin, &g.bin));
    g.c = c;
    c->start[0] = 0;
    kb_team_run(ctx, z->rows * z->grids < KB_WORTH_A_THREAD, fill_groups, &g);
done:
    kb_release(ctx, g.bin);
    if (status != KB_OK) {
        kb_columns_free(c);
        c = NULL;
    }
    *out = c;
    return status;
}

kb_status kb_columns_from_dense(kb_context *ctx, size_t N, size_t D, const double *Z,
                                kb_columns **out) {
    kb_status status;
    kb_columns *c = NULL;
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
        kb_columns_free(c);
        c = NULL;
    }
    *out = c;
    return status;
}

void kb_columns_free(kb_columns *c) {
    if (!c)
        return;
    void *all[] = {c->block_start, c->start, c->row, c->positive, c->order, c->dense, c};
    kb_allocator allocator = c->allocator;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(allocator, all[i]);
}

double kb_columns_bytes(size_t N, size_t R, size_t D) {
    return 4.0 * (double)N * (double)R + 12.0 * KB_PARTS * (double)D + 4.0 * (double)N +
           8.0 * (double)R;
}

/* ---- the split --------------------------------------------------------- */

typedef struct splitting {
    kb_columns *c;
    const double *y;
    size_t border[KB_PARTS]; /* the first row of each that is not positive */
    uint32_t *spare;         /* N a thread; NULL: positive rows come first in all parts */
} splitting;

/* The two runs of a column's part that are there are merged, and dealt out again as they come. */
static void split_part(const splitting *s, size_t q, uint32_t *spare) {
    uint32_t *row = s->c->row + s->c->start[q];
    size_t count = s->c->start[q + 1] - s->c->start[q], a = 0, middle = s->c->positive[q];
    size_t b = middle, kept = 0, others = 0;
    memcpy(spare, row, count * sizeof *row);
    while (a < middle || b < count) {
        uint32_t i = b == count || (a < middle && spare[a] < spare[b]) ? spare[a++] : spare[b++];
        /* A place before all that is still to come, or behind: filled from the far end. */
        if (s->y[i] > 0)
            row[kept++] = i;
        else
            row[count - ++others] = i;
    }
    s->c->positive[q] = (uint32_t)kept;
    for (size_t low = kept, high = count; low + 1 < high; low++) {
        uint32_t i = row[low];
        row[low] = row[--high];
        row[high] = i;
    }
}

/* Where the rows come in that order anyway, only the border is to be found. */
static void find_border(const splitting *s, size_t q) {
    const uint32_t *row = s->c->row + s->c->start[q];
    size_t low = 0, border = s->border[q % KB_PARTS];
    for (size_t high = s->c->start[q + 1] - s->c->start[q]; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (row[middle] < border)
            low = middle + 1;
        else
            high = middle;
    }
    s->c->positive[q] = (uint32_t)low;
}

static void split_parts(void *arg, int me, int threads) {
    const splitting *s = arg;
    size_t count = s->c->columns * KB_PARTS;
    for (size_t q = kb_share(count, me, threads); q < kb_share(count, me + 1, threads); q++) {
        if (s->spare)
            split_part(s, q, s->spare + (size_t)me * s->c->rows);
        else
            find_border(s, q);
    }
}

/* Whether all positive rows of part p come first; up to where. */
static int in_order(const kb_columns *c, const double *y, size_t p, size_t *border) {
    size_t last = c->part[p + 1];
    *border = c->part[p];
    while (*border < last && y[*border] > 0)
        ++*border;
    while (last > *border && !(y[last - 1] > 0))
        last--;
    return last == *border;
}

kb_status kb_columns_split(kb_context *ctx, kb_columns *c, const double *y) {
    kb_status status = KB_OK;
    splitting s = {.c = c, .y = y};
    int deal = c->dealt;
    if (!c->row)
        return KB_OK;
    for (size_t p = 0; p < KB_PARTS; p++)
        deal |= !in_order(c, y, p, &s.border[p]);
    if (deal) {
        TRY(kb_alloc(ctx, c->rows * (size_t)ctx->threads, sizeof *s.spare, &s.spare));
        c->dealt = 1;
    }
    kb_team_run(ctx, c->rows * c->blocks < KB_WORTH_A_THREAD, split_parts, &s);
done:
    kb_release(ctx, s.spare);
    return status;
}
