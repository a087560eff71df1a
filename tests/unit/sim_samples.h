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
#ifndef SIM_SAMPLES_H
#define SIM_SAMPLES_H

#include <sim/campaign.h>

enum sim_sample {
    SAMPLE_VOTER,
    SAMPLE_VOTER_FORGETS,
    SAMPLE_VOTER_EARLY,
    SAMPLE_BEACON,
    SAMPLE_BEACON_NAIVE
};

enum { SAMPLE_NODES = 3, SAMPLE_TERMS = 1024 };

/* The state of a run that the invariants need. */
struct sample_run {
    enum sim_sample sample;
    uint32_t leaders[SAMPLE_TERMS];  /* by term: node + 1, 0 for none */
    uint64_t followed[SAMPLE_NODES]; /* by node: the newest (start, number) */
    uint64_t last_ns;                /* time of the last report */
};

extern const struct gw__machine_kind voter_kind, voter_forgets_kind,
    voter_early_kind, beacon_kind, beacon_naive_kind;

/* A campaign of runs of 200 ms, with faults during the first 100 ms. After them
 * each sample must make progress. */
struct gw__campaign sample_campaign(enum sim_sample sample,
                                    struct sample_run *run);

#endif
