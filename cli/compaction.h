/*
 * compaction.h - making a model compact, and telling what it lost.
 */
#ifndef CLI_COMPACTION_H
#define CLI_COMPACTION_H

#include "session.h"

#include <jansson.h>
#include <stdio.h>

typedef struct compaction {
    size_t before, after; /* bytes of the model's file */
    kb_compaction bound;
    size_t rows, changed; /* of the data, and how many of them got another label */
    double moved, most;   /* by how much their decisions moved: root of the mean square, largest */
    int scored;           /* the data had labels */
    kb_score was, is;
} compaction;

/* drop: as of kb_model_compact.  data: rows to decide before and after, or NULL. */
kb_status compaction_apply(session *s, kb_model *model, double drop, const kb_data *data,
                           compaction *out);
void compaction_print(FILE *to, const kb_fit_info *info, const compaction *c);
json_t *compaction_json(const kb_fit_info *info, const compaction *c);

#endif
