/* of_all.c - see of_all.h. */
#include "data/of_all.h"

#include <math.h>

/* Makes the rows sparse; all ranks tell together what was dropped. */
static kb_status make_sparse(kb_context *ctx, kb_data *data) {
    kb_status status;
    int64_t missing = 0;
    void (*log)(void *, kb_log_level, const char *) = ctx->config.log;
    for (size_t k = 0; !data->dense && data->missing && k < data->row_start[data->rows]; k++)
        missing += isnan(data->value[k]) != 0;
    ctx->config.log = NULL;
    status = kb_data_set_form(ctx, data, 0);
    ctx->config.log = log;
    TRY(status);
    TRY(kb_ranks_sum(ctx, &missing, 1));
    if (missing > 0)
        kb_data_tell_dropped(ctx, (size_t)missing);
done:
    return status;
}

kb_status kb_data_choose_form_of_all(kb_context *ctx, kb_data *data) {
    kb_status status;
    int64_t all[3] = {0};
    if (kb_rank_count(ctx) == 1)
        return kb_data_choose_form(ctx, data);
    all[0] = (int64_t)data->rows;
    all[1] = (int64_t)kb_data_entries(ctx, data);
    all[2] = kb_data_stays_dense(data);
    TRY(kb_ranks_sum(ctx, all, 3));
    double border = KB_DENSE_SHARE * (double)all[0] * (double)data->features;
    if (all[2] > 0 || (double)all[1] > border)
        TRY(kb_data_set_form(ctx, data, 1));
    else
        TRY(make_sparse(ctx, data));
done:
    return status;
}

kb_status kb_data_count_missing_of_all(kb_context *ctx, kb_data *data) {
    kb_status status;
    int64_t *missing = NULL;
    int any;
    TRY(kb_data_count_missing(ctx, data));
    if (kb_rank_count(ctx) == 1)
        return KB_OK;
    any = data->missing;
    TRY(kb_ranks_any(ctx, &any));
    TRY(kb_zalloc(ctx, data->features, sizeof *missing, &missing));
    if (any && !data->table)
        TRY(kb_table_create(ctx, data->features, &data->table));
    for (size_t j = 0; any && j < data->features; j++)
        missing[j] = (int64_t)data->table->column[j].missing;
    TRY(kb_ranks_sum(ctx, missing, any ? data->features : 0));
    for (size_t j = 0; any && j < data->features; j++)
        data->table->column[j].missing = (size_t)missing[j];
    data->missing = any;
done:
    kb_release(ctx, missing);
    return status;
}

kb_status kb_weights_check_of_all(kb_context *ctx, const char *name, size_t count,
                                  const double *weight) {
    kb_status status;
    double total = 0, *sums;
    int64_t rows = (int64_t)count;
    void *all = NULL;
    if (kb_rank_count(ctx) == 1)
        return kb_weights_check(ctx, name, count, weight);
    for (size_t i = 0; i < count; i++)
        total += weight[i];
    TRY(kb_ranks_sum(ctx, &rows, 1));
    TRY(kb_ranks_gather(ctx, &total, sizeof total, &all, NULL));
    sums = all;
    TRY(kb_weights_check(ctx, name, (size_t)kb_rank_count(ctx), sums));
    total = kb_sum((size_t)kb_rank_count(ctx), sums);
    if (total == 0)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%s: all %lld weights are 0", name, (long long)rows));
done:
    kb_release(ctx, all);
    return status;
}
