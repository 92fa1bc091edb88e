/* row_table.c - see row_table.h. */
#include "model/row_table.h"

#include <string.h>

/* So many lines that the mean of their bins is at most 2.5: 4 % of them then need another one.  At
 * least two, so that there is a key of another line for each. */
static size_t lines_for(size_t bins) {
    size_t lines = (bins * 2 + 4) / 5;
    return lines < 2 ? 2 : lines;
}

static size_t bins_of(const kb_dictionary *d, size_t r) {
    return (size_t)(d->start[r + 1] - d->start[r]);
}

/* The first of the bins b .. of a grid that is not in the line of bin b: keys are in order, and so
 * are their lines. */
static size_t end_of_line(const uint64_t *key, size_t bins, size_t b) {
    size_t lines = lines_for(bins), line = kb_line_of(key[b], lines);
    while (b < bins && kb_line_of(key[b], lines) == line)
        b++;
    return b;
}

/* Lines beyond those that every grid has. */
static size_t count_more(const kb_dictionary *d, uint64_t *room) {
    size_t more = 0;
    for (size_t r = 0; r < d->grids; r++) {
        const uint64_t *key = kb_dictionary_keys(d, r, room);
        for (size_t b = 0, end; b < bins_of(d, r); b = end) {
            end = end_of_line(key, bins_of(d, r), b);
            more += (end - b - 1) / KB_LINE_KEYS;
        }
    }
    return more;
}

static void clear(kb_key_line *line, size_t place) {
    memset(line, 0, sizeof *line);
    for (int k = 0; place == 0 && k < KB_LINE_KEYS; k++)
        line->key[k] = UINT64_MAX; /* belongs to the last line, and 0 to the first */
}

/* `next`: the next line that no grid has. */
static void fill_grid(kb_row_table *t, const kb_dictionary *d, size_t r, const float *weight,
                      uint64_t *room, size_t *next) {
    const uint64_t *key = kb_dictionary_keys(d, r, room);
    kb_key_line *lines = t->line + t->first[r];
    size_t count = (size_t)t->count[r], first = (size_t)d->start[r];
    for (size_t k = 0; k < count; k++)
        clear(&lines[k], k);
    for (size_t b = 0, end; b < bins_of(d, r); b = end) {
        size_t place = kb_line_of(key[b], count);
        kb_key_line *line = &lines[place];
        end = end_of_line(key, bins_of(d, r), b);
        for (size_t i = b, k = 0; i < end; i++, k++) {
            if (k == KB_LINE_KEYS) {
                line->more = (uint32_t)*next;
                line = &t->line[(*next)++];
                clear(line, place);
                k = 0;
            }
            line->key[k] = key[i];
            line->value[k] = (uint32_t)i;
            if (weight)
                memcpy(&line->value[k], &weight[first + i], sizeof(float));
        }
    }
}

/* Gives the grids their lines, and the lanes past the last one a common one at the end.  Returns
 * the number of lines. */
static size_t place_lines(kb_row_table *t, const kb_dictionary *d, size_t lanes) {
    size_t lines = 0;
    for (size_t r = 0; r < lanes; r++) {
        t->first[r] = lines;
        t->count[r] = r < d->grids ? lines_for(bins_of(d, r)) : 1;
        lines += r < d->grids ? (size_t)t->count[r] : 0;
    }
    return lines + 1;
}

kb_status kb_row_table_build(kb_context *ctx, const kb_dictionary *d, const float *weight,
                             kb_row_table **out) {
    kb_status status;
    kb_row_table *t;
    uint64_t *room = NULL;
    size_t lanes = (d->grids + KB_LANES - 1) / KB_LANES * KB_LANES;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *t, &t));
    t->allocator = kb_allocator_of(ctx);
    atomic_init(&t->users, 1);
    TRY(kb_alloc(ctx, lanes, sizeof *t->first, &t->first));
    TRY(kb_alloc(ctx, lanes, sizeof *t->count, &t->count));
    if (d->tail) {
        TRY(kb_alloc(ctx, kb_dictionary_most_bins(d), sizeof *room, &room));
        TRY(kb_zalloc(ctx, lanes, sizeof *t->mask, &t->mask));
        for (size_t r = 0; r < d->grids; r++)
            t->mask[r] = kb_dictionary_mask(d, r);
    }
    size_t next = place_lines(t, d, lanes), lines = next + count_more(d, room);
    if (lines > UINT32_MAX)
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "the model has too many bins for single rows"));
    TRY(kb_alloc(ctx, lines + 1, sizeof *t->line, &t->memory));
    uintptr_t at = (uintptr_t)t->memory, size = sizeof *t->line;
    t->line = (kb_key_line *)((at + size - 1) / size * size);
    kb_prefer_large_pages(t->line, lines * sizeof *t->line);
    clear(&t->line[next - 1], 0);
    for (size_t r = 0; r < d->grids; r++)
        fill_grid(t, d, r, weight, room, &next);
    *out = t;
done:
    kb_release(ctx, room);
    if (status != KB_OK)
        kb_row_table_leave(t);
    return status;
}

kb_row_table *kb_row_table_share(kb_row_table *t) {
    atomic_fetch_add(&t->users, 1);
    return t;
}

void kb_row_table_leave(kb_row_table *t) {
    if (!t || atomic_fetch_sub(&t->users, 1) > 1)
        return;
    kb_allocator_release(t->allocator, t->first);
    kb_allocator_release(t->allocator, t->count);
    kb_allocator_release(t->allocator, t->mask);
    kb_allocator_release(t->allocator, t->memory);
    kb_allocator_release(t->allocator, t);
}
