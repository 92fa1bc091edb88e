/*
 * demo.c - kerbin demo: the whole story on a built-in data set.
 *
 * Every step goes the way a user's own data would go, through files in a temporary
 * directory, and is shown as the command that does the same.
 */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "report.h"
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRAIN_FILE "train.libsvm"
#define TEST_FILE  "test.libsvm"
#define MODEL_FILE "demo.kerbin"
#define LABEL_FILE "labels.txt"

enum { PICTURE_COLUMNS = 48, PICTURE_LINES = 24 };

/* "/tmp/kerbin-demo.Ab12Cd" and paths in it. */
typedef struct folder {
    char path[512];
    char file[576];
} folder;

static kb_status folder_create(session *s, folder *f) {
    const char *parent = getenv("TMPDIR");
    snprintf(f->path, sizeof f->path, "%s/kerbin-demo.XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(f->path)) {
        const char *why = strerror(errno);
        kb_status status =
            session_fail(s, KB_ERR_IO, "%s: cannot make a directory: %s", f->path, why);
        f->path[0] = '\0';
        return status;
    }
    return KB_OK;
}

static const char *in_folder(folder *f, const char *name) {
    snprintf(f->file, sizeof f->file, "%s/%s", f->path, name);
    return f->file;
}

static void folder_remove(folder *f) {
    static const char *const names[] = {TRAIN_FILE, TEST_FILE, MODEL_FILE, LABEL_FILE};
    if (!f->path[0])
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(in_folder(f, names[i]));
    rmdir(f->path);
}

static kb_status generate(session *s, folder *f, const char *rows, const char *noise,
                          const char *seed, const char *name) {
    kb_status status;
    kb_data *data = NULL;
    printf("  $ kerbin generate checkers --rows %s --noise %s --seed %s -o %s\n", rows, noise, seed,
           name);
    TRY(kb_options_set(s->ctx, s->options, "rows", rows));
    TRY(kb_options_set(s->ctx, s->options, "noise", noise));
    TRY(kb_options_set(s->ctx, s->options, "seed", seed));
    TRY(kb_data_generate(s->ctx, s->options, "checkers", &data));
    TRY(kb_data_write(s->ctx, data, in_folder(f, name)));
done:
    kb_data_free(data);
    return status;
}

static kb_status train(session *s, folder *f) {
    kb_status status;
    kb_data *data = NULL;
    kb_model *model = NULL;
    puts("  $ kerbin train -o " MODEL_FILE " " TRAIN_FILE "\n");
    fflush(stdout);
    TRY(kb_options_set(s->ctx, s->options, "seed", "1"));
    double begun = seconds_now();
    TRY(kb_data_read(s->ctx, s->options, in_folder(f, TRAIN_FILE), NULL, &data));
    TRY(kb_model_fit(s->ctx, s->options, data, &model));
    TRY(kb_model_write(s->ctx, model, in_folder(f, MODEL_FILE)));
    double seconds = seconds_now() - begun;
    const kb_fit_info *info = kb_model_info(model);
    report_fit(stdout, info);
    printf("time      bin %.2f s, solve %.2f s; %.2f s in all\n", info->bin_seconds,
           info->solve_seconds, seconds);
    printf("memory    %s at the peak, of which %s for the bin numbers\n",
           size_in_words(peak_memory()).text, size_in_words(info->id_bytes).text);
    printf("model     %s\n", size_in_words(file_size(f->file)).text);
done:
    kb_model_free(model);
    kb_data_free(data);
    return status;
}

static kb_status predict(session *s, folder *f, const kb_model *model) {
    kb_status status;
    kb_data *data = NULL;
    double *decision = NULL;
    kb_score score;
    puts("  $ kerbin predict -o " LABEL_FILE " " MODEL_FILE " " TEST_FILE "\n");
    TRY(kb_data_read(s->ctx, s->options, in_folder(f, TEST_FILE), model, &data));
    size_t rows = kb_data_rows(data);
    decision = calloc(rows, kb_model_info(model)->outputs * sizeof *decision);
    if (!decision)
        TRY(KB_ERR_MEMORY);
    double begun = seconds_now();
    TRY(kb_model_decide(s->ctx, model, data, decision));
    double seconds = seconds_now() - begun;
    TRY(kb_model_score(s->ctx, model, data, decision, &score));
    TRY(kb_model_write_predictions(s->ctx, model, rows, decision, 0, in_folder(f, LABEL_FILE)));
    report_score(stdout, kb_model_info(model), &score, rows);
    printf("%.2f microseconds a row\n", 1e6 * seconds / (double)rows);
done:
    free(decision);
    kb_data_free(data);
    return status;
}

/* The decision over the square: '#' and blanks far from the border, fainter near it. */
static kb_status draw(session *s, const kb_model *model) {
    static double points[PICTURE_LINES * PICTURE_COLUMNS][2];
    static double decision[PICTURE_LINES * PICTURE_COLUMNS];
    static const char shade[] = " .:=+*#";
    const int shades = (int)sizeof shade - 1;
    kb_status status;
    kb_data *data = NULL;
    for (int i = 0; i < PICTURE_LINES * PICTURE_COLUMNS; i++) {
        points[i][0] = (i % PICTURE_COLUMNS + 0.5) / PICTURE_COLUMNS;
        points[i][1] = 1 - ((double)(i / PICTURE_COLUMNS) + 0.5) / PICTURE_LINES;
    }
    TRY(kb_data_from_dense(s->ctx, PICTURE_LINES * PICTURE_COLUMNS, 2, points[0], NULL, &data));
    TRY(kb_model_decide(s->ctx, model, data, decision));
    for (int i = 0; i < PICTURE_LINES * PICTURE_COLUMNS; i++) {
        int level = (int)((decision[i] + 1) / 2 * shades);
        level = level < 0 ? 0 : level >= shades ? shades - 1 : level;
        printf("%s%c%s", i % PICTURE_COLUMNS ? "" : "  |", shade[level],
               (i + 1) % PICTURE_COLUMNS ? "" : "|\n");
    }
done:
    kb_data_free(data);
    return status;
}

int demo_run(const cli_args *args) {
    session s;
    kb_status status;
    folder f = {0};
    kb_model *model = NULL;

    TRY(session_open(&s, args));
    TRY(folder_create(&s, &f));
    puts("A checkerboard, which no straight line can split, with a twentieth of its labels wrong;\n"
         "and a clean one to be judged by.\n");
    TRY(generate(&s, &f, "20000", "0.05", "1", TRAIN_FILE));
    TRY(generate(&s, &f, "10000", "0", "2", TEST_FILE));
    puts("\nTrain, and save the model.\n");
    TRY(train(&s, &f));
    puts("\nLoad the model, and predict samples that it has not seen.\n");
    TRY(kb_model_read(s.ctx, in_folder(&f, MODEL_FILE), &model));
    TRY(predict(&s, &f, model));
    puts("\nWhat it has learnt, over the whole square:\n");
    TRY(draw(&s, model));
    puts("\nNow with your own data, LIBSVM text or CSV:\n\n"
         "  $ kerbin train mine.csv\n"
         "  $ kerbin predict mine.kerbin new.csv\n"
         "  $ kerbin help train");
done:
    kb_model_free(model);
    folder_remove(&f);
    return session_close(&s, status);
}
