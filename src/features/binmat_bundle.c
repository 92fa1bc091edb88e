/*
 * binmat_bundle.c - see binmat_bundle.h.
 *
 * The numbers are stored in as few bytes as those so far need, and widened when one outgrows them.
 */
#include "features/binmat_bundle.h"

#include <string.h>

/* Tuples that are looked up at a time. */
enum { CHUNK = 1024 };

kb_status kb_bundle_begin(kb_context *ctx, kb_binmat *z, size_t bundle, int alone, kb_bundle *b) {
    kb_status status = KB_OK;
    size_t rest = z->groups - bundle * KB_GROUP;
    *b = (kb_bundle){
        .z = z, .bundle = bundle, .groups = rest < KB_GROUP ? rest : KB_GROUP, .alone = alone};
    for (size_t k = 0; !alone && k < KB_BUNDLE; k++)
        TRY(kb_bintable_clear(ctx, &b->bins[k]));
    for (size_t g = 0; !alone && g < KB_GROUP; g++)
        TRY(kb_bintable_clear(ctx, &b->tuples[g]));
done:
    if (status != KB_OK)
        kb_bundle_release(ctx, b);
    return status;
}

void kb_bundle_release(kb_context *ctx, kb_bundle *b) {
    for (size_t k = 0; k < KB_BUNDLE; k++) {
        kb_bintable_release(ctx, &b->bins[k]);
        kb_release(ctx, b->samples[k]);
        b->samples[k] = NULL;
    }
    for (size_t g = 0; g < KB_GROUP; g++)
        kb_bintable_release(ctx, &b->tuples[g]);
}

/* ---- numbers for all rows ---------------------------------------------- */

/* The only part: its numbers are kept. */
static kb_status adopt(kb_context *ctx, kb_bintable *table, size_t count, const uint64_t *key,
                       uint32_t *number) {
    for (size_t i = 0; i < count; i++)
        number[i] = (uint32_t)i;
    table->count = (uint32_t)count;
    if (!key)
        return KB_OK;
    kb_status status = kb_reserve(ctx, count, sizeof *key, &table->room, &table->key);
    if (status == KB_OK)
        memcpy(table->key, key, count * sizeof *key);
    return status;
}

static kb_status merge_bins(kb_context *ctx, kb_bundle *b, size_t k, kb_binpart *part) {
    kb_status status;
    kb_bintable *table = &b->bins[k];
    size_t first = part->bin_start[k], count = part->bin_start[k + 1] - first;
    size_t before = table->count;
    if (b->alone)
        TRY(adopt(ctx, table, count, part->key + first, part->bin + first));
    else
        TRY(kb_bintable_number(ctx, table, count, part->key + first, 1, part->bin + first));
    TRY(kb_reserve(ctx, table->count, sizeof(uint32_t), &b->samples_room[k], &b->samples[k]));
    memset(b->samples[k] + before, 0, (table->count - before) * sizeof(uint32_t));
    for (size_t i = first; i < first + count; i++)
        b->samples[k][part->bin[i]] += part->samples[i];
done:
    return status;
}

/* The bins of tuple t, numbered for all rows. */
static inline void bins_of(const kb_binpart *part, size_t g, size_t t, uint32_t *bin) {
    uint64_t four = part->four[t];
    for (size_t k = 0; k < KB_GROUP; k++)
        bin[k] = part->bin[part->bin_start[g * KB_GROUP + k] + kb_binpart_bin(four, k)];
}

/* Makes room for `room` rows of numbers below `numbers`; the first `used` rows keep theirs. */
static kb_status fit(kb_context *ctx, kb_id_group *g, size_t room, size_t used, size_t numbers) {
    int bits = kb_id_bits(numbers);
    bits = g->bits > bits ? g->bits : bits;
    kb_status status = kb_realloc(ctx, room, kb_id_row_bytes(bits), &g->ids);
    if (status != KB_OK || g->bits == bits)
        return status;
    /* From the last to the first: none is overwritten before it is read. */
    for (size_t i = used; i-- > 0;) {
        uint32_t id[KB_GROUP];
        for (size_t k = 0; k < KB_GROUP; k++)
            id[k] = kb_id_get(g->ids, g->bits, i, k);
        kb_id_put(g->ids, bits, i, id);
    }
    g->bits = bits;
    return status;
}

static size_t most_bins(const kb_bundle *b, size_t g) {
    size_t most = 1;
    for (size_t k = g * KB_GROUP; k < (g + 1) * KB_GROUP; k++)
        most = b->bins[k].count > most ? b->bins[k].count : most;
    return most;
}

