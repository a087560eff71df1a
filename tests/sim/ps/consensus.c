/* SPDX-License-Identifier: MIT
 *
 * The consensus node, which replaces the controllers of a parameter server. A
 * process that sends HELLO is a member. One that ended, or was silent for
 * longer than its lease, is declared dead, and comes back only as another
 * process. The library's own code, gw__routes_*, places the slots.
 */
#include "ps_simulation.h"

enum { CHECK_MS = 10, REPEAT_MS = 40 };

struct known {
    uint64_t incarnation;   /* 0: none */
    uint64_t declared_dead; /* the last incarnation declared dead */
    uint64_t received_ns, sent_ns;
    uint64_t version; /* of its bulletin */
};

struct consensus {
    struct ps_simulation *cluster;
    uint64_t now_ns;
    const struct gw__actions *act;
    uint64_t version;
    struct known known[NODES_MOST];
};

static struct gw_nodes active_servers(const struct consensus *d)
{
    struct gw_nodes set = {{0}};
    for (unsigned n = 1; n <= d->cluster->servers; n++)
        if (d->known[n].incarnation)
            gw__nodes_add(&set, n);
    return set;
}

static void publish(struct consensus *d)
{
    struct ps_simulation *w = d->cluster;
    const struct gw_nodes servers = active_servers(d);
    gw__routes_servers(&w->routes, &servers);
    d->version++;
    for (unsigned slot = 0; slot < w->routes.slot_count; slot++)
        if (w->routes.slots[slot].term > 0 &&
            w->routes.slots[slot].primary == GW__NO_NODE)
            w->lost = true;
}

static void send_bulletin(struct consensus *d, unsigned node)
{
    struct bulletin bulletin;
    memset(&bulletin, 0, sizeof bulletin);
    bulletin.type = MESSAGE_BULLETIN;
    bulletin.version = d->version;
    for (unsigned n = 1; n < NODES_MOST; n++) {
        if (!d->known[n].incarnation)
            continue;
        unsigned i = bulletin.member_count++;
        bulletin.members[i].node = n;
        bulletin.members[i].role =
            is_server(d->cluster, n) ? GW__SERVER : GW__WORKER;
        bulletin.members[i].incarnation = d->known[n].incarnation;
    }
    struct gw__writer routes =
        gw__writer_on(bulletin.routes, sizeof bulletin.routes);
    gw__put_routes(&routes, &d->cluster->routes);
    bulletin.route_bytes = routes.used;
    if (!gw__writer_fits(&routes))
        oracle_fail(d->cluster, "the routes take %zu bytes", routes.used);
    d->known[node].sent_ns = d->now_ns;
    d->act->send(d->act->driver, node, &bulletin, sizeof bulletin);
}

/* Its process may still run, as a zombie, until it is restarted. */
static void restart_zombie(struct consensus *d, unsigned node)
{
    struct gw_error why;
    struct ps_simulation *w = d->cluster;
    const struct gw__fault fault = {.kind = GW__RESTART,
                                    .at_ns = gw__sim_now(w->sim) +
                                             draw(w, 5 * MS, 300 * MS),
                                    .nodes = gw__nodes_only(node)};
    if (gw__sim_incarnation(w->sim, node) == d->known[node].incarnation &&
        gw__sim_add_faults(w->sim, &fault, 1, &why))
        gw__sim_fail(w->sim, "%s", why.text);
}

static void declare_dead(struct consensus *d, unsigned node)
{
    struct known *known = &d->known[node];
    if (!known->incarnation)
        return;
    restart_zombie(d, node);
    known->declared_dead = known->incarnation;
    known->incarnation = 0;
    d->cluster->totals.declared_dead++;
    publish(d);
}

static void hello(struct consensus *d, const struct gw__input *input)
{
    struct hello hello;
    struct known *known = &d->known[input->from];
    memcpy(&hello, input->data, sizeof hello);
    if (input->incarnation == known->declared_dead)
        return; /* a zombie gets no answer */
    if (known->incarnation && known->incarnation != input->incarnation)
        declare_dead(d, input->from);
    if (!known->incarnation) {
        known->incarnation = input->incarnation;
        known->version = 0;
        publish(d);
    }
    known->received_ns = d->now_ns;
    known->version = hello.version;
    const struct lease lease = {MESSAGE_LEASE, hello.sent_ns, LEASE_MS * MS};
    if (is_server(d->cluster, input->from))
        d->act->send(d->act->driver, input->from, &lease, sizeof lease);
    if (hello.version < d->version &&
        d->now_ns - known->sent_ns > REPEAT_MS * MS)
        send_bulletin(d, input->from);
}

