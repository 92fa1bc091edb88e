/*
 * block_tree.c - blocks of close samples, by halving.
 *
 * A set of n > R samples is cut by a hyperplane across the line through two of them, drawn at
 * random, into two that make half each of the ceil(n/R) blocks to come, so that blocks have nearly
 * R samples.  Cuts at the median would give blocks of R/2 to R, depending on N. Samples at the same
 * place along the line stay together, and the hyperplane lies midway between the two sides: so
 * predicting a training sample finds its own block.  A set that no such line cuts (all equal, after
 * some attempts) stays whole.
 */
#include "rivals/rival_parts.h"
#include "core/order.h"
#include "core/team.h"

#include <math.h>
#include <string.h>

enum { ATTEMPTS = 8 };

/* A set to be cut. */
typedef struct set {
    size_t begin, end; /* of r->order */
} set;

typedef struct cutting {
    kb_rival *r;
    const kb_points *all;
    uint64_t seed;
    size_t most;
    double *place;  /* along the line, for each position of the order */
    double *sorted; /* scratch: a copy of it */
    uint32_t *other;
    double threshold;
} cutting;

/* Places of the positions begin .. end along the line of the newest split. */
typedef struct placing {
    const cutting *c;
    size_t begin;
    const double *direction;
} placing;

static void project(void *arg, size_t begin, size_t end) {
    const placing *p = arg;
    for (size_t k = p->begin + begin; k < p->begin + end; k++)
        p->c->place[k] = kb_points_project(p->c->all, p->c->r->order[k], p->direction);
}

/* How many of n > most samples should lie left of the cut. */
static size_t left_of_cut(size_t n, size_t most) {
    size_t blocks = (n + most - 1) / most;
    return (size_t)((double)n * (double)(blocks / 2) / (double)blocks);
}

/* Midway between the places left and right of the cut, or 0 if all are the same. */
static int find_threshold(cutting *c, size_t begin, size_t end) {
    size_t n = end - begin, want = left_of_cut(n, c->most), below = 0, above = 0;
    memcpy(c->sorted, c->place + begin, n * sizeof(double));
    double at = kb_select_rank(c->sorted, n, want), before = -INFINITY, after = INFINITY;
    for (size_t k = begin; k < end; k++) {
        double x = c->place[k];
        below += x < at;
        above += x > at;
        before = x < at ? fmax(before, x) : before;
        after = x > at ? fmin(after, x) : after;
    }
    if (below == 0 && above == 0)
        return 0;
    /* Samples at the cut go to the side that leaves both sizes closest to what is wanted. */
    int right = above == 0 || (below > 0 && want - below <= n - above - want);
    double low = right ? before : at, high = right ? at : after;
    double middle = low + (high - low) / 2;
    c->threshold = middle > low ? middle : high;
    return 1;
}

/* direction = sample b minus sample a. */
static void direct(const kb_points *p, size_t a, size_t b, double *direction) {
    double values[2];
    size_t end[2], at[2], row[2] = {a, b};
    for (int s = 0; s < 2; s++) {
        at[s] = p->dense ? row[s] * p->features : p->row_start[row[s]];
        end[s] = p->dense ? at[s] + p->features : p->row_start[row[s] + 1];
    }
    for (size_t j = 0; j < p->features; j++) {
        for (int s = 0; s < 2; s++)
            if (p->dense)
                values[s] = p->dense[at[s]++];
            else if (at[s] < end[s] && p->column[at[s]] == j)
                values[s] = p->value[at[s]++];
            else
                values[s] = p->zero[j];
        direction[j] = values[1] - values[0];
    }
}

/* Whether the set could be cut; its places then tell which side each position is on. */
static int try_cut(kb_context *ctx, cutting *c, const set *s, size_t split) {
    size_t n = s->end - s->begin;
    double *direction = c->r->splits.direction + split * c->r->features;
    for (uint32_t k = 0; k < ATTEMPTS; k++) {
        kb_uniform2 u = kb_random_uniform(c->seed, KB_STREAM_SPLIT, split, k);
        size_t a = s->begin + (size_t)(u.u * (double)n), b = s->begin + (size_t)(u.v * (double)n);
        a = a < s->end ? a : s->end - 1;
        b = b < s->end ? b : s->end - 1;
        direct(c->all, c->r->order[a], c->r->order[b], direction);
        placing p = {c, s->begin, direction};
        kb_team_for(ctx, n, KB_WORTH_A_THREAD / (c->r->features + 1) + 1, project, &p);
        if (find_threshold(c, s->begin, s->end))
            return 1;
    }
    return 0;
}

