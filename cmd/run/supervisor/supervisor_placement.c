/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The placement of slots by the run's policy. The policy is called only here:
 * before the slots are opened, with the first servers of the run, and again
 * whenever the set of possible servers changes. The result goes to the
 * controllers as a command (PLACE), and from there into their log.
 */
#include "supervisor_parts.h"

#include <cluster/routes/placement.h>

#include <stdio.h>
#include <string.h>

enum { LOAD_WINDOW_NS = 1000000000 };

enum gw_err placement_begin(struct run *run, struct gw_error *why)
{
    const struct run_options *o = &run->options;
    return policy_open(o->placement, o->slot_weights, ps_members_slots(o),
                       &run->policy, why);
}

static struct gw_nodes first_servers(const struct run *run)
{
    return gw__nodes_minus(gw__nodes_first(SERVER_NODE + run->options.servers),
                           gw__nodes_first(SERVER_NODE));
}

static struct gw_nodes present_servers(const struct run *run)
{
    struct gw_nodes servers = {{0}};
    for (unsigned i = 0; i < run->update.ps_member_count; i++)
        if (run->update.ps_members[i].role == GW__SERVER)
            gw__nodes_add(&servers, run->update.ps_members[i].node);
    return gw__nodes_minus(servers, run->update.routes.drained);
}

static enum gw_err request_placement(struct run *run,
                                     const struct gw_nodes *servers,
                                     struct gw__command *command,
                                     struct gw_error *why)
{
    struct gw__placement_case input = {.slots = ps_members_slots(&run->options),
                                       .replicas =
                                           ps_members_replicas(&run->options),
                                       .servers = *servers};
    memcpy(input.weight, run->policy.weight, sizeof input.weight);
    if (run->update.routes.slot_count > 0)
        input.now = run->update.routes.slots;
    command->kind = GW__CMD_PLACE;
    return gw__placement_run(run->policy.plugin->placement, &input,
                             &command->advice, why);
}

/* Adds the counts that the slot's primary has reported. A slot that is being
 * moved has no counts. */
static void record_slot_load(struct run *run, unsigned slot, uint64_t now_ns)
{
    const struct gw__slot_route *route = &run->update.routes.slots[slot];
    unsigned server = (unsigned)route->primary - SERVER_NODE;
    if (server >= RUN_SERVERS_MAX || !ps_members_serves_slot(run, slot))
        return;
    const struct gw_ps_slot_status *s =
        &run->servers[server].status.server.slots[slot];
    gw__slot_load_record(&run->load, slot, route->primary, s->keys, s->traffic,
                         now_ns);
}

static void check_load(struct run *run)
{
    static struct gw__command command; /* large */
    uint64_t now_ns = gw_now_ns();
    if (now_ns < run->load_ns + LOAD_WINDOW_NS)
        return;
    run->load_ns = now_ns;
    for (unsigned i = 0; i < run->update.routes.slot_count; i++)
        record_slot_load(run, i, now_ns);
    const struct gw_nodes servers = present_servers(run);
    if (!run->policy.by_load) {
        run->load.servers = servers;
    } else if (gw__slot_load_end_window(&run->load, &run->update.routes,
                                        &servers, &command.advice)) {
        command.kind = GW__CMD_PLACE;
        control_command(run, &command);
    }
}

/* If the policy fails later, the slots stay where they are. */
void placement_update(struct run *run)
{
    static struct gw__command command; /* large */
    struct gw_error why;
    const struct gw_nodes servers =
        run->formed ? present_servers(run) : first_servers(run);
    if (run->formed)
        check_load(run);
    if (!run->policy.plugin || gw__nodes_is_empty(servers) ||
        gw__nodes_equal(servers, run->placement_servers))
        return;
    run->placement_servers = servers;
    if (!request_placement(run, &servers, &command, &why)) {
        control_command(run, &command);
        return;
    }
    fprintf(stderr, "placement %s: %s\n", run->policy.plugin->name, why.text);
    if (!run->formed)
        run->failed = why;
}
