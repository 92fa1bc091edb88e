/*
 * on_device.h - for tests of the device: a GPU, or the module that runs its kernels on the CPU
 * (emulated/).  CMake says which by KERBIN_CUDA_MODULE.
 */
#ifndef TESTS_CUDA_ON_DEVICE_H
#define TESTS_CUDA_ON_DEVICE_H

#include "support.h"

#include "device/device_bins.h"

/* The exit code of a test that could not run. */
enum { TEST_SKIPPED = 77 };

static inline kb_device *test_device(kb_context *ctx) {
    kb_device *device;
    assert_ok(ctx, kb_device_open(ctx, &device));
    return device;
}

static inline int test_is_emulated(kb_context *ctx) {
    kb_device *d = test_device(ctx);
    return strcmp(d->call->name(d->gpu), "emulated") == 0;
}

/* Whether there is a device; else says why not. */
static inline int test_has_device(void) {
    kb_context *ctx = test_context();
    kb_device *device;
    kb_status status = kb_device_open(ctx, &device);
    if (status == KB_OK)
        printf("device: %s\n", device->call->name(device->gpu));
    else
        printf("skipped: %s\n", kb_context_message(ctx));
    kb_context_free(ctx);
    return status == KB_OK;
}

#endif
