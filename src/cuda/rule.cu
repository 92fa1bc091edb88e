/*
 * rule.cu - see rule.cuh.
 *
 * A thread has a row: it looks its keys up in the dictionary of the model and adds the weights of
 * its bins, grid after grid as the CPU does, so that decisions have the same bits.  Rows are taken
 * some at a time: while they are worked on, the next ones are copied to the device.
 */
#include "rule.cuh"

#include <new>

/* Outputs of a thread, rows at a time, and the fewest for which it is worth a device. */
enum { PANEL = KB_DEVICE_PANEL, ROWS_AT_ONCE = 1 << 18, LEAST_ROWS = 1 << 10 };

struct kb_gpu_rule {
    kb_gpu *gpu;
    kb_gpu_model m; /* numbers; its arrays are those of the caller */
    kb_gpu_grids cuts;
    kb_dictionary dictionary; /* with the arrays below */
    kb_gpu_array<uint64_t> start, bucket_start, key;
    kb_gpu_array<uint32_t> bucket;
    kb_gpu_array<uint16_t> tail;
    kb_gpu_array<uint8_t> skip;
    kb_gpu_array<float> weight;
    kb_gpu_array<double> shift, scale, intercept, prior;
    size_t rows;               /* at a time */
    kb_gpu_array<double> x[2]; /* rows as they come: those that are worked on, and the next ones */
    kb_gpu_array<double> scaled, sum, decision, share;
    kb_gpu_array<uint64_t> keys;
    kb_gpu_array<uint32_t> known;
};

/* Adds the weights of the bins of a row in some grids to sum, outputs x rows; blockIdx.y is the
 * panel of outputs. */
template <int COLUMNS>
__global__ static void add_weights(kb_dictionary d, size_t first, int lanes, const uint64_t *keys,
                                   size_t rows, const float *weight, size_t outputs, double *sum,
                                   uint32_t *known) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, c = (size_t)blockIdx.y * COLUMNS;
    double mine[COLUMNS];
    uint32_t found = 0;
    if (i >= rows)
        return;
    for (int k = 0; k < COLUMNS; k++)
        mine[k] = c + k < outputs ? sum[(c + k) * rows + i] : 0;
    for (int lane = 0; lane < lanes; lane++) {
        int64_t bin = kb_dictionary_find(&d, first + lane, keys[lane * rows + i]);
        if (bin < 0)
            continue;
        found++;
        const float *w = weight + (size_t)bin * outputs + c;
        for (int k = 0; k < COLUMNS; k++)
            if (c + k < outputs)
                mine[k] += (double)w[k];
    }
    for (int k = 0; k < COLUMNS; k++)
        if (c + k < outputs)
            sum[(c + k) * rows + i] = mine[k];
    if (blockIdx.y == 0)
        known[i] += found;
}

/* From the sums to decisions, rows x outputs, and the shares of known bins. */
__global__ static void finish_rows(size_t rows, size_t outputs, size_t drawn, size_t grids,
                                   int fill, const double *sum, const uint32_t *known,
                                   const double *intercept, const double *prior, double *decision,
                                   double *share) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    double factor = kb_bin_value(fill ? known[i] : drawn);
    for (size_t c = 0; c < outputs; c++)
        decision[i * outputs + c] = known[i] ? sum[c * rows + i] * factor + intercept[c] : prior[c];
    share[i] = (double)known[i] / (double)grids;
}

/* ---- the model there --------------------------------------------------- */

template <class T>
static kb_device_result put(kb_gpu *gpu, const T *from, size_t count, kb_gpu_array<T> *to) {
    if (!from)
        return KB_DEVICE_OK;
    KB_TRY(kb_gpu_reserve(gpu, count, to));
    return kb_gpu_put(gpu, from, count, to->at);
}

