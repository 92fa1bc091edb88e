/*
 * tune.c - sigma, widths, lambda, steps, loss and grids for random binning.
 *
 *   rows     a validation part, or folds, and at most POOL others to learn from
 *   sigma    one for all features: by factors of 2 with few grids and rows, then by 1.5
 *   widths   one for each feature (shape.c), with a common factor found in the same way
 *   judge    the candidates with more grids and as many steps as help; learnt widths must be
 *            better than equal ones by more than luck
 *   grids    from how much twice as many brought
 *   loss     for classes the logistic one, if it is better by more than luck
 *
 * Every score is that of rows that took no part in learning the widths.  The fit itself then
 * takes all rows, with fresh grids.
 */
#include "data/scaling.h"
#include "model/choose.h"
#include "model/learn.h"
#include "model/map.h"
#include "model/shape.h"
#include "model/sigma.h"
#include "model/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows held out, rows to learn from, and rows for the first look at sigma. */
enum { HELD = 5000, POOL = 12000, FIRST_ROWS = 8000 };
static const double HELD_SHARE = 0.2, FIRST_SHARE = 0.25;
/* With many outputs and folds there are fewer rows: so many numbers in all. */
enum { CELLS = 2000000, POOL_LEAST = 2000 };

enum { FIRST_GRIDS = 64, CLIMB_GRIDS = 128, JUDGE_GRIDS = 256 };
enum { LEAST_GRIDS = 512, MOST_GRIDS = 1024 };
enum { FIRST_STEPS = 12, CLIMB_STEPS = 15 };
enum { CLIMB_MOST = 8 };

/* Uncut features are learnt where there are so many columns. */
enum { SPARSE_COLUMNS = 40 };
/* Widths are learnt from no fewer rows. */
enum { LEARN_ROWS = 400 };
/* Unless they are asked for, widths are learnt for no more columns: each step draws a width for
 * every column and grid, however few entries the rows have. */
enum { LEARN_COLUMNS = 10000 };

/* Wider bins are the safer bet for rows that differ from those held out: they may cost so many
 * errors, and no more than one in so many rows, up to this share of the score. */
static const double FEW_ERRORS = 2, ROWS_OF_AN_ERROR = 500, MOST_SLACK = 0.5;
/* Learnt widths must be better than equal ones by all that may be luck, and sparse ones than dense;
 * the hedge may be worse by some of it; and what is to be better must be so by LEAST_GAIN. */
static const double SOME_LUCK = 0.5, ALL_LUCK = 1, LEAST_GAIN = 0.01;
/* Equal widths that are behind by so much luck need no closer look. */
static const double FAR_BEHIND = 2;
/* The trials of other losses begin around lambda of the square loss, or this if it is below. */
static const double SMOOTH_LAMBDA = 0.01;
/* A fit that stops by its number of steps stops for nothing else, unless it is done. */
static const double EARLY_TOL = 1e-9;
/* More grids are taken as long as they are expected to lower the squared error by this. */
static const double GRID_GAIN = 0.01;

/* A kernel, and what is known of it. */
typedef struct candidate {
    const char *what;
    kb_widths widths;
    double sigma; /* of equal widths, else 0 */
    kb_trial climb, judge;
} candidate;

enum { EQUAL, DENSE, SPARSE, BOTH, CANDIDATES };

typedef struct tuner {
    kb_choice *choice;
    const kb_options *options;
    kb_targets targets;
    kb_map *map; /* for its scaling */
    kb_law *law;
    kb_split_kind split;
    size_t folds; /* 0: one validation part */
    uint64_t seed;
    kb_sample sample;
    double spread; /* mean absolute deviation of the columns */
    size_t pool;
    uint32_t *row; /* of the sample, to learn widths from */
    double given_lambda;
    candidate candidate[CANDIDATES];
    int best;
} tuner;

