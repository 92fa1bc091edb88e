/* join_bins.c - see join_bins.h. */
#include "joined/join_bins.h"
#include "core/team.h"
#include "features/bintable.h"
#include "features/slices.h"
#include "joined/joined_operator.h"
#include "options/say.h"
#include "ranks/ranks.h"

#include <string.h>

/* Grids of a step: a bundle. */
enum { STEP = KB_BUNDLE };

/* What ranks exchange about the grids of a step.  Blocks of bytes are one for each rank, and in a
 * block the grids stand one after the other. */
typedef struct step {
    kb_context *ctx;
    kb_binmat *z;
    size_t first, grids; /* of z */
    size_t keys;         /* of this rank in all of them */
    size_t *to;          /* ranks: keys, then bytes, for each */
    uint64_t *out;       /* keys by owner */
    uint32_t *place;     /* keys: where each stands in `out`, in the order of the grids */
    uint32_t *counts;    /* ranks x grids: keys of a grid in a block; those that come likewise */
    uint32_t *counts_in;
    uint8_t *verdict; /* of the keys that came */
    uint64_t *own;    /* keys that are first here */
    uint32_t own_count[STEP];
    uint32_t *map[STEP]; /* from the number on this rank to that of all */
    kb_bintable table[STEP];
} step;

static size_t keys_of(const step *s, size_t g) {
    size_t r = s->first + g;
    return s->z->rows ? s->z->start[r + 1] - s->z->start[r] : 0;
}

/* Keys are mixed already, and the bits that tables use are others. */
static size_t owner_of(const step *s, uint64_t key) {
    return (size_t)((key * 0x9e3779b97f4a7c15u >> 32) * (uint64_t)kb_rank_count(s->ctx) >> 32);
}

/* ---- keys to their owners ---------------------------------------------- */

static kb_status sort_out(step *s) {
    kb_status status;
    size_t ranks = (size_t)kb_rank_count(s->ctx), at = 0, *next = NULL;
    TRY(kb_zalloc(s->ctx, ranks, sizeof *s->to, &s->to));
    TRY(kb_zalloc(s->ctx, ranks * s->grids, sizeof *s->counts, &s->counts));
    TRY(kb_alloc(s->ctx, s->keys, sizeof *s->out, &s->out));
    TRY(kb_alloc(s->ctx, s->keys, sizeof *s->place, &s->place));
    TRY(kb_alloc(s->ctx, s->keys, sizeof *s->own, &s->own));
    TRY(kb_alloc(s->ctx, ranks, sizeof *next, &next));
    for (size_t g = 0; g < s->grids; g++)
        for (size_t b = 0; b < keys_of(s, g); b++) {
            size_t k = owner_of(s, s->z->key[s->first + g][b]);
            s->to[k]++;
            s->counts[k * s->grids + g]++;
        }
    for (size_t k = 0, sum = 0; k < ranks; sum += s->to[k++])
        next[k] = sum;
    for (size_t g = 0; g < s->grids; g++)
        for (size_t b = 0; b < keys_of(s, g); b++) {
            uint64_t key = s->z->key[s->first + g][b];
            size_t k = next[owner_of(s, key)]++;
            s->out[k] = key;
            s->place[at++] = (uint32_t)k;
        }
done:
    kb_release(s->ctx, next);
    return status;
}

/* Every rank tells every other how many keys of each grid will come. */
static kb_status exchange_counts(step *s) {
    kb_status status;
    size_t ranks = (size_t)kb_rank_count(s->ctx), *end = NULL, *bytes = NULL;
    void *from = NULL;
    TRY(kb_ranks_agree(s->ctx, kb_alloc(s->ctx, ranks, sizeof *bytes, &bytes)));
    for (size_t k = 0; k < ranks; k++)
        bytes[k] = s->grids * sizeof *s->counts;
    TRY(kb_ranks_exchange(s->ctx, s->counts, bytes, &from, &end));
    s->counts_in = from;
done:
    kb_release(s->ctx, bytes);
    kb_release(s->ctx, end);
    return status;
}

