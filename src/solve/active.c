/* active.c - see active.h. */
#include "solve/active.h"
#include "core/sums.h"
#include "core/team.h"
#include "solve/ridge.h"

#include <string.h>

enum { MOST_STEPS = 200 };

/* A first check looks at every so many rows. */
enum { STRIDE = 61 };

/* A better direction saves rounds, and a round costs much more than these steps. */
static const double XI = 0.2;

struct kb_active {
    size_t N;
    size_t n;       /* rows that have curvature */
    uint32_t *rows; /* which */
    double lambda;
    double *memory; /* of the arrays below, n each */
    size_t room;
    double *h, *rho, *k_rho, *dir, *k_dir, *move;
    double *p; /* K u in these rows, u being the first residual in the others */
    double q;  /* u' K u */
    double a, b;
    double norm, below;  /* <rho, rho>, <dir, A dir> */
    double r, d, m;      /* in the other rows rho, dir and move are r u, d u and m u */
    double p_rho, p_dir; /* p' rho, p' dir */
};

kb_status kb_active_create(kb_context *ctx, size_t N, kb_active **out) {
    kb_status status;
    kb_active *a;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *a, &a));
    a->N = N;
    *out = a;
    TRY(kb_alloc(ctx, N, sizeof *a->rows, &a->rows));
done:
    return status;
}

void kb_active_free(kb_context *ctx, kb_active *a) {
    if (!a)
        return;
    kb_release(ctx, a->rows);
    kb_release(ctx, a->memory);
    kb_release(ctx, a);
}

int kb_active_worth(const kb_active *a, const double *h) {
    size_t active = 0;
    size_t sample = 0;
    for (size_t i = 0; i < a->N; i += STRIDE)
        sample += h[i] != 0;
    if (2 * sample * STRIDE > a->N + a->N / 4 + STRIDE)
        return 0;
    for (size_t i = 0; i < a->N && 2 * active <= a->N; i++)
        active += h[i] != 0;
    return active > 0 && 2 * active <= a->N;
}

/* ---- CG ---------------------------------------------------------------- */

/* dir = rho + b dir; the sum is <dir, A dir>, but for what the other rows have of it. */
static void turn(void *arg, size_t begin, size_t end, double *sum) {
    kb_active *a = arg;
    const double *rho = a->rho, *k_rho = a->k_rho, *h = a->h;
    double *restrict dir = a->dir, *restrict k_dir = a->k_dir;
    double lambda = a->lambda, b = a->b, strand[8] = {0};
    for (size_t i = begin; i < end; i++) {
        dir[i] = rho[i] + b * dir[i];
        k_dir[i] = k_rho[i] + b * k_dir[i];
    }
    for (size_t i = begin; i < end; i++)
        strand[(i - begin) % 8] += k_dir[i] * (lambda * dir[i] + h[i] * k_dir[i]);
    *sum = ((strand[0] + strand[1]) + (strand[2] + strand[3])) +
           ((strand[4] + strand[5]) + (strand[6] + strand[7]));
}

/* move += a dir, rho -= a A dir. */
static void advance(void *arg, size_t begin, size_t end) {
    kb_active *a = arg;
    const double *dir = a->dir, *k_dir = a->k_dir, *h = a->h;
    double *restrict move = a->move, *restrict rho = a->rho;
    double lambda = a->lambda, length = a->a;
    for (size_t i = begin; i < end; i++) {
        move[i] += length * dir[i];
        rho[i] -= length * (lambda * dir[i] + h[i] * k_dir[i]);
    }
}

/* K rho in these rows, and <rho, rho>. */
static kb_status multiply(kb_context *ctx, kb_active *a, kb_operator *op) {
    kb_status status;
    TRY(op->apply_k(op, ctx, 1, a->rho, a->k_rho, &a->norm));
    TRY(kb_sums(ctx, a->n, 1, a->rho, a->p, &a->p_rho));
    for (size_t i = 0; i < a->n; i++)
        a->k_rho[i] += a->r * a->p[i];
    a->norm += a->r * (2 * a->p_rho + a->r * a->q);
done:
    return status;
}

