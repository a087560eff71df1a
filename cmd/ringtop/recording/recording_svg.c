/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A page of SVG that moves by itself, without a script. Rows of the screen
 * repeat, so the page has each version of a row once, and style sheet rules
 * with the times at which it is visible. An animation of twenty seconds takes tens of
 * kilobytes. Where animation is off (on paper, or by the reader's choice), the
 * last picture is shown.
 */
#include "recording.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t FRAME_NS = 200000000;
/* How long the last picture stays before the first one returns. */
static const uint64_t REST_NS = 2000000000;

/* In pixels: a cell, and the edge around all of them. */
#define CELL 8.4
enum { ROW = 17, EDGE = 10, BASELINE = 13 };

/* The colours of a style on a dark ground. Without colours only weight and
 * reverse remain. */
struct svg_style {
    const char *ink, *ground;
    bool bold;
};
#define INK    "#d8dee4"
#define GROUND "#161b22"
static const struct svg_style colored[STYLES] = {
    [STYLE_PLAIN] = {INK, NULL, false},
    [STYLE_BAR] = {GROUND, "#56b6c2", false},
    [STYLE_STRONG] = {"#ffffff", NULL, true},
    [STYLE_DIM] = {"#7d8590", NULL, false},
    [STYLE_GOOD] = {"#7ee787", NULL, false},
    [STYLE_WARN] = {"#e3b341", NULL, false},
    [STYLE_BAD] = {"#ffffff", "#c93c37", true},
    [STYLE_CHUNK] = {"#79e1f0", NULL, true},
    [STYLE_FORWARD] = {"#ffffff", "#2f6feb", false},
    [STYLE_BACKWARD] = {GROUND, "#57ab5a", false},
    [STYLE_BACKWARD_INPUT] = {GROUND, "#c69026", false},
    [STYLE_BACKWARD_WEIGHT] = {GROUND, "#56b6c2", false},
};
static const struct svg_style plain[STYLES] = {
    [STYLE_PLAIN] = {INK, NULL, false},
    [STYLE_BAR] = {GROUND, INK, false},
    [STYLE_STRONG] = {INK, NULL, true},
    [STYLE_DIM] = {"#7d8590", NULL, false},
    [STYLE_GOOD] = {INK, NULL, false},
    [STYLE_WARN] = {INK, NULL, true},
    [STYLE_BAD] = {GROUND, INK, true},
    [STYLE_CHUNK] = {INK, NULL, true},
    [STYLE_FORWARD] = {INK, NULL, false},
    [STYLE_BACKWARD] = {GROUND, INK, false},
    [STYLE_BACKWARD_INPUT] = {INK, NULL, true},
    [STYLE_BACKWARD_WEIGHT] = {"#7d8590", NULL, false},
};

/* ---- collected while the show plays ---- */

struct span {
    uint64_t from_ns, to_ns;
};

/* One version of a row, and the times at which it is visible. */
struct version {
    int y;
    char *text; /* its SVG elements */
    struct span *spans;
    size_t count;
};

struct svg {
    const struct svg_style *styles;
    struct version *versions;
    size_t count;
    size_t *shown; /* by row: its current version + 1 */
};

static void put_glyph(FILE *file, uint32_t glyph)
{
    char text[5];
    utf8_of(glyph, text);
    fputs(glyph == '<' ? "&lt;" : glyph == '&' ? "&amp;" : text, file);
}

static int end_of_style(const struct grid *grid, int x, int y)
{
    enum style style = grid_at(grid, x, y)->style;
    while (x < grid->width && grid_at(grid, x, y)->style == style)
        x++;
    return x;
}

/* The coloured backgrounds of the letters. */
static void put_grounds(FILE *file, const struct svg *svg,
                        const struct grid *grid, int y)
{
    for (int x = 0, end; x < grid->width; x = end) {
        const char *ground = svg->styles[grid_at(grid, x, y)->style].ground;
        end = end_of_style(grid, x, y);
        if (ground)
            fprintf(file,
                    "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
                    "height=\"%d\" fill=\"%s\"/>",
                    EDGE + x * CELL, EDGE + y * ROW, (end - x) * CELL, ROW,
                    ground);
    }
}

static int end_of_row(const struct grid *grid, int y)
{
    int end = grid->width;
    while (end > 0 && grid_at(grid, end - 1, y)->glyph == ' ')
        end--;
    return end;
}

static void put_glyphs(FILE *file, const struct grid *grid, int y, int from,
                       int to)
{
    for (int x = from; x < to; x++)
        put_glyph(file, grid_at(grid, x, y)->glyph);
}

/* The letters of a row. The browser fits them to its width, whatever its font
 * is. */
static void put_letters(FILE *file, const struct grid *grid, int y)
{
    int width = end_of_row(grid, y);
    if (width == 0)
        return;
    fprintf(file, "<text x=\"%d\" y=\"%d\" textLength=\"%.1f\">", EDGE,
            EDGE + y * ROW + BASELINE, width * CELL);
    for (int x = 0, end; x < width; x = end) {
        enum style style = grid_at(grid, x, y)->style;
        end = end_of_style(grid, x, y);
        end = end < width ? end : width;
        if (style != STYLE_PLAIN)
            fprintf(file, "<tspan class=\"s%d\">", (int)style);
        put_glyphs(file, grid, y, x, end);
        if (style != STYLE_PLAIN)
            fputs("</tspan>", file);
    }
    fputs("</text>", file);
}

/* The caller frees it; NULL: out of memory. */
static char *row_text(const struct svg *svg, const struct grid *grid, int y)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        return NULL;
    put_grounds(file, svg, grid, y);
    put_letters(file, grid, y);
    if (!fclose(file))
        return text;
    free(text);
    return NULL;
}

