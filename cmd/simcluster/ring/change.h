/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cost of one change of a ring's members, in a calm network: a member dies,
 * or stops, or a whole rack dies, or members join. `ringctl sim scale` shows how
 * the cost grows with the number of members.
 */
#ifndef SIMCLUSTER_CHANGE_H
#define SIMCLUSTER_CHANGE_H

#include <gradwire/base.h>

struct simcluster;

enum change_kind {
    CHANGE_KILL,      /* its host reports its end after 1 ms */
    CHANGE_STOP,      /* only its silence shows it */
    CHANGE_RACK,      /* eight members, at most a quarter, die at once */
    CHANGE_JOIN,      /* one member */
    CHANGE_JOIN_MANY, /* members join at once: a quarter of the ring */
    CHANGE_KINDS
};

struct change_case {
    unsigned members; /* with those that join */
    enum change_kind kind;
    uint64_t delay_ns; /* of every message */
    uint64_t seed;
};

/* Sent and received, by one node. */
struct traffic {
    uint64_t messages, bytes;
};

/* Times count from the event. */
struct change_cost {
    uint64_t detected_ns; /* the first sign that a member is lost; 0: none */
    uint64_t decided_ns;  /* the controllers agree on the last new view */
    uint64_t resumed_ns;  /* all members of that view have completed an op */
    unsigned views;       /* new ones */
    /* On the control channel, without signs of life: of all members, of the
     * busiest one, and of the busiest controller. */
    struct traffic members, busiest_member, controller;
    uint64_t log_bytes; /* of the controllers' log */
    /* Signs of life before the event: messages per second of the busiest
     * member and controller. */
    double member_beats, controller_beats;
};

/* Names for the kinds: "kill". */
extern const char *const change_names[CHANGE_KINDS];

/* GW_EWRONG: the ring violates a rule; GW_ENOMEM. */
GW_MUST_CHECK enum gw_err change_measure(const struct change_case *c,
                                         struct change_cost *cost,
                                         struct gw_error *why);

/* ---- for the simulation ---- */

/* A message on its way, whose first byte is `type`. */
void change_message(struct simcluster *cluster, unsigned from, unsigned to,
                    unsigned type, size_t bytes);
/* A member is known, or suspected, to be lost. */
void change_suspect(struct simcluster *cluster);
/* The log has a new entry. */
void change_entry(struct simcluster *cluster);
/* A member has completed an op. */
void change_completed(struct simcluster *cluster, unsigned node,
                      uint64_t ring_epoch);

#endif
