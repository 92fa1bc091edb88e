/* context.c - see context.h. */
#define _POSIX_C_SOURCE 200809L
#include "core/context.h"
#include "core/machine.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGE_BYTES = sizeof((kb_context *)0)->message };

static void *reallocate_default(void *user, void *block, size_t bytes) {
    (void)user;
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, bytes);
}

int kb_take_sized(const void *from, void *to, size_t known) {
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > known)
        return 0;
    memset(to, 0, known);
    memcpy(to, from, size);
    return 1;
}

kb_status kb_take_struct(kb_context *ctx, const char *name, const void *from, void *to,
                         size_t known) {
    if (kb_take_sized(from, to, known))
        return KB_OK;
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size > known)
        return kb_fail(ctx, KB_ERR_ARGUMENT,
                       "%s: size is %zu, but kerbin " KB_VERSION " knows %zu bytes of it", name,
                       size, known);
    return kb_fail(ctx, KB_ERR_ARGUMENT, "%s: size is %zu; it must be sizeof(%s)", name, size,
                   name);
}

kb_status kb_context_create(const kb_context_config *config, kb_context **out) {
    kb_context_config c = {0};
    *out = NULL;
    if (config && !kb_take_sized(config, &c, sizeof c))
        return KB_ERR_ARGUMENT;
    int guarded = c.reallocate != NULL;
    if (!guarded)
        c.reallocate = reallocate_default;
    kb_ranks ranks = KB_RANKS_INIT;
    if (c.threads < 0 || (int)c.option_style < KB_STYLE_NAME || c.option_style > KB_STYLE_KEYWORD)
        return KB_ERR_ARGUMENT;
    if (c.ranks && (!kb_take_sized(c.ranks, &ranks, sizeof ranks) || ranks.rank < 0 ||
                    ranks.rank >= ranks.ranks ||
                    (ranks.ranks > 1 && !(ranks.sum && ranks.gather && ranks.exchange))))
        return KB_ERR_ARGUMENT;
    kb_context *ctx = c.reallocate(c.user, NULL, sizeof *ctx);
    if (!ctx)
        return KB_ERR_MEMORY;
    ctx->config = c;
    ctx->config.ranks = c.ranks ? &ctx->ranks : NULL;
    ctx->ranks = ranks;
    ctx->sent = ctx->pass_sent = ctx->pass_foreseen = 0;
    ctx->aside = (kb_ranks){0};
    ctx->least_threads = 0;
    ctx->ended = 0;
    ctx->checkpoint = NULL;
    ctx->checkpoint_paused = 0;
    ctx->checkpoint_stage = 0;
    ctx->checkpoint_run = 0;
    ctx->threads = c.threads > 0 ? c.threads : kb_processors();
    ctx->team = NULL;
    ctx->free_team = NULL;
    ctx->device = NULL;
    ctx->free_device = NULL;
    ctx->limit = 0;
    ctx->late = 0;
    pthread_mutex_init(&ctx->lock, NULL);
    ctx->guarded = guarded;
    ctx->above = NULL;
    ctx->speaks = 0;
    atomic_init(&ctx->stopped, 0);
    ctx->ceiling = 0;
    atomic_init(&ctx->charged, 0);
    atomic_init(&ctx->refused, 0);
    kb_progress_part(ctx, 0, 1);
    kb_progress_outer(ctx, NULL);
    ctx->told = "read";
    ctx->told_done = -1;
    ctx->clock = (kb_clock){0};
    ctx->started = NAN;
    ctx->cut_at = ctx->stop_at = INFINITY;
    ctx->cut = 0;
    ctx->message[0] = '\0';
    *out = ctx;
    return KB_OK;
}

void kb_context_free(kb_context *ctx) {
    if (!ctx)
        return;
    if (ctx->free_team)
        ctx->free_team(ctx);
    if (ctx->free_device)
        ctx->free_device(ctx);
    pthread_mutex_destroy(&ctx->lock);
    if (ctx->checkpoint)
        ctx->config.reallocate(ctx->config.user, ctx->checkpoint, 0);
    ctx->config.reallocate(ctx->config.user, ctx, 0);
}

const char *kb_context_message(const kb_context *ctx) {
    return ctx->message;
}

void kb_context_sent(const kb_context *ctx, double *all, double *pass, double *foreseen) {
    *all = ctx->sent;
    *pass = ctx->pass_sent;
    *foreseen = ctx->pass_foreseen;
}

int kb_context_threads(const kb_context *ctx) {
    return ctx->threads;
}

const char *kb_version(void) {
    return KB_VERSION;
}

const char *kb_status_name(kb_status status) {
    static const char *const name[] = {
        [KB_OK] = "KB_OK",
        [KB_ERR_ARGUMENT] = "KB_ERR_ARGUMENT",
        [KB_ERR_MEMORY] = "KB_ERR_MEMORY",
        [KB_ERR_IO] = "KB_ERR_IO",
        [KB_ERR_DATA] = "KB_ERR_DATA",
        [KB_ERR_MODEL] = "KB_ERR_MODEL",
        [KB_ERR_CANCELLED] = "KB_ERR_CANCELLED",
    };
    return (size_t)status < sizeof name / sizeof *name ? name[status] : "unknown status";
}

