/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the view knows of the controllers: who leads, who voted for whom, how far
 * their log is, what they have heard and given. Filled by events (LEADER, VOTE,
 * COMMIT, LEASE, ROUTE, and the FAILURE of a controller), of which a recording
 * has nothing else, and by the status of a live run.
 */
#ifndef RINGTOP_CONTROLLERS_H
#define RINGTOP_CONTROLLERS_H

#include "journal.h"

#include <gradwire/event.h>
#include <jansson.h>

enum { CONTROLLERS_SHOWN = 5, CONTROLLERS_FIRST_NODE = 63 };

struct controller {
    bool known;
    char state[16];         /* "alive", "dead", ... */
    int follows;            /* -1: nobody, as far as is known */
    int voted_for;          /* -1: nobody yet, */
    uint64_t voted_in;      /* in this term */
    uint64_t term, applied; /* the newest that was heard of */
    bool told;              /* by a status: what follows */
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
                       const struct gw_event *event, struct journal *journal);
void controllers_status(struct controllers *controllers, const json_t *status);

#endif
