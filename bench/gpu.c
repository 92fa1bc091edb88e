/*
 * gpu.c - the kernels of the GPU, on uniform rows: time in all, and as a share of the bandwidth of
 * its memory, measured in the same run.
 *
 *     kerbin-bench-gpu [ROWS [FEATURES [GRIDS [SWEEPS [WIDTHS]]]]]
 *
 * For a few widths, which are told by the bins that a grid has in the mean.  Sweeps are those of
 * one output without weights.  Predictions are those of one output with PREDICTED grids, for the
 * same rows: in all, with their copies, and the work on the device alone.
 */
#include "device/device_bins.h"
#include "features/dictionary.h"
#include "features/law.h"
#include "sweeps/sweep_math.h"

#include "core/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double WIDTHS[] = {10, 6, 3.5, 2, 1.4};
enum { COPY = 1 << 30, COPIES = 10, PREDICTED = 128 };

typedef struct gpu_bench {
    kb_context *ctx;
    kb_device *d;
    size_t N, features, R;
    int sweeps;
    double *x, *shift, *scale;
    int32_t *r;
    double bandwidth; /* bytes a second, read and written */
} gpu_bench;

/* The bin numbers of one width. */
typedef struct binned_there {
    kb_gpu_bins *bins;
    double D, id_bytes; /* bins, and bytes of the numbers of a row */
    double seconds;
} binned_there;

static void must(const gpu_bench *b, kb_device_result result) {
    if (result == KB_DEVICE_OK)
        return;
    fprintf(stderr, "kerbin-bench-gpu: %s\n",
            result == KB_DEVICE_MEMORY ? "too little memory" : b->d->call->fault(b->d->gpu));
    exit(1);
}

static void *room(size_t count, size_t size) {
    void *block = malloc(count * size);
    if (!block) {
        fprintf(stderr, "kerbin-bench-gpu: out of memory\n");
        exit(1);
    }
    return block;
}

static double uniform(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53;
}

static void make_rows(gpu_bench *b) {
    uint64_t state = 1;
    b->x = room(b->N * b->features, sizeof *b->x);
    b->r = room(b->N, sizeof *b->r);
    b->shift = room(b->features, sizeof *b->shift);
    b->scale = room(b->features, sizeof *b->scale);
    for (size_t k = 0; k < b->N * b->features; k++)
        b->x[k] = uniform(&state);
    for (size_t i = 0; i < b->N; i++)
        b->r[i] = (int32_t)((b->x[i * b->features] + uniform(&state) - 1) * KB_SWEEP_TOP);
    for (size_t j = 0; j < b->features; j++)
        b->shift[j] = 0, b->scale[j] = 1;
}

static kb_grids *grids_of(const gpu_bench *b, size_t count, double sigma) {
    kb_law *law;
    kb_grids *grids = NULL;
    kb_width *widths = room(b->features, sizeof *widths);
    if (kb_law_parse(b->ctx, "laplace", &law) != KB_OK)
        exit(1);
    for (size_t j = 0; j < b->features; j++)
        widths[j] = (kb_width){law, sigma, 1};
    if (kb_grids_build(b->ctx, 1, 0, count, &(kb_widths){1, b->features, widths}, &grids) != KB_OK)
        exit(1);
    kb_law_free(law);
    free(widths);
    return grids;
}

/* All bundles; the copy of the rows to the device is told apart. */
static binned_there bin(gpu_bench *b, double sigma) {
    binned_there out = {0};
    kb_grids *g = grids_of(b, b->R, sigma);
    kb_gpu_rows rows = {b->N,     b->features, b->R,         b->x,     NULL,
                        b->shift, b->scale,    g->parameter, g->bound, g->factor};
    uint32_t most = 0;
    double began = kb_seconds();
    must(b, b->d->call->bins_create(b->d->gpu, &rows, &out.bins));
    double copied = kb_seconds() - began;
    began = kb_seconds();
    for (size_t r = 0; r < b->R; r += KB_DEVICE_BUNDLE) {
        kb_gpu_bundle made;
        must(b, b->d->call->bins_bundle(out.bins, 0, &made));
        for (size_t k = 0; k < KB_DEVICE_BUNDLE && r + k < b->R; k++) {
            out.D += made.bins[k];
            most = made.bins[k] > most ? made.bins[k] : most;
            out.id_bytes += made.bins[k] <= 1u << 8 ? 1 : made.bins[k] <= 1u << 16 ? 2 : 4;
        }
    }
    out.seconds = kb_seconds() - began;
    b->d->call->bins_finish(out.bins);
    printf("sigma %g: %.0f bins a grid (%u at most); rows copied in %.1f ms, binned in %.1f ms\n",
           sigma, out.D / (double)b->R, most, 1e3 * copied, 1e3 * out.seconds);
    kb_grids_free(g);
    return out;
}

