/*
 * binpart.c - see binpart.h.
 *
 * A few thousand rows at a time: their keys are computed in the lanes of each block at once, then
 * numbered grid by grid, so that each grid's table stays in cache over the chunk, and then the
 * tuples of each group are numbered.
 */
#include "features/binpart.h"

#include <string.h>

/* How far the keys of a block's grids are apart: not a power of two, with which all would compete
 * for the same cache lines. */
enum { CHUNK = KB_PART_CHUNK, APART = CHUNK + 8 };

/* Blocks of a bundle. */
enum { BLOCKS = KB_BUNDLE / KB_LANES };

struct kb_binpart_maker {
    uint64_t *keys;         /* KB_LANES x APART */
    uint64_t *zero[BLOCKS]; /* kb_bin_keys_scratch */
    uint32_t *ids;          /* KB_GROUP x CHUNK x KB_GROUP: bins, group after group */
    uint32_t *tuple;        /* CHUNK */
    uint32_t *count;        /* KB_PART_ROWS: samples in each tuple */
    const uint32_t *order;  /* of all rows, or NULL */
    double *ordered;        /* CHUNK x features: the rows of the chunk */
    kb_bintable bins[KB_BUNDLE];
    kb_bintable tuples[KB_GROUP];
};

kb_status kb_binpart_maker_create(kb_context *ctx, const kb_data *data, const uint32_t *order,
                                  kb_binpart_maker **out) {
    kb_status status;
    size_t most = data->rows < KB_PART_ROWS ? data->rows : KB_PART_ROWS;
    *out = NULL;
    kb_binpart_maker *m;
    TRY(kb_zalloc(ctx, 1, sizeof *m, &m));
    TRY(kb_alloc(ctx, KB_LANES * APART, sizeof *m->keys, &m->keys));
    for (int b = 0; b < BLOCKS; b++)
        TRY(kb_alloc(ctx, kb_bin_keys_scratch(data), sizeof **m->zero, &m->zero[b]));
    TRY(kb_alloc(ctx, CHUNK, KB_BUNDLE * sizeof *m->ids, &m->ids));
    TRY(kb_alloc(ctx, CHUNK, sizeof *m->tuple, &m->tuple));
    TRY(kb_alloc(ctx, most, sizeof *m->count, &m->count));
    m->order = order;
    if (order)
        TRY(kb_alloc(ctx, CHUNK * data->features, sizeof *m->ordered, &m->ordered));
    *out = m;
done:
    if (status != KB_OK)
        kb_binpart_maker_free(ctx, m);
    return status;
}

void kb_binpart_maker_free(kb_context *ctx, kb_binpart_maker *m) {
    if (!m)
        return;
    kb_release(ctx, m->keys);
    for (int b = 0; b < BLOCKS; b++)
        kb_release(ctx, m->zero[b]);
    kb_release(ctx, m->ids);
    kb_release(ctx, m->tuple);
    kb_release(ctx, m->count);
    kb_release(ctx, m->ordered);
    for (int k = 0; k < KB_BUNDLE; k++)
        kb_bintable_release(ctx, &m->bins[k]);
    for (int g = 0; g < KB_GROUP; g++)
        kb_bintable_release(ctx, &m->tuples[g]);
    kb_release(ctx, m);
}

/* The four bins of row i of the chunk. */
static inline uint64_t four_of(const kb_binpart_maker *m, size_t g, size_t i) {
    const uint32_t *at = m->ids + (g * CHUNK + i) * KB_GROUP;
    return at[0] | (uint64_t)at[1] << 16 | (uint64_t)at[2] << 32 | (uint64_t)at[3] << 48;
}

/* The chunk is the one from row `done` of the part on. */
static kb_status number_tuples(kb_context *ctx, kb_binpart_maker *m, size_t g, size_t done,
                               size_t rows, kb_binpart *part) {
    for (size_t i = 0; i < rows; i++)
        m->keys[i] = kb_key_mix(four_of(m, g, i));
    kb_status status = kb_bintable_number(ctx, &m->tuples[g], rows, m->keys, 1, m->tuple);
    for (size_t i = 0; status == KB_OK && i < rows; i++)
        part->row[(done + i) * KB_GROUP + g] = (uint16_t)m->tuple[i];
    return status;
}

