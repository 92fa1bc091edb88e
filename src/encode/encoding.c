/* encoding.c - see encoding.h. */
#include "encode/encoding.h"

#include <math.h>
#include <string.h>

kb_status kb_encoding_create(kb_context *ctx, size_t inputs, kb_encoding **out) {
    kb_status status = kb_zalloc(ctx, 1, sizeof **out, out);
    if (status != KB_OK)
        return status;
    (*out)->allocator = kb_allocator_of(ctx);
    (*out)->inputs = inputs;
    return KB_OK;
}

kb_status kb_encoding_copy(kb_context *ctx, const kb_encoding *from, kb_encoding **out) {
    kb_status status;
    TRY(kb_encoding_create(ctx, from->inputs, out));
    TRY(kb_alloc(ctx, from->features, sizeof *from->step, &(*out)->step));
    TRY(kb_alloc(ctx, from->codes, sizeof *from->code, &(*out)->code));
    memcpy((*out)->step, from->step, from->features * sizeof *from->step);
    if (from->codes)
        memcpy((*out)->code, from->code, from->codes * sizeof *from->code);
    (*out)->features = from->features;
    (*out)->codes = from->codes;
    (*out)->plain = from->plain;
done:
    if (status != KB_OK) {
        kb_encoding_free(*out);
        *out = NULL;
    }
    return status;
}

void kb_encoding_free(kb_encoding *e) {
    if (!e)
        return;
    kb_allocator_release(e->allocator, e->step);
    kb_allocator_release(e->allocator, e->code);
    kb_allocator_release(e->allocator, e);
}

kb_status kb_encoding_add(kb_context *ctx, kb_encoding *e, kb_encode_step step) {
    kb_status status;
    TRY(kb_realloc(ctx, e->features + 1, sizeof *e->step, &e->step));
    step.first = e->codes;
    if (step.kind == KB_ENCODE_CODE) {
        TRY(kb_realloc(ctx, e->codes + step.count, sizeof *e->code, &e->code));
        e->codes += step.count;
    }
    e->step[e->features++] = step;
done:
    return status;
}

void kb_encoding_drop_levels(kb_encoding *e) {
    size_t kept = 0;
    for (size_t k = 0; k < e->features; k++)
        if (e->step[k].kind != KB_ENCODE_LEVEL)
            e->step[kept++] = e->step[k];
    e->features = kept;
    kb_encoding_finish(e);
}

void kb_encoding_finish(kb_encoding *e) {
    e->plain = e->features == e->inputs;
    for (size_t k = 0; k < e->features; k++)
        e->plain &= e->step[k].kind == KB_ENCODE_FILL && e->step[k].source == k;
}

static int step_is_sound(const kb_encoding *e, const kb_encode_step *s) {
    if ((unsigned)s->kind >= KB_ENCODE_KINDS || s->source >= e->inputs || !isfinite(s->fill) ||
        (unsigned)s->part >= KB_DATE_PARTS)
        return 0;
    if (s->kind == KB_ENCODE_DATE && !(fabs(s->fill) <= KB_DATE_MOST))
        return 0;
    if (s->kind == KB_ENCODE_LEVEL)
        return s->count < UINT32_MAX;
    if (s->kind != KB_ENCODE_CODE)
        return s->count == 0;
    return s->count >= 2 && s->first <= e->codes && s->count <= e->codes - s->first;
}

int kb_encoding_is_sound(const kb_encoding *e) {
    size_t seen = 0; /* columns that have a step */
    for (size_t k = 0; k < e->features; k++) {
        size_t source = e->step[k].source;
        if (!step_is_sound(e, &e->step[k]) || (source != seen && source + 1 != seen))
            return 0;
        seen = source + 1;
    }
    for (size_t k = 0; k < e->codes; k++)
        if (!isfinite(e->code[k]))
            return 0;
    return e->features > 0 && seen == e->inputs;
}

static int step_suits(const kb_encode_step *s, const kb_column *c) {
    int levels = c->type == KB_COLUMN_BOOLEAN || c->type == KB_COLUMN_CATEGORY;
    switch (s->kind) {
    case KB_ENCODE_FILL:
        return c->type == KB_COLUMN_NUMBER;
    case KB_ENCODE_MISSING:
        return !levels;
    case KB_ENCODE_DATE:
        return c->type == KB_COLUMN_DATE;
    case KB_ENCODE_CODE:
        return levels && s->count == c->levels + 2;
    case KB_ENCODE_LEVEL:
        return levels && s->count == c->levels;
    case KB_ENCODE_KINDS:
        break;
    }
    return 0;
}

int kb_encoding_suits(const kb_encoding *e, const kb_table *table) {
    static const kb_column number = {.type = KB_COLUMN_NUMBER};
    if (table && e && table->columns != e->inputs)
        return 0;
    for (size_t j = 0; !e && table && j < table->columns; j++)
        if (table->column[j].type != KB_COLUMN_NUMBER)
            return 0;
    for (size_t k = 0; e && k < e->features; k++)
        if (!step_suits(&e->step[k], table ? &table->column[e->step[k].source] : &number))
            return 0;
    return 1;
}

/* Which of `levels` numbers, then missing, then unknown. */
static size_t level_of(double cell, size_t levels) {
    if (isnan(cell))
        return levels;
    return cell >= 0 && cell < (double)levels ? (size_t)cell : levels + 1;
}

double kb_encode_value(const kb_encoding *e, const kb_encode_step *s, double cell) {
    switch (s->kind) {
    case KB_ENCODE_FILL:
        return isnan(cell) ? s->fill : cell;
    case KB_ENCODE_MISSING:
        return isnan(cell);
    case KB_ENCODE_DATE: /* what is far from any date counts as missing */
        return kb_date_part_of(fabs(cell) <= KB_DATE_MOST ? cell : s->fill, s->part);
    case KB_ENCODE_CODE:
        return e->code[s->first + level_of(cell, s->count - 2)];
    case KB_ENCODE_LEVEL:
        return (double)level_of(cell, s->count);
    case KB_ENCODE_KINDS:
        break;
    }
    return 0;
}

static void encode_row(const kb_encoding *e, kb_row row, double *out) {
    for (size_t k = 0; k < e->features; k++)
        out[k] = kb_encode_value(e, &e->step[k], row.column ? 0 : row.value[e->step[k].source]);
    for (size_t at = 0, k = 0; row.column && at < row.count; at++) {
        while (k < e->features && e->step[k].source < row.column[at])
            k++;
        for (; k < e->features && e->step[k].source == row.column[at]; k++)
            out[k] = kb_encode_value(e, &e->step[k], row.value[at]);
    }
}

static void fill_zeros(kb_row row, size_t features, double *out) {
    memset(out, 0, features * sizeof *out);
    for (size_t k = 0; k < row.count; k++)
        if (!isnan(row.value[k]))
            out[row.column ? row.column[k] : k] = row.value[k];
}

void kb_encoding_rows(const kb_encoding *e, const kb_data *data, size_t begin, size_t rows,
                      double *out) {
    for (size_t i = 0; i < rows; i++)
        if (e)
            encode_row(e, kb_data_row(data, begin + i), out + i * e->features);
        else
            fill_zeros(kb_data_row(data, begin + i), data->features, out + i * data->features);
}