/* A sweep and its span; the seconds of the device calls. */
static double sweep(gpu_bench *b, kb_gpu_sweeps *s, int backward, double *rows, double *bins) {
    double gradient[KB_PANEL], of_move[KB_PANEL] = {1}, of_last[KB_PANEL] = {0};
    uint32_t bits;
    double began = kb_seconds();
    must(b, b->d->call->sweep(s, backward, gradient, &bits));
    must(b, b->d->call->span(s, rows, bins));
    must(b, b->d->call->combine(s, of_move, of_last, &bits));
    return kb_seconds() - began;
}

static void tell_kernels(const gpu_bench *b, const binned_there *z) {
    double N = (double)b->N, slices = ((double)b->R + KB_DEVICE_BUNDLE - 1) / KB_DEVICE_BUNDLE;
    for (size_t k = 0; k < b->d->call->measures(b->d->gpu); k++) {
        kb_gpu_measure m = b->d->call->measure(b->d->gpu, k);
        double bytes = strcmp(m.what, "sum by bins") == 0  ? N * (z->id_bytes + 4 * slices)
                       : strcmp(m.what, "spread") == 0     ? N * (z->id_bytes + 4 * slices)
                       : strcmp(m.what, "find steps") == 0 ? 28 * z->D
                       : strcmp(m.what, "take step") == 0  ? 12 * N * slices + 12 * z->D
                                                           : 0;
        printf("    %-22s %5zu times %9.3f ms", m.what, m.times, 1e3 * m.seconds);
        if (bytes > 0)
            printf("  %6.0f GB/s, %3.0f %% of a copy", bytes / m.seconds / 1e9,
                   100 * bytes / m.seconds / b->bandwidth);
        printf("\n");
    }
}

static void sweeps(gpu_bench *b, const binned_there *z) {
    kb_gpu_sweeps *s;
    size_t row_parts = (b->N + KB_SUM_ROWS - 1) / KB_SUM_ROWS;
    size_t bin_parts = ((size_t)z->D + KB_SUM_ROWS - 1) / KB_SUM_ROWS;
    double *rows = room(row_parts * KB_SPAN_SUMS, sizeof *rows);
    double *bins = room(bin_parts * KB_SPAN_SUMS, sizeof *bins);
    kb_gpu_problem problem = {.columns = 1, .Lambda = (double)b->R, .whole = 1};
    double began = kb_seconds(), all = 0, least = 1e9, most = 0;
    must(b, b->d->call->sweeps_create(z->bins, &problem, &s));
    must(b, b->d->call->load(s, b->r, NULL));
    double start = kb_seconds() - began;
    for (int k = 0; k < b->sweeps; k++) {
        double seconds = sweep(b, s, k % 2, rows, bins);
        all += seconds;
        least = seconds < least ? seconds : least;
        most = seconds > most ? seconds : most;
    }
    printf("  %d sweeps: %.2f ms, one %.2f to %.2f ms; start %.1f ms; with bins %.1f ms\n",
           b->sweeps, 1e3 * all, 1e3 * least, 1e3 * most, 1e3 * start,
           1e3 * (all + start + z->seconds));
    must(b, b->d->call->profile(b->d->gpu, 1));
    sweep(b, s, 0, rows, bins);
    tell_kernels(b, z);
    must(b, b->d->call->profile(b->d->gpu, 0));
    b->d->call->sweeps_free(s);
    free(rows);
    free(bins);
}

/* The bins of the rows as a dictionary; their grids in *g. */
static kb_dictionary bins_known(gpu_bench *b, double sigma, kb_grids **g) {
    kb_dictionary known;
    kb_binmat *z;
    uint32_t *order;
    kb_data rows = {.rows = b->N, .features = b->features, .dense = b->x};
    *g = grids_of(b, PREDICTED, sigma);
    kb_binning binning = {*g, b->shift, b->scale, NULL};
    if (kb_device_bin(b->ctx, &binning, &rows, PREDICTED, NULL, &z) != KB_OK ||
        kb_dictionary_build(b->ctx, z, &known, &order) != KB_OK) {
        fprintf(stderr, "kerbin-bench-gpu: %s\n", kb_context_message(b->ctx));
        exit(1);
    }
    kb_release(b->ctx, order);
    kb_binmat_free(z);
    return known;
}

