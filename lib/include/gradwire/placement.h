/* SPDX-License-Identifier: MIT
 *
 * Policies of placement: which servers are to have a slot of the parameter
 * server. A policy is a pure function that is asked for one replica after
 * another and picks one of the candidates; that of replica 0 is to be primary,
 * which serves the slot.
 *
 * It advises. What it has said becomes an entry of the controllers' log, so
 * that all controllers act on the same words, whether they could ask it or not;
 * and it is asked again when the servers are others. Safety is the registry's
 * (lib/cluster/routes/route.h): a slot that lacks a replica gets one at once, whoever
 * is advised, and a replica goes only after another one has all that it has.
 */
#ifndef GRADWIRE_PLACEMENT_H
#define GRADWIRE_PLACEMENT_H

#include <gradwire/control.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A server that can get the replica, and what it has been given so far in this
 * round, in which all slots are placed anew. */
struct gw_placement_server {
    unsigned node;         /* its number; it may be taken for its rack */
    unsigned slots;        /* replicas, */
    unsigned primaries;    /* of which primary */
    double weight;         /* of all these slots, */
    double primary_weight; /* and of those of which it is primary */
    unsigned shared;       /* replicas of this slot's other servers' slots that
                              it has: what it would inherit if one of them died */
    bool has;              /* holds the slot at present: no copy is needed */
};

struct gw_placement_question {
    unsigned slot;         /* from 0; the heaviest slots are asked for first */
    unsigned slot_count;   /* of all */
    double weight;         /* of the slot; 1 is the mean of all slots */
    unsigned replica;      /* 0: who is to be primary */
    unsigned replicas;     /* that the slot is to have */
    unsigned server_count; /* candidates, by rising number: all servers that
                              this slot was not given to yet */
    const struct gw_placement_server *servers;
    unsigned given_count;  /* = replica */
    const unsigned *given; /* nodes that have the slot already, primary first */
};

struct gw_placement {
    /* An index below server_count. Must depend on the question alone. */
    unsigned (*choose)(const struct gw_placement_question *question);
};

#ifdef __cplusplus
}
#endif
#endif
