/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Timelines as a self-contained SVG document: a title, a legend, then a panel
 * per schedule, all on one axis of time, so that a shorter panel is a faster
 * schedule. In a measured panel each stage has two lanes: a thin one for the
 * prediction, and below it the measurement. Further pieces of a stage are
 * paler. A browser shows a pass's times as a tooltip.
 */
#include "gantt_parts.h"

#include <math.h>
#include <string.h>

/* In pixels. */
enum {
    LEFT = 92,
    RIGHT = 28,
    PLOT = 1000,
    TOP = 64,
    HEADING = 22,
    LANE = 20,
    THIN = 11,
    GAP = 4,
    PANEL_GAP = 26,
    DIGIT = 7,
    TICKS = 10
};
enum { DRAWN_MAX = 1 << 18 };

/* The page during writing. */
struct page {
    FILE *file;
    double span_us;
    double y; /* the top of the next element */
};

static const char style[] = "<style>\n"
                            "text{font:12px system-ui,sans-serif;fill:#222}\n"
                            ".title{font-size:17px;font-weight:600}\n"
                            ".name{font-weight:600}\n"
                            ".micro{font-size:11px;text-anchor:middle}\n"
                            ".tick,.small{font-size:11px;fill:#666}\n"
                            ".tick{text-anchor:middle}\n"
                            ".lane{fill:#eee}\n"
                            ".grid{stroke:#888;stroke-opacity:.35}\n"
                            ".pass:hover{stroke:#000;stroke-width:2}\n";

static void put_text(FILE *file, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else
            fputc((unsigned char)*text < ' ' ? '?' : *text, file);
}

static double x_of(const struct page *page, double time_us)
{
    return LEFT + PLOT * time_us / page->span_us;
}

/* ---- the page around the panels ---- */

static double lanes_height(const struct gantt_panel *panel)
{
    unsigned each = LANE + GAP + (panel->measured ? THIN : 0);
    return (double)panel->schedule->stages * each;
}

static double panel_height(const struct gantt_panel *panel)
{
    unsigned headings = panel->measured ? 2 : 1;
    return headings * HEADING + lanes_height(panel) + PANEL_GAP;
}

static void put_head(struct page *page, const char *title,
                     const struct gantt_panel *panels, unsigned count)
{
    double height = TOP + HEADING;
    for (unsigned i = 0; i < count; i++)
        height += panel_height(&panels[i]);
    fprintf(page->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n",
            LEFT + PLOT + RIGHT, height, LEFT + PLOT + RIGHT, height);
    fputs("<title>", page->file);
    put_text(page->file, title);
    fprintf(page->file, "</title>\n%s", style);
    for (unsigned k = 0; k < GW_PASS_KINDS; k++) {
        char symbol = gw_pass_symbol((enum gw_pass_kind)k);
        fprintf(page->file, ".%c{fill:%s} .in%c{fill:%s}\n", symbol,
                gantt_pass_styles[k].fill, symbol, gantt_pass_styles[k].ink);
    }
    fprintf(page->file,
            "</style>\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#fff\"/>\n<text class=\"title\" x=\"16\" y=\"26\">");
    put_text(page->file, title);
    fputs("</text>\n", page->file);
}

static void put_legend(struct page *page, const struct gantt_panel *panels,
                       unsigned count)
{
    unsigned kinds = 0;
    int x = LEFT;
    for (unsigned i = 0; i < count; i++)
        kinds |= gantt_kinds(panels[i].schedule);
    for (unsigned k = 0; k < GW_PASS_KINDS; k++) {
        if (!(kinds & 1u << k))
            continue;
        fprintf(page->file,
                "<rect class=\"%c\" x=\"%d\" y=\"40\" width=\"14\" "
                "height=\"14\"/><text x=\"%d\" y=\"51\">%c %s</text>\n",
                gw_pass_symbol((enum gw_pass_kind)k), x, x + 20,
                gw_pass_symbol((enum gw_pass_kind)k),
                gantt_pass_styles[k].word);
        x += 44 + DIGIT * (int)strlen(gantt_pass_styles[k].word);
    }
    fprintf(page->file,
            "<rect class=\"lane\" x=\"%d\" y=\"40\" width=\"14\" "
            "height=\"14\"/><text x=\"%d\" y=\"51\">idle</text>\n",
            x, x + 20);
}

/* Lines through the lanes, or the times below all of them. */
static void put_ticks(const struct page *page, double height, bool labels)
{
    char text[24];
    double step_us = gantt_tick_us(page->span_us, TICKS);
    for (unsigned i = 0; i * step_us <= page->span_us * (1 + 1e-9); i++) {
        double x = x_of(page, i * step_us);
        gantt_tick_label(i * step_us, page->span_us, text);
        if (labels)
            fprintf(page->file,
                    "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x,
                    page->y, text);
        else
            fprintf(page->file,
                    "<path class=\"grid\" d=\"M%.1f %.1fv%.1f\"/>\n", x,
                    page->y, height);
    }
}

/* ---- a panel ---- */

static void put_tooltip(const struct page *page, const struct gantt *gantt,
                        unsigned stage, size_t pass)
{
    char name[16], begin[24], end[24], waited[24];
    const struct gw_pass_time *time = &gantt->timeline->times[pass];
    gantt_pass_label(&gantt->schedule->passes[pass], gantt->schedule->chunks,
                     name);
    gantt_time(time->begin_us, begin);
    gantt_time(time->end_us, end);
    fprintf(page->file, "<title>stage %u, %s: %s to %s", stage, name, begin,
            end);
    if (time->waited_for != GW_NONE && time->begin_us > time->ready_us) {
        gantt_time(time->begin_us - time->ready_us, waited);
        fprintf(page->file, ", waited %s for stage %u", waited,
                time->waited_for);
    }
    fputs("</title>", page->file);
}

