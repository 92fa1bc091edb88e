/*
 * fit_search.h - tunes sigma and lambda by whole fits: for the rival maps and the L1 penalty, which
 * have no faster trials.
 */
#ifndef KB_TUNE_FIT_SEARCH_H
#define KB_TUNE_FIT_SEARCH_H

#include "tune/tuning.h"

kb_status kb_fit_search(kb_context *ctx, const kb_data *data, kb_tuning *tuning);

#endif
