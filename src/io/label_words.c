/*
 * label_words.c - see label_words.h.
 *
 * Few words, many rows: a binary search in a sorted index is fast enough, and the index is the
 * alphabetical order.
 */
#include "io/label_words.h"
#include "core/strings.h"

#include <string.h>

/* The place where the word is or belongs. */
static size_t find(const kb_words *words, const char *word, int *found) {
    size_t low = 0, high = words->count;
    *found = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int side = strcmp(words->word[words->order[middle]], word);
        if (side == 0) {
            *found = 1;
            return middle;
        }
        if (side < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

kb_status kb_words_number(kb_context *ctx, kb_words *words, const char *word, size_t *number) {
    kb_status status = KB_OK;
    int found;
    size_t place = find(words, word, &found);
    if (found) {
        *number = words->order[place];
        return KB_OK;
    }
    *number = KB_WORDS_MAX;
    if (words->count == KB_WORDS_MAX)
        return KB_OK;
    TRY(kb_reserve(ctx, words->count + 1, sizeof *words->word, &words->word_capacity,
                   &words->word));
    TRY(kb_reserve(ctx, words->count + 1, sizeof *words->order, &words->order_capacity,
                   &words->order));
    TRY(kb_strdup(ctx, word, &words->word[words->count]));
    memmove(words->order + place + 1, words->order + place,
            (words->count - place) * sizeof *words->order);
    words->order[place] = words->count;
    *number = words->count++;
done:
    return status;
}

size_t kb_words_find(const kb_words *words, const char *word) {
    int found;
    size_t place = find(words, word, &found);
    return found ? words->order[place] : KB_WORDS_MAX;
}

kb_status kb_words_sort(kb_context *ctx, kb_words *words, double *number, size_t numbers,
                        char ***out) {
    kb_status status;
    size_t *place = NULL;
    char **sorted = NULL;
    *out = NULL;
    TRY(kb_alloc(ctx, words->count, sizeof *place, &place));
    TRY(kb_alloc(ctx, words->count, sizeof *sorted, &sorted));
    for (size_t k = 0; k < words->count; k++) {
        place[words->order[k]] = k;
        sorted[k] = words->word[words->order[k]];
        words->word[words->order[k]] = NULL;
    }
    for (size_t i = 0; i < numbers; i++)
        number[i] = (double)place[(size_t)number[i]];
    *out = sorted;
done:
    kb_release(ctx, place);
    return status;
}

void kb_words_clear(kb_context *ctx, kb_words *words) {
    kb_strings_free(kb_allocator_of(ctx), words->count, words->word);
    kb_release(ctx, words->order);
    *words = (kb_words){0};
}
