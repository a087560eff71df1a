/* SPDX-License-Identifier: MIT
 *
 * The observer of pskills.h: it configures the slots, receives membership
 * updates, and reports certain deaths, as a run's supervisor does. It also
 * decides which processes may be hit without loss of data.
 */
#include "pskills.h"

#include <cluster/session/session.h>

#include <stdio.h>

static const uint64_t whole_ns = 120000000000, stable_ns = 300000000;

static struct gw__session observer;
static const struct gw__membership_update *const update = &observer.update;
static uint64_t terms[SLOTS]; /* the last logged terms */

/* ---- hearing ---- */

static void log_route(unsigned slot, const struct gw__slot_route *route)
{
    char text[TEXT_ROOM];
    int used = snprintf(text, sizeof text, "slot %u term %llu in sync", slot,
                        (unsigned long long)route->term);
    for (unsigned i = 0; i < route->count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %d",
                         route->replica[i] - FIRST_SERVER);
    diary("%s, learner %d leaver %d heir %d", text,
          route->learner - FIRST_SERVER, route->leaver - FIRST_SERVER,
          route->successor - FIRST_SERVER);
}

static void on_notification(void *context,
                            const struct gw__notification *notification)
{
    (void)context;
    if (notification->kind != GW__NOTIFY_UPDATE)
        return;
    for (unsigned s = 0; s < update->routes.slot_count && s < SLOTS; s++)
        if (update->routes.slots[s].term != terms[s]) {
            terms[s] = update->routes.slots[s].term;
            log_route(s, &update->routes.slots[s]);
        }
}

void observer_check(void)
{
    unsigned lost = SLOTS;
    gw__session_lock(&observer);
    for (unsigned s = 0; s < update->routes.slot_count; s++)
        if (update->routes.slots[s].term > 0 &&
            update->routes.slots[s].primary == GW__NO_NODE)
            lost = s;
    gw__session_unlock(&observer);
    if (lost < SLOTS)
        give_up("slot %u is lost", lost);
}

void observer_start(unsigned servers)
{
    struct addresses addresses;
    struct gw_error why;
    struct gw__session_config config = {.node = OBSERVER,
                                        .role = GW__OBSERVER,
                                        .endpoint = addresses.own,
                                        .security.token = board->token,
                                        .controller_count = CONTROLLERS,
                                        .on_notification = on_notification};
    const struct gw__command routes = {
        .kind = GW__CMD_ROUTES,
        .routes = {.slots = SLOTS, .replicas = REPLICAS, .servers = servers}};
    addresses_of(OBSERVER, &addresses);
    for (unsigned c = 0; c < CONTROLLERS; c++)
        config.controllers[c] = (struct gw__driver_peer){
            FIRST_CONTROLLER + c, addresses.controllers[c]};
    if (gw__session_init(&observer, &config, &why) ||
        gw__session_start(&observer, 0, &why))
        give_up("observer: %s", why.text);
    if (gw__session_command(&observer, &routes, 1))
        give_up("observer: the driver does not listen");
}

void observer_report_lost(unsigned node)
{
    struct gw__process who = {GW__NODE_ANY, {0, 0}};
    gw__session_lock(&observer);
    for (unsigned i = 0; i < update->ps_member_count; i++)
        if (update->ps_members[i].node == node)
            who = (struct gw__process){node, update->ps_members[i].incarnation};
    gw__session_unlock(&observer);
    if (who.node == GW__NODE_ANY)
        return; /* already removed, or not a member yet */
    if (gw__session_lost(&observer, who))
        give_up("observer: the driver does not listen");
}

void observer_stop(void)
{
    gw__session_fini(&observer);
}

void cluster_update(struct gw__membership_update *out)
{
    gw__session_lock(&observer);
    *out = *update;
    gw__session_unlock(&observer);
}

/* ---- state ---- */

bool cluster_is_whole(void)
{
    struct gw__membership_update now;
    unsigned members = 0, wanted = cluster_servers();
    cluster_update(&now);
    for (unsigned i = 0; i < now.ps_member_count; i++)
        members += now.ps_members[i].role == GW__SERVER;
    if (members != wanted || now.routes.slot_count != SLOTS)
        return false;
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct gw__slot_route *slot = &now.routes.slots[s];
        unsigned most = wanted < REPLICAS ? wanted : REPLICAS;
        if (slot->primary == GW__NO_NODE || slot->count < most ||
            slot->learner != GW__NO_NODE || slot->successor != GW__NO_NODE)
            return false;
    }
    return true;
}

/* Neither now nor recently disturbed: the routes therefore describe this
 * process, and not the one before it. */
static bool is_sound(unsigned node, uint64_t now_ns)
{
    unsigned number = node - FIRST_SERVER;
    return number < SERVERS_MAX && cluster.servers[number] > 0 &&
           !cluster.leaving[number] && cluster.hit[number] == HIT_NONE &&
           now_ns - cluster.fresh_ns[number] > stable_ns;
}

bool cluster_may_lose(unsigned number)
{
    struct gw__membership_update now;
    uint64_t now_ns = gw_now_ns();
    cluster_update(&now);
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct gw__slot_route *slot = &now.routes.slots[s];
        unsigned safe = 0;
        for (unsigned i = 0; i < slot->count; i++)
            safe += slot->replica[i] != FIRST_SERVER + number &&
                    slot->replica[i] != slot->leaver &&
                    is_sound(slot->replica[i], now_ns);
        if (safe == 0)
            return false;
    }
    return now.routes.slot_count == SLOTS;
}

static void print_slots(void)
{
    struct gw__membership_update now;
    cluster_update(&now);
    fprintf(stderr, "pskills: epoch %llu, servers",
            (unsigned long long)now.view.epoch);
    for (unsigned i = 0; i < now.ps_member_count; i++)
        if (now.ps_members[i].role == GW__SERVER)
            fprintf(stderr, " %u", now.ps_members[i].node - FIRST_SERVER);
    fprintf(stderr, "\n");
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        fprintf(
            stderr,
            "  server %u: process %d, state %d, hit %d, leaving %d, "
            "declared dead %llu times\n",
            i, (int)cluster.servers[i], atomic_load(&board->servers[i].state),
            cluster.hit[i], cluster.leaving[i],
            (unsigned long long)atomic_load(&board->servers[i].declared_dead));
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct gw__slot_route *slot = &now.routes.slots[s];
        fprintf(stderr, "  slot %2u term %llu in sync", s,
                (unsigned long long)slot->term);
        for (unsigned i = 0; i < slot->count; i++)
            fprintf(stderr, " %d", slot->replica[i] - FIRST_SERVER);
        fprintf(stderr, ", learner %d leaver %d heir %d\n", slot->learner,
                slot->leaver, slot->successor);
    }
}

void cluster_await_whole(void)
{
    uint64_t deadline_ns = gw_now_ns() + whole_ns;
    while (!cluster_is_calm() || !cluster_is_whole()) {
        cluster_tick();
        ack_monitor_collect();
        if (gw_now_ns() > deadline_ns) {
            print_slots();
            give_up("the slots are not whole again in 120 s");
        }
        nap_us(2000);
    }
}
