/*
 * grid_parts.h - the inside of kb_l1_grid_cd, for its parts.
 *
 * Between epochs f is that of w and b.  During an epoch `u` replaces it: the targets minus f where
 * the column steps look at the loss itself, and the pushes of a quadratic model of the losses where
 * they look at that.
 */
#ifndef KB_L1_GRID_PARTS_H
#define KB_L1_GRID_PARTS_H

#include "l1/l1_rows.h"
#include "l1/column_pass.h"

/* Square and squared hinge without weights have steps of their own. */
typedef enum kb_grid_engine { KB_GRID_SQUARE, KB_GRID_HINGE, KB_GRID_MODEL } kb_grid_engine;

/* What an epoch did, and how many of them are remembered. */
enum { KB_GRID_MOVES = 4 };
typedef struct kb_grid_move {
    double *row; /* N: to f */
    double b;
    int slot; /* in `moved` */
} kb_grid_move;

/* What a step must know of the parts of columns, and a thread's own notes.  Each kind is stored
 * by itself, column after column, since it moves from one thread's cache to another's. */
typedef enum kb_part_kind {
    KB_PART_PULL,   /* z'u, or that of the open gaps */
    KB_PART_SECOND, /* of the curvatures, or how many gaps are open */
    KB_PART_THERE,  /* the pull after the step */
    KB_PART_ALL,    /* own: the pull of the whole column */
    KB_PART_H,      /* own: its second derivative; then the way back */
    KB_PART_X,      /* own: the weight after */
    KB_PART_KINDS
} kb_part_kind;

typedef struct kb_grid_cd {
    kb_l1_rows r;
    kb_grid_engine engine;
    kb_set set;       /* the columns that are being moved */
    uint8_t *up;      /* of octets: a bit for every row with y > 0; for the squared hinge */
    size_t *order;    /* R: of the grids in this epoch */
    double *memory;   /* of the arrays of N */
    double *u, *h;    /* N; h: the model's curvatures */
    double *old_f;    /* N: f before the last step */
    double *w;        /* places: the weights, during a round */
    double *H;        /* places: the model's second derivatives; else z'z */
    double *x;        /* places: the weights after the epoch */
    double *old;      /* places: weights before */
    double *way;      /* places: where a model leads, or what a column of a group wants */
    double *miss;     /* places: how far each is from its optimum */
    double floor;     /* of the models' curvatures, as a share of the most they can be */
    int stuck;        /* not even a bound lowers the objective: rounding */
    double t;         /* how far the line search goes */
    double objective; /* after the last step that looked */
    int fresh;        /* H is to be computed */
    uint64_t draws;
    size_t moves;                     /* remembered */
    kb_grid_move move[KB_GRID_MOVES]; /* the latest first */
    double (*moved)[KB_GRID_MOVES];   /* places, by slots: to w; zero where w is */
    double (*parked)[KB_GRID_MOVES];  /* D: the same between rounds; only where w is not zero */
    double c[KB_GRID_MOVES];          /* how they are combined */
    double *sums;                     /* of two turns, kinds x parts x `widest` each */
    size_t widest;                    /* columns of a block */
    kb_pace pace;                     /* of epochs */
    /* With ranks (grid_ranks.c). */
    kb_l1_unit unit[2]; /* of u and h */
    double most_u;
    int64_t *whole;   /* 2 x widest: sums of a grid in units */
    kb_status status; /* of the exchanges of epochs */
} kb_grid_cd;

/* What part p has of the columns from place k on. */
static inline double *kb_grid_part(const kb_grid_cd *g, const kb_turn *t, kb_part_kind kind,
                                   size_t p, size_t k) {
    size_t line = ((size_t)t->odd * KB_PART_KINDS + kind) * g->r.c->parts + p;
    return g->sums + line * g->widest + (k - g->set.start[t->block]);
}

/* body(g, begin, end) on all threads; rows must not depend on one another. */
void kb_grid_on_rows(kb_grid_cd *g, void (*body)(void *arg, size_t begin, size_t end));

/* f becomes old_f, and what was old_f is to be filled. */
void kb_grid_keep_f(kb_grid_cd *g);

/* How far w is from the optimum for the pull G. */
double kb_grid_miss(double w, double G, double lambda);
/* What an epoch's steps are. */
void kb_grid_visits(const kb_grid_cd *g, kb_column_pass *sweep);

/* That of the weights, during a round. */
double kb_grid_penalty(const kb_grid_cd *g);

/* Where w and the moves are during a round: the set's places get those of their columns, and all go
 * back.  With them come the places' misses at the pulls that are there. */
void kb_grid_fetch(kb_grid_cd *g);
void kb_grid_park(kb_grid_cd *g);
/* Place `from` becomes place `to`. */
void kb_grid_shift(kb_grid_cd *g, size_t from, size_t to);

/* To be called before a step on the set. */
void kb_grid_begin_move(kb_grid_cd *g);
/* After it: a step to about the minimum over the span of this move and those before, keeping
 * signs; taken only if the objective falls. */
kb_status kb_grid_span(kb_grid_cd *g);
/* Takes the columns of the set whose weights are zero out of the moves; before they
 * leave the set. */
void kb_grid_drop_zeros(kb_grid_cd *g);
/* Whether place k is in one of the moves. */
int kb_grid_is_moving(const kb_grid_cd *g, size_t k);

/* With ranks, of a new model: its pushes and curvatures, in g->u and g->h, are rounded. */
kb_status kb_grid_round(kb_grid_cd *g);
/* A phase of an epoch: the sums of the parts become those of all ranks. */
kb_visit kb_grid_join;
/* u += by h for the rows of a run, or for all rows; rounded. */
void kb_grid_add_rounded(const kb_grid_cd *g, kb_run run, double by);
void kb_grid_shift_rounded(const kb_grid_cd *g, size_t begin, size_t end, double by);

kb_status kb_grid_moves_create(kb_grid_cd *g);
void kb_grid_moves_release(kb_grid_cd *g);

#endif
