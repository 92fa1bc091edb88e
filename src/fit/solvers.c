/* solvers.c - see solvers.h. */
#include "fit/solvers.h"
#include "options/say.h"

#include <string.h>

#define BIT(value) (1u << (value))
enum {
    SQUARE = BIT(KB_LOSS_SQUARE),
    MARGIN = BIT(KB_LOSS_LOGISTIC) | BIT(KB_LOSS_SQUARED_HINGE),
    NUMBERS = BIT(KB_LOSS_QUANTILE) | BIT(KB_LOSS_ABSOLUTE) | BIT(KB_LOSS_POISSON),
    HAS_COLUMNS = BIT(KB_MAP_BINNING) | BIT(KB_MAP_FOURIER) | BIT(KB_MAP_NYSTROM),
    IS_KERNEL = BIT(KB_MAP_BLOCKS) | BIT(KB_MAP_EXACT),
    ANY = HAS_COLUMNS | IS_KERNEL,
};

/* In the order in which auto tries them.  cg and newton keep few vectors, so that 32 outputs share
 * each pass; GMRES keeps 62 for each output.  The direct solution comes after cg: it is taken by
 * kb_solver_direct, where there is memory for it. */
static const kb_solver TABLE[] = {
    {KB_SOLVER_CG, KB_PENALTY_L2, SQUARE, ANY, 32, 4, .ridge = kb_ridge_cg},
    {KB_SOLVER_SWEEPS, KB_PENALTY_L2, SQUARE, BIT(KB_MAP_BINNING), KB_PANEL, 0, .weights = 1,
     .sweeps = kb_sweep_fit_run},
    {KB_SOLVER_GMRES, KB_PENALTY_L2, SQUARE, ANY, 4, 2 * (KB_GMRES_RESTART + 1),
     .ridge = kb_ridge_gmres},
    {KB_SOLVER_NEWTON, KB_PENALTY_L2, MARGIN, ANY, 32, 9, .smooth = kb_newton},
    {KB_SOLVER_NEWTON, KB_PENALTY_L2, NUMBERS, ANY, 32, 10, .smooth = kb_unit_fit},
    {KB_SOLVER_SWEEPS, KB_PENALTY_L2, MARGIN, BIT(KB_MAP_BINNING), KB_PANEL, 0, .weights = 1,
     .margin = kb_margin_fit},
    {KB_SOLVER_CHOLESKY, KB_PENALTY_L2, SQUARE, IS_KERNEL, 32, 4, .ridge = NULL},
    {KB_SOLVER_GRID_CD, KB_PENALTY_L1, SQUARE | MARGIN, HAS_COLUMNS, 1, 0, .weights = 1,
     .l1 = kb_l1_grid_cd},
    {KB_SOLVER_CD, KB_PENALTY_L1, SQUARE | MARGIN, HAS_COLUMNS, 1, 0, .weights = 1, .l1 = kb_l1_cd},
    {KB_SOLVER_PARALLEL_CD, KB_PENALTY_L1, SQUARE | MARGIN, HAS_COLUMNS, 1, 0, .weights = 1,
     .l1 = kb_l1_parallel_cd},
};
enum { SOLVERS = sizeof TABLE / sizeof *TABLE };

static int suits(const kb_solver *s, const kb_config *config) {
    return s->penalty == config->penalty && (s->losses & BIT(config->loss)) &&
           (s->maps & BIT(config->map));
}

/* The row of its loss, of a solver with several; the first for a loss that it does not solve. */
static const kb_solver *asked_for(const kb_config *config) {
    const kb_solver *first = NULL;
    for (size_t i = 0; i < SOLVERS; i++) {
        if (TABLE[i].kind != config->solver)
            continue;
        if (TABLE[i].losses & BIT(config->loss))
            return &TABLE[i];
        first = first ? first : &TABLE[i];
    }
    return first;
}

const kb_solver *kb_solver_of(const kb_config *config) {
    const kb_solver *asked = asked_for(config);
    for (size_t i = 0; !asked && i < SOLVERS; i++)
        if (suits(&TABLE[i], config))
            asked = &TABLE[i];
    for (size_t i = 0; !asked && i < SOLVERS;
         i++) /* the checks refuse a config that no solver suits */
        if (TABLE[i].penalty == config->penalty)
            asked = &TABLE[i];
    return asked;
}

int kb_solver_on_device(const kb_config *config) {
    const kb_solver *solver = kb_solver_of(config);
    return config->map == KB_MAP_BINNING && (solver->sweeps || solver->ridge == kb_ridge_cg);
}

const kb_solver *kb_solver_direct(const kb_config *config) {
    for (size_t i = 0; i < SOLVERS; i++)
        if (TABLE[i].kind == KB_SOLVER_CHOLESKY && suits(&TABLE[i], config) &&
            (config->solver == KB_SOLVER_AUTO || config->solver == KB_SOLVER_CHOLESKY))
            return &TABLE[i];
    return NULL;
}

static kb_said said(const kb_context *ctx, const kb_config *config, kb_option_id id) {
    int value = id == KB_OPT_SOLVER    ? (int)config->solver
                : id == KB_OPT_PENALTY ? (int)config->penalty
                                       : (int)config->loss;
    return kb_say_value(ctx, id, kb_choice_word(id, value));
}

kb_status kb_solver_check_penalty(kb_context *ctx, const kb_config *config) {
    const kb_solver *asked = asked_for(config);
    if (!asked || asked->penalty == config->penalty)
        return KB_OK;
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: does not solve %s",
                   said(ctx, config, KB_OPT_SOLVER).text, said(ctx, config, KB_OPT_PENALTY).text);
}

/* "map='blocks' or 'exact'". */
static kb_said list_maps(const kb_context *ctx, kb_bits maps) {
    static const kb_map_kind all[] = {KB_MAPS(KB_CHOICE_NAME)};
    kb_said list = {""};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *word = kb_choice_word(KB_OPT_MAP, (int)all[i]);
        if (!(maps & BIT(all[i])))
            continue;
        if (*list.text)
            strcat(strcat(list.text, " or "), kb_say_word(ctx, word).text);
        else
            list = kb_say_value(ctx, KB_OPT_MAP, word);
    }
    return list;
}

kb_status kb_solver_check_loss(kb_context *ctx, const kb_config *config) {
    const kb_solver *asked = asked_for(config);
    if (kb_config_is_l1(config) && kb_config_is_of_numbers(config))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: needs %s", said(ctx, config, KB_OPT_LOSS).text,
                       kb_say_value(ctx, KB_OPT_PENALTY, "l2").text);
    if (!asked || suits(asked, config))
        return KB_OK;
    if (asked->maps == ANY || kb_config_is_of_numbers(config))
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: does not solve %s",
                       said(ctx, config, KB_OPT_SOLVER).text, said(ctx, config, KB_OPT_LOSS).text);
    if (asked->maps == BIT(KB_MAP_BINNING)) /* sweeps */
        return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: needs %s", said(ctx, config, KB_OPT_SOLVER).text,
                       list_maps(ctx, asked->maps).text);
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: needs %s and %s",
                   said(ctx, config, KB_OPT_SOLVER).text,
                   kb_say_value(ctx, KB_OPT_LOSS, "square").text, list_maps(ctx, asked->maps).text);
}