/* A message is one line, whatever is in a path: control characters are written as \n or \x1b. */
static void format_line(char *to, size_t room, const char *format, va_list args) {
    char text[MESSAGE_BYTES], part[8];
    size_t used = 0;
    vsnprintf(text, sizeof text, format, args);
    for (const char *from = text; *from; from++) {
        unsigned char c = (unsigned char)*from;
        const char *as = c >= ' ' && c != 127 ? "%c"
                         : c == '\n'          ? "\\n"
                         : c == '\t'          ? "\\t"
                                              : "\\x%02x";
        size_t length = (size_t)snprintf(part, sizeof part, as, c);
        if (used + length >= room)
            break;
        memcpy(to + used, part, length);
        used += length;
    }
    to[used] = '\0';
}

kb_status kb_fail(kb_context *ctx, kb_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    format_line(ctx->message, sizeof ctx->message, format, args);
    va_end(args);
    return status;
}

void kb_log(kb_context *ctx, kb_log_level level, const char *format, ...) {
    char line[512];
    if (!ctx->config.log || (ctx->outer && level == KB_LOG_INFO))
        return;
    va_list args;
    va_start(args, format);
    format_line(line, sizeof line, format, args);
    va_end(args);
    ctx->config.log(ctx->config.user, level, line);
}

void kb_progress_part(kb_context *ctx, double from, double to) {
    ctx->part[0] = from;
    ctx->part[1] = to;
}

void kb_progress_outer(kb_context *ctx, const char *phase) {
    ctx->outer = phase;
    ctx->outer_done = 0;
}

static kb_status interrupted(kb_context *ctx) {
    pthread_mutex_lock(&ctx->lock);
    kb_status status = kb_fail(ctx, KB_ERR_CANCELLED, "interrupted");
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

/* The parts of a context end together; the one that the caller's thread leads asks for all. Without
 * a phase: again. */
static kb_status progress_of_part(kb_context *ctx, const char *phase, double done) {
    atomic_int *stopped = &ctx->above->stopped;
    if (ctx->speaks && !atomic_load(stopped) &&
        (phase ? kb_progress(ctx->above, phase, done) : kb_progress_again(ctx->above)) != KB_OK)
        atomic_store(stopped, 1);
    return atomic_load(stopped) ? interrupted(ctx) : KB_OK;
}

kb_status kb_progress(kb_context *ctx, const char *phase, double done) {
    if (ctx->above)
        return progress_of_part(ctx, phase, done);
    if (ctx->outer && strcmp(phase, ctx->outer) != 0) {
        phase = ctx->outer;
        done = ctx->outer_done;
    } else if (ctx->outer)
        ctx->outer_done = done;
    else if (done >= 0)
        done = ctx->part[0] + (ctx->part[1] - ctx->part[0]) * done;
    ctx->told = phase;
    ctx->told_done = done;
    return kb_progress_again(ctx);
}

kb_status kb_progress_again(kb_context *ctx) {
    if (ctx->above)
        return progress_of_part(ctx, NULL, 0);
    if (ctx->config.progress && ctx->config.progress(ctx->config.user, ctx->told, ctx->told_done))
        return interrupted(ctx);
    if (!(isfinite(ctx->cut_at) && kb_now(ctx) >= ctx->cut_at))
        return KB_OK;
    ctx->cut = 1;
    return interrupted(ctx);
}

/* ---- time ---------------------------------------------------------------- */

double kb_clock_now(const kb_clock *clock) {
    return clock->now ? clock->now(clock->arg) : kb_seconds();
}

static const kb_context *top(const kb_context *ctx) {
    while (ctx->above)
        ctx = ctx->above;
    return ctx;
}

double kb_now(const kb_context *ctx) {
    return kb_clock_now(&top(ctx)->clock);
}

void kb_context_start_clock(kb_context *ctx) {
    ctx->started = kb_now(ctx);
}

double kb_cut_at(kb_context *ctx, double moment) {
    double before = ctx->cut_at;
    ctx->cut_at = moment;
    return before;
}

int kb_take_cut(kb_context *ctx, kb_status *status) {
    int cut = ctx->cut && *status == KB_ERR_CANCELLED;
    if (cut) {
        *status = KB_OK;
        ctx->cut = 0;
        ctx->message[0] = '\0';
    }
    return cut;
}

double kb_stop_at(kb_context *ctx, double moment) {
    double before = ctx->stop_at;
    ctx->stop_at = moment;
    return before;
}

double kb_share_of_time(const kb_context *ctx, double until, double part, double all) {
    double now = kb_now(ctx);
    return until > now ? now + (until - now) * part / all : now;
}

int kb_is_late(const kb_context *ctx) {
    double moment = top(ctx)->stop_at;
    return isfinite(moment) && kb_now(ctx) >= moment;
}

double kb_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