static struct version *find_version(const struct svg *svg, int y,
                                    const char *text)
{
    for (size_t i = 0; i < svg->count; i++)
        if (svg->versions[i].y == y && strcmp(svg->versions[i].text, text) == 0)
            return &svg->versions[i];
    return NULL;
}

/* Takes `text`; NULL: out of memory. */
static struct version *add_version(struct svg *svg, int y, char *text)
{
    struct version *more =
        realloc(svg->versions, (svg->count + 1) * sizeof *more);
    if (!more) {
        free(text);
        return NULL;
    }
    svg->versions = more;
    more[svg->count] = (struct version){.y = y, .text = text};
    return &more[svg->count++];
}

static bool begin_span(struct version *version, uint64_t from_ns)
{
    struct span *more =
        realloc(version->spans, (version->count + 1) * sizeof *more);
    if (!more)
        return false;
    version->spans = more;
    more[version->count++] = (struct span){from_ns, UINT64_MAX};
    return true;
}

static bool capture_row(struct svg *svg, const struct grid *grid, int y,
                        uint64_t time_ns)
{
    char *text = row_text(svg, grid, y);
    struct version *version = text ? find_version(svg, y, text) : NULL;
    if (!text)
        return false;
    if (version)
        free(text);
    else
        version = add_version(svg, y, text);
    if (!version)
        return false;
    size_t index = (size_t)(version - svg->versions);
    if (svg->shown[y] == index + 1)
        return true;
    if (svg->shown[y]) {
        struct version *before = &svg->versions[svg->shown[y] - 1];
        before->spans[before->count - 1].to_ns = time_ns;
    }
    svg->shown[y] = index + 1;
    return begin_span(version, time_ns);
}

static enum gw_err capture_picture(void *developer, const struct grid *grid,
                                   uint64_t time_ns, struct gw_error *why)
{
    for (int y = 0; y < grid->height; y++)
        if (!capture_row(developer, grid, y, time_ns - FRAME_NS))
            return gw_fail(why, GW_ENOMEM, "a frame of the animation");
    return GW_OK;
}

/* ---- written at the end ---- */

