/*
 * train_and_predict.c - a tour of kerbin's C interface: data from memory,
 * a fit, a saved model, and its predictions.
 *
 *     cc train_and_predict.c $(pkg-config --cflags --libs kerbin) -lm
 *     ./a.out [MODEL]
 *
 * It makes its own data, and saves the model as MODEL (rings.kerbin), a file that must not be
 * there yet.
 */
#include <kerbin.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRAIN_ROWS = 4000, TEST_ROWS = 1000, FEATURES = 2 };

/* Everything below that can fail ends here. */
static void check(kb_context *ctx, kb_status status) {
    if (status == KB_OK)
        return;
    fprintf(stderr, "%s\n", ctx ? kb_context_message(ctx) : "out of memory");
    exit(EXIT_FAILURE);
}

/* Points spread evenly over the unit square; the label says whether a point lies
 * inside a ring, which no linear model can learn. */
static kb_data *make_rings(kb_context *ctx, size_t rows, size_t first) {
    double(*x)[FEATURES] = malloc(rows * sizeof *x);
    double *y = malloc(rows * sizeof *y);
    kb_data *data;
    if (!x || !y)
        check(NULL, KB_ERR_MEMORY);
    for (size_t i = 0; i < rows; i++) {
        double n = (double)(first + i); /* multiples of two irrationals never repeat */
        x[i][0] = fmod(n * 0.7548776662466927, 1);
        x[i][1] = fmod(n * 0.5698402909980532, 1);
        double radius = hypot(x[i][0] - 0.5, x[i][1] - 0.5);
        y[i] = radius > 0.2 && radius < 0.4 ? 1 : -1;
    }
    kb_arrays arrays = KB_ARRAYS_INIT;
    arrays.rows = rows;
    arrays.features = FEATURES;
    arrays.values = x;
    arrays.labels = y;
    check(ctx, kb_data_from_arrays(ctx, &arrays, &data));
    free(x); /* kerbin has its own copy */
    free(y);
    return data;
}

static void train(kb_context *ctx, const char *path) {
    kb_options *options;
    kb_model *model;
    kb_data *data = make_rings(ctx, TRAIN_ROWS, 0);

    check(ctx, kb_options_create(ctx, &options));
    check(ctx, kb_options_set(ctx, options, "sigma", "0.3"));
    check(ctx, kb_options_set(ctx, options, "lambda", "0.1"));
    check(ctx, kb_options_set(ctx, options, "grids", "128"));
    check(ctx, kb_model_fit(ctx, options, data, &model));
    check(ctx, kb_model_write(ctx, model, path));

    const kb_fit_info *info = kb_model_info(model);
    printf("%s: %zu rows, R = %zu grids, D = %zu bins, %zu steps, %.1f %% right\n", info->task,
           info->rows, info->grids, info->bins, info->steps, 100 * info->train_score);
    kb_model_free(model);
    kb_data_free(data);
    kb_options_free(options);
}

static double predict(kb_context *ctx, const char *path) {
    static double decision[TEST_ROWS], label[TEST_ROWS]; /* two classes: one output a row */
    kb_model *model;
    kb_score score = KB_SCORE_INIT;
    kb_data *data = make_rings(ctx, TEST_ROWS, TRAIN_ROWS);

    check(ctx, kb_model_read(ctx, path, &model));
    check(ctx, kb_model_decide(ctx, model, data, decision));
    kb_model_label(model, TEST_ROWS, decision, label);
    check(ctx, kb_model_score(ctx, model, data, decision, &score));
    printf("first point: decision %+.3f, so class %g\n", decision[0], label[0]);
    printf("test: %.1f %% of %d new points right\n", 100 * score.accuracy, TEST_ROWS);
    kb_model_free(model);
    kb_data_free(data);
    return score.accuracy;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "rings.kerbin";
    kb_context *ctx;
    FILE *there = fopen(path, "rb");
    if (there) {
        fprintf(stderr, "%s: is there already; give a name for a new model file\n", path);
        fclose(there);
        return EXIT_FAILURE;
    }
    check(NULL, kb_context_create(NULL, &ctx));
    train(ctx, path);
    double accuracy = predict(ctx, path);
    kb_context_free(ctx);
    return accuracy > 0.9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
