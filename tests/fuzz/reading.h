/*
 * reading.h - a file read in all ways that must give the same, for the fuzz targets of the readers.
 */
#ifndef KB_TESTS_FUZZ_READING_H
#define KB_TESTS_FUZZ_READING_H

#include "fuzz.h"

#include "options/choices.h"

/* The first line of the input has options (fuzz.h), and perhaps piece=BYTES, the text that is
 * parsed at a time; the file follows.  It is read to train with these pieces and with others, which
 * must not differ, and then to predict with a model of its own columns. */
void fuzz_read(kb_file_format format, const uint8_t *data, size_t size);

#endif
