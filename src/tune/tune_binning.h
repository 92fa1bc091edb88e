/*
 * tune_binning.h - random binning tuned by trials on samples of the rows.
 */
#ifndef KB_TUNE_TUNE_BINNING_H
#define KB_TUNE_TUNE_BINNING_H

#include "tune/tuning.h"

kb_status kb_tune_binning(kb_context *ctx, const kb_data *data, kb_tuning *tuning);

#endif
