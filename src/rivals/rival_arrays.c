/* rival_arrays.c - a rival as named arrays, and back; see rival.h. */
#include "rivals/rival.h"
#include "rivals/rival_parts.h"

#include <math.h>
#include <string.h>

/* ---- to arrays --------------------------------------------------------- */

typedef struct list {
    kb_array *array;
    size_t count;
} list;

static void add(list *l, const char *name, kb_array_type type, size_t rows, size_t columns,
                const void *bytes) {
    if (bytes)
        l->array[l->count++] = (kb_array){name, type, columns ? 2 : 1, {rows, columns}, bytes};
}

size_t kb_rival_arrays(const kb_rival *r, kb_array *out) {
    list l = {out, 0};
    size_t d = r->features, D = r->columns;
    const kb_law *law = r->kernel ? r->kernel->law : NULL;
    add(&l, "rival.shift", KB_ARRAY_F64, d, 0, r->shift);
    add(&l, "rival.factor", KB_ARRAY_F64, d, 0, r->factor);
    if (law && law->kind == KB_KERNEL_TABLE) {
        add(&l, "kernel.knot", KB_ARRAY_F64, law->knots, 0, law->knot);
        add(&l, "kernel.share", KB_ARRAY_F64, law->knots, 0, law->share);
    }
    add(&l, "fourier.frequency", KB_ARRAY_F64, kb_fourier_padded(D) / KB_TILE_COLUMNS,
        d * KB_TILE_COLUMNS, r->frequency);
    add(&l, "fourier.phase", KB_ARRAY_F64, D, 0, r->phase);
    add(&l, "nystrom.factor", KB_ARRAY_F64, D, D, r->triangle.L);
    add(&l, "nystrom.inverse", KB_ARRAY_F64, D, 0, r->triangle.inverse);
    if (r->points) {
        const kb_points *p = r->points;
        size_t entries = p->row_start ? p->row_start[p->rows] : 0;
        add(&l, "point.zero", KB_ARRAY_F64, d, 0, p->zero);
        add(&l, "point.dense", KB_ARRAY_F64, p->rows, d, p->dense);
        add(&l, "point.start", KB_ARRAY_I64, p->rows + 1, 0, p->row_start);
        add(&l, "point.value", KB_ARRAY_F64, entries, 0, p->value);
        add(&l, "point.column", KB_ARRAY_I32, entries, 0, p->column);
    }
    add(&l, "block.start", KB_ARRAY_I64, r->blocks + 1, 0, r->start);
    if (r->splits.count) {
        add(&l, "split.direction", KB_ARRAY_F64, r->splits.count, d, r->splits.direction);
        add(&l, "split.threshold", KB_ARRAY_F64, r->splits.count, 0, r->splits.threshold);
        add(&l, "split.child", KB_ARRAY_I32, r->splits.count, 2, r->splits.child);
    }
    return l.count;
}

/* ---- from arrays ------------------------------------------------------- */

typedef struct source {
    kb_context *ctx;
    size_t count;
    const kb_array *array;
} source;

static const kb_array *find(const source *s, const char *name) {
    for (size_t k = 0; k < s->count; k++)
        if (strcmp(s->array[k].name, name) == 0)
            return &s->array[k];
    return NULL;
}

static kb_status misfit(const source *s, const char *name) {
    return kb_fail(s->ctx, KB_ERR_MODEL, "the array %s of the model is missing or does not fit",
                   name);
}

/* A copy of an array that must be there with this type and shape; numbers must be finite. */
static kb_status take(const source *s, const char *name, kb_array_type type, size_t rows,
                      size_t columns, void *out) {
    const kb_array *a = find(s, name);
    size_t n = columns ? rows * columns : rows;
    size_t size = type == KB_ARRAY_I32 ? 4 : 8;
    if (!a || a->type != type || a->rank != (columns ? 2u : 1u) || a->shape[0] != rows ||
        (columns && a->shape[1] != columns) || (columns && rows > SIZE_MAX / 8 / columns))
        return misfit(s, name);
    for (size_t k = 0; type == KB_ARRAY_F64 && k < n; k++)
        if (!isfinite(((const double *)a->bytes)[k]))
            return misfit(s, name);
    kb_status status = kb_alloc(s->ctx, n, size, out);
    if (status == KB_OK && n)
        memcpy(*(void **)out, a->bytes, n * size);
    return status;
}

