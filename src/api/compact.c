/*
 * compact.c - a model in fewer bytes.
 *
 * A decision is a mean over many grids, so the weights of one grid need few digits: they become
 * whole numbers -127 .. 127 times a unit, one for each grid and output, the largest weight / 127.
 * The errors of rounding are independent from grid to grid, and add up to about
 *
 *     sqrt(mean over the grids of unit^2 / 12),
 *
 * a thousandth of a typical decision (docs/benchmarks.md).  Of the keys the dictionary keeps 16
 * bits besides those of the bucket (features/dictionary.h).  Grids of tens of thousands of bins can
 * have some whose keys are then the same: they share the mean of their weights.
 *
 * Where the caller wants it, the weights of the bins with the least sums of squares are dropped, up
 * to a share of the sum of all.  The bins stay known, so that no row looks newer than it is.
 */
#include "core/order.h"
#include "core/team.h"
#include "model/model.h"
#include "options/say.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LEVELS = 127 };

typedef struct compacting {
    const kb_model *model;
    const kb_dictionary *cut;
    const uint32_t *order; /* the bins of `cut` in the model */
    double *square_of;     /* bins of the model: the sum of the squares of their weights, */
    double least;          /* and what those that are not dropped have */
    unsigned char *stays;  /* bins of `cut` */
    int8_t *level;
    float *unit;
    double *most, *square; /* grids x outputs: the largest change of a weight, the mean square */
} compacting;

/* The number of bin b of the cut dictionary, of grid r, in the model, times the outputs. */
static size_t place_of(const compacting *k, size_t r, size_t b) {
    return (k->cut->start[r] + k->order[b]) * k->model->info.outputs;
}

/* Where the twins of bin b end, itself included. */
static size_t twins_end(const kb_dictionary *cut, size_t b, size_t bucket_end) {
    size_t end = b + 1;
    while (end < bucket_end && cut->tail[end] == cut->tail[b])
        end++;
    return end;
}

/* The mean of the weights of the bins first .. end - 1. */
static double mean_weight(const compacting *k, size_t r, size_t first, size_t end, size_t c) {
    double sum = 0;
    for (size_t b = first; b < end; b++)
        sum += k->model->weight[place_of(k, r, b) + c];
    return sum / (double)(end - first);
}

static void sum_squares(void *arg, size_t begin, size_t end) {
    const compacting *k = arg;
    size_t C = k->model->info.outputs;
    for (size_t b = begin; b < end; b++) {
        k->square_of[b] = 0;
        for (size_t c = 0; c < C; c++) {
            double w = k->model->weight[b * C + c];
            k->square_of[b] += w * w;
        }
    }
}

/* The least square that stays, so that those below it have at most the share `drop` of all. */
static kb_status find_least(kb_context *ctx, compacting *k, double drop) {
    kb_status status;
    size_t bins = k->cut->bins, first = 0;
    double *sorted = NULL, sum = 0, below = 0;
    k->least = 0;
    if (drop == 0)
        return KB_OK;
    TRY(kb_alloc(ctx, bins, sizeof *sorted, &sorted));
    memcpy(sorted, k->square_of, bins * sizeof *sorted);
    qsort(sorted, bins, sizeof *sorted, kb_compare_doubles);
    for (size_t b = 0; b < bins; b++)
        sum += sorted[b];
    while (first < bins && below + sorted[first] <= drop * sum)
        below += sorted[first++];
    k->least = first < bins ? sorted[first] : 0;
done:
    kb_release(ctx, sorted);
    return status;
}

/* Whether one of the bins first .. end - 1 keeps its weights. */
static int has_weight(const compacting *k, size_t r, size_t first, size_t end) {
    for (size_t b = first; b < end; b++)
        if (k->square_of[k->cut->start[r] + k->order[b]] >= k->least)
            return 1;
    return 0;
}