/* Room for `more` tuples behind the `used` ones, for the bins that there are now. */
static kb_status reserve_tuples(kb_context *ctx, kb_bundle *b, size_t g, size_t used, size_t more) {
    kb_id_group *to = &b->z->group[b->bundle * KB_GROUP + g];
    size_t room = b->tuples_room[g];
    if (used + more > room)
        room = b->alone || used + more > room + room / 4 ? used + more : room + room / 4;
    else if (kb_id_bits(most_bins(b, g)) <= to->bits)
        return KB_OK;
    kb_status status = fit(ctx, to, room, used, most_bins(b, g));
    b->tuples_room[g] = status == KB_OK ? room : b->tuples_room[g];
    return status;
}

/* Some tuples of the part: numbers them and keeps the bins of new ones. */
static kb_status merge_few(kb_context *ctx, kb_bundle *b, size_t g, kb_binpart *part, size_t first,
                           size_t count) {
    kb_status status;
    kb_id_group *to = &b->z->group[b->bundle * KB_GROUP + g];
    uint64_t key[CHUNK];
    uint32_t bin[CHUNK][KB_GROUP];
    size_t known = b->tuples[g].count;
    for (size_t t = 0; t < count; t++) {
        bins_of(part, g, first + t, bin[t]);
        key[t] = kb_tuple_key(bin[t]);
    }
    TRY(kb_bintable_number(ctx, &b->tuples[g], count, key, 1, part->tuple + first));
    if (g < b->groups)
        TRY(reserve_tuples(ctx, b, g, known, b->tuples[g].count - known));
    for (size_t t = 0; g < b->groups && t < count; t++)
        if (part->tuple[first + t] == known) {
            kb_id_put(to->ids, to->bits, known, bin[t]);
            known++;
        }
done:
    return status;
}

/* The only part: its tuples are kept, unless they are too many. */
static kb_status adopt_tuples(kb_context *ctx, kb_bundle *b, size_t g, kb_binpart *part) {
    kb_status status;
    size_t first = part->tuple_start[g], count = part->tuple_start[g + 1] - first;
    kb_id_group *to = &b->z->group[b->bundle * KB_GROUP + g];
    TRY(adopt(ctx, &b->tuples[g], count, NULL, part->tuple + first));
    if (g >= b->groups ||
        !kb_tuples_pay(part->tuple_start[b->groups], b->groups * part->rows, b->z->place != NULL))
        return KB_OK;
    TRY(reserve_tuples(ctx, b, g, 0, count));
    for (size_t t = 0; t < count; t++) {
        uint32_t bin[KB_GROUP];
        bins_of(part, g, first + t, bin);
        kb_id_put(to->ids, to->bits, t, bin);
    }
done:
    return status;
}

kb_status kb_bundle_merge(kb_context *ctx, kb_bundle *b, size_t g, size_t count, kb_binpart *part) {
    kb_status status = KB_OK;
    for (size_t p = 0; p < count; p++) {
        for (size_t k = g * KB_GROUP; k < (g + 1) * KB_GROUP; k++)
            TRY(merge_bins(ctx, b, k, &part[p]));
        if (b->direct || !part[p].has_tuples)
            continue;
        size_t first = part[p].tuple_start[g], last = part[p].tuple_start[g + 1];
        if (b->alone)
            TRY(adopt_tuples(ctx, b, g, &part[p]));
        for (size_t t = first; !b->alone && t < last; t += CHUNK)
            TRY(merge_few(ctx, b, g, &part[p], t, last - t < CHUNK ? last - t : CHUNK));
    }
done:
    return status;
}

kb_status kb_bundle_merge_grid(kb_context *ctx, kb_bundle *b, size_t k, size_t count,
                               kb_binpart *part) {
    kb_status status = KB_OK;
    for (size_t p = 0; p < count; p++)
        TRY(merge_bins(ctx, b, k, &part[p]));
done:
    return status;
}

/* ---- numbers of the rows ----------------------------------------------- */

/* Replaces the tuples of group g by the rows' bins. */
static kb_status expand(kb_context *ctx, kb_bundle *b, size_t g) {
    kb_binmat *z = b->z;
    kb_id_group *group = &z->group[b->bundle * KB_GROUP + g], bins = {0};
    const kb_id_group *tuples = &z->bundle[b->bundle];
    kb_status status = fit(ctx, &bins, z->rows, 0, most_bins(b, g));
    if (status != KB_OK)
        return status;
    for (size_t i = 0; i < b->done; i++) {
        uint32_t id[KB_GROUP];
        size_t t = kb_id_at(tuples, i, g);
        for (size_t k = 0; k < KB_GROUP; k++)
            id[k] = (uint32_t)kb_id_at(group, t, k);
        kb_id_put(bins.ids, bins.bits, i, id);
    }
    kb_release(ctx, group->ids);
    *group = bins;
    kb_bintable_release(ctx, &b->tuples[g]);
    return KB_OK;
}

