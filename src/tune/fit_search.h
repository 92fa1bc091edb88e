/*
 * fit_search.h - sigma and lambda by whole fits, for what trials have no short cut for: the rival
 * maps, and lambda of the L1 penalty.
 */
#ifndef KB_TUNE_FIT_SEARCH_H
#define KB_TUNE_FIT_SEARCH_H

#include "tune/tuning.h"

kb_status kb_fit_search(kb_context *ctx, const kb_data *data, kb_tuning *tuning);

#endif
