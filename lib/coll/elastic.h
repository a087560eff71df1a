/* SPDX-License-Identifier: MIT
 *
 * The interface of communicators for lib/ring: a communicator that is made for
 * each view of the members and then thrown away, and calls whose chunks begin
 * and travel with the set of their contributors.
 *
 * Such a communicator is quiet: when it fails or is left, it does not notify
 * its peers (no abort). The next view notifies them, and one of them may be
 * about to finish an op in which no member is missing. It runs by messages
 * only, never by windows. A member that was declared dead while it slept can
 * still read the memory that others lent it, but it cannot store into it, so
 * its waking up does no harm. Its events carry node numbers, the epoch, and the
 * op's number in the ring.
 */
#ifndef GW__COLL_ELASTIC_H
#define GW__COLL_ELASTIC_H

#include "comm.h"
#include "wire/emulation/link_profiles.h"

/* ---- the communicator of a view ---- */

struct gw__comm_setup {
    struct gw_comm_config config; /* rank, size, wire, slices, events, ...;
                                      rendezvous is not used */
    uint32_t epoch;               /* ring epoch: in each header and event */
    const unsigned *nodes;        /* [rank]; copied */
    struct gw__link_profiles *profiles; /* NULL: none; not owned */
    const _Atomic bool *interrupt;      /* see struct gw__wire; not NULL */
};

/* Makes the local end. The caller then exchanges addresses and connects. */
GW_MUST_CHECK enum gw_err gw__comm_prepare(const struct gw__comm_setup *setup,
                                           struct gw_comm **comm,
                                           struct gw_error *why);
const struct gw__address *gw__comm_address(const struct gw_comm *comm);
/* `table[rank]`. GW_EINTR: interrupted; GW_ELOST, GW_ETIMEOUT. After a failure
 * leave it. Sends nothing except the wire's own messages. */
GW_MUST_CHECK enum gw_err gw__comm_connect(struct gw_comm *comm,
                                           const struct gw__address *table,
                                           uint64_t deadline_ns,
                                           struct gw_error *why);
/* As gw_comm_destroy, but pending calls are dropped without notice to the
 * peers. */
void gw__comm_leave(struct gw_comm **comm);
/* Ranks that the wire knows to have ended or to be unreachable, as a set: the
 * reason of a GW_ELOST. (Ranks that closed properly are not included.) A wire
 * without `lost` may show it some 50 ms later. */
struct gw_nodes gw__comm_lost(struct gw_comm *comm);

/* ---- a call with contributor sets ---- */

/* Lives as long as the request, as does the program: until it is done or the
 * communicator has been left. `sets[chunk]` is the set of the current value:
 * the own node alone means the input (in `call.in`), anything else is in
 * `call.out`. Before the first slice of a write is applied, its sets are
 * checked:
 *
 *   add      the incoming sets and the own one are disjoint
 *   replace  any
 *   both     the result is within `target`
 *
 * If the check fails, the call fails with GW_EWRONG and a sentence that names
 * the nodes. During a write its chunk counts as the input again, because the
 * old version is partly overwritten; after its last slice it counts as the
 * union. Headers carry the set of the version that they bring. */
struct gw__contributors {
    struct gw_nodes *sets; /* [chunk] */
    unsigned own;          /* this node */
    struct gw_nodes target;
    uint64_t moved; /* slices sent or applied so far */
    bool recovers;  /* continues ops that a death interrupted */
};

/* Starts an all-reduce of `call` (in, out, count, type, op) by a compiled plan
 * whose chunks begin with the sets of `shares`. in and out must not overlap;
 * avg is not allowed (scale the sum at the end). Chunks without a write stay
 * where they are. When all ranks are done, chunk c is in `out` if sets[c] is
 * not the own node alone or if some write went into it; the caller copies an
 * input that is already final. `op` is the ring's number, modulo 2^32. */
GW_MUST_CHECK enum gw_err
gw__contributors_start(struct gw_comm *comm, const struct gw_call *call,
                       struct gw__program *program, uint32_t op,
                       struct gw__contributors *contributors,
                       struct gw_request **request);
/* Moves the call until it is done (GW_OK, *request NULL), until *stop is true
 * (GW_PENDING, within some 2 ms; the call does not move until the next wait),
 * or until it fails (see gw_comm_error). There is no time limit. */
GW_MUST_CHECK enum gw_err gw__contributors_wait(struct gw_request **request,
                                                const _Atomic bool *stop);
/* The rank that the oldest call waits for, or -1. */
int gw__comm_waits_for(const struct gw_comm *comm);

#endif
