/*
 * deal_words.c - words of classes and levels that differ between ranks; see deal_words.h.
 *
 * Every rank reads its own rows, so each has met other words.  All are gathered, a word once from
 * each rank that has it, and numbered on every rank in the same way.
 */
#include "deal/deal_words.h"
#include "core/number.h"
#include "core/strings.h"
#include "table/cell.h"
#include "table/text_ids.h"

#include <stdlib.h>
#include <string.h>

/* The texts of all ranks, in their order, each ended by a zero byte. */
static kb_status gather_texts(kb_context *ctx, size_t count, char *const *text, char **all,
                              size_t *length) {
    kb_status status = KB_OK;
    size_t bytes = 0, at = 0, *end = NULL;
    char *mine = NULL;
    void *of_all = NULL;
    for (size_t k = 0; k < count; k++)
        bytes += strlen(text[k]) + 1;
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, bytes, 1, &mine)));
    for (size_t k = 0; k < count; k++) {
        size_t size = strlen(text[k]) + 1;
        memcpy(mine + at, text[k], size);
        at += size;
    }
    TRY(kb_ranks_gather(ctx, mine, bytes, &of_all, &end));
    *length = end[kb_rank_count(ctx) - 1];
done:
    kb_release(ctx, mine);
    kb_release(ctx, end);
    *all = of_all;
    return status;
}

/* The different ones of such texts, in the order in which they come first. */
static kb_status number_texts(kb_context *ctx, const char *all, size_t length, kb_text_ids *ids) {
    kb_status status = KB_OK;
    uint32_t number;
    for (size_t at = 0; at < length; at += strlen(all + at) + 1)
        TRY(kb_text_ids_number(ctx, ids, all + at, strlen(all + at), &number));
done:
    return status;
}

static kb_status list_texts(kb_context *ctx, const kb_text_ids *ids, char ***out) {
    kb_status status;
    TRY(kb_zalloc(ctx, ids->count, sizeof **out, out));
    for (size_t k = 0; k < ids->count; k++)
        TRY(kb_format(ctx, &(*out)[k], "%.*s", (int)(ids->start[k + 1] - ids->start[k]),
                      ids->text + ids->start[k]));
done:
    return status;
}

/* ---- levels ------------------------------------------------------------ */

static kb_status join_levels(kb_context *ctx, kb_data *data, size_t j) {
    kb_status status;
    kb_column *column = &data->table->column[j];
    kb_text_ids ids = {0};
    char *all = NULL, **names = NULL;
    double *number = NULL;
    size_t length, d = data->features;
    TRY(gather_texts(ctx, column->level ? column->levels : 0, column->level, &all, &length));
    TRY(number_texts(ctx, all, length, &ids));
    TRY(list_texts(ctx, &ids, &names));
    TRY(kb_alloc(ctx, column->levels, sizeof *number, &number));
    for (size_t k = 0; column->level && k < column->levels; k++)
        number[k] = kb_text_ids_find(&ids, column->level[k], strlen(column->level[k]));
    for (size_t i = 0; i < data->rows; i++) {
        double *cell = &data->dense[i * d + j];
        if (*cell >= 0)
            *cell = number[(size_t)*cell];
    }
    kb_strings_free(data->table->allocator, column->levels, column->level);
    column->level = names;
    column->levels = ids.count;
done:
    kb_release(ctx, all);
    kb_release(ctx, number);
    kb_text_ids_clear(ctx, &ids);
    return status;
}

/* What a rank knows of a column. */
typedef struct meaning {
    int32_t type, levels;
} meaning;

/* The columns of all ranks must be of one type.  A rank without rows takes those of the others. */
static kb_status join_tables(kb_context *ctx, kb_data *data) {
    kb_status status;
    size_t d = data->features, ranks = (size_t)kb_rank_count(ctx);
    int64_t tables = data->table != NULL;
    meaning *mine = NULL, *of = NULL;
    void *all = NULL;
    TRY(kb_ranks_sum(ctx, &tables, 1));
    if (tables == 0)
        return KB_OK;
    status = kb_alloc(ctx, d, sizeof *mine, &mine);
    if (status == KB_OK && !data->table)
        status = kb_table_create(ctx, d, &data->table);
    if (status == KB_OK && data->table->columns != d)
        status = kb_fail(ctx, KB_ERR_DATA, "rank %d: a table of %zu columns for %zu", kb_rank(ctx),
                         data->table->columns, d);
    if (status == KB_OK && data->borrowed_values && data->table)
        status = kb_data_own_values(ctx, data);
    TRY(kb_ranks_agree(ctx, status));
    for (size_t j = 0; j < d; j++)
        mine[j] = (meaning){data->rows ? (int32_t)data->table->column[j].type : -1,
                            (int32_t)(data->table->column[j].level != NULL)};
    TRY(kb_ranks_gather(ctx, mine, d * sizeof *mine, &all, NULL));
    of = all;
    for (size_t j = 0; j < d; j++) {
        meaning m = {-1, 0};
        for (size_t k = 0; k < ranks; k++) {
            int32_t type = of[k * d + j].type;
            if (type >= 0 && m.type >= 0 && type != m.type)
                TRY(kb_fail(ctx, KB_ERR_DATA,
                            "column %zu: rank %zu takes it for %s, those before it for %s; give "
                            "its type",
                            j + 1, k, kb_column_type_name((kb_column_type)type),
                            kb_column_type_name((kb_column_type)m.type)));
            m.type = m.type < 0 ? type : m.type;
            m.levels |= of[k * d + j].levels;
        }
        data->table->column[j].type = m.type < 0 ? KB_COLUMN_NUMBER : (kb_column_type)m.type;
        if (m.levels)
            TRY(kb_ranks_agree(ctx, join_levels(ctx, data, j)));
    }
done:
    kb_release(ctx, mine);
    kb_release(ctx, all);
    return status;
}

