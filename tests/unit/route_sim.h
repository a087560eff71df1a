/* SPDX-License-Identifier: MIT
 *
 * For tests of the routes: servers that come, die and drain at random, the
 * invariants after every command, and those at rest.
 */
#ifndef TESTS_ROUTE_SIM_H
#define TESTS_ROUTE_SIM_H

#include <cluster/routes/route.h>

#include <check.h>
#include <string.h>

struct route_sim {
    struct gw_rng rng;
    uint64_t seed;
    struct gw__routes routes;
    uint64_t servers, drained;
    unsigned promoted;          /* by the command that is checked, or 255 */
    unsigned copies, handovers; /* the test may reset them */
    uint64_t touched;           /* slots that were changed */
};

/* The set of these nodes, which are below 64. */
#define NODE_BITS(bits) (&(struct gw_nodes){{(bits)}})

uint64_t node_bit(unsigned node);
unsigned count_nodes(uint64_t nodes);
unsigned routes_draw(struct route_sim *w, unsigned bound);
unsigned routes_draw_node(struct route_sim *w, uint64_t nodes);

/* Slots, replicas and servers by the seed; no server is up yet. */
struct route_sim routes_begin(uint64_t seed);
/* These check the invariants of every command. */
void routes_set_servers(struct route_sim *w, uint64_t servers);
void routes_drain(struct route_sim *w, unsigned node);
void routes_advise(struct route_sim *w, const struct gw__advice *advice);
/* Ends one copy or handover; false: there is none. */
bool routes_advance(struct route_sim *w);
void routes_converge(struct route_sim *w);
/* Each slot has the wanted number of replicas, load is even unless there is
 * advice, and draining servers have no slot. */
void routes_check_quiet(const struct route_sim *w);
unsigned routes_lost(const struct route_sim *w);

#endif