/* ---- who is first ------------------------------------------------------ */

typedef struct judging {
    step *s;
    const uint64_t *in;
    const size_t *end; /* bytes of the blocks */
    kb_status status[STEP];
} judging;

/* The first rank that has a key of grid g keeps it. */
static kb_status judge_grid(judging *j, size_t g) {
    kb_status status = KB_OK;
    enum { CHUNK = 1024 };
    step *s = j->s;
    uint32_t id[CHUNK];
    kb_bintable *seen = &s->table[g];
    TRY(kb_bintable_clear(s->ctx, seen));
    for (size_t k = 0; k < (size_t)kb_rank_count(s->ctx); k++) {
        const uint32_t *counts = s->counts_in + k * s->grids;
        size_t at = k > 0 ? j->end[k - 1] / sizeof(uint64_t) : 0;
        for (size_t e = 0; e < g; e++)
            at += counts[e];
        for (size_t done = 0, n; done < counts[g]; done += n) {
            n = counts[g] - done < CHUNK ? counts[g] - done : CHUNK;
            uint32_t known = seen->count;
            TRY(kb_bintable_number(s->ctx, seen, n, j->in + at + done, 1, id));
            for (size_t i = 0; i < n; i++) {
                s->verdict[at + done + i] = id[i] == known;
                known += id[i] == known;
            }
        }
    }
done:
    return status;
}

static void judge_grids(void *arg, size_t begin, size_t end) {
    judging *j = arg;
    for (size_t g = begin; g < end; g++)
        j->status[g] = judge_grid(j, g);
}

static kb_status first_failure(const kb_status *status, size_t count) {
    for (size_t g = 0; g < count; g++)
        if (status[g] != KB_OK)
            return status[g];
    return KB_OK;
}

/* Keys go to their owners, and verdicts come back: *first has one for each key of `out`. */
static kb_status ask_owners(step *s, uint8_t **first) {
    kb_status status;
    size_t ranks = (size_t)kb_rank_count(s->ctx), *end = NULL, *back = NULL;
    void *in = NULL, *verdict = NULL;
    judging j = {.s = s};
    for (size_t k = 0; k < ranks; k++)
        s->to[k] *= sizeof(uint64_t);
    TRY(kb_ranks_exchange(s->ctx, s->out, s->to, &in, &end));
    j.in = in;
    j.end = end;
    status = kb_alloc(s->ctx, end[ranks - 1] / sizeof(uint64_t), 1, &s->verdict);
    if (status == KB_OK)
        kb_team_for(s->ctx, s->grids, 1, judge_grids, &j);
    if (status == KB_OK)
        status = first_failure(j.status, s->grids);
    TRY(kb_ranks_agree(s->ctx, status));
    for (size_t k = ranks; k-- > 0;)
        s->to[k] = (end[k] - (k > 0 ? end[k - 1] : 0)) / sizeof(uint64_t);
    TRY(kb_ranks_exchange(s->ctx, s->verdict, s->to, &verdict, &back));
    *first = verdict;
done:
    kb_release(s->ctx, in);
    kb_release(s->ctx, end);
    kb_release(s->ctx, back);
    return status;
}

/* ---- numbers ----------------------------------------------------------- */

static void take_own(step *s, const uint8_t *first) {
    size_t at = 0, used = 0;
    for (size_t g = 0; g < s->grids; g++) {
        s->own_count[g] = 0;
        for (size_t b = 0; b < keys_of(s, g); b++, at++)
            if (first[s->place[at]]) {
                s->own[used++] = s->z->key[s->first + g][b];
                s->own_count[g]++;
            }
    }
}

typedef struct numbering {
    step *s;
    const uint64_t *keys;   /* of all ranks that are first there */
    const size_t *end;      /* bytes of the blocks */
    const uint32_t *counts; /* ranks x STEP */
    kb_status status[STEP];
} numbering;

