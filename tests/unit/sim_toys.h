/* SPDX-License-Identifier: MIT
 *
 * Two small protocols, each in a correct version and in versions with a typical
 * bug of such protocols. They show that lib/sim finds the bugs and blames the
 * relevant faults.
 *
 * The **voter**: nodes elect a leader for a term, by majority, as in Raft
 * (Ongaro and Ousterhout 2014, section 5.2) without a log. At a time-out a node
 * begins a new term and asks for votes. A node votes once per term, and
 * persists its vote before it sends it. A term has at most one leader.
 *   FORGETS  the vote is not persisted: after a restart it votes again.
 *   HASTY    the vote is sent first, and then persisted.
 *
 * The **beacon**: node 0 counts its starts (persisted) and sends (start,
 * number) to the others, which follow the newest and never go back.
 *   NAIVE    followers take every change of the incarnation for a restart, even
 *            that in a late message of the previous one.
 */
#ifndef SIM_TOYS_H
#define SIM_TOYS_H

#include <sim/campaign.h>

enum toy {
    TOY_VOTER,
    TOY_VOTER_FORGETS,
    TOY_VOTER_HASTY,
    TOY_BEACON,
    TOY_BEACON_NAIVE
};

enum { TOY_NODES = 3, TOY_TERMS = 1024 };

/* The state of a run that the invariants need. */
struct toy_run {
    enum toy toy;
    uint32_t leaders[TOY_TERMS];  /* by term: node + 1, 0 for none */
    uint64_t followed[TOY_NODES]; /* by node: the newest (start, number) */
    uint64_t last_ns;             /* time of the last report */
};

extern const struct gw__machine_kind voter_kind, voter_forgets_kind,
    voter_hasty_kind, beacon_kind, beacon_naive_kind;

/* A campaign of runs of 200 ms, with faults during the first 100 ms. After them
 * each toy must make progress. */
struct gw__campaign toy_campaign(enum toy toy, struct toy_run *run);

#endif
