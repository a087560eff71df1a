/* SPDX-License-Identifier: MIT
 *
 * Failpoints: named places in the protocols where a test, or the environment,
 * can make a process die, pause or fail.
 *
 *     GW_FAIL="ring.report=kill, ps.logged=pause:50@3, raft.append=error@2+"
 *
 *     kill        the process ends at once, as by SIGKILL
 *     pause:MS    the thread pauses for MS milliseconds
 *     error       the step fails, where it can (see the table)
 *     @N          the N-th time that the place is reached; default: the first
 *     @N+         each time from the N-th on
 *
 * A correct protocol is correct wherever a process ends. So there is a
 * failpoint before and after each step that others can observe. failpoint.c has
 * the table with a description of each; tests/fault/failpoints runs all of
 * them.
 *
 * They are always compiled in. A failpoint that is off costs the load of a
 * global and a branch that is never taken, and none is in a loop over data.
 */
#ifndef GW__FAILPOINT_H
#define GW__FAILPOINT_H

#include <gradwire/base.h>

#include <stdatomic.h>

enum gw__failpoint {
    /* an op of the ring */
    GW__AT_RING_BEGUN,
    GW__AT_RING_MOVE,
    GW__AT_RING_CHUNK,
    GW__AT_RING_MOVED,
    GW__AT_RING_COMPLETE,
    GW__AT_RING_APPLIED,
    /* a death in the ring */
    GW__AT_RING_FREEZE,
    GW__AT_RING_REPORT,
    GW__AT_RING_REPORTED,
    GW__AT_RING_RECORDED,
    GW__AT_RING_DECISION,
    GW__AT_RING_DECIDED,
    GW__AT_RING_CONNECT,
    GW__AT_RING_ADDRESS,
    GW__AT_RING_ADDRESSES,
    GW__AT_RING_CONNECTED,
    GW__AT_RECOVER_PLAN,
    GW__AT_RECOVER_CHUNK,
    GW__AT_RECOVER_MOVED,
    GW__AT_RECOVER_DONE,
    /* joining and leaving */
    GW__AT_ADMIT_DUE,
    GW__AT_ADMIT_PROPOSED,
    GW__AT_RING_ADOPT,
    GW__AT_COPY_SEND,
    GW__AT_COPY_BLOCK,
    GW__AT_COPY_READY,
    GW__AT_COPY_ADMITTED,
    GW__AT_COPY_DONE,
    GW__AT_RING_LEAVE,
    /* controllers */
    GW__AT_RAFT_APPEND,
    GW__AT_RAFT_APPENDED,
    /* the parameter server */
    GW__AT_PS_PUSH,
    GW__AT_PS_LOG,
    GW__AT_PS_LOGGED,
    GW__AT_PS_ENTRY,
    GW__AT_PS_FOLLOWED,
    GW__AT_PS_COMMITTED,
    GW__AT_PS_APPLIED,
    GW__AT_PS_REPLY,
    GW__AT_PS_SENT,
    GW__AT_PS_LEASE,
    GW__AT_PS_LEAD,
    GW__AT_PS_FREEZE,
    GW__AT_PS_HANDOVER,
    GW__AT_PS_PROMOTE,
    GW__AT_PS_YIELD,
    GW__AT_PS_COPY,
    GW__AT_PS_LEARN,
    GW__AT_PS_LOADED,
    GW__AT_PS_ROUND_COMMIT,
    GW__AT_PS_CLOSED,
    /* collectives inside a host */
    GW__AT_SHM_FENCE,
    GW__AT_SHM_PROBE,
    GW__AT_SHM_LOAD,
    GW__AT_SHM_STORE,
    GW__FAILPOINTS
};

struct gw__failpoint_info {
    const char *name;
    const char *text; /* which step has been done there, and which has not */
};
const struct gw__failpoint_info *gw__failpoint_info(enum gw__failpoint point);
/* Can the step fail there? Elsewhere only the process can. */
bool gw__failpoint_fails(enum gw__failpoint point);
/* GW__FAILPOINTS: unknown name. */
enum gw__failpoint gw__failpoint_find(const char *name);

/* Arms the failpoints of `text` and disarms all others; "" or NULL disarms all.
 * On GW_EINVAL nothing changes. */
GW_MUST_CHECK enum gw_err gw__failpoints_arm(const char *text,
                                             struct gw_error *why);
/* Arms the failpoints of GW_FAIL on the first call in a process; later calls do
 * nothing. Call it at the start of a protocol: an invalid word is an error
 * there. */
GW_MUST_CHECK enum gw_err gw__failpoints_begin(struct gw_error *why);
/* From now on counts in `counts` how often each place is reached. Memory shared
 * between processes keeps the counts of a killed one. NULL: stops counting. */
void gw__failpoints_count(_Atomic uint32_t counts[GW__FAILPOINTS]);

extern _Atomic bool gw__failpoints_on;
enum gw_err gw__failpoint_reached(enum gw__failpoint point);

static inline enum gw_err gw__failpoint_err(enum gw__failpoint point)
{
    bool on = atomic_load_explicit(&gw__failpoints_on, memory_order_relaxed);
    return __builtin_expect(on, false) ? gw__failpoint_reached(point) : GW_OK;
}

/* A place where only the process can fail. */
static inline void gw__failpoint(enum gw__failpoint point)
{
    (void)gw__failpoint_err(point);
}

#endif
