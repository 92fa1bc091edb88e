/* html.c - see html.h. */
#include "html.h"
#include "text.h"

#include <string.h>

/* gnuplot writes its colours as attributes, which CSS rules override: its black becomes the text
 * colour of the page, and colours that are too dark for a dark page become lighter there. */
static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1d2430;--soft:#5b6675;--line:#d9dee5;"
    "--card:#f5f7fa;--accent:#0072b2;--mark:#e4f1f9;--grid:#ccc;--blue:#0072b2;--grey:#666}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#14181f;--ink:#e4e8ee;--soft:#9aa6b5;"
    "--line:#303845;--card:#1c222c;--accent:#6cb8ea;--mark:#1b3344;--grid:#3a4350;--blue:#4aa3df;"
    "--grey:#aaa}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif}\n"
    "main{max-width:960px;margin:0 auto;padding:24px 20px 60px}\n"
    "h1{font-size:1.9rem;line-height:1.2;margin:12px 0 4px}\n"
    "h2{font-size:1.3rem;margin:52px 0 4px;padding-top:16px;border-top:1px solid var(--line);"
    "overflow-wrap:anywhere}\n"
    "h3{font-size:1.05rem;margin:0 0 6px;overflow-wrap:anywhere}\n"
    "p{margin:6px 0}.soft{color:var(--soft)}a{color:var(--accent)}\n"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,290px),1fr));"
    "gap:16px;margin:20px 0}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:16px 18px;min-width:0}\n"
    ".card ul{list-style:none;margin:8px 0 0;padding:0}.card li{margin:10px 0 0}\n"
    ".score{font-size:1.5rem;font-weight:650;font-variant-numeric:tabular-nums}\n"
    ".score small{font-size:.9rem;font-weight:400;color:var(--soft)}\n"
    "figure{margin:18px 0;overflow-x:auto}\n"
    "figure svg,figure img{display:block;width:100%;height:auto;max-width:900px;"
    "margin:0 auto}figure img{border-radius:8px}\n"
    "figure svg g[color=\"black\"]{color:var(--ink)}\n"
    "figure svg [fill=\"black\"]{fill:var(--ink)}figure svg [stroke=\"black\"]{stroke:var(--ink)}\n"
    "figure svg [stroke=\"rgb(204, 204, 204)\"]{stroke:var(--grid)}\n"
    "figure svg [stroke=\"rgb(  0, 114, 178)\"]{stroke:var(--blue)}\n"
    "figure svg [fill=\"rgb(  0, 114, 178)\"]{fill:var(--blue)}\n"
    "figure svg [stroke=\"rgb(  0,   0,   0)\"]{stroke:var(--ink)}\n"
    "figure svg [color=\"rgb(  0,   0,   0)\"]{color:var(--ink)}\n"
    "figure svg [color=\"rgb(  0, 114, 178)\"]{color:var(--blue)}\n"
    "figure svg [stroke=\"rgb(102, 102, 102)\"]{stroke:var(--grey)}\n"
    "figure svg [color=\"rgb(102, 102, 102)\"]{color:var(--grey)}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,360px),1fr));"
    "gap:8px 24px;margin:14px 0}.figures figure{margin:0}\n"
    ".figures figure svg{max-width:560px}\n"
    ".matrix td[style]{background:color-mix(in srgb,var(--accent) "
    "calc(var(--share)*55%),transparent)}\n"
    ".columns td:last-child,.columns th:last-child{text-align:left;white-space:normal;"
    "min-width:170px}\n"
    ".wide{overflow-x:auto;margin:14px 0}\n"
    "table{border-collapse:collapse;width:100%;font-size:.86rem;font-variant-numeric:tabular-nums}"
    "\n"
    "th,td{padding:6px 7px;text-align:right;white-space:nowrap;border-bottom:1px solid "
    "var(--line)}\n"
    "th{font-weight:600;color:var(--soft)}th:first-child,td:first-child{text-align:left}\n"
    "tr.best td{background:var(--mark);font-weight:650}\n"
    "pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;"
    "margin:10px 0;font-size:.85rem;white-space:pre-wrap;overflow-wrap:anywhere}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:10px 0 22px}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
    "@media print{figure,tr,.card{break-inside:avoid}}\n";

void html_begin(FILE *to, const char *title) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          /* The page must load nothing and run no scripts. */
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; img-src data:\">\n<title>",
          to);
    html_text(to, title);
    fprintf(to, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
}

void html_end(FILE *to) {
    fputs("</main>\n</body>\n</html>\n", to);
}

void html_text(FILE *to, const char *text) {
    static const char special[] = "&<>\"'";
    static const char *const spelling[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (int length; *text; text += length ? length : 1) {
        const char *found = strchr(special, *text);
        length = utf8_length(text);
        if (found)
            fputs(spelling[found - special], to);
        else if (length == 0 || ((unsigned char)*text < ' ' && *text != '\n'))
            fputc('?', to);
        else
            fwrite(text, 1, (size_t)length, to);
    }
}

static int begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* The position after `end`, which ends an element that contains none of its own kind. */
static const char *behind(const char *at, const char *end) {
    const char *found = strstr(at, end);
    return found ? found + strlen(end) : at + strlen(at);
}

void html_gnuplot(FILE *to, const char *svg, int number, const char *label) {
    int width = 860, height = 380, in_tag = 0;
    const char *at = strstr(svg, "<svg"), *box = at ? strstr(at, "viewBox=\"0 0 ") : NULL;
    if (!at)
        return;
    if (box)
        sscanf(box, "viewBox=\"0 0 %d %d\"", &width, &height);
    fprintf(to, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", width, height);
    html_text(to, label);
    fputs("\">\n", to);
    at = behind(at, ">");
    while (*at) {
        if (begins(at, "<title>"))
            at = behind(at, "</title>");
        if (begins(at, "<desc>"))
            at = behind(at, "</desc>");
        /* A '<' in text is always escaped, so tags are easy to find. */
        in_tag = *at == '<' ? 1 : *at == '>' ? 0 : in_tag;
        int name = in_tag && (begins(at, " id='") || begins(at, " id=\""));
        int use = in_tag && begins(at, "href='#");
        if (name || use) {
            int length = name ? 5 : 7;
            fprintf(to, "%.*sf%d-", length, at, number);
            at += length;
        } else if (*at)
            fputc(*at++, to);
    }
}

void html_picture(FILE *to, const char *svg, size_t size, const char *label) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fputs("<img alt=\"", to);
    html_text(to, label);
    fputs("\" src=\"data:image/svg+xml;base64,", to);
    for (size_t k = 0; k < size; k += 3) {
        unsigned three = 0;
        for (size_t i = 0; i < 3; i++)
            three = three << 8 | (k + i < size ? (unsigned char)svg[k + i] : 0);
        for (size_t i = 0; i < 4; i++)
            fputc(k + i <= size ? digit[three >> (18 - 6 * i) & 63] : '=', to);
    }
    fputs("\">\n", to);
}
