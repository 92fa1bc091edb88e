/* sweep_saver.c - see sweep_saver.h. */
#include "sweeps/sweep_saver.h"
#include "sweeps/sweep_cpu.h"

#include <string.h>

/* Rows, targets, bins and settings. */
static kb_status find_problem(kb_context *ctx, const kb_sweep_state *s, uint64_t *out) {
    kb_status status;
    const kb_sweeps *p = s->p;
    kb_checkpoint_part rows[] = {{s->r, s->P * sizeof *s->r},
                                 {s->share, s->share ? sizeof *s->share : 0}};
    double numbers[] = {s->Lambda,    p->tol,  (double)p->max_sweeps, (double)p->C,
                        p->intercept, p->warm, p->watch != NULL,      (double)s->D};
    TRY(kb_checkpoint_hash_rows(ctx, s->N, s->share ? 2 : 1, rows, out));
    *out = kb_checkpoint_hash(*out, numbers, sizeof numbers);
    *out = kb_checkpoint_hash(*out, s->unit, p->C * sizeof *s->unit);
    *out = kb_checkpoint_hash(*out, kb_sweep_cpu_of(s)->n, s->D * sizeof *kb_sweep_cpu_of(s)->n);
    *out = kb_checkpoint_hash(*out, s->u, s->D * s->P * sizeof *s->u);
done:
    return status;
}

static void list_parts(kb_sweep_state *s, kb_sweep_saver *saver) {
    kb_sweep_cpu *own = kb_sweep_cpu_of(s);
    kb_checkpoint *c = &saver->state;
    size_t bins = s->D * s->P, row = s->P * sizeof *s->r;
    *saver = (kb_sweep_saver){.state = {.N = s->N}};
    kb_checkpoint_whole(c, &saver->numbers, sizeof saver->numbers);
    kb_checkpoint_whole(c, s->u, bins * sizeof *s->u);
    kb_checkpoint_whole(c, own->u_last, bins * sizeof *own->u_last);
    kb_checkpoint_whole(c, own->kept_u, bins * sizeof *own->kept_u);
    kb_checkpoint_row(c, s->r, row);
    kb_checkpoint_row(c, own->last, row);
    kb_checkpoint_row(c, own->kept_r, row);
}

kb_status kb_sweep_save(kb_context *ctx, const kb_sweep_state *s, kb_sweep_saver *saver,
                        int finished) {
    const kb_sweeps *p = s->p;
    kb_sweep_numbers *n = &saver->numbers;
    if (p->too_wide || saver->state.problem == 0)
        return KB_OK;
    *n = (kb_sweep_numbers){.sweeps = p->sweeps,
                            .kept = s->kept,
                            .backward = s->backward,
                            .finished = finished,
                            .converged = p->converged};
    memcpy(n->b, p->b, p->C * sizeof *n->b);
    memcpy(n->kept_b, s->kept_b, sizeof n->kept_b);
    memcpy(n->start, s->start, sizeof n->start);
    memcpy(n->residual, s->residual, sizeof n->residual);
    if (p->watch)
        memcpy(n->watch, p->watch->state, p->watch->state_bytes);
    return kb_checkpoint_save(ctx, &saver->state);
}

static void take_numbers(kb_sweep_state *s, const kb_sweep_numbers *n) {
    kb_sweeps *p = s->p;
    p->sweeps = n->sweeps;
    p->converged = (int)n->converged;
    s->kept = n->kept;
    s->backward = (int)n->backward;
    memcpy(p->b, n->b, p->C * sizeof *n->b);
    memcpy(s->kept_b, n->kept_b, sizeof n->kept_b);
    memcpy(s->start, n->start, sizeof n->start);
    memcpy(s->residual, n->residual, sizeof n->residual);
    if (p->watch)
        memcpy(p->watch->state, n->watch, p->watch->state_bytes);
}

kb_status kb_sweep_resume(kb_context *ctx, kb_sweep_state *s, kb_sweep_saver *saver, int *found,
                          int *finished) {
    kb_status status;
    uint64_t problem;
    *found = *finished = 0;
    *saver = (kb_sweep_saver){.numbers = {0}};
    if (!kb_wants_checkpoint(ctx) || (s->p->watch && !s->p->watch->restore))
        return KB_OK;
    if (s->steps != &KB_SWEEP_ON_CPU) {
        kb_log(ctx, KB_LOG_WARNING, "%s: no checkpoint is kept of sweeps on a GPU",
               ctx->checkpoint);
        return KB_OK;
    }
    list_parts(s, saver);
    TRY(find_problem(ctx, s, &problem));
    TRY(kb_checkpoint_resume(ctx, &saver->state, problem, found));
    if (!*found)
        goto done;
    take_numbers(s, &saver->numbers);
    memcpy(kb_sweep_cpu_of(s)->before, s->r, s->N * s->P * sizeof *s->r);
    kb_sweep_weigh(s, 0, s->N);
    *finished = saver->numbers.finished != 0;
    kb_log(ctx, KB_LOG_INFO, "%s: goes on after sweep %zu", ctx->checkpoint, s->p->sweeps);
done:
    return status;
}
