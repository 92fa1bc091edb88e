/*
 * page.c - kerbin report: one page of all sweeps and comparisons in a folder.
 *
 * It shows only what is in their JSON, so the same files make the same page.
 */
#define _XOPEN_SOURCE 700
#include "command.h"
#include "html.h"
#include "model_page.h"
#include "page.h"
#include "report.h"
#include "text.h"
#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------- */

static const char *value_name(const results *r) {
    return !r->vary ? "rank R" : strcmp(r->vary, "grids") == 0 ? "R" : r->vary;
}

static void put_score(FILE *to, const results *r, const result *line) {
    fprintf(to, "%.4f", result_score(r, line));
    if (line->over.count > 1)
        fprintf(to, " &plusmn; %.4f", result_spread(r, line));
}

/* "binning, rank R 256", "sigma 0.5". */
static void put_place(FILE *to, const results *r, const result *line) {
    if (line->map)
        html_text(to, line->map);
    if (line->map && !isnan(line->value))
        fputs(", ", to);
    if (!isnan(line->value))
        fprintf(to, "%s %s", value_name(r), number_in_words(line->value, 4).text);
}

static void put_heading(FILE *to, const entry *e) {
    const results *r = &e->r;
    if (!e->json)
        html_text(to, e->path);
    else if (r->vary)
        fprintf(to, "%s over %s", strcmp(r->vary, "threads") == 0 ? "Speed-up" : "Score and time",
                value_name(r));
    else
        fputs("Maps side by side", to);
    if (e->json && *r->train) {
        fputs(": ", to);
        html_text(to, file_part(r->train));
    }
}

/* ---- the top --------------------------------------------------------------- */

/* The last line of each map, which has its largest rank: no choice was made on the test rows. */
static void put_comparison(FILE *to, const results *r) {
    for (size_t k = 0; k < r->count; k++) {
        const result *line = &r->line[k];
        if (k + 1 < r->count && strcmp(line[1].map, line->map) == 0)
            continue;
        fputs("<span class=\"score\">", to);
        put_score(to, r, line);
        fprintf(to, " <small>%s</small></span><br>", results_score_name(r));
        put_place(to, r, line);
        fprintf(to, ", %.3g s to train, %s<br>", result_seconds(line),
                size_in_words(line->over.mean.memory).text);
    }
}

/* All scores, from the lowest to the highest: the highest alone was chosen on the test rows. */
static void put_range(FILE *to, const results *r, const result *best) {
    double least = INFINITY, most = -INFINITY;
    for (size_t k = 0; k < r->count; k++) {
        least = fmin(least, result_score(r, &r->line[k]));
        most = fmax(most, result_score(r, &r->line[k]));
    }
    fprintf(to, "<span class=\"score\">%.4f to %.4f <small>%s</small></span><br>", least, most,
            results_score_name(r));
    put_place(to, r, best);
    fprintf(to, " has the %s, chosen on the test rows: expect %s on others<br>",
            results_larger(r) ? "highest" : "lowest", results_larger(r) ? "less" : "more");
}

static void put_finding(FILE *to, const entry *e, size_t number) {
    const results *r = &e->r;
    const result *best = results_best(r);
    if (!best)
        return;
    fputs("<li>", to);
    if (r->vary)
        put_range(to, r, best);
    else
        put_comparison(to, r);
    fprintf(to, "<a class=\"soft\" href=\"#e%zu\">%s</a></li>\n", number,
            r->vary ? "all values of the sweep" : "each map at its largest rank; all ranks");
}

static int same_data(const entry *a, const entry *b) {
    return a->json && b->json && strcmp(a->r.train, b->r.train) == 0;
}

/* A card for every data set, comparisons first. */
static void put_summary(FILE *to, const page *p) {
    fputs("<div class=\"cards\">\n", to);
    for (size_t k = 0; k < p->count; k++) {
        int known = !p->entry[k].json;
        for (size_t i = 0; i < k && !known; i++)
            known = same_data(&p->entry[i], &p->entry[k]);
        if (known)
            continue;
        const char *train = p->entry[k].r.train;
        fputs("<section class=\"card\"><h3>", to);
        html_text(to, *train ? file_part(train) : file_part(p->entry[k].path));
        fputs("</h3><ul>\n", to);
        for (int sweeps = 0; sweeps < 2; sweeps++)
            for (size_t i = k; i < p->count; i++)
                if (same_data(&p->entry[i], &p->entry[k]) && (p->entry[i].r.vary != NULL) == sweeps)
                    put_finding(to, &p->entry[i], i);
        fputs("</ul></section>\n", to);
    }
    fputs("</div>\n<ul>\n", to);
    for (size_t k = 0; k < p->count; k++) {
        fprintf(to, "<li><a href=\"#e%zu\">", k);
        put_heading(to, &p->entry[k]);
        fputs("</a></li>\n", to);
    }
    fputs("</ul>\n", to);
}

