/* SPDX-License-Identifier: MIT
 *
 * gw_emit, the entry of all events. A sink is two functions. Each kind of sink
 * is a file of this folder: jsonl.c (and jsonl_parse.c, its reader), chrome.c,
 * prometheus.c, ring_buffer.c, fd.c, and tee.c for several sinks. text.c turns
 * events into sentences, for users and for the log (base/log.h).
 */
#include "event/sink.h"

#include "base/log.h"

#include <assert.h>
#include <stdlib.h>

_Static_assert(sizeof(struct gw_event) == 64, "an event is one cache line");

static const char *const names[GW_EVENT_KINDS] = {
#define X(name, json, value) [name] = json,
    GW_EVENTS(X)
#undef X
};

const char *gw_event_name(enum gw_event_kind kind)
{
    return (unsigned)kind < GW_EVENT_KINDS ? names[kind] : "?";
}

/* At level info: changes, and decisions about slots and chunks. At level debug:
 * all events. */
static void log_event(const struct gw_event *event)
{
    char text[256];
    bool decided = event->kind == GW_EV_SLOT || event->kind == GW_EV_ROUTE ||
                   event->kind == GW_EV_LEASE ||
                   event->kind == GW_EV_RECOVERY || gw_event_is_change(event);
    if (!decided && !gw__log_has(GW__LOG_DEBUG))
        return;
    gw_event_text(event, text, sizeof text);
    gw__log_write(gw_event_name(event->kind), "%s", text);
}

void gw_emit(struct gw_sink *sink, const struct gw_event *event)
{
    if (gw__log_has(GW__LOG_INFO))
        log_event(event);
    if (sink)
        sink->emit(sink, event);
}

void gw_sink_close(struct gw_sink **sink)
{
    if (*sink)
        (*sink)->close(*sink);
    *sink = NULL;
}

enum gw_err gw__sink_new(size_t bytes,
                         void (*emit)(struct gw_sink *,
                                      const struct gw_event *),
                         void (*close)(struct gw_sink *), struct gw_sink **sink,
                         struct gw_error *why)
{
    assert(bytes >= sizeof **sink);
    *sink = calloc(1, bytes);
    if (!*sink)
        return gw_fail(why, GW_ENOMEM, "event sink of %zu bytes", bytes);
    (*sink)->emit = emit;
    (*sink)->close = close;
    return GW_OK;
}
