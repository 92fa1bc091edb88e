/*
 * slices.c - see slices.h.
 *
 * The rows of a group of grids (simd/bins.h) are summed into its cells: the tuples of the group
 * where its bundle has them, and then the tuples into bins; else its bins.  On the way back each
 * tuple adds up its bins before the rows read it.
 *
 * With one thread, or more groups in a slice than threads, a thread sums all rows of a group.  With
 * more threads the rows are shared, each part into cells of its own, which are then added up.
 */
#include "features/slices.h"
#include "core/team.h"
#include "ranks/ranks.h"

#include <string.h>

/* Rows worked on at a time, so that they stay in cache from one group to the next. */
enum { ROWS = 4096 };

struct kb_slices {
    kb_allocator allocator;
    kb_context *ctx;
    const kb_binmat *z;
    size_t groups; /* in a slice */
    size_t columns;
    size_t count;
    size_t *cells; /* groups of z + 1: the first cell of each, counted through all groups */
    size_t most_cells, most_tuples, most_bins; /* of a slice */
    size_t parts;                              /* of the rows, at most */
    int64_t *sums;                             /* most_bins x columns */
    int64_t *part;                             /* parts x most_cells x columns */
    int64_t *spare;      /* a line for each thread: where lanes without a grid are summed */
    int32_t *tuple_step; /* most_tuples x columns */
    int32_t *nothing;    /* columns zeros */
    kb_status status;    /* of the exchange with other ranks */
};

/* The groups of slice k: first up to last. */
static size_t first_group(const kb_slices *s, size_t k) {
    return k * s->groups;
}

static size_t last_group(const kb_slices *s, size_t k) {
    size_t last = (k + 1) * s->groups;
    return last < s->z->groups ? last : s->z->groups;
}

static int has_tuples(const kb_slices *s, size_t q) {
    return s->z->bundle[q / KB_GROUP].ids != NULL;
}

/* The first column of Z in group q. */
static size_t first_bin(const kb_slices *s, size_t q) {
    size_t r = q * KB_GROUP;
    return s->z->start[r < s->z->grids ? r : s->z->grids];
}

static size_t cells_of(const kb_slices *s, size_t q) {
    return s->cells[q + 1] - s->cells[q];
}

size_t kb_slices_count(const kb_slices *s) {
    return s->count;
}

size_t kb_slice_first(const kb_slices *s, size_t k) {
    return first_bin(s, first_group(s, k));
}

size_t kb_slice_bins(const kb_slices *s, size_t k) {
    return first_bin(s, last_group(s, k)) - kb_slice_first(s, k);
}

size_t kb_slices_most_bins(const kb_slices *s) {
    return s->most_bins;
}

/* ---- sums -------------------------------------------------------------- */

/* Parts of the rows, so that each thread has a group of a part. */
static size_t parts_wanted(size_t groups, int threads) {
    return groups >= (size_t)threads ? 1 : ((size_t)threads + groups - 1) / groups;
}

static size_t parts_for(const kb_slices *s, size_t groups, int threads) {
    size_t parts = parts_wanted(groups, threads);
    return parts < s->parts ? parts : s->parts;
}

/* Where part p has the cells of group q of slice k. */
static int64_t *cells_at(const kb_slices *s, size_t k, size_t q, size_t p) {
    size_t offset = s->cells[q] - s->cells[first_group(s, k)];
    return s->part + (p * s->most_cells + offset) * s->columns;
}

static int64_t *spare_cell(const kb_slices *s, int me) {
    return s->spare + me * KB_PANEL;
}

static int64_t *sums_at(const kb_slices *s, size_t k, size_t q) {
    return s->sums + (first_bin(s, q) - kb_slice_first(s, k)) * s->columns;
}

/* The numbers of each grid of group q, from those of its first grid on; `spare` for the lanes past
 * the last grid. */
static void lanes_of(const kb_slices *s, size_t q, int64_t *first, int64_t *spare,
                     int64_t *lane[KB_GROUP]) {
    const kb_binmat *z = s->z;
    for (size_t g = 0; g < KB_GROUP; g++) {
        size_t r = q * KB_GROUP + g;
        lane[g] = r < z->grids ? first + (z->start[r] - first_bin(s, q)) * s->columns : spare;
    }
}

