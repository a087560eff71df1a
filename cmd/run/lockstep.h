/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The schedule of a ring in lockstep: each fault is at a place in the work, where
 * all members hold (struct gw_ring_hold). Pure.
 */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <gradwire/ring.h>
#include <sim/faults/faults.h>

enum { LOCKSTEP_MAX = 32 };

struct lockstep {
    unsigned count;
    struct gw_ring_hold holds[LOCKSTEP_MAX];
    struct lockstep_fault {
        enum gw__fault_kind kind; /* CRASH, RESTART, PAUSE, RESUME */
        unsigned node;
    } faults[LOCKSTEP_MAX];
};

/* Reads a schedule (sim/faults/faults.h) for a ring of `ranks` members. GW_EDATA
 * with the fault and the reason: a time, another kind, several nodes, `for`, ops
 * that do not grow, a node that is dead or alive already, a loss of the last
 * member, or a return in the op after a loss. */
GW_MUST_CHECK enum gw_err lockstep_parse(const char *text, unsigned ranks,
                                         struct lockstep *lockstep,
                                         struct gw_error *why);

#endif
