/* SPDX-License-Identifier: MIT
 *
 * The one door through which events leave: gw_emit. A sink is two functions;
 * each kind of sink is a file of this folder: jsonl.c (and jsonl_parse.c, its
 * way back), chrome.c, prometheus.c, ring.c, fd.c, and tee.c for several.
 */
#include "event/sink.h"

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

void gw_emit(struct gw_sink *sink, const struct gw_event *event)
{
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