static kb_device_result put_dictionary(kb_gpu_rule *r) {
    kb_gpu *gpu = r->gpu;
    const kb_dictionary *d = r->m.dictionary;
    KB_TRY(put(gpu, d->start, d->grids + 1, &r->start));
    KB_TRY(put(gpu, d->bucket_start, d->grids + 1, &r->bucket_start));
    KB_TRY(put(gpu, d->bucket, (size_t)d->bucket_start[d->grids], &r->bucket));
    KB_TRY(put(gpu, d->key, d->bins, &r->key));
    KB_TRY(put(gpu, d->tail, d->bins, &r->tail));
    KB_TRY(put(gpu, d->skip, d->grids, &r->skip));
    r->dictionary = kb_dictionary{d->grids,     d->bins,   r->start.at, r->bucket_start.at,
                                  r->bucket.at, r->key.at, r->tail.at,  r->skip.at};
    return KB_DEVICE_OK;
}

static kb_device_result put_model(kb_gpu_rule *r) {
    kb_gpu *gpu = r->gpu;
    const kb_gpu_model *m = &r->m;
    KB_TRY(put_dictionary(r));
    KB_TRY(kb_grids_put(gpu, m->dictionary->grids, m->features, m->parameter, m->bound, m->factor,
                        &r->cuts));
    KB_TRY(put(gpu, m->weight, m->dictionary->bins * m->outputs, &r->weight));
    KB_TRY(put(gpu, m->shift, m->features, &r->shift));
    KB_TRY(put(gpu, m->scale, m->features, &r->scale));
    KB_TRY(put(gpu, m->intercept, m->outputs, &r->intercept));
    return put(gpu, m->prior, m->outputs, &r->prior);
}

static kb_device_result make_room(kb_gpu_rule *r, size_t rows) {
    kb_gpu *gpu = r->gpu;
    size_t cells = rows * r->m.features, numbers = rows * r->m.outputs;
    KB_TRY(kb_gpu_reserve(gpu, cells, &r->x[0]));
    KB_TRY(kb_gpu_reserve(gpu, cells, &r->x[1]));
    KB_TRY(kb_gpu_reserve(gpu, cells, &r->scaled));
    KB_TRY(kb_gpu_reserve(gpu, rows * KB_DEVICE_BUNDLE, &r->keys));
    KB_TRY(kb_gpu_reserve(gpu, numbers, &r->sum));
    KB_TRY(kb_gpu_reserve(gpu, numbers, &r->decision));
    KB_TRY(kb_gpu_reserve(gpu, rows, &r->share));
    return kb_gpu_reserve(gpu, rows, &r->known);
}

static void release_room(kb_gpu_rule *r) {
    kb_gpu_array<double> *doubles[] = {&r->x[0], &r->x[1],     &r->scaled,
                                       &r->sum,  &r->decision, &r->share};
    for (kb_gpu_array<double> *a : doubles)
        kb_gpu_release(a);
    kb_gpu_release(&r->keys);
    kb_gpu_release(&r->known);
}

/* For fewer rows at a time where there is not the memory for more. */
static kb_device_result make_some_room(kb_gpu_rule *r, size_t rows) {
    r->rows = rows < ROWS_AT_ONCE ? rows : (size_t)ROWS_AT_ONCE;
    for (;; r->rows /= 2) {
        kb_device_result result = make_room(r, r->rows);
        if (result != KB_DEVICE_MEMORY || r->rows / 2 < LEAST_ROWS)
            return result;
        release_room(r);
    }
}

kb_device_result kb_rule_create(kb_gpu *gpu, const kb_gpu_model *model, size_t rows,
                                kb_gpu_rule **out) {
    kb_gpu_rule *r = new (std::nothrow) kb_gpu_rule();
    *out = NULL;
    if (!r)
        return KB_DEVICE_MEMORY;
    r->gpu = gpu;
    r->m = *model;
    kb_device_result result = put_model(r);
    if (result == KB_DEVICE_OK)
        result = make_some_room(r, rows);
    if (result != KB_DEVICE_OK) {
        kb_rule_free(r);
        return result;
    }
    *out = r;
    return KB_DEVICE_OK;
}

