/* refine_system.c - Newton's system of refine, by conjugate gradients; see refine_parts.h. */
#include "core/sums.h"
#include "core/team.h"
#include "solve/refine_parts.h"
#include "solve/ridge.h"

#include <math.h>
#include <string.h>

void kb_refining_on_bins(kb_context *ctx, kb_refining *m,
                         void (*body)(void *arg, size_t begin, size_t end)) {
    kb_team_for(ctx, m->p->op->columns, KB_WORTH_A_THREAD / m->p->C, body, m);
}

kb_status kb_refining_length(kb_context *ctx, kb_refining *m, double *out) {
    kb_status status = kb_sums(ctx, m->p->op->columns, m->p->C, m->r, m->r, out);
    for (size_t c = 0; c < m->p->C; c++)
        out[c] = sqrt(out[c] + m->b_r[c] * m->b_r[c]);
    return status;
}

static void dot_residual(void *arg, size_t begin, size_t end, double *sum) {
    const kb_refining *m = arg;
    size_t C = m->p->C;
    memset(sum, 0, C * sizeof *sum);
    for (size_t e = begin * C; e < end * C; e++)
        sum[e % C] += m->r[e] * m->r[e] / m->diagonal[e];
}

/* dir = r / diagonal + a dir. */
static void turn(void *arg, size_t begin, size_t end) {
    kb_refining *m = arg;
    size_t C = m->p->C;
    for (size_t e = begin * C; e < end * C; e++)
        m->dir[e] = m->r[e] / m->diagonal[e] + m->a[e % C] * m->dir[e];
}

static void multiply_rows(void *arg, size_t begin, size_t end) {
    kb_refining *m = arg;
    size_t C = m->p->C;
    for (size_t e = begin * C; e < end * C; e++)
        m->image[e] = m->curve[e] * (m->image[e] + m->b_dir[e % C]);
}

static void add_stiffness(void *arg, size_t begin, size_t end) {
    kb_refining *m = arg;
    for (size_t e = begin * m->p->C; e < end * m->p->C; e++)
        m->product[e] += kb_refining_strictness(m, e) * m->dir[e];
}

static void advance(void *arg, size_t begin, size_t end) {
    kb_refining *m = arg;
    size_t C = m->p->C;
    for (size_t e = begin * C; e < end * C; e++) {
        m->x[e] += m->a[e % C] * m->dir[e];
        m->r[e] -= m->a[e % C] * m->product[e];
    }
}

/* r'r in the metric of the preconditioner. */
static kb_status residual_dot(kb_context *ctx, kb_refining *m, double *out) {
    kb_status status = kb_sums_by(ctx, m->p->op->columns, m->p->C, dot_residual, m, out);
    for (size_t c = 0; m->p->intercept && c < m->p->C; c++)
        if (m->b_curve[c] + m->b_strict[c] > 0)
            out[c] += m->b_r[c] * m->b_r[c] / (m->b_curve[c] + m->b_strict[c]);
    return status;
}

static void turn_all(kb_context *ctx, kb_refining *m) {
    kb_refining_on_bins(ctx, m, turn);
    for (size_t c = 0; c < m->p->C; c++) {
        double below = m->b_curve[c] + m->b_strict[c];
        m->b_dir[c] =
            (m->p->intercept && below > 0 ? m->b_r[c] / below : 0) + m->a[c] * m->b_dir[c];
    }
}

/* product = (Z'HZ + Lambda) dir, and the same for the intercept. */
static kb_status multiply(kb_context *ctx, kb_refining *m) {
    kb_status status;
    kb_refine *p = m->p;
    TRY(p->op->apply(p->op, ctx, p->C, m->dir, m->image));
    kb_team_for(ctx, p->op->rows, KB_WORTH_A_THREAD / p->C, multiply_rows, m);
    TRY(p->op->apply_t(p->op, ctx, p->C, m->image, m->product));
    kb_refining_on_bins(ctx, m, add_stiffness);
    TRY(kb_sums(ctx, p->op->rows, p->C, m->image, NULL, m->b_product));
    for (size_t c = 0; c < p->C; c++)
        m->b_product[c] = p->intercept ? m->b_product[c] + m->b_strict[c] * m->b_dir[c] : 0;
done:
    return status;
}

/* x from r, until each output's residual is as small as `inner` says. */
kb_status kb_refining_solve(kb_context *ctx, kb_refining *m) {
    kb_status status;
    kb_refine *p = m->p;
    size_t C = p->C;
    memset(m->x, 0, p->op->columns * C * sizeof *m->x);
    memset(m->dir, 0, p->op->columns * C * sizeof *m->dir);
    memset(m->b_x, 0, C * sizeof *m->b_x);
    memset(m->b_dir, 0, C * sizeof *m->b_dir);
    memset(m->a, 0, C * sizeof *m->a);
    TRY(residual_dot(ctx, m, m->old));
    turn_all(ctx, m);
    for (int open = 1; open && p->steps < p->max_steps;) {
        TRY(multiply(ctx, m));
        TRY(kb_sums(ctx, p->op->columns, C, m->dir, m->product, m->sum));
        for (size_t c = 0; c < C; c++) {
            double below = m->sum[c] + m->b_dir[c] * m->b_product[c];
            m->a[c] = !m->done[c] && m->sum3[c] > m->inner[c] && below > 0 ? m->old[c] / below : 0;
            m->b_x[c] += m->a[c] * m->b_dir[c];
            m->b_r[c] -= m->a[c] * m->b_product[c];
        }
        kb_refining_on_bins(ctx, m, advance);
        p->steps++;
        TRY(kb_refining_length(ctx, m, m->sum3));
        TRY(residual_dot(ctx, m, m->sum2));
        open = 0;
        double worst = 0;
        for (size_t c = 0; c < C; c++) {
            int moves = m->a[c] != 0 && m->old[c] > 0;
            m->a[c] = moves ? m->sum2[c] / m->old[c] : 0;
            m->old[c] = m->sum2[c];
            open |= moves && m->sum3[c] > m->inner[c];
            worst = m->start[c] > 0 ? fmax(worst, m->sum3[c] / m->start[c]) : worst;
        }
        turn_all(ctx, m);
        TRY(kb_progress(ctx, "solve", kb_solve_progress(p->tol, p->max_steps, worst, p->steps)));
    }
done:
    return status;
}
