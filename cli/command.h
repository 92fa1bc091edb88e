/*
 * command.h - the commands of the program: arguments, help texts and functions.
 *
 * Parsing, help, man page and option reference all work from this table and the
 * options tables, so a command is described once.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "args.h"

struct cli_command {
    const char *name;
    const char *operands; /* "MODEL DATA" */
    int operands_min, operands_max;
    const char *groups; /* of the library's options that it takes: "data kernel" */
    const char
        *usual;   /* the options that most people need, which its help begins with: "label task" */
    unsigned own; /* of the program's own options: bits 1 << OWN_.. */
    const char *summary;              /* a few words for the list of commands */
    const char *details;              /* sentences for its own help */
    const char *example;              /* example command lines */
    int (*run)(const cli_args *args); /* the exit status */
    int by_ranks;                     /* several processes can share its work (ranks.h) */
};

/* Ends with a row without a name. */
extern const cli_command commands[];
/* NULL if there is no such command. */
const cli_command *command_find(const char *name);

int train_run(const cli_args *args);
int update_run(const cli_args *args);
int cv_run(const cli_args *args);
int predict_run(const cli_args *args);
int inspect_run(const cli_args *args);
int compact_run(const cli_args *args);
int explain_run(const cli_args *args);
int features_run(const cli_args *args);
int sweep_run(const cli_args *args);
int compare_run(const cli_args *args);
int report_run(const cli_args *args);
int generate_run(const cli_args *args);
int demo_run(const cli_args *args);
int help_run(const cli_args *args);

#endif
