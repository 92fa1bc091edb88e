/* args.c - see args.h. */
#include "args.h"
#include "command.h"
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const own_option own_options[OWN_COUNT] = {
    [OWN_MODEL] = {'o', {
        "model", KB_OPTION_TEXT, "FILE", NULL, 0, 0, NULL,
        "File to save the model to. Default: the name of DATA with the suffix .kerbin, in the "
        "current directory.", "program"}},
    [OWN_FILE] = {'o', {
        "o", KB_OPTION_TEXT, "FILE", NULL, 0, 0, NULL,
        "File to write the result to; - is standard output, the default.", "program"}},
    [OWN_OUTPUT] = {0, {
        "output", KB_OPTION_CHOICE, "WHAT", "label", 0, 0,
        "label|decision|probability|interval|set|novelty",
        "What to write for each row: its label, decision values, or class probabilities; a value and "
        "its interval; the set of classes that it may have; or novelty: the share of grids in which "
        "it meets a known bin, and the share of the rows held out that meet more.", "program"}},
    [OWN_COVERAGE] = {0, {
        "coverage", KB_OPTION_REAL, "SHARE", "0.9", 0.01, 0.999, NULL,
        "The share of new rows whose label is to lie within --output interval or set.", "program"}},
    [OWN_TRUST] = {0, {
        "trust", KB_OPTION_FLAG, NULL, "off", 0, 0, NULL,
        "Do not verify the checksum and the bins of the model file, which makes reading a large one "
        "faster. For a file that was verified before: with a damaged one the program may crash.",
        "program"}},
    [OWN_FROM] = {0, {
        "from", KB_OPTION_TEXT, "MODEL", NULL, 0, 0, NULL,
        "Use the scaling, grids and bins of a model, instead of new ones.", "program"}},
    [OWN_VALID] = {0, {
        "valid", KB_OPTION_TEXT, "FILE", NULL, 0, 0, NULL,
        "Validation rows with labels: the model is scored on them. With --lambda-path they select "
        "the model: the one with the largest lambda whose score is within one standard error of "
        "the best, or by --metric the best, if that is not accuracy or of squared errors. Without FILE it is the one with the smallest lambda.", "program"}},
    [OWN_COMPACT] = {0, {
        "compact", KB_OPTION_FLAG, NULL, "off", 0, 0, NULL,
        "Save a compact model, a third of the size or less (kerbin help compact).", "program"}},
    [OWN_SMALLER] = {'o', {
        "o", KB_OPTION_TEXT, "FILE", NULL, 0, 0, NULL,
        "File to save the compact model to; - is standard output. Default: the name of MODEL with the "
        "suffix .compact.kerbin, in the current directory.", "program"}},
    [OWN_DROP] = {0, {
        "drop", KB_OPTION_REAL, "SHARE", "0", 0, 0.9, NULL,
        "Also drop the smallest weights, those of the bins with the least sums of squares, up to this share "
        "of the sum of all, such as 0.01. The bins stay known.", "program"}},
    [OWN_CHECKPOINT] = {0, {
        "checkpoint", KB_OPTION_TEXT, "FILE", NULL, 0, 0, NULL,
        "Keep the state of a long fit in FILE, and go on from it where FILE is there: the same command then gives "
        "the same model. For sweeps, CG and Newton's method; other solvers begin anew. FILE is removed once the "
        "model is saved.",
        "program"}},
    [OWN_EVERY] = {0, {
        "every", KB_OPTION_TEXT, "TIME", "60s", 0, 0, NULL,
        "How often to write the checkpoint, such as 60s, 5m or 1h: at the end of the sweep or step that is "
        "then under way.", "program"}},
    [OWN_VARY] = {0, {
        "vary", KB_OPTION_CHOICE, "WHAT", "sigma", 0, 0, "sigma|grids|lambda|threads",
        "The option to vary.", "program"}},
    [OWN_VALUES] = {0, {
        "values", KB_OPTION_TEXT, "LIST", NULL, 0, 0, NULL,
        "Its values: numbers separated by commas, or A:B:K for K of them from A to B in equal "
        "ratios.", "program"}},
    [OWN_MAPS] = {0, {
        "maps", KB_OPTION_TEXT, "LIST", NULL, 0, 0, NULL,
        "The maps to compare: values of --map separated by commas.", "program"}},
    [OWN_RANKS] = {0, {
        "ranks", KB_OPTION_TEXT, "LIST", NULL, 0, 0, NULL,
        "Values of --grids for every map that has them, written like --values of sweep.", "program"}},
    [OWN_SIGMAS] = {0, {
        "sigmas", KB_OPTION_TEXT, "LIST", "0.0625,0.25,1,4,16,64", 0, 0, NULL,
        "Values of --sigma to tune over, written like --values of sweep; a single one is not tuned.",
        "program"}},
    [OWN_SEEDS] = {0, {
        "seeds", KB_OPTION_INTEGER, "K", "1", 1, 1000, NULL,
        "Repeat with K seeds, from --seed on, and report mean and standard deviation.",
        "program"}},
    [OWN_BACKGROUND] = {0, {
        "background", KB_OPTION_TEXT, "FILE", NULL, 0, 0, NULL,
        "Rows that contributions are differences from, such as the training rows. Default: the rows "
        "of DATA.", "program"}},
    [OWN_SAMPLES] = {0, {
        "samples", KB_OPTION_INTEGER, "K", "64", 2, 100000, NULL,
        "Rows of the background that are used, chosen at random.", "program"}},
    [OWN_TOP] = {0, {
        "top", KB_OPTION_INTEGER, "K", "6", 1, 24, NULL,
        "How many features are shown: the most important ones.", "program"}},
    [OWN_PLOT] = {0, {
        "plot", KB_OPTION_TEXT, "FILE", NULL, 0, 0, NULL,
        "Also draw the results to FILE.svg or FILE.png. Needs gnuplot.", "program"}},
    [OWN_FOLDER] = {'o', {
        "folder", KB_OPTION_TEXT, "DIR", "kerbin-demo", 0, 0, NULL,
        "Folder for the files; created if it does not exist.", "program"}},
    [OWN_THREADS] = {0, {
        "threads", KB_OPTION_INTEGER, "N", "0", 0, 1024, NULL,
        "Number of threads; 0: as many as the machine has. Results do not depend on it, except with "
        "--solver parallel-cd.",
        "program"}},
    [OWN_JSON] = {0, {
        "json", KB_OPTION_FLAG, NULL, "off", 0, 0, NULL,
        "Print exactly one JSON object on standard output.", "program"}},
    [OWN_QUIET] = {'q', {
        "quiet", KB_OPTION_FLAG, NULL, "off", 0, 0, NULL,
        "Print warnings and errors only: no progress bar, notes or summary. What a command is asked to "
        "write, such as predictions, a table or JSON, is written all the same.", "program"}},
    [OWN_MAN] = {0, {
        "man", KB_OPTION_FLAG, NULL, "off", 0, 0, NULL,
        "Print the manual page, of the program or of COMMAND, as roff.", "program"}},
    [OWN_MARKDOWN] = {0, {
        "markdown", KB_OPTION_FLAG, NULL, "off", 0, 0, NULL,
        "Print the reference of all options, as Markdown.", "program"}},
    [OWN_COMPLETION] = {0, {
        "completion", KB_OPTION_CHOICE, "SHELL", NULL, 0, 0, "bash|zsh|fish",
        "Print what completes commands, options and their values in a shell.", "program"}},
};
/* clang-format on */

