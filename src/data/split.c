/*
 * split.c - rows divided into two sets, say training rows and validation rows.
 *
 * Row i goes to the second set when the uniform number of (seed, i) is below the share: so rows
 * added at the end do not change where earlier rows go, and nothing is shuffled or stored.
 */
#include "data/data.h"
#include "core/random.h"

/* in_second[i]: whether row i goes to the second set; returns how many do.  Where all fell to
 * one side, the row whose draw is closest to the border goes to the other. */
static size_t deal(size_t rows, double share, uint64_t seed, unsigned char *in_second) {
    size_t count = 0, lowest = 0, highest = 0;
    double low = 1, high = 0;
    for (size_t i = 0; i < rows; i++) {
        double u = kb_random_uniform(seed, KB_STREAM_VALID, i, 0).u;
        count += in_second[i] = u < share;
        if (u < low) {
            low = u;
            lowest = i;
        }
        if (u > high) {
            high = u;
            highest = i;
        }
    }
    if (count == 0)
        count = in_second[lowest] = 1;
    if (count == rows) {
        in_second[highest] = 0;
        count--;
    }
    return count;
}

/* The numbers of the rows with side[i] == which, in their order. */
static void list_rows(size_t rows, const unsigned char *side, unsigned char which, uint32_t *list) {
    for (size_t i = 0, k = 0; i < rows; i++)
        if (side[i] == which)
            list[k++] = (uint32_t)i;
}

kb_status kb_data_split(kb_context *ctx, const kb_data *data, double share, uint64_t seed,
                        kb_data **first, kb_data **second) {
    kb_status status;
    unsigned char *side = NULL;
    uint32_t *list = NULL;
    *first = *second = NULL;
    if (!(share > 0 && share < 1))
        TRY(kb_fail(ctx, KB_ERR_ARGUMENT, "a share of %g: must be above 0 and below 1", share));
    if (data->rows < 2)
        TRY(kb_fail(ctx, KB_ERR_DATA, "%zu row%s cannot be split in two", data->rows,
                    data->rows == 1 ? "" : "s"));
    TRY(kb_alloc(ctx, data->rows, sizeof *side, &side));
    size_t count = deal(data->rows, share, seed, side);
    TRY(kb_alloc(ctx, data->rows, sizeof *list, &list));
    list_rows(data->rows, side, 0, list);
    TRY(kb_data_take(ctx, data, data->rows - count, list, first));
    list_rows(data->rows, side, 1, list);
    TRY(kb_data_take(ctx, data, count, list, second));
done:
    kb_release(ctx, side);
    kb_release(ctx, list);
    if (status != KB_OK) {
        kb_data_free(*first);
        kb_data_free(*second);
        *first = *second = NULL;
    }
    return status;
}