static void put_head(FILE *file, const struct svg *svg, const struct grid *grid,
                     uint64_t end_ns)
{
    double width = 2 * EDGE + grid->width * CELL;
    int height = 2 * EDGE + grid->height * ROW;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "xml:space=\"preserve\" "
            "viewBox=\"0 0 %.1f %d\" width=\"%.1f\" height=\"%d\">\n"
            "<title>ringtop</title>\n<style>\n"
            "text{font:13px ui-monospace,Menlo,Consolas,monospace}\n"
            "g{animation-duration:%.1fs;animation-timing-function:step-end;"
            "animation-iteration-count:infinite}\n"
            "@media (prefers-reduced-motion:reduce){g{animation:none}}\n",
            width, height, width, height, (double)end_ns * 1e-9);
    for (int style = STYLE_PLAIN + 1; style < STYLES; style++)
        fprintf(file, ".s%d{fill:%s%s}\n", style, svg->styles[style].ink,
                svg->styles[style].bold ? ";font-weight:700" : "");
}

/* Hidden at 0 %, unless it is visible from the start. */
static void put_keyframes(FILE *file, size_t number,
                          const struct version *version, uint64_t end_ns)
{
    fprintf(file, "@keyframes k%zu{", number);
    if (version->spans[0].from_ns > 0)
        fputs("0%{visibility:hidden}", file);
    for (size_t i = 0; i < version->count; i++) {
        const struct span *span = &version->spans[i];
        fprintf(file, "%.3f%%{visibility:visible}",
                100.0 * (double)span->from_ns / (double)end_ns);
        if (span->to_ns < end_ns)
            fprintf(file, "%.3f%%{visibility:hidden}",
                    100.0 * (double)span->to_ns / (double)end_ns);
    }
    fputs("}\n", file);
}

static bool stands(const struct version *version)
{
    return version->spans[version->count - 1].to_ns == UINT64_MAX;
}

static bool moves(const struct version *version)
{
    return version->spans[0].from_ns > 0 || !stands(version);
}

static void put_version(FILE *file, size_t number,
                        const struct version *version)
{
    if (!*version->text)
        return;
    if (moves(version))
        fprintf(file, "<g style=\"animation-name:k%zu\"%s>", number,
                stands(version) ? "" : " visibility=\"hidden\"");
    fputs(version->text, file);
    fputs(moves(version) ? "</g>\n" : "\n", file);
}

static enum gw_err put_page(const struct svg *svg, FILE *file,
                            const struct grid *grid, uint64_t end_ns,
                            struct gw_error *why)
{
    put_head(file, svg, grid, end_ns);
    for (size_t i = 0; i < svg->count; i++)
        if (*svg->versions[i].text && moves(&svg->versions[i]))
            put_keyframes(file, i, &svg->versions[i], end_ns);
    fprintf(file, "</style>\n<rect width=\"100%%\" height=\"100%%\" rx=\"6\" "
                  "fill=\"" GROUND "\"/>\n<g fill=\"" INK "\">\n");
    for (size_t i = 0; i < svg->count; i++)
        put_version(file, i, &svg->versions[i]);
    fputs("</g>\n</svg>\n", file);
    return ferror(file) ? gw_fail_errno(why, "write to the animation") : GW_OK;
}

static void svg_fini(struct svg *svg)
{
    for (size_t i = 0; i < svg->count; i++) {
        free(svg->versions[i].text);
        free(svg->versions[i].spans);
    }
    free(svg->versions);
    free(svg->shown);
}

enum gw_err recording_svg(struct show *show, FILE *file, bool color,
                          struct gw_error *why)
{
    struct svg svg = {.styles = color ? colored : plain};
    const struct grid *grid = &show->grid;
    uint64_t end_ns = 0;
    enum gw_err err = GW_OK;
    svg.shown = calloc((size_t)grid->height, sizeof *svg.shown);
    if (!svg.shown)
        err = gw_fail(why, GW_ENOMEM, "an animation");
    if (!err)
        err =
            recording_play(show, FRAME_NS, capture_picture, &svg, &end_ns, why);
    if (!err)
        err = put_page(&svg, file, grid, end_ns + REST_NS, why);
    svg_fini(&svg);
    return err;
}
