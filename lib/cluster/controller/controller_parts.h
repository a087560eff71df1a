/* SPDX-License-Identifier: MIT
 *
 * Internal interfaces of a controller: controller.c, start and stop;
 * controller_machine.c, communication between its two threads; and
 * controller_events.c, its events.
 */
#ifndef GW__CLUSTER_CONTROLLER_PARTS_H
#define GW__CLUSTER_CONTROLLER_PARTS_H

#include "cluster/driver/driver.h"
#include "cluster/member/client.h"
#include "cluster/raft/raft_log.h"
#include "controller.h"
#include "service_parts.h"

#include <pthread.h>

enum { GW__CONTROLLERS_MAX = GW__CLIENT_CONTROLLERS };

struct gw__controller_update;

/* The state that events have reported so far. Driver's thread. */
struct gw__controller_emitted {
    bool begun;             /* a leader is known: further entries are new */
    struct gw_nodes leased; /* servers with a lease */
    uint64_t routes;        /* the version whose primaries are reported */
    unsigned slots;
    uint16_t primaries[GW_PS_SLOTS_MAX];
};

struct gw__controller {
    struct gw__controller_config config;
    unsigned nodes[GW__CONTROLLERS_MAX];
    struct gw__service_config service;
    struct gw__driver *driver;
    struct gw__raft_log *log;
    /* The endpoints of members that the driver already knows. Driver's
     * thread. */
    char known[GW__NODES_MAX][GW__ENDPOINT_MAX];
    struct gw__controller_emitted emitted;

    pthread_mutex_t lock; /* guards the following, and `driver` while it is
                             started: */
    struct gw__controller_update *first, **end;
    struct gw_error error;
    struct gw__controller_status status; /* without Raft's figures */
};

/* Records a failure; the first one counts. */
void gw__controller_fail(struct gw__controller *c, const struct gw_error *why);

/* ---- controller_events.c: the driver's thread ---- */

void gw__controller_event_lead(struct gw__controller *c, unsigned node);
void gw__controller_event_vote(struct gw__controller *c, unsigned candidate,
                               uint64_t term);
void gw__controller_event_commit(struct gw__controller *c, uint64_t index);
/* After each step: emits changed routes and leases. */
void gw__controller_event_changes(struct gw__controller *c,
                                  const struct gw__service *service);

/* ---- controller_machine.c ---- */

/* The data of START is a pointer to the controller. */
extern const struct gw__machine_kind gw__controller_machine;

/* Callbacks of the log (raft_log.h); the context is the controller. */
void gw__controller_on_entry(void *context, uint64_t index, const void *command,
                             size_t bytes);
void gw__controller_on_snapshot(void *context, const void *data, size_t bytes);
void gw__controller_on_leader(void *context, unsigned leader);
void gw__controller_on_vote(void *context, unsigned candidate, uint64_t term);
/* The output of the machine. */
void gw__controller_on_notify(void *context, const void *data, size_t bytes);
/* The driver's `describe`. */
void gw__controller_describe(const void *state, uint64_t now_ns,
                             struct gw__description *out);
/* Frees queued entries that were not applied. */
void gw__controller_drop_update(struct gw__controller *c);

#endif
