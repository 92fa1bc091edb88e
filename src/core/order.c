/* order.c - see order.h. */
#include "core/order.h"

int kb_compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int kb_compare_uint32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Hoare's selection. */
double kb_select_rank(double *x, size_t count, size_t k) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = x[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (x[i] < pivot)
                i++;
            while (x[j] > pivot)
                j--;
            if (i >= j)
                break;
            double swap = x[i];
            x[i++] = x[j];
            x[j--] = swap;
        }
        /* Now x[low..j] <= pivot <= x[j+1..high]. */
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return x[k];
}
