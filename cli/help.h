/*
 * help.h - help, manual page and option reference, all made from the tables.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "command.h"

/* Prints the help of one command; the exit status. */
int help_command(const cli_command *command);
/* Tells on standard error that there is no such command ("": none was given). */
void help_unknown(const char *name);

/* Every option that a command takes, group after group, the program's own last. */
typedef void (*option_visitor)(const kb_option_info *option, char letter);
void help_visit_options(const cli_command *command, const char *group, option_visitor visit);
/* The groups in order, with their headings; NULL after the last. */
extern const struct help_group { const char *name, *heading; } help_groups[];
/* "auto, libsvm or csv", "1 to 1000000": what a value may be; "" for free text. */
const char *help_values(const kb_option_info *option, char *room, int size);

/* What the operand NAME may be, for the command that has one. */
void help_names(const cli_command *command);

/* The page of the program, or of one command. */
void help_man(void);
void help_man_command(const cli_command *command);
void help_markdown(void);
/* shell: bash, zsh or fish. */
void help_completion(const char *shell);

#endif
