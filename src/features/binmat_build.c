/*
 * binmat_build.c - Z from the grids and the data; see binmat.h.
 *
 * The rows of a bundle are cut into parts, which the threads number (binpart.h) and then merge in
 * order (binmat_bundle.h).  Some bundles are under way at a time, and of each the next parts: a
 * wave.  The threads take the tasks of each step of a wave as they become free.  What is under way
 * beside the finished numbers is kept small against them: parts are of limited size, and the
 * tables of tuples, which grow with the rows, are those of few bundles.
 *
 * A bundle of few rows is not cut: a thread does all steps for it, and nothing is merged.
 */
#include "features/binmat_bundle.h"
#include "core/team.h"
#include "options/say.h"

#include <stdatomic.h>

/* After so many bundles the memory that all will take is forecast. */
enum { PILOT = 4 };

/* A bundle under way takes 10 to 60 bytes a row beside its numbers, most of them for the tuples.
 * All together may take a fifth of the numbers, at about a byte a row and grid, or some megabytes
 * if that is more. */
enum { BYTES_A_ROW = 48, BYTES_WITHOUT_TUPLES = 12, SMALL = 32 << 20 };

/* Parts of the first wave of a bundle, which show whether tuples pay. */
enum { FIRST_WAVE = 8 };

/* How the work is cut. */
typedef struct cut {
    size_t parts;   /* of a bundle */
    size_t rows;    /* of a part */
    size_t abreast; /* bundles under way */
    size_t step;    /* parts of each in a wave */
} cut;

