/*
 * demo.c - kerbin demo: a tour of the commands on a built-in data set, in less than a minute.
 *
 * Every step shows a command and runs it as a user would, in a folder that is kept. Only the
 * surfaces are drawn here: what random binning and random Fourier features have learned at the same
 * rank, beside the truth.
 */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "plot.h"
#include "record.h"
#include "results.h"
#include "session.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRAIN_FILE   "demo-train.csv"
#define TEST_FILE    "demo-test.csv"
#define COMPARE_FILE "demo-compare.csv"
#define COMPARE_JSON "demo-compare.json"
#define COMPARE_PLOT "demo-compare.svg"
#define SURFACE_PLOT "demo-surfaces.svg"
#define LABEL_FILE   "demo-labels.txt"
#define REPORT_FILE  "report.html"

enum { MOST_WORDS = 24, LINES = 18, COLUMNS = 36, DOTS = 120, MAPS = 2 };

static const char *const map_name[MAPS] = {"binning", "fourier"};
static const char *const model_file[MAPS] = {"demo-binning.kerbin", "demo-fourier.kerbin"};
static const char rank_text[] = "64", sigmas[] = "0.025,0.05,0.1,0.2,0.4";

/* ---- steps ----------------------------------------------------------------- */

/* Runs `kerbin NAME ..` and shows it; the words end with NULL; -q and --threads are added. */
static int step(const cli_args *demo, const char *name, const char *const *words) {
    const char *argv[MOST_WORDS + 4];
    int argc = 0;
    cli_args args;
    const cli_command *command = command_find(name);
    for (; words[argc] && argc < MOST_WORDS; argc++)
        argv[argc] = words[argc];
    if (args_flag(demo, OWN_QUIET))
        argv[argc++] = "-q";
    if (args_threads(demo) && command->own >> OWN_THREADS & 1) {
        argv[argc++] = "--threads";
        argv[argc++] = demo->own[OWN_THREADS];
    }
    argv[argc] = NULL;
    /* The words are read only; argv has its type from main. */
    int status = args_parse(&args, command, argc, (char **)argv);
    char *typed = status == 0 ? typed_command(&args) : NULL;
    printf("  $ %s\n", typed ? typed : name);
    fflush(stdout);
    free(typed);
    if (status == 0)
        status = command->run(&args);
    args_free(&args);
    return status;
}

#define STEP(name, ...)                                                                            \
    do {                                                                                           \
        ended = step(args, name, (const char *const[]){__VA_ARGS__, NULL});                        \
        if (ended != 0)                                                                            \
            return ended;                                                                          \
    } while (0)

/* ---- the folder ------------------------------------------------------------ */

static int refuse(const char *folder, const char *why, int status) {
    put_sentence("kerbin: %s: %s", folder, why);
    return status;
}

/* Replaces the files of an earlier demonstration; nothing else is touched. */
static int enter_folder(const char *folder) {
    static const char *const old[] = {COMPARE_FILE, COMPARE_JSON, COMPARE_PLOT, SURFACE_PLOT,
                                      REPORT_FILE};
    int is_new = mkdir(folder, 0777) == 0;
    if ((!is_new && errno != EEXIST) || chdir(folder) != 0)
        return refuse(folder, strerror(errno), 1);
    if (is_new)
        return 0;
    if (access(TRAIN_FILE, F_OK) != 0)
        return refuse(folder, "exists and is not from a demonstration; give -o another name", 2);
    for (size_t k = 0; k < sizeof old / sizeof *old; k++)
        unlink(old[k]);
    return 0;
}

/* ---- surfaces -------------------------------------------------------------- */

/* The result of the comparison for a map at the rank of the surfaces. */
typedef struct found {
    char sigma[32];
    double score;
} found;

