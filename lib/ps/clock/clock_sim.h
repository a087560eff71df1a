/* SPDX-License-Identifier: MIT
 *
 * A group's clock (clock.h) rehearsed: the very machine that servers replicate,
 * driven in virtual time by workers that are not there. A worker is
 *
 *     granted --pull--> computes --push--> NEXT: granted, or waits
 *
 * and all it costs is time, which the caller says. So what a mode makes of
 * stragglers comes out in milliseconds, for any distribution of compute times,
 * the same for the same seed; and since closings and grants are the real ones,
 * whoever computes gradients on the side, from parameters as they were at the
 * grant, gets the loss over time that servers would get.
 *
 * A worker whose round has closed without it is late. The real one does not
 * hear of that: it ends its unit, which is dropped (as in Chen et al. 2016).
 * With `give_up` it stops at once, which is what the formulas of order
 * statistics assume: the K-th of n exponential times is H_n - H_(n-K) means.
 */
#ifndef GW__PS_CLOCK_SIM_H
#define GW__PS_CLOCK_SIM_H

#include "clock.h"

struct gw__clock_sim {
    unsigned workers; /* 1 to GW_PS_NODES */
    uint32_t parts;   /* of a round, 1 to GW_PS_NODES */
    uint64_t rounds;  /* batches; at least 1 */
    struct gw_ps_mode mode;
    const struct gw_straggler *straggler; /* asked after each round; or NULL */
    bool give_up;
    uint64_t pull_ns, push_ns;

    void *context;
    /* What the unit that begins now takes this worker to compute. */
    uint64_t (*compute_ns)(void *context, unsigned worker, uint64_t now_ns);
    /* A unit was granted; work->batch counts on from 0 to rounds. May be NULL,
     * as the next one: a closing, in their order. */
    enum gw_err (*granted)(void *context, unsigned worker,
                           const struct gw_ps_work *work, struct gw_error *why);
    enum gw_err (*closed)(void *context, const struct gw__round_commit *closing,
                          uint64_t now_ns, struct gw_error *why);
};

enum { GW__STALE_MAX = 255 };

struct gw__clock_sim_result {
    uint64_t ended_ns;       /* when all was closed */
    uint64_t units, dropped; /* applied, and too late */
    uint64_t updates;        /* of the parameters: closings that apply */
    uint64_t modes;          /* how often the policy has changed it */
    struct gw_ps_mode mode;  /* the last one */
    /* Updates between a unit's grant and its own, of units that were applied:
     * how many, by that number; the last place has all from there on. */
    uint64_t stale[GW__STALE_MAX + 1], stale_sum, stale_max;
    /* Clocks ahead of the slowest when granted (SSP's bound). */
    uint64_t grants, ahead_sum, ahead_max;
    /* Units done of the fastest and of the slowest: how far they came apart. */
    uint64_t gap_max;
    struct gw__clock_sim_worker {
        uint64_t units, applied, dropped;
        uint64_t waited_ns; /* between NEXT and its grant */
    } workers[GW_PS_NODES];
};

/* GW_EINVAL: a mode without sense, the policy's as well; GW_ENOMEM; else what a
 * callback has said. */
GW_MUST_CHECK enum gw_err
gw__clock_sim_run(const struct gw__clock_sim *rehearsal,
                  struct gw__clock_sim_result *result, struct gw_error *why);

#endif