static kb_status run_cg(kb_context *ctx, kb_active *a, kb_operator *op,
                        const kb_newton_system *system) {
    kb_status status = KB_OK;
    kb_smooth *p = system->p;
    double gain = 0, last, before;
    for (size_t step = 1; step <= MOST_STEPS; step++) {
        TRY(kb_sums_by(ctx, a->n, 1, turn, a, &a->below));
        a->d = a->r + a->b * a->d;
        a->p_dir = a->p_rho + a->b * a->p_dir;
        a->below += a->lambda * a->d * (a->p_dir + a->d * a->q);
        if (!(a->below > 0) || !(a->norm > 0))
            break;
        a->a = a->norm / a->below;
        kb_team_for(ctx, a->n, KB_WORTH_A_THREAD / 8, advance, a);
        a->m += a->a * a->d;
        a->r -= a->a * a->lambda * a->d;
        last = a->a * a->norm / 2;
        gain += last;
        if ((double)step * last <= XI * gain || p->steps + 2 >= p->max_steps || kb_is_late(ctx))
            break; /* two more products are to come */
        before = a->norm;
        TRY(multiply(ctx, a, op));
        p->steps++;
        a->b = a->norm / before;
        TRY(kb_progress(ctx, "solve",
                        kb_solve_progress(p->tol, p->max_steps, system->residual, p->steps)));
    }
done:
    return status;
}

/* ---- the round --------------------------------------------------------- */

static kb_status gather(kb_context *ctx, kb_active *a, const kb_newton_system *system) {
    kb_status status;
    size_t n = 0;
    for (size_t i = 0; i < a->N; i++)
        if (system->h[i] != 0)
            a->rows[n++] = (uint32_t)i;
    TRY(kb_reserve(ctx, 7 * n, sizeof(double), &a->room, &a->memory));
    double **array[] = {&a->h, &a->rho, &a->k_rho, &a->dir, &a->k_dir, &a->move, &a->p};
    for (size_t k = 0; k < 7; k++)
        *array[k] = a->memory + k * n;
    for (size_t k = 0; k < n; k++) {
        a->h[k] = system->h[a->rows[k]];
        a->rho[k] = system->rho[a->rows[k]];
        a->k_rho[k] = system->k_rho[a->rows[k]];
        a->dir[k] = a->k_dir[k] = a->move[k] = 0;
    }
    a->n = n;
    a->lambda = system->p->lambda;
    a->norm = system->norm;
    a->b = a->d = a->m = a->p_dir = 0;
    a->r = 1;
done:
    return status;
}

/* p and q, from K rho = K (rho here) + K u. */
static kb_status split(kb_context *ctx, kb_active *a, kb_operator *op,
                       const kb_newton_system *system) {
    kb_status status;
    double all, here;
    TRY(op->apply_k(op, ctx, 1, a->rho, a->p, NULL));
    system->p->steps++;
    for (size_t k = 0; k < a->n; k++)
        a->p[k] = a->k_rho[k] - a->p[k];
    TRY(kb_sums(ctx, a->N, 1, system->rho, system->k_rho, &all));
    TRY(kb_sums(ctx, a->n, 1, a->rho, a->k_rho, &here));
    TRY(kb_sums(ctx, a->n, 1, a->rho, a->p, &a->p_rho));
    a->q = all - here - a->p_rho;
done:
    return status;
}

kb_status kb_active_solve(kb_context *ctx, kb_active *a, const kb_newton_system *system, double *d,
                          double *k_d, double *square) {
    kb_status status;
    kb_operator *all = system->p->op, *op = NULL;
    TRY(gather(ctx, a, system));
    TRY(all->subset(all, ctx, a->n, a->rows, &op));
    TRY(split(ctx, a, op, system));
    TRY(run_cg(ctx, a, op, system));
    for (size_t i = 0; i < a->N; i++)
        d[i] = a->m * system->rho[i];
    for (size_t k = 0; k < a->n; k++)
        d[a->rows[k]] = a->move[k];
    TRY(all->apply_k(all, ctx, 1, d, k_d, square));
    system->p->steps++;
done:
    kb_operator_free(op);
    return status;
}
