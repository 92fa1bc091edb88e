/*
 * products.c - K V, Z W and Z' V of random binning, straight from the bin numbers.
 *
 * Given V, the sums of a grid's bins are S_r = Z_r' V (scatter), and the grid's share of K V is Z_r
 * S_r (gather).  Where a bundle of grids is stored by tuples, rows are first summed by tuple and
 * then the tuples by bin, and on the way back each tuple adds up its bins before the rows read it.
 * A batch at a time,
 *
 *   fill    the sums of the batch: scattered from V, or copied from W, then the tuples'
 *           share of the result; the threads share the bundles and groups, and each takes its
 *           rows in order.  Where sums are few against the rows, the rows are cut into parts
 *           that have sums of their own, which are added up in order: then several threads work
 *           on a bundle.  How many parts depends on the data alone;
 *   drain   them: gathered into the N rows of the result, or copied to the D rows of Z' V;
 *           the threads share the rows, and each row takes them in order.
 *
 * So no number depends on the threads, nor on how much makes a batch, and the
 * batch can be as large as the cache.  Columns go in panels of 8, 4, 2 and 1.
 */
#include "features/products.h"
#include "core/team.h"

#include <string.h>

/* Bytes of sums that a thread may keep in its cache at a time, and rows of a block. */
enum { CACHE = 1 << 17, ROWS = 1024 };

/* Doubles in a cache line. */
enum { LINE = 8 };

/* Parts of the rows: a power of two up to MOST_PARTS, and at least so many rows for each and for
 * each sum of a part.  Then the sums of the parts cost one thread less than a twentieth of a
 * product. */
enum { MOST_PARTS = 16, ROWS_A_PART = 8 * ROWS, ROWS_A_SUM = 8 };

/* What is worked on at a time: a bundle that has tuples, or else a single group. */
typedef struct unit {
    const kb_id_group *rows; /* the tuples of the rows, or NULL */
    size_t first, groups;    /* of the matrix */
    size_t parts;            /* of the rows, for the sums of V */
    size_t sums;             /* of a part, for one column: by tuples, or else by bins */
} unit;

typedef struct binop {
    kb_operator op; /* first: the two are cast into each other */
    const kb_binmat *z;
    kb_binmat *own; /* z, if it came with the operator */
    size_t units;
    unit *unit;
    int in_parts; /* whether a unit has several */
    /* Scratch.  All arrays begin at a cache line: a vector that crosses two costs double. */
    double *memory;
    size_t room;
    double *sums;      /* of a batch */
    double *panel_in;  /* N x KB_PANEL: columns of v, side by side */
    double *panel_out; /* N x KB_PANEL: and of the result */
    size_t *place;     /* units + 1: where each one's numbers begin, for one column */
} binop;

/* One product: what it reads and what it writes, the others being NULL. */
typedef struct product {
    kb_context *ctx;
    int threads; /* for which the batches are cut */
    binop *op;
    size_t C;         /* columns of the arrays below */
    const double *v;  /* N x C, scattered */
    const double *w;  /* D x C, copied */
    double *rows_out; /* N x C, gathered */
    double *bins_out; /* D x C, copied */
    double factor;    /* applied to w, or to what is written */
    double *squares;  /* units x C: the squares of the sums; may be NULL */
} product;

/* A panel of columns and a batch of units. */
typedef struct portion {
    size_t column, used; /* of the arrays */
    size_t columns;      /* used, and zeros up to 1, 2, 4 or KB_PANEL */
    size_t first, last;
    const double *v; /* the panel's columns, `columns` apart from row to row */
    double *out;
} portion;

/* Where the numbers of a unit are. */
typedef struct layout {
    const unit *u;
    double *tuple[KB_GROUP];          /* one number a tuple and column */
    double *sums[KB_GROUP][KB_GROUP]; /* one a bin and column, of each group's grids */
    double *end;
} layout;

static size_t bins_in_lane(const kb_binmat *z, size_t q, size_t g) {
    size_t r = q * KB_GROUP + g;
    return r < z->grids ? kb_binmat_bins_of(z, r) : 1;
}