static void propose(struct consensus *d, const struct gw__input *input)
{
    struct proposal p;
    struct gw_error why;
    struct ps_simulation *w = d->cluster;
    const struct gw_nodes servers = active_servers(d);
    memcpy(&p, input->data, sizeof p);
    if (input->incarnation != d->known[input->from].incarnation ||
        p.slot >= w->routes.slot_count ||
        w->routes.slots[p.slot].primary != input->from)
        return;
    enum gw_err err = p.kind == GW__CMD_PROMOTE
                          ? gw__routes_promote(&w->routes, p.slot, p.term,
                                               p.node, &servers, &why)
                          : gw__routes_handover(&w->routes, p.slot, p.term,
                                                p.node, &servers, &why);
    if (err)
        return;
    w->totals.moves++;
    publish(d);
}

/* Declares nodes dead whose silence exceeds their lease by any clock. */
static void check_leases(struct consensus *d)
{
    uint64_t before = d->version;
    for (unsigned n = 1; n < NODES_MOST; n++)
        if (d->known[n].incarnation &&
            d->now_ns - d->known[n].received_ns > SILENCE_MS * MS)
            declare_dead(d, n);
    for (unsigned n = 1; n < NODES_MOST; n++)
        if (d->known[n].incarnation && d->known[n].version < d->version &&
            (before != d->version ||
             d->now_ns - d->known[n].sent_ns > REPEAT_MS * MS))
            send_bulletin(d, n);
    d->act->set_timer(d->act->driver, 0, d->now_ns + CHECK_MS * MS);
}

static void start(struct consensus *d)
{
    struct gw_error why;
    unsigned table;
    d->cluster = simcluster_running();
    struct gw__routes *routes = &d->cluster->routes;
    gw__routes_init(routes);
    routes->slot_count = SLOTS;
    routes->replicas = d->cluster->replicas;
    routes->servers = d->cluster->servers;
    const struct gw_ps_table_config count = {.name = "count",
                                             .width = 1,
                                             .updater = GW_PS_ADD,
                                             .group = COUNT_GROUP};
    const struct gw_ps_table_config item = {
        .name = "unit", .width = 1, .updater = GW_PS_ADD, .group = ITEM_GROUP};
    if (gw__routes_table(routes, &count, &table, &why) ||
        gw__routes_table(routes, &item, &table, &why))
        oracle_fail(d->cluster, "%s", why.text);
}

static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *actions)
{
    struct consensus *d = state;
    uint64_t type = 0;
    d->now_ns = input->now_ns;
    d->act = actions;
    if (input->kind == GW__START)
        start(d);
    if (input->kind == GW__DIED && input->from < NODES_MOST &&
        d->known[input->from].incarnation == input->incarnation)
        declare_dead(d, input->from);
    if (input->kind == GW__MESSAGE)
        memcpy(&type, input->data, sizeof type);
    uint64_t before = d->version;
    if (type == MESSAGE_HELLO)
        hello(d, input);
    if (type == MESSAGE_PROPOSE)
        propose(d, input);
    for (unsigned n = 1; n < NODES_MOST && d->version != before; n++)
        if (d->known[n].incarnation)
            send_bulletin(d, n);
    if (input->kind == GW__START || input->kind == GW__TIMER ||
        input->kind == GW__DIED)
        check_leases(d);
}

const struct gw__machine_kind *consensus_kind(void)
{
    static const struct gw__machine_kind kind = {.name = "warden",
                                                 .state_bytes =
                                                     sizeof(struct consensus),
                                                 .step = step};
    return &kind;
}

bool consensus_is_whole(const struct ps_simulation *w)
{
    for (unsigned slot = 0; slot < w->routes.slot_count; slot++) {
        const struct gw__slot_route *route = &w->routes.slots[slot];
        if (route->primary == GW__NO_NODE || route->learner != GW__NO_NODE ||
            route->successor != GW__NO_NODE)
            return false;
    }
    return true;
}
