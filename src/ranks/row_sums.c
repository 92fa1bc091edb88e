/* row_sums.c - see row_sums.h. */
#include "ranks/row_sums.h"

kb_status kb_row_sums_by(kb_context *ctx, size_t N, size_t count,
                         void (*body)(void *arg, size_t begin, size_t end, double *sum), void *arg,
                         double *out) {
    kb_status status;
    size_t number, size = count * sizeof(double), *end = NULL;
    double *mine = NULL;
    void *all = NULL;
    if (kb_rank_count(ctx) == 1)
        return kb_sums_by(ctx, N, count, body, arg, out);
    TRY(kb_ranks_agree(ctx, kb_sums_of_parts(ctx, N, count, body, arg, &number, &mine)));
    TRY(kb_ranks_gather(ctx, mine, number * size, &all, &end));
    kb_sums_join(end[kb_rank_count(ctx) - 1] / size, count, all, out);
done:
    kb_release(ctx, mine);
    kb_release(ctx, all);
    kb_release(ctx, end);
    return status;
}

kb_status kb_row_sums(kb_context *ctx, size_t N, size_t C, const double *a, const double *b,
                      double *out) {
    kb_pair pair = {C, a, b};
    return kb_row_sums_by(ctx, N, C, kb_sum_pair, &pair, out);
}

kb_status kb_row_totals(kb_context *ctx, size_t N, size_t count,
                        void (*body)(void *arg, size_t begin, size_t end, double *sum), void *arg,
                        double *out) {
    if (kb_has_ranks(ctx))
        return kb_row_sums_by(ctx, N, count, body, arg, out);
    body(arg, 0, N, out);
    return KB_OK;
}