/* How many tuples there are in lane g, which may be past the last group. */
static size_t tuples_in_lane(const kb_binmat *z, const unit *u, size_t g) {
    return !u->rows ? 0 : g < u->groups ? z->tuples[u->first + g] : 1;
}

/* Tuples first, then bins. */
static layout find(const binop *op, const portion *p, size_t i) {
    layout l = {.u = &op->unit[i]};
    double *at = op->sums + (op->place[i] - op->place[p->first]) * p->columns;
    for (size_t g = 0; g < KB_GROUP; g++) {
        l.tuple[g] = at;
        at += tuples_in_lane(op->z, l.u, g) * p->columns;
    }
    for (size_t g = 0; g < l.u->groups; g++)
        for (size_t k = 0; k < KB_GROUP; k++) {
            l.sums[g][k] = at;
            at += bins_in_lane(op->z, l.u->first + g, k) * p->columns;
        }
    l.end = at;
    return l;
}

/* How many numbers a unit has for one column, those of the parts after the first at the end. */
static size_t numbers_of(const kb_binmat *z, const unit *u) {
    size_t count = (u->parts - 1) * u->sums;
    for (size_t g = 0; g < KB_GROUP; g++) {
        count += tuples_in_lane(z, u, g);
        for (size_t k = 0; g < u->groups && k < KB_GROUP; k++)
            count += bins_in_lane(z, u->first + g, k);
    }
    return count;
}

/* Where part `part` has its sums of V, which lie as those of the first part, where the others are
 * added up. */
static double *part_sums(const layout *l, const portion *p, size_t part) {
    double *first = l->u->rows ? l->tuple[0] : l->sums[0][0];
    return part == 0 ? first : l->end + (part - 1) * l->u->sums * p->columns;
}

/* The parts are whole blocks of ROWS rows. */
static size_t part_of_block(const kb_binmat *z, const unit *u, size_t block) {
    return block * u->parts / ((z->rows + ROWS - 1) / ROWS);
}

/* The sums of grid r's bins. */
static double *sums_of(const layout *l, size_t r) {
    return l->sums[r / KB_GROUP - l->u->first][r % KB_GROUP];
}

static size_t last_grid(const kb_binmat *z, const unit *u) {
    size_t end = (u->first + u->groups) * KB_GROUP;
    return end < z->grids ? end : z->grids;
}

static void copy_in(const product *m, const portion *p, const layout *l) {
    const kb_binmat *z = m->op->z;
    for (size_t r = l->u->first * KB_GROUP; r < last_grid(z, l->u); r++) {
        const double *w = m->w + z->start[r] * m->C + p->column;
        double *sums = sums_of(l, r);
        for (size_t b = 0; b < kb_binmat_bins_of(z, r); b++)
            for (size_t c = 0; c < p->columns; c++)
                sums[b * p->columns + c] = c < p->used ? w[b * m->C + c] * m->factor : 0;
    }
}

static void copy_out(const product *m, const portion *p, const layout *l) {
    const kb_binmat *z = m->op->z;
    for (size_t r = l->u->first * KB_GROUP; r < last_grid(z, l->u); r++) {
        double *w = m->bins_out + z->start[r] * m->C + p->column;
        const double *sums = sums_of(l, r);
        for (size_t b = 0; b < kb_binmat_bins_of(z, r); b++)
            for (size_t c = 0; c < p->used; c++)
                w[b * m->C + c] = sums[b * p->columns + c] * m->factor;
    }
}

/* The lanes past the last grid collect sums too, which must not be read. */
static void clear_padding(const kb_binmat *z, const portion *p, const layout *l) {
    for (size_t r = last_grid(z, l->u); r < (l->u->first + l->u->groups) * KB_GROUP; r++)
        memset(sums_of(l, r), 0, p->columns * sizeof(double));
}

/* Eight independent chains, to hide the latency of additions: bin b goes to chain b mod 8, in
 * every column. */
