/*
 * record.h - where results come from: the command line and the machine.
 */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "args.h"

#include <jansson.h>

/* The command line, quoted for a shell; freed by the caller. */
char *typed_command(const cli_args *args);
/* {"typed": .., "began": "2026-01-31T12:00:00Z", "machine": {"cpu": .., "cores": .., ..}}.
 * NULL: out of memory. */
json_t *record_run(const cli_args *args);
/* The runs of an earlier file and this one, unless it is the same as the last. */
json_t *record_runs(const cli_args *args, const json_t *old);

#endif