/* The rows of one group, or of a whole bundle of groups that have tuples: begin up to end. */
static void sum_rows(const kb_slices *s, size_t k, size_t q, size_t groups, size_t p, int direct,
                     const int32_t *v, size_t begin, size_t end, int me) {
    const kb_whole_sums *simd = s->z->simd->whole_sums;
    const kb_id_group *bundle = &s->z->bundle[q / KB_GROUP];
    int64_t *lane[KB_GROUP];
    if (!has_tuples(s, q)) {
        lanes_of(s, q, direct ? sums_at(s, k, q) : cells_at(s, k, q, p), spare_cell(s, me), lane);
        simd->scatter(&s->z->group[q], KB_GROUP, begin, end, s->columns, v, lane);
        return;
    }
    for (size_t g = 0; g < KB_GROUP; g++)
        lane[g] = spare_cell(s, me);
    if (groups == KB_GROUP) {
        for (size_t g = 0; g < KB_GROUP; g++)
            lane[g] = cells_at(s, k, q + g, p);
        simd->scatter(bundle, KB_GROUP, begin, end, s->columns, v, lane);
        return;
    }
    for (size_t g = 0; g < groups; g++) {
        lane[(q + g) % KB_GROUP] = cells_at(s, k, q + g, p);
        simd->scatter(bundle, (q + g) % KB_GROUP, begin, end, s->columns, v, lane);
    }
}

/* The tuples of group q into its bins, of one of its grids or of all. */
static void sum_tuples(const kb_slices *s, size_t k, size_t q, size_t lane_only, int me) {
    int64_t *lane[KB_GROUP];
    size_t first = lane_only < KB_GROUP ? lane_only : 0;
    size_t last = lane_only < KB_GROUP ? lane_only + 1 : KB_GROUP;
    lanes_of(s, q, sums_at(s, k, q), NULL, lane);
    for (size_t g = first; g < last; g++) {
        size_t r = q * KB_GROUP + g;
        if (r < s->z->grids)
            memset(lane[g], 0, kb_binmat_bins_of(s->z, r) * s->columns * sizeof(int64_t));
        else if (lane_only < KB_GROUP)
            return;
        else
            lane[g] = spare_cell(s, me);
    }
    s->z->simd->whole_sums->scatter_sums(&s->z->group[q], lane_only, 0, s->z->tuples[q], s->columns,
                                         cells_at(s, k, q, 0), lane);
}

static void clear_cells(const kb_slices *s, size_t k, size_t q, size_t p, int direct) {
    size_t bytes = cells_of(s, q) * s->columns * sizeof(int64_t);
    memset(direct && !has_tuples(s, q) ? sums_at(s, k, q) : cells_at(s, k, q, p), 0, bytes);
}

/* All rows of the groups that this thread takes; groups of one bundle stay together if there are
 * enough bundles. */
static void sum_groups(kb_slices *s, size_t k, const int32_t *v, int me, int threads) {
    size_t first = first_group(s, k), last = last_group(s, k), N = s->z->rows;
    size_t stride = (last - first) % KB_GROUP == 0 && (last - first) / KB_GROUP >= (size_t)threads
                        ? KB_GROUP
                        : 1;
    size_t units = (last - first) / stride;
    size_t from = first + kb_share(units, me, threads) * stride;
    size_t to = first + kb_share(units, me + 1, threads) * stride;
    for (size_t q = from; q < to; q++)
        clear_cells(s, k, q, 0, 1);
    for (size_t begin = 0; begin < N; begin += ROWS) {
        size_t end = begin + ROWS < N ? begin + ROWS : N;
        for (size_t q = from; q < to; q += stride) {
            size_t whole = has_tuples(s, q) && stride == KB_GROUP ? KB_GROUP : 1;
            for (size_t g = 0; g < stride; g += whole)
                sum_rows(s, k, q + g, whole, 0, 1, v, begin, end, me);
        }
    }
    for (size_t q = from; q < to; q++)
        if (has_tuples(s, q))
            sum_tuples(s, k, q, KB_GROUP, me);
}

/* Cell i of all parts, added into the first or into the sums. */
static void add_parts(kb_slices *s, size_t k, size_t parts, int me, int threads) {
    for (size_t q = first_group(s, k); q < last_group(s, k); q++) {
        size_t n = cells_of(s, q) * s->columns, apart = s->most_cells * s->columns;
        const int64_t *from = cells_at(s, k, q, 0);
        int64_t *to = has_tuples(s, q) ? cells_at(s, k, q, 0) : sums_at(s, k, q);
        size_t begin = kb_share(n, me, threads), end = kb_share(n, me + 1, threads);
        for (size_t i = begin; i < end; i++) {
            int64_t sum = from[i];
            for (size_t p = 1; p < parts; p++)
                sum += from[p * apart + i];
            to[i] = sum;
        }
    }
}