/* ---- classes ----------------------------------------------------------- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Where some ranks met words and others only numbers, a number is the word of its decimal. */
static kb_status name_numbers(kb_context *ctx, kb_data *data) {
    kb_status status = KB_OK;
    kb_text_ids ids = {0};
    char decimal[KB_NUMBER_TEXT];
    for (size_t i = 0; data->label && i < data->rows; i++) {
        uint32_t number;
        if (isnan(data->label[i]))
            continue;
        TRY(kb_text_ids_number(ctx, &ids, decimal, kb_number_format(data->label[i], decimal),
                               &number));
        data->label[i] = number;
    }
    TRY(list_texts(ctx, &ids, &data->class_name));
    data->class_count = ids.count;
done:
    kb_text_ids_clear(ctx, &ids);
    return status;
}

static kb_status join_classes(kb_context *ctx, kb_data *data) {
    kb_status status;
    int64_t words = data->class_name != NULL;
    kb_text_ids ids = {0};
    char *all = NULL, **names = NULL;
    double *place = NULL;
    size_t length;
    TRY(kb_ranks_sum(ctx, &words, 1));
    if (words == 0)
        return KB_OK;
    TRY(kb_ranks_agree(ctx, data->class_name ? KB_OK : name_numbers(ctx, data)));
    TRY(gather_texts(ctx, data->class_count, data->class_name, &all, &length));
    TRY(number_texts(ctx, all, length, &ids));
    TRY(list_texts(ctx, &ids, &names));
    qsort(names, ids.count, sizeof *names, by_text);
    TRY(kb_alloc(ctx, data->class_count, sizeof *place, &place));
    for (size_t k = 0; k < data->class_count; k++) {
        char **at = bsearch(&data->class_name[k], names, ids.count, sizeof *names, by_text);
        place[k] = (double)(at - names);
    }
    for (size_t i = 0; data->label && i < data->rows; i++)
        if (!isnan(data->label[i]))
            data->label[i] = place[(size_t)data->label[i]];
    kb_strings_free(data->allocator, data->class_count, data->class_name);
    data->class_name = names;
    data->class_count = ids.count;
done:
    kb_release(ctx, all);
    kb_release(ctx, place);
    kb_text_ids_clear(ctx, &ids);
    return status;
}

/* ---- names ------------------------------------------------------------- */

/* Names of columns, or of the label, from rank `first` where this one has none. */
static kb_status take_names(kb_context *ctx, int first, size_t count, char ***names) {
    kb_status status;
    char *all = NULL, **list = NULL;
    size_t length, at = 0, own = *names && kb_rank(ctx) == first ? count : 0;
    TRY(gather_texts(ctx, own, *names, &all, &length));
    if (*names || length == 0)
        goto done;
    TRY(kb_zalloc(ctx, count, sizeof *list, &list));
    for (size_t k = 0; k < count && at < length; k++) {
        TRY(kb_strdup(ctx, all + at, &list[k]));
        at += strlen(all + at) + 1;
    }
    *names = list;
    list = NULL;
done:
    kb_strings_free(kb_allocator_of(ctx), count, list);
    kb_release(ctx, all);
    return status;
}

static kb_status join_names(kb_context *ctx, int first, kb_data *data) {
    kb_status status;
    int64_t column = kb_rank(ctx) == first ? (int64_t)data->label_column : 0;
    char *label = data->label_name, **labels = label ? &label : NULL;
    TRY(kb_ranks_agree(ctx, take_names(ctx, first, data->features, &data->feature_name)));
    TRY(kb_ranks_agree(ctx, take_names(ctx, first, 1, &labels)));
    if (!label && labels) {
        data->label_name = labels[0];
        kb_release(ctx, labels);
    }
    TRY(kb_ranks_sum(ctx, &column, 1));
    data->label_column = (size_t)column;
done:
    return status;
}

kb_status kb_deal_words(kb_context *ctx, int first, kb_data *data) {
    kb_status status;
    TRY(join_tables(ctx, data));
    TRY(kb_ranks_agree(ctx, join_classes(ctx, data)));
    TRY(join_names(ctx, first, data));
done:
    return status;
}
