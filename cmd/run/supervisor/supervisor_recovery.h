/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The record of each loss of members, and its lifetime: supervisor_recovery.c
 * has the course of a recovery, supervisor_resumed.c its end, and
 * supervisor_known.c the joins that take too long.
 */
#ifndef SUPERVISOR_RECOVERY_H
#define SUPERVISOR_RECOVERY_H

#include "run/node/child_channel.h"

#include <cluster/messages/protocol.h>

#include <gradwire/event.h>
#include <jansson.h>

struct run;
struct child;

/* Each chunk of a plan is one of these; see struct gw_ring_chunks. */
struct chunks {
    uint64_t kept;   /* as a complete copy or a partial sum */
    uint64_t redone; /* the partial sum had the lost node: discarded */
    uint64_t fresh;  /* no sum had begun */
};

struct recovery {
    uint64_t nodes; /* lost, as bits */
    const char *how;
    uint64_t epoch;
    bool decided, resumed;
    bool has_fate;
    enum gw__fate fate;
    uint64_t op, fate_epoch; /* epoch of the decision */
    uint64_t began_ns, detected_ns, viewed_ns, decided_ns, resumed_ns;
    struct chunks chunks; /* of that op */
    uint64_t items;       /* finished by workers when it was decided */
};

/* The newest ring that a member has reported as resumed, and the time since its
 * decision; the slowest member counts. */
struct resumption {
    uint64_t ring_epoch, took_ns;
};

/* The largest numbers that any member has ever reported, dead ones included:
 * all count the same events, but some have seen more of them. */
struct tally {
    uint64_t forward, exclude; /* ops decided */
    uint64_t lost, doubled;    /* contributions, by the contributor sets */
    uint64_t samples_lost, samples_doubled;
    uint64_t sums_lost, sums_doubled, wrong;
};

/* ---- supervisor_recovery.c ---- */

/* The view has changed from `before` to run->news. */
void recovery_view(struct run *run, const struct gw__membership_update *before);
void recovery_on_status(struct run *run, struct child *child,
                        const struct node_status *before);
void recovery_event(struct run *run, const struct gw_event *event);
json_t *recovery_json(struct run *run);

/* ---- supervisor_known.c ---- */

/* Finds joins that take too long, and writes down the state of all processes.
 */
void known_check(struct run *run);
/* A process has reported its state. */
void known_notified(struct run *run, const struct child *child,
                    const char *text, size_t bytes);

/* ---- supervisor_resumed.c ---- */

/* A member of a ring has completed the open ops. */
void resumed_ring(struct run *run, const struct gw_ring_status *status);
/* A recovery was decided; it may be over already. */
void resumed_decided(struct run *run);
/* For parameter servers: after updates and notes. */
void resumed_check(struct run *run);

#endif
