/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The view's state of the controllers: leader, votes, the length of their logs,
 * received and granted messages. It comes from events (LEADER, VOTE, COMMIT,
 * LEASE, ROUTE, and the FAILURE of a controller), the only source in a
 * recording, and from the status of a live run.
 */
#ifndef RINGTOP_CONTROLLERS_H
#define RINGTOP_CONTROLLERS_H

#include "event_log.h"

#include <gradwire/event.h>
#include <gradwire/ring.h>
#include <jansson.h>

enum { CONTROLLERS_SHOWN = 5, CONTROLLERS_FIRST_NODE = GW_RING_CONTROLLER };

struct controller {
    bool known;
    char state[16];         /* "alive", "dead", ... */
    int follows;            /* -1: none known */
    int voted_for;          /* -1: none yet, */
    uint64_t voted_in;      /* in this term */
    uint64_t term, applied; /* the newest known */
    bool reported;          /* by a status: the following members */
    uint64_t last, committed, hellos, leases;
};

struct controllers {
    unsigned count;
    int leader; /* -1 */
    uint64_t term;
    uint64_t elections, routes; /* events of both */
    struct controller list[CONTROLLERS_SHOWN];
};

void controllers_init(struct controllers *controllers);
/* False: the event is not about controllers. */
bool controllers_event(struct controllers *controllers,
                       const struct gw_event *event, struct event_log *log);
void controllers_status(struct controllers *controllers, const json_t *status);

#endif