/* The keys of grid g of all ranks get their numbers, and those of this rank are looked up. */
static kb_status number_grid(numbering *n, size_t g) {
    kb_status status;
    step *s = n->s;
    kb_bintable *all = &s->table[g];
    size_t r = s->first + g, own = keys_of(s, g), most = 0;
    uint32_t *id = NULL;
    TRY(kb_bintable_clear(s->ctx, all));
    for (size_t k = 0; k < (size_t)kb_rank_count(s->ctx); k++)
        most = n->counts[k * STEP + g] > most ? n->counts[k * STEP + g] : most;
    TRY(kb_alloc(s->ctx, most, sizeof *id, &id));
    for (size_t k = 0; k < (size_t)kb_rank_count(s->ctx); k++) {
        size_t at = k > 0 ? n->end[k - 1] / sizeof(uint64_t) : 0;
        for (size_t e = 0; e < g; e++)
            at += n->counts[k * STEP + e];
        TRY(kb_bintable_number(s->ctx, all, n->counts[k * STEP + g], n->keys + at, 1, id));
    }
    TRY(kb_alloc(s->ctx, own, sizeof *s->map[g], &s->map[g]));
    TRY(kb_bintable_number(s->ctx, all, own, s->z->key[r], 1, s->map[g]));
    TRY(kb_realloc(s->ctx, all->count, sizeof(uint64_t), &all->key));
    all->room = all->count;
    kb_release(s->ctx, s->z->key[r]);
    s->z->key[r] = all->key;
    all->key = NULL;
    all->room = 0;
done:
    kb_release(s->ctx, id);
    return status;
}

static void number_grids(void *arg, size_t begin, size_t end) {
    numbering *n = arg;
    for (size_t g = begin; g < end; g++)
        n->status[g] = number_grid(n, g);
}

/* All ranks hear of all keys.  bins[g]: how many there are. */
static kb_status number_all(step *s, size_t *bins) {
    kb_status status;
    numbering n = {.s = s};
    size_t used = 0, *end = NULL;
    void *counts = NULL, *keys = NULL;
    for (size_t g = 0; g < s->grids; g++)
        used += s->own_count[g];
    TRY(kb_ranks_gather(s->ctx, s->own_count, sizeof s->own_count, &counts, NULL));
    TRY(kb_ranks_gather(s->ctx, s->own, used * sizeof *s->own, &keys, &end));
    n.counts = counts;
    n.keys = keys;
    n.end = end;
    kb_team_for(s->ctx, s->grids, 1, number_grids, &n);
    for (size_t g = 0; g < s->grids; g++)
        bins[g] = s->table[g].count;
    TRY(kb_ranks_agree(s->ctx, first_failure(n.status, s->grids)));
done:
    kb_release(s->ctx, counts);
    kb_release(s->ctx, keys);
    kb_release(s->ctx, end);
    return status;
}

/* ---- the rows' numbers ------------------------------------------------- */

/* The bins of group q, of tuples or of rows, get the numbers of all ranks. */
static kb_status renumber(step *s, size_t q, const size_t *bins) {
    kb_status status = KB_OK;
    kb_id_group *g = &s->z->group[q];
    size_t rows = s->z->tuples[q], most = 1, lane0 = q * KB_GROUP - s->first;
    const uint32_t *map[KB_GROUP] = {NULL};
    void *ids = NULL;
    for (size_t k = 0; k < KB_GROUP && lane0 + k < s->grids; k++) {
        map[k] = s->map[lane0 + k];
        most = bins[lane0 + k] > most ? bins[lane0 + k] : most;
    }
    int bits = kb_id_bits(most);
    bits = bits > g->bits ? bits : g->bits;
    TRY(kb_alloc(s->ctx, rows, kb_id_row_bytes(bits), &ids));
    for (size_t i = 0; i < rows; i++) {
        uint32_t id[KB_GROUP];
        for (size_t k = 0; k < KB_GROUP; k++) {
            id[k] = kb_id_get(g->ids, g->bits, i, k);
            id[k] = map[k] ? map[k][id[k]] : id[k];
        }
        kb_id_put(ids, bits, i, id);
    }
    kb_release(s->ctx, g->ids);
    g->ids = ids;
    g->bits = bits;
done:
    return status;
}

