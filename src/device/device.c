/* device.c - see device.h. */
#define _GNU_SOURCE
#include "device/device.h"
#include "options/say.h"
#include "ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <dlfcn.h>
#include <unistd.h>
#endif

#ifdef __APPLE__
#define MODULE "libkerbin_cuda.dylib"
#else
#define MODULE "libkerbin_cuda.so"
#endif
/* The folder of installed libraries, for a program that is not beside them. */
#ifndef KB_LIBRARY_FOLDER
#define KB_LIBRARY_FOLDER "/usr/local/lib"
#endif

static kb_said asked(const kb_context *ctx) {
    return kb_say_value(ctx, KB_OPT_DEVICE, "cuda");
}

/* The module stays when it is closed: what drives a GPU does not like to be unloaded. */
#ifndef RTLD_NODELETE
#define RTLD_NODELETE 0
#endif

#ifdef _WIN32
static void *load(void) {
    return NULL;
}
static void *find(void *module, const char *name) {
    (void)module, (void)name;
    return NULL;
}
static void unload(void *module) {
    (void)module;
}
#else
enum { FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

static void *load_from(const char *folder, size_t length) {
    char path[4096];
    int wrote = snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, MODULE);
    return wrote > 0 && (size_t)wrote < sizeof path ? dlopen(path, FLAGS) : NULL;
}

static void *load_beside(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? load_from(file, (size_t)(slash - file)) : NULL;
}

/* Beside the library; dladdr gives the word by which a static program was started, which is without
 * a folder if that was found through PATH. */
static void *load_beside_library(void) {
    Dl_info here;
    if (!dladdr((const void *)(uintptr_t)kb_device_open, &here) || !here.dli_fname)
        return NULL;
    return load_beside(here.dli_fname);
}

/* Beside the program, links followed, where the system tells it. */
static void *load_beside_program(void) {
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return NULL;
    program[length] = '\0';
    return load_beside(program);
}

static void *load(void) {
    const char *given = getenv("KERBIN_CUDA_MODULE");
    if (given)
        return dlopen(given, FLAGS);
    void *module = load_beside_library();
    if (!module)
        module = load_beside_program();
    if (!module)
        module = load_from(KB_LIBRARY_FOLDER, strlen(KB_LIBRARY_FOLDER));
    return module;
}

static void *find(void *module, const char *name) {
    return dlsym(module, name);
}

static void unload(void *module) {
    dlclose(module);
}
#endif

static void close_device(kb_context *ctx) {
    kb_device *d = ctx->device;
    ctx->device = NULL;
    ctx->free_device = NULL;
    if (d->gpu)
        d->call->close(d->gpu);
    if (d->module)
        unload(d->module);
    kb_release(ctx, d);
}

static kb_status open_device(kb_context *ctx, kb_device *d) {
    kb_device_table_function *table;
    char why[256] = "it has too little memory";
    d->module = load();
    if (!d->module)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: this kerbin is without its module for GPUs (" MODULE
                       "): build it where there is a CUDA compiler, or use %s",
                       asked(ctx).text, kb_say_value(ctx, KB_OPT_DEVICE, "cpu").text);
    void *symbol = find(d->module, KB_DEVICE_SYMBOL);
    memcpy(&table, &symbol, sizeof table);
    d->call = symbol ? table(KB_DEVICE_VERSION) : NULL;
    if (!d->call)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: " MODULE " is of another version of kerbin: install both together",
                       asked(ctx).text);
    if (d->call->open(&d->gpu, why, sizeof why) != KB_DEVICE_OK)
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: no GPU can be used: %s; use %s", asked(ctx).text,
                       why, kb_say_value(ctx, KB_OPT_DEVICE, "cpu").text);
    return KB_OK;
}

/* The context above all parts. */
static kb_context *top_of(kb_context *ctx) {
    while (ctx->above)
        ctx = ctx->above;
    return ctx;
}

kb_status kb_device_open(kb_context *ctx, kb_device **out) {
    kb_status status = KB_OK;
    kb_context *top = top_of(ctx);
    *out = NULL;
    if (!top->device) {
        TRY(kb_zalloc(top, 1, sizeof *top->device, &top->device));
        top->free_device = close_device;
        TRY(open_device(top, top->device));
        kb_log(top, KB_LOG_INFO, "device: %s, %s free", top->device->call->name(top->device->gpu),
               kb_size_in_words(top->device->call->memory_free(top->device->gpu)).text);
    }
    *out = top->device;
done:
    if (status != KB_OK && top->device)
        close_device(top);
    return status;
}

kb_device *kb_device_of(const kb_context *ctx, const kb_config *config) {
    if (kb_has_ranks(ctx))
        return NULL;
    while (ctx->above)
        ctx = ctx->above;
    return config->device == KB_DEVICE_CUDA ? ctx->device : NULL;
}

kb_device *kb_device_here(const kb_context *ctx) {
    return kb_has_ranks(ctx) || ctx->above ? NULL : ctx->device;
}

kb_status kb_context_set_device(kb_context *ctx, const char *word) {
    kb_device *device;
    int kind;
    if (!kb_choice_find(KB_OPT_DEVICE, word, &kind))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: must be cpu or cuda",
                       kb_say_value(ctx, KB_OPT_DEVICE, word).text);
    if (kind == KB_DEVICE_CUDA && kb_has_ranks(ctx)) {
        kb_log(ctx, KB_LOG_WARNING, "%s: rows of ranks are predicted on the CPU", asked(ctx).text);
        return KB_OK;
    }
    if (kind == KB_DEVICE_CUDA)
        return kb_device_open(ctx, &device);
    if (ctx->device)
        close_device(ctx);
    return KB_OK;
}

kb_status kb_device_check(kb_context *ctx, kb_device *d, kb_device_result result) {
    d->full = result == KB_DEVICE_MEMORY;
    if (result == KB_DEVICE_OK)
        return KB_OK;
    if (result == KB_DEVICE_MEMORY)
        return kb_fail(ctx, KB_ERR_MEMORY, "%s: the GPU has too little memory: use %s",
                       asked(ctx).text, kb_say_value(ctx, KB_OPT_DEVICE, "cpu").text);
    return kb_fail(ctx, KB_ERR_IO, "%s: the GPU failed: %s: use %s", asked(ctx).text,
                   d->call->fault(d->gpu), kb_say_value(ctx, KB_OPT_DEVICE, "cpu").text);
}

int kb_device_gives_up(kb_context *ctx, kb_device *d, kb_status *status) {
    if (*status != KB_ERR_MEMORY || !d->full)
        return 0;
    d->full = 0;
    *status = KB_OK;
    kb_device_tell(ctx, d, "the GPU has too little memory: the CPU goes on");
    return 1;
}

void kb_device_tell(kb_context *ctx, kb_device *d, const char *why) {
    if (!d->told)
        kb_log(ctx, KB_LOG_WARNING, "%s: %s", asked(ctx).text, why);
    d->told = 1;
}
