/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The view's state of parameter servers (ps_members.h): its parts, and queries.
 */
#include "ps_members.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void ps_init(struct ps_members *ps)
{
    *ps = (struct ps_members){.loss = (double)NAN};
    for (unsigned w = 0; w < PS_WORKERS; w++)
        ps->workers[w].waited = ps->workers[w].work_items_per_second =
            (double)NAN;
}

/* ---- its parts ---- */

struct ps_server *ps_server_of(struct ps_members *ps, unsigned number)
{
    if (number >= PS_SERVERS)
        return NULL;
    struct ps_server *server = &ps->servers[number];
    if (!server->known)
        snprintf(server->state, sizeof server->state, "alive");
    server->known = true;
    if (number >= ps->server_count)
        ps->server_count = number + 1;
    return server;
}

struct ps_worker_state *ps_worker_of(struct ps_members *ps, unsigned number)
{
    if (number >= PS_WORKERS)
        return NULL;
    struct ps_worker_state *worker = &ps->workers[number];
    if (!worker->known)
        snprintf(worker->state, sizeof worker->state, "alive");
    worker->known = true;
    if (number >= ps->worker_count)
        ps->worker_count = number + 1;
    return worker;
}

/* There is one primary. The former one counts as in sync until reported
 * otherwise. */
static void dethrone(struct ps_slot *slot, unsigned server)
{
    for (unsigned s = 0; s < PS_SERVERS; s++)
        if (s != server && slot->roles[s] == GW_PS_PRIMARY)
            slot->roles[s] = GW_PS_SECONDARY;
}

void ps_set_role(struct ps_members *ps, unsigned number, unsigned server,
                 enum gw_ps_role role)
{
    if (number >= GW_PS_SLOTS_MAX || server >= PS_SERVERS)
        return;
    struct ps_slot *slot = &ps->slots[number];
    if (role == GW_PS_PRIMARY)
        dethrone(slot, server);
    slot->roles[server] = (unsigned char)role;
    slot->was_assigned |= role != GW_PS_NOT_HERE;
    if (number >= ps->slot_count)
        ps->slot_count = number + 1;
}

/* A learner alone does not count: its copy is incomplete. */
static bool is_held(const struct ps_slot *slot)
{
    for (unsigned s = 0; s < PS_SERVERS; s++)
        if (slot->roles[s] == GW_PS_PRIMARY ||
            slot->roles[s] == GW_PS_SECONDARY)
            return true;
    return false;
}

void ps_find_lost_slots(struct ps_members *ps, uint64_t now_ns,
                        struct event_log *log)
{
    unsigned fresh = 0, first = 0;
    for (unsigned i = ps->slot_count; i-- > 0;) {
        struct ps_slot *slot = &ps->slots[i];
        bool lost = slot->was_assigned && !is_held(slot);
        if (lost && !slot->lost) {
            fresh++;
            first = i;
        }
        slot->lost = lost;
    }
    if (fresh > 1)
        event_log_write(log, now_ns, WEIGHT_BAD,
                        "%u SLOTS ARE LOST, slot %u and more", fresh, first)
            ->failover = true;
    else if (fresh)
        event_log_write(log, now_ns, WEIGHT_BAD, "SLOT %u IS LOST", first)
            ->failover = true;
}

/* ---- questions ---- */

int ps_primary(const struct ps_members *ps, unsigned slot)
{
    for (unsigned s = 0; s < PS_SERVERS; s++)
        if (ps->slots[slot].roles[s] == GW_PS_PRIMARY)
            return (int)s;
    return -1;
}

unsigned ps_count(const struct ps_members *ps, unsigned server,
                  enum gw_ps_role role)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ps->slot_count; i++)
        count += ps->slots[i].roles[server] == role;
    return count;
}

unsigned ps_lost(const struct ps_members *ps)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ps->slot_count; i++)
        count += ps->slots[i].lost;
    return count;
}

unsigned ps_unserved(const struct ps_members *ps)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ps->slot_count; i++)
        count += ps->slots[i].was_assigned && !ps->slots[i].lost &&
                 ps_primary(ps, i) < 0;
    return count;
}

bool ps_span(const struct ps_members *ps, uint64_t *least, uint64_t *most)
{
    bool any = false;
    for (unsigned w = 0; w < ps->worker_count; w++) {
        const struct ps_worker_state *worker = &ps->workers[w];
        if (!worker->clocked || worker->gone_ns > 0)
            continue;
        *least = !any || worker->clock < *least ? worker->clock : *least;
        *most = !any || worker->clock > *most ? worker->clock : *most;
        any = true;
    }
    return any;
}

const uint64_t *ps_staleness(const struct ps_members *ps)
{
    return ps->clock.reported ? ps->clock.staleness : ps->seen;
}

bool ps_gone(uint64_t gone_ns, uint64_t now_ns)
{
    static const uint64_t LONG_NS = 10000000000;
    return gone_ns > 0 && now_ns > gone_ns && now_ns - gone_ns > LONG_NS;
}

bool ps_is_there(const char *state)
{
    return strcmp(state, "dead") != 0 && strcmp(state, "left") != 0;
}
