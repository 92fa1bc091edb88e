/*
 * kernel_name.h - the kernels by name: the only place that knows their spelling.
 */
#ifndef KB_OPTIONS_KERNEL_NAME_H
#define KB_OPTIONS_KERNEL_NAME_H

typedef enum kb_kernel_id {
    KB_KERNEL_LAPLACE,
    KB_KERNEL_TRIANGLE,
    KB_KERNEL_POWER, /* power:A */
    KB_KERNEL_TABLE, /* table:FILE */
    KB_KERNEL_EXPONENTIAL,
    KB_KERNEL_GAUSS,
} kb_kernel_id;

typedef struct kb_kernel_name {
    kb_kernel_id id;
    int isotropic;    /* a function of the Euclidean distance; the others are product kernels */
    const char *text; /* the whole name, as it was given */
    double a;         /* POWER */
    const char *file; /* TABLE: inside `text` */
} kb_kernel_name;

/* What a kernel name must be, for messages: of all kernels, and of the product kernels. */
#define KB_KERNEL_NAMES         "laplace, triangle, power:A with A > 0, table:FILE, exponential or gauss"
#define KB_PRODUCT_KERNEL_NAMES "laplace, triangle, power:A or table:FILE"

/* 0 if the text names no kernel.  Checks the form only; the file of a table is not opened. */
int kb_kernel_name_parse(const char *text, kb_kernel_name *out);

#endif
