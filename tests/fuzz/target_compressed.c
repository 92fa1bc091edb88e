/* target_compressed.c - any file, with its compression and its format told by its content. */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_read(KB_FORMAT_AUTO, data, size);
    return 0;
}