static inline void square_strands(const double *s, size_t bins, size_t columns, double *square) {
    double strand[8 * KB_PANEL] = {0};
    size_t stride = 8 * columns, n = bins * columns, k = 0;
    for (; k + stride <= n; k += stride)
        for (size_t e = 0; e < stride; e++)
            strand[e] += s[k + e] * s[k + e];
    for (size_t e = 0; k + e < n; e++)
        strand[e] += s[k + e] * s[k + e];
    for (size_t c = 0; c < columns; c++) {
        const double *x = strand + c;
        square[c] = ((x[0] + x[columns]) + (x[2 * columns] + x[3 * columns])) +
                    ((x[4 * columns] + x[5 * columns]) + (x[6 * columns] + x[7 * columns]));
    }
}

static void square_up(const product *m, const portion *p, size_t b, const layout *l) {
    double square[KB_PANEL];
    const double *s = l->sums[0][0];
    size_t bins = (size_t)(l->end - s) / p->columns;
    if (p->columns == 1)
        square_strands(s, bins, 1, square);
    else if (p->columns == 2)
        square_strands(s, bins, 2, square);
    else if (p->columns == 4)
        square_strands(s, bins, 4, square);
    else
        square_strands(s, bins, KB_PANEL, square);
    memcpy(m->squares + b * m->C + p->column, square, p->used * sizeof *square);
}

/* Rows begin up to end of v, into the tuples or straight into the bins of their part. */
static void scatter_rows(const kb_binmat *z, const portion *p, const layout *l, size_t part,
                         size_t begin, size_t end) {
    const kb_id_group *ids = l->u->rows ? l->u->rows : &z->group[l->u->first];
    double *const *first = l->u->rows ? l->tuple : l->sums[0];
    double *sums[KB_GROUP], *at = part_sums(l, p, part);
    for (size_t g = 0; g < KB_GROUP; g++)
        sums[g] = at + (first[g] - first[0]);
    z->simd->bins->scatter(ids, begin, end, p->columns, p->v, p->columns, sums);
}

static void scatter_tuples(const kb_binmat *z, const portion *p, const layout *l) {
    if (l->u->rows)
        memset(l->sums[0][0], 0, (size_t)((const char *)l->end - (const char *)l->sums[0][0]));
    for (size_t g = 0; l->u->rows && g < l->u->groups; g++)
        z->simd->bins->scatter(&z->group[l->u->first + g], 0, z->tuples[l->u->first + g],
                               p->columns, l->tuple[g], p->columns, l->sums[g]);
}

/* Each tuple's share of the result, in the place of what it had of v. */
static void gather_tuples(const kb_binmat *z, const portion *p, const layout *l) {
    for (size_t g = 0; l->u->rows && g < KB_GROUP; g++) {
        if (g < l->u->groups)
            z->simd->bins->gather(&z->group[l->u->first + g], 0, z->tuples[l->u->first + g],
                                  p->columns, (const double *const *)l->sums[g], 1, l->tuple[g],
                                  p->columns);
        else
            memset(l->tuple[g], 0, p->columns * sizeof(double));
    }
}

/* Adds the sums of the other parts to those of the first. */
static void add_parts(const portion *p, const layout *l) {
    double *to = part_sums(l, p, 0);
    for (size_t part = 1; part < l->u->parts; part++) {
        const double *from = part_sums(l, p, part);
        for (size_t k = 0; k < l->u->sums * p->columns; k++)
            to[k] += from[k];
    }
}

/* The parts of all units of the portion have places in a row, MOST_PARTS a unit. */
static size_t place_of(const portion *p, const unit *u, size_t b, size_t part) {
    return (b - p->first) * MOST_PARTS + part * (MOST_PARTS / u->parts);
}

/* Scatters v into the sums of the parts whose places are from `begin` up to `end`. */
static void scatter_parts(const product *m, const portion *p, size_t begin, size_t end) {
    const binop *op = m->op;
    const kb_binmat *z = op->z;
    size_t first = p->first + begin / MOST_PARTS;
    size_t last = p->first + (end + MOST_PARTS - 1) / MOST_PARTS;
    for (size_t b = first; b < last; b++) {
        layout l = find(op, p, b);
        for (size_t part = 0; part < l.u->parts; part++) {
            size_t place = place_of(p, l.u, b, part);
            if (begin <= place && place < end)
                memset(part_sums(&l, p, part), 0, l.u->sums * p->columns * sizeof(double));
        }
    }
    for (size_t row = 0; row < z->rows; row += ROWS) {
        size_t to = row + ROWS < z->rows ? row + ROWS : z->rows;
        for (size_t b = first; b < last; b++) {
            layout l = find(op, p, b);
            size_t part = part_of_block(z, l.u, row / ROWS), place = place_of(p, l.u, b, part);
            if (begin <= place && place < end)
                scatter_rows(z, p, &l, part, row, to);
        }
    }
}