static void sum_parts(kb_slices *s, size_t k, size_t parts, const int32_t *v, int me, int threads) {
    size_t first = first_group(s, k), groups = last_group(s, k) - first, N = s->z->rows;
    int tuples = 0;
    for (size_t task = (size_t)me; task < groups * parts; task += (size_t)threads) {
        size_t q = first + task % groups, p = task / groups;
        clear_cells(s, k, q, p, 0);
        sum_rows(s, k, q, 1, p, 0, v, kb_share(N, (int)p, (int)parts),
                 kb_share(N, (int)p + 1, (int)parts), me);
    }
    kb_team_meet(s->ctx, me, threads);
    add_parts(s, k, parts, me, threads);
    for (size_t q = first; q < first + groups; q++)
        tuples |= has_tuples(s, q);
    if (!tuples)
        return;
    kb_team_meet(s->ctx, me, threads);
    for (size_t task = (size_t)me; task < groups * KB_GROUP; task += (size_t)threads)
        if (has_tuples(s, first + task / KB_GROUP))
            sum_tuples(s, k, first + task / KB_GROUP, task % KB_GROUP, me);
}

const int64_t *kb_slice_sum(kb_slices *s, size_t k, const int32_t *v, int me, int threads) {
    size_t parts = parts_for(s, last_group(s, k) - first_group(s, k), threads);
    if (parts == 1)
        sum_groups(s, k, v, me, threads);
    else
        sum_parts(s, k, parts, v, me, threads);
    kb_team_meet(s->ctx, me, threads);
    if (kb_rank_count(s->ctx) > 1) {
        if (me == 0 && s->status == KB_OK)
            s->status = kb_ranks_sum_at_once(s->ctx, s->sums, kb_slice_bins(s, k) * s->columns);
        kb_team_meet(s->ctx, me, threads);
    }
    return s->sums;
}

kb_status kb_slices_status(const kb_slices *s) {
    return s->status;
}

/* ---- the way back ------------------------------------------------------ */

/* The steps of the grids of group q. */
static void steps_of(const kb_slices *s, size_t k, size_t q, const int32_t *step,
                     const int32_t *lane[KB_GROUP]) {
    for (size_t g = 0; g < KB_GROUP; g++) {
        size_t r = q * KB_GROUP + g;
        lane[g] = r < s->z->grids ? step + (s->z->start[r] - kb_slice_first(s, k)) * s->columns
                                  : s->nothing;
    }
}

/* Where the tuples of group q have their steps. */
static int32_t *tuple_steps(const kb_slices *s, size_t k, size_t q) {
    size_t offset = 0;
    for (size_t p = first_group(s, k); p < q; p++)
        offset += has_tuples(s, p) ? s->z->tuples[p] : 0;
    return s->tuple_step + offset * s->columns;
}

/* Whether there were any. */
static int spread_to_tuples(kb_slices *s, size_t k, const int32_t *step, int me, int threads) {
    int any = 0;
    for (size_t q = first_group(s, k); q < last_group(s, k); q++) {
        const int32_t *lane[KB_GROUP];
        size_t J = s->z->tuples[q];
        if (!has_tuples(s, q))
            continue;
        any = 1;
        steps_of(s, k, q, step, lane);
        s->z->simd->whole_sums->gather(&s->z->group[q], KB_GROUP, kb_share(J, me, threads),
                                       kb_share(J, me + 1, threads), s->columns, lane, 1,
                                       tuple_steps(s, k, q));
    }
    return any;
}