/* Starts of things that lie one after the other, the last one at `end`. */
static int is_increasing(const size_t *start, size_t count, size_t end) {
    for (size_t k = 0; k + 1 < count; k++)
        if (start[k] > start[k + 1])
            return 0;
    return start[0] == 0 && start[count - 1] == end;
}

static kb_status take_sparse(const source *s, size_t rows, kb_points *p) {
    kb_status status;
    const kb_array *value = find(s, "point.value");
    size_t entries = value && value->rank == 1 ? value->shape[0] : 0;
    TRY(take(s, "point.start", KB_ARRAY_I64, rows + 1, 0, &p->row_start));
    TRY(take(s, "point.value", KB_ARRAY_F64, entries, 0, &p->value));
    TRY(take(s, "point.column", KB_ARRAY_I32, entries, 0, &p->column));
    if (!is_increasing(p->row_start, rows + 1, entries))
        TRY(misfit(s, "point.start"));
    for (size_t i = 0; i < rows; i++)
        for (size_t e = p->row_start[i]; e < p->row_start[i + 1]; e++)
            if (p->column[e] >= p->features ||
                (e > p->row_start[i] && p->column[e] <= p->column[e - 1]))
                TRY(misfit(s, "point.column"));
done:
    return status;
}

static kb_status take_points(const source *s, size_t features, kb_points **out) {
    kb_status status;
    kb_points *p;
    const kb_array *dense = find(s, "point.dense"), *start = find(s, "point.start");
    TRY(kb_zalloc(s->ctx, 1, sizeof *p, &p));
    *out = p; /* the rival frees it */
    p->allocator = kb_allocator_of(s->ctx);
    p->features = features;
    TRY(take(s, "point.zero", KB_ARRAY_F64, features, 0, &p->zero));
    if (dense) {
        p->rows = dense->shape[0];
        TRY(take(s, "point.dense", KB_ARRAY_F64, p->rows, features, &p->dense));
    } else if (start && start->rank == 1 && start->shape[0] > 0) {
        p->rows = start->shape[0] - 1;
        TRY(take_sparse(s, p->rows, p));
    } else {
        TRY(misfit(s, "point.start"));
    }
done:
    return status;
}

/* A child is a later split or a block, so every path down the tree ends. */
static kb_status take_splits(const source *s, kb_rival *r) {
    kb_status status = KB_OK;
    const kb_array *threshold = find(s, "split.threshold");
    kb_block_tree *t = &r->splits;
    if (!threshold)
        return r->blocks == 1 ? KB_OK : misfit(s, "split.threshold");
    size_t n = threshold->rank == 1 ? threshold->shape[0] : 0;
    TRY(take(s, "split.threshold", KB_ARRAY_F64, n, 0, &t->threshold));
    TRY(take(s, "split.direction", KB_ARRAY_F64, n, r->features, &t->direction));
    TRY(take(s, "split.child", KB_ARRAY_I32, n, 2, &t->child));
    t->count = n;
    for (size_t k = 0; k < 2 * n; k++) {
        int64_t child = t->child[k], parent = (int64_t)(k / 2);
        if (child >= 0 ? child <= parent || (size_t)child >= n : (size_t)~child >= r->blocks)
            TRY(misfit(s, "split.child"));
    }
done:
    return status;
}