/* ---- which options a command has ------------------------------------------ */

static int has_word(const char *list, const char *searched) {
    size_t length = strlen(searched);
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, searched, length) == 0)
            return 1;
        at += word;
    }
    return 0;
}

int command_takes(const cli_command *command, const char *group) {
    return has_word(command->groups, group);
}

int command_is_usual(const cli_command *command, const char *option) {
    return has_word(command->usual, option);
}

/* Option number i of a command, the library's first; NULL after the last. */
static const char *option_name(const void *list, int i) {
    const cli_command *command = list;
    size_t count;
    const kb_option_info *table = kb_option_table(&count);
    for (size_t k = 0; k < count; k++)
        if (command_takes(command, table[k].group) && i-- == 0)
            return table[k].name;
    for (int id = 0; id < OWN_COUNT; id++)
        if (command->own >> id & 1 && i-- == 0)
            return own_options[id].info.name;
    return NULL;
}

/* ---- nearest words --------------------------------------------------------- */

/* The number of letters to insert, drop or change (Levenshtein), up to words of 31. */
static int distance(const char *a, const char *b) {
    int row[32];
    int n = (int)strlen(b);
    if (n > 31)
        return 99;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[n];
}

const char *nearest_word(const char *typed, word_at at, const void *list) {
    const char *best = NULL;
    int least = strlen(typed) < 4 ? 2 : 3; /* a longer distance would be a guess */
    for (int i = 0; at(list, i); i++) {
        int d = distance(typed, at(list, i));
        if (d < least) {
            least = d;
            best = at(list, i);
        }
    }
    return best;
}

