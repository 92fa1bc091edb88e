/*
 * deal_words.h - words of classes and levels that ranks have met, and the names of columns.
 */
#ifndef KB_DEAL_DEAL_WORDS_H
#define KB_DEAL_DEAL_WORDS_H

#include "data/data.h"
#include "ranks/ranks.h"

/* The words of classes and levels of all ranks, the same on all: classes in alphabetical order,
 * levels in that of their first rows.  Labels and cells are renumbered.  Rank `first` tells the
 * names of the columns to those that have none. */
kb_status kb_deal_words(kb_context *ctx, int first, kb_data *data);

#endif
