/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The event log, the newest line last. Lines that do not fit are wrapped, so that
 * alarms are readable on a narrow screen too.
 */
#include "draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool matches(const struct picture *p, const struct entry *entry)
{
    return *p->view->find && strcasestr(entry->text, p->view->find);
}

/* Seconds since the first event; short runs with microseconds. */
static void time_text(const struct state *s, uint64_t time_ns, char out[24])
{
    uint64_t ns = time_ns > s->begin_ns ? time_ns - s->begin_ns : 0;
    bool is_short = s->now_ns - s->begin_ns < 10000000000;
    snprintf(out, 24, is_short ? "%.6f" : "%.3f", (double)ns * 1e-9);
}

int wrap_length(const char *text, int room)
{
    int length = (int)strlen(text);
    if (length <= room)
        return length;
    int at = room;
    while (at > 0 && text[at] != ' ')
        at--;
    return at > 0 ? at : room;
}

static int line_count(const char *text, int room)
{
    int lines = 0;
    do {
        text += wrap_length(text, room);
        text += *text == ' ';
        lines++;
    } while (*text);
    return lines;
}

static enum style entry_style(const struct entry *entry)
{
    return entry->weight == WEIGHT_BAD    ? STYLE_BAD
           : entry->weight == WEIGHT_WARN ? STYLE_WARN
           : entry->weight == WEIGHT_GOOD ? STYLE_GOOD
                                          : STYLE_PLAIN;
}

/* The width of an entry's text, after its time. */
static int text_room(const struct picture *p, const struct area *area,
                     int *indent)
{
    char now[24];
    time_text(p->state, p->state->now_ns, now);
    *indent = 2 + (int)strlen(now);
    return area->width - *indent > 8 ? area->width - *indent : 8;
}

/* Draws the entry from row `y` on; returns the row below. */
static int draw_entry(const struct picture *p, const struct area *area, int y,
                      const struct entry *entry)
{
    char time[24];
    int indent, room = text_room(p, area, &indent);
    const char *text = entry->text;
    time_text(p->state, entry->time_ns, time);
    area_print(area, 1, y, STYLE_DIM, "%*s", indent - 2, time);
    if (matches(p, entry))
        area_put(area, 0, y, STYLE_STRONG, '>');
    do {
        int length = wrap_length(text, room);
        area_print(area, indent, y++, entry_style(entry), "%.*s", length, text);
        text += length;
        text += *text == ' ';
    } while (*text);
    return y;
}

/* The number of lines below the last one that is shown. */
static unsigned back_of(const struct picture *p, unsigned count, int rows)
{
    unsigned back = p->view->event_log_back;
    const struct event_log *log = &p->state->log;
    for (unsigned i = 0; back == 0 && i < count && *p->view->find; i++)
        if (matches(p, event_log_at(log, i))) {
            back = i >= (unsigned)rows ? i : 0;
            break;
        }
    return back < count ? back : count ? count - 1 : 0;
}

void draw_events(const struct picture *p, const struct area *area)
{
    const struct event_log *log = &p->state->log;
    unsigned count = event_log_count(log);
    unsigned back = p->view->event_log_back;
    struct area body = back ? draw_title(p, area, "events, %u below", back)
                            : draw_title(p, area, "events");
    int indent, room = text_room(p, &body, &indent), lines = 0;
    unsigned last = back_of(p, count, body.height), first = last;
    while (first < count && lines < body.height)
        lines += line_count(event_log_at(log, first++)->text, room);
    int y = lines > body.height ? body.height - lines : 0;
    for (unsigned i = first; i-- > last;)
        y = draw_entry(p, &body, y, event_log_at(log, i));
    if (count == 0)
        area_text(&body, 1, 0, STYLE_DIM, "nothing yet");
}