/* ---- reading --------------------------------------------------------------- */

static int wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int wrong(const char *format, ...) {
    va_list list;
    va_start(list, format);
    put_message("kerbin: ", format, list);
    va_end(list);
    return 2;
}

static int unknown(const cli_command *command, const char *name) {
    size_t count;
    const kb_option_info *table = kb_option_table(&count);
    int known = 0;
    for (size_t k = 0; k < count; k++)
        known |= strcmp(table[k].name, name) == 0;
    for (int id = 0; id < OWN_COUNT; id++)
        known |= strcmp(own_options[id].info.name, name) == 0;
    if (known)
        return wrong("%s takes no --%s; see kerbin help %s", command->name, name, command->name);
    const char *near = nearest_word(name, option_name, command);
    if (near)
        return wrong("unknown option --%s; did you mean --%s?", name, near);
    return wrong("unknown option --%s; see kerbin help %s", name, command->name);
}

/* Whether the word is one of "a|b|c". */
static int is_choice(const char *choices, const char *word) {
    size_t length = strlen(word);
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, word, length) == 0 && (at[length] == '|' || at[length] == '\0'))
            return length > 0;
    }
    return 0;
}

/* "a, b, c" for messages. */
typedef struct list_text {
    char text[128];
} list_text;

static list_text with_commas(const char *choices) {
    list_text out = {""};
    size_t used = 0;
    for (; *choices && used + 3 < sizeof out.text; choices++) {
        out.text[used++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            out.text[used++] = ' ';
    }
    return out;
}

/* The same checks that the library makes for its own options. */
static int check_own(const kb_option_info *info, const char *value) {
    if (info->type == KB_OPTION_INTEGER) {
        char *end;
        errno = 0;
        long number = strtol(value, &end, 10);
        if (!*value || *end || errno || number < (long)info->min || number > (long)info->max)
            return wrong("--%s %s: must be a whole number from %.0f to %.0f", info->name,
                         *value ? value : "''", info->min, info->max);
    }
    if (info->type == KB_OPTION_REAL) {
        char *end;
        double number = strtod(value, &end);
        if (!*value || *end || !(number >= info->min && number <= info->max))
            return wrong("--%s %s: must be a number from %g to %g", info->name,
                         *value ? value : "''", info->min, info->max);
    }
    if (info->type == KB_OPTION_CHOICE || info->type == KB_OPTION_FLAG) {
        const char *choices = info->choices ? info->choices : "off|on";
        if (!is_choice(choices, value))
            return wrong("--%s %s: must be one of %s", info->name, *value ? value : "''",
                         with_commas(choices).text);
    }
    if (info->type == KB_OPTION_TEXT && !*value)
        return wrong("%s%s: needs a file", info->name[1] ? "--" : "-", info->name);
    return 0;
}

/* One option by its long name; `value` is the text after '=', or NULL.  *next is the next argument,
 * consumed if the option needs it. */
static int read_option(cli_args *args, const char *name, const char *value, char ***next) {
    size_t count;
    const kb_option_info *table = kb_option_table(&count), *info = NULL;
    int own = -1;
    for (size_t k = 0; k < count && !info; k++)
        if (strcmp(table[k].name, name) == 0 && command_takes(args->command, table[k].group))
            info = &table[k];
    for (int id = 0; id < OWN_COUNT && !info; id++)
        if (args->command->own >> id & 1 && strcmp(own_options[id].info.name, name) == 0) {
            info = &own_options[id].info;
            own = id;
        }
    if (!info)
        return unknown(args->command, name);
    if (!value && info->type == KB_OPTION_FLAG)
        value = "on";
    if (!value && !**next)
        return wrong("%s%s needs a value: %s", name[1] ? "--" : "-", name, info->metavar);
    if (!value)
        value = *(*next)++;
    if (own >= 0) {
        args->own[own] = value;
        return check_own(info, value);
    }
    args->setting[args->settings].option = info;
    args->setting[args->settings++].value = value;
    return 0;
}

static int read_long(cli_args *args, char *text, char ***next) {
    char name[64];
    size_t length = strcspn(text, "=");
    if (strcmp(text, "help") == 0) {
        args->help = 1;
        return 0;
    }
    if (length < 2 || length >= sizeof name)
        return wrong("unknown option --%s; see kerbin help %s", text, args->command->name);
    memcpy(name, text, length);
    name[length] = '\0';
    return read_option(args, name, text[length] ? text + length + 1 : NULL, next);
}

/* "-q", "-oFILE", "-qo FILE". */
static int read_letters(cli_args *args, char *text, char ***next) {
    for (; *text; text++) {
        int id = 0;
        if (*text == 'h') {
            args->help = 1;
            continue;
        }
        while (id < OWN_COUNT && !(args->command->own >> id & 1 && own_options[id].letter == *text))
            id++;
        if (id == OWN_COUNT)
            return wrong("unknown option -%c; see kerbin help %s", *text, args->command->name);
        int takes_rest = own_options[id].info.type != KB_OPTION_FLAG && text[1];
        int status =
            read_option(args, own_options[id].info.name, takes_rest ? text + 1 : NULL, next);
        if (status || takes_rest)
            return status;
    }
    return 0;
}

static int check_operands(const cli_args *args) {
    const cli_command *command = args->command;
    if (args->operands < command->operands_min)
        return wrong("too few arguments; usage: kerbin %s [options] %s", command->name,
                     command->operands);
    if (args->operands > command->operands_max)
        return wrong("too many arguments at '%s'; usage: kerbin %s [options]%s%s",
                     args->operand[command->operands_max], command->name,
                     *command->operands ? " " : "", command->operands);
    return 0;
}

int args_parse(cli_args *args, const cli_command *command, int argc, char **argv) {
    int status = 0, only_operands = 0;
    memset(args, 0, sizeof *args);
    args->command = command;
    args->words = argv;
    for (int id = 0; id < OWN_COUNT; id++)
        args->own[id] = own_options[id].info.default_value;
    args->operand = calloc((size_t)argc + 1, sizeof *args->operand);
    args->setting = calloc((size_t)argc + 1, sizeof *args->setting);
    if (!args->operand || !args->setting) {
        fputs("kerbin: out of memory\n", stderr);
        return 1;
    }

    for (char **next = argv; !status && *next;) {
        char *text = *next++;
        if (only_operands || text[0] != '-' || !text[1])
            args->operand[args->operands++] = text;
        else if (strcmp(text, "--") == 0)
            only_operands = 1;
        else if (text[1] == '-')
            status = read_long(args, text + 2, &next);
        else
            status = read_letters(args, text + 1, &next);
    }
    return status || args->help ? status : check_operands(args);
}

void args_free(cli_args *args) {
    free(args->operand);
    free(args->setting);
}

int args_flag(const cli_args *args, own_id id) {
    return strcmp(args->own[id], "on") == 0;
}

int args_was_given(const cli_args *args, own_id id) {
    return args->own[id] != own_options[id].info.default_value;
}

int args_threads(const cli_args *args) {
    return atoi(args->own[OWN_THREADS]);
}

const char *args_given(const cli_args *args, const char *group) {
    for (int i = 0; i < args->settings; i++)
        if (strcmp(args->setting[i].option->group, group) == 0)
            return args->setting[i].option->name;
    return NULL;
}