static found find(const char *map) {
    found out = {"0.1", 0};
    results r = {0};
    json_t *json = json_load_file(COMPARE_JSON, 0, NULL);
    if (json && results_read(json, &r) == KB_OK)
        for (size_t k = 0; k < r.count; k++)
            if (strcmp(r.line[k].map, map) == 0 && r.line[k].value == atof(rank_text)) {
                snprintf(out.sigma, sizeof out.sigma, "%g", r.line[k].sigma);
                out.score = result_score(&r, &r.line[k]);
            }
    results_free(&r);
    json_decref(json);
    return out;
}

/* The centre of pixel i of the unit square, rows from the bottom. */
static void dot(int i, int columns, int lines, double *at) {
    at[0] = (i % columns + 0.5) / columns;
    at[1] = ((double)(i / columns) + 0.5) / lines;
}

static void truth(int columns, int lines, double *out) {
    for (int i = 0; i < columns * lines; i++) {
        double at[2];
        dot(i, columns, lines, at);
        out[i] = ((int)(4 * at[0]) + (int)(4 * at[1])) % 2 ? 1 : -1;
    }
}

static kb_status decide(session *s, const kb_model *model, int columns, int lines, double *out) {
    kb_status status = KB_OK;
    kb_data *data = NULL;
    int count = columns * lines;
    double *points = malloc((size_t)count * 2 * sizeof *points);
    if (!points)
        return KB_ERR_MEMORY;
    for (int i = 0; i < count; i++)
        dot(i, columns, lines, points + 2 * (ptrdiff_t)i);
    kb_arrays arrays = {
        .size = sizeof arrays, .rows = (size_t)count, .features = 2, .values = points};
    TRY(kb_data_from_arrays(s->ctx, &arrays, &data));
    TRY(kb_model_decide(s->ctx, model, data, out));
done:
    kb_data_free(data);
    free(points);
    return status;
}

/* '#' and blanks far from the decision boundary, fainter characters near it. */
static char shade_of(double decision) {
    static const char shade[] = " .:=+*#";
    const int shades = (int)sizeof shade - 1;
    int level = (int)((decision + 1) / 2 * shades);
    return shade[level < 0 ? 0 : level >= shades ? shades - 1 : level];
}

static kb_status print_surfaces(session *s, kb_model *const *model) {
    static double decision[MAPS][LINES * COLUMNS];
    kb_status status = KB_OK;
    for (int m = 0; m < MAPS; m++)
        TRY(decide(s, model[m], COLUMNS, LINES, decision[m]));
    printf("   %-*s   %s\n", COLUMNS + 1, map_name[0], map_name[1]);
    for (int line = LINES - 1; line >= 0; line--)
        for (int m = 0; m < MAPS; m++) {
            printf("  |");
            for (int k = 0; k < COLUMNS; k++)
                putchar(shade_of(decision[m][line * COLUMNS + k]));
            printf("|%s", m + 1 < MAPS ? "" : "\n");
        }
done:
    return status;
}

static kb_status draw_surfaces(session *s, kb_model *const *model) {
    static double values[DOTS * DOTS];
    kb_status status = KB_OK;
    char title[128];
    surface over = {.x_to = 1, .y_to = 1, .columns = DOTS, .lines = DOTS, .values = values};
    snprintf(title, sizeof title, "What was learned of a checkerboard, with rank R = %s",
             rank_text);
    figure *f = figure_create(title, MAPS + 1);
    figure_panel(f, (panel){.title = "the truth", .x = "x1", .y = "x2"});
    truth(DOTS, DOTS, values);
    figure_surface(f, over);
    for (int m = 0; m < MAPS; m++) {
        snprintf(title, sizeof title, "%s: %.1f %% of new points right", map_name[m],
                 100 * find(map_name[m]).score);
        figure_panel(f, (panel){.title = title, .x = "x1", .y = "x2"});
        TRY(decide(s, model[m], DOTS, DOTS, values));
        figure_surface(f, over);
    }
    TRY(figure_save(s, f, SURFACE_PLOT, NULL));
done:
    figure_free(f);
    return status;
}

