/* drawing.c - figures drawn by gnuplot, to files and pages; see plot.h. */
#define _POSIX_C_SOURCE 200809L
#include "drawing.h"
#include "gnuplot.h"
#include "wholefile.h"
#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kb_status draw(session *s, figure *f, picture kind, char **bytes, size_t *size) {
    *bytes = NULL;
    char *script = figure_script(f, kind);
    kb_status status = script ? gnuplot_run(s, script, bytes, size) : KB_ERR_MEMORY;
    free(script);
    return status;
}

kb_status figure_svg(session *s, figure *f, char **text) {
    size_t size;
    return draw(s, f, PICTURE_SVG_BARE, text, &size);
}

typedef struct drawn {
    char *bytes;
    size_t size;
    const char *mark;
} drawn;

static int write_drawn(const void *user, FILE *to) {
    const drawn *d = user;
    fwrite(d->bytes, 1, d->size, to);
    if (d->mark)
        fprintf(to, "<!-- %s -->\n", d->mark);
    return 1;
}

/* ".svg" and ".png" alone, or NULL. */
static const char *suffix_of(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && dot > path && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0) ? dot : NULL;
}

kb_status figure_save(session *s, figure *f, const char *path, const char *mark) {
    drawn d = {0};
    const char *suffix = suffix_of(path);
    int png = suffix && strcmp(suffix, ".png") == 0;
    kb_status status = draw(s, f, png ? PICTURE_PNG : PICTURE_SVG, &d.bytes, &d.size);
    d.mark = png ? NULL : mark;
    if (status == KB_OK)
        status = write_whole(s, path, write_drawn, &d);
    free(d.bytes);
    return status;
}

/* ---- before the work ----------------------------------------------------- */

const char plot_advice[] = "gnuplot is not installed; on Debian: apt-get install gnuplot-nox";

int plot_possible(void) {
    return gnuplot_found();
}

kb_status plot_check(session *s, const char *path) {
    kb_status status = KB_OK;
    if (!path)
        return KB_OK;
    if (!suffix_of(path))
        return session_fail(s, KB_ERR_ARGUMENT, "--plot %s: should end in .svg or .png", path);
    TRY(files_check_output(s, path));
    if (!plot_possible())
        TRY(session_fail(s, KB_ERR_IO, "--plot: %s", plot_advice));
done:
    return status;
}
