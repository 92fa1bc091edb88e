/* grids.c - see grids.h. */
#include "features/grids.h"
#include "core/team.h"

#include <float.h>
#include <math.h>

/* A width below this would make 1/width overflow; no data need it. */
static const double NARROWEST = 1e-290;

kb_status kb_grids_create(kb_context *ctx, size_t grids, size_t features, kb_grids **out) {
    kb_status status;
    kb_grids *g;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *g, &g));
    g->allocator = kb_allocator_of(ctx);
    g->grids = grids;
    g->features = features;
    size_t cells;
    if (__builtin_mul_overflow(kb_grids_blocks(g) * 2 * KB_LANES, features, &cells))
        TRY(kb_fail(ctx, KB_ERR_MEMORY, "out of memory: %zu grids of %zu features", grids,
                    features));
    TRY(kb_zalloc(ctx, cells + KB_LANES, sizeof(double), &g->memory));
    g->parameter =
        g->memory + (KB_LANES - (uintptr_t)g->memory / sizeof(double) % KB_LANES) % KB_LANES;
    TRY(kb_alloc(ctx, kb_grids_blocks(g) * features, sizeof(double), &g->bound));
    TRY(kb_alloc(ctx, features, sizeof(uint64_t), &g->factor));
    *out = g;
done:
    if (status != KB_OK)
        kb_grids_free(g);
    return status;
}

void kb_grids_finish(kb_grids *g) {
    for (size_t block = 0; block < kb_grids_blocks(g); block++)
        for (size_t j = 0; j < g->features; j++) {
            const double *inverse = kb_grids_at(g, block * KB_LANES, j);
            double most = 0;
            for (int k = 0; k < KB_LANES; k++)
                most = fmax(most, inverse[k]);
            g->bound[block * g->features + j] =
                most > 0 ? fmin(2147483000.0 / most, DBL_MAX) : DBL_MAX;
        }
}

static void draw(uint64_t seed, size_t r, size_t j, const kb_width *width, double *at) {
    kb_uniform2 place = kb_random_uniform(seed, KB_STREAM_OFFSET, r, (uint32_t)j);
    at[0] = 0;
    at[KB_LANES] = 0;
    if (width->law->levels) {
        at[0] = place.v < width->q * kb_levels_cut(width->sigma);
        return;
    }
    if (place.v >= width->q)
        return;
    double delta =
        kb_law_width(width->law, kb_random_uniform(seed, KB_STREAM_WIDTH, r, (uint32_t)j));
    at[0] = 1 / fmax(delta * width->sigma, NARROWEST);
    at[KB_LANES] = place.u;
}

typedef struct drawing {
    uint64_t seed;
    size_t first;
    const kb_widths *widths;
    kb_grids *g;
} drawing;

static void draw_grids(void *arg, size_t begin, size_t end) {
    drawing *all = arg;
    size_t d = all->g->features;
    for (size_t r = begin; r < end; r++) {
        size_t grid = all->first + r; /* of the whole */
        const kb_width *width = all->widths->width + grid % all->widths->vectors * d;
        for (size_t j = 0; j < d; j++)
            draw(all->seed, grid, j, &width[j], kb_grids_at(all->g, r, j));
    }
}

kb_status kb_grids_build(kb_context *ctx, uint64_t seed, size_t first, size_t count,
                         const kb_widths *widths, kb_grids **out) {
    kb_grids *g;
    kb_status status = kb_grids_create(ctx, count, widths->features, out);
    if (status != KB_OK)
        return status;
    g = *out;
    drawing all = {seed, first, widths, g};
    kb_team_for(ctx, count, 256 / g->features + 1, draw_grids, &all);
    for (size_t j = 0; j < g->features; j++) {
        kb_random4 x = kb_random(seed, KB_STREAM_HASH, j, 0);
        g->factor[j] = ((uint64_t)x.word[0] << 32 | x.word[1]) | 1;
    }
    kb_grids_finish(g);
    return KB_OK;
}

void kb_grids_free(kb_grids *grids) {
    if (!grids)
        return;
    kb_allocator_release(grids->allocator, grids->memory);
    kb_allocator_release(grids->allocator, grids->bound);
    kb_allocator_release(grids->allocator, grids->factor);
    kb_allocator_release(grids->allocator, grids);
}

int kb_widths_differ(const kb_widths *w) {
    for (size_t k = 0; w->width && k < w->vectors * w->features; k++) {
        const kb_width *first = &w->width[k - k % w->features];
        if (w->width[k].sigma != first->sigma || w->width[k].q != first->q)
            return 1;
    }
    return 0;
}
