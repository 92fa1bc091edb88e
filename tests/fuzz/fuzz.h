/*
 * fuzz.h - what the fuzz targets share.
 *
 * A target is a file target_NAME.c with the function LLVMFuzzerTestOneInput of libFuzzer, and
 * perhaps LLVMFuzzerCustomMutator.  It takes any bytes and must not crash, leak, or break what its
 * fuzz_check()s say.  With clang it is linked with libFuzzer (make fuzz), else with driver.c.
 *
 * The readers take paths, so the bytes are put into a file in memory.  A target that reads options
 * too takes them from the first line of its input, as name=value with blanks between; the file
 * follows.
 */
#ifndef KB_TESTS_FUZZ_H
#define KB_TESTS_FUZZ_H

#include "kerbin.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
/* Of libFuzzer and of driver.c: changes the bytes in some way, in a buffer of `most` bytes, and
 * returns how many there are then. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* Ends the program, which is then a finding. */
#define fuzz_check(what) ((what) ? (void)0 : fuzz_failed(#what, __FILE__, __LINE__))
_Noreturn void fuzz_failed(const char *what, const char *file, int line);

/* A context of one thread that gets FUZZ_MEMORY bytes and no more. */
enum { FUZZ_MEMORY = 64 << 20 };
kb_context *fuzz_context(void);
/* Nothing may be left of what was taken when the last context ends. */
void fuzz_context_end(kb_context *ctx);

/* The path of a file in memory with these bytes, until the next call; `slot` is 0 or 1. */
const char *fuzz_file(int slot, const void *bytes, size_t count);

/* A status must be one of the enum, and a failure must have a sentence of one line. */
kb_status fuzz_status(const kb_context *ctx, kb_status status);

/* The first line as a text, cut at 2,047 bytes, and what follows it. */
typedef struct fuzz_input {
    char line[2048];
    const uint8_t *rest;
    size_t count;
} fuzz_input;
fuzz_input fuzz_split(const uint8_t *data, size_t size);

/* Sets the options of the line that are in `allowed` ("name name .."; NULL: all).  Values that
 * would open a file are left out. */
void fuzz_set_options(kb_context *ctx, kb_options *options, const char *line, const char *allowed);
/* The number behind "name=" in the line, else `otherwise`. */
unsigned long fuzz_number(const char *line, const char *name, unsigned long otherwise);

/* A small generator for the mutators: the next number of the state. */
uint64_t fuzz_random(uint64_t *state);

#endif