/* ---- rows -------------------------------------------------------------- */

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Of the rows that are held out, or of those that are not, `most` at most by chance. */
static size_t pick(const tuner *t, const kb_folds *folds, int held, size_t most, uint32_t *rows) {
    size_t all = 0, taken = 0;
    for (size_t i = 0; i < folds->rows; i++)
        all += (folds->fold[i] != KB_FOLD_NONE) == held;
    for (size_t i = 0; i < folds->rows; i++) {
        if ((folds->fold[i] != KB_FOLD_NONE) != held)
            continue;
        double u = kb_random_uniform(t->seed, KB_STREAM_TUNE_ROW, UINT64_MAX, (uint32_t)i).u;
        if (u * (double)all < (double)(most - taken))
            rows[taken++] = (uint32_t)i;
        all--;
    }
    return taken;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The rows of all that are worked with, in their order: those held out, and others. */
static kb_status pick_rows(kb_context *ctx, tuner *t, const kb_data *data, kb_folds *folds,
                           uint32_t **rows, size_t *count) {
    kb_status status;
    size_t most = least(POOL, CELLS / (t->targets.outputs * (t->folds ? t->folds : 1)));
    most = most > POOL_LEAST ? most : POOL_LEAST;
    TRY(kb_folds_build(ctx, t->split, t->folds, HELD_SHARE, least(HELD, most / 4), t->seed,
                       data->rows, t->targets.class_of, data->group, folds));
    TRY(kb_alloc(ctx, data->rows, sizeof **rows, rows));
    *count = pick(t, folds, 1, t->folds ? most + least(HELD, most / 4) : SIZE_MAX / 2, *rows);
    *count += pick(t, folds, 0, most, *rows + *count);
    qsort(*rows, *count, sizeof **rows, by_number);
done:
    return status;
}

/* x: the rows in hand, after the transform; the scaling itself is learnt on all rows. */
static kb_status scale_rows(kb_context *ctx, tuner *t, const kb_data *data, const kb_data *rows) {
    kb_status status;
    kb_data *scaled = NULL;
    double *spread = NULL;
    TRY(kb_map_begin(ctx, t->choice->options, data, &t->map));
    if (t->map->transform) {
        TRY(kb_transform_apply(ctx, t->map->transform, rows, &t->sample.x));
        for (size_t j = 0; j < t->map->columns; j++) {
            t->map->shift[j] = 0;
            t->map->scale[j] = 1;
        }
    } else {
        TRY(kb_map_scale(ctx, t->choice->options, data, t->map, &scaled));
        uint32_t *all;
        TRY(kb_alloc(ctx, rows->rows, sizeof *all, &all));
        for (size_t i = 0; i < rows->rows; i++)
            all[i] = (uint32_t)i;
        status = kb_data_take(ctx, rows, rows->rows, all, &t->sample.x);
        kb_release(ctx, all);
        TRY(status);
    }
    t->sample.shift = t->map->shift;
    t->sample.scale = t->map->scale;
    TRY(kb_alloc(ctx, t->map->columns, sizeof *spread, &spread));
    TRY(kb_scaling_deviations(ctx, t->sample.x, t->sample.shift, t->sample.scale, spread));
    t->spread = kb_scaling_mean(spread, t->map->columns);
done:
    kb_data_free(scaled);
    kb_release(ctx, spread);
    return status;
}

/* Targets, weights and groups of the rows. */
static kb_status label_rows(kb_context *ctx, tuner *t, const kb_data *data, size_t count,
                            const uint32_t *rows) {
    kb_status status;
    kb_sample *s = &t->sample;
    size_t C = t->targets.outputs;
    double *weight = NULL, *y = NULL;
    s->C = C;
    TRY(kb_alloc(ctx, count * C, sizeof *s->y, &s->y));
    TRY(kb_alloc(ctx, data->rows, sizeof *y, &y));
    for (size_t c = 0; c < C; c++) {
        kb_targets_fill(&t->targets, data->rows, c, 1, y);
        for (size_t i = 0; i < count; i++)
            s->y[i * C + c] = y[rows[i]];
    }
    TRY(kb_weights_build(ctx, t->options, data, &t->targets, &weight));
    if (weight) {
        TRY(kb_alloc(ctx, count, sizeof *s->weight, &s->weight));
        TRY(kb_alloc(ctx, count, sizeof *s->root, &s->root));
    }
    for (size_t i = 0; weight && i < count; i++) {
        s->weight[i] = weight[rows[i]];
        s->root[i] = sqrt(s->weight[i]);
    }
    if (t->targets.classes)
        TRY(kb_alloc(ctx, count, sizeof *s->class_of, &s->class_of));
    for (size_t i = 0; s->class_of && i < count; i++)
        s->class_of[i] = t->targets.class_of[rows[i]];
    if (data->group)
        TRY(kb_alloc(ctx, count, sizeof *s->group, &s->group));
    for (size_t i = 0; s->group && i < count; i++)
        s->group[i] = data->group[rows[i]];
done:
    kb_release(ctx, weight);
    kb_release(ctx, y);
    return status;
}

/* The widths are learnt from rows that the first fold does not hold out. */
static kb_status fill_pool(kb_context *ctx, tuner *t) {
    kb_status status;
    kb_folds *f = &t->sample.folds;
    TRY(kb_alloc(ctx, f->rows, sizeof *t->row, &t->row));
    for (size_t i = 0; i < f->rows; i++)
        if (kb_folds_fits(f, i, 0))
            t->row[t->pool++] = (uint32_t)i;
done:
    return status;
}

static kb_status prepare(kb_context *ctx, tuner *t, const kb_data *data) {
    kb_status status;
    kb_folds all = {0}, *f = &t->sample.folds;
    uint32_t *rows = NULL;
    kb_data *some = NULL;
    size_t count;
    TRY(pick_rows(ctx, t, data, &all, &rows, &count));
    TRY(kb_data_take(ctx, data, count, rows, &some));
    TRY(scale_rows(ctx, t, data, some));
    TRY(label_rows(ctx, t, data, count, rows));
    *f = (kb_folds){.rows = count, .folds = all.folds, .ordered = all.ordered};
    TRY(kb_alloc(ctx, count, 1, &f->fold));
    for (size_t i = 0; i < count; i++)
        f->fold[i] = all.fold[rows[i]];
    TRY(fill_pool(ctx, t));
done:
    kb_folds_release(ctx, &all);
    kb_release(ctx, rows);
    kb_data_free(some);
    return status;
}

/* ---- widths ------------------------------------------------------------ */

static kb_status make_widths(kb_context *ctx, size_t vectors, size_t features, kb_widths *out) {
    *out = (kb_widths){vectors, features, NULL};
    return kb_alloc(ctx, vectors * features, sizeof *out->width, &out->width);
}

static kb_status equal_widths(kb_context *ctx, const tuner *t, double sigma, kb_widths *out) {
    kb_status status = make_widths(ctx, 1, t->map->columns, out);
    for (size_t j = 0; status == KB_OK && j < out->features; j++)
        out->width[j] = (kb_width){t->law, sigma, 1};
    return status;
}

static void multiply(kb_widths *w, double factor) {
    for (size_t k = 0; k < w->vectors * w->features; k++)
        w->width[k].sigma *= factor;
}

static kb_status join_widths(kb_context *ctx, const kb_widths *a, const kb_widths *b,
                             kb_widths *out) {
    size_t count = a->vectors * a->features, more = b->vectors * b->features;
    kb_status status = make_widths(ctx, a->vectors + b->vectors, a->features, out);
    if (status != KB_OK)
        return status;
    memcpy(out->width, a->width, count * sizeof *out->width);
    memcpy(out->width + count, b->width, more * sizeof *out->width);
    return KB_OK;
}

/* ---- trials ------------------------------------------------------------ */

static kb_status note(kb_context *ctx, tuner *t, const candidate *c, const kb_trial *trial) {
    kb_tried tried = {.widths = c->what,
                      .loss = "square",
                      .sigma = c->sigma,
                      .lambda = trial->lambda,
                      .grids = trial->grids,
                      .steps = trial->steps,
                      .error = trial->error};
    return kb_choice_note(ctx, t->choice, &tried);
}

static kb_status try_one(kb_context *ctx, tuner *t, const kb_sample *sample, candidate *c,
                         size_t grids, size_t steps, kb_trial *out) {
    kb_status status;
    kb_trial trial = {
        .grids = grids, .max_steps = steps, .seed = t->seed + 1, .given_lambda = t->given_lambda};
    TRY(kb_trial_run(ctx, sample, &c->widths, &trial));
    TRY(note(ctx, t, c, &trial));
    *out = trial;
done:
    return status;
}

static size_t held_rows(const kb_sample *s) {
    size_t held = 0;
    for (size_t i = 0; i < s->x->rows; i++)
        held += kb_folds_holds(&s->folds, i, 0);
    return held;
}

/* Errors of a trial on the rows of the first fold. */
static double errors(const kb_sample *s, const kb_trial *trial) {
    return fmax((double)held_rows(s) * trial->error, 1);
}

/* By how much of the score wider bins may be worse. */
static double slack_of(const kb_sample *s, const kb_trial *trial) {
    double few = fmin(FEW_ERRORS, (double)held_rows(s) / ROWS_OF_AN_ERROR);
    return s->class_of ? fmin(few / errors(s, trial), MOST_SLACK) : 0;
}

/* How much of a trial's score may be luck: of n rows with the share e of errors, about
 * sqrt(n e (1 - e)) errors are, which is little where nearly all are wrong. */
static double luck(const kb_sample *s, const kb_trial *trial) {
    return s->class_of ? sqrt(fmax(1 - trial->error, 0) / errors(s, trial)) : 0;
}

/* A common factor for all widths: by steps of `by` as long as they help, up and then down.  Wider
 * bins are taken where they cost no more than a few errors. */
static kb_status climb(kb_context *ctx, tuner *t, const kb_sample *sample, candidate *c,
                       size_t grids, size_t steps, double by) {
    kb_status status;
    TRY(try_one(ctx, t, sample, c, grids, steps, &c->climb));
    for (int down = 0; down < 2; down++) {
        double factor = down ? 1 / by : by, best = c->climb.score;
        int moved = 0;
        for (int k = 0; k < CLIMB_MOST && !kb_choice_is_late(t->choice, 0.7); k++) {
            kb_trial trial;
            double slack = slack_of(sample, &c->climb);
            multiply(&c->widths, factor);
            c->sigma *= factor;
            TRY(try_one(ctx, t, sample, c, grids, steps, &trial));
            if (trial.score >= best * (down ? 1 - slack / 2 : 1 + slack)) {
                multiply(&c->widths, 1 / factor);
                c->sigma /= factor;
                break;
            }
            c->climb = trial;
            best = fmin(best, trial.score);
            moved = 1;
        }
        if (moved)
            break;
    }
done:
    return status;
}

/* The first look, on few rows. */
static kb_status look(kb_context *ctx, tuner *t, candidate *c) {
    kb_status status;
    kb_sample some = {0};
    size_t count = least(t->pool, FIRST_ROWS);
    uint32_t *rows = NULL;
    TRY(kb_alloc(ctx, count, sizeof *rows, &rows));
    for (size_t i = 0; i < count; i++)
        rows[i] = t->row[i * t->pool / count];
    TRY(kb_sample_take(ctx, &t->sample, count, rows, &some));
    TRY(kb_sample_split(ctx, t->split, 0, FIRST_SHARE, t->seed, &some));
    TRY(climb(ctx, t, &some, c, FIRST_GRIDS, FIRST_STEPS, 2));
done:
    kb_sample_release(ctx, &some);
    kb_release(ctx, rows);
    return status;
}

static size_t most_steps(const tuner *t) {
    return t->sample.C == 1 ? 150 : t->sample.C < 10 ? 100 : 60;
}

/* What a score must be below, to be better than this trial by more than so much luck. */
static double bar(const tuner *t, const kb_trial *trial, double share) {
    return trial->score * (1 - fmin(fmax(share * luck(&t->sample, trial), LEAST_GAIN), 0.5));
}

/* ---- the stages -------------------------------------------------------- */

static kb_status tune_sigma(kb_context *ctx, tuner *t) {
    kb_status status;
    candidate *c = &t->candidate[EQUAL];
    const char *sigma = kb_options_text(t->options, KB_OPT_SIGMA);
    char *words = NULL;
    c->what = "equal";
    TRY(kb_law_parse(ctx, kb_options_text(t->options, KB_OPT_KERNEL), &t->law));
    if (!kb_options_is_auto(t->options, KB_OPT_SIGMA)) {
        c->what = "given";
        c->widths.features = t->map->columns;
        TRY(kb_sigma_parse(ctx, sigma, t->law, t->map->columns, t->spread, &c->widths.vectors,
                           &c->widths.width, &words));
        c->sigma = c->widths.vectors == 1 ? c->widths.width[0].sigma : 0;
        TRY(try_one(ctx, t, &t->sample, c, CLIMB_GRIDS, CLIMB_STEPS, &c->climb));
        goto done;
    }
    c->sigma = t->spread > 0 ? 0.25 * (double)t->map->columns * t->spread : 1;
    TRY(equal_widths(ctx, t, c->sigma, &c->widths));
    TRY(look(ctx, t, c));
    TRY(kb_progress(ctx, "tune", 0.05));
    TRY(climb(ctx, t, &t->sample, c, CLIMB_GRIDS, CLIMB_STEPS, 1.5));
    TRY(kb_progress(ctx, "tune", 0.15));
done:
    kb_release(ctx, words);
    return status;
}

/* Equal widths as one vector more: they are a hedge against what the held-out rows cannot tell, and
 * are kept unless these clearly speak against it. */
static kb_status hedge(kb_context *ctx, tuner *t, candidate *c) {
    kb_status status;
    candidate mixed = *c;
    mixed.what = "learned and equal";
    TRY(join_widths(ctx, &c->widths, &t->candidate[EQUAL].widths, &mixed.widths));
    TRY(try_one(ctx, t, &t->sample, &mixed, CLIMB_GRIDS, CLIMB_STEPS, &mixed.climb));
    double slack = SOME_LUCK * luck(&t->sample, &c->climb);
    if (mixed.climb.score <= c->climb.score * (1 + slack)) {
        kb_width *old = c->widths.width;
        *c = mixed;
        mixed.widths.width = old;
    }
done:
    kb_release(ctx, mixed.widths.width);
    return status;
}

static kb_status learn_widths(kb_context *ctx, tuner *t, int which, double from, double to) {
    kb_status status;
    candidate *c = &t->candidate[which];
    kb_shaping shaping = {.sample = &t->sample,
                          .split = t->split,
                          .pool = t->pool,
                          .row = t->row,
                          .law = t->law,
                          .sigma = t->candidate[EQUAL].sigma,
                          .vectors = 2,
                          .sparse = which == SPARSE,
                          .seed = t->seed * CANDIDATES + (uint64_t)which,
                          .from = from,
                          .to = to};
    c->what = which == SPARSE ? "learned, sparse" : "learned";
    TRY(kb_shape_learn(ctx, &shaping, &c->widths));
    TRY(climb(ctx, t, &t->sample, c, CLIMB_GRIDS, CLIMB_STEPS, 1.5));
    if (which == DENSE)
        TRY(hedge(ctx, t, c));
    TRY(kb_progress(ctx, "tune", to));
done:
    return status;
}

static int must_learn(const tuner *t) {
    return strcmp(kb_options_text(t->options, KB_OPT_WIDTHS), "learned") == 0;
}

static int may_learn(const tuner *t) {
    return strcmp(kb_options_text(t->options, KB_OPT_WIDTHS), "equal") != 0 &&
           kb_options_is_auto(t->options, KB_OPT_SIGMA) && t->law->kind == KB_LAW_LAPLACE &&
           t->map->columns > 1 && t->pool >= LEARN_ROWS &&
           (t->map->columns <= LEARN_COLUMNS || must_learn(t));
}

static kb_status tune_widths(kb_context *ctx, tuner *t) {
    kb_status status = KB_OK;
    int both = t->map->columns >= SPARSE_COLUMNS, may = may_learn(t);
    if (!may || kb_choice_is_late(t->choice, 0.3)) {
        if (must_learn(t))
            kb_log(ctx, KB_LOG_WARNING, "--widths learned: the widths are equal, because %s",
                   may                     ? "the budget is spent"
                   : t->pool >= LEARN_ROWS ? "one column only varies"
                                           : "there are too few rows to learn from");
        goto done;
    }
    TRY(learn_widths(ctx, t, DENSE, 0.15, both ? 0.4 : 0.65));
    if (both && !kb_choice_is_late(t->choice, 0.5))
        TRY(learn_widths(ctx, t, SPARSE, 0.4, 0.65));
done:
    return status;
}

static kb_status judge(kb_context *ctx, tuner *t, int which) {
    return try_one(ctx, t, &t->sample, &t->candidate[which], JUDGE_GRIDS, most_steps(t),
                   &t->candidate[which].judge);
}

/* Learnt widths must be better than equal ones, sparse ones than dense, and both together than
 * the better of them; the simplest is the one to beat. */
static kb_status tune_kernel(kb_context *ctx, tuner *t) {
    kb_status status;
    candidate *c = t->candidate;
    int behind =
        c[DENSE].widths.width && bar(t, &c[EQUAL].climb, FAR_BEHIND) > c[DENSE].climb.score;
    if (!behind)
        TRY(judge(ctx, t, EQUAL));
    TRY(kb_progress(ctx, "tune", 0.7));
    if (!c[DENSE].widths.width)
        goto done;
    TRY(judge(ctx, t, DENSE));
    if (must_learn(t) || behind || c[DENSE].judge.score < bar(t, &c[EQUAL].judge, ALL_LUCK))
        t->best = DENSE;
    TRY(kb_progress(ctx, "tune", 0.75));
    if (!c[SPARSE].widths.width)
        goto done;
    TRY(judge(ctx, t, SPARSE));
    if (c[SPARSE].judge.score < bar(t, &c[t->best].judge, ALL_LUCK))
        t->best = SPARSE;
    c[BOTH].what = "learned, both";
    TRY(join_widths(ctx, &c[DENSE].widths, &c[SPARSE].widths, &c[BOTH].widths));
    TRY(judge(ctx, t, BOTH));
    if (c[BOTH].judge.score < bar(t, &c[t->best].judge, ALL_LUCK))
        t->best = BOTH;
done:
    return status;
}

/* With R grids the squared error is above its limit by about c/R, so what the last doubling gained
 * is what all further ones can. */
static size_t enough_grids(const kb_trial *half, const kb_trial *full) {
    double gain = half->square - full->square, target = GRID_GAIN * full->square;
    double grids = JUDGE_GRIDS;
    while (grids < MOST_GRIDS && gain > target) {
        grids *= 2;
        gain /= 2;
    }
    return (size_t)fmax(grids, LEAST_GRIDS);
}

static kb_status tune_grids(kb_context *ctx, tuner *t) {
    kb_status status = KB_OK;
    candidate *c = &t->candidate[t->best];
    if (!kb_options_is_auto(t->options, KB_OPT_GRIDS))
        return KB_OK;
    if (t->best == BOTH)
        TRY(try_one(ctx, t, &t->sample, c, CLIMB_GRIDS, CLIMB_STEPS, &c->climb));
    TRY(kb_choice_set_number(ctx, t->choice, KB_OPT_GRIDS,
                             (double)enough_grids(&c->climb, &c->judge)));
done:
    return status;
}

/* Logistic loss with lambdas below that of the square loss; another loss that was asked for with
 * some around it. */
static kb_status tune_loss(kb_context *ctx, tuner *t) {
    kb_status status = KB_OK;
    static const double below[] = {0.3, 0.1, 0.03, 0};
    static const double around[] = {10, 3, 1, 0.3, 0.1, 0.03, 0.01, 0};
    candidate *c = &t->candidate[t->best];
    int open = kb_options_is_auto(t->options, KB_OPT_LOSS);
    const kb_loss *loss =
        kb_loss_find(open ? "logistic" : kb_options_text(t->options, KB_OPT_LOSS));
    double best = open ? bar(t, &c->judge, SOME_LUCK) : INFINITY, lambda = 0;
    double middle = fmax(c->judge.lambda, SMOOTH_LAMBDA);
    kb_drawn drawn = {0};
    if (!t->sample.class_of || kb_learner_is_sparse(t->options) ||
        strcmp(loss->name, "square") == 0 || kb_choice_is_late(t->choice, 0.8))
        goto done;
    TRY(kb_drawn_build(ctx, &t->sample, &c->widths, JUDGE_GRIDS, t->seed + 1, &drawn));
    for (const double *factor = open ? below : around; *factor > 0; factor++) {
        kb_trial trial = {.grids = JUDGE_GRIDS,
                          .max_steps = most_steps(t),
                          .given_lambda = t->given_lambda > 0 ? t->given_lambda : middle * *factor};
        TRY(kb_trial_smooth(ctx, &t->sample, &drawn, loss, &trial));
        TRY(note(ctx, t, c, &trial));
        t->choice->tried[t->choice->count - 1].loss = loss->name;
        double score = trial.error * c->judge.score / fmax(c->judge.error, 1e-12);
        if (score >= best)
            break;
        best = score;
        lambda = trial.lambda;
    }
    if (lambda > 0) {
        TRY(kb_choice_set(ctx, t->choice, KB_OPT_LOSS, loss->name));
        TRY(kb_choice_set_number(ctx, t->choice, KB_OPT_LAMBDA, lambda));
    }
done:
    kb_drawn_release(&drawn);
    return status;
}

/* ---- the result -------------------------------------------------------- */

static kb_status conclude(kb_context *ctx, tuner *t) {
    kb_status status = KB_OK;
    kb_choice *out = t->choice;
    candidate *c = &t->candidate[t->best];
    int square = kb_options_is_auto(out->options, KB_OPT_LOSS) ||
                 strcmp(kb_options_text(out->options, KB_OPT_LOSS), "square") == 0;
    int stop = !kb_options_is_auto(t->options, KB_OPT_LAMBDA)
                   ? strcmp(kb_options_text(t->options, KB_OPT_EARLY_STOP), "on") == 0
                   : strcmp(kb_options_text(t->options, KB_OPT_EARLY_STOP), "off") != 0;
    if (t->best == EQUAL && kb_options_is_auto(t->options, KB_OPT_SIGMA))
        TRY(kb_choice_set_number(ctx, out, KB_OPT_SIGMA, c->sigma));
    if (t->best != EQUAL) {
        out->widths = c->widths;
        out->law = t->law;
        c->widths.width = NULL;
        t->law = NULL;
    }
    if (kb_learner_is_sparse(t->options))
        goto done;
    if (kb_options_is_auto(out->options, KB_OPT_LAMBDA))
        TRY(kb_choice_set_number(ctx, out, KB_OPT_LAMBDA, c->judge.lambda));
    if (square && stop) {
        size_t most = (size_t)kb_options_integer(t->options, KB_OPT_MAX_ITER);
        out->early = c->judge.steps <= most;
        TRY(kb_choice_set_number(ctx, out, KB_OPT_MAX_ITER, (double)least(c->judge.steps, most)));
        TRY(kb_choice_set_number(ctx, out, KB_OPT_TOL,
                                 fmin(EARLY_TOL, kb_options_real(t->options, KB_OPT_TOL))));
    }
    if (square && kb_options_is_auto(t->options, KB_OPT_INTERCEPT)) {
        TRY(kb_choice_set(ctx, out, KB_OPT_INTERCEPT, "mean"));
        out->fill = t->targets.classes == 0;
    }
done:
    return status;
}

static void release(kb_context *ctx, tuner *t) {
    kb_targets_release(ctx, &t->targets);
    kb_sample_release(ctx, &t->sample);
    kb_map_free(t->map);
    kb_release(ctx, t->row);
    for (int k = 0; k < CANDIDATES; k++)
        kb_release(ctx, t->candidate[k].widths.width);
    kb_law_free(t->law);
}

kb_status kb_tune(kb_context *ctx, const kb_data *data, kb_choice *choice) {
    kb_status status;
    const kb_options *o = choice->given;
    tuner t = {.choice = choice,
               .options = o,
               .folds = (size_t)kb_options_integer(o, KB_OPT_FOLDS),
               .seed = (uint64_t)kb_options_integer(o, KB_OPT_SEED),
               .best = EQUAL};
    if (!kb_options_is_auto(o, KB_OPT_LAMBDA))
        t.given_lambda = kb_options_real(o, KB_OPT_LAMBDA);
    TRY(kb_progress(ctx, "tune", 0));
    TRY(kb_targets_build(ctx, o, data, &t.targets));
    t.split = kb_split_of(o, t.targets.classes, data->rows);
    if (kb_options_is_auto(o, KB_OPT_SCALE)) /* a given sigma is for the columns as they are */
        TRY(kb_choice_set(ctx, choice, KB_OPT_SCALE,
                          kb_options_is_auto(o, KB_OPT_SIGMA) ? "ranks" : "minmax"));
    TRY(prepare(ctx, &t, data));
    TRY(tune_sigma(ctx, &t));
    TRY(tune_widths(ctx, &t));
    TRY(tune_kernel(ctx, &t));
    TRY(kb_progress(ctx, "tune", 0.85));
    TRY(tune_grids(ctx, &t));
    TRY(tune_loss(ctx, &t));
    TRY(kb_progress(ctx, "tune", 0.9));
    TRY(conclude(ctx, &t));
done:
    release(ctx, &t);
    return status;
}