/* Seconds of all kernels of the last profile, without copies. */
static double work_of(const gpu_bench *b) {
    double sum = 0;
    for (size_t k = 0; k < b->d->call->measures(b->d->gpu); k++) {
        kb_gpu_measure m = b->d->call->measure(b->d->gpu, k);
        int copies = strncmp(m.what, "copy", 4) == 0;
        printf("    %-22s %5zu times %9.3f ms\n", m.what, m.times, 1e3 * m.seconds);
        sum += copies ? 0 : m.seconds;
    }
    return sum;
}

static void predict(gpu_bench *b, double sigma) {
    kb_grids *g;
    kb_gpu_rule *rule;
    kb_dictionary known = bins_known(b, sigma, &g);
    double nothing = 0, *out = room(2 * b->N, sizeof *out);
    float *weight = room(known.bins, sizeof *weight);
    uint64_t state = 2;
    for (size_t k = 0; k < known.bins; k++)
        weight[k] = (float)uniform(&state);
    memset(out, 0, 2 * b->N * sizeof *out);
    kb_gpu_model model = {.features = b->features,
                          .outputs = 1,
                          .drawn = PREDICTED,
                          .shift = b->shift,
                          .scale = b->scale,
                          .parameter = g->parameter,
                          .bound = g->bound,
                          .factor = g->factor,
                          .dictionary = &known,
                          .weight = weight,
                          .intercept = &nothing,
                          .prior = &nothing};
    double began = kb_seconds();
    must(b, b->d->call->rule_create(b->d->gpu, &model, b->N, &rule));
    double copied = kb_seconds() - began;
    must(b, b->d->call->decide(rule, b->N, b->x, out, out + b->N)); /* does not count */
    began = kb_seconds();
    must(b, b->d->call->decide(rule, b->N, b->x, out, out + b->N));
    double all = kb_seconds() - began;
    must(b, b->d->call->profile(b->d->gpu, 1));
    must(b, b->d->call->decide(rule, b->N, b->x, out, out + b->N));
    double work = work_of(b);
    must(b, b->d->call->profile(b->d->gpu, 0));
    printf("  predictions, %d grids, %zu bins: model copied in %.1f ms; %.1f million rows/s, "
           "%.1f by the device alone\n",
           PREDICTED, known.bins, 1e3 * copied, (double)b->N / all / 1e6,
           (double)b->N / work / 1e6);
    b->d->call->rule_free(rule);
    kb_dictionary_release(kb_allocator_of(b->ctx), &known);
    kb_grids_free(g);
    free(weight);
    free(out);
}

static size_t number_at(int argc, char **argv, int k, size_t otherwise) {
    return argc > k ? (size_t)strtoull(argv[k], NULL, 10) : otherwise;
}

int main(int argc, char **argv) {
    gpu_bench b = {.N = number_at(argc, argv, 1, 4000000),
                   .features = number_at(argc, argv, 2, 18),
                   .R = number_at(argc, argv, 3, 256),
                   .sweeps = (int)number_at(argc, argv, 4, 8)};
    size_t most = sizeof WIDTHS / sizeof *WIDTHS, widths = number_at(argc, argv, 5, most);
    double seconds;
    if (kb_context_create(NULL, &b.ctx) != KB_OK)
        return 1;
    if (kb_device_open(b.ctx, &b.d) != KB_OK) {
        fprintf(stderr, "kerbin-bench-gpu: %s\n", kb_context_message(b.ctx));
        return 77;
    }
    must(&b, b.d->call->copy_seconds(b.d->gpu, COPY, COPIES, &seconds));
    b.bandwidth = 2.0 * COPY / seconds;
    printf("%s: %zu rows x %zu, %zu grids; a copy moves %.0f GB/s\n", b.d->call->name(b.d->gpu),
           b.N, b.features, b.R, b.bandwidth / 1e9);
    make_rows(&b);
    for (size_t k = 0; k < widths && k < most; k++) {
        binned_there z = bin(&b, WIDTHS[k]);
        sweeps(&b, &z);
        b.d->call->bins_free(z.bins);
        predict(&b, WIDTHS[k]);
    }
    free(b.x), free(b.r), free(b.shift), free(b.scale);
    kb_context_free(b.ctx);
    return 0;
}
