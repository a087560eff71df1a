/* SPDX-License-Identifier: MIT
 *
 * A protocol is a pure state machine: it gets an input and returns actions. It
 * has no clock, socket, thread, allocation policy or random number: time comes
 * with the input, seeds with the start. A daemon drives it with ZeroMQ; lib/sim
 * drives the same object code with virtual time and a hostile network.
 *
 * Contract of a driver
 *   START comes first, once per incarnation. Inputs come one at a time, with
 *   `now_ns` never falling (a machine's own clock: it may run fast, slow or
 *   with jumps forward against others'). A timer that was set fires once, not
 *   before its time, unless it is set again or cancelled. Messages may be
 *   lost, duplicated, delayed and reordered, but never altered. START gets
 *   the newest value of each key that was persisted before a crash, and no
 *   value that was not yet persisted when the driver stopped. PERSIST is done
 *   before any action after it in the same step is sent. Each `look` is
 *   answered by GW__OBSERVED or DIED, soon, while the driver lives.
 */
#ifndef GW__MACHINE_H
#define GW__MACHINE_H

#include "nodes/nodes.h"

enum { GW__MESSAGE_MAX = 131072, GW__TIMERS_MAX = 64 };

enum gw__input_kind {
    /* `incarnation`, `seed`; `from`: our own node; `data`, `bytes`: the
     * configuration. `load` returns persisted values. */
    GW__START,
    GW__MESSAGE, /* `from`, `data`, `bytes` */
    GW__TIMER,   /* `timer` */
    /* A certain fact: the process of node `from`, of that incarnation, has
     * ended. */
    GW__DIED,
    GW__REQUESTED, /* the application's request: `data`, `bytes` */
    /* The result of a look at the process of node `from`: `data` is a struct
     * gw__sight. */
    GW__OBSERVED
};

enum gw__sight_state {
    GW__SIGHT_NONE, /* it cannot be examined, e.g. on another host */
    GW__SIGHT_AWAKE,
    GW__SIGHT_STOPPED
};

struct gw__sight {
    enum gw__sight_state state;
    /* The time since the previous look for which a thread of that process was
     * runnable without a CPU, and that of a thread of our own. */
    uint64_t waited_ns;
};

struct gw__input {
    enum gw__input_kind kind;
    uint64_t now_ns; /* this node's clock */
    uint32_t from;
    /* START: ours. MESSAGE: the sender's. DIED, DEDUP: of that process. */
    uint64_t incarnation;
    uint64_t seed;
    uint32_t timer;
    const void *data;
    size_t bytes;
};

/* Receives the actions of a machine. A call can fail only by recording its
 * failure (no room), which the driver treats as a crash of the node. */
struct gw__actions {
    void *driver;
    void (*send)(void *driver, uint32_t to, const void *data, size_t bytes);
    /* Sets or moves timer `timer` (< GW__TIMERS_MAX) to `at_ns` of this node's
     * clock; 0 cancels. */
    void (*set_timer)(void *driver, uint32_t timer, uint64_t at_ns);
    void (*persist)(void *driver, uint32_t key, const void *data, size_t bytes);
    /* The newest persisted value of `key`; NULL if there is none. Valid during
     * START only. */
    const void *(*load)(void *driver, uint32_t key, size_t *bytes);
    /* To the application: an answer, a decision, a new view. */
    void (*notify)(void *driver, const void *data, size_t bytes);
    /* Requests a look at the process of this incarnation of `node`. NULL where
     * processes cannot be examined. */
    void (*inspect)(void *driver, uint32_t node, uint64_t incarnation);
};

struct gw__machine_kind {
    const char *name;
    size_t state_bytes; /* the driver owns the memory, zeroed before START */
    void (*step)(void *state, const struct gw__input *input,
                 const struct gw__actions *actions);
    /* Clears memory that was used before, which has the same effect as zeroing
     * all of it; NULL: that is how. */
    void (*clear)(void *state);
};

#endif
