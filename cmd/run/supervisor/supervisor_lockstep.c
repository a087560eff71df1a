/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The faults of a ring in lockstep: when all members hold at the place of the
 * next fault, it is injected. The members have the places since they started,
 * and go on by themselves: after the loss, or with the joiner.
 */
#include "supervisor_experiment.h"
#include "supervisor_parts.h"

#include <signal.h>

/* Whether all members of the ring hold at the place of the next fault. */
static bool all_hold(struct run *run)
{
    unsigned members = 0;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++) {
        const struct child *child = &run->workers[n];
        if (!child->known || !child_is_member(run, child))
            continue;
        members++;
        if (child->status.ring.held != run->lockstep_done + 1)
            return false;
    }
    return members > 0;
}

static void inject(struct run *run, const struct lockstep_fault *fault)
{
    struct child *child = &run->workers[fault->node];
    child->trouble_ns = gw_now_ns();
    if (fault->kind == GW__RESTART) {
        child->awaits = true;
        children_start_awaited(run);
        return;
    }
    child->killed |= fault->kind == GW__CRASH;
    child->paused = fault->kind == GW__PAUSE;
    if (child->pid > 0)
        kill(child->pid, fault->kind == GW__CRASH   ? SIGKILL
                         : fault->kind == GW__PAUSE ? SIGSTOP
                                                    : SIGCONT);
}

void lockstep_update(struct run *run)
{
    if (run->lockstep_done < run->lockstep.count && all_hold(run))
        inject(run, &run->lockstep.faults[run->lockstep_done++]);
}

void lockstep_status(const struct run *run, json_t *status)
{
    json_object_set_new(status, "lockstep",
                        run->options.lockstep
                            ? json_string_nocheck(run->options.lockstep)
                            : json_null());
    json_object_set_new(status, "lockstep_faults",
                        json_integer(run->lockstep_done));
}
