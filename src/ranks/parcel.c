/* parcel.c - see parcel.h. */
#include "ranks/parcel.h"
#include "core/memory.h"

#include <string.h>

kb_status kb_parcel_carry(kb_parcel *p, void *numbers, size_t bytes) {
    kb_status status = KB_OK;
    if (p->reads) {
        if (bytes > p->count - p->at)
            return kb_fail(p->ctx, KB_ERR_DATA, "what another rank sent is not whole");
        memcpy(numbers, p->bytes + p->at, bytes);
        p->at += bytes;
        return KB_OK;
    }
    TRY(kb_reserve(p->ctx, p->count + bytes, 1, &p->room, &p->bytes));
    memcpy(p->bytes + p->count, numbers, bytes);
    p->count += bytes;
done:
    return status;
}
