/* SPDX-License-Identifier: MIT
 *
 * Whose parts came when: what a policy for stragglers (gradwire/ps.h) is told,
 * and the one place where it is asked. The clock knows no time, for it is the
 * same on all replicas; so this stands beside it, on the one that serves, and
 * looks at it after each command. What the policy answers goes to the clock as
 * a command like any other, MODE.
 *
 *     apply a command -> gw__straggler_look -> a round has ended?
 *         -> gw__straggler_ask -> another mode? -> MODE
 *
 * Nothing is lost with it: after a failover the new primary begins to look.
 */
#ifndef GW__PS_STRAGGLER_H
#define GW__PS_STRAGGLER_H

#include "clock.h"

struct gw__straggler_watch {
    uint64_t rounds; /* that have ended */
    bool looking;    /* the fields below are of a round under way */
    uint64_t epoch, batch, began_ns;
    uint32_t parts; /* that it began with */
    uint32_t done;  /* of ssp and asp: units in this round */
    double staleness_sum;
    unsigned granted;
    double arrivals[GW_PS_NODES];

    struct gw__watched {
        uint64_t incarnation, finished;
        bool here, holds;
        uint64_t epoch, batch, granted_ns;
        uint32_t part;
        double unit, mean;  /* 0: none yet */
    } workers[GW_PS_NODES]; /* by node */

    /* What `round` points to. */
    double arrivals_told[GW_PS_NODES], units[GW_PS_NODES], means[GW_PS_NODES];
    struct gw_straggler_round round;
};

/* After each command that `clock` has applied, at the time when it did. True: a
 * round has ended, and watch->round tells of it. A zeroed watch is fresh. */
bool gw__straggler_look(struct gw__straggler_watch *watch,
                        const struct gw__clock *clock, uint64_t now_ns);
/* GW_OK: *mode, which the policy has chosen after that round, is another than
 * the clock has; GW_PENDING: it is the same; GW_EINVAL: it makes no sense. */
GW_MUST_CHECK enum gw_err
gw__straggler_ask(const struct gw__straggler_watch *watch,
                  const struct gw__clock *clock,
                  const struct gw_straggler *straggler, struct gw_ps_mode *mode,
                  struct gw_error *why);

#endif
