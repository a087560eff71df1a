/* SPDX-License-Identifier: MIT
 *
 * Drives one protocol machine (base/machine.h) in the real world: a thread of
 * its own that owns the mesh, the timers and the machine's state. The machine
 * never notices: lib/sim drives the same object code.
 *
 * Others talk to the machine by gw__driver_ask, from any thread: the bytes are
 * copied into a queue that the thread works off in order. The machine talks to
 * its application by `on_tell`, from the driver's thread, inside a step: it
 * must be quick, may read the machine's state, may take locks that are never
 * held while asking, and must not ask and wait.
 *
 * Messages whose first byte is GW__FOREIGN or more are not the machine's:
 * `on_message` gets them, in the same thread; gw__driver_send sends such, from
 * any thread. `on_turn` runs once a turn, and at least every 20 ms.
 *
 * What a machine persists lives as long as its driver: who is started anew is a
 * new incarnation and begins with nothing.
 */
#ifndef GW__CLUSTER_DRIVER_H
#define GW__CLUSTER_DRIVER_H

#include "base/bytes.h"
#include "describe.h"

#include <base/machine.h>
#include <wire/control_channel/control_channel.h>

enum { GW__FOREIGN = 128 };

struct gw__driver_peer {
    unsigned node;
    const char *endpoint;
};

struct gw__driver_config {
    const struct gw__machine_kind *kind;
    struct gw__control_channel_config
        mesh; /* node, incarnation, endpoint, ... */
    uint64_t seed;
    /* Who is known before START, so that what the machine then says at once
     * gets there; read by gw__driver_start only. */
    const struct gw__driver_peer *peers;
    unsigned peer_count;
    const void *start; /* what START brings; copied */
    size_t start_bytes;
    void *context;
    void (*on_tell)(void *context, const void *data, size_t bytes);
    void (*on_message)(void *context, unsigned from, struct gw__id incarnation,
                       const void *data, size_t bytes);
    void (*on_turn)(void *context);
    /* Tells people what the machine knows (describe.h); NULL: its name. */
    void (*describe)(const void *state, uint64_t now_ns,
                     struct gw__description *out);
};

struct gw__driver;

/* Opens the mesh, then starts the thread, whose first act is START. */
GW_MUST_CHECK enum gw_err gw__driver_start(const struct gw__driver_config *,
                                           struct gw__driver **driver,
                                           struct gw_error *why);
/* Ends the thread after what was asked before; NULL allowed. Not from the
 * driver's own thread. */
void gw__driver_stop(struct gw__driver **driver);

/* All of these: GW_EINVAL: too long, no such node, no endpoint, not foreign;
 * GW_ENOMEM: the queue (4 MB) is full; GW_ECLOSED: the machine has failed. */
enum gw_err gw__driver_ask(struct gw__driver *driver, const void *data,
                           size_t bytes);
enum gw_err gw__driver_send(struct gw__driver *driver, unsigned node,
                            const void *data, size_t bytes);
/* A certain fact, as DIED. */
enum gw_err gw__driver_died(struct gw__driver *driver, unsigned node,
                            uint64_t incarnation);
/* Where a node listens (mesh.h), from any thread. */
enum gw_err gw__driver_know(struct gw__driver *driver, unsigned node,
                            const char *endpoint);
/* The machine's state: to be read inside on_tell, on_message and on_turn only.
 */
const void *gw__driver_state(const struct gw__driver *driver);
const char *gw__driver_endpoint(const struct gw__driver *driver);
/* GW_OK while all is well. A machine that breaks its contract (base/machine.h)
 * has failed: it gets no more inputs, as if its process had crashed. */
enum gw_err gw__driver_error(struct gw__driver *driver, struct gw_error *why);

#endif
