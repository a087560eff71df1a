/* SPDX-License-Identifier: MIT
 *
 * Looks at the processes of other nodes, on request of a machine when one of
 * them is silent (base/machine.h). The control channel knows the process of
 * each node. A look at the own process is included: a beat waits for a CPU in
 * the process of its sender, and then again in this one.
 */
#include "driver_parts.h"

static void apply_sight(struct gw__driver *driver, unsigned node,
                        const struct gw__process_observation *own,
                        const struct gw__process_observation *observed)
{
    const struct gw__sight sight = {
        .state = observed->state == GW__PROCESS_WATCH_STOPPED
                     ? GW__SIGHT_STOPPED
                 : observed->state == GW__PROCESS_WATCH_AWAKE ? GW__SIGHT_AWAKE
                                                              : GW__SIGHT_NONE,
        .waited_ns = observed->waited_ns + own->waited_ns};
    struct gw__input input = {
        .kind = observed->state == GW__PROCESS_WATCH_ENDED ? GW__DIED
                                                           : GW__OBSERVED,
        .from = node,
        .incarnation = driver->inspections->of[node].incarnation,
        .data = &sight,
        .bytes = sizeof sight};
    if (input.kind == GW__DIED)
        input.bytes = 0;
    gw__driver_step(driver, &input);
}

bool gw__driver_inspect(struct gw__driver *driver)
{
    struct gw__driver_inspections *inspections = driver->inspections;
    struct gw__process_observation own, observed;
    struct gw__process_watch_id self;
    struct gw_nodes wanted = inspections->wanted;
    inspections->wanted = (struct gw_nodes){{0}};
    if (gw__nodes_is_empty(wanted) || driver->failed)
        return false;
    gw__process_watch_self(&self);
    gw__process_inspect(&inspections->self, &self, gw_now_ns(), &own);
    for (unsigned node = gw__nodes_next(&wanted, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&wanted, node + 1)) {
        const struct gw__process_watch_id *id = gw__control_channel_process(
            driver->channel, node, inspections->of[node].incarnation);
        observed =
            (struct gw__process_observation){.state = GW__PROCESS_WATCH_HIDDEN};
        if (id && id->host == self.host)
            gw__process_inspect(&inspections->of[node].previous, id,
                                gw_now_ns(), &observed);
        apply_sight(driver, node, &own, &observed);
    }
    return true;
}
