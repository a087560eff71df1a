/* SPDX-License-Identifier: MIT
 *
 * The observer of pskills.h: it configures the slots, receives membership
 * updates, and reports certain deaths, as a run's supervisor does. It also
 * decides which processes may be hit without loss of data.
 */
#include "pskills.h"

#include <cluster/session/session.h>

#include <stdio.h>

static const uint64_t whole_ns = 120000000000, settled_ns = 300000000;

static struct gw__session observer;
static const struct gw__membership_update *const news = &observer.update;
static uint64_t terms[SLOTS]; /* the last logged terms */

/* ---- hearing ---- */

static void note_route(unsigned slot, const struct gw__slot_route *route)
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

static void on_told(void *context, const struct gw__notification *notification)
{
    (void)context;
    if (notification->kind != GW__NOTIFY_UPDATE)
        return;
    for (unsigned s = 0; s < news->routes.slot_count && s < SLOTS; s++)
        if (news->routes.slots[s].term != terms[s]) {
            terms[s] = news->routes.slots[s].term;
            note_route(s, &news->routes.slots[s]);
        }
}

void observer_look(void)
{
    unsigned lost = SLOTS;
    gw__session_lock(&observer);
    for (unsigned s = 0; s < news->routes.slot_count; s++)
        if (news->routes.slots[s].term > 0 &&
            news->routes.slots[s].primary == GW__NO_NODE)
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
                                        .token = board->token,
                                        .controller_count = CONTROLLERS,
                                        .on_notification = on_told};
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

void observer_tell_lost(unsigned node)
{
    struct gw__process who = {GW__NODE_ANY, {0, 0}};
    gw__session_lock(&observer);
    for (unsigned i = 0; i < news->ps_member_count; i++)
        if (news->ps_members[i].node == node)
            who = (struct gw__process){node, news->ps_members[i].incarnation};
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

void crew_news(struct gw__membership_update *out)
{
    gw__session_lock(&observer);
    *out = *news;
    gw__session_unlock(&observer);
}

/* ---- state ---- */

bool crew_is_whole(void)
{
    struct gw__membership_update now;
    unsigned members = 0, wanted = crew_servers();
    crew_news(&now);
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
    unsigned seat = node - FIRST_SERVER;
    return seat < SERVERS_MAX && crew.servers[seat] > 0 &&
           !crew.leaving[seat] && crew.hit[seat] == HIT_NONE &&
           now_ns - crew.fresh_ns[seat] > settled_ns;
}

bool crew_may_lose(unsigned seat)
{
    struct gw__membership_update now;
    uint64_t now_ns = gw_now_ns();
    crew_news(&now);
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct gw__slot_route *slot = &now.routes.slots[s];
        unsigned safe = 0;
        for (unsigned i = 0; i < slot->count; i++)
            safe += slot->replica[i] != FIRST_SERVER + seat &&
                    slot->replica[i] != slot->leaver &&
                    is_sound(slot->replica[i], now_ns);
        if (safe == 0)
            return false;
    }
    return now.routes.slot_count == SLOTS;
}

static void say_slots(void)
{
    struct gw__membership_update now;
    crew_news(&now);
    fprintf(stderr, "pskills: epoch %llu, servers",
            (unsigned long long)now.view.epoch);
    for (unsigned i = 0; i < now.ps_member_count; i++)
        if (now.ps_members[i].role == GW__SERVER)
            fprintf(stderr, " %u", now.ps_members[i].node - FIRST_SERVER);
    fprintf(stderr, "\n");
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        fprintf(stderr,
                "  server %u: process %d, state %d, hit %d, leaving %d, "
                "convicted %llu times\n",
                i, (int)crew.servers[i], atomic_load(&board->servers[i].state),
                crew.hit[i], crew.leaving[i],
                (unsigned long long)atomic_load(&board->servers[i].convicted));
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

void crew_await_whole(void)
{
    uint64_t deadline_ns = gw_now_ns() + whole_ns;
    while (!crew_is_calm() || !crew_is_whole()) {
        crew_turn();
        watch_collect();
        if (gw_now_ns() > deadline_ns) {
            say_slots();
            give_up("the slots are not whole again in 120 s");
        }
        nap_us(2000);
    }
}