typedef struct renumbering {
    step *s;
    const size_t *bins;
    kb_status status[KB_GROUP];
} renumbering;

static void renumber_groups(void *arg, size_t begin, size_t end) {
    renumbering *a = arg;
    for (size_t q = begin; q < end; q++)
        a->status[q] = renumber(a->s, a->s->first / KB_GROUP + q, a->bins);
}

static void release(step *s) {
    kb_context *ctx = s->ctx;
    void *all[] = {s->to, s->out, s->place, s->counts, s->counts_in, s->verdict, s->own};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kb_release(ctx, all[i]);
    for (size_t g = 0; g < STEP; g++) {
        kb_release(ctx, s->map[g]);
        kb_bintable_release(ctx, &s->table[g]);
    }
}

/* The grids from `first` on.  bins: of all ranks. */
static kb_status join_step(kb_context *ctx, kb_binmat *z, size_t first, size_t *bins) {
    kb_status status;
    step s = {.ctx = ctx, .z = z, .first = first};
    renumbering a = {.s = &s, .bins = bins};
    uint8_t *is_first = NULL;
    s.grids = z->grids - first < STEP ? z->grids - first : STEP;
    for (size_t g = 0; g < s.grids; g++)
        s.keys += keys_of(&s, g);
    TRY(kb_ranks_agree(ctx, sort_out(&s)));
    TRY(exchange_counts(&s));
    TRY(ask_owners(&s, &is_first));
    take_own(&s, is_first);
    TRY(number_all(&s, bins));
    kb_team_for(ctx, (s.grids + KB_GROUP - 1) / KB_GROUP, 1, renumber_groups, &a);
    TRY(kb_ranks_agree(ctx, first_failure(a.status, KB_GROUP)));
done:
    kb_release(ctx, is_first);
    release(&s);
    return status;
}

/* ---- kappa ------------------------------------------------------------- */

typedef struct counting {
    kb_context *ctx;
    kb_slices *slices;
    const kb_binmat *z;
    const int32_t *one; /* a row */
    double *most;       /* grids: samples of the fullest bin */
} counting;

static void find_fullest(void *arg, int me, int threads) {
    counting *a = arg;
    for (size_t k = 0; k < kb_slices_count(a->slices); k++) {
        const int64_t *S = kb_slice_sum(a->slices, k, a->one, me, threads);
        size_t first = k * KB_BUNDLE, last = first + KB_BUNDLE;
        last = last < a->z->grids ? last : a->z->grids;
        for (size_t r = first + (size_t)me; r < last; r += (size_t)threads) {
            int64_t most = 1;
            for (size_t b = a->z->start[r]; b < a->z->start[r + 1]; b++)
                most = S[b - a->z->start[first]] > most ? S[b - a->z->start[first]] : most;
            a->most[r] = (double)most;
        }
        kb_team_meet(a->ctx, me, threads);
    }
}

