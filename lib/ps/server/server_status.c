/* SPDX-License-Identifier: MIT
 *
 * The server's status report.
 */
#include "server_parts.h"

#include <string.h>

static void slot_status(const struct gw__slot *slot,
                        struct gw_ps_slot_status *status)
{
    *status = (struct gw_ps_slot_status){.role = slot->role,
                                         .term = slot->term,
                                         .last = slot->last,
                                         .committed = slot->committed,
                                         .keys = slot->keys_requested,
                                         .traffic = slot->bytes_requested,
                                         .bytes = slot->pending.bytes};
    for (unsigned t = 0; t < GW_PS_TABLES_MAX; t++)
        if (slot->stores[t]) {
            status->rows += gw__store_rows(slot->stores[t]);
            status->bytes += gw__store_bytes(slot->stores[t]);
        }
}

static void add_nans(const struct gw__server *server,
                     struct gw_ps_clock_status *clock)
{
    for (unsigned i = 0; i < clock->worker_count; i++) {
        unsigned node = clock->workers[i].node;
        const struct gw__nans *nans = &server->nans[node % GW_PS_NODES];
        if (node < GW_PS_NODES && server->ps_members[node].here &&
            server->ps_members[node].incarnation == nans->incarnation)
            clock->workers[i].nans = (uint64_t)nans->here + nans->reported;
    }
}

void gw__server_get_status(const struct gw__server *server,
                           struct gw_ps_server_status *status)
{
    *status = server->counts;
    status->member = server->member;
    status->lease = server->now_ns < server->lease_until_ns;
    status->epoch = server->epoch;
    status->slot_count = server->routes.slot_count;
    for (unsigned i = 0; i < server->held_count; i++) {
        const struct gw__slot *slot = &server->slots[server->held[i]];
        slot_status(slot, &status->slots[slot->number]);
        status->primaries += slot->role == GW_PS_PRIMARY;
        status->staged += slot->pending.items;
        for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++)
            if (slot->role == GW_PS_PRIMARY && slot->clocks[g]) {
                gw__clock_status(slot->clocks[g], &status->clocks[g]);
                status->clocks[g].here = true;
                add_nans(server, &status->clocks[g]);
            }
    }
    memcpy(status->text, server->trouble, sizeof status->text);
}
