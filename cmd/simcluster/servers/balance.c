/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Slots that move by load, as in a real run (cmd/run/supervisor_placement.c):
 * the counters of the primaries are read once per window, and the resulting
 * placement goes to the controllers. Windows are short here, since runs are.
 */
#include "ps_simcluster.h"

enum { WINDOW_NS = 400000000 };

static void record_slot_load(struct ps_simcluster *f,
                             const struct gw__routes *routes, unsigned slot,
                             uint64_t now_ns)
{
    static struct gw_ps_server_status status; /* large */
    unsigned primary = routes->slots[slot].primary;
    if (!is_server(f, primary) || !server_at(f, primary))
        return;
    gw__server_get_status(server_at(f, primary), &status);
    const struct gw_ps_slot_status *s = &status.slots[slot];
    if (s->role == GW_PS_PRIMARY)
        gw__slot_load_record(&f->load, slot, primary, s->keys, s->traffic,
                             now_ns);
}

static struct gw_nodes servers_of(const struct ps_simcluster *f,
                                  const struct gw__membership_update *update)
{
    struct gw_nodes servers = {{0}};
    for (unsigned i = 0; i < update->ps_member_count; i++)
        if (is_server(f, update->ps_members[i].node))
            gw__nodes_add(&servers, update->ps_members[i].node);
    return servers;
}

void balance_check(struct sim_member *member, unsigned tag)
{
    static struct gw__command command; /* large */
    struct ps_simcluster *f = member->cluster;
    uint64_t now_ns = gw__sim_now(f->sim);
    if (ps_simcluster_is_late(f) || now_ns < f->load_ns + WINDOW_NS)
        return;
    f->load_ns = now_ns;
    for (unsigned slot = 0; slot < f->slots; slot++)
        record_slot_load(f, &member->update.routes, slot, now_ns);
    const struct gw_nodes servers = servers_of(f, &member->update);
    if (!gw__slot_load_end_window(&f->load, &member->update.routes, &servers,
                                  &command.advice))
        return;
    command.kind = GW__CMD_PLACE;
    f->met.plans++;
    sim_member_request(member, &command, tag);
}
