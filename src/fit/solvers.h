/*
 * solvers.h - the solvers, one row of a table each.
 *
 * A row says what a solver solves and what it takes; the learner (learner.h) finds the row and
 * knows a solver by nothing else.  To add one: its name in options/choices.h, and a row in
 * solvers.c.
 */
#ifndef KB_FIT_SOLVERS_H
#define KB_FIT_SOLVERS_H

#include "l1/l1.h"
#include "options/config.h"
#include "sweeps/margin_sweeps.h"
#include "solve/newton.h"
#include "solve/unit_fit.h"
#include "solve/ridge.h"
#include "sweeps/sweep_fit.h"

/* A set of losses or maps: the bits 1 << KB_LOSS_.., 1 << KB_MAP_... */
typedef unsigned kb_bits;

typedef struct kb_solver {
    kb_solver_kind kind;
    kb_penalty penalty;
    kb_bits losses, maps;
    size_t batch;   /* outputs at a time, at most; they share a pass over the bins */
    double vectors; /* numbers per row that it keeps for each of them */
    int weights;    /* gives w, D x C, and no alpha, N x C, with w = Z' alpha */
    /* One of these, by the kind of its problem; NULL in all of them: the direct solution. */
    kb_status (*ridge)(kb_context *ctx, kb_ridge *problem);
    kb_status (*sweeps)(kb_context *ctx, kb_sweep_fit *problem);
    kb_status (*smooth)(kb_context *ctx, kb_smooth *problem);
    kb_status (*margin)(kb_context *ctx, kb_margin *problem);
    kb_status (*l1)(kb_context *ctx, kb_l1 *problem);
} kb_solver;

/* The solver that the config asks for, or the first in the table that suits its penalty, loss and
 * map; any of its penalty if none does.  Where the loss is auto, for the square loss. */
const kb_solver *kb_solver_of(const kb_config *config);

/* Whether a GPU has a part in it: sweeps for the square loss, and products for CG. */
int kb_solver_on_device(const kb_config *config);

/* The direct solver, if the config allows it: it is used where it fits into memory.  Else NULL. */
const kb_solver *kb_solver_direct(const kb_config *config);

/* KB_ERR_ARGUMENT if the solver that is asked for does not solve the penalty, or the loss and map.
 */
kb_status kb_solver_check_penalty(kb_context *ctx, const kb_config *config);
/* After the other, whose refusals it relies on. */
kb_status kb_solver_check_loss(kb_context *ctx, const kb_config *config);

#endif
