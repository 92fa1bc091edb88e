/*
 * device_operator.h - the operator of Z whose numbers are on a device, in whole numbers.
 */
#ifndef KB_DEVICE_DEVICE_OPERATOR_H
#define KB_DEVICE_DEVICE_OPERATOR_H

#include "device/device_bins.h"
#include "features/operator.h"

/* Its products have the bits of kb_operator_joined without ranks.  Z'V and K V are made on the
 * device; Z W, and what the device has no memory for, by that operator on the CPU.  z must outlive
 * it.  On success *out belongs to the caller (kb_operator_free). */
kb_status kb_operator_device(kb_context *ctx, const kb_binmat *z, kb_operator **out);

#endif
