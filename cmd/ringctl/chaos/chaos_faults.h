/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A fault schedule (sim/faults.h) for a run of real processes: a sequence of
 * edges, at each of which a fault begins or ends. Pure; chaos_schedule.c
 * executes it.
 *
 * The effect on a link is the sum of all faults at that time: probabilities and
 * delays add up, and a cut ends with the last one. Two features exist in the
 * simulator only: here, a crash inside a step (`after`) happens at its time,
 * and no wire delivers a message twice.
 */
#ifndef CHAOS_FAULTS_H
#define CHAOS_FAULTS_H

#include <gradwire/ring.h>
#include <sim/faults/faults.h>

/* The schedule's numbers for the processes of a run. */
enum {
    CHAOS_SERVER = 32, /* of server 0, in a run that has servers */
    CHAOS_CONTROLLER_0 = GW_RING_CONTROLLER - 7,
    CHAOS_CONTROLLERS = 5
};

struct fault_edge {
    uint64_t at_ns;
    const struct gw__fault *fault;
    bool ends;
};

struct fault_edges {
    size_t count;
    struct fault_edge edges[2 * GW__FAULTS_MAX];
};

/* In order of time; at equal times, ends come first. */
void fault_edges(const struct gw__faults *faults, struct fault_edges *out);
/* The effect of the first `done` edges on the link: delay, jitter, loss, down.
 */
struct gw_link_profile fault_link(const struct fault_edges *edges, size_t done,
                                  unsigned from, unsigned to);
/* Does the fault hit the link? */
bool fault_hits(const struct gw__fault *fault, unsigned from, unsigned to);
bool fault_is_of_links(const struct gw__fault *fault);

#endif
