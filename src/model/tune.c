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
 * A validation part takes no part in learning the widths; of K folds only the first does not, so
 * scores of learnt widths are then too low.  The fit itself takes all rows, with fresh grids.
 */
#include "model/learn.h"
#include "model/samples.h"
#include "model/screen.h"
#include "model/shape.h"
#include "model/sigma.h"
#include "model/smooth.h"
#include "model/widths.h"

#include <math.h>
#include <string.h>

/* The first look at sigma takes fewer rows. */
enum { FIRST_ROWS = 8000 };
static const double FIRST_SHARE = 0.25;

enum { FIRST_GRIDS = 64, CLIMB_GRIDS = 128, JUDGE_GRIDS = KB_FIRST_GRIDS };
enum { LEAST_GRIDS = 512, MOST_GRIDS = 1024, GRIDS_STEP = 64 };
enum { FIRST_STEPS = 12, CLIMB_STEPS = 15 };
enum { CLIMB_MOST = 8 };
/* The share of the budget after which no width is moved any more. */
static const double CLIMB_TIME = 0.7;

/* With so many columns uncut features are learnt too, and learning begins with what each column
 * tells for itself: from equal widths it does not find few of many. */
enum { MANY_COLUMNS = 40 };
/* With fewer rows for each of many columns, what a column tells for itself is also worth more than
 * nothing, as equal widths are, for a hedge. */
enum { FEW_ROWS_A_COLUMN = 25 };
/* Widths are learnt from no fewer rows. */
enum { LEARN_ROWS = 60 };
/* Unless they are asked for, widths are learnt for no more columns: each step draws a width for
 * every column and grid, however few entries the rows have. */
enum { LEARN_COLUMNS = 10000 };
/* What is learnt once has a seed of its own: so many for each of the user's. */
enum { SEEDS = 4 };

/* Wider bins are the safer bet for rows that differ from those held out: they may cost so many
 * errors, and no more than one in so many rows, up to this share of the score.  Nor do as many
 * errors speak for learnt widths or another loss. */
static const double FEW_ERRORS = 2, ROWS_OF_AN_ERROR = 500, MOST_SLACK = 0.5;
/* Nor may wider bins cost more than this share of what the best has over knowing nothing. */
static const double MOST_LOST = 0.1;
/* What is to be better must be so by LUCK standard errors and by LEAST_GAIN of the score. */
static const double LUCK = 1, LOSS_LUCK = 0.5, LEAST_GAIN = 0.01;
/* Equal widths that are behind by so many standard errors need no closer look; the hedge is refused
 * for no less. */
static const double FAR_BEHIND = 3;
/* Another loss, with its first lambda. */
static const double LOSS_BEHIND = 2;
/* The trials of other losses begin at a share of the lambda of the square loss, or of this if it is
 * below. */
static const double SMOOTH_LAMBDA = 0.01, FIRST_SMOOTH = 0.1;
enum { SMOOTH_MOST = 5 };
/* Other losses are solved no closer than this where a fit may stop early: beyond it their held-out
 * errors move by no more than luck, and the steps double. */
static const double SMOOTH_TOL = 3e-3;
/* A fit that stops by its number of steps stops for nothing else, unless it is done. */
static const double EARLY_TOL = 1e-9;
/* More grids are taken as long as they are expected to lower the squared error by this. */
static const double GRID_GAIN = 0.01;
/* More than LEAST_GRIDS are not taken for so many rows that all of them have more marks. */
static const double MOST_MARKS = 30e6;

/* A kernel, and what is known of it. */
typedef struct candidate {
    const char *what;
    kb_widths widths;
    double sigma; /* of equal widths, else 0 */
    kb_trial climb, judge;
    kb_drawn drawn; /* of the judge, while it is the best: another loss is tried on it */
} candidate;

enum { EQUAL, DENSE, SPARSE, BOTH, SCREENED, CANDIDATES };

