/* SPDX-License-Identifier: MIT
 *
 * Routes under random commands; see route_sim.h.
 */
#include "route_sim.h"

uint64_t node_bit(unsigned node)
{
    return (uint64_t)1 << node;
}

unsigned count_nodes(uint64_t nodes)
{
    return (unsigned)__builtin_popcountll(nodes);
}

unsigned routes_draw(struct route_sim *w, unsigned bound)
{
    return (unsigned)gw_rng_below(&w->rng, bound);
}

unsigned routes_draw_node(struct route_sim *w, uint64_t nodes)
{
    unsigned skip = routes_draw(w, count_nodes(nodes));
    while (skip-- > 0)
        nodes &= nodes - 1;
    return (unsigned)__builtin_ctzll(nodes);
}

static uint64_t in_sync(const struct gw__slot_route *slot)
{
    uint64_t nodes = 0;
    for (unsigned i = 0; i < slot->count; i++)
        nodes |= node_bit(slot->replica[i]);
    return nodes;
}

/* ---- invariants of every command ---- */

/* NULL, or the fault in the form of a slot. */
static const char *shape_fault(const struct route_sim *w,
                               const struct gw__slot_route *is)
{
    uint64_t after = in_sync(is);
    if (count_nodes(after) != is->count || is->primary != is->replica[0])
        return "a replica occurs twice, or the primary is not the first";
    for (unsigned i = is->count; i < GW_PS_REPLICAS_MAX + 1; i++)
        if (is->replica[i] != GW__NO_NODE)
            return "there is something behind the replicas";
    if (is->count > w->routes.replicas || after & ~w->servers)
        return "too many replicas, or one that is gone";
    if (is->learner != GW__NO_NODE &&
        (is->successor != GW__NO_NODE ||
         !(node_bit(is->learner) & w->servers & ~after & ~w->drained)))
        return "one learns that may not";
    if (is->leaver != GW__NO_NODE &&
        (is->learner == GW__NO_NODE || !(node_bit(is->leaver) & after)))
        return "one leaves that is not there";
    if (is->successor != GW__NO_NODE &&
        (is->successor == is->primary || !(node_bit(is->successor) & after)))
        return "one inherits that is not in sync, or is the primary";
    return NULL;
}

/* Only servers that were in sync, or that the command promoted, have the
 * slot. */
static const char *step_fault(struct route_sim *w,
                              const struct gw__slot_route *was,
                              const struct gw__slot_route *is)
{
    uint64_t before = in_sync(was), new = in_sync(is) & ~before;
    if (was->term == 0)
        return NULL;
    if (new &&new != node_bit(w->promoted % 64))
        return "one is in sync that does not have the slot";
    if (before & w->servers && is->count == 0)
        return "a slot was lost that somebody had";
    if (!before && is->count > 0)
        return "a lost slot is back";
    w->copies += count_nodes(new);
    w->handovers += is->primary != was->primary;
    return NULL;
}

static void check(struct route_sim *w, const struct gw__routes *before)
{
    unsigned learning[GW__ROUTE_NODES] = {0};
    bool changed = !gw__nodes_equal(w->routes.drained, before->drained);
    const char *fault = NULL;
    for (unsigned i = 0; i < w->routes.slot_count && !fault; i++) {
        const struct gw__slot_route *was = &before->slots[i];
        const struct gw__slot_route *is = &w->routes.slots[i];
        fault = shape_fault(w, is);
        fault = fault ? fault : step_fault(w, was, is);
        bool other = memcmp(was, is, sizeof *is) != 0;
        if (is->term != was->term + other)
            fault = "the term does not grow with the slot";
        w->touched |= (uint64_t)other << i;
        changed = changed || other;
        if (is->learner != GW__NO_NODE &&
            ++learning[is->learner] > GW__ROUTE_LEARNERS)
            fault = "one learns too much at once";
    }
    if (w->routes.version != before->version + changed)
        fault = "the version does not grow with the routes";
    ck_assert_msg(!fault, "seed %llu: %s", (unsigned long long)w->seed, fault);
}

/* ---- commands ---- */

void routes_set_servers(struct route_sim *w, uint64_t servers)
{
    struct gw__routes before = w->routes;
    w->servers = servers;
    w->drained &= servers;
    w->promoted = 255;
    bool changed = gw__routes_servers(&w->routes, NODE_BITS(servers));
    ck_assert(changed == (w->routes.version > before.version));
    check(w, &before);
}

