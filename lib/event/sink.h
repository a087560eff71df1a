/* SPDX-License-Identifier: MIT
 *
 * Common code of the sinks. Each is a struct of its own that begins with a
 * struct gw_sink, so that the caller's pointer is the sink itself.
 */
#ifndef GW__EVENT_SINK_H
#define GW__EVENT_SINK_H

#include <gradwire/event.h>

/* Allocates `bytes` of zeroed memory that begin with a gw_sink of these two
 * functions. Returned in *sink; free() releases it. */
GW_MUST_CHECK enum gw_err
gw__sink_new(size_t bytes,
             void (*emit)(struct gw_sink *, const struct gw_event *),
             void (*close)(struct gw_sink *), struct gw_sink **sink,
             struct gw_error *why);

#endif
