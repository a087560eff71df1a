/* SPDX-License-Identifier: MIT
 *
 * What the sinks share. Each is a struct of its own that begins with a struct
 * gw_sink, so that the pointer a caller holds is the sink itself.
 */
#ifndef GW__EVENT_SINK_H
#define GW__EVENT_SINK_H

#include <gradwire/event.h>

/* `bytes` of zeroed memory that begin with a gw_sink of these two functions.
 * Returned in *sink; free() releases it. */
GW_MUST_CHECK enum gw_err
gw__sink_new(size_t bytes,
             void (*emit)(struct gw_sink *, const struct gw_event *),
             void (*close)(struct gw_sink *), struct gw_sink **sink,
             struct gw_error *why);

#endif
