/* SPDX-License-Identifier: MIT
 *
 * Arrival times of parts, for a straggler policy (gradwire/ps.h), which is
 * called only here.
 *
 * The clock itself has no time, since it is the same on all replicas. So the
 * primary observes it after each command. The policy's answer goes to the clock
 * as an ordinary MODE command.
 *
 *     apply a command -> gw__straggler_observe -> a round has ended?
 *         -> gw__straggler_request -> another mode? -> MODE
 *
 * The observations are not replicated: after a failover the new primary starts
 * with none.
 */
#ifndef GW__PS_STRAGGLER_H
#define GW__PS_STRAGGLER_H

#include "clock.h"

struct gw__straggler_monitor {
    uint64_t rounds; /* ended so far */
    bool in_round;   /* the fields below are of the current round */
    uint64_t epoch, batch, began_ns;
    uint32_t parts; /* at its start */
    uint32_t done;  /* ssp and asp: items in this round */
    double staleness_sum;
    unsigned granted;
    double arrivals[GW_PS_NODES];

    struct gw__straggler_worker {
        uint64_t incarnation, finished;
        bool here, holds;
        uint64_t epoch, batch, granted_ns;
        uint32_t part;
        double item, mean;  /* 0: none yet */
    } workers[GW_PS_NODES]; /* by node */

    /* The arrays that `round` points to. */
    double arrivals_reported[GW_PS_NODES], items[GW_PS_NODES],
        means[GW_PS_NODES];
    struct gw_straggler_round round;
};

/* Call this after each command that the clock has applied, with the time. True:
 * a round has ended; watch->round describes it. A zeroed watch is valid. */
bool gw__straggler_observe(struct gw__straggler_monitor *monitor,
                           const struct gw__clock *clock, uint64_t now_ns);
/* GW_OK: *mode is the policy's choice, different from the clock's mode.
 * GW_PENDING: the mode stays. GW_EINVAL: the policy's mode is invalid. */
GW_MUST_CHECK enum gw_err
gw__straggler_request(const struct gw__straggler_monitor *monitor,
                      const struct gw__clock *clock,
                      const struct gw_straggler *straggler,
                      struct gw_ps_mode *mode, struct gw_error *why);

#endif
