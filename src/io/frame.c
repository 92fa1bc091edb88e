/* frame.c - see frame.h. */
#include "io/frame.h"
#include "core/strings.h"

#include <string.h>

/* ---- bytes ------------------------------------------------------------- */

/* What is written on rank 0 and read on the others: one list of calls does both. */
typedef struct stream {
    kb_context *ctx;
    char *bytes;
    size_t length, capacity, at;
    int writes;
} stream;

static kb_status pass(stream *s, void *item, size_t size) {
    kb_status status = KB_OK;
    if (s->writes) {
        TRY(kb_reserve(s->ctx, s->length + size, 1, &s->capacity, &s->bytes));
        memcpy(s->bytes + s->length, item, size);
        s->length += size;
    } else {
        memcpy(item, s->bytes + s->at, size);
        s->at += size;
    }
done:
    return status;
}

/* A text, or NULL. */
static kb_status pass_text(stream *s, char **text) {
    kb_status status;
    size_t size = s->writes && *text ? strlen(*text) + 1 : 0;
    TRY(pass(s, &size, sizeof size));
    if (size == 0)
        goto done;
    if (!s->writes)
        TRY(kb_alloc(s->ctx, size, 1, text));
    TRY(pass(s, *text, size));
done:
    return status;
}

/* `count` texts, or NULL. */
static kb_status pass_texts(stream *s, size_t count, char ***texts) {
    kb_status status;
    uint8_t there = s->writes && *texts != NULL;
    TRY(pass(s, &there, sizeof there));
    if (!there)
        goto done;
    if (!s->writes)
        TRY(kb_zalloc(s->ctx, count, sizeof **texts, texts));
    for (size_t k = 0; k < count; k++)
        TRY(pass_text(s, &(*texts)[k]));
done:
    return status;
}

/* ---- the frame --------------------------------------------------------- */

static kb_status pass_column(stream *s, kb_column *c) {
    kb_status status;
    TRY(pass(s, &c->type, sizeof c->type));
    TRY(pass(s, &c->style, sizeof c->style));
    TRY(pass(s, &c->missing, sizeof c->missing));
    TRY(pass(s, &c->levels, sizeof c->levels));
    TRY(pass_texts(s, c->levels, &c->level));
done:
    return status;
}

static kb_status pass_left_out(stream *s, kb_table *table, size_t k) {
    kb_status status;
    kb_left_out out = s->writes ? table->out[k] : (kb_left_out){0};
    TRY(pass_text(s, &out.name));
    TRY(pass(s, &out.type, sizeof out.type));
    TRY(pass(s, &out.place, sizeof out.place));
    if (!s->writes)
        TRY(kb_table_leave_out(s->ctx, table, out.name, out.type, out.place));
done:
    if (!s->writes)
        kb_release(s->ctx, out.name);
    return status;
}

static kb_status pass_table(stream *s, kb_table **table) {
    kb_status status;
    size_t columns = s->writes && *table ? (*table)->columns : 0;
    size_t left_out = s->writes && *table ? (*table)->left_out : 0;
    TRY(pass(s, &columns, sizeof columns));
    TRY(pass(s, &left_out, sizeof left_out));
    if (columns == 0)
        goto done;
    if (!s->writes)
        TRY(kb_table_create(s->ctx, columns, table));
    for (size_t j = 0; j < columns; j++)
        TRY(pass_column(s, &(*table)->column[j]));
    for (size_t k = 0; k < left_out; k++)
        TRY(pass_left_out(s, *table, k));
done:
    return status;
}

static kb_status pass_kept(stream *s, kb_kept **kept) {
    kb_status status;
    size_t columns = s->writes && *kept ? (*kept)->columns : 0;
    TRY(pass(s, &columns, sizeof columns));
    if (columns == 0)
        goto done;
    if (!s->writes)
        TRY(kb_kept_create(s->ctx, columns, kept));
    for (size_t k = 0; k < columns; k++)
        TRY(pass_text(s, &(*kept)->name[k]));
done:
    return status;
}

/* What rank 0 has for each row. */
typedef struct arrays {
    uint8_t dense, label, weight, group;
} arrays;

/* The same without a row. */
static kb_status make_empty(kb_context *ctx, const arrays *has, kb_data *data) {
    kb_status status = KB_OK;
    if (has->dense) {
        TRY(kb_alloc(ctx, 0, 1, &data->dense));
    } else {
        TRY(kb_zalloc(ctx, 1, sizeof *data->row_start, &data->row_start));
        TRY(kb_alloc(ctx, 0, 1, &data->column));
        TRY(kb_alloc(ctx, 0, 1, &data->value));
    }
    if (has->label)
        TRY(kb_alloc(ctx, 0, 1, &data->label));
    if (has->weight)
        TRY(kb_alloc(ctx, 0, 1, &data->weight));
    if (has->group)
        TRY(kb_alloc(ctx, 0, 1, &data->group));
done:
    return status;
}

static kb_status pass_frame(stream *s, kb_data *data) {
    kb_status status;
    arrays has = {data->dense != NULL, data->label != NULL, data->weight != NULL,
                  data->group != NULL};
    TRY(pass(s, &has, sizeof has));
    TRY(pass(s, &data->features, sizeof data->features));
    TRY(pass(s, &data->class_count, sizeof data->class_count));
    TRY(pass(s, &data->label_column, sizeof data->label_column));
    TRY(pass(s, &data->missing, sizeof data->missing));
    TRY(pass_texts(s, data->features, &data->feature_name));
    TRY(pass_texts(s, data->class_count, &data->class_name));
    TRY(pass_text(s, &data->label_name));
    TRY(pass_table(s, &data->table));
    TRY(pass_kept(s, &data->kept));
    if (!s->writes)
        TRY(make_empty(s->ctx, &has, data));
done:
    return status;
}

kb_status kb_frame_share(kb_context *ctx, kb_data **data) {
    kb_status status = KB_OK;
    stream s = {.ctx = ctx, .writes = kb_rank(ctx) == 0};
    void *all = NULL;
    if (s.writes)
        status = pass_frame(&s, *data);
    TRY(kb_ranks_agree(ctx, status));
    TRY(kb_ranks_gather(ctx, s.bytes, s.length, &all, NULL));
    kb_release(ctx, s.bytes);
    s.bytes = all;
    if (!s.writes) {
        status = kb_data_create(ctx, data);
        if (status == KB_OK)
            status = pass_frame(&s, *data);
    }
    TRY(kb_ranks_agree(ctx, status));
done:
    kb_release(ctx, s.bytes);
    return status;
}