/* The number of the micro-batch, where it fits. */
static void put_micro(const struct page *page, const struct gw_pass *pass,
                      double middle, double width)
{
    int digits = snprintf(NULL, 0, "%u", pass->micro);
    char symbol = gw_pass_symbol((enum gw_pass_kind)pass->kind);
    if (width <= digits * DIGIT + 2)
        return;
    fprintf(page->file,
            "<text class=\"micro in%c\" x=\"%.2f\" y=\"%.1f\" "
            "pointer-events=\"none\">%u</text>",
            pass->chunk > 0 ? 'W' : symbol, middle, page->y + 14, pass->micro);
}

static void put_pass(const struct page *page, const struct gantt *gantt,
                     unsigned stage, size_t pass, double height)
{
    const struct gw_pass *what = &gantt->schedule->passes[pass];
    const struct gw_pass_time *time = &gantt->timeline->times[pass];
    double x = x_of(page, time->begin_us);
    double width = x_of(page, time->end_us) - x;
    unsigned chunks = gantt->schedule->chunks;
    width -= width > 4 ? 1 : 0;
    fprintf(page->file,
            "<g><rect class=\"pass %c\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
            "height=\"%.0f\"",
            gw_pass_symbol((enum gw_pass_kind)what->kind), x, page->y, width,
            height);
    if (what->chunk > 0)
        fprintf(page->file, " fill-opacity=\"%.2f\"",
                1 - 0.6 * what->chunk / (chunks - 1));
    fputs(">", page->file);
    put_tooltip(page, gantt, stage, pass);
    fputs("</rect>", page->file);
    if (height > THIN)
        put_micro(page, what, x + width / 2, width);
    fputs("</g>\n", page->file);
}

static void put_lane(struct page *page, const struct gantt *gantt,
                     unsigned stage, double height)
{
    const struct gw_schedule *schedule = gantt->schedule;
    fprintf(page->file,
            "<rect class=\"lane\" x=\"%d\" y=\"%.1f\" width=\"%d\" "
            "height=\"%.0f\"/>\n",
            LEFT, page->y, PLOT, height);
    for (size_t i = schedule->begin[stage]; i < schedule->begin[stage + 1]; i++)
        if (gantt_drawn(&gantt->timeline->times[i]))
            put_pass(page, gantt, stage, i, height);
    page->y += height;
}

static void put_heading(struct page *page, const struct gantt_panel *panel,
                        const char *what, const struct gw_timeline *timeline)
{
    char caption[160];
    gantt_caption(panel->schedule, timeline, caption);
    fprintf(page->file, "<text x=\"16\" y=\"%.1f\"><tspan class=\"name\">",
            page->y + HEADING - 8);
    put_text(page->file, panel->title);
    fprintf(page->file, "</tspan>%s%s: %s</text>\n",
            *panel->title && *what ? " " : "", what, caption);
    page->y += HEADING;
}

static void put_panel(struct page *page, const struct gantt_panel *panel)
{
    const struct gantt predicted = {.schedule = panel->schedule,
                                    .timeline = panel->predicted};
    const struct gantt measured = {.schedule = panel->schedule,
                                   .timeline = panel->measured};
    put_heading(page, panel, panel->measured ? "predicted" : "",
                panel->predicted);
    if (panel->measured)
        put_heading(page, panel, "measured", panel->measured);
    double top = page->y;
    for (unsigned s = 0; s < panel->schedule->stages; s++) {
        fprintf(page->file,
                "<text class=\"small\" x=\"24\" y=\"%.1f\">stage %u</text>\n",
                page->y + 14, s);
        put_lane(page, &predicted, s, panel->measured ? THIN : LANE);
        if (panel->measured)
            put_lane(page, &measured, s, LANE);
        page->y += GAP;
    }
    double height = page->y - top;
    page->y = top;
    put_ticks(page, height, false);
    page->y += height + PANEL_GAP;
}

static double span_of(const struct gantt_panel *panels, unsigned count)
{
    double span_us = 0;
    for (unsigned i = 0; i < count; i++) {
        span_us = fmax(span_us, gantt_span_us(panels[i].predicted));
        if (panels[i].measured)
            span_us = fmax(span_us, gantt_span_us(panels[i].measured));
    }
    return span_us > 0 ? span_us : 1;
}

enum gw_err gantt_svg(FILE *file, const char *title,
                      const struct gantt_panel *panels, unsigned count,
                      struct gw_error *why)
{
    size_t passes = 0;
    struct page page = {.file = file, .span_us = span_of(panels, count)};
    for (unsigned i = 0; i < count; i++)
        passes += panels[i].schedule->pass_count;
    if (passes > DRAWN_MAX)
        return gw_fail(why, GW_EINVAL,
                       "--svg: %zu passes are too many to draw; the maximum "
                       "is %d",
                       passes, DRAWN_MAX);
    put_head(&page, title, panels, count);
    put_legend(&page, panels, count);
    page.y = TOP;
    for (unsigned i = 0; i < count; i++)
        put_panel(&page, &panels[i]);
    put_ticks(&page, 0, true);
    fputs("</svg>\n", file);
    return ferror(file) ? gw_fail_errno(why, "drawing") : GW_OK;
}

enum gw_err gantt_svg_write(const char *path, const char *title,
                            const struct gantt_panel *panels, unsigned count,
                            struct gw_error *why)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return gw_fail_errno(why, "%.200s", path);
    enum gw_err err = gantt_svg(file, title, panels, count, why);
    if (err)
        err = gw_wrap(why, err, "%.200s", path);
    if (fclose(file) != 0 && !err)
        err = gw_fail_errno(why, "write to %.200s", path);
    return err;
}