static size_t at_least(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t at_most(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t over(size_t a, size_t b) {
    return (a + b - 1) / b;
}

/* Whether so many bundles keep the threads busy without being cut.  Where rows are few, a cut that
 * only doubles the busy threads is lost again in the merge. */
static int suffice(size_t rows, size_t bundles, size_t threads) {
    return over(bundles, threads) * threads * 7 <= bundles * 8 ||
           (rows <= KB_PART_ROWS / 4 && 2 * bundles >= threads);
}

/* `grids` are those of the whole matrix, `bundles` those to be made now; `direct`: without tuples.
 */
static cut cut_for(size_t rows, size_t grids, size_t bundles, size_t threads, int direct) {
    /* Parts of half the most rows, since as many are under way as there are threads. */
    cut c = {.parts = rows <= KB_PART_ROWS ? 1 : over(rows, KB_PART_ROWS / 2)};
    if (!suffice(rows, bundles, threads))
        c.parts = at_least(c.parts, at_most(over(4 * threads, bundles), over(rows, KB_PART_CHUNK)));
    c.rows = at_least(over(rows, c.parts), 1);
    c.parts = at_least(over(rows, c.rows), 1);
    size_t bytes = at_least(SMALL, rows * grids / 5);
    size_t abreast = bytes / (direct ? BYTES_WITHOUT_TUPLES : BYTES_A_ROW) / (c.rows * c.parts);
    c.abreast = at_least(at_most(at_most(abreast, threads), bundles), 1);
    c.step = at_most(over(threads, c.abreast), c.parts);
    return c;
}

/* What one thread works with. */
typedef struct worker {
    kb_binpart_maker *maker;
    kb_status status;
} worker;

typedef struct build {
    kb_context *ctx;
    const kb_binning *binning;
    const kb_data *data;
    uint32_t *order; /* of the rows, or NULL */
    kb_binmat *z;
    double *kappa;
    worker *workers;
    size_t threads;
    kb_bundle *bundle; /* those under way */
    kb_binpart *part;
    size_t parts;            /* that have ever been used */
    atomic_size_t rows_done; /* of all bundles */
    atomic_int stop;
    /* The step that the threads are at, and the wave it is for. */
    kb_status (*task)(struct build *b, int me, size_t i);
    atomic_size_t next;
    size_t tasks;
    cut cut;
    size_t first;       /* bundle */
    int direct;         /* no tuples: they did not pay in any bundle before */
    size_t from, count; /* parts */
} build;

/* Thread 0 is the caller's own and is the one that reports. */
static kb_status report(build *b, int me, size_t rows) {
    size_t done = atomic_fetch_add(&b->rows_done, rows) + rows;
    if (me != 0)
        return KB_OK;
    return kb_progress(b->ctx, "bin", (double)done / ((double)b->z->rows * (double)b->z->bundles));
}

typedef struct reporter {
    build *b;
    int me;
} reporter;

static kb_status rows_are_done(void *arg, size_t rows) {
    reporter *r = arg;
    return report(r->b, r->me, rows);
}

static void take_tasks(void *arg, int me, int threads) {
    build *b = arg;
    (void)threads;
    for (size_t i; (i = atomic_fetch_add(&b->next, 1)) < b->tasks && !atomic_load(&b->stop);) {
        kb_status status = b->task(b, me, i);
        if (status != KB_OK) {
            b->workers[me].status = status;
            atomic_store(&b->stop, 1);
        }
    }
}

static kb_status run(build *b, size_t tasks, kb_status (*task)(build *b, int me, size_t i)) {
    b->task = task;
    b->tasks = tasks;
    atomic_store(&b->next, 0);
    kb_team_run(b->ctx, (int)at_least(at_most(tasks, b->threads), 1), take_tasks, b);
    for (size_t t = 0; t < b->threads; t++)
        if (b->workers[t].status != KB_OK)
            return b->workers[t].status;
    return KB_OK;
}

/* ---- the steps --------------------------------------------------------- */

static kb_status number_rows(build *b, int me, size_t bundle, int with_tuples, size_t begin,
                             kb_binpart *part) {
    kb_status status = KB_OK;
    size_t rest = b->z->rows - begin;
    reporter r = {b, me};
    part->begin = begin;
    part->rows = at_most(rest, b->cut.rows);
    if (!b->workers[me].maker)
        TRY(kb_binpart_maker_create(b->ctx, b->data, b->order, &b->workers[me].maker));
    TRY(kb_binpart_number(b->ctx, b->binning, b->data, bundle, with_tuples, b->workers[me].maker,
                          rows_are_done, &r, part));
done:
    return status;
}

/* Task i is part i % count of bundle i / count of the wave. */
static kb_status number_part(build *b, int me, size_t i) {
    const kb_bundle *bundle = &b->bundle[i / b->count];
    return number_rows(b, me, bundle->bundle, !bundle->direct,
                       (b->from + i % b->count) * b->cut.rows, &b->part[i]);
}

static kb_status merge_group(build *b, int me, size_t i) {
    size_t k = i / KB_GROUP;
    (void)me;
    return kb_bundle_merge(b->ctx, &b->bundle[k], i % KB_GROUP, b->count, b->part + k * b->count);
}

/* Task i is grid i % KB_BUNDLE of bundle i / KB_BUNDLE of the wave. */
static kb_status merge_grid(build *b, int me, size_t i) {
    size_t k = i / KB_BUNDLE;
    (void)me;
    return kb_bundle_merge_grid(b->ctx, &b->bundle[k], i % KB_BUNDLE, b->count,
                                b->part + k * b->count);
}

static kb_status settle(build *b, int me, size_t i) {
    (void)me;
    return kb_bundle_settle(b->ctx, &b->bundle[i]);
}

static kb_status write_part(build *b, int me, size_t i) {
    (void)me;
    kb_bundle_write(&b->bundle[i / b->count], &b->part[i]);
    return KB_OK;
}

static kb_status finish(build *b, int me, size_t i) {
    kb_bundle *bundle = &b->bundle[i];
    (void)me;
    return kb_bundle_finish(b->ctx, bundle, b->kappa + bundle->bundle * KB_BUNDLE);
}

/* All steps of a bundle that is not cut. */
static kb_status make_whole(build *b, int me, size_t i) {
    kb_status status;
    kb_bundle *bundle = &b->bundle[me];
    kb_binpart *part = &b->part[me];
    TRY(kb_bundle_begin(b->ctx, b->z, b->first + i, 1, bundle));
    TRY(number_rows(b, me, bundle->bundle, 1, 0, part));
    for (size_t g = 0; g < KB_GROUP; g++)
        TRY(kb_bundle_merge(b->ctx, bundle, g, 1, part));
    TRY(kb_bundle_settle(b->ctx, bundle));
    kb_bundle_write(bundle, part);
    TRY(kb_bundle_finish(b->ctx, bundle, b->kappa + bundle->bundle * KB_BUNDLE));
done:
    return status;
}

/* `count` bundles from b->first on, a wave after the other. */
static kb_status make_abreast(build *b, size_t count) {
    kb_status status = KB_OK;
    for (size_t k = 0; k < count; k++) {
        TRY(kb_bundle_begin(b->ctx, b->z, b->first + k, 0, &b->bundle[k]));
        b->bundle[k].direct = b->direct;
    }
    for (b->from = 0; b->from < b->cut.parts; b->from += b->count) {
        int direct = 1;
        for (size_t k = 0; k < count; k++)
            direct &= b->bundle[k].direct;
        b->count = at_most(b->cut.step, b->cut.parts - b->from);
        if (!direct && b->from == 0)
            b->count = at_most(b->count, FIRST_WAVE);
        TRY(run(b, count * b->count, number_part));
        if (direct)
            TRY(run(b, count * KB_BUNDLE, merge_grid));
        else
            TRY(run(b, count * KB_GROUP, merge_group));
        TRY(run(b, count, settle));
        TRY(run(b, count * b->count, write_part));
        for (size_t k = 0; k < count; k++)
            b->bundle[k].done = at_most((b->from + b->count) * b->cut.rows, b->z->rows);
    }
    TRY(run(b, count, finish));
done:
    return status;
}

static kb_status make_bundles(build *b, size_t first, size_t last) {
    kb_status status = KB_OK;
    if (first == last)
        return KB_OK;
    b->direct = first > 0 && b->z->rows > KB_PART_ROWS; /* whatever the number of threads */
    for (size_t k = 0; k < first; k++)
        b->direct &= b->z->bundle[k].ids == NULL;
    b->cut = cut_for(b->z->rows, b->z->grids, last - first, b->threads, b->direct);
    b->first = first;
    int whole = b->cut.parts == 1;
    size_t parts = whole ? b->threads : b->cut.abreast * b->cut.step;
    for (; b->parts < parts; b->parts++) {
        TRY(kb_realloc(b->ctx, b->parts + 1, sizeof *b->part, &b->part));
        b->part[b->parts] = (kb_binpart){0};
    }
    if (whole)
        return run(b, last - first, make_whole);
    for (size_t count; b->first < last; b->first += count) {
        count = at_most(b->cut.abreast, last - b->first);
        TRY(make_abreast(b, count));
    }
done:
    return status;
}

/* ---- the whole --------------------------------------------------------- */

static size_t id_bytes(const kb_binmat *z) {
    size_t bytes = 0;
    for (size_t b = 0; b < z->bundles; b++)
        bytes += z->bundle[b].ids ? kb_id_group_bytes(&z->bundle[b], z->rows) : 0;
    for (size_t q = 0; q < z->groups; q++)
        bytes += kb_id_group_bytes(&z->group[q], z->tuples[q]);
    return bytes;
}

/* A forecast, or exact for a share of 1. */
kb_status kb_binmat_check_memory(kb_context *ctx, kb_binmat *z, double share,
                                 const kb_memory_plan *memory) {
    static const kb_memory_plan NO_LIMIT = {SIZE_MAX, 0, 0};
    memory = memory ? memory : &NO_LIMIT;
    double ids = z->away ? 0 : (double)id_bytes(z) / share, bins = 0;
    for (size_t r = 0; r < z->grids; r++)
        bins += (double)z->start[r + 1] / share;
    double need = memory->fixed + ids + memory->per_bin * bins;
    if (share < 1 || z->forecast == 0) {
        z->forecast = need;
        kb_log(ctx, KB_LOG_INFO,
               "memory: %s forecast, %s of it for the bin numbers, about %.0f bins",
               kb_size_in_words(need).text, kb_size_in_words(ids).text, bins);
    }
    if (need <= (double)memory->limit)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_MEMORY,
                   "%zu grids with %.0f bins need %s of memory, and %s may be taken: use fewer "
                   "%s, a larger %s or a larger %s",
                   z->grids, bins, kb_size_in_words(need).text,
                   kb_size_in_words((double)memory->limit).text, kb_say(ctx, KB_OPT_GRIDS).text,
                   kb_say(ctx, KB_OPT_SIGMA).text, kb_say(ctx, KB_OPT_MAX_MEMORY).text);
}

void kb_binmat_sum_up(kb_binmat *z, const double *kappa) {
    for (size_t r = 0; r < z->grids; r++) {
        z->start[r + 1] += z->start[r];
        z->kappa += kappa[r] / (double)z->grids;
    }
    z->bins = z->start[z->grids];
    if (!z->away)
        z->id_bytes = id_bytes(z);
}

static kb_status begin(build *b, size_t R) {
    kb_status status;
    TRY(kb_binmat_create(b->ctx, b->data->rows, b->binning->grids->grids, R, &b->z));
    b->z->simd = b->binning->simd;
    TRY(kb_alloc(b->ctx, b->z->grids, sizeof *b->kappa, &b->kappa));
    TRY(kb_zalloc(b->ctx, b->threads, sizeof *b->workers, &b->workers));
    TRY(kb_zalloc(b->ctx, b->threads, sizeof *b->bundle, &b->bundle));
done:
    return status;
}

static void end(build *b) {
    for (size_t t = 0; b->workers && t < b->threads; t++)
        kb_binpart_maker_free(b->ctx, b->workers[t].maker);
    for (size_t t = 0; b->bundle && t < b->threads; t++)
        kb_bundle_release(b->ctx, &b->bundle[t]);
    for (size_t p = 0; p < b->parts; p++)
        kb_binpart_release(b->ctx, &b->part[p]);
    kb_release(b->ctx, b->workers);
    kb_release(b->ctx, b->bundle);
    kb_release(b->ctx, b->part);
    kb_release(b->ctx, b->kappa);
    kb_release(b->ctx, b->order);
}

/* Grids whose widths tell how close rows are. */
enum { GRIDS = 64 };

kb_status kb_binmat_put_in_order(kb_context *ctx, kb_binmat *z, const kb_binning *binning,
                                 const kb_data *data, uint32_t **order) {
    kb_status status;
    const kb_grids *g = binning->grids;
    double cuts[KB_ORDER_FEATURES] = {0};
    size_t grids = at_most(g->grids, GRIDS);
    for (size_t j = 0; j < data->features; j++)
        for (size_t r = 0; r < grids; r++)
            cuts[j] += fabs(*kb_grids_at(g, r, j) * binning->scale[j]) / (double)grids;
    TRY(kb_data_order(ctx, data, cuts, order));
    TRY(kb_alloc(ctx, data->rows, sizeof *z->place, &z->place));
    for (size_t i = 0; i < data->rows; i++)
        z->place[(*order)[i]] = (uint32_t)i;
done:
    return status;
}

static kb_status build_all(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                           size_t R, int ordered, const kb_memory_plan *memory, kb_binmat **out) {
    kb_status status;
    kb_binning with = *binning;
    build b = {.ctx = ctx, .binning = &with, .data = data, .threads = (size_t)ctx->threads};
    int few = data->rows <= KB_PART_ROWS; /* without a limit all threads then begin at once */
    *out = NULL;
    if (!with.simd)
        with.simd = kb_simd_best();
    TRY(begin(&b, R));
    if (ordered && kb_data_can_order(data))
        TRY(kb_binmat_put_in_order(ctx, b.z, binning, data, &b.order));
    size_t bundles = b.z->bundles, pilot = few && !memory ? bundles : at_most(bundles, PILOT);
    TRY(make_bundles(&b, 0, pilot));
    TRY(kb_binmat_check_memory(ctx, b.z, (double)pilot / (double)bundles, memory));
    TRY(make_bundles(&b, pilot, bundles));
    TRY(kb_binmat_check_memory(ctx, b.z, 1, memory));
    kb_binmat_sum_up(b.z, b.kappa);
    *out = b.z;
done:
    end(&b);
    if (status != KB_OK)
        kb_binmat_free(b.z);
    return status;
}

kb_status kb_binmat_build(kb_context *ctx, const kb_binning *binning, const kb_data *data, size_t R,
                          const kb_memory_plan *memory, kb_binmat **out) {
    return build_all(ctx, binning, data, R, 0, memory, out);
}

kb_status kb_binmat_build_ordered(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                                  size_t R, const kb_memory_plan *memory, kb_binmat **out) {
    return build_all(ctx, binning, data, R, 1, memory, out);
}

/* With a bin for three rows and half a tuple a row, which is much for both. */
kb_bytes kb_binmat_build_bytes(size_t rows, size_t features, int dense, size_t grids, int team) {
    enum { MAKER = 1 << 19, MAKER_A_ROW = 60, PART_A_ROW = 40 };
    size_t threads = (size_t)team, bundles = at_least(over(grids, KB_BUNDLE), 1);
    cut c = cut_for(rows, grids, bundles, threads, 0);
    int whole = c.parts == 1;
    double makers = (double)at_most(threads, whole ? bundles : c.abreast * c.step);
    double parts = whole ? makers : (double)(c.abreast * c.step);
    double sparse = dense ? 0 : 8.0 * KB_BUNDLE * (double)(features + 1);
    double order = dense && rows >= KB_MANY_ROWS ? 2 * sizeof(uint32_t) : 0;
    return (kb_bytes){
        .fixed = makers * (MAKER + MAKER_A_ROW * (double)c.rows + sparse) +
                 parts * PART_A_ROW * (double)c.rows,
        .row = order + (whole ? 0 : (double)c.abreast * BYTES_A_ROW),
    };
}
