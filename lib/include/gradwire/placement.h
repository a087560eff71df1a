/* SPDX-License-Identifier: MIT
 *
 * Placement policies: they assign the slots of a parameter server to servers. A
 * policy is a pure function that is called for one replica after another and
 * picks one of the candidates. Replica 0 becomes the primary, which serves the
 * slot.
 *
 * A policy advises. Its choices become an entry of the controllers' log, so
 * that all controllers act on the same choices, without the policy. It is
 * called again when the servers change. The registry ensures safety
 * (lib/cluster/routes/route.h): it replaces a missing replica at once, whatever
 * the policy chose, and removes a replica only after another one has all its
 * data.
 */
#ifndef GRADWIRE_PLACEMENT_H
#define GRADWIRE_PLACEMENT_H

#include <gradwire/control.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A server that can receive the replica, and the replicas that it has received
 * in this round, in which all slots are placed again. */
struct gw_placement_server {
    unsigned node;         /* its number; may be used as its rack */
    unsigned slots;        /* number of its replicas */
    unsigned primaries;    /* number of replicas that are primary */
    double weight;         /* of all these slots */
    double primary_weight; /* of the slots of which it is primary */
    /* The number of its replicas of slots that the other servers of
     * this slot have too: it would inherit them if one of these servers
     * died. */
    unsigned shared;
    bool has; /* has the slot at present: no copy is needed */
};

/* The choice of a server for one replica of one slot. */
struct gw_placement_question {
    unsigned slot;       /* from 0; the heaviest slots come first */
    unsigned slot_count; /* number of all slots */
    double weight;       /* of the slot; 1 is the mean of all slots */
    unsigned replica;    /* from 0; 0 becomes the primary */
    unsigned replicas;   /* number of replicas of the slot */
    /* The candidates by rising number: all servers that have not received
     * this slot yet. */
    unsigned server_count;
    const struct gw_placement_server *servers;
    unsigned assigned_count;  /* = replica */
    const unsigned *assigned; /* nodes with the slot, primary first */
};

/* A placement policy. */
struct gw_placement {
    /* Returns an index below server_count, which depends only on the
     * question. */
    unsigned (*choose)(const struct gw_placement_question *question);
};

#ifdef __cplusplus
}
#endif
#endif
