/* SPDX-License-Identifier: MIT
 *
 * Drives one protocol machine (base/machine.h) in a real process. A driver is a
 * thread that owns the control channel, the timers and the machine's state. The
 * machine does not depend on it: lib/sim drives the same object code.
 *
 * Other threads send requests to the machine by gw__driver_request, from any
 * thread: the bytes are copied into a queue that the driver's thread processes
 * in order. The machine notifies its application by `on_tell`, from the
 * driver's thread, inside a step. `on_tell` must be quick. It may read the
 * machine's state, and may take locks that are never held while asking, but
 * must not ask and wait.
 *
 * Messages whose first byte is GW__STATE_TRANSFER or more do not belong to the
 * machine: `on_message` receives them, in the same thread; gw__driver_send
 * sends them, from any thread. `on_turn` runs once per turn, and returns the
 * nanoseconds after which it must run again at the latest.
 *
 * Data that a machine persists lives as long as its driver: a restarted process
 * is a new incarnation and begins without data.
 */
#ifndef GW__CLUSTER_DRIVER_H
#define GW__CLUSTER_DRIVER_H

#include "base/bytes.h"
#include "describe.h"

#include <base/machine.h>
#include <wire/control_channel/control_channel.h>

enum { GW__STATE_TRANSFER = 128 };

struct gw__driver_peer {
    unsigned node;
    const char *endpoint;
};

struct gw__driver_config {
    const struct gw__machine_kind *kind;
    struct gw__control_channel_config
        channel; /* node, incarnation, endpoint, ... */
    uint64_t seed;
    /* Peers known before START, so that the machine's first messages reach
     * them; read by gw__driver_start only. */
    const struct gw__driver_peer *peers;
    unsigned peer_count;
    const void *start; /* the data of START; copied */
    size_t start_bytes;
    void *context;
    void (*on_notify)(void *context, const void *data, size_t bytes);
    void (*on_message)(void *context, unsigned from, struct gw__id incarnation,
                       const void *data, size_t bytes);
    uint64_t (*on_turn)(void *context);
    /* Describes the machine's state for people (describe.h); NULL: its name. */
    void (*describe)(const void *state, uint64_t now_ns,
                     struct gw__description *out);
};

struct gw__driver;

/* Opens the control channel, then starts the thread, whose first input is
 * START. */
GW_MUST_CHECK enum gw_err gw__driver_start(const struct gw__driver_config *,
                                           struct gw__driver **driver,
                                           struct gw_error *why);
/* Ends the thread after all earlier requests; NULL allowed. Not from the
 * driver's own thread. */
void gw__driver_stop(struct gw__driver **driver);

/* Errors of these functions: GW_EINVAL (too long, unknown node, missing
 * endpoint, not a foreign message), GW_ENOMEM (the queue of 4 MB is full),
 * GW_ECLOSED (the machine has failed). */
enum gw_err gw__driver_request(struct gw__driver *driver, const void *data,
                               size_t bytes);
enum gw_err gw__driver_send(struct gw__driver *driver, unsigned node,
                            const void *data, size_t bytes);
/* Reports the certain end of a process, as DIED. */
enum gw_err gw__driver_died(struct gw__driver *driver, unsigned node,
                            uint64_t incarnation);
/* Sets the endpoint of a node (control_channel.h), from any thread. */
enum gw_err gw__driver_know(struct gw__driver *driver, unsigned node,
                            const char *endpoint);
/* The machine's state, valid only inside on_tell, on_message and on_turn. */
const void *gw__driver_state(const struct gw__driver *driver);
const char *gw__driver_endpoint(const struct gw__driver *driver);
/* GW_OK while it works. A machine that breaks its contract (base/machine.h) has
 * failed: it gets no more inputs, as if its process had crashed. */
enum gw_err gw__driver_error(struct gw__driver *driver, struct gw_error *why);

#endif
