/*
 * frame.h - what the data of all ranks have in common.
 */
#ifndef KB_IO_FRAME_H
#define KB_IO_FRAME_H

#include "data/data.h"
#include "ranks/ranks.h"

/* Rank 0 has read a file alone, and the others have *data NULL: they get data without rows that
 * have the same columns, classes and form.  Columns that are kept have no texts there. */
kb_status kb_frame_share(kb_context *ctx, kb_data **data);

#endif
