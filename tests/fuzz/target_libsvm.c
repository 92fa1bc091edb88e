/* target_libsvm.c - LIBSVM text. */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_read(KB_FORMAT_LIBSVM, data, size);
    return 0;
}