static int8_t round_to_level(double weight, float unit) {
    double level = unit > 0 ? rint(weight / unit) : 0;
    return (int8_t)(level > LEVELS ? LEVELS : level < -LEVELS ? -LEVELS : level);
}

static float unit_of(const kb_model *model, size_t r, size_t c) {
    const kb_dictionary *d = &model->map->dictionary;
    float most = 0;
    for (size_t b = d->start[r]; b < d->start[r + 1]; b++)
        most = fmaxf(most, fabsf(model->weight[b * model->info.outputs + c]));
    return fminf(most / LEVELS, FLT_MAX / 128);
}

/* Output c of the bins first .. end - 1, which are twins. */
static void round_twins(const compacting *k, size_t r, size_t first, size_t end, size_t c) {
    size_t C = k->model->info.outputs, at = r * C + c;
    float unit = k->unit[at];
    int8_t level = !k->stays[first] ? 0 : round_to_level(mean_weight(k, r, first, end, c), unit);
    for (size_t b = first; b < end; b++) {
        double was = k->model->weight[place_of(k, r, b) + c];
        double moved = fabs((double)kb_level_weight(level, unit) - was);
        k->level[b * C + c] = level;
        k->most[at] = fmax(k->most[at], moved);
        k->square[at] += moved * moved;
    }
}

static void round_grids(void *arg, size_t begin, size_t end) {
    const compacting *k = arg;
    const kb_dictionary *cut = k->cut;
    size_t C = k->model->info.outputs;
    for (size_t r = begin; r < end; r++) {
        const uint32_t *bucket = cut->bucket + cut->bucket_start[r];
        size_t first = cut->start[r], bins = cut->start[r + 1] - first;
        for (size_t c = 0; c < C; c++)
            k->unit[r * C + c] = unit_of(k->model, r, c);
        for (size_t i = 0; i < kb_dictionary_buckets(cut, r); i++)
            for (size_t b = first + bucket[i], next; b < first + bucket[i + 1]; b = next) {
                next = twins_end(cut, b, first + bucket[i + 1]);
                memset(k->stays + b, has_weight(k, r, b, next), next - b);
                for (size_t c = 0; c < C; c++)
                    round_twins(k, r, b, next, c);
            }
        for (size_t c = 0; c < C; c++)
            k->square[r * C + c] /= bins ? (double)bins : 1;
    }
}

/* By how much the decisions of an output move.  Where the model fills in, a sum over k grids is
 * divided by sqrt(k), and is at most the root of the sum of the squares. */
static kb_compaction sum_up(const compacting *k) {
    kb_compaction out = {.compact = 1};
    size_t R = k->cut->grids, C = k->model->info.outputs;
    double drawn = (double)k->model->map->drawn;
    for (size_t c = 0; c < C; c++) {
        double square = 0, sum = 0, squares = 0;
        for (size_t r = 0; r < R; r++) {
            square += k->square[r * C + c];
            sum += k->most[r * C + c];
            squares += k->most[r * C + c] * k->most[r * C + c];
        }
        out.typical = fmax(out.typical, sqrt(square / drawn));
        out.most = fmax(out.most, k->model->fill ? sqrt(squares) : sum / sqrt(drawn));
    }
    return out;
}

/* What a compact model has instead of weights. */
typedef struct levels {
    int8_t *level;
    float *unit;
    uint64_t *kept;
    uint32_t *before;
} levels;