/* The chunk's rows side by side; the first of them is then row *first of the answer. */
static kb_data rows_of(const kb_binpart_maker *m, const kb_data *data, size_t begin, size_t rows,
                       size_t *first) {
    size_t d = data->features;
    *first = m->order ? 0 : begin;
    if (!m->order)
        return *data;
    for (size_t i = 0; i < rows; i++)
        memcpy(m->ordered + i * d, data->dense + m->order[begin + i] * d, d * sizeof(double));
    return (kb_data){.rows = rows, .features = d, .dense = m->ordered};
}

/* Lanes past the last grid have one bin: their width is infinite, or the block is missing. */
static kb_status number_chunk(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                              size_t bundle, kb_binpart_maker *m, size_t done, size_t rows,
                              kb_binpart *part) {
    kb_status status = KB_OK;
    size_t blocks = kb_grids_blocks(binning->grids), first;
    kb_data x = rows_of(m, data, part->begin + done, rows, &first);
    for (size_t b = 0; b < BLOCKS && bundle * BLOCKS + b < blocks; b++) {
        kb_bin_keys_compute(binning, &x, bundle * BLOCKS + b, first, rows, m->zero[b], APART,
                            m->keys);
        for (size_t k = 0; k < KB_LANES; k++) {
            size_t lane = b * KB_LANES + k;
            TRY(kb_bintable_number(ctx, &m->bins[lane], rows, m->keys + k * APART, KB_GROUP,
                                   m->ids + lane / KB_GROUP * CHUNK * KB_GROUP + lane % KB_GROUP));
        }
    }
    for (size_t g = 0; g < KB_GROUP; g++)
        if (part->has_tuples)
            TRY(number_tuples(ctx, m, g, done, rows, part));
        else
            for (size_t i = 0; i < rows; i++)
                part->four[g * part->rows + done + i] = four_of(m, g, i);
done:
    return status;
}

/* As kb_reserve, but without room to spare: a part does not grow. */
static kb_status make_room(kb_context *ctx, size_t need, size_t size, size_t *room, void *inout) {
    if (need <= *room)
        return KB_OK;
    kb_status status = kb_realloc(ctx, need, size, inout);
    *room = status == KB_OK ? need : *room;
    return status;
}

/* Clears the tables and makes room for what the chunks write. */
static kb_status begin(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                       size_t bundle, kb_binpart_maker *m, kb_binpart *part) {
    kb_status status = KB_OK;
    size_t blocks = kb_grids_blocks(binning->grids);
    for (size_t k = 0; k < KB_BUNDLE; k++)
        TRY(kb_bintable_clear(ctx, &m->bins[k]));
    for (size_t g = 0; g < KB_GROUP; g++)
        TRY(kb_bintable_clear(ctx, &m->tuples[g]));
    if ((bundle + 1) * BLOCKS > blocks) /* for a block past the last */
        memset(m->ids, 0, CHUNK * KB_BUNDLE * sizeof *m->ids);
    for (size_t b = 0; b < BLOCKS && bundle * BLOCKS + b < blocks; b++)
        kb_bin_keys_prepare(binning, data, bundle * BLOCKS + b, m->zero[b]);
    if (part->has_tuples)
        TRY(make_room(ctx, part->rows * KB_GROUP, sizeof *part->row, &part->row_room, &part->row));
    else
        TRY(make_room(ctx, part->rows * KB_GROUP, sizeof *part->four, &part->four_room,
                      &part->four));
done:
    return status;
}