/* The sums of the bins from those of the parts, or from w; then what the product makes of them. */
static void fill(const product *m, const portion *p, size_t first, size_t last) {
    const binop *op = m->op;
    const kb_binmat *z = op->z;
    for (size_t b = first; b < last; b++) {
        layout l = find(op, p, b);
        if (m->v) {
            add_parts(p, &l);
            scatter_tuples(z, p, &l);
        } else {
            copy_in(m, p, &l);
        }
        clear_padding(z, p, &l);
        if (m->squares)
            square_up(m, p, b, &l);
        if (m->bins_out)
            copy_out(m, p, &l);
        else if (m->rows_out)
            gather_tuples(z, p, &l);
    }
}

/* Columns of v side by side; nothing to do if they are already. */
static void pack(const product *m, const portion *p, size_t begin, size_t end) {
    if (!m->v || m->C == p->columns)
        return;
    for (size_t i = begin; i < end; i++)
        for (size_t c = 0; c < p->columns; c++)
            m->op->panel_in[i * p->columns + c] = c < p->used ? m->v[i * m->C + p->column + c] : 0;
}

/* The finished panel to its columns, times the factor that v has not had yet. */
static void unpack(const product *m, const portion *p, size_t begin, size_t end) {
    double factor = m->v ? m->factor : 1;
    for (size_t i = begin; i < end; i++) {
        const double *from = p->out + i * p->columns;
        double *to = m->rows_out + i * m->C + p->column;
        for (size_t c = 0; c < p->used; c++)
            to[c] = from[c] * factor;
    }
}

static void gather_rows(const kb_binmat *z, const portion *p, size_t b, const layout *l,
                        size_t begin, size_t end) {
    if (l->u->rows) {
        z->simd->bins->gather(l->u->rows, begin, end, p->columns, (const double *const *)l->tuple,
                              b == 0, p->out, p->columns);
        return;
    }
    for (size_t g = 0; g < l->u->groups; g++)
        z->simd->bins->gather(&z->group[l->u->first + g], begin, end, p->columns,
                              (const double *const *)l->sums[g], b == 0 && g == 0, p->out,
                              p->columns);
}

static void drain(const product *m, const portion *p, size_t first_row, size_t last_row) {
    const kb_binmat *z = m->op->z;
    for (size_t begin = first_row; begin < last_row; begin += ROWS) {
        size_t end = begin + ROWS < last_row ? begin + ROWS : last_row;
        for (size_t b = p->first; b < p->last; b++) {
            layout l = find(m->op, p, b);
            gather_rows(z, p, b, &l, begin, end);
        }
        if (p->last == m->op->units) /* all is added up */
            unpack(m, p, begin, end);
    }
}

/* `last_one`: no other portion follows, and the threads do not wait for each other at its end. */
static void run_portion(const product *m, const portion *p, int last_one, int me, int threads) {
    size_t count = p->last - p->first, N = m->op->z->rows;
    size_t first = kb_share(count, me, threads), last = kb_share(count, me + 1, threads);
    if (m->v && m->op->in_parts) {
        scatter_parts(m, p, kb_share(count * MOST_PARTS, me, threads),
                      kb_share(count * MOST_PARTS, me + 1, threads));
        kb_team_meet(m->ctx, me, threads);
    } else if (m->v) {
        scatter_parts(m, p, first * MOST_PARTS, last * MOST_PARTS);
    }
    fill(m, p, p->first + first, p->first + last);
    if (m->rows_out) {
        kb_team_meet(m->ctx, me, threads);
        drain(m, p, kb_share(N, me, threads), kb_share(N, me + 1, threads));
    }
    if (!last_one)
        kb_team_meet(m->ctx, me, threads);
}

