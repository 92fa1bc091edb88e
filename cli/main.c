/*
 * main.c - kerbin, the program: the table of commands, and the main function.
 *
 * Standard output carries results, standard error everything else.  Exit status: 0
 * done, 1 the work failed, 2 the command line was wrong.  A program that was interrupted dies of
 * the signal.
 */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "help.h"
#include "interrupt.h"
#include "ranks.h"
#include "session.h"
#include "text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
    THREADS = 1u << OWN_THREADS,
    MODEL = 1u << OWN_MODEL,
    FILE_ = 1u << OWN_FILE,
    OUTPUT = 1u << OWN_OUTPUT,
    TRUST = 1u << OWN_TRUST,
    COVERAGE = 1u << OWN_COVERAGE,
    FROM = 1u << OWN_FROM,
    VALID = 1u << OWN_VALID,
    COMPACT = 1u << OWN_COMPACT,
    SMALLER = 1u << OWN_SMALLER,
    DROP = 1u << OWN_DROP,
    CHECKPOINT = 1u << OWN_CHECKPOINT,
    EVERY = 1u << OWN_EVERY,
    VARY = 1u << OWN_VARY,
    VALUES = 1u << OWN_VALUES,
    MAPS = 1u << OWN_MAPS,
    RANKS = 1u << OWN_RANKS,
    SIGMAS = 1u << OWN_SIGMAS,
    SEEDS = 1u << OWN_SEEDS,
    BACKGROUND = 1u << OWN_BACKGROUND,
    SAMPLES = 1u << OWN_SAMPLES,
    TOP = 1u << OWN_TOP,
    PLOT = 1u << OWN_PLOT,
    FOLDER = 1u << OWN_FOLDER,
    JSON = 1u << OWN_JSON,
    QUIET = 1u << OWN_QUIET,
    MAN = 1u << OWN_MAN,
    MARKDOWN = 1u << OWN_MARKDOWN,
    COMPLETION = 1u << OWN_COMPLETION,
};

