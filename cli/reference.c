/* reference.c - the tables as a manual page (roff) and as Markdown; see help.h. */
#include "help.h"

#include <stdio.h>
#include <string.h>

/* ---- roff ------------------------------------------------------------------ */

/* Characters that roff would take for something else. */
static void roff(const char *text) {
    for (; *text; text++) {
        static const char special[] = "-'`^~\\";
        static const char *const spelling[] = {"\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti", "\\e"};
        const char *found = strchr(special, *text);
        if (found)
            fputs(spelling[found - special], stdout);
        else
            putchar(*text);
    }
}

static void man_option(const kb_option_info *option, char letter) {
    char values[256];
    fputs(".TP\n\\fB", stdout);
    if (letter && option->name[1])
        printf("\\-%c\\fR, \\fB", letter);
    fputs(option->name[1] ? "\\-\\-" : "\\-", stdout);
    roff(option->name);
    fputs("\\fR", stdout);
    if (option->metavar)
        printf(" \\fI%s\\fR", option->metavar);
    putchar('\n');
    roff(option->help);
    if (*help_values(option, values, sizeof values) && strcmp(values, option->default_value)) {
        fputs(option->type == KB_OPTION_CHOICE ? " One of " : " From ", stdout);
        roff(values);
        putchar('.');
    }
    if (option->default_value && option->type != KB_OPTION_FLAG) {
        fputs(" Default: ", stdout);
        roff(option->default_value);
        putchar('.');
    }
    putchar('\n');
}

static void man_command(const cli_command *command) {
    printf(".SS kerbin %s \\fR[options]\\fI %s\n", command->name, command->operands);
    roff(command->details);
    putchar('\n');
    help_names(command);
    fputs(".PP\nExample:\n.PP\n.nf\n.RS\n", stdout);
    roff(command->example);
    fputs("\n.RE\n.fi\n", stdout);
}

/* Calls `visit` for every option of a group that any command takes, each once. */
static void visit_group(const char *group, option_visitor visit) {
    static const cli_command all = {.groups = "data kernel solver synthetic random memory",
                                    .own = (1u << OWN_COUNT) - 1};
    help_visit_options(&all, group, visit);
}

void help_man(void) {
    printf(".TH KERBIN 1 \"\" \"kerbin %s\" \"User Commands\"\n", KB_VERSION);
    fputs(".SH NAME\nkerbin \\- kernel machines at the cost of linear ones, by random binning\n"
          ".SH SYNOPSIS\n",
          stdout);
    for (const cli_command *c = commands; c->name; c++)
        printf(".B kerbin %s\n[options] \\fI%s\\fR\n.br\n", c->name, c->operands);
    fputs(".SH DESCRIPTION\n"
          "kerbin draws random grids over the data, marks the bin that each sample falls into, "
          "and learns a linear model on those marks. That is a kernel machine whose cost grows "
          "with the number of samples only linearly.\n"
          ".PP\nStandard output carries results, standard error everything else. Options may "
          "stand before or after the operands; \\- is standard input or output.\n"
          ".SH COMMANDS\n",
          stdout);
    for (const cli_command *c = commands; c->name; c++)
        man_command(c);
    puts(".SH OPTIONS\nA command takes those that its help lists.");
    for (const struct help_group *group = help_groups; group->name; group++) {
        printf(".SS %s\n", group->heading);
        visit_group(group->name, man_option);
    }
    fputs(".SH EXIT STATUS\n0 done, 1 the work failed, 2 the command line was wrong. An output "
          "file is either whole or not there.\n",
          stdout);
}

/* ---- Markdown -------------------------------------------------------------- */

static void cell(const char *text) {
    for (; *text; text++) {
        if (strchr("|*\\", *text))
            putchar('\\');
        putchar(*text);
    }
}

static void markdown_option(const kb_option_info *option, char letter) {
    char values[256];
    fputs("| `", stdout);
    if (letter && option->name[1])
        printf("-%c`, `", letter);
    printf("%s%s", option->name[1] ? "--" : "-", option->name);
    if (option->metavar)
        printf(" %s", option->metavar);
    fputs("` | ", stdout);
    cell(help_values(option, values, sizeof values));
    fputs(" | ", stdout);
    if (option->default_value && option->type != KB_OPTION_FLAG)
        printf("`%s`", option->default_value);
    fputs(" | ", stdout);
    cell(option->help);
    puts(" |");
}

static void markdown_commands(void) {
    puts("| command | options |\n|---|---|");
    for (const cli_command *c = commands; c->name; c++) {
        printf("| `kerbin %s%s%s` |", c->name, *c->operands ? " " : "", c->operands);
        for (const struct help_group *group = help_groups; group->name; group++)
            if (command_takes(c, group->name))
                printf(" %s,", group->heading);
        for (int id = 0; id < OWN_COUNT; id++)
            if (c->own >> id & 1)
                printf(" `%s%s`", own_options[id].info.name[1] ? "--" : "-",
                       own_options[id].info.name);
        puts(" |");
    }
}

void help_markdown(void) {
    puts("# Options\n\n"
         "Made from the program's own tables by `kerbin help --markdown`; not to be edited.\n");
    markdown_commands();
    for (const struct help_group *group = help_groups; group->name; group++) {
        printf("\n## %s\n\n| option | values | default | meaning |\n|---|---|---|---|\n",
               group->heading);
        visit_group(group->name, markdown_option);
    }
}
