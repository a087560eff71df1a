/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A fault schedule (sim/faults.h) as it is applied to a run of real processes:
 * a row of edges, at each of which a fault begins or ends. Pure; chaos_schedule.c
 * carries it out.
 *
 * What a link does follows from all faults that hold at a time: chances and
 * delays add up, and a cut ends when the last one does. Two things are of the
 * simulator alone: a crash inside a step (`after`) is one at its time, and no
 * wire delivers a message twice.
 */
#ifndef CHAOS_FAULTS_H
#define CHAOS_FAULTS_H

#include <gradwire/ring.h>
#include <sim/faults/faults.h>

/* How a schedule numbers the processes of a run. */
enum {
    CHAOS_SERVER = 32, /* of server 0, in a run that has servers */
    CHAOS_CONTROLLER_0 = 56,
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

/* In order of time; of those at one time what ends comes first. */
void fault_edges(const struct gw__faults *faults, struct fault_edges *out);
/* What the first `done` edges add to the link: delay, jitter, loss, down. */
struct gw_ring_link fault_link(const struct fault_edges *edges, size_t done,
                               unsigned from, unsigned to);
/* Does the fault hit the link? */
bool fault_hits(const struct gw__fault *fault, unsigned from, unsigned to);
bool fault_is_of_links(const struct gw__fault *fault);

#endif
