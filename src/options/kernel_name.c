/* kernel_name.c - see kernel_name.h. */
#include "options/kernel_name.h"
#include "core/number.h"

#include <string.h>

static const struct {
    const char *name; /* or, if it ends in a colon, a prefix */
    kb_kernel_id id;
    int isotropic;
} TABLE[] = {
    {"laplace", KB_KERNEL_LAPLACE, 0},
    {"triangle", KB_KERNEL_TRIANGLE, 0},
    {"power:", KB_KERNEL_POWER, 0},
    {"table:", KB_KERNEL_TABLE, 0},
    {"exponential", KB_KERNEL_EXPONENTIAL, 1},
    {"gauss", KB_KERNEL_GAUSS, 1},
};

int kb_kernel_name_parse(const char *text, kb_kernel_name *out) {
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
        size_t length = strlen(TABLE[i].name);
        int open = TABLE[i].name[length - 1] == ':';
        if (open ? strncmp(text, TABLE[i].name, length) : strcmp(text, TABLE[i].name))
            continue;
        const char *rest = text + length;
        *out = (kb_kernel_name){.id = TABLE[i].id, .isotropic = TABLE[i].isotropic, .text = text};
        if (out->id == KB_KERNEL_POWER)
            return kb_number_read(rest, &out->a) && out->a > 0;
        if (out->id == KB_KERNEL_TABLE)
            out->file = rest;
        return !open || *rest;
    }
    return 0;
}