static kb_status take_blocks(const source *s, kb_rival *r) {
    kb_status status;
    const kb_array *start = find(s, "block.start");
    TRY(take_points(s, r->features, &r->points));
    r->columns = r->points->rows;
    r->blocks = start && start->rank == 1 && start->shape[0] > 1 ? start->shape[0] - 1 : 0;
    TRY(take(s, "block.start", KB_ARRAY_I64, r->blocks + 1, 0, &r->start));
    if (r->blocks == 0 || !is_increasing(r->start, r->blocks + 1, r->columns) ||
        (r->kind == KB_RIVAL_EXACT && r->blocks != 1))
        TRY(misfit(s, "block.start"));
    TRY(take_splits(s, r));
done:
    return status;
}

static kb_status take_fourier(const source *s, kb_rival *r) {
    kb_status status;
    const kb_array *array = find(s, "fourier.phase");
    double *phase = NULL, *frequency = NULL;
    size_t R = array && array->rank == 1 ? array->shape[0] : 0, padded = kb_fourier_padded(R);
    if (R > SIZE_MAX - KB_TILE_COLUMNS || r->features > SIZE_MAX / 8 / KB_TILE_COLUMNS)
        TRY(misfit(s, "fourier.phase"));
    TRY(take(s, "fourier.phase", KB_ARRAY_F64, R, 0, &phase));
    TRY(take(s, "fourier.frequency", KB_ARRAY_F64, padded / KB_TILE_COLUMNS,
             r->features * KB_TILE_COLUMNS, &frequency));
    r->columns = R;
    TRY(kb_fourier_allocate(s->ctx, r));
    memcpy(r->phase, phase, R * sizeof *phase);
    memcpy(r->frequency, frequency, padded * r->features * sizeof *frequency);
done:
    kb_release(s->ctx, phase);
    kb_release(s->ctx, frequency);
    return status;
}

static kb_status take_nystrom(const source *s, kb_rival *r) {
    kb_status status;
    TRY(take_points(s, r->features, &r->points));
    r->columns = r->triangle.n = r->points->rows;
    TRY(take(s, "nystrom.factor", KB_ARRAY_F64, r->columns, r->columns, &r->triangle.L));
    TRY(take(s, "nystrom.inverse", KB_ARRAY_F64, r->columns, 0, &r->triangle.inverse));
done:
    return status;
}

static kb_status take_kernel(const source *s, const char *name, kb_rival *r) {
    kb_status status;
    const kb_array *array = find(s, "kernel.knot");
    size_t knots = array && array->rank == 1 ? array->shape[0] : 0;
    double *knot = NULL, *share = NULL;
    if (knots) {
        TRY(take(s, "kernel.knot", KB_ARRAY_F64, knots, 0, &knot));
        TRY(take(s, "kernel.share", KB_ARRAY_F64, knots, 0, &share));
    }
    TRY(kb_kernel_restore(s->ctx, name, knots, knot, share, &r->kernel));
done:
    kb_release(s->ctx, knot);
    kb_release(s->ctx, share);
    return status;
}

kb_status kb_rival_restore(kb_context *ctx, kb_rival_kind kind, const char *kernel, size_t features,
                           size_t count, const kb_array *arrays, kb_rival **out) {
    kb_status status;
    source s = {ctx, count, arrays};
    kb_rival *r;
    *out = NULL;
    TRY(kb_rival_create(ctx, kind, features, &r));
    TRY(take(&s, "rival.shift", KB_ARRAY_F64, features, 0, &r->shift));
    TRY(take(&s, "rival.factor", KB_ARRAY_F64, features, 0, &r->factor));
    if (kind != KB_RIVAL_FOURIER)
        TRY(take_kernel(&s, kernel, r));
    TRY(kind == KB_RIVAL_FOURIER   ? take_fourier(&s, r)
        : kind == KB_RIVAL_NYSTROM ? take_nystrom(&s, r)
                                   : take_blocks(&s, r));
    *out = r;
done:
    if (status != KB_OK)
        kb_rival_free(r);
    return status;
}