/* clang-format off */
const cli_command commands[] = {
    {"train", "DATA", 1, 1, "data kernel solver device random memory",
     "label ignore weights split metric task class-weight budget model threads",
     MODEL | VALID | COMPACT | CHECKPOINT | EVERY | THREADS | JSON | QUIET,
     "fit and save a model",
     "Fits a model to DATA and saves it. DATA is LIBSVM text or CSV, plain or compressed (.gz "
     ".bz2 .xz .zst); - is standard input. A pattern in quotes, such as 'data-*.csv', means several files, "
     "which are read as one.",
     "kerbin train --sigma 0.5 --lambda 1 train.csv\n"
     "kerbin train 'data-*.csv'\n"
     "kerbin train --label price --task regression -o houses.kerbin houses.csv.gz\n"
     "kerbin train --penalty l1 --lambda-path 30 --valid valid.csv train.csv",
     train_run, 1},
    {"update", "MODEL DATA", 2, 2, "data memory", "", MODEL | THREADS | JSON | QUIET,
     "learn from more rows",
     "Saves, with -o, a new model that has learned from the labelled rows of DATA too: with the grids, lambda, "
     "loss and all other settings of MODEL, known bins moved from where they are and new bins added. It takes as "
     "long as the new rows need and comes close to a fit of all rows. MODEL is not changed. The columns are those "
     "of MODEL; classes that it does not know are refused, as are models with --penalty l1, --multiclass softmax "
     "or another map than binning.",
     "kerbin update train.kerbin october.csv -o november.kerbin",
     update_run, 0},
    {"cv", "DATA", 1, 1, "data kernel solver device random memory",
     "label ignore weights split metric folds task class-weight budget threads",
     FILE_ | OUTPUT | THREADS | JSON | QUIET,
     "scores by cross-validation",
     "Deals the rows of DATA into folds (--folds, 5 by default), fits a model to the rows outside of each, "
     "tuned on these alone, and scores it on the fold. Prints the scores of each fold, their mean and their "
     "standard deviation. With -o the out-of-fold prediction of each row is written as CSV: its label or, with "
     "--output probability, the probability of each class. Rows are dealt "
     "by --split: the classes evenly, groups together; by time each fold comes after the rows that it is "
     "learned from, and the first rows are never predicted. --budget is for all folds together.",
     "kerbin cv train.csv\n"
     "kerbin cv --folds 10 --split group:patient -o predictions.csv train.csv\n"
     "kerbin cv --output probability -o probabilities.csv train.csv",
     cv_run, 0},
    {"predict", "MODEL DATA", 2, 2, "data predict device", "", OUTPUT | COVERAGE | TRUST | FILE_ | THREADS | JSON | QUIET,
     "predict; with labels in DATA also score",
     "Writes one line for each row of DATA, and the score if DATA has labels: beside the "
     "predictions on standard error, on standard output if they go to a file. With --json and "
     "without -o only the score is written.",
     "kerbin predict train.kerbin test.csv > labels.txt\n"
     "kerbin predict --output probability -o probabilities.csv train.kerbin test.csv\n"
     "kerbin predict --output interval --coverage 0.8 houses.kerbin new.csv\n"
     "kerbin predict --keep id,name -o predictions.csv train.kerbin new.csv",
     predict_run, 1},
    {"inspect", "MODEL", 1, 1, "", "", PLOT | THREADS | JSON | QUIET,
     "describe a model",
     "Reads and checks MODEL, and prints its contents, how it was fitted, and what the paper's "
     "theorems give for it: bins per grid, the rate 1/(kappa R) of the bound, and the speed-up of "
     "parallel coordinate descent with --threads. Also the importance of the features, where it was "
     "measured, and how finely the grids split them, where widths differ; --plot draws the "
     "importance.",
     "kerbin inspect train.kerbin\n"
     "kerbin inspect --plot features.svg train.kerbin",
     inspect_run, 0},
    {"compact", "MODEL [DATA]", 1, 2, "data", "", SMALLER | DROP | THREADS | JSON | QUIET,
     "make a model smaller",
     "Saves MODEL in a third of its size or less: its weights as whole numbers of 8 bits, and 16 bits of "
     "each key. Prints both sizes, about how far decisions move, and how far at most. With DATA, rows "
     "such as the training rows, also tells how far their decisions move, how many labels change and, if "
     "DATA has labels, the score before and after. --drop makes it smaller still. A compact model can do "
     "all that MODEL can.",
     "kerbin compact train.kerbin\n"
     "kerbin compact --drop 0.01 -o small.kerbin train.kerbin valid.csv",
     compact_run, 0},
    {"explain", "MODEL DATA", 2, 2, "data", "",
     BACKGROUND | SAMPLES | TOP | FILE_ | PLOT | THREADS | JSON | QUIET,
     "show what predictions depend on",
     "Prints the partial dependence of the most important features: the mean prediction for rows of "
     "DATA if a feature had the same value in all of them; --plot draws it. With -o FILE also writes "
     "a CSV line for each row: its decision, the base, and what each feature adds (Shapley values); "
     "the contributions add up to the decision minus the base. For three classes or more they are "
     "those of the class that is predicted.",
     "kerbin explain --plot dependence.svg train.kerbin test.csv\n"
     "kerbin explain -o why.csv --background train.csv train.kerbin test.csv",
     explain_run, 0},
    {"features", "DATA", 1, 1, "data kernel random memory", "", FROM | FILE_ | THREADS | QUIET,
     "write the features Z, for other learners",
     "Writes the random binning features of DATA as LIBSVM text: the label and, for every grid, "
     "the column of the bin that the row falls into. Nothing is tuned: options that are not given "
     "have the values of train --tune off, unless --from names a model.",
     "kerbin features --grids 64 --sigma 0.5 -o z.libsvm train.csv\n"
     "kerbin features --from train.kerbin test.csv > z.test.libsvm",
     features_run, 0},
    {"sweep", "TRAIN TEST", 2, 2, "data kernel solver device random memory", "",
     VARY | VALUES | SEEDS | FILE_ | PLOT | THREADS | JSON | QUIET,
     "score and time over a range of settings",
     "Trains on TRAIN and scores on TEST for each value, and prints a table: bins D, kappa, scores "
     "(accuracy or r2, or --metric), seconds and memory; for threads also the speed-up of the solve and the one "
     "that the paper predicts for coordinate descent, t / (1 + (R-1)(t-1)/(D-1)). With -o "
     "FILE.csv each point is written once done, to FILE.csv and FILE.json, and a sweep that was "
     "stopped continues where it was. Nothing is tuned: options left at auto have the values of "
     "--tune off, unless --tune on is given.",
     "kerbin sweep --values 0.1:10:9 --seeds 3 -o sigma.csv train.csv test.csv\n"
     "kerbin sweep --vary threads --values 1,2,4 --penalty l1 train.csv test.csv",
     sweep_run, 0},
    {"compare", "TRAIN TEST", 2, 2, "data kernel solver device random memory", "",
     MAPS | RANKS | SIGMAS | SEEDS | FILE_ | PLOT | THREADS | JSON | QUIET,
     "maps side by side, at the same rank",
     "For each map and rank, tunes sigma on a fifth of TRAIN as validation rows, fits to "
     "all of TRAIN with each seed, scores on TEST, and prints a table: sigma, columns D, accuracy or "
     "relative error, or --metric, with a star at the best of each rank, seconds and memory. All other options "
     "are the same for all maps; the map exact has no rank. If a fit fails, its line says why. "
     "With -o FILE.csv each point is written once done, to FILE.csv and FILE.json, and a "
     "comparison that was stopped continues where it was. Nothing but sigma is tuned: other options "
     "left at auto have the values of --tune off, unless --tune on is given.",
     "kerbin compare --maps binning --ranks 16:1024:4 --seeds 3 train.csv test.csv\n"
     "kerbin compare --maps binning,fourier --ranks 256 -o c.csv train.csv test.csv",
     compare_run, 0},
    {"report", "DIR | MODEL TEST", 1, 2, "data", "", FILE_ | THREADS | QUIET,
     "a page of experiments, or of one model",
     "With DIR, collects the files of sweep -o and compare -o in DIR and its subfolders, and writes "
     "one self-contained HTML page: the scores of each data set, figures, tables, the commands and "
     "the machines. Other SVG figures in DIR are included. With MODEL TEST, writes such a page for "
     "one model: its expected and measured score, where it is wrong, which columns matter, how "
     "predictions move with them, what was tried, and how to use it. Without gnuplot the page has "
     "no figures of its own.",
     "kerbin sweep --values 0.1:10:9 -o results/sigma.csv train.csv test.csv\n"
     "kerbin report -o report.html results\n"
     "kerbin report -o model.html train.kerbin test.csv",
     report_run, 0},
    {"generate", "NAME", 1, 1, "synthetic random", "", FILE_ | QUIET,
     "write a synthetic data set",
     "Writes a synthetic data set as LIBSVM text, or as CSV if FILE ends in .csv.",
     "kerbin generate checkers --rows 20000 --noise 0.05 -o train.csv",
     generate_run, 0},
    {"demo", "", 0, 0, "", "", FOLDER | THREADS | QUIET,
     "a tour on a built-in data set",
     "Generates a data set, compares random binning with random Fourier features, trains both at the "
     "same rank, predicts, draws both decision functions, and collects all results in "
     "DIR/report.html. Takes less than a minute on two cores. Without gnuplot there are no figures.",
     "kerbin demo\n"
     "kerbin demo -o /tmp/demo",
     demo_run, 0},
    {"help", "[COMMAND]", 0, 1, "", "", MAN | MARKDOWN | COMPLETION,
     "show the commands, or the options of one",
     "Prints the commands, or the options of one.",
     "kerbin help train",
     help_run, 1},
    {0},
};
/* clang-format on */