/* As many units as fit in the caches, and at least one for every thread. */
static size_t batch_end(const binop *op, size_t first, size_t columns, int threads) {
    size_t last = first, bytes = 0;
    while (last < op->units &&
           (last - first < (size_t)threads || bytes < CACHE * (size_t)threads)) {
        bytes += (op->place[last + 1] - op->place[last]) * columns * sizeof(double);
        last++;
    }
    return last;
}

/* The narrowest panel that has the columns that are left, or the widest one: zeros beside them cost
 * less than another panel. */
static size_t panel(size_t columns_left) {
    size_t columns = 1;
    while (columns < columns_left && columns < KB_PANEL)
        columns *= 2;
    return columns;
}

/* The most sums that a batch of such panels has. */
static size_t most_sums(const binop *op, size_t columns, int threads) {
    size_t most = 0;
    for (size_t first = 0, last; first < op->units; first = last) {
        last = batch_end(op, first, columns, threads);
        size_t count = (op->place[last] - op->place[first]) * columns;
        most = count > most ? count : most;
    }
    return most;
}

static kb_status reserve(kb_context *ctx, product *m) {
    binop *op = m->op;
    size_t sums = 0, columns = panel(m->C);
    size_t packed = m->C == columns ? 0 : (op->z->rows * columns + LINE - 1) / LINE * LINE;
    for (size_t c = columns; c > 0; c /= 2) {
        size_t count = most_sums(op, c, m->threads);
        sums = count > sums ? count : sums;
    }
    kb_status status =
        kb_reserve(ctx, LINE + 2 * packed + sums, sizeof(double), &op->room, &op->memory);
    if (status != KB_OK)
        return status;
    op->panel_in = op->memory + (LINE - (uintptr_t)op->memory / sizeof(double) % LINE) % LINE;
    op->panel_out = op->panel_in + packed;
    op->sums = op->panel_out + packed;
    return KB_OK;
}

static void run_all(void *arg, int me, int threads) {
    const product *m = arg;
    const binop *op = m->op;
    size_t N = op->z->rows;
    for (size_t column = 0, columns; column < m->C; column += columns) {
        size_t rest = m->C - column;
        columns = panel(rest);
        portion p = {.column = column, .columns = columns, .used = rest < columns ? rest : columns};
        p.v = m->C == columns ? m->v : m->v ? op->panel_in : NULL;
        p.out = m->C == columns ? m->rows_out : op->panel_out;
        pack(m, &p, kb_share(N, me, threads), kb_share(N, me + 1, threads));
        if (m->v && m->C != columns)
            kb_team_meet(m->ctx, me, threads);
        for (size_t last; p.first < op->units; p.first = last) {
            p.last = last = batch_end(op, p.first, columns, m->threads);
            run_portion(m, &p, last == op->units && column + columns == m->C, me, threads);
        }
    }
}

/* With as many parts as pay. */
static unit unit_of(const kb_binmat *z, const kb_id_group *rows, size_t first, size_t groups) {
    unit u = {.rows = rows, .first = first, .groups = groups, .parts = 1};
    for (size_t k = 0; k < KB_GROUP; k++)
        u.sums += rows ? tuples_in_lane(z, &u, k) : bins_in_lane(z, first, k);
    while (u.parts < MOST_PARTS && 2 * u.parts * ROWS_A_PART <= z->rows &&
           2 * u.parts * ROWS_A_SUM * u.sums <= z->rows)
        u.parts *= 2;
    return u;
}

static void lay_out(binop *op) {
    const kb_binmat *z = op->z;
    op->place[0] = 0;
    for (size_t q = 0, step; q < z->groups; q += step) {
        const kb_id_group *rows = &z->bundle[q / KB_GROUP];
        step = !rows->ids ? 1 : z->groups - q < KB_GROUP ? z->groups - q : KB_GROUP;
        unit u = unit_of(z, rows->ids ? rows : NULL, q, step);
        op->in_parts |= u.parts > 1;
        op->place[op->units + 1] = op->place[op->units] + numbers_of(z, &u);
        op->unit[op->units++] = u;
    }
}

