/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where slots are to be, as the run's policy of placement says. It is asked
 * here and nowhere else: before the slots are opened, about the servers that
 * the run begins with, and again whenever those that may have slots are others.
 * Its words go to the controllers as a command (PLACE), and from there into
 * their log.
 */
#include "supervisor_parts.h"

#include <control/placement.h>

#include <stdio.h>
#include <string.h>

enum gw_err placement_begin(struct run *run, struct gw_error *why)
{
    const struct run_options *o = &run->options;
    return policy_open(o->placement, o->slot_weights, crew_slots(o),
                       &run->policy, why);
}

static uint64_t first_servers(const struct run *run)
{
    return (((uint64_t)1 << run->options.servers) - 1) << SERVER_NODE;
}

static uint64_t present_servers(const struct run *run)
{
    uint64_t servers = 0;
    for (unsigned i = 0; i < run->news.crew_count; i++)
        if (run->news.crew[i].role == GW__SERVER)
            servers |= (uint64_t)1 << run->news.crew[i].node;
    return servers & ~run->news.routes.drained;
}

static enum gw_err ask(struct run *run, uint64_t servers,
                       struct gw__command *command, struct gw_error *why)
{
    struct gw__placement_case given = {.slots = crew_slots(&run->options),
                                       .replicas = crew_replicas(&run->options),
                                       .servers = servers};
    memcpy(given.weight, run->policy.weight, sizeof given.weight);
    if (run->news.routes.slot_count > 0)
        given.now = run->news.routes.slots;
    command->kind = GW__CMD_PLACE;
    return gw__placement_ask(run->policy.plugin->placement, &given,
                             &command->advice, why);
}

/* A policy that fails later leaves the slots where they are. */
void placement_look(struct run *run)
{
    static struct gw__command command; /* large */
    struct gw_error why;
    uint64_t servers = run->formed ? present_servers(run) : first_servers(run);
    if (!run->policy.plugin || servers == 0 || servers == run->placed_for)
        return;
    run->placed_for = servers;
    if (!ask(run, servers, &command, &why)) {
        control_command(run, &command);
        return;
    }
    fprintf(stderr, "placement %s: %s\n", run->policy.plugin->name, why.text);
    if (!run->formed)
        run->failed = why;
}