/* Copies the keys of the bins from the tables. */
static kb_status keep_bins(kb_context *ctx, const kb_binpart_maker *m, kb_binpart *part) {
    kb_status status;
    part->bin_start[0] = 0;
    for (size_t k = 0; k < KB_BUNDLE; k++)
        part->bin_start[k + 1] = part->bin_start[k] + (m->bins[k].count ? m->bins[k].count : 1);
    size_t bins = part->bin_start[KB_BUNDLE];
    TRY(make_room(ctx, bins, sizeof *part->key, &part->key_room, &part->key));
    TRY(make_room(ctx, bins, sizeof *part->samples, &part->samples_room, &part->samples));
    TRY(make_room(ctx, bins, sizeof *part->bin, &part->bin_room, &part->bin));
    for (size_t k = 0; k < KB_BUNDLE; k++)
        if (m->bins[k].count)
            memcpy(part->key + part->bin_start[k], m->bins[k].key,
                   m->bins[k].count * sizeof *part->key);
        else
            part->key[part->bin_start[k]] = 0;
done:
    return status;
}

/* The bins of a tuple are its key, mixed. */
static kb_status keep_tuples(kb_context *ctx, const kb_binpart_maker *m, kb_binpart *part) {
    kb_status status;
    part->tuple_start[0] = 0;
    for (size_t g = 0; g < KB_GROUP; g++)
        part->tuple_start[g + 1] =
            part->tuple_start[g] + (part->has_tuples ? m->tuples[g].count : part->rows);
    size_t tuples = part->tuple_start[KB_GROUP];
    if (!part->has_tuples) /* begin() has made the room, and the chunks have filled it */
        return KB_OK;
    TRY(make_room(ctx, tuples, sizeof *part->four, &part->four_room, &part->four));
    TRY(make_room(ctx, tuples, sizeof *part->tuple, &part->tuple_room, &part->tuple));
    for (size_t g = 0; g < KB_GROUP; g++)
        for (size_t t = 0; t < m->tuples[g].count; t++)
            part->four[part->tuple_start[g] + t] = kb_key_unmix(m->tuples[g].key[t]);
done:
    return status;
}

/* The samples of each bin, by way of the tuples. */
static void count_samples(const kb_binpart_maker *m, kb_binpart *part) {
    memset(part->samples, 0, part->bin_start[KB_BUNDLE] * sizeof *part->samples);
    for (size_t g = 0; g < KB_GROUP; g++) {
        size_t tuples = part->tuple_start[g + 1] - part->tuple_start[g];
        const uint64_t *four = part->four + part->tuple_start[g];
        memset(m->count, 0, tuples * sizeof *m->count);
        for (size_t i = 0; i < part->rows; i++)
            m->count[part->has_tuples ? part->row[i * KB_GROUP + g] : i]++;
        for (size_t k = 0; k < KB_GROUP; k++) {
            uint32_t *samples = part->samples + part->bin_start[g * KB_GROUP + k];
            for (size_t t = 0; t < tuples; t++)
                samples[kb_binpart_bin(four[t], k)] += m->count[t];
        }
    }
}

kb_status kb_binpart_number(kb_context *ctx, const kb_binning *binning, const kb_data *data,
                            size_t bundle, int with_tuples, kb_binpart_maker *m,
                            kb_status (*step)(void *arg, size_t rows), void *arg,
                            kb_binpart *part) {
    kb_status status;
    part->has_tuples = with_tuples;
    TRY(begin(ctx, binning, data, bundle, m, part));
    for (size_t done = 0; done < part->rows; done += CHUNK) {
        size_t rows = part->rows - done < CHUNK ? part->rows - done : CHUNK;
        TRY(number_chunk(ctx, binning, data, bundle, m, done, rows, part));
        if (step)
            TRY(step(arg, rows));
    }
    TRY(keep_bins(ctx, m, part));
    TRY(keep_tuples(ctx, m, part));
    count_samples(m, part);
done:
    return status;
}

void kb_binpart_release(kb_context *ctx, kb_binpart *part) {
    kb_release(ctx, part->key);
    kb_release(ctx, part->samples);
    kb_release(ctx, part->bin);
    kb_release(ctx, part->four);
    kb_release(ctx, part->tuple);
    kb_release(ctx, part->row);
    memset(part, 0, sizeof *part);
}
