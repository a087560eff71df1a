/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The end of a recovery, the last of its times (supervisor_recovery.c):
 *
 *     a ring       the slowest survivor completed the open ops: the time after
 *                  the decision that it reports
 *     a server     every slot is served again
 *     a worker     another one has finished an item, or there is no work
 *
 * The report of the end and the update with the decision take two ways, and
 * either may be faster. A second loss may be decided before the first recovery
 * is over. So reports are kept, and all open recoveries are checked after every
 * note and every update: none stays open because its report came early or was
 * about another one.
 */
#include "supervisor_parts.h"

#include <string.h>

static unsigned known(const struct run *run)
{
    return run->recovery_count < RECOVERIES_MAX ? run->recovery_count
                                                : RECOVERIES_MAX;
}

static void resume(struct recovery *r, uint64_t time_ns)
{
    r->resumed = true;
    if (time_ns > r->resumed_ns)
        r->resumed_ns = time_ns;
}

/* ---- a ring ---- */

/* The newest that was decided in that ring or before; NULL: none. */
static struct recovery *newest_of(struct run *run, uint64_t ring_epoch)
{
    struct recovery *found = NULL;
    for (unsigned i = 0; i < known(run); i++) {
        struct recovery *r = &run->recoveries[i];
        if (r->decided && r->epoch <= ring_epoch &&
            (!found || r->epoch > found->epoch))
            found = r;
    }
    return found;
}

/* A resumed member has no open op from earlier losses either. */
static void resume_ring(struct run *run, uint64_t ring_epoch, uint64_t took_ns)
{
    struct recovery *last = newest_of(run, ring_epoch);
    if (!last)
        return;
    resume(last, last->decided_ns + took_ns);
    for (unsigned i = 0; i < known(run); i++) {
        struct recovery *r = &run->recoveries[i];
        if (r->decided && !r->resumed && r->epoch < last->epoch)
            resume(r, last->resumed_ns);
    }
}

void resumed_ring(struct run *run, const struct gw_ring_status *status)
{
    struct resumption *newest = &run->resumption;
    uint64_t took_ns = status->last.resumed_ns > status->last.decided_ns
                           ? status->last.resumed_ns - status->last.decided_ns
                           : 0;
    if (status->ring_epoch > newest->ring_epoch)
        *newest = (struct resumption){.ring_epoch = status->ring_epoch};
    if (status->ring_epoch == newest->ring_epoch && took_ns > newest->took_ns)
        newest->took_ns = took_ns;
    resume_ring(run, status->ring_epoch, took_ns);
}

void resumed_decided(struct run *run)
{
    const struct recovery *r =
        &run->recoveries[(run->recovery_count - 1) % RECOVERIES_MAX];
    if (run->resumption.ring_epoch >= r->epoch)
        resume_ring(run, run->resumption.ring_epoch, run->resumption.took_ns);
}

/* ---- parameter servers ---- */

static bool goes_on(const struct run *run, const struct recovery *r)
{
    const struct gw_nodes servers =
        gw__nodes_minus(gw__nodes_first(SERVER_NODE + RUN_SERVERS_MAX),
                        gw__nodes_first(SERVER_NODE));
    bool lost_server = !gw__nodes_is_empty(gw__nodes_and(r->nodes, servers));
    bool lost_worker = !gw__nodes_within(r->nodes, servers);
    bool worked = run->work.kind == WORK_NONE || run->clock.done ||
                  run->clock.work_items > r->items;
    return (!lost_server || ps_members_serves(run)) && (!lost_worker || worked);
}

void resumed_check(struct run *run)
{
    if (!has_servers(run))
        return;
    for (unsigned i = 0; i < known(run); i++) {
        struct recovery *r = &run->recoveries[i];
        if (r->decided && !r->resumed && goes_on(run, r))
            resume(r, gw_now_ns());
    }
}
