/* stop_rows.c - see stop_rows.h. */
#include "data/stop_rows.h"
#include "core/random.h"

#include <math.h>

/* The share of rows, and how many are enough. */
static const double SHARE = 0.1, ENOUGH = 20000;

kb_status kb_stop_rows(kb_context *ctx, const kb_config *config, const kb_data *data, size_t *count,
                       uint32_t **rows) {
    kb_status status;
    size_t N = data->rows;
    double share = fmin(SHARE, ENOUGH / (double)N);
    *count = 0;
    TRY(kb_alloc(ctx, N, sizeof **rows, rows));
    for (size_t i = 0; i < N; i++) {
        uint64_t unit = data->group ? data->group[i] : i;
        double u = config->split == KB_SPLIT_TIME
                       ? (double)(N - 1 - i) / (double)N
                       : kb_random_uniform(config->seed, KB_STREAM_STOP_ROW, unit, 0).u;
        if (u < share)
            (*rows)[(*count)++] = (uint32_t)i;
    }
    if (*count == N) /* one group: nothing would be left to learn from */
        *count = 0;
done:
    return status;
}
