/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * When a recovery is over, the last of its times (supervisor_recovery.c):
 *
 *     a ring       the slowest survivor had the open ops complete: as long
 *                  after the decision as it says that it took
 *     a server     every slot is served again
 *     a worker     another one has finished a unit, or there is no work
 *
 * What is said of it and the news of the decision come on two ways, and either
 * may be faster; a second loss may be decided before the first is over. So what
 * was said is kept, all recoveries that are open are looked at, and a look
 * follows every note and all news: none stays without its end because the word
 * for it came early, or was another one's.
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

/* Whoever is resumed has nothing open from earlier losses either. */
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
    const uint64_t servers = (((uint64_t)1 << RUN_SERVERS_MAX) - 1)
                             << SERVER_NODE;
    bool worked = run->work.kind == WORK_NONE || run->clock.done ||
                  run->clock.units > r->units;
    return (!(r->nodes & servers) || crew_serves(run)) &&
           (!(r->nodes & ~servers) || worked);
}

void resumed_look(struct run *run)
{
    if (!has_servers(run))
        return;
    for (unsigned i = 0; i < known(run); i++) {
        struct recovery *r = &run->recoveries[i];
        if (r->decided && !r->resumed && goes_on(run, r))
            resume(r, gw_now_ns());
    }
}