/* The samples of the fullest bin of each grid, of all ranks, and kappa. */
static kb_status measure(kb_context *ctx, kb_binmat *z) {
    kb_status status;
    int64_t rows = (int64_t)z->rows;
    int32_t *one = NULL;
    counting a = {.ctx = ctx, .z = z};
    TRY(kb_ranks_sum(ctx, &rows, 1));
    status = kb_alloc(ctx, z->rows, sizeof *one, &one);
    if (status == KB_OK)
        status = kb_alloc(ctx, z->grids, sizeof *a.most, &a.most);
    if (status == KB_OK)
        status = kb_slices_create(ctx, z, KB_BUNDLE, 1, &a.slices);
    TRY(kb_ranks_agree(ctx, status));
    for (size_t i = 0; i < z->rows; i++)
        one[i] = 1;
    a.one = one;
    kb_team_run(ctx, 0, find_fullest, &a);
    TRY(kb_slices_status(a.slices));
    z->kappa = 0;
    for (size_t r = 0; r < z->grids; r++)
        z->kappa += (double)rows / a.most[r] / (double)z->grids;
done:
    kb_release(ctx, one);
    kb_release(ctx, a.most);
    kb_slices_free(a.slices);
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

/* Of this rank, now that all bins are known. */
static kb_status check_memory(kb_context *ctx, kb_binmat *z, const kb_memory_plan *memory) {
    if (!memory)
        return KB_OK;
    double need = memory->fixed + (double)z->id_bytes + memory->per_bin * (double)z->bins;
    z->forecast = need > z->forecast ? need : z->forecast;
    if (need <= (double)memory->limit)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_MEMORY,
                   "rank %d: %zu grids with %zu bins need %s of memory, and %s may be taken: use "
                   "fewer %s, a larger %s or a larger %s",
                   kb_rank(ctx), z->grids, z->bins, kb_size_in_words(need).text,
                   kb_size_in_words((double)memory->limit).text, kb_say(ctx, KB_OPT_GRIDS).text,
                   kb_say(ctx, KB_OPT_SIGMA).text, kb_say(ctx, KB_OPT_MAX_MEMORY).text);
}

static kb_status join(kb_context *ctx, kb_binmat *z, const kb_memory_plan *memory) {
    kb_status status;
    size_t *bins = NULL;
    TRY(kb_ranks_agree(ctx, kb_zalloc(ctx, z->grids + STEP, sizeof *bins, &bins)));
    for (size_t first = 0; first < z->grids; first += STEP) {
        TRY(join_step(ctx, z, first, bins + first));
        TRY(kb_ranks_agree(ctx, kb_progress(ctx, "bin", -1)));
    }
    for (size_t r = 0; r < z->grids; r++)
        z->start[r + 1] = z->start[r] + bins[r];
    z->bins = z->start[z->grids];
    z->id_bytes = id_bytes(z);
    TRY(kb_ranks_agree(ctx, check_memory(ctx, z, memory)));
    TRY(measure(ctx, z));
done:
    kb_release(ctx, bins);
    return status;
}

/* The matrix of a rank without rows: its bins come from the others. */
static kb_status build_empty(kb_context *ctx, const kb_binning *binning, size_t R,
                             kb_binmat **out) {
    kb_status status = kb_binmat_create(ctx, 0, binning->grids->grids, R, out);
    if (status != KB_OK)
        return status;
    (*out)->simd = binning->simd ? binning->simd : kb_simd_best();
    for (size_t q = 0; q < (*out)->groups; q++)
        (*out)->group[q].bits = 8;
    return KB_OK;
}

kb_status kb_joined_binmat(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                           size_t R, const kb_memory_plan *memory, kb_binned *out) {
    kb_status status;
    if (data->rows == 0)
        status = build_empty(ctx, binning, R, &out->z);
    else
        status = kb_binmat_build(ctx, binning, data, R, memory, &out->z);
    TRY(kb_ranks_agree(ctx, status));
    if (!kb_has_ranks(ctx)) {
        TRY(kb_operator_binmat(ctx, out->z, &out->op));
        goto done;
    }
    if (kb_rank_count(ctx) > 1)
        TRY(join(ctx, out->z, memory));
    TRY(kb_ranks_agree(ctx, kb_operator_joined(ctx, out->z, &out->op)));
done:
    if (status != KB_OK)
        kb_binned_release(out);
    return status;
}

kb_status kb_joined_build(kb_context *ctx, const kb_binned_spec *spec, const kb_data *data,
                          kb_binned *out) {
    kb_status status;
    double began = kb_now(ctx);
    *out = (kb_binned){0};
    TRY(kb_ranks_agree(
        ctx, kb_grids_build(ctx, spec->seed, spec->first, spec->count, spec->widths, &out->grids)));
    kb_binning binning = {out->grids, spec->shift, spec->scale, NULL};
    TRY(kb_joined_binmat(ctx, &binning, data, spec->R, spec->memory, out));
    out->seconds = kb_now(ctx) - began;
done:
    if (status != KB_OK)
        kb_binned_release(out);
    return status;
}
