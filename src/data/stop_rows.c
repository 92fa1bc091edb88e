/* stop_rows.c - see stop_rows.h. */
#include "data/stop_rows.h"
#include "core/random.h"
#include "ranks/ranks.h"

#include <math.h>

/* The share of rows, and how many are enough. */
static const double SHARE = 0.1, ENOUGH = 20000;

kb_status kb_stop_rows(kb_context *ctx, const kb_config *config, const kb_data *data, size_t *count,
                       uint32_t **rows) {
    kb_status status;
    size_t N = kb_rows_of_all(data);
    double share = fmin(SHARE, ENOUGH / (double)N);
    *count = 0;
    TRY(kb_ranks_agree(ctx, kb_alloc(ctx, data->rows, sizeof **rows, rows)));
    for (size_t i = 0; i < data->rows; i++) {
        size_t number = data->first_row + i;
        uint64_t unit = data->group ? data->group[i] : number;
        double u = config->split == KB_SPLIT_TIME
                       ? (double)(N - 1 - number) / (double)N
                       : kb_random_uniform(config->seed, KB_STREAM_STOP_ROW, unit, 0).u;
        if (u < share)
            (*rows)[(*count)++] = (uint32_t)i;
    }
    int64_t all = (int64_t)*count;
    TRY(kb_ranks_sum(ctx, &all, 1));
    if ((size_t)all == N) /* one group: nothing would be left to learn from */
        *count = 0;
done:
    return status;
}