static int surfaces(const cli_args *args) {
    session s;
    kb_status status;
    kb_model *model[MAPS] = {NULL};
    TRY(session_open(&s, args));
    TRY(session_hold_nothing_out(&s));
    for (int m = 0; m < MAPS; m++)
        TRY(kb_model_read(s.ctx, model_file[m], &model[m]));
    TRY(print_surfaces(&s, model));
    if (plot_possible())
        TRY(draw_surfaces(&s, model));
done:
    for (int m = 0; m < MAPS; m++)
        kb_model_free(model[m]);
    return session_close(&s, status);
}

/* ---- the steps ------------------------------------------------------------- */

static int compare_maps(const cli_args *args) {
    int ended;
    puts(
        "\n2. Random binning and random Fourier features, each with sigma tuned on validation rows,"
        "\n   scored on the test rows. A star marks the best of each rank.\n");
    if (plot_possible())
        STEP("compare", "--maps", "binning,fourier", "--ranks", "16:256:5", "--sigmas", sigmas,
             "--seeds", "3", "-o", COMPARE_FILE, "--plot", COMPARE_PLOT, TRAIN_FILE, TEST_FILE);
    else
        STEP("compare", "--maps", "binning,fourier", "--ranks", "16:256:5", "--sigmas", sigmas,
             "--seeds", "3", "-o", COMPARE_FILE, TRAIN_FILE, TEST_FILE);
    return 0;
}

static int train_both(const cli_args *args) {
    int ended;
    printf(
        "\n3. Both at the same rank, R = %s. A row has R numbers in both maps. But random binning\n"
        "   learns a weight for each of D bins, and Fourier features learn R weights.\n\n",
        rank_text);
    for (int m = 0; m < MAPS; m++) {
        found best = find(map_name[m]);
        STEP("train", "--tune", "off", "--map", map_name[m], "--grids", rank_text, "--sigma",
             best.sigma, "-o", model_file[m], TRAIN_FILE);
        puts("");
        STEP("predict", "-o", LABEL_FILE, model_file[m], TEST_FILE);
        puts("");
    }
    return surfaces(args);
}

/* Commands that work as they stand, from where the demonstration was called. */
static void show_next(const char *program, const char *folder) {
    printf("\nNow tuned, or with your own data instead, CSV or LIBSVM text:\n\n"
           "  $ %s train -o demo.kerbin %s/" TRAIN_FILE "\n"
           "  $ %s predict --output probability -o predictions.csv demo.kerbin %s/" TEST_FILE "\n"
           "  $ %s report -o demo.html demo.kerbin %s/" TEST_FILE "\n"
           "  $ %s help train\n",
           program, folder, program, folder, program, folder, program);
}

static int tell(const cli_args *args) {
    int ended;
    puts("\n4. All results on one page.\n");
    STEP("report", "-o", REPORT_FILE, ".");
    printf("All files are in %s; open %s/" REPORT_FILE ".\n", args->own[OWN_FOLDER],
           args->own[OWN_FOLDER]);
    if (!plot_possible())
        printf("No figures: %s\n", plot_advice);
    show_next(args->program ? args->program : "kerbin", args->own[OWN_FOLDER]);
    return 0;
}

static int generate_both(const cli_args *args) {
    int ended;
    puts("1. A checkerboard, which no linear model can fit, with 5 % of its labels wrong, and a "
         "clean\n"
         "   one for testing. Its edges are parallel to the axes, which suits random binning. On "
         "the\n"
         "   set `rings`, with round edges, both maps do equally well.\n");
    STEP("generate", "checkers", "--rows", "10000", "--noise", "0.05", "--seed", "1", "-o",
         TRAIN_FILE);
    STEP("generate", "checkers", "--rows", "10000", "--seed", "2", "-o", TEST_FILE);
    return 0;
}

int demo_run(const cli_args *args) {
    static int (*const part[])(const cli_args *args) = {generate_both, compare_maps, train_both,
                                                        tell};
    int status = enter_folder(args->own[OWN_FOLDER]);
    for (size_t k = 0; k < sizeof part / sizeof *part && status == 0; k++)
        status = part[k](args);
    return status ? status : finish_stdout();
}
