/* SPDX-License-Identifier: MIT
 *
 * Simulation of a group's clock (clock.h). The clock is the same state machine
 * that servers replicate; the workers are simulated in virtual time:
 *
 *     granted --pull--> computes --push--> NEXT: granted, or waits
 *
 * The caller gives the durations. So the effect of a mode on stragglers is
 * known in milliseconds, for any distribution of compute times, and is the same
 * for the same seed. Round commits and grants are real: a caller that computes
 * gradients from the parameters as of each grant gets the loss over time that
 * real servers would produce.
 *
 * A worker whose round has closed without it is late. A real worker is not
 * notified: it finishes its item, which is dropped (as in Chen et al. 2016).
 * With `give_up` it stops at once, as the formulas of order statistics assume:
 * the K-th of n exponential times is H_n - H_(n-K) means.
 */
#ifndef GW__PS_CLOCK_SIM_H
#define GW__PS_CLOCK_SIM_H

#include "clock.h"

struct gw__clock_sim {
    unsigned workers; /* 1 to GW_PS_NODES */
    uint32_t parts;   /* per round, 1 to GW_PS_NODES */
    uint64_t rounds;  /* batches; at least 1 */
    struct gw_ps_mode mode;
    const struct gw_straggler *straggler; /* asked after each round; or NULL */
    bool give_up;
    uint64_t pull_ns, push_ns;

    void *context;
    /* The compute time of the item that this worker begins now. */
    uint64_t (*compute_ns)(void *context, unsigned worker, uint64_t now_ns);
    /* An item was granted; work->batch counts from 0 to rounds - 1. Both
     * callbacks may be NULL. `closed` gets all round commits in order. */
    enum gw_err (*granted)(void *context, unsigned worker,
                           const struct gw_ps_work *work, struct gw_error *why);
    enum gw_err (*closed)(void *context, const struct gw__round_commit *commit,
                          uint64_t now_ns, struct gw_error *why);
};

enum { GW__STALE_MAX = 255 };

struct gw__clock_sim_result {
    uint64_t ended_ns;       /* when the last item was closed */
    uint64_t items, dropped; /* applied, and too late */
    uint64_t updates;        /* round commits that changed the parameters */
    uint64_t modes;          /* changes of mode by the policy */
    struct gw_ps_mode mode;  /* at the end */
    /* Staleness of applied items, as a histogram: the number of updates between
     * an item's grant and its own update. The last bin has all larger
     * values. */
    uint64_t stale[GW__STALE_MAX + 1], stale_sum, stale_max;
    /* Clocks ahead of the slowest worker at each grant (the bound of SSP). */
    uint64_t grants, ahead_sum, ahead_max;
    /* Largest difference in finished items between the fastest and the
     * slowest. */
    uint64_t gap_max;
    struct gw__clock_sim_worker {
        uint64_t items, applied, dropped;
        uint64_t waited_ns; /* between NEXT and its grant */
    } workers[GW_PS_NODES];
};

/* GW_EINVAL: an invalid mode, also of the policy. GW_ENOMEM. Otherwise a
 * callback's error. */
GW_MUST_CHECK enum gw_err gw__clock_sim_run(const struct gw__clock_sim *how,
                                            struct gw__clock_sim_result *result,
                                            struct gw_error *why);

#endif
