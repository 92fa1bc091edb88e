/* completion.c - the tables as completions for bash, zsh and fish; see help.h. */
#include "help.h"

#include <stdio.h>
#include <string.h>

static const cli_command *current; /* the command whose options are printed */

/* Calls `visit` for every option of a command. */
static void each_option(const cli_command *command, option_visitor visit) {
    current = command;
    for (const struct help_group *group = help_groups; group->name; group++)
        help_visit_options(command, group->name, visit);
}

/* "a b c" of "a|b|c". */
static void print_choices(const char *choices) {
    for (; choices && *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

static int is_choice(const kb_option_info *option) {
    return option->type == KB_OPTION_CHOICE && option->choices && strchr(option->choices, '|');
}

static void print_commands(void) {
    for (const cli_command *c = commands; c->name; c++)
        printf("%s%s", c == commands ? "" : " ", c->name);
}

static void print_operands(const cli_command *command) {
    if (strcmp(command->operands, "NAME") == 0)
        print_choices(kb_synthetic_names());
    else if (strcmp(command->operands, "[COMMAND]") == 0)
        print_commands();
}

/* ---- bash -------------------------------------------------------------------- */

static void bash_word(const kb_option_info *option, char letter) {
    if (letter && option->name[1])
        printf(" -%c", letter);
    printf(" %s%s", option->name[1] ? "--" : "-", option->name);
}

static void bash_choice(const kb_option_info *option, char letter) {
    (void)letter;
    if (!is_choice(option))
        return;
    printf("    '%s --%s') words='", current->name, option->name);
    print_choices(option->choices);
    puts("' ;;");
}

static void print_bash(void) {
    fputs("_kerbin() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} words= IFS=$' \\n'\n"
          "    if [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    if [ \"$word\" = = ]; then word=; fi\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          stdout);
    print_commands();
    fputs(" --help --version' -- \"$word\"))\n        return\n    fi\n"
          "    case \"$command $before\" in\n",
          stdout);
    for (const cli_command *c = commands; c->name; c++)
        each_option(c, bash_choice);
    fputs("    esac\n"
          "    if [ -z \"$words\" ]; then\n"
          "        case \"$command $word\" in\n",
          stdout);
    for (const cli_command *c = commands; c->name; c++) {
        printf("        '%s -'*) words='--help", c->name);
        each_option(c, bash_word);
        puts("' ;;");
        if (strcmp(c->operands, "NAME") == 0 || strcmp(c->operands, "[COMMAND]") == 0) {
            printf("        '%s '*) words='", c->name);
            print_operands(c);
            puts("' ;;");
        }
    }
    fputs("        esac\n    fi\n"
          "    if [ -n \"$words\" ]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    else\n"
          "        IFS=$'\\n'\n"
          "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
          "    fi\n"
          "}\n"
          "complete -o filenames -F _kerbin kerbin\n",
          stdout);
}

/* ---- zsh --------------------------------------------------------------------- */

/* The first sentence, within quotes; what _arguments and _describe take for syntax is escaped. */
static void zsh_text(const char *text) {
    for (; *text && !(text[0] == '.' && (text[1] == ' ' || text[1] == '\0')); text++) {
        if (*text == '\'')
            fputs("'\\'", stdout);
        else if (strchr("[]:\\", *text))
            putchar('\\');
        putchar(*text);
    }
}

static void zsh_spec(const kb_option_info *option, const char *dashes, const char *name) {
    int flag = option->type == KB_OPTION_FLAG;
    printf(" \\\n            '%s%s%s[", dashes, name, !flag && name[1] ? "=" : "");
    zsh_text(option->help);
    putchar(']');
    if (!flag && is_choice(option)) {
        fputs(":value:(", stdout);
        print_choices(option->choices);
        putchar(')');
    } else if (!flag) {
        fputs(option->type == KB_OPTION_TEXT ? ":value:_files" : ":value: ", stdout);
    }
    putchar('\'');
}

static void zsh_option(const kb_option_info *option, char letter) {
    char alone[2] = {letter, '\0'};
    if (letter)
        zsh_spec(option, "-", alone);
    if (option->name[1])
        zsh_spec(option, "--", option->name);
    else if (!letter)
        zsh_spec(option, "-", option->name);
}

static void print_zsh(void) {
    puts("#compdef kerbin\n"
         "_kerbin() {\n"
         "    if (( CURRENT == 2 )); then\n"
         "        local -a kerbin_commands=(");
    for (const cli_command *c = commands; c->name; c++) {
        printf("            '%s:", c->name);
        zsh_text(c->summary);
        puts("'");
    }
    puts("        )\n"
         "        _describe command kerbin_commands -- '(--help --version)'\n"
         "        return\n"
         "    fi\n"
         "    shift words\n"
         "    (( CURRENT-- ))\n"
         "    case $words[1] in");
    for (const cli_command *c = commands; c->name; c++) {
        int words = strcmp(c->operands, "NAME") == 0 || strcmp(c->operands, "[COMMAND]") == 0;
        printf("    %s)\n        _arguments -S '(- *)'{-h,--help}'[Show the help]'", c->name);
        each_option(c, zsh_option);
        fputs(words ? " \\\n            '*:word:(" : " \\\n            '*:file:_files", stdout);
        print_operands(c);
        puts(words ? ")' ;;" : "' ;;");
    }
    puts("    esac\n"
         "}\n"
         "# Read from fpath this is the function itself, otherwise only a definition.\n"
         "if [ \"${funcstack[1]}\" = _kerbin ]; then\n"
         "    _kerbin \"$@\"\n"
         "elif (( $+functions[compdef] )); then\n"
         "    compdef _kerbin kerbin\n"
         "fi");
}

/* ---- fish -------------------------------------------------------------------- */

/* The first sentence, quoted. */
static void fish_text(const char *text) {
    putchar('\'');
    for (; *text && !(text[0] == '.' && (text[1] == ' ' || text[1] == '\0')); text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish_option(const kb_option_info *option, char letter) {
    printf("complete -c kerbin -n '__kerbin_command_is %s'", current->name);
    if (letter)
        printf(" -s %c", letter);
    if (option->name[1])
        printf(" -l %s", option->name);
    if (option->type != KB_OPTION_FLAG)
        fputs(option->type == KB_OPTION_TEXT ? " -r" : " -x", stdout);
    if (is_choice(option)) {
        fputs(" -a '", stdout);
        print_choices(option->choices);
        putchar('\'');
    }
    fputs(" -d ", stdout);
    fish_text(option->help);
    putchar('\n');
}

static void print_fish(void) {
    puts("function __kerbin_command_is\n"
         "    set -l words (commandline -opc)\n"
         "    test (count $words) -gt 1; and test $words[2] = $argv[1]\n"
         "end\n"
         "complete -c kerbin -s h -l help -d 'Show the help'\n"
         "complete -c kerbin -n __fish_use_subcommand -l version -d 'Show the version'");
    for (const cli_command *c = commands; c->name; c++) {
        printf("complete -c kerbin -f -n __fish_use_subcommand -a %s -d ", c->name);
        fish_text(c->summary);
        putchar('\n');
    }
    for (const cli_command *c = commands; c->name; c++) {
        if (strcmp(c->operands, "NAME") == 0 || strcmp(c->operands, "[COMMAND]") == 0) {
            printf("complete -c kerbin -f -n '__kerbin_command_is %s' -a '", c->name);
            print_operands(c);
            puts("'");
        }
        each_option(c, fish_option);
    }
}

void help_completion(const char *shell) {
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else
        print_fish();
}
