/*
 * gridcd.h - the inside of kb_l1_grid_cd, for its parts.
 *
 * Between epochs the rows' f is what w and b say.  During an epoch `u` stands for it: the targets
 * minus f where the column steps look at the loss itself, and the pushes of a quadratic model of
 * the losses where they look at that.
 */
#ifndef KB_SOLVE_GRIDCD_H
#define KB_SOLVE_GRIDCD_H

#include "solve/l1rows.h"
#include "solve/sweep.h"

/* Square and squared hinge without weights have steps of their own. */
typedef enum kb_grid_engine { KB_GRID_SQUARE, KB_GRID_HINGE, KB_GRID_MODEL } kb_grid_engine;

typedef struct kb_grid_cd {
    kb_l1_rows r;
    kb_grid_engine engine;
    kb_set set;       /* the columns that are being moved */
    size_t *order;    /* R: of the grids in this epoch */
    double *u, *h;    /* N; h: the model's curvatures */
    double *old_f;    /* N */
    double *H;        /* places: second derivatives in each column */
    double *old;      /* places: weights before, or what a column wants */
    double *miss;     /* places: how far each is from where it should be */
    double *a, *b;    /* places: vectors of the subspace step */
    double damp;      /* of the model, 1 or more */
    double objective; /* after the last step that looked */
    int fresh;        /* H is to be computed */
    int cg_steps;     /* that the subspace step may take */
    uint64_t draws;
    kb_pace pace; /* of epochs */
} kb_grid_cd;

/* The steps of CG that the first subspace step takes at most. */
enum { KB_GRID_CG_STEPS = 6 };

/* A few steps of CG towards the least over the nonzero weights of the set, signs kept; taken
 * only if the objective falls. */
kb_status kb_grid_subspace(kb_grid_cd *g);

#endif