typedef struct tuner {
    kb_choice *choice;
    const kb_options *options;
    kb_law *law;
    kb_samples rows;
    uint64_t seed;
    double given_lambda;
    candidate candidate[CANDIDATES];
    int best;
    int cut; /* the budget ended the last climb */
} tuner;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static void release_candidate(kb_context *ctx, candidate *c) {
    kb_release(ctx, c->widths.width);
    kb_trial_release(ctx, &c->climb);
    kb_trial_release(ctx, &c->judge);
    kb_drawn_release(&c->drawn);
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

/* A trial whose grids are left to the caller. */
static kb_status try_on(kb_context *ctx, tuner *t, const kb_sample *sample, candidate *c,
                        size_t grids, size_t steps, kb_drawn *drawn, kb_trial *out) {
    kb_status status;
    kb_trial trial = {
        .grids = grids, .max_steps = steps, .seed = t->seed + 1, .given_lambda = t->given_lambda};
    TRY(kb_drawn_build(ctx, sample, &c->widths, grids, trial.seed, drawn));
    TRY(kb_trial_judge(ctx, sample, drawn, &trial));
    TRY(note(ctx, t, c, &trial));
    kb_trial_move(ctx, &trial, out);
done:
    kb_trial_release(ctx, &trial);
    return status;
}

static kb_status try_one(kb_context *ctx, tuner *t, const kb_sample *sample, candidate *c,
                         size_t grids, size_t steps, kb_trial *out) {
    kb_drawn drawn = {0};
    kb_status status = try_on(ctx, t, sample, c, grids, steps, &drawn, out);
    kb_drawn_release(&drawn);
    return status;
}

/* As a share of the rows. */
static double few_errors(const kb_trial *trial) {
    return fmin(FEW_ERRORS / (double)trial->held, 1 / ROWS_OF_AN_ERROR);
}

/* By how much of the score wider bins may be worse. */
static double slack_of(const kb_sample *s, const kb_trial *trial) {
    double least = 1 / (double)trial->held;
    return s->class_of ? fmin(few_errors(trial) / fmax(trial->error, least), MOST_SLACK) : 0;
}

/* Below which score wider bins are taken, `best` being that of any so far: they may cost a few
 * errors, but only a part of what has been learnt.  Where one class is rare, a few errors are all
 * there is to learn, and nothing would stop the bins from growing. */
static double wide_enough(const kb_sample *s, const kb_trial *last, double best) {
    return best + fmin(slack_of(s, last) * best, fmax(MOST_LOST * (last->nothing - best), 0));
}

/* Whether a trial is better than another on the same rows by more than so much luck. */
static int is_better(const kb_trial *a, const kb_trial *b, double luck) {
    kb_gain g = kb_trial_gain(a, b);
    return g.gain > fmax(luck * g.luck, LEAST_GAIN * b->score);
}

/* A common factor for all widths: by steps of `by` as long as they help, up and then down.  Wider
 * bins are taken where they cost no more than a few errors. */
static kb_status climb(kb_context *ctx, tuner *t, const kb_sample *sample, candidate *c,
                       size_t grids, size_t steps, double by) {
    kb_status status;
    TRY(try_one(ctx, t, sample, c, grids, steps, &c->climb));
    t->cut = kb_choice_is_late(t->choice, CLIMB_TIME);
    for (int down = 0; down < 2; down++) {
        double factor = down ? 1 / by : by, best = c->climb.score;
        int moved = 0;
        for (int k = 0; k < CLIMB_MOST && !t->cut; k++) {
            kb_trial trial = {0};
            double most = down ? best * (1 - slack_of(sample, &c->climb) / 2)
                               : wide_enough(sample, &c->climb, best);
            kb_widths_multiply(&c->widths, factor);
            c->sigma *= factor;
            TRY(try_one(ctx, t, sample, c, grids, steps, &trial));
            if (trial.score >= most) {
                kb_widths_multiply(&c->widths, 1 / factor);
                c->sigma /= factor;
                kb_trial_release(ctx, &trial);
                break;
            }
            best = fmin(best, trial.score);
            kb_trial_move(ctx, &trial, &c->climb);
            t->cut = kb_choice_is_late(t->choice, CLIMB_TIME);
            moved = 1;
        }
        if (moved)
            break;
    }
done:
    return status;
}

/* The first look, on few rows; where there are no more, in all folds. */
static kb_status look(kb_context *ctx, tuner *t, candidate *c) {
    kb_status status;
    kb_sample some = {0};
    size_t count = least(t->rows.pool, FIRST_ROWS);
    uint32_t *rows = NULL;
    if (t->rows.folds && t->rows.first.x->rows <= FIRST_ROWS)
        return climb(ctx, t, &t->rows.first, c, FIRST_GRIDS, FIRST_STEPS, 2);
    TRY(kb_alloc(ctx, count, sizeof *rows, &rows));
    for (size_t i = 0; i < count; i++)
        rows[i] = t->rows.row[i * t->rows.pool / count];
    TRY(kb_sample_take(ctx, &t->rows.first, count, rows, &some));
    TRY(kb_sample_split(ctx, t->rows.split, 0, FIRST_SHARE, t->seed, &some));
    TRY(climb(ctx, t, &some, c, FIRST_GRIDS, FIRST_STEPS, 2));
done:
    kb_sample_release(ctx, &some);
    kb_release(ctx, rows);
    return status;
}

/* ---- the stages -------------------------------------------------------- */

/* *found: whether there was time for a first look. */
static kb_status tune_sigma(kb_context *ctx, tuner *t, int *found) {
    kb_status status;
    candidate *c = &t->candidate[EQUAL];
    const char *sigma = kb_options_text(t->options, KB_OPT_SIGMA);
    char *words = NULL;
    c->what = "equal";
    *found = 1;
    TRY(kb_law_parse(ctx, kb_options_text(t->options, KB_OPT_KERNEL), &t->law));
    if (!kb_options_is_auto(t->options, KB_OPT_SIGMA)) {
        c->what = "given";
        c->widths.features = t->rows.map->columns;
        TRY(kb_sigma_parse(ctx, sigma, t->law, t->rows.map->columns, t->rows.spread,
                           &c->widths.vectors, &c->widths.width, &words));
        c->sigma = c->widths.vectors == 1 ? c->widths.width[0].sigma : 0;
        TRY(try_one(ctx, t, &t->rows.first, c, CLIMB_GRIDS, CLIMB_STEPS, &c->climb));
        goto done;
    }
    c->sigma = t->rows.spread > 0 ? 0.25 * (double)t->rows.map->columns * t->rows.spread : 1;
    TRY(kb_widths_equal(ctx, t->rows.map->columns, t->law, c->sigma, &c->widths));
    TRY(look(ctx, t, c));
    *found = !t->cut;
    if (t->cut)
        goto done;
    TRY(kb_progress(ctx, "tune", 0.05));
    TRY(climb(ctx, t, &t->rows.first, c, CLIMB_GRIDS, CLIMB_STEPS, 1.5));
    TRY(kb_progress(ctx, "tune", 0.15));
done:
    kb_release(ctx, words);
    return status;
}

/* Other widths as one vector more. */
static kb_status mix(kb_context *ctx, tuner *t, const candidate *c, const candidate *more,
                     candidate *out) {
    kb_status status;
    TRY(kb_widths_join(ctx, &c->widths, &more->widths, &out->widths));
    TRY(try_one(ctx, t, &t->rows.first, out, CLIMB_GRIDS, CLIMB_STEPS, &out->climb));
done:
    return status;
}

static void exchange(candidate *a, candidate *b) {
    candidate c = *a;
    *a = *b;
    *b = c;
}

static int is_wide(const tuner *t) {
    return t->rows.map->columns >= MANY_COLUMNS &&
           t->rows.data->rows < FEW_ROWS_A_COLUMN * t->rows.map->columns;
}

/* Equal widths as one vector more, or those by what each column tells if that is better: a hedge
 * against what the held-out rows cannot tell, which is kept unless these clearly speak against
 * it. */
static kb_status hedge(kb_context *ctx, tuner *t, candidate *c) {
    kb_status status;
    candidate mixed = {.what = "learned and equal"}, other = {.what = "learned and screened"};
    TRY(mix(ctx, t, c, &t->candidate[EQUAL], &mixed));
    if (is_wide(t)) {
        TRY(mix(ctx, t, c, &t->candidate[SCREENED], &other));
        if (other.climb.score < mixed.climb.score)
            exchange(&other, &mixed);
    }
    if (!is_better(&c->climb, &mixed.climb, FAR_BEHIND))
        exchange(&mixed, c);
done:
    release_candidate(ctx, &mixed);
    release_candidate(ctx, &other);
    return status;
}

/* Where one of the vectors begins to learn, and what may be a hedge. */
static kb_status screen(kb_context *ctx, tuner *t) {
    kb_status status;
    size_t columns = t->rows.map->columns;
    double *score = NULL;
    candidate *c = &t->candidate[SCREENED];
    c->what = "screened";
    TRY(kb_alloc(ctx, columns, sizeof *score, &score));
    TRY(kb_screen_columns(ctx, &t->rows.first, t->rows.pool, t->rows.row, score));
    TRY(kb_screen_widths(ctx, columns, score, t->law, t->candidate[EQUAL].sigma, &c->widths));
    if (is_wide(t))
        TRY(climb(ctx, t, &t->rows.first, c, CLIMB_GRIDS, CLIMB_STEPS, 1.5));
done:
    kb_release(ctx, score);
    return status;
}

static kb_status learn_widths(kb_context *ctx, tuner *t, int which, double from, double to) {
    kb_status status;
    candidate *c = &t->candidate[which];
    kb_shaping shaping = {.sample = &t->rows.first,
                          .split = t->rows.split,
                          .pool = t->rows.pool,
                          .row = t->rows.row,
                          .law = t->law,
                          .sigma = t->candidate[EQUAL].sigma,
                          .start = t->candidate[SCREENED].widths.width,
                          .vectors = 2,
                          .sparse = which == SPARSE,
                          .seed = t->seed * SEEDS + (uint64_t)which,
                          .from = from,
                          .to = to};
    c->what = which == SPARSE ? "learned, sparse" : "learned";
    TRY(kb_shape_learn(ctx, &shaping, &c->widths));
    TRY(climb(ctx, t, &t->rows.first, c, CLIMB_GRIDS, CLIMB_STEPS, 1.5));
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
           t->rows.map->columns > 1 && t->rows.pool >= LEARN_ROWS &&
           (t->rows.map->columns <= LEARN_COLUMNS || must_learn(t));
}

static kb_status tune_widths(kb_context *ctx, tuner *t) {
    kb_status status = KB_OK;
    int both = t->rows.map->columns >= MANY_COLUMNS, may = may_learn(t);
    if (may && both && !kb_choice_is_late(t->choice, 0.3))
        TRY(screen(ctx, t));
    if (!may || kb_choice_is_late(t->choice, 0.3)) {
        if (must_learn(t))
            kb_log(ctx, KB_LOG_WARNING, "--widths learned: the widths are equal, because %s",
                   may                          ? "the budget is spent"
                   : t->rows.pool >= LEARN_ROWS ? "one column only varies"
                                                : "there are too few rows to learn from");
        goto done;
    }
    TRY(learn_widths(ctx, t, DENSE, 0.15, both ? 0.4 : 0.65));
    if (both && !kb_choice_is_late(t->choice, 0.5) &&
        !is_better(&t->candidate[EQUAL].climb, &t->candidate[DENSE].climb, LUCK))
        TRY(learn_widths(ctx, t, SPARSE, 0.4, 0.65));
done:
    return status;
}

static const kb_sample *last_sample(const tuner *t) {
    return t->rows.large.x ? &t->rows.large : &t->rows.first;
}

static size_t last_grids(const tuner *t) {
    return t->rows.large.x ? KB_LARGE_GRIDS : JUDGE_GRIDS;
}

static kb_status judge(kb_context *ctx, tuner *t, int which) {
    candidate *c = &t->candidate[which];
    return try_on(ctx, t, last_sample(t), c, last_grids(t), kb_samples_steps(&t->rows), &c->drawn,
                  &c->judge);
}

/* The best so far is this one, if it is; of the other the grids are no longer needed. */
static void settle(tuner *t, int which, int better) {
    kb_drawn_release(&t->candidate[better ? t->best : which].drawn);
    t->best = better ? which : t->best;
}

/* Whether learnt widths are better than equal ones; for classes by more than a few errors too. */
static int is_worth_it(const tuner *t, const kb_trial *learnt, const kb_trial *equal, double luck) {
    return is_better(learnt, equal, luck) &&
           (!t->rows.first.class_of ||
            kb_trial_fewer_errors(learnt, equal).gain > few_errors(learnt));
}

/* Learnt widths must be better than equal ones, sparse ones than dense, and both together than
 * the better of them; the simplest is the one to beat. */
static kb_status tune_kernel(kb_context *ctx, tuner *t) {
    kb_status status;
    candidate *c = t->candidate;
    int behind =
        c[DENSE].widths.width && is_worth_it(t, &c[DENSE].climb, &c[EQUAL].climb, FAR_BEHIND);
    TRY(kb_samples_draw_large(ctx, &t->rows));
    if (!behind)
        TRY(judge(ctx, t, EQUAL));
    TRY(kb_progress(ctx, "tune", 0.7));
    if (!c[DENSE].widths.width)
        goto done;
    TRY(judge(ctx, t, DENSE));
    settle(t, DENSE,
           must_learn(t) || behind || is_worth_it(t, &c[DENSE].judge, &c[EQUAL].judge, LUCK));
    TRY(kb_progress(ctx, "tune", 0.75));
    if (!c[SPARSE].widths.width)
        goto done;
    TRY(judge(ctx, t, SPARSE));
    settle(t, SPARSE, is_better(&c[SPARSE].judge, &c[t->best].judge, LUCK));
    c[BOTH].what = "learned, both";
    TRY(kb_widths_join(ctx, &c[DENSE].widths, &c[SPARSE].widths, &c[BOTH].widths));
    TRY(judge(ctx, t, BOTH));
    settle(t, BOTH, is_better(&c[BOTH].judge, &c[t->best].judge, LUCK));
done:
    return status;
}

/* With R grids the squared error is above its limit by about c/R, so what the last doubling gained
 * is what all further ones can. */
static size_t enough_grids(const kb_trial *half, const kb_trial *full, double most) {
    double gain = half->square - full->square, target = GRID_GAIN * full->square;
    double grids = target > 0 ? fmin(JUDGE_GRIDS * gain / target, most) : LEAST_GRIDS;
    return (size_t)fmax(ceil(grids / GRIDS_STEP) * GRIDS_STEP, LEAST_GRIDS);
}

static kb_status tune_grids(kb_context *ctx, tuner *t) {
    kb_status status = KB_OK;
    candidate *c = &t->candidate[t->best];
    kb_trial more = {.grids = JUDGE_GRIDS,
                     .max_steps = CLIMB_STEPS,
                     .seed = t->seed + 1,
                     .given_lambda = t->given_lambda};
    double grids = LEAST_GRIDS, most = fmin(MOST_GRIDS, MOST_MARKS / (double)t->rows.data->rows);
    if (!kb_options_is_auto(t->options, KB_OPT_GRIDS))
        return KB_OK;
    /* A model with the L1 penalty is to be small, and more grids are few weights more. */
    if (kb_learner_is_sparse(t->options)) {
        grids = JUDGE_GRIDS;
    } else if (most > LEAST_GRIDS) {
        if (t->best == BOTH)
            TRY(try_one(ctx, t, &t->rows.first, c, CLIMB_GRIDS, CLIMB_STEPS, &c->climb));
        /* Not noted: it tells of grids alone, on fewer rows than the judge had. */
        if (t->rows.large.x)
            TRY(kb_trial_run(ctx, &t->rows.first, &c->widths, &more));
        grids = (double)enough_grids(&c->climb, t->rows.large.x ? &more : &c->judge, most);
    }
    TRY(kb_choice_set_number(ctx, t->choice, KB_OPT_GRIDS, grids));
done:
    kb_trial_release(ctx, &more);
    return status;
}

/* Whether the fit may end before it has reached --tol. */
static int may_stop(const tuner *t) {
    const char *early = kb_options_text(t->options, KB_OPT_EARLY_STOP);
    return kb_options_is_auto(t->options, KB_OPT_LAMBDA) ? strcmp(early, "off") != 0
                                                         : strcmp(early, "on") == 0;
}

/* Whoever asks for more than the usual tolerance gets it. */
static double smooth_tol(const tuner *t) {
    static const double usual = 1e-3;
    double tol = kb_options_real(t->options, KB_OPT_TOL);
    return may_stop(t) && tol >= usual ? fmax(tol, SMOOTH_TOL) : tol;
}

/* One lambda of another loss; *moved: whether it is clearly the best so far, and then *best. */
static kb_status try_smooth(kb_context *ctx, tuner *t, kb_smoothing *s, double lambda,
                            kb_trial *best, int *moved) {
    kb_status status;
    candidate *c = &t->candidate[t->best];
    kb_trial trial = {
        .grids = last_grids(t), .max_steps = kb_samples_steps(&t->rows), .given_lambda = lambda};
    TRY(kb_smoothing_try(ctx, s, &trial));
    TRY(note(ctx, t, c, &trial));
    t->choice->tried[t->choice->count - 1].loss = s->loss->name;
    *moved = !best->each || trial.score < (1 - LEAST_GAIN) * best->score;
    if (*moved)
        kb_trial_move(ctx, &trial, best);
done:
    kb_trial_release(ctx, &trial);
    return status;
}

/* The logistic loss, or another that was asked for, with lambdas around a tenth of that of the
 * square loss: its curvature is at most a quarter, and less where it is sure of a row. */
static kb_status tune_loss(kb_context *ctx, tuner *t) {
    kb_status status = KB_OK;
    candidate *c = &t->candidate[t->best];
    int open = kb_options_is_auto(t->options, KB_OPT_LOSS), moved;
    const kb_loss *loss =
        kb_loss_find(open ? "logistic" : kb_options_text(t->options, KB_OPT_LOSS));
    kb_smoothing s = {
        .sample = last_sample(t), .drawn = &c->drawn, .loss = loss, .tol = smooth_tol(t)};
    kb_trial best = {0};
    double first = fmax(c->judge.lambda, SMOOTH_LAMBDA) * FIRST_SMOOTH;
    if (!t->rows.first.class_of || kb_learner_is_sparse(t->options) ||
        strcmp(loss->name, "square") == 0 || kb_choice_is_late(t->choice, 0.8))
        goto done;
    first = t->given_lambda > 0 ? t->given_lambda : first;
    TRY(kb_smoothing_begin(ctx, &s));
    TRY(try_smooth(ctx, t, &s, first, &best, &moved));
    for (int down = 0; down < 2 && !(t->given_lambda > 0); down++) {
        kb_gain more = kb_trial_fewer_errors(&c->judge, &best);
        if (open && more.gain > LOSS_BEHIND * more.luck)
            break;
        double before = best.lambda, factor = down ? 1.0 / 3 : 3;
        for (int k = 0, moves = 1; k < SMOOTH_MOST && moves; k++) {
            TRY(try_smooth(ctx, t, &s, best.lambda * factor, &best, &moves));
            moves &= !kb_choice_is_late(t->choice, 0.8);
        }
        if (best.lambda != before)
            break;
    }
    kb_gain fewer = kb_trial_fewer_errors(&best, &c->judge);
    double few = fmax(LEAST_GAIN * c->judge.error, few_errors(&c->judge));
    if (!open || fewer.gain > fmax(LOSS_LUCK * fewer.luck, few)) {
        TRY(kb_choice_set(ctx, t->choice, KB_OPT_LOSS, loss->name));
        if (kb_options_is_auto(t->options, KB_OPT_LAMBDA))
            TRY(kb_choice_set_number(ctx, t->choice, KB_OPT_LAMBDA, best.lambda));
    }
done:
    kb_smoothing_release(ctx, &s);
    kb_trial_release(ctx, &best);
    return status;
}

/* ---- the result -------------------------------------------------------- */

/* A fit of more rows needs more steps to get as far: their number goes with the root of the
 * condition, and that with the rows. */
static size_t enough_steps(const tuner *t, const kb_trial *trial) {
    double rows = (double)t->rows.data->rows / (double)trial->fitted;
    return (size_t)ceil((double)trial->steps * sqrt(fmax(rows, 1)));
}

static kb_status conclude(kb_context *ctx, tuner *t) {
    kb_status status = KB_OK;
    kb_choice *out = t->choice;
    candidate *c = &t->candidate[t->best];
    int square = kb_options_is_auto(out->options, KB_OPT_LOSS) ||
                 strcmp(kb_options_text(out->options, KB_OPT_LOSS), "square") == 0;
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
    if (!square)
        TRY(kb_choice_set_number(ctx, out, KB_OPT_TOL, smooth_tol(t)));
    if (square && may_stop(t)) {
        size_t most = (size_t)kb_options_integer(t->options, KB_OPT_MAX_ITER);
        size_t steps = enough_steps(t, &c->judge);
        out->early = steps <= most;
        TRY(kb_choice_set_number(ctx, out, KB_OPT_MAX_ITER, (double)least(steps, most)));
        TRY(kb_choice_set_number(ctx, out, KB_OPT_TOL,
                                 fmin(EARLY_TOL, kb_options_real(t->options, KB_OPT_TOL))));
    }
    if (square && kb_options_is_auto(t->options, KB_OPT_INTERCEPT)) {
        TRY(kb_choice_set(ctx, out, KB_OPT_INTERCEPT, "mean"));
        out->fill = t->rows.targets.classes == 0;
    }
done:
    return status;
}

static void release(kb_context *ctx, tuner *t) {
    kb_samples_release(ctx, &t->rows);
    for (int k = 0; k < CANDIDATES; k++)
        release_candidate(ctx, &t->candidate[k]);
    kb_law_free(t->law);
}

kb_status kb_tune(kb_context *ctx, const kb_data *data, kb_choice *choice) {
    kb_status status;
    const kb_options *o = choice->given;
    tuner t = {.choice = choice,
               .options = o,
               .seed = (uint64_t)kb_options_integer(o, KB_OPT_SEED),
               .best = EQUAL};
    int found;
    if (!kb_options_is_auto(o, KB_OPT_LAMBDA))
        t.given_lambda = kb_options_real(o, KB_OPT_LAMBDA);
    TRY(kb_progress(ctx, "tune", 0));
    if (kb_options_is_auto(o, KB_OPT_SCALE)) /* a given sigma is for the columns as they are */
        TRY(kb_choice_set(ctx, choice, KB_OPT_SCALE,
                          kb_options_is_auto(o, KB_OPT_SIGMA) ? "ranks" : "minmax"));
    TRY(kb_samples_prepare(ctx, choice, data, &t.rows));
    TRY(tune_sigma(ctx, &t, &found));
    if (!found) {
        kb_log(ctx, KB_LOG_WARNING,
               "--budget: spent before a sigma was found; the values of --tune off are taken");
        TRY(kb_choice_set(ctx, choice, KB_OPT_SCALE, kb_options_text(o, KB_OPT_SCALE)));
        goto done;
    }
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
