/* target_csv.c - CSV, with all types of columns. */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_read(KB_FORMAT_CSV, data, size);
    return 0;
}
