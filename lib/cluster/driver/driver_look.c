/* SPDX-License-Identifier: MIT
 *
 * Looks at the processes of other nodes, on request of a machine when one of
 * them is silent (base/machine.h). The control channel knows the process of
 * each node. A look at the own process is included: beats that have arrived but
 * wait for a thread without CPU are not the sender's fault.
 */
#include "driver_parts.h"

static void answer_look(struct gw__driver *driver, unsigned node,
                        const struct gw__process_watch_seen *own,
                        const struct gw__process_watch_seen *seen)
{
    uint64_t waited_ns =
        seen->waited_ns > own->waited_ns ? seen->waited_ns : own->waited_ns;
    const struct gw__sight sight = {
        .state = seen->state == GW__PROCESS_WATCH_STOPPED ? GW__SIGHT_STOPPED
                 : seen->state == GW__PROCESS_WATCH_AWAKE ? GW__SIGHT_AWAKE
                                                          : GW__SIGHT_NONE,
        .waited_ns = waited_ns};
    struct gw__input input = {
        .kind =
            seen->state == GW__PROCESS_WATCH_ENDED ? GW__DIED : GW__OBSERVED,
        .from = node,
        .incarnation = driver->looks->of[node].incarnation,
        .data = &sight,
        .bytes = sizeof sight};
    if (input.kind == GW__DIED)
        input.bytes = 0;
    gw__driver_step(driver, &input);
}

bool gw__driver_look(struct gw__driver *driver)
{
    struct gw__driver_looks *looks = driver->looks;
    struct gw__process_watch_seen own, seen;
    struct gw__process_watch_id self;
    uint64_t wanted = looks->wanted;
    looks->wanted = 0;
    if (!wanted || driver->failed)
        return false;
    gw__process_watch_self(&self);
    gw__process_watch_look(&looks->self, &self, gw_now_ns(), &own);
    for (; wanted; wanted &= wanted - 1) {
        unsigned node = (unsigned)__builtin_ctzll(wanted);
        const struct gw__process_watch_id *id = gw__control_channel_process(
            driver->channel, node, looks->of[node].incarnation);
        seen =
            (struct gw__process_watch_seen){.state = GW__PROCESS_WATCH_HIDDEN};
        if (id && id->host == self.host)
            gw__process_watch_look(&looks->of[node].look, id, gw_now_ns(),
                                   &seen);
        answer_look(driver, node, &own, &seen);
    }
    return true;
}