/* ---- tables ---------------------------------------------------------------- */

static void put_line(FILE *to, const results *r, const result *line) {
    const point *mean = &line->over.mean;
    fprintf(to, "<tr%s>", line == results_best(r) ? " class=\"best\"" : "");
    if (line->map) {
        fputs("<td>", to);
        html_text(to, line->map);
        fputs("</td>", to);
    }
    if (isnan(line->value))
        fputs("<td>&ndash;</td>", to);
    else
        fprintf(to, "<td>%s</td>", number_in_words(line->value, 4).text);
    if (line->map)
        fprintf(to, "<td>%s</td>", number_in_words(line->sigma, 4).text);
    fprintf(to, "<td>%zu</td>", mean->bins);
    if (mean->kappa > 0)
        fprintf(to, "<td>%.4g</td>", mean->kappa);
    else
        fputs("<td>&ndash;</td>", to);
    fprintf(to, "<td>%.4f</td><td>", mean->train_score);
    put_score(to, r, line);
    fprintf(to, "</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%s</td>", mean->bin_seconds,
            mean->solve_seconds, mean->test_seconds, size_in_words(mean->memory).text);
    if (r->vary && strcmp(r->vary, "threads") == 0)
        fprintf(to, "<td>%.2f</td><td>%.2f</td>", line->speedup, line->predicted);
    fputs("</tr>\n", to);
}

static void put_table(FILE *to, const results *r) {
    fputs("<div class=\"wide\"><table>\n<thead><tr>", to);
    fprintf(to, "%s<th>%s</th>%s<th>D</th><th>kappa</th>", r->vary ? "" : "<th>map</th>",
            value_name(r), r->vary ? "" : "<th>sigma</th>");
    fprintf(to,
            "<th>train %s</th><th>test %s</th><th>bin s</th><th>solve s</th><th>test s</th>"
            "<th>memory</th>%s</tr></thead>\n<tbody>\n",
            r->classes ? "accuracy" : "r2", results_score_name(r),
            r->vary && strcmp(r->vary, "threads") == 0 ? "<th>speed-up</th><th>predicted</th>"
                                                       : "");
    for (size_t k = 0; k < r->count; k++)
        put_line(to, r, &r->line[k]);
    fputs("</tbody></table></div>\n", to);
    if (r->count > 1 && results_best(r))
        fputs("<p class=\"soft\">The marked line is the best on the test rows themselves.</p>\n",
              to);
}

static void put_failures(FILE *to, const json_t *json) {
    const json_t *failed = json_object_get(json, "failed");
    for (size_t k = 0; k < json_array_size(failed); k++) {
        const json_t *one = json_array_get(failed, k);
        const char *map = json_string_value(json_object_get(one, "map"));
        const char *reason = json_string_value(json_object_get(one, "reason"));
        double rank = number_in(one, "rank");
        fputs("<p>Without result: ", to);
        html_text(to, map ? map : "");
        if (!isnan(rank))
            fprintf(to, ", rank %.0f", rank);
        fputs(": ", to);
        html_text(to, reason ? reason : "");
        fputs("</p>\n", to);
    }
}

/* ---- origin ---------------------------------------------------------------- */

static const json_t *runs_of(const entry *e) {
    return json_object_get(e->json, "runs");
}

static void put_commands(FILE *to, const entry *e) {
    const json_t *runs = runs_of(e);
    size_t count = json_array_size(runs);
    for (size_t k = 0; k < count; k++) {
        const json_t *run = json_array_get(runs, k);
        const char *typed = json_string_value(json_object_get(run, "typed"));
        fputs("<pre>", to);
        html_text(to, typed ? typed : "");
        fputs("</pre>\n", to);
    }
    if (count == 0) {
        fputs("<pre>", to);
        html_text(to, json_string_value(json_object_get(e->json, "command")));
        fputs("</pre>\n", to);
    }
}

static void put_fact(FILE *to, const char *name, const char *text) {
    fprintf(to, "<dt>%s</dt><dd>", name);
    html_text(to, text ? text : "unknown");
    fputs("</dd>\n", to);
}

