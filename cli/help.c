/* help.c - see help.h; `kerbin help` itself. */
#include "help.h"
#include "session.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, COLUMN = 22 };

/* clang-format off */
const struct help_group help_groups[] = {
    {"data", "Data"},
    {"predict", "Predictions"},
    {"kernel", "Kernel"},
    {"solver", "Learning"},
    {"device", "Device"},
    {"synthetic", "Synthetic data"},
    {"random", "Random numbers"},
    {"memory", "Memory"},
    {"program", "Program"},
    {0},
};
/* clang-format on */

/* usual: 0 or 1, or -1 for both. */
static void visit(const cli_command *command, const char *group, int usual, option_visitor call) {
    size_t count;
    const kb_option_info *table = kb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (command_takes(command, group) && strcmp(table[i].group, group) == 0 &&
            (usual < 0 || command_is_usual(command, table[i].name) == usual))
            call(&table[i], '\0');
    for (int id = 0; id < OWN_COUNT; id++)
        if (command->own >> id & 1 && strcmp(own_options[id].info.group, group) == 0 &&
            (usual < 0 || command_is_usual(command, own_options[id].info.name) == usual))
            call(&own_options[id].info, own_options[id].letter);
}

void help_visit_options(const cli_command *command, const char *group, option_visitor call) {
    visit(command, group, -1, call);
}

const char *help_values(const kb_option_info *option, char *room, int size) {
    int used = 0;
    room[0] = '\0';
    if (option->type == KB_OPTION_INTEGER)
        snprintf(room, (size_t)size, "%.0f to %.0f", option->min, option->max);
    if (option->type == KB_OPTION_REAL)
        snprintf(room, (size_t)size, "%g to %g", option->min, option->max);
    if (option->type != KB_OPTION_CHOICE)
        return room;
    for (const char *at = option->choices; *at && used < size - 5; at++) {
        if (*at != '|')
            room[used++] = *at;
        else
            used += snprintf(room + used, 5, "%s", strchr(at + 1, '|') ? ", " : " or ");
    }
    room[used] = '\0';
    return room;
}

/* Prints words from column `at` on, each after a blank unless it begins a line;
 * further lines start at `indent`. */
static void print_wrapped(const char *text, int indent, int *at) {
    for (; *text; text += strspn(text, " ")) {
        int word = (int)strcspn(text, " ");
        if (*at > indent && *at + 1 + word > WIDTH) {
            printf("\n%*s", indent, "");
            *at = indent;
        }
        *at += printf("%s%.*s", *at > indent ? " " : "", word, text);
        text += word;
    }
}

static void print_option(const kb_option_info *option, char letter) {
    char values[256], tail[320];
    int at = 0;
    if (!option->name[1])
        at = printf("  -%s", option->name);
    else if (letter)
        at = printf("  -%c, --%s", letter, option->name);
    else
        at = printf("  --%s", option->name);
    if (option->metavar)
        at += printf(" %s", option->metavar);
    if (at >= COLUMN - 1) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", COLUMN - at, "");
    at = COLUMN;
    print_wrapped(option->help, COLUMN, &at);
    if (option->choices && strchr(option->choices, '|')) {
        snprintf(tail, sizeof tail, "One of %s.", help_values(option, values, sizeof values));
        print_wrapped(tail, COLUMN, &at);
    }
    if (option->default_value && option->type != KB_OPTION_FLAG) {
        snprintf(tail, sizeof tail, "[%s]", option->default_value);
        print_wrapped(tail, COLUMN, &at);
    }
    putchar('\n');
}

void help_names(const cli_command *command) {
    char names[256];
    kb_option_info any = {.type = KB_OPTION_CHOICE, .choices = kb_synthetic_names()};
    if (strcmp(command->operands, "NAME") == 0)
        printf("NAME is one of %s.\n", help_values(&any, names, sizeof names));
}

/* A line before each line of a text. */
static void print_lines(const char *before, const char *lines) {
    while (*lines) {
        int length = (int)strcspn(lines, "\n");
        printf("%s%.*s\n", before, length, lines);
        lines += length + (lines[length] == '\n');
    }
}

int help_command(const cli_command *command) {
    int at = 0;
    printf("Usage: kerbin %s [options]%s%s\n\n", command->name, *command->operands ? " " : "",
           command->operands);
    print_wrapped(command->details, 0, &at);
    puts("");
    help_names(command);
    if (*command->usual)
        puts("\nMost used:");
    for (const struct help_group *group = help_groups; group->name; group++)
        visit(command, group->name, 1, print_option);
    for (const struct help_group *group = help_groups; group->name; group++) {
        int program = strcmp(group->name, "program") == 0;
        if (!program && !command_takes(command, group->name))
            continue;
        printf("\n%s:\n", group->heading);
        visit(command, group->name, 0, print_option);
        if (program)
            printf("  -h, --help          Print this text.\n");
    }
    puts("\nExample:");
    print_lines("  ", command->example);
    return finish_stdout();
}

static void print_overview(FILE *to) {
    fputs("kerbin trains kernel machines at the cost of linear ones, by random binning.\n\n"
          "Usage: kerbin COMMAND [options] ..\n\n",
          to);
    for (const cli_command *c = commands; c->name; c++)
        fprintf(to, "  kerbin %-8s %-16s %s\n", c->name, c->operands, c->summary);
    fputs("\nkerbin help COMMAND shows its options, kerbin --version the version.\n", to);
}

static const char *command_name(const void *list, int i) {
    return ((const cli_command *)list)[i].name;
}

void help_unknown(const char *name) {
    if (!*name) {
        print_overview(stderr);
        return;
    }
    const char *near = nearest_word(name, command_name, commands);
    if (near)
        put_sentence("kerbin: unknown command '%s'; did you mean %s?", name, near);
    else
        put_sentence("kerbin: unknown command '%s'; see kerbin help", name);
}

int help_run(const cli_args *args) {
    const cli_command *command = args->operands ? command_find(args->operand[0]) : NULL;
    if (args->operands && !command) {
        help_unknown(args->operand[0]);
        return 2;
    }
    if (args_flag(args, OWN_MAN) && command)
        help_man_command(command);
    else if (args_flag(args, OWN_MAN))
        help_man();
    else if (args_flag(args, OWN_MARKDOWN))
        help_markdown();
    else if (args->own[OWN_COMPLETION])
        help_completion(args->own[OWN_COMPLETION]);
    else if (command)
        return help_command(command);
    else
        print_overview(stdout);
    return finish_stdout();
}
