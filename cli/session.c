/* session.c - see session.h. */
#define _POSIX_C_SOURCE 200809L
#include "session.h"
#include "command.h"
#include "files.h"
#include "interrupt.h"
#include "ranks.h"
#include "report.h"
#include "text.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- callbacks ----------------------------------------------------------- */

static void show_log(void *user, kb_log_level level, const char *line) {
    session *s = user;
    if (level == KB_LOG_WARNING)
        session_warn(s, "%s", line);
    else
        session_note(s, "%s", line);
}

static int show_progress(void *user, const char *phase, double done) {
    session *s = user;
    if (!interrupt_requested())
        progress_update(&s->bar, phase, done);
    return interrupt_requested();
}

static void say(session *s, const char *before, const char *format, va_list list) {
    progress_clear(&s->bar);
    put_message(before, format, list);
}

void session_note(session *s, const char *format, ...) {
    va_list list;
    if (args_flag(s->args, OWN_QUIET) || ranks_me() > 0)
        return;
    va_start(list, format);
    say(s, "kerbin: ", format, list);
    va_end(list);
}

void session_warn(session *s, const char *format, ...) {
    va_list list;
    if (ranks_me() > 0)
        return;
    va_start(list, format);
    say(s, "kerbin: warning: ", format, list);
    va_end(list);
}

/* ---- beginning and end --------------------------------------------------- */

kb_status session_fail(session *s, kb_status status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(s->message, sizeof s->message, format, list);
    va_end(list);
    return status;
}

kb_status session_agree(session *s, kb_status status) {
    int first;
    kb_status agreed = ranks_agree(status, &first);
    s->told_by_other = agreed != KB_OK && first != ranks_me();
    return agreed;
}

/* The ranks of a machine share its processors. */
static int threads_of(const cli_args *args) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = args_threads(args), share = (int)processors / ranks_nearby();
    if (threads > 0 || ranks_count() == 1)
        return threads;
    return share > 1 ? share : 1;
}

kb_status session_open(session *s, const cli_args *args) {
    kb_status status;
    memset(s, 0, sizeof *s);
    s->args = args;
    s->started = seconds_now();
    progress_start(&s->bar, args_flag(args, OWN_QUIET) || ranks_me() > 0);
    kb_context_config config = {.size = sizeof config,
                                .user = s,
                                .log = show_log,
                                .progress = show_progress,
                                .threads = threads_of(args),
                                .option_style = KB_STYLE_FLAG,
                                .ranks = ranks_of_context()};
    status = kb_context_create(&config, &s->ctx);
    if (status == KB_OK)
        status = kb_options_create(s->ctx, &s->options);
    if (status == KB_OK && strcmp(args->command->name, "train") != 0 &&
        strcmp(args->command->name, "cv") != 0) /* the others vary or compare */
        status = kb_options_set(s->ctx, s->options, "tune", "off");
    for (int i = 0; i < args->settings && status == KB_OK; i++)
        status = kb_options_set(s->ctx, s->options, args->setting[i].option->name,
                                args->setting[i].value);
    return status == KB_OK ? files_add_all(s) : status;
}

/* The reader of our output has closed it: `kerbin predict .. | head` is not an error to report. */
static int reader_has_left(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

static const char *sentence(const session *s, kb_status status) {
    if (s->told_by_other)
        return "";
    if (interrupt_requested() || status == KB_ERR_CANCELLED)
        return "interrupted";
    if (s->message[0])
        return s->message;
    if (s->ctx && kb_context_message(s->ctx)[0])
        return kb_context_message(s->ctx);
    return "out of memory";
}

int finish_stdout(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (!reader_has_left())
        fprintf(stderr, "kerbin: standard output: cannot write%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "");
    return 1;
}

int session_close(session *s, kb_status status) {
    int speaks, lost;
    rank_end end = {.sentence = ""};
    progress_clear(&s->bar);
    if (status == KB_OK && finish_stdout() != 0)
        status = KB_ERR_IO;
    else if (status != KB_OK && !(status == KB_ERR_IO && reader_has_left()))
        end.sentence = sentence(s, status);
    end.status = status == KB_OK ? 0 : status == KB_ERR_ARGUMENT ? 2 : 1;
    end.interrupted = interrupt_requested() || status == KB_ERR_CANCELLED;
    int exit_status = ranks_meet(&end, &speaks, &lost);
    if (speaks && *end.sentence && ranks_me() > 0)
        put_sentence("kerbin: rank %d: %s", ranks_me(), end.sentence);
    else if (speaks && *end.sentence)
        put_sentence("kerbin: %s", end.sentence);
    files_free(s);
    kb_options_free(s->options);
    kb_context_free(s->ctx);
    if (lost && !interrupt_requested()) /* else the signal ends them all */
        ranks_abort(exit_status);
    return exit_status;
}

kb_status session_options_to_read(session *s, kb_options **out) {
    size_t count;
    const kb_option_info *table = kb_option_table(&count);
    kb_status status = kb_options_create(s->ctx, out);
    for (size_t i = 0; i < count && status == KB_OK; i++) {
        const char *name = table[i].name, *value = kb_options_get(s->options, name);
        if (strcmp(name, "weights") != 0 || strncmp(value, "column:", 7) == 0)
            status = kb_options_set(s->ctx, *out, name, value);
    }
    return status;
}

kb_status session_hold_nothing_out(session *s) {
    int open = strcmp(kb_options_get(s->options, "holdout"), "auto") == 0;
    return open ? kb_options_set(s->ctx, s->options, "holdout", "off") : KB_OK;
}