/* Those below the threshold first, both sides in their old order; where the second begins. */
static size_t part(const cutting *c, const set *s) {
    uint32_t *order = c->r->order;
    size_t left = s->begin, right = 0;
    for (size_t k = s->begin; k < s->end; k++)
        if (c->place[k] < c->threshold)
            order[left++] = order[k];
        else
            c->other[right++] = order[k];
    memcpy(order + left, c->other, right * sizeof *order);
    return left;
}

static kb_status add_split(kb_context *ctx, kb_rival *r, size_t *room) {
    kb_block_tree *s = &r->splits;
    size_t count = s->count + 1;
    if (count <= *room)
        return KB_OK;
    kb_status status;
    size_t more = 2 * *room + 16;
    TRY(kb_realloc(ctx, more * r->features, sizeof(double), &s->direction));
    TRY(kb_realloc(ctx, more, sizeof(double), &s->threshold));
    TRY(kb_realloc(ctx, 2 * more, sizeof *s->child, &s->child));
    *room = more;
done:
    return status;
}

/* Depth first, the left side before the right, so that blocks come in the order of r->order. */
static kb_status cut(kb_context *ctx, cutting *c, size_t begin, size_t end, int32_t *answer,
                     size_t *split_room, size_t *start_room) {
    kb_status status = KB_OK;
    kb_rival *r = c->r;
    set s = {begin, end};
    int whole = end - begin <= c->most;
    if (!whole) {
        TRY(add_split(ctx, r, split_room));
        whole = !try_cut(ctx, c, &s, r->splits.count);
    }
    if (whole) {
        TRY(kb_reserve(ctx, r->blocks + 2, sizeof *r->start, start_room, &r->start));
        *answer = ~(int32_t)r->blocks;
        r->start[r->blocks++] = begin;
        goto done;
    }
    size_t split = r->splits.count++, middle = part(c, &s);
    int32_t child[2];
    r->splits.threshold[split] = c->threshold;
    TRY(cut(ctx, c, begin, middle, &child[0], split_room, start_room));
    TRY(cut(ctx, c, middle, end, &child[1], split_room, start_room));
    memcpy(r->splits.child + 2 * split, child, sizeof child);
    *answer = (int32_t)split;
done:
    return status;
}

kb_status kb_block_tree_build(kb_context *ctx, uint64_t seed, size_t most, const kb_points *all,
                              kb_rival *r) {
    kb_status status;
    cutting c = {.r = r, .all = all, .seed = seed, .most = most};
    size_t N = all->rows, split_room = 0, start_room = 0;
    int32_t root;
    TRY(kb_alloc(ctx, N, sizeof *r->order, &r->order));
    TRY(kb_alloc(ctx, N, sizeof(double), &c.place));
    TRY(kb_alloc(ctx, N, sizeof(double), &c.sorted));
    TRY(kb_alloc(ctx, N, sizeof *c.other, &c.other));
    for (size_t i = 0; i < N; i++)
        r->order[i] = (uint32_t)i;
    TRY(cut(ctx, &c, 0, N, &root, &split_room, &start_room));
    r->start[r->blocks] = N;
done:
    kb_release(ctx, c.place);
    kb_release(ctx, c.sorted);
    kb_release(ctx, c.other);
    return status;
}

size_t kb_block_tree_find(const kb_rival *r, const kb_points *p, size_t i) {
    const kb_block_tree *s = &r->splits;
    int32_t at = s->count ? 0 : ~0;
    while (at >= 0) {
        double place = kb_points_project(p, i, s->direction + (size_t)at * r->features);
        at = s->child[2 * at + (place < s->threshold[at] ? 0 : 1)];
    }
    return (size_t)~at;
}
