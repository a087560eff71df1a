/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The live Gantt chart: the current step, redrawn at most 20 times a second,
 * since each pass sends events. On an output that is not a terminal, each step
 * is drawn once, when it is over.
 */
#include "run.h"

#include "common/command.h"
#include "pipebench/gantt/gantt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t PAUSE_NS = 50000000;

struct run_live {
    const struct run *run;
    FILE *file;
    bool terminal;
    struct gantt_style style;
    bool *busy; /* per stage: a pass is under way */
    unsigned step, lines;
    uint64_t drawn_ns;
};

enum gw_err run_live_new(const struct run *run, struct run_live **made,
                         struct gw_error *why)
{
    struct run_live *w = calloc(1, sizeof *w);
    *made = w;
    if (w)
        w->busy = calloc(run->spec->schedule->stages, sizeof *w->busy);
    if (!w || !w->busy)
        return gw_fail(why, GW_ENOMEM, "watching");
    /* The picture is data when the output is a table; otherwise it must not mix
     * with the data. */
    w->run = run;
    w->file = strcmp(common.output, "table") == 0 ? stdout : stderr;
    w->terminal = is_screen(fileno(w->file));
    w->style = gantt_style_of(w->file);
    return GW_OK;
}

/* Extends passes under way up to now. */
static void stretch(const struct run_live *w, const struct run_step *step,
                    uint64_t now_ns)
{
    const struct gw_schedule *s = w->run->spec->schedule;
    double now_us = (double)(now_ns - w->run->record.zero_ns) / 1000;
    for (unsigned stage = 0; stage < s->stages; stage++) {
        size_t i = s->begin[stage] + step->done[stage];
        if (w->busy[stage] && i < s->begin[stage + 1])
            step->timeline->times[i].end_us = now_us - step->begin_us;
    }
}

static void draw_step(struct run_live *w, unsigned number,
                      const struct run_step *step, uint64_t now_ns)
{
    const struct run *run = w->run;
    char *text = NULL;
    size_t bytes = 0;
    FILE *page = open_memstream(&text, &bytes);
    if (!page)
        return;
    bool again = w->terminal && w->lines > 0 && w->step == number;
    if (again)
        fprintf(page, "\033[%uA\033[J", w->lines);
    stretch(w, step, now_ns);
    const struct gantt gantt = {.schedule = run->spec->schedule,
                                .timeline = step->timeline,
                                .span_us = run->spec->predicted_us * 1.05};
    fprintf(page, "step %u of %u", number, run->spec->steps - 1);
    if (step->time_us > 0)
        fprintf(page, ": %.1f ms", step->time_us / 1000);
    fputc('\n', page);
    w->lines = 1 + gantt_draw(page, &gantt, &w->style);
    fclose(page);
    fwrite(text, 1, bytes, w->file);
    fflush(w->file);
    free(text);
    w->step = number;
    w->drawn_ns = now_ns;
}

void run_live_draw(struct run_live *w, const struct gw_event *event)
{
    const struct run_record *record = &w->run->record;
    if ((event->kind != GW_EV_PASS_BEGIN && event->kind != GW_EV_PASS_END) ||
        event->step >= record->step_count ||
        event->rank >= record->schedule->stages)
        return;
    const struct run_step *step = &record->steps[event->step];
    bool over = step->time_us > 0;
    uint64_t now_ns = gw_now_ns();
    w->busy[event->rank] = event->kind == GW_EV_PASS_BEGIN;
    if (!step->timeline || event->step < w->step)
        return;
    if (over || (w->terminal && now_ns - w->drawn_ns >= PAUSE_NS))
        draw_step(w, event->step, step, now_ns);
}

void run_live_destroy(struct run_live **made)
{
    struct run_live *w = *made;
    if (!w)
        return;
    if (w->lines > 0)
        gantt_legend(w->file, w->run->spec->schedule, &w->style);
    free(w->busy);
    free(w);
    *made = NULL;
}
