/* reference.c - the tables as a manual page (roff) and as Markdown; see help.h. */
#include "help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- roff ------------------------------------------------------------------ */

/* Escapes characters that are special in roff. */
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
    if (*help_values(option, values, sizeof values) &&
        (!option->default_value || strcmp(values, option->default_value))) {
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
    static const cli_command all = {.groups =
                                        "data predict kernel solver device synthetic random memory",
                                    .usual = "",
                                    .own = (1u << OWN_COUNT) - 1};
    help_visit_options(&all, group, visit);
}

void help_man(void) {
    printf(".TH KERBIN 1 \"\" \"kerbin %s\" \"User Commands\"\n", KB_VERSION);
    fputs(".SH NAME\nkerbin \\- kernel machines at the cost of linear ones, by random binning\n"
          ".SH SYNOPSIS\n",
          stdout);
    for (const cli_command *c = commands; c->name; c++)
        printf("%s.B kerbin %s\n[options] \\fI%s\\fR\n", c == commands ? "" : ".br\n", c->name,
               c->operands);
    fputs(".SH DESCRIPTION\n"
          "kerbin draws random grids over the data, finds the bin that each sample falls into, "
          "and learns a linear model on the bin indicators. That is a kernel machine whose cost "
          "grows "
          "with the number of samples only linearly.\n"
          ".PP\nResults go to standard output, all else to standard error. Options may "
          "come before or after the operands; \\- is standard input or output.\n"
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
          "file is either whole or not there.\n"
          ".SH SEE ALSO\n",
          stdout);
    for (const cli_command *c = commands; c->name; c++)
        printf(".BR kerbin\\-%s (1)%s\n", c->name, c[1].name ? "," : "");
}

void help_man_command(const cli_command *command) {
    fputs(".TH \"KERBIN\\-", stdout);
    for (const char *c = command->name; *c; c++)
        putchar(toupper((unsigned char)*c));
    printf("\" 1 \"\" \"kerbin %s\" \"User Commands\"\n.SH NAME\nkerbin\\-%s \\- ", KB_VERSION,
           command->name);
    roff(command->summary);
    printf("\n.SH SYNOPSIS\n.B kerbin %s\n[options]", command->name);
    if (*command->operands)
        printf(" \\fI%s\\fR", command->operands);
    fputs("\n.SH DESCRIPTION\n", stdout);
    roff(command->details);
    putchar('\n');
    help_names(command);
    puts(".SH OPTIONS");
    for (const struct help_group *group = help_groups; group->name; group++) {
        int program = strcmp(group->name, "program") == 0;
        if (!program && !command_takes(command, group->name))
            continue;
        printf(".SS %s\n", group->heading);
        help_visit_options(command, group->name, man_option);
        if (program)
            puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint a summary of the options.");
    }
    fputs(".SH EXAMPLES\n.nf\n", stdout);
    roff(command->example);
    puts("\n.fi\n.SH SEE ALSO\n.BR kerbin (1)");
}

/* ---- Markdown -------------------------------------------------------------- */

enum { MARKDOWN_WIDTH = 110 };

/* A line being filled: its length so far, and how far the lines below it are indented. */
typedef struct filling {
    int length, indent;
} filling;

/* Words of the text, after a blank, on as many lines as they need. */
static void fill(filling *line, const char *text) {
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (line->length + 1 + word > MARKDOWN_WIDTH)
            line->length = printf("\n%*s", line->indent, "") - 1;
        else if (line->length > line->indent)
            line->length += printf(" ");
        for (int k = 0; k < word; k++) {
            if (strchr("|*\\", text[k]))
                line->length += printf("\\");
            line->length += printf("%c", text[k]);
        }
        text += word + (text[word] == ' ');
    }
}

/* "- `--grids R` (1 to 1000000; default auto): Number of random grids. .." */
static void markdown_option(const kb_option_info *option, char letter) {
    char values[256], known[400] = "";
    filling line = {.indent = 2};
    line.length = printf("- `");
    if (letter && option->name[1])
        line.length += printf("-%c`, `", letter);
    line.length += printf("%s%s", option->name[1] ? "--" : "-", option->name);
    if (option->metavar)
        line.length += printf(" %s", option->metavar);
    line.length += printf("`");
    help_values(option, values, sizeof values);
    int default_known = option->default_value && option->type != KB_OPTION_FLAG;
    if (*values || default_known)
        snprintf(known, sizeof known, "(%s%s%s%s):", values, *values && default_known ? "; " : "",
                 default_known ? "default " : "", default_known ? option->default_value : "");
    if (*known)
        fill(&line, known);
    else
        line.length += printf(":");
    fill(&line, option->help);
    putchar('\n');
}

static void markdown_commands(void) {
    for (const cli_command *c = commands; c->name; c++) {
        filling line = {.indent = 2};
        char text[40];
        line.length = printf("- `kerbin %s%s%s`:", c->name, *c->operands ? " " : "", c->operands);
        for (const struct help_group *group = help_groups; group->name; group++)
            if (command_takes(c, group->name)) {
                snprintf(text, sizeof text, "%s,", group->heading);
                fill(&line, text);
            }
        for (int id = 0; id < OWN_COUNT; id++)
            if (c->own >> id & 1) {
                snprintf(text, sizeof text, "`%s%s`", own_options[id].info.name[1] ? "--" : "-",
                         own_options[id].info.name);
                fill(&line, text);
            }
        putchar('\n');
    }
}

void help_markdown(void) {
    puts("# Options\n\n"
         "`kerbin help --markdown` writes this page from the tables of the program. Do not edit "
         "it.\n\n"
         "The commands, and the groups of options and single options that each takes:\n");
    markdown_commands();
    puts("\nOnly `train` and `cv` tune the options that are left at auto. `sweep`, `compare` and "
         "`features` give them the\n"
         "values of `--tune off`; `sweep` and `compare` tune if `--tune on` is given. `compare` "
         "always selects sigma.");
    for (const struct help_group *group = help_groups; group->name; group++) {
        printf("\n## %s\n\n", group->heading);
        visit_group(group->name, markdown_option);
    }
}