void kb_slice_spread(kb_slices *s, size_t k, const int32_t *step, int32_t *out, int me,
                     int threads) {
    const kb_whole_sums *simd = s->z->simd->whole_sums;
    size_t first = first_group(s, k), last = last_group(s, k), N = s->z->rows;
    size_t to = kb_share(N, me + 1, threads);
    if (spread_to_tuples(s, k, step, me, threads))
        kb_team_meet(s->ctx, me, threads);
    for (size_t begin = kb_share(N, me, threads); begin < to; begin += ROWS) {
        size_t end = begin + ROWS < to ? begin + ROWS : to;
        for (size_t q = first; q < last;) {
            const int32_t *lane[KB_GROUP] = {s->nothing, s->nothing, s->nothing, s->nothing};
            const kb_id_group *bundle = &s->z->bundle[q / KB_GROUP];
            if (!has_tuples(s, q)) {
                steps_of(s, k, q, step, lane);
                simd->gather(&s->z->group[q], KB_GROUP, begin, end, s->columns, lane, q == first,
                             out);
                q++;
            } else if (q % KB_GROUP == 0 && s->groups >= KB_GROUP) {
                size_t groups = last - q < KB_GROUP ? last - q : KB_GROUP;
                for (size_t g = 0; g < groups; g++)
                    lane[g] = tuple_steps(s, k, q + g);
                simd->gather(bundle, KB_GROUP, begin, end, s->columns, lane, q == first, out);
                q += groups;
            } else {
                lane[q % KB_GROUP] = tuple_steps(s, k, q);
                simd->gather(bundle, q % KB_GROUP, begin, end, s->columns, lane, q == first, out);
                q++;
            }
        }
    }
}

/* ---- making them ------------------------------------------------------- */

/* Cells of each group, and the largest slice. */
static void measure(kb_slices *s) {
    const kb_binmat *z = s->z;
    for (size_t q = 0; q < z->groups; q++)
        s->cells[q + 1] =
            s->cells[q] + (has_tuples(s, q) ? z->tuples[q] : first_bin(s, q + 1) - first_bin(s, q));
    for (size_t k = 0; k < s->count; k++) {
        size_t first = first_group(s, k), last = last_group(s, k), tuples = 0;
        size_t cells = s->cells[last] - s->cells[first], bins = kb_slice_bins(s, k);
        for (size_t q = first; q < last; q++)
            tuples += has_tuples(s, q) ? z->tuples[q] : 0;
        s->most_cells = cells > s->most_cells ? cells : s->most_cells;
        s->most_bins = bins > s->most_bins ? bins : s->most_bins;
        s->most_tuples = tuples > s->most_tuples ? tuples : s->most_tuples;
    }
}

/* Sharing rows pays while a part has more rows than cells to clear and to add up, and only the
 * groups of a slice need parts. */
static size_t most_parts(const kb_slices *s, int threads) {
    size_t groups = s->groups < s->z->groups ? s->groups : s->z->groups, most = 1;
    size_t cells = s->most_cells / groups + 1, pay = s->z->rows / cells;
    for (size_t k = 0; k < s->count; k++) {
        size_t parts = parts_wanted(last_group(s, k) - first_group(s, k), threads);
        most = parts > most ? parts : most;
    }
    return pay < 1 ? 1 : pay < most ? pay : most;
}

kb_status kb_slices_create(kb_context *ctx, const kb_binmat *z, size_t grids, size_t columns,
                           kb_slices **out) {
    kb_status status;
    kb_slices *s;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *s, &s));
    s->allocator = kb_allocator_of(ctx);
    s->ctx = ctx;
    s->z = z;
    TRY(kb_binmat_fetch(ctx, z));
    s->groups = grids / KB_GROUP;
    s->columns = columns;
    s->count = (z->groups + s->groups - 1) / s->groups;
    TRY(kb_zalloc(ctx, z->groups + 1, sizeof *s->cells, &s->cells));
    measure(s);
    s->parts = most_parts(s, ctx->threads);
    TRY(kb_alloc(ctx, s->most_bins * columns, sizeof *s->sums, &s->sums));
    TRY(kb_alloc(ctx, s->parts * s->most_cells * columns, sizeof *s->part, &s->part));
    TRY(kb_alloc(ctx, (size_t)ctx->threads * KB_PANEL, sizeof *s->spare, &s->spare));
    TRY(kb_alloc(ctx, s->most_tuples * columns, sizeof *s->tuple_step, &s->tuple_step));
    TRY(kb_zalloc(ctx, columns, sizeof *s->nothing, &s->nothing));
    *out = s;
done:
    if (status != KB_OK)
        kb_slices_free(s);
    return status;
}

void kb_slices_free(kb_slices *s) {
    if (!s)
        return;
    kb_allocator_release(s->allocator, s->cells);
    kb_allocator_release(s->allocator, s->sums);
    kb_allocator_release(s->allocator, s->part);
    kb_allocator_release(s->allocator, s->spare);
    kb_allocator_release(s->allocator, s->tuple_step);
    kb_allocator_release(s->allocator, s->nothing);
    kb_allocator_release(s->allocator, s);
}
