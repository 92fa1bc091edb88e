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
 */
#include "core/team.h"
#include "model/model.h"
#include "options/say.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

enum { LEVELS = 127 };

typedef struct compacting {
    const kb_model *model;
    const kb_dictionary *cut;
    const uint32_t *order; /* the bins of `cut` in the model */
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
    int8_t level = round_to_level(mean_weight(k, r, first, end, c), unit);
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

/* Releases what the model had, which may lie in a mapped file, and takes over the rest. */
static void replace(kb_model *model, kb_dictionary cut, const int8_t *level, const float *unit,
                    kb_compaction compaction) {
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
    model->level = level;
    model->unit = unit;
    model->compaction = compaction;
}

kb_status kb_model_compact(kb_context *ctx, kb_model *model) {
    kb_status status;
    kb_dictionary cut = {0};
    uint32_t *order = NULL;
    compacting k = {.model = model, .cut = &cut};
    size_t C = model->info.outputs;
    if (model->map->rival)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "a compact model needs %s",
                    kb_say_value(ctx, KB_OPT_MAP, "binning").text));
    if (model->compaction.compact)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "the model is compact already"));
    TRY(kb_dictionary_cut(ctx, &model->map->dictionary, &cut, &order));
    k.order = order;
    TRY(kb_alloc(ctx, cut.bins, C * sizeof *k.level, &k.level));
    TRY(kb_alloc(ctx, cut.grids, C * sizeof *k.unit, &k.unit));
    TRY(kb_zalloc(ctx, cut.grids, C * sizeof *k.most, &k.most));
    TRY(kb_zalloc(ctx, cut.grids, C * sizeof *k.square, &k.square));
    kb_team_for(ctx, cut.grids, 1, round_grids, &k);
    replace(model, cut, k.level, k.unit, sum_up(&k));
    cut = (kb_dictionary){0};
    k.level = NULL;
    k.unit = NULL;
done:
    kb_dictionary_release(kb_allocator_of(ctx), &cut);
    kb_release(ctx, order);
    kb_release(ctx, k.level);
    kb_release(ctx, k.unit);
    kb_release(ctx, k.most);
    kb_release(ctx, k.square);
    return status;
}