const cli_command *command_find(const char *name) {
    for (const cli_command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

/* argv: behind the names of the program and the command. */
static int run_command(const cli_command *command, int argc, char **argv) {
    cli_args args;
    int status = args_parse(&args, command, argc, argv);
    if (status == 0 && args.help)
        status = help_command(command);
    else if (status == 0 && ranks_count() > 1 && !command->by_ranks) {
        put_sentence("kerbin: %s runs in one process: use kerbin, or one rank", command->name);
        status = 2;
    } else if (status == 0) {
        args.program = argv[-2];
        put_nothing(0);
        status = command->run(&args);
    }
    args_free(&args);
    interrupt_finish();
    return status;
}

/* Freed memory returns to the system at once, and one arena serves all threads: the library
 * allocates few and large blocks, one at a time. */
static void spare_memory(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 1 << 18);
#endif
}

/* All ranks are told the same by the command line, and rank 0 says what follows from it.  What the
 * others write to standard output is dropped. */
static void hush_ranks(void) {
    int nowhere = ranks_me() > 0 ? open("/dev/null", O_WRONLY) : -1;
    put_nothing(ranks_me() > 0);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        close(nowhere);
    }
}

static int run(int argc, char **argv) {
    const char *first = argc > 1 ? argv[1] : "";
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
        first = "help";
    if (strcmp(first, "--version") == 0) {
        printf("kerbin %s\n", kb_version());
        return finish_stdout();
    }
    const cli_command *command = command_find(first);
    if (command)
        return run_command(command, argc - 2, argv + 2);
    if (*first || ranks_me() == 0)
        help_unknown(first);
    return 2;
}

int main(int argc, char **argv) {
    /* Large enough for all but the longest results, so that a failing write fails at the end, where
     * its reason can be reported. */
    static char buffer[1 << 16];
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    spare_memory();
    int status = ranks_begin(&argc, &argv);
    if (status != 0)
        return status;
    interrupt_install();
    hush_ranks();
    status = run(argc, argv);
    ranks_finish(status);
    return status;
}
