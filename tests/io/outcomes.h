/*
 * outcomes.h - what one process has read, or each of several ranks, and whether it is the same.
 */
#ifndef KB_TESTS_OUTCOMES_H
#define KB_TESTS_OUTCOMES_H

#include "ranked.h"

#include "io/reader.h"

enum { TEXT = 1 << 16 };

typedef struct told {
    char text[TEXT];
} told;

/* What one process has read, or a rank. */
typedef struct outcome {
    kb_status status;
    kb_data *data;
    char message[600];
    told log;
} outcome;

typedef struct reading {
    const char *path;
    kb_read_spec spec;
    outcome of[RANKED_MOST];
} reading;

static inline void note(void *user, kb_log_level level, const char *line) {
    told *t = user;
    size_t used = strlen(t->text);
    snprintf(t->text + used, TEXT - used, "%d %s\n", (int)level, line);
}

static inline void read_by(kb_context *ctx, void *arg) {
    reading *r = arg;
    outcome *o = &r->of[ctx->ranks.rank];
    o->log.text[0] = '\0';
    ctx->config.log = note;
    ctx->config.user = &o->log;
    o->status = kb_read(ctx, &r->spec, r->path, &o->data);
    snprintf(o->message, sizeof o->message, "%s",
             o->status == KB_OK ? "" : kb_context_message(ctx));
}

static inline void same_texts(size_t count, char *const *a, char *const *b) {
    assert_int_equal(a == NULL, b == NULL);
    for (size_t k = 0; a && k < count; k++)
        assert_string_equal(a[k], b[k]);
}

static inline void same_tables(const kb_table *a, const kb_table *b) {
    assert_int_equal(a == NULL, b == NULL);
    if (!a)
        return;
    assert_int_equal(a->columns, b->columns);
    for (size_t j = 0; j < a->columns; j++) {
        const kb_column *x = &a->column[j], *y = &b->column[j];
        assert_int_equal(x->type, y->type);
        assert_int_equal(x->style, y->style);
        assert_int_equal(x->missing, y->missing);
        assert_int_equal(x->levels, y->levels);
        same_texts(x->levels, x->level, y->level);
    }
    assert_int_equal(a->left_out, b->left_out);
    for (size_t k = 0; k < a->left_out; k++) {
        assert_string_equal(a->out[k].name, b->out[k].name);
        assert_int_equal(a->out[k].type, b->out[k].type);
        assert_int_equal(a->out[k].place, b->out[k].place);
    }
}

static inline void same_frames(const kb_data *a, const kb_data *b) {
    assert_int_equal(a->features, b->features);
    assert_int_equal(a->dense == NULL, b->dense == NULL);
    assert_int_equal(a->label == NULL, b->label == NULL);
    assert_int_equal(a->weight == NULL, b->weight == NULL);
    assert_int_equal(a->group == NULL, b->group == NULL);
    assert_int_equal(a->class_count, b->class_count);
    same_texts(a->class_count, a->class_name, b->class_name);
    same_texts(a->features, a->feature_name, b->feature_name);
    assert_int_equal(a->label_name == NULL, b->label_name == NULL);
    if (a->label_name)
        assert_string_equal(a->label_name, b->label_name);
    assert_int_equal(a->label_column, b->label_column);
    assert_int_equal(a->missing != 0, b->missing != 0);
    same_tables(a->table, b->table);
}

static inline void same_items(const void *all, const void *part, size_t before, size_t count,
                              size_t size) {
    if (all && count > 0)
        assert_memory_equal((const char *)all + before * size, part, count * size);
}

/* The rows of a rank are those of the whole from `before` on. */
static inline void same_rows(const kb_data *all, const kb_data *part, size_t before) {
    size_t N = part->rows, d = all->features;
    assert_true(before + N <= all->rows);
    same_items(all->label, part->label, before, N, sizeof *all->label);
    same_items(all->weight, part->weight, before, N, sizeof *all->weight);
    same_items(all->group, part->group, before, N, sizeof *all->group);
    same_items(all->dense, part->dense, before * d, N * d, sizeof *all->dense);
    for (size_t i = 0; all->kept && i < N; i++)
        for (size_t k = 0; k < all->kept->columns; k++)
            assert_string_equal(kb_kept_cell(all->kept, before + i, k),
                                kb_kept_cell(part->kept, i, k));
    if (all->dense)
        return;
    size_t first = all->row_start[before];
    for (size_t i = 0; i <= N; i++)
        assert_int_equal(all->row_start[before + i] - first, part->row_start[i]);
    same_items(all->column, part->column, first, part->row_start[N], sizeof *all->column);
    same_items(all->value, part->value, first, part->row_start[N], sizeof *all->value);
}

static inline void compare(const outcome *one, const reading *r, int ranks, int first_has_all) {
    size_t before = 0;
    for (int k = 0; k < ranks; k++) {
        const outcome *o = &r->of[k];
        assert_string_equal(o->message, one->message);
        assert_int_equal(o->status, one->status);
        if (one->status != KB_OK)
            continue;
        same_frames(one->data, o->data);
        same_rows(one->data, o->data, before);
        before += o->data->rows;
        if (first_has_all)
            assert_int_equal(o->data->rows, k == 0 ? one->data->rows : 0);
    }
    if (one->status == KB_OK) {
        assert_int_equal(before, one->data->rows);
        assert_string_equal(r->of[0].log.text, one->log.text);
    }
}

#endif