/* The numbers may be elsewhere until the first product. */
static kb_status bring(kb_context *ctx, binop *op) {
    kb_status status = kb_binmat_fetch(ctx, op->z);
    if (status == KB_OK && op->units == 0)
        lay_out(op);
    return status;
}

static kb_status run(kb_context *ctx, product *m) {
    kb_status status;
    int alone = m->op->z->rows * m->op->z->groups < KB_WORTH_A_THREAD;
    m->ctx = ctx;
    m->threads = alone ? 1 : ctx->threads;
    TRY(bring(ctx, m->op));
    TRY(reserve(ctx, m));
    kb_team_run(ctx, alone, run_all, m);
done:
    return status;
}

static kb_status binop_apply_k(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                               double *out, double *square) {
    kb_status status;
    binop *op = (binop *)self;
    product m = {.op = op, .C = C, .v = v, .rows_out = out, .factor = 1 / (double)op->z->R};
    TRY(bring(ctx, op));
    size_t units = op->units;
    if (square)
        TRY(kb_alloc(ctx, units * C, sizeof(double), &m.squares));
    TRY(run(ctx, &m));
    for (size_t c = 0; square && c < C; c++) {
        square[c] = 0;
        for (size_t b = 0; b < units; b++)
            square[c] += m.squares[b * C + c];
        square[c] *= m.factor;
    }
done:
    kb_release(ctx, m.squares);
    return status;
}

static kb_status binop_apply(kb_operator *self, kb_context *ctx, size_t C, const double *w,
                             double *out) {
    binop *op = (binop *)self;
    product m = {.op = op, .C = C, .w = w, .rows_out = out, .factor = kb_bin_value(op->z->R)};
    if (op->z->elsewhere) {
        int done;
        kb_status status = op->z->elsewhere->times(ctx, op->z->there, C, w, out, &done);
        if (status != KB_OK || done)
            return status;
    }
    return run(ctx, &m);
}

static kb_status binop_apply_t(kb_operator *self, kb_context *ctx, size_t C, const double *v,
                               double *out) {
    binop *op = (binop *)self;
    product m = {.op = op, .C = C, .v = v, .bins_out = out, .factor = kb_bin_value(op->z->R)};
    return run(ctx, &m);
}

static void binop_release(kb_operator *self) {
    binop *op = (binop *)self;
    kb_allocator_release(self->allocator, op->memory);
    kb_allocator_release(self->allocator, op->unit);
    kb_allocator_release(self->allocator, op->place);
    kb_binmat_free(op->own);
}

static kb_status binop_subset(kb_operator *self, kb_context *ctx, size_t count,
                              const uint32_t *rows, kb_operator **out) {
    kb_binmat *z = NULL;
    *out = NULL;
    kb_status status = kb_binmat_fetch(ctx, ((binop *)self)->z);
    if (status == KB_OK)
        status = kb_binmat_subset(ctx, ((binop *)self)->z, count, rows, &z);
    if (status == KB_OK)
        status = kb_operator_binmat(ctx, z, out);
    if (status == KB_OK)
        ((binop *)*out)->own = z;
    else
        kb_binmat_free(z);
    return status;
}

kb_status kb_operator_binmat(kb_context *ctx, const kb_binmat *z, kb_operator **out) {
    kb_status status;
    binop *op;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *op, &op));
    op->op = (kb_operator){
        .allocator = kb_allocator_of(ctx),
        .rows = z->rows,
        .columns = z->bins,
        .apply_k = binop_apply_k,
        .apply = binop_apply,
        .apply_t = binop_apply_t,
        .subset = binop_subset,
        .release = binop_release,
    };
    op->z = z;
    TRY(kb_alloc(ctx, z->groups, sizeof *op->unit, &op->unit));
    TRY(kb_alloc(ctx, z->groups + 1, sizeof *op->place, &op->place));
    if (!z->away)
        lay_out(op);
    *out = &op->op;
    if (z->place)
        TRY(kb_operator_placed(ctx, &op->op, z->place, out));
done:
    if (status != KB_OK)
        kb_operator_free(op ? &op->op : NULL);
    return status;
}