void kb_rule_free(kb_gpu_rule *r) {
    if (!r)
        return;
    kb_gpu_array<double> *doubles[] = {&r->shift, &r->scale, &r->intercept, &r->prior};
    for (kb_gpu_array<double> *a : doubles)
        kb_gpu_release(a);
    release_room(r);
    kb_grids_release(&r->cuts);
    kb_gpu_release(&r->start);
    kb_gpu_release(&r->bucket_start);
    kb_gpu_release(&r->key);
    kb_gpu_release(&r->bucket);
    kb_gpu_release(&r->tail);
    kb_gpu_release(&r->skip);
    kb_gpu_release(&r->weight);
    delete r;
}

/* ---- decisions --------------------------------------------------------- */

template <int COLUMNS> static void add_some(kb_gpu_rule *r, size_t rows, size_t first, int lanes) {
    size_t C = r->m.outputs;
    KB_LAUNCH(add_weights<COLUMNS>, kb_blocks_for(rows), (C + COLUMNS - 1) / COLUMNS, KB_THREADS, 0,
              r->gpu, r->dictionary, first, lanes, r->keys.at, rows, r->weight.at, C, r->sum.at,
              r->known.at);
}

/* The rows in x, into decision and share; the caller does not wait. */
static kb_device_result decide_there(kb_gpu_rule *r, size_t rows, const double *x) {
    kb_gpu *gpu = r->gpu;
    size_t C = r->m.outputs, grids = r->dictionary.grids, most = KB_DEVICE_BUNDLE;
    KB_TRY(kb_scale_rows(gpu, x, rows, r->m.features, r->shift.at, r->scale.at, NULL, rows,
                         r->scaled.at));
    KB_TRY(kb_gpu_fill(gpu, 0, rows * C, r->sum.at));
    KB_TRY(kb_gpu_fill(gpu, 0, rows, r->known.at));
    for (size_t first = 0; first < grids; first += most) {
        size_t lanes = grids - first < most ? grids - first : most;
        KB_TRY(kb_find_keys(gpu, r->scaled.at, rows, r->m.features, &r->cuts, first, lanes,
                            r->keys.at));
        if (C == 1)
            add_some<1>(r, rows, first, (int)lanes);
        else if (C <= 4)
            add_some<4>(r, rows, first, (int)lanes);
        else
            add_some<PANEL>(r, rows, first, (int)lanes);
        KB_TRY(kb_gpu_launched(gpu, "add weights"));
    }
    KB_LAUNCH(finish_rows, kb_blocks_for(rows), 1, KB_THREADS, 0, gpu, rows, C, r->m.drawn, grids,
              r->m.fill, r->sum.at, r->known.at, r->intercept.at, r->prior.at, r->decision.at,
              r->share.at);
    return kb_gpu_launched(gpu, "finish rows");
}

kb_device_result kb_rule_decide(kb_gpu_rule *r, size_t rows, const double *x, double *decision,
                                double *known) {
    size_t C = r->m.outputs, d = r->m.features, count, next;
    for (size_t begin = 0, k = 0; begin < rows; begin += count, k++) {
        count = rows - begin < r->rows ? rows - begin : r->rows;
        next = begin + count;
        size_t after = rows - next < r->rows ? rows - next : r->rows;
        if (begin == 0)
            KB_TRY(kb_gpu_put(r->gpu, x, count * d, r->x[0].at));
        KB_TRY(decide_there(r, count, r->x[k % 2].at));
        if (after)
            KB_TRY(kb_gpu_put_aside(r->gpu, x + next * d, after * d, r->x[(k + 1) % 2].at));
        KB_TRY(kb_gpu_get(r->gpu, r->decision.at, count * C, decision + begin * C));
        KB_TRY(kb_gpu_get(r->gpu, r->share.at, count, known + begin));
    }
    return KB_DEVICE_OK;
}