static void put_machine(FILE *to, const json_t *machine) {
    static const char *const key[] = {"cpu", "system", "kerbin", "compiler"};
    static const char *const name[] = {"CPU", "system", "kerbin", "compiled by"};
    double bytes = number_in(machine, "memory_bytes"), cores = number_in(machine, "cores");
    char text[32];
    fputs("<dl>\n", to);
    for (int k = 0; k < 4; k++) {
        put_fact(to, name[k], json_string_value(json_object_get(machine, key[k])));
        if (k > 0)
            continue;
        snprintf(text, sizeof text, "%.0f", cores);
        put_fact(to, "cores", cores > 0 ? text : NULL);
        put_fact(to, "memory",
                 bytes > 0 && bytes < 1e18 ? size_in_words((size_t)bytes).text : NULL);
    }
    fputs("</dl>\n", to);
}

/* Each machine once. */
static void put_machines(FILE *to, const page *p) {
    json_t *seen = json_array();
    fputs("<h2>Machine</h2>\n", to);
    for (size_t k = 0; k < p->count; k++)
        for (size_t i = 0; i < json_array_size(runs_of(&p->entry[k])); i++) {
            json_t *machine = json_object_get(json_array_get(runs_of(&p->entry[k]), i), "machine");
            int known = !json_is_object(machine);
            for (size_t m = 0; m < json_array_size(seen) && !known; m++)
                known = json_equal(json_array_get(seen, m), machine);
            if (known)
                continue;
            put_machine(to, machine);
            json_array_append(seen, machine);
        }
    if (json_array_size(seen) == 0)
        fputs("<p>The files do not say.</p>\n", to);
    json_decref(seen);
}

/* ---- the page -------------------------------------------------------------- */

static void put_origin(FILE *to, const entry *e) {
    fputs("<p class=\"soft\">", to);
    html_text(to, e->path);
    if (*e->r.test) {
        fputs(", tested on ", to);
        html_text(to, e->r.test);
    }
    if (e->r.seeds > 1)
        fprintf(to, "; mean and standard deviation over %.0f seeds", e->r.seeds);
    fputs("</p>\n", to);
    put_commands(to, e);
}

static void put_entry(FILE *to, const page *p, size_t number) {
    const entry *e = &p->entry[number];
    fprintf(to, "<h2 id=\"e%zu\">", number);
    put_heading(to, e);
    fputs("</h2>\n", to);
    if (e->json)
        put_origin(to, e);
    if (e->svg) {
        fputs("<figure>\n", to);
        if (e->json)
            html_gnuplot(to, e->svg, (int)number, "figure of the table below");
        else
            html_picture(to, e->svg, e->svg_size, file_part(e->path));
        fputs("</figure>\n", to);
    }
    if (e->json) {
        put_table(to, &e->r);
        put_failures(to, e->json);
    }
}

static int write_page(const void *user, FILE *to) {
    const page *p = user;
    html_begin(to, "kerbin report");
    fputs("<header><p class=\"soft\">kerbin report</p>\n<h1>", to);
    char *folder = realpath(p->s->args->operand[0], NULL);
    html_text(to, file_part(folder ? folder : p->s->args->operand[0]));
    free(folder);
    fputs("</h1></header>\n", to);
    put_summary(to, p);
    for (size_t k = 0; k < p->count; k++)
        put_entry(to, p, k);
    put_machines(to, p);
    html_end(to);
    return 1;
}

/* Before anything is written: if a figure fails, no half page is left. */
static kb_status draw_figures(page *p) {
    kb_status status = KB_OK;
    if (!plot_possible()) {
        session_warn(p->s, "the page has no figures: %s", plot_advice);
        return KB_OK;
    }
    for (size_t k = 0; k < p->count; k++) {
        entry *e = &p->entry[k];
        if (!e->json || e->r.count == 0)
            continue;
        figure *f = results_figure(&e->r);
        status = figure_svg(p->s, f, &e->svg);
        figure_free(f);
        TRY(status);
    }
done:
    return status;
}

int report_run(const cli_args *args) {
    session s;
    kb_status status;
    page p = {.s = &s};
    const char *path = args->own[OWN_FILE] ? args->own[OWN_FILE] : "-";

    TRY(session_open(&s, args));
    TRY(files_check_output(&s, path));
    if (args->operands == 2) {
        TRY(model_page_make(&s, args->operand[0], args->operand[1], path));
    } else {
        TRY(page_gather(&p, args->operand[0]));
        TRY(files_check_list(&s, path));
        TRY(draw_figures(&p));
        TRY(write_whole(&s, path, write_page, &p));
    }
    if (!is_stdio(path))
        session_note(&s, "the report is in %s", path);
done:
    page_free(&p);
    return session_close(&s, status);
}
