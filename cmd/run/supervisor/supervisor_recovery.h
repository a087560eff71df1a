/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a supervisor keeps of each loss of members, and until when: how a
 * recovery goes is in supervisor_recovery.c, when it is over in
 * supervisor_resumed.c, and joins that take too long in supervisor_known.c.
 */
#ifndef SUPERVISOR_RECOVERY_H
#define SUPERVISOR_RECOVERY_H

#include "run/node/post.h"

#include <cluster/messages/protocol.h>

#include <gradwire/event.h>
#include <jansson.h>

struct run;
struct child;

/* Each chunk of a plan is one of these; see struct gw_ring_chunks. */
struct chunks {
    uint64_t kept;   /* as a complete copy or a partial sum */
    uint64_t redone; /* the lost node is in what was there: thrown away */
    uint64_t fresh;  /* nothing had been added up yet */
};

struct recovery {
    uint64_t nodes; /* lost, as bits */
    const char *how;
    uint64_t epoch;
    bool decided, resumed;
    bool has_fate;
    enum gw__fate fate;
    uint64_t op, fate_epoch; /* that it was decided in */
    uint64_t began_ns, detected_ns, viewed_ns, decided_ns, resumed_ns;
    struct chunks chunks; /* of that op */
    uint64_t units;       /* that workers had finished when it was decided */
};

/* The newest ring that a member has called resumed, and how long after its
 * decision; the slowest counts. */
struct resumption {
    uint64_t ring_epoch, took_ns;
};

/* The largest that any member has ever told, dead ones included: all count the
 * same things, some have seen more of them. */
struct tally {
    uint64_t forward, exclude; /* ops decided */
    uint64_t lost, doubled;    /* contributions, by the ledgers */
    uint64_t samples_lost, samples_doubled;
    uint64_t sums_lost, sums_doubled;
};

/* ---- supervisor_recovery.c ---- */

/* The view has changed from `before` to what run->news says. */
void recovery_view(struct run *run, const struct gw__membership_update *before);
void recovery_note(struct run *run, struct child *child,
                   const struct node_note *before);
void recovery_event(struct run *run, const struct gw_event *event);
json_t *recovery_json(struct run *run);

/* ---- supervisor_known.c ---- */

/* Whose join takes too long? Then all that is known is written down. */
void known_look(struct run *run);
/* A process tells what it knows. */
void known_told(struct run *run, const struct child *child, const char *text,
                size_t bytes);

/* ---- supervisor_resumed.c ---- */

/* A member of a ring has the open ops complete. */
void resumed_ring(struct run *run, const struct gw_ring_status *status);
/* A recovery was decided: it may be over already. */
void resumed_decided(struct run *run);
/* Of parameter servers: after news and notes. */
void resumed_look(struct run *run);

#endif