void routes_drain(struct route_sim *w, unsigned node)
{
    struct gw__routes before = w->routes;
    w->drained |= node_bit(node);
    w->promoted = 255;
    (void)gw__routes_drain(&w->routes, NODE_BITS(w->servers),
                           NODE_BITS(w->drained));
    check(w, &before);
}

/* Advice is a change even if no slot has to move. */
void routes_advise(struct route_sim *w, const struct gw__advice *advice)
{
    struct gw__routes before = w->routes;
    w->promoted = 255;
    gw__routes_advise(&w->routes, advice, NODE_BITS(w->servers));
    ck_assert(w->routes.version == before.version + (before.slot_count > 0));
    if (memcmp(w->routes.slots, before.slots, sizeof before.slots) == 0)
        before.version = w->routes.version;
    check(w, &before);
}

bool routes_advance(struct route_sim *w)
{
    struct gw__routes before = w->routes;
    struct gw_error why;
    uint64_t busy = 0;
    for (unsigned i = 0; i < w->routes.slot_count; i++)
        if (w->routes.slots[i].learner != GW__NO_NODE ||
            w->routes.slots[i].successor != GW__NO_NODE)
            busy |= node_bit(i);
    if (!busy)
        return false;
    unsigned i = routes_draw_node(w, busy);
    const struct gw__slot_route *slot = &before.slots[i];
    w->promoted = slot->learner;
    if (slot->learner != GW__NO_NODE)
        ck_assert_int_eq(gw__routes_promote(&w->routes, i, slot->term,
                                            slot->learner,
                                            NODE_BITS(w->servers), &why),
                         GW_OK);
    else
        ck_assert_int_eq(gw__routes_handover(&w->routes, i, slot->term,
                                             slot->successor,
                                             NODE_BITS(w->servers), &why),
                         GW_OK);
    check(w, &before);
    return true;
}

void routes_converge(struct route_sim *w)
{
    unsigned steps = 0;
    while (routes_advance(w))
        ck_assert_msg(++steps < 5000, "seed %llu: it never ends",
                      (unsigned long long)w->seed);
}

/* ---- invariants at rest ---- */

unsigned routes_lost(const struct route_sim *w)
{
    unsigned count = 0;
    for (unsigned i = 0; i < w->routes.slot_count; i++)
        count += w->routes.slots[i].count == 0;
    return count;
}

static void check_even(const struct route_sim *w, const unsigned *load,
                       const char *what)
{
    unsigned least = UINT32_MAX, most = 0;
    for (unsigned node = 0; node < 64; node++) {
        if (!(node_bit(node) & w->servers & ~w->drained))
            continue;
        least = load[node] < least ? load[node] : least;
        most = load[node] > most ? load[node] : most;
    }
    ck_assert_msg(most <= least + 1, "seed %llu: %s of %u to %u",
                  (unsigned long long)w->seed, what, least, most);
}

void routes_check_quiet(const struct route_sim *w)
{
    unsigned replicas[GW__ROUTE_NODES] = {0}, primaries[GW__ROUTE_NODES] = {0};
    unsigned servers = count_nodes(w->servers & ~w->drained);
    unsigned wanted =
        servers < w->routes.replicas ? servers : w->routes.replicas;
    if (servers == 0 || w->routes.slots[0].term == 0)
        return;
    for (unsigned i = 0; i < w->routes.slot_count; i++) {
        const struct gw__slot_route *slot = &w->routes.slots[i];
        if (slot->count == 0)
            continue;
        ck_assert_msg(slot->count == wanted, "seed %llu: slot %u has %u of %u",
                      (unsigned long long)w->seed, i, slot->count, wanted);
        primaries[slot->primary]++;
        for (unsigned k = 0; k < slot->count; k++)
            replicas[slot->replica[k]]++;
    }
    if (w->routes.advice.slots == 0) {
        check_even(w, replicas, "replicas");
        check_even(w, primaries, "primaries");
    }
    for (unsigned node = 0; node < 64; node++)
        if (node_bit(node) & w->drained)
            ck_assert(gw__routes_is_empty(&w->routes, node));
}

struct route_sim routes_begin(uint64_t seed)
{
    struct route_sim w = {.seed = seed};
    struct gw_error why;
    gw_rng_seed(&w.rng, seed);
    gw__routes_init(&w.routes);
    unsigned slots = 1 + routes_draw(&w, GW_PS_SLOTS_DEFAULT);
    unsigned replicas = 1 + routes_draw(&w, GW_PS_REPLICAS_MAX);
    unsigned servers = 1 + routes_draw(&w, 4);
    ck_assert_int_eq(gw__routes_open(&w.routes, slots, replicas, servers, &why),
                     GW_OK);
    return w;
}
