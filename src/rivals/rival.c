/* rival.c - see rival.h. */
#include "rivals/rival.h"
#include "rivals/rival_parts.h"
#include "options/say.h"

#include <float.h>
#include <math.h>
#include <string.h>

kb_status kb_rival_create(kb_context *ctx, kb_rival_kind kind, size_t features, kb_rival **out) {
    kb_status status = kb_zalloc(ctx, 1, sizeof **out, out);
    if (status != KB_OK)
        return status;
    (*out)->allocator = kb_allocator_of(ctx);
    (*out)->kind = kind;
    (*out)->tiles = kb_simd_best()->tiles;
    (*out)->features = features;
    return KB_OK;
}

void kb_rival_free(kb_rival *r) {
    if (!r)
        return;
    void *all[] = {r->shift,
                   r->factor,
                   r->memory,
                   r->phase,
                   r->start,
                   r->order,
                   r->triangle.L,
                   r->triangle.inverse,
                   r->splits.direction,
                   r->splits.threshold,
                   r->splits.child};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_allocator_release(r->allocator, all[i]);
    kb_kernel_free(r->kernel);
    kb_points_free(r->points);
    kb_allocator_release(r->allocator, r);
}

kb_status kb_rival_build(kb_context *ctx, const kb_rival_spec *spec, const kb_data *data,
                         kb_rival **out) {
    kb_status status;
    kb_rival *r = NULL;
    *out = NULL;
    TRY(kb_rival_create(ctx, spec->kind, data->features, &r));
    TRY(kb_alloc(ctx, r->features, sizeof(double), &r->shift));
    TRY(kb_alloc(ctx, r->features, sizeof(double), &r->factor));
    memcpy(r->shift, spec->shift, r->features * sizeof(double));
    for (size_t j = 0; j < r->features; j++)
        r->factor[j] = fmax(fmin(spec->scale[j] / spec->sigma[j], DBL_MAX), -DBL_MAX);
    TRY(kb_kernel_parse(ctx, spec->kernel, &r->kernel));
    if (spec->kind == KB_RIVAL_FOURIER) {
        TRY(kb_fourier_build(ctx, spec, r->kernel, r));
        kb_kernel_free(r->kernel); /* its frequencies are all that it needs */
        r->kernel = NULL;
    } else if (spec->kind == KB_RIVAL_NYSTROM) {
        TRY(kb_nystrom_build(ctx, spec, data, r));
    } else {
        TRY(kb_blocks_build(ctx, spec, data, r));
    }
    *out = r;
done:
    if (status != KB_OK)
        kb_rival_free(r);
    return status;
}

kb_status kb_rival_operator(kb_context *ctx, const kb_rival *r, const kb_data *data, size_t room,
                            kb_operator **out) {
    return kb_is_dense_map(r->kind) ? kb_dense_map_operator(ctx, r, data, room, out)
                                    : kb_blocks_operator(ctx, r, room, out);
}

static kb_status check_features(kb_context *ctx, const kb_rival *r, const kb_data *data) {
    if (data->features != r->features)
        return kb_fail(ctx, KB_ERR_DATA, "the data have %zu features, the model %zu",
                       data->features, r->features);
    return KB_OK;
}

kb_status kb_rival_decide(kb_context *ctx, const kb_rival *r, const kb_data *data, size_t C,
                          const double *w, double *out) {
    kb_status status = check_features(ctx, r, data);
    if (status != KB_OK)
        return status;
    return kb_is_dense_map(r->kind) ? kb_dense_map_decide(ctx, r, data, C, w, out)
                                    : kb_blocks_decide(ctx, r, data, C, w, out);
}

kb_status kb_rival_features(kb_context *ctx, const kb_rival *r, const kb_data *data, double *out) {
    kb_status status = check_features(ctx, r, data);
    if (status != KB_OK)
        return status;
    if (!kb_is_dense_map(r->kind))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s and %s have no features to write",
                       kb_say_value(ctx, KB_OPT_MAP, "blocks").text,
                       kb_say_word(ctx, "exact").text);
    return kb_dense_map_features(ctx, r, data, out);
}

/* ---- forecast ---------------------------------------------------------- */

/* Points of a span of rows like those of the data. */
static double span_bytes(const kb_data *data) {
    return data->rows ? kb_points_bytes(data) / (double)data->rows * KB_SPAN : 0;
}

static kb_rival_bytes forecast_rowmap(const kb_context *ctx, const kb_rival_spec *spec,
                                      const kb_data *data, double C) {
    int nystrom = spec->kind == KB_RIVAL_NYSTROM;
    size_t rank = nystrom && spec->rank > data->rows ? data->rows : spec->rank;
    kb_rival shape = {.kind = spec->kind, .features = data->features, .columns = rank};
    double N = (double)data->rows, d = (double)data->features, threads = (double)ctx->threads;
    double R = (double)rank, points = kb_points_bytes(data);
    double share = N > 0 ? fmin(R / N, 1) : 1, product = 17 * 8 * C * R;
    product += 8 * threads * (double)kb_dense_map_scratch(&shape) + fmax(points, span_bytes(data));
    if (!nystrom)
        return (kb_rival_bytes){.map = 8 * (d + 1) * (R + KB_TILE_COLUMNS) + 16 * d,
                                .stored = 4 * N * R,
                                .product = product};
    double scratch = 8 * threads * (double)kb_kernel_scratch();
    double far = spec->landmarks == KB_LANDMARKS_KMEANS ? points + 16 * N : 0;
    return (kb_rival_bytes){
        .map = 8 * R * (R + 1) + 16 * d + share * points,
        .building = scratch + fmax(far, 4 * N) + kb_cholesky_bytes(rank),
        .stored = 8 * N * R,
        .product = product,
    };
}

static kb_rival_bytes forecast_blocks(const kb_context *ctx, const kb_rival_spec *spec,
                                      const kb_data *data, double C) {
    double N = (double)data->rows, d = (double)data->features, threads = (double)ctx->threads;
    double n = spec->kind == KB_RIVAL_EXACT ? N : fmin((double)spec->rank, N);
    double scratch = 8 * threads * (double)kb_blocks_scratch();
    double points = kb_points_bytes(data), splits = n > 0 ? 2 * N / n : 0;
    int exact = spec->kind == KB_RIVAL_EXACT;
    return (kb_rival_bytes){
        .map = points + 16 * d + (exact ? 16 : 4 * N + splits * (8 * d + 24)),
        .building = exact ? 0 : points + 20 * N,
        .stored = 8 * N * n,
        .product = scratch + 24 * N / KB_TILE +
                   fmax(16 * N * C, 8 * (N + KB_SPAN) * C + 8 * KB_SPAN + span_bytes(data)),
        .solve = 8 * n * n + 8 * n * (C + 2) + 8 * N + scratch + kb_cholesky_bytes((size_t)n),
    };
}

kb_rival_bytes kb_rival_forecast(const kb_context *ctx, const kb_rival_spec *spec,
                                 const kb_data *data, size_t C) {
    return kb_is_dense_map(spec->kind) ? forecast_rowmap(ctx, spec, data, (double)C)
                                       : forecast_blocks(ctx, spec, data, (double)C);
}
