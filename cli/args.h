/*
 * args.h - the command line, parsed by the tables of options.
 *
 * GNU conventions: `--name value` or `--name=value`, bare flags, options before or after the
 * operands, `--` ends them, `-` is an operand.  If an option is given twice, the last one counts.
 * Options of the library are kept as text and checked by the library.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "kerbin.h"

typedef struct cli_command cli_command;

/* The program's own options, in addition to the library's. */
typedef enum own_id {
    OWN_MODEL,
    OWN_FILE,
    OWN_OUTPUT,
    OWN_TRUST,
    OWN_COVERAGE,
    OWN_FROM,
    OWN_VALID,
    OWN_COMPACT,
    OWN_SMALLER,
    OWN_DROP,
    OWN_CHECKPOINT,
    OWN_EVERY,
    OWN_VARY,
    OWN_VALUES,
    OWN_MAPS,
    OWN_RANKS,
    OWN_SIGMAS,
    OWN_SEEDS,
    OWN_BACKGROUND,
    OWN_SAMPLES,
    OWN_TOP,
    OWN_PLOT,
    OWN_FOLDER,
    OWN_THREADS,
    OWN_JSON,
    OWN_QUIET,
    OWN_MAN,
    OWN_MARKDOWN,
    OWN_COMPLETION,
    OWN_COUNT,
} own_id;

typedef struct own_option {
    char letter;         /* '\0': none */
    kb_option_info info; /* a name of one letter is written with one dash */
} own_option;

extern const own_option own_options[OWN_COUNT];

/* Every pointer is into argv or a table. */
typedef struct cli_args {
    const cli_command *command;
    const char *program; /* as it was called, where the user did */
    char *const *words;  /* all arguments after the command's name, and a NULL */
    int operands, settings;
    const char **operand;
    struct setting {
        const kb_option_info *option;
        const char *value;
    } * setting; /* of the library, in their order */
    const char *own[OWN_COUNT];
    int help; /* --help was among them */
} cli_args;

/* Parses the arguments after the command's name.  On failure prints one line and returns the exit
 * status, else 0.  Call args_free in both cases. */
int args_parse(cli_args *args, const cli_command *command, int argc, char **argv);
void args_free(cli_args *args);

int args_flag(const cli_args *args, own_id id);
int args_was_given(const cli_args *args, own_id id);
int args_threads(const cli_args *args);
/* The first option of that group that the user gave, or NULL. */
const char *args_given(const cli_args *args, const char *group);
/* Whether a command takes the options of this group, and whether its help begins with an option. */
int command_takes(const cli_command *command, const char *group);
int command_is_usual(const cli_command *command, const char *option);

/* The word of the list nearest to a mistyped one; NULL if none is near. */
typedef const char *(*word_at)(const void *list, int i); /* NULL after the last */
const char *nearest_word(const char *typed, word_at at, const void *list);

#endif
