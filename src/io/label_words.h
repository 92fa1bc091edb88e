/*
 * label_words.h - the set of words that a label column uses, numbered as they come and
 * renumbered in alphabetical order at the end.
 */
#ifndef KB_IO_LABEL_WORDS_H
#define KB_IO_LABEL_WORDS_H

#include "core/memory.h"

/* A column with more words than this does not hold class labels. */
#define KB_WORDS_MAX 65536

typedef struct kb_words {
    char **word;   /* in order of arrival */
    size_t *order; /* order[k]: the word at place k of the alphabet */
    size_t count, word_capacity, order_capacity;
} kb_words;

/* *number = when the word came first, counted from 0; KB_WORDS_MAX, and the word is
 * not taken, when there are too many.  O(log count), and O(count) for a new word. */
kb_status kb_words_number(kb_context *ctx, kb_words *words, const char *word, size_t *number);

/* The number of a word that has come already, else KB_WORDS_MAX.  Several threads may ask at
 * once while no word is added. */
size_t kb_words_find(const kb_words *words, const char *word);

/* Turns numbers of arrival into places of the alphabet, and moves the words in that
 * order to *out, which has words->count of them. */
kb_status kb_words_sort(kb_context *ctx, kb_words *words, double *number, size_t numbers,
                        char ***out);

void kb_words_clear(kb_context *ctx, kb_words *words);

#endif