static kb_status give_up_tuples(kb_context *ctx, kb_bundle *b) {
    kb_status status = KB_OK;
    for (size_t g = 0; g < b->groups; g++)
        TRY(expand(ctx, b, g));
    kb_release(ctx, b->z->bundle[b->bundle].ids);
    b->z->bundle[b->bundle] = (kb_id_group){0};
    b->direct = 1;
done:
    return status;
}

kb_status kb_bundle_settle(kb_context *ctx, kb_bundle *b) {
    kb_status status = KB_OK;
    kb_binmat *z = b->z;
    size_t sum = 0, most = 1;
    for (size_t g = 0; !b->direct && g < b->groups; g++) {
        sum += b->tuples[g].count;
        most = b->tuples[g].count > most ? b->tuples[g].count : most;
    }
    /* There will only be more of them. */
    if (!b->direct && !kb_tuples_pay(sum, b->groups * z->rows, z->place != NULL))
        TRY(give_up_tuples(ctx, b));
    if (!b->direct)
        TRY(fit(ctx, &z->bundle[b->bundle], z->rows, b->done, most));
    for (size_t g = 0; b->direct && g < b->groups; g++)
        TRY(fit(ctx, &z->group[b->bundle * KB_GROUP + g], z->rows, b->done, most_bins(b, g)));
done:
    return status;
}

static inline void write_tuples(const kb_binpart *part, int bits, void *ids) {
    for (size_t i = 0; i < part->rows; i++) {
        uint32_t tuple[KB_GROUP];
        for (size_t g = 0; g < KB_GROUP; g++)
            tuple[g] = part->tuple[part->tuple_start[g] + part->row[i * KB_GROUP + g]];
        kb_id_put(ids, bits, part->begin + i, tuple);
    }
}

static inline void write_bins(const kb_binpart *part, size_t g, int bits, void *ids) {
    for (size_t i = 0; i < part->rows; i++) {
        uint32_t bin[KB_GROUP];
        size_t t = part->has_tuples ? part->row[i * KB_GROUP + g] : i;
        bins_of(part, g, part->tuple_start[g] + t, bin);
        kb_id_put(ids, bits, part->begin + i, bin);
    }
}

void kb_bundle_write(kb_bundle *b, const kb_binpart *part) {
    const kb_id_group *to = &b->z->bundle[b->bundle];
    if (!b->direct)
        KB_WITH_BITS(to->bits, write_tuples(part, BITS, to->ids));
    for (size_t g = 0; b->direct && g < b->groups; g++) {
        to = &b->z->group[b->bundle * KB_GROUP + g];
        KB_WITH_BITS(to->bits, write_bins(part, g, BITS, to->ids));
    }
}

/* ---- the end ----------------------------------------------------------- */

static kb_status finish_grid(kb_context *ctx, kb_bundle *b, size_t k, double *kappa) {
    kb_binmat *z = b->z;
    kb_bintable *table = &b->bins[k];
    size_t r = b->bundle * KB_BUNDLE + k, most = 0;
    for (size_t i = 0; i < table->count; i++)
        most = b->samples[k][i] > most ? b->samples[k][i] : most;
    *kappa = (double)z->rows / (double)most;
    z->start[r + 1] = table->count;
    kb_status status = kb_realloc(ctx, table->count, sizeof(uint64_t), &table->key);
    if (status != KB_OK)
        return status;
    z->key[r] = table->key;
    table->key = NULL;
    return KB_OK;
}

kb_status kb_bundle_finish(kb_context *ctx, kb_bundle *b, double *kappa) {
    kb_status status = KB_OK;
    for (size_t k = 0; k < KB_BUNDLE && b->bundle * KB_BUNDLE + k < b->z->grids; k++)
        TRY(finish_grid(ctx, b, k, kappa + k));
    for (size_t g = 0; g < b->groups; g++) {
        size_t q = b->bundle * KB_GROUP + g;
        b->z->tuples[q] = b->direct ? b->z->rows : b->tuples[g].count;
        if (!b->direct)
            TRY(fit(ctx, &b->z->group[q], b->tuples[g].count, b->tuples[g].count, 1));
    }
done:
    kb_bundle_release(ctx, b);
    return status;
}