static void levels_free(kb_context *ctx, levels *l) {
    void *all[] = {l->level, l->unit, l->kept, l->before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

/* The levels of the bins that stay, side by side, and which they are. */
static kb_status pack(kb_context *ctx, compacting *k, size_t stay, levels *out) {
    kb_status status;
    size_t bins = k->cut->bins, C = k->model->info.outputs, words = (bins + 63) / 64, count = 0;
    TRY(kb_zalloc(ctx, words, sizeof *out->kept, &out->kept));
    TRY(kb_alloc(ctx, words, sizeof *out->before, &out->before));
    TRY(kb_alloc(ctx, stay, C * sizeof *out->level, &out->level));
    for (size_t b = 0; b < bins; b++) {
        if (b % 64 == 0)
            out->before[b / 64] = (uint32_t)count;
        if (!k->stays[b])
            continue;
        out->kept[b / 64] |= UINT64_C(1) << b % 64;
        memcpy(out->level + count++ * C, k->level + b * C, C);
    }
done:
    return status;
}

/* Releases what the model had, which may lie in a mapped file, and takes over the rest. */
static void replace(kb_model *model, kb_dictionary cut, const levels *l, kb_compaction compaction) {
    kb_map *map = model->map;
    if (model->file) {
        munmap(model->file, model->file_bytes);
        model->file = NULL;
    } else {
        kb_dictionary_release(map->allocator, &map->dictionary);
        kb_allocator_release(model->allocator, (void *)model->weight);
    }
    map->borrowed = 0;
    map->dictionary = cut;
    model->weight = NULL;
    model->level = l->level;
    model->unit = l->unit;
    model->kept = l->kept;
    model->kept_before = l->before;
    model->compaction = compaction;
}

static kb_status create_work(kb_context *ctx, const kb_dictionary *cut, size_t C, compacting *k) {
    kb_status status;
    TRY(kb_alloc(ctx, cut->bins, sizeof *k->square_of, &k->square_of));
    TRY(kb_alloc(ctx, cut->bins, 1, &k->stays));
    TRY(kb_alloc(ctx, cut->bins, C * sizeof *k->level, &k->level));
    TRY(kb_alloc(ctx, cut->grids, C * sizeof *k->unit, &k->unit));
    TRY(kb_zalloc(ctx, cut->grids, C * sizeof *k->most, &k->most));
    TRY(kb_zalloc(ctx, cut->grids, C * sizeof *k->square, &k->square));
done:
    return status;
}

static void release_work(kb_context *ctx, compacting *k) {
    void *all[] = {k->square_of, k->stays, k->level, k->unit, k->most, k->square};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
}

static size_t count_ones(const unsigned char *x, size_t count) {
    size_t ones = 0;
    for (size_t k = 0; k < count; k++)
        ones += x[k];
    return ones;
}

kb_status kb_model_compact(kb_context *ctx, kb_model *model, double drop) {
    kb_status status;
    kb_dictionary cut = {0};
    uint32_t *order = NULL;
    compacting k = {.model = model, .cut = &cut};
    levels l = {0};
    if (model->map->rival)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "a compact model needs %s",
                    kb_say_value(ctx, KB_OPT_MAP, "binning").text));
    if (!(drop >= 0 && drop < 1))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "drop %g: must be at least 0 and below 1", drop));
    if (model->compaction.compact)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "the model is compact already"));
    TRY(kb_dictionary_cut(ctx, &model->map->dictionary, &cut, &order));
    k.order = order;
    TRY(create_work(ctx, &cut, model->info.outputs, &k));
    kb_team_for(ctx, cut.bins, 1024, sum_squares, &k);
    TRY(find_least(ctx, &k, drop));
    kb_team_for(ctx, cut.grids, 1, round_grids, &k);
    kb_compaction compaction = sum_up(&k);
    size_t stay = count_ones(k.stays, cut.bins);
    compaction.dropped = cut.bins - stay;
    if (stay < cut.bins) {
        TRY(pack(ctx, &k, stay, &l));
    } else {
        l.level = k.level;
        k.level = NULL;
    }
    l.unit = k.unit;
    k.unit = NULL;
    replace(model, cut, &l, compaction);
    cut = (kb_dictionary){0};
    l = (levels){0};
done:
    kb_dictionary_release(kb_allocator_of(ctx), &cut);
    kb_release(ctx, order);
    release_work(ctx, &k);
    levels_free(ctx, &l);
    return status;
}
