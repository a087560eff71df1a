/* SPDX-License-Identifier: MIT
 *
 * What lib/ring needs of communicators: one that is made and thrown away with
 * each view of the members, and calls whose chunks begin and travel with the
 * set of those whose data they contain.
 *
 * Such a communicator is quiet: when it fails or is left, its peers are not
 * told (no abort), for the next view tells them, and one of them may be about
 * to finish an op in which nobody is missing. It runs by messages only, never
 * by windows: a member that was convicted while it slept can still read what
 * the others lent it, but it cannot store into their memory, so waking up does
 * no harm. Its events carry node numbers, the epoch, and the op's number in the
 * ring.
 */
#ifndef GW__COLL_ELASTIC_H
#define GW__COLL_ELASTIC_H

#include "comm.h"
#include "wire/emulation/rules.h"

/* ---- the communicator of a view ---- */

struct gw__seat {
    struct gw_comm_config config;  /* rank, size, wire, slices, events, ...;
                                      rendezvous is not used */
    uint32_t epoch;                /* ring epoch: in each header and event */
    const unsigned *nodes;         /* [rank]; copied */
    struct gw__rules *rules;       /* NULL: none; not owned */
    const _Atomic bool *interrupt; /* see struct gw__wire; not NULL */
};

/* Makes the local end. The caller then exchanges addresses and connects. */
GW_MUST_CHECK enum gw_err gw__comm_prepare(const struct gw__seat *seat,
                                           struct gw_comm **comm,
                                           struct gw_error *why);
const struct gw__address *gw__comm_address(const struct gw_comm *comm);
/* `table[rank]`. GW_EINTR: interrupted; GW_ELOST, GW_ETIMEOUT. After a failure
 * leave it. No traffic beyond the wire's own. */
GW_MUST_CHECK enum gw_err gw__comm_connect(struct gw_comm *comm,
                                           const struct gw__address *table,
                                           uint64_t deadline_ns,
                                           struct gw_error *why);
/* As gw_comm_destroy, but calls under way are dropped without a word to the
 * peers. */
void gw__comm_leave(struct gw_comm **comm);
/* Ranks that the wire knows to have ended or to be out of reach, as bits: the
 * reason of a GW_ELOST. (Not those that said goodbye.) A wire without `lost`
 * may show it some 50 ms later. */
uint64_t gw__comm_lost(struct gw_comm *comm);

/* ---- a call with contributor sets ---- */

/* Lives as long as the request, as does the program: until it is done, or the
 * communicator left. `sets[chunk]` of the value in hand: the own
 * bit alone means the input (in `call.in`), anything else lies in `call.out`.
 * Before the first slice of a write is applied the rule is asked:
 *
 *   add      the incoming sets and the own one share nobody
 *   replace  any
 *   both     the result is within `target`
 *
 * else the call fails with GW_EWRONG and a sentence that names the nodes. While
 * a write is under way its chunk counts as the input again (what was there is
 * partly overwritten); when its last slice is in, as the union. Headers carry
 * the set of the version that they bring. */
struct gw__contributors {
    uint64_t *sets; /* [chunk] */
    uint64_t own;
    uint64_t target;
    uint64_t moved; /* slices sent or applied so far */
    bool recovers;  /* what a death has left undone */
};

/* Starts an all-reduce of `call` (in, out, count, type, op) by a compiled plan
 * whose chunks begin as `shares` says. in and out do not overlap; avg is not
 * allowed (scale the sum at the end). Chunks that nobody writes stay where they
 * are: when all are done, chunk c is in `out` if sets[c] is not the own bit
 * alone or if some write went into it; the caller copies a bare input that is
 * already final. `op` is the ring's number, modulo 2^32. */
GW_MUST_CHECK enum gw_err
gw__contributors_start(struct gw_comm *comm, const struct gw_call *call,
                       struct gw__program *program, uint32_t op,
                       struct gw__contributors *shares,
                       struct gw_request **request);
/* Moves the call until it is done (GW_OK, *request NULL), *stop is true
 * (GW_PENDING, within some 2 ms; nothing moves until the next call of this), or
 * it fails (see gw_comm_error). Waits without limit of time. */
GW_MUST_CHECK enum gw_err gw__contributors_wait(struct gw_request **request,
                                                const _Atomic bool *stop);
/* The rank that the oldest call waits for, or -1. */
int gw__comm_waits_for(const struct gw_comm *comm);

#endif
