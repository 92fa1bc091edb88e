/* target_npy.c - .npy and .npz files of NumPy, compressed or not. */
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_read(KB_FORMAT_NPY, data, size);
    return 0;
}
