/*
 * device.h - another device than the CPU: found, opened, and kept by the context.
 *
 * What runs there is in a module (table.h) that is loaded when a device is first asked for.  It is
 * looked for where KERBIN_CUDA_MODULE says, beside the file that this library is in, and in the
 * folder where libraries are installed.
 */
#ifndef KB_DEVICE_DEVICE_H
#define KB_DEVICE_DEVICE_H

#include "core/memory.h"
#include "device/table.h"
#include "options/config.h"

typedef struct kb_device {
    const kb_device_table *call;
    kb_gpu *gpu;
    void *module;
    int full; /* the last failure was for want of memory there */
    int told; /* what is done on the CPU: once is enough */
} kb_device;

/* The GPU of the context, opened if it is not yet.  KB_ERR_ARGUMENT with one line where there is
 * none, or no module.  It belongs to the context. */
kb_status kb_device_open(kb_context *ctx, kb_device **out);

/* The device that the config asks for, once it is open; NULL: the CPU, where all rows of ranks
 * stay. */
kb_device *kb_device_of(const kb_context *ctx, const kb_config *config);

/* The device that the context has opened, by kb_context_set_device or for a fit; NULL: none, or one
 * that this part of a context leaves to the others. */
kb_device *kb_device_here(const kb_context *ctx);

/* KB_OK, or what the device said last as a failure. */
kb_status kb_device_check(kb_context *ctx, kb_device *device, kb_device_result result);

/* Whether a call failed for want of memory there, and the CPU should take over: *status is KB_OK
 * then.  It is told. */
int kb_device_gives_up(kb_context *ctx, kb_device *device, kb_status *status);

/* Says, the first time, that something is done on the CPU, and why. */
void kb_device_tell(kb_context *ctx, kb_device *device, const char *why);

#endif
