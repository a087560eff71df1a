/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The view's state of parameter servers (crew.h): its parts, and queries.
 */
#include "crew.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void crew_init(struct crew *crew)
{
    *crew = (struct crew){.loss = (double)NAN};
    for (unsigned w = 0; w < CREW_WORKERS; w++)
        crew->workers[w].waited = crew->workers[w].units_per_second =
            (double)NAN;
}

/* ---- its parts ---- */

struct crew_server *crew_meet_server(struct crew *crew, unsigned number)
{
    if (number >= CREW_SERVERS)
        return NULL;
    struct crew_server *server = &crew->servers[number];
    if (!server->known)
        snprintf(server->state, sizeof server->state, "alive");
    server->known = true;
    if (number >= crew->server_count)
        crew->server_count = number + 1;
    return server;
}

struct crew_worker *crew_meet_worker(struct crew *crew, unsigned number)
{
    if (number >= CREW_WORKERS)
        return NULL;
    struct crew_worker *worker = &crew->workers[number];
    if (!worker->known)
        snprintf(worker->state, sizeof worker->state, "alive");
    worker->known = true;
    if (number >= crew->worker_count)
        crew->worker_count = number + 1;
    return worker;
}

/* There is one primary. The former one counts as in sync until reported
 * otherwise. */
static void dethrone(struct crew_slot *slot, unsigned server)
{
    for (unsigned s = 0; s < CREW_SERVERS; s++)
        if (s != server && slot->roles[s] == GW_PS_PRIMARY)
            slot->roles[s] = GW_PS_SECONDARY;
}

void crew_set_role(struct crew *crew, unsigned number, unsigned server,
                   enum gw_ps_role role)
{
    if (number >= GW_PS_SLOTS_MAX || server >= CREW_SERVERS)
        return;
    struct crew_slot *slot = &crew->slots[number];
    if (role == GW_PS_PRIMARY)
        dethrone(slot, server);
    slot->roles[server] = (unsigned char)role;
    slot->placed |= role != GW_PS_NOT_HERE;
    if (number >= crew->slot_count)
        crew->slot_count = number + 1;
}

/* A learner alone does not count: its copy is incomplete. */
static bool is_held(const struct crew_slot *slot)
{
    for (unsigned s = 0; s < CREW_SERVERS; s++)
        if (slot->roles[s] == GW_PS_PRIMARY ||
            slot->roles[s] == GW_PS_SECONDARY)
            return true;
    return false;
}

void crew_look_for_loss(struct crew *crew, uint64_t now_ns,
                        struct journal *journal)
{
    unsigned fresh = 0, first = 0;
    for (unsigned i = crew->slot_count; i-- > 0;) {
        struct crew_slot *slot = &crew->slots[i];
        bool lost = slot->placed && !is_held(slot);
        if (lost && !slot->lost) {
            fresh++;
            first = i;
        }
        slot->lost = lost;
    }
    if (fresh > 1)
        journal_write(journal, now_ns, WEIGHT_BAD,
                      "%u SLOTS ARE LOST, slot %u and more", fresh, first)
            ->failover = true;
    else if (fresh)
        journal_write(journal, now_ns, WEIGHT_BAD, "SLOT %u IS LOST", first)
            ->failover = true;
}

/* ---- questions ---- */

int crew_primary(const struct crew *crew, unsigned slot)
{
    for (unsigned s = 0; s < CREW_SERVERS; s++)
        if (crew->slots[slot].roles[s] == GW_PS_PRIMARY)
            return (int)s;
    return -1;
}

unsigned crew_count(const struct crew *crew, unsigned server,
                    enum gw_ps_role role)
{
    unsigned count = 0;
    for (unsigned i = 0; i < crew->slot_count; i++)
        count += crew->slots[i].roles[server] == role;
    return count;
}

unsigned crew_lost(const struct crew *crew)
{
    unsigned count = 0;
    for (unsigned i = 0; i < crew->slot_count; i++)
        count += crew->slots[i].lost;
    return count;
}

unsigned crew_unserved(const struct crew *crew)
{
    unsigned count = 0;
    for (unsigned i = 0; i < crew->slot_count; i++)
        count += crew->slots[i].placed && !crew->slots[i].lost &&
                 crew_primary(crew, i) < 0;
    return count;
}

bool crew_span(const struct crew *crew, uint64_t *least, uint64_t *most)
{
    bool any = false;
    for (unsigned w = 0; w < crew->worker_count; w++) {
        const struct crew_worker *worker = &crew->workers[w];
        if (!worker->clocked || worker->gone_ns > 0)
            continue;
        *least = !any || worker->clock < *least ? worker->clock : *least;
        *most = !any || worker->clock > *most ? worker->clock : *most;
        any = true;
    }
    return any;
}

const uint64_t *crew_staleness(const struct crew *crew)
{
    return crew->clock.told ? crew->clock.staleness : crew->seen;
}

bool crew_gone(uint64_t gone_ns, uint64_t now_ns)
{
    static const uint64_t LONG_NS = 10000000000;
    return gone_ns > 0 && now_ns > gone_ns && now_ns - gone_ns > LONG_NS;
}

bool crew_is_there(const char *state)
{
    return strcmp(state, "dead") != 0 && strcmp(state, "left") != 0;
}
